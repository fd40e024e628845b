"""Whether two runs saw the same input and chose their tokens in the same way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from diagnose.analysis.run_pairs import pairs
from diagnose.facts import Fact
from diagnose.facts.precision import (
    InputSettings,
    PreprocessingDifference,
    SamplingDifference,
    SamplingSettings,
    TokenSequence,
)

_SAMPLING_DEFAULTS: dict[str, float | bool | None] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": None,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "do_sample": None,
    "seed": None,
}
"""What holds where a setting is not written; None: depends on the program, so that absence differs from nothing."""


def features(facts: Sequence[Fact]) -> list[Fact]:
    """Differences of token ids, of input settings and of sampling."""
    return [*_settings(facts), *_tokens(facts), *_sampling(facts)]


def _settings(facts: Sequence[Fact]) -> list[Fact]:
    found: list[Fact] = []
    for sort in ("tokenizer", "preprocessor"):
        paired, known = pairs([fact for fact in facts if isinstance(fact, InputSettings) and fact.sort == sort])
        for reference, other in paired:
            left, right = dict(reference.settings), dict(other.settings)
            common = sorted(left.keys() & right.keys())
            if not common:
                continue
            # A key that only one file has may hold the other's default, so that only common ones are compared.
            field = next((name for name in common if left[name] != right[name]), None)
            found.append(
                PreprocessingDifference(
                    sources=(*reference.sources, *other.sources),
                    what=sort,
                    differs=field is not None,
                    compared=len(common),
                    field=field,
                    reference_value=left[field] if field else None,
                    suspect_value=right[field] if field else None,
                    roles_known=known,
                )
            )
    return found


def _tokens(facts: Sequence[Fact]) -> list[Fact]:
    prompts: dict[str, list[TokenSequence]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, TokenSequence):
            prompts[fact.prompt].append(fact)
    compared = [(paired[0], known) for same in prompts.values() for paired, known in [pairs(same)] if paired]
    if not compared:
        return []
    differing = [(pair, known) for pair, known in compared if _ids(pair[0]) != _ids(pair[1])]
    (reference, other), known = (differing or compared)[0]
    place = _first_difference(reference.ids, other.ids)
    shorter, longer = sorted((reference.ids, other.ids), key=len)
    return [
        PreprocessingDifference(
            sources=(*reference.sources, *other.sources),
            what="tokens",
            differs=bool(differing),
            compared=len(compared),
            reference_value=_at(reference.ids, place) if differing else None,
            suspect_value=_at(other.ids, place) if differing else None,
            position=place if differing else None,
            prompts_differing=len(differing),
            only_first_token=len(longer) == len(shorter) + 1 and longer[1:] == shorter if differing else None,
            roles_known=known,
        )
    ]


def _ids(sequence: TokenSequence) -> tuple[int, tuple[int, ...]]:
    return sequence.tokens, sequence.ids


def _first_difference(left: Sequence[int], right: Sequence[int]) -> int:
    both = min(len(left), len(right))
    return next((at for at in range(both) if left[at] != right[at]), both)


def _at(ids: Sequence[int], place: int) -> str:
    return str(ids[place]) if place < len(ids) else "none"


def _sampling(facts: Sequence[Fact]) -> list[Fact]:
    paired, _ = pairs([fact for fact in facts if isinstance(fact, SamplingSettings)])
    found: list[Fact] = []
    for reference, other in paired:
        differing = [
            (name, left, right)
            for name, default in _SAMPLING_DEFAULTS.items()
            for left, right in [(_setting(reference, name, default), _setting(other, name, default))]
            if left != right and (default is not None or (left is not None and right is not None))
        ]
        first = differing[0] if differing else None
        found.append(
            SamplingDifference(
                sources=(*reference.sources, *other.sources),
                differs=bool(differing),
                field=first[0] if first else None,
                reference_value=str(first[1]) if first else None,
                suspect_value=str(first[2]) if first else None,
                fields=len(differing),
                random=_random(reference) or _random(other),
                same_seed=reference.seed is not None and reference.seed == other.seed,
            )
        )
    return found


def _setting(settings: SamplingSettings, name: str, default: float | bool | None) -> object:
    value = getattr(settings, name)
    return default if value is None else value


def _random(settings: SamplingSettings) -> bool:
    """Whether tokens are drawn. A program that is told nothing of temperature may still be greedy."""
    if settings.do_sample is not None:
        return settings.do_sample and settings.temperature != 0.0
    return settings.temperature is not None and settings.temperature > 0.0

"""How the results of two runs differ: texts, log-probabilities, scores, perplexities, rates, operators."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, median

from diagnose.analysis.run_pairs import pairs
from diagnose.facts import Fact
from diagnose.facts.precision import (
    EvaluationDifference,
    EvaluationResult,
    GeneratedText,
    LogprobDifference,
    LogprobSequence,
    PerplexityDifference,
    PerplexityRun,
    TextDivergence,
)

_MOST_DIFFERENCES = 64


def features(facts: Sequence[Fact]) -> list[Fact]:
    """Every difference that both runs give the numbers for."""
    return [*_texts(facts), *_logprobs(facts), *_evaluations(facts), *_perplexities(facts)]


def _texts(facts: Sequence[Fact]) -> list[Fact]:
    paired, _ = pairs([fact for fact in facts if isinstance(fact, GeneratedText)])
    found: list[Fact] = []
    for reference, other in paired:
        left, right = dict(reference.texts), dict(other.texts)
        common = [name for name in left if name in right]
        if not common:
            continue
        places = [
            (_common_length(left[name], right[name]), min(len(left[name]), len(right[name])))
            for name in common if left[name] != right[name]
        ]  # fmt: skip
        found.append(
            TextDivergence(
                sources=(*reference.sources, *other.sources),
                compared=len(common),
                differing=len(places),
                differing_ratio=len(places) / len(common),
                first_difference_characters=median(place for place, _ in places) if places else None,
                common_ratio=median(place / (length or 1) for place, length in places) if places else None,
                reference_degenerate=reference.degenerate,
                suspect_degenerate=other.degenerate,
            )
        )
    return found


def _common_length(left: str, right: str) -> int:
    both = min(len(left), len(right))
    return next((at for at in range(both) if left[at] != right[at]), both)


def _logprobs(facts: Sequence[Fact]) -> list[Fact]:
    prompts: dict[str, list[LogprobSequence]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, LogprobSequence):
            prompts[fact.prompt].append(fact)
    compared = [paired[0] for same in prompts.values() for paired, _ in [pairs(same)] if paired]
    differences: list[float] = []
    divergences: list[float] = []
    agreeing = positions = 0
    for reference, other in compared:
        for left, right in zip(reference.top, other.top, strict=False):
            there = dict(right)
            common = [(value, there[token]) for token, value in left if token in there]
            if not common:
                continue
            positions += 1
            agreeing += left[0][0] == right[0][0]
            differences += [low - high for high, low in common]
            divergences.append(_divergence(common))
    if not positions:
        return []
    return [
        LogprobDifference(
            sources=tuple(
                source for reference, other in compared[:4] for source in (*reference.sources, *other.sources)
            ),
            positions=positions,
            top1_agreement_ratio=agreeing / positions,
            kl_mean_nats=fmean(divergences),
            mean_absolute_difference_nats=fmean(abs(value) for value in differences),
            bias_nats=fmean(differences),
        )
    ]


def _divergence(common: Sequence[tuple[float, float]]) -> float:
    """Kullback-Leibler divergence over the candidates that both list, the rest taken as one more candidate."""
    high, low = ([min(math.exp(pair[side]), 1.0) for pair in common] for side in (0, 1))
    high.append(max(1.0 - sum(high), 1e-9))
    low.append(max(1.0 - sum(low), 1e-9))
    return sum(p * math.log(p / max(q, 1e-12)) for p, q in zip(high, low, strict=True) if p > 0.0)


def _evaluations(facts: Sequence[Fact]) -> list[Fact]:
    tasks: dict[tuple[str, str], list[EvaluationResult]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, EvaluationResult):
            tasks[fact.task, fact.metric].append(fact)
    found: list[Fact] = []
    for results in tasks.values():
        references = [result for result in results if result.role == "reference"]
        others = [result for result in results if result.role != "reference"]
        if len(results) < 2 or not others:
            continue
        if not references:
            # Without a high-precision run the better one shows what can be had.
            others.sort(key=lambda result: result.value, reverse=others[0].higher_is_better)
            references, others = others[:1], others[1:]
        known = references[0].role == "reference"
        found += [_evaluation(references[0], other, known) for other in others]
    return found[:_MOST_DIFFERENCES]


def _evaluation(reference: EvaluationResult, other: EvaluationResult, known: bool) -> Fact:
    change = other.value - reference.value
    loss = -change if reference.higher_is_better else change
    own, others = _error(reference), _error(other)
    error = math.hypot(own, others) if own is not None and others is not None else None
    items = [result.items for result in (reference, other) if result.items is not None]
    return EvaluationDifference(
        sources=(*reference.sources, *other.sources),
        task=reference.task,
        metric=reference.metric,
        reference_value=reference.value,
        suspect_value=other.value,
        loss_ratio=loss / abs(reference.value) if reference.value else 0.0,
        standard_errors=loss / error if error else None,
        items=min(items) if items else None,
        differs_in=other.differs_in,
        reference_precision=reference.precision,
        suspect_precision=other.precision,
        reference_known=known,
    )


def _error(result: EvaluationResult) -> float | None:
    """Standard error: as given, or that of a share of so many items."""
    if result.stderr is not None:
        return result.stderr
    if result.items and 0.0 <= result.value <= 1.0 and result.higher_is_better:
        return math.sqrt(max(result.value * (1.0 - result.value), 0.25 / result.items) / result.items)
    return None


def _perplexities(facts: Sequence[Fact]) -> list[Fact]:
    paired, _ = pairs([fact for fact in facts if isinstance(fact, PerplexityRun)])
    found: list[Fact] = []
    for reference, other in paired:
        # Values are running means, so that only the same chunk of both can be compared.
        left, right = reference.series or (), other.series or ()
        at = min(len(left), len(right)) - 1
        clean = reference.not_a_number == 0 and other.not_a_number == 0
        high = left[at] if clean and at >= 0 else reference.final
        low = right[at] if clean and at >= 0 else other.final
        if high is None:
            continue
        found.append(
            PerplexityDifference(
                sources=(*reference.sources, *other.sources),
                reference=high,
                suspect=low,
                ratio=low / high if low is not None and high > 0 else None,
                chunks=min(reference.chunks, other.chunks),
                reference_not_a_number=reference.not_a_number,
                suspect_not_a_number=other.not_a_number,
                first_not_a_number=other.first_not_a_number,
            )
        )
    return found

"""What a comparison of two sets of tensors gives: facts for the rules and the table, and points for the picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from statistics import median
from typing import Any

from diagnose.facts import Fact, Source
from diagnose.facts.lowbit import LowbitComparison, TensorError, TensorPairing
from diagnose.lowbit.depth import GAP_DB
from diagnose.lowbit.metrics import Metrics
from diagnose.lowbit.names import Named, named
from diagnose.lowbit.pairing import Pairing
from diagnose.lowbit.tensors import TensorSet

Progress = Callable[[str], None]


@dataclass(frozen=True)
class DepthPoint:
    """A step of the picture: error at a place in the model."""

    position: int
    label: str
    relative_l2_ratio: float | None
    """None where values are not finite."""
    expected_ratio: float | None = None
    noise_ratio: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Everything that was found."""

    contents: str
    """`activations` or `weights`."""
    errors: Sequence[TensorError]
    """The table, in the order of computation."""
    features: Sequence[Fact]
    """Facts about the whole."""
    points: Sequence[DepthPoint]
    problems: Sequence[str] = ()
    sound: Mapping[tuple[int | None, str], bool] = field(default_factory=dict)
    """Of weights, by layer and module: whether they are at their floor."""

    @property
    def facts(self) -> list[Fact]:
        """All facts; of very many tensors those with the largest errors."""
        return [*self.features, *worst_first(self.errors)[:_MOST_FACTS]]


_MOST_FACTS = 2000


def worst_first(errors: Sequence[TensorError]) -> list[TensorError]:
    """By gap to the theory, where it is known, else by SQNR."""
    return sorted(errors, key=lambda fact: (-(fact.gap_db or -1e9), fact.sqnr_db if fact.sqnr_db is not None else 1e9))


def middle(values: Sequence[float | None]) -> float | None:
    """Median of those that are there."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def finite(value: float | None) -> float | None:
    """The value, unless it is infinite or none."""
    return value if value is not None and isfinite(value) else None


def _stated(value: Any) -> Any:
    """A measure as facts hold it: beyond what floats hold there is none."""
    return finite(value) if isinstance(value, float) else value


def error_fact(
    paths: tuple[str, str], names: tuple[str, str], told: Named, metrics: Metrics, **others: Any
) -> TensorError:
    """The fact on one pair, by the files and names of both."""
    own = set(TensorError.own_fields())
    return TensorError(
        sources=tuple(Source(path=path) for path in dict.fromkeys(paths)),
        tensor=names[0],
        low_tensor=names[1] if names[1] != names[0] else None,
        layer=told.layer,
        module=told.module,
        **{key: _stated(value) for key, value in asdict(metrics).items() if key in own},
        **others,
    )


def pairing_fact(pairing: Pairing, sources: tuple[Source, ...]) -> TensorPairing:
    """How names were matched."""
    how = [found.how for found in pairing.pairs]
    left = [*pairing.unpaired_reference, *pairing.unpaired_low]
    return TensorPairing(
        sources=sources,
        paired=len(how),
        by_name=how.count("name"),
        by_rule=how.count("rule"),
        by_mapping=how.count("mapping"),
        unpaired_reference=len(pairing.unpaired_reference),
        unpaired_low=len(pairing.unpaired_low),
        shape_mismatches=len(pairing.mismatched),
        examples=", ".join(left[:4]) or None,
    )


def point_of(fact: TensorError, noise: float | None = None) -> DepthPoint:
    """The step of the picture that a pair makes."""
    expected = None if fact.expected_sqnr_db is None else 10 ** (-fact.expected_sqnr_db / 20)
    label = str(fact.layer) if fact.layer is not None else (fact.module or fact.tensor)
    return DepthPoint(fact.position, label, fact.relative_l2_ratio, expected, noise)


def order_of(names: TensorSet) -> list[str]:
    """Names in the order of computation: as a manifest says, else by layer and the usual order within one."""
    stated = {name: at for at, name in enumerate(names.order or ())}

    def key(item: tuple[int, str]) -> tuple[float, ...]:
        at, name = item
        if stated:
            return (_stated_place(name, stated), at)
        return (*usual_place(named(name)), at)

    return [name for _, name in sorted(enumerate(names), key=key)]


def _stated_place(name: str, stated: dict[str, int]) -> float:
    if name in stated:
        return stated[name]
    # msprobe states modules; their tensors' names begin so.
    return max((at + 0.5 for known, at in stated.items() if name.startswith(f"{known}.")), default=len(stated))


_WITHIN = (
    "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.qkv_proj",
    "self_attn.q_norm", "self_attn.k_norm", "self_attn.o_proj", "self_attn", "post_attention_layernorm", "mlp.gate",
    "mlp.gate_proj", "mlp.up_proj", "mlp.gate_up_proj", "mlp.down_proj", "mlp",
)  # fmt: skip
_BEFORE = ("tokens", "embed_tokens", "wte", "embeddings", "patch_embed")


def usual_place(told: Named) -> tuple[float, float, float]:
    """Where a module stands in a transformer: embedding, layers, within them attention first, then norm and head."""
    if told.layer is None:
        begins = told.role == "tokens" or told.module.startswith(_BEFORE)
        place = -1.0 if begins else 1e6 + (told.role == "logits" or told.module == "lm_head")
        return (place, 0.0 if told.role == "tokens" else 1.0, told.role != "input")
    if told.module == "":
        within = -1.0 if told.role == "input" else 1e3
    else:
        within = next((at for at, known in enumerate(_WITHIN) if told.module == known), 50.0)
    return (told.layer, within, told.role != "input")


def summary(contents: str, errors: Sequence[TensorError], **extra: Any) -> LowbitComparison:
    """The fact on the whole."""
    formats = [fact.format for fact in errors if fact.format is not None and not fact.equal]
    gaps = [(fact.gap_db, fact.tensor) for fact in errors if fact.gap_db is not None]
    worst = max(gaps, default=None)
    return LowbitComparison(
        contents=contents,
        format=max(set(formats), key=formats.count) if formats else None,
        tensors=len(errors),
        layers=len({fact.layer for fact in errors if fact.layer is not None}),
        median_sqnr_db=middle([fact.sqnr_db for fact in errors]),
        median_gap_db=middle([gap for gap, _ in gaps]),
        worst_gap_db=worst[0] if worst else None,
        worst_tensor=worst[1] if worst else None,
        over_gap=sum(gap >= GAP_DB for gap, _ in gaps),
        differing=sum(not fact.equal for fact in errors),
        sources=errors[0].sources,
        **extra,
    )

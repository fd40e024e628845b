"""Which tensor of one set is which of the other: by mapping, by name, by known renamings, and by likeness."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from diagnose.lowbit.names import FUSED, Named, named
from diagnose.lowbit.tensors import TensorError

Shapes = Mapping[str, tuple[int, ...]]
_LIKENESS = 0.8
_MOST_GUESSED = 2000
"""Likeness is looked for among no more unpaired names than this: it compares each with each."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Tensors that belong together; several on the reference's side are laid end to end."""

    reference: tuple[str, ...]
    low: str
    how: str
    """`name`, `mapping` or `rule`."""
    part: tuple[int, int] | None = None
    """Where the reference is fused and the low set is not: which part of its output axis, from and to."""


@dataclass(frozen=True)
class Pairing:
    """All pairs, and what found no partner."""

    pairs: Sequence[Pair]
    unpaired_reference: Sequence[str] = ()
    unpaired_low: Sequence[str] = ()
    mismatched: Sequence[str] = field(default=())
    """Sentences on pairs whose shapes do not fit."""


def read_mapping(path: Path) -> dict[str, str]:
    """Names of the reference to names of the low set: a JSON object, or lines of two names. Raises TensorError."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if text.lstrip().startswith("{"):
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TensorError(f"{path}: no JSON: {error}") from error
        return {str(key): str(value) for key, value in document.items()}
    rows = [line.replace("->", " ").replace(",", " ").split() for line in text.splitlines() if line.strip()]
    wrong = next((row for row in rows if len(row) != 2 and not row[0].startswith("#")), None)
    if wrong is not None:
        raise TensorError(f"{path}: each line names a tensor of the reference and its partner, not {' '.join(wrong)!r}")
    return {row[0]: row[1] for row in rows if len(row) == 2}


def pair(reference: Shapes, low: Shapes, mapping: Mapping[str, str] | None = None) -> Pairing:
    """Pair two sets by their names and shapes. Raises TensorError for a mapping to names that do not exist."""
    return _Pairing(reference, low).run(mapping or {})


class _Pairing:
    def __init__(self, reference: Shapes, low: Shapes) -> None:
        self.reference, self.low = reference, low
        self.left = dict.fromkeys(reference)
        self.right = dict.fromkeys(low)
        self.pairs: list[Pair] = []
        self.mismatched: list[str] = []

    def run(self, mapping: Mapping[str, str]) -> Pairing:
        for one, other in mapping.items():
            missing = one if one not in self.reference else other if other not in self.low else None
            if missing is not None:
                raise TensorError(f"the mapping names {missing!r}, which neither set has where it should")
            self._take(Pair((one,), other, "mapping"))
        for name in [name for name in self.right if name in self.left]:
            self._take(Pair((name,), name, "name"))
        self._by_rule()
        self._fused()
        self._by_likeness()
        position = {name: at for at, name in enumerate(self.reference)}
        self.pairs.sort(key=lambda found: position[found.reference[0]])
        return Pairing(self.pairs, list(self.left), list(self.right), self.mismatched)

    def _take(self, found: Pair) -> None:
        for name in found.reference:
            self.left.pop(name, None)
        self.right.pop(found.low, None)
        shapes = [self.reference[name] for name in found.reference]
        if found.part is None and len(shapes) == 1 and not fits(shapes[0], self.low[found.low]):
            self.mismatched.append(
                f"{found.reference[0]} is {_sizes(shapes[0])} and {found.low} is {_sizes(self.low[found.low])}"
            )
            return
        self.pairs.append(found)

    def _by_rule(self) -> None:
        """Names that say the same in other words: prefixes, synonyms, wrappers."""
        keys = defaultdict(list)
        for name in self.left:
            keys[named(name).key].append(name)
        for name in list(self.right):
            candidates = [one for one in keys.get(named(name).key, ()) if one in self.left]
            if len(candidates) == 1 and fits(self.reference[candidates[0]], self.low[name]):
                self._take(Pair((candidates[0],), name, "rule"))

    def _fused(self) -> None:
        by_key = {named(name).key: name for name in self.left}
        for name in list(self.right):
            told = named(name)
            parts = [by_key.get(_part(told, part).key) for part in FUSED.get(told.module, ())]
            names = tuple(part for part in parts if part is not None and part in self.left)
            if parts and len(names) == len(parts) and self._joins(names, self.low[name], told):
                self._take(Pair(names, name, "rule"))
        low_by_key = {named(name).key: name for name in self.right}
        for name in list(self.left):
            told = named(name)
            parts = [low_by_key.get(_part(told, part).key) for part in FUSED.get(told.module, ())]
            names = tuple(part for part in parts if part is not None and part in self.right)
            if (
                parts
                and len(names) == len(parts)
                and sum(map(prod, (self.low[one] for one in names))) == prod(self.reference[name])
            ):
                at = 0
                for one in names:
                    length = self.low[one][_axis(told, self.low[one])]
                    self._take(Pair((name,), one, "rule", (at, at + length)))
                    at += length

    def _joins(self, names: Sequence[str], shape: tuple[int, ...], told: Named) -> bool:
        shapes = [self.reference[name] for name in names]
        axis = _axis(told, shape)
        if any(len(one) != len(shape) for one in shapes):
            return False
        rest = [tuple(size for at, size in enumerate(one) if at != axis % len(shape)) for one in (*shapes, shape)]
        return len(set(rest)) == 1 and sum(one[axis] for one in shapes) == shape[axis]

    def _by_likeness(self) -> None:
        """What is left, where exactly one name of the same layer, role and size is like it."""
        if not self.left or not self.right or max(len(self.left), len(self.right)) > _MOST_GUESSED:
            return
        for name in list(self.right):
            told, size = named(name), prod(self.low[name])
            candidates = [
                one
                for one in self.left
                if (other := named(one)).layer == told.layer
                and (other.role, other.parameter) == (told.role, told.parameter)
                and prod(self.reference[one]) == size
            ]
            alike = sorted(((_likeness(named(one).module, told.module), one) for one in candidates), reverse=True)
            clear = len(alike) == 1 or (len(alike) > 1 and alike[0][0] - alike[1][0] > 0.1)
            if alike and alike[0][0] >= _LIKENESS and clear:
                self._take(Pair((alike[0][1],), name, "rule"))


def fits(reference: tuple[int, ...], low: tuple[int, ...]) -> bool:
    """Whether two shapes hold the same values: equal but for axes of length one, or transposed."""
    one, other = (tuple(size for size in shape if size != 1) for shape in (reference, low))
    return one == other or (len(one) == 2 and one == other[::-1]) or _flattened(one) == _flattened(other)


def _flattened(shape: Iterable[int]) -> tuple[int, int]:
    """Rows and columns, leading axes taken together."""
    sizes = list(shape)
    return (prod(sizes[:-1]), sizes[-1]) if sizes else (1, 1)


def _part(told: Named, module: str) -> Named:
    return Named(told.layer, module, told.role, told.parameter)


def _axis(told: Named, shape: tuple[int, ...]) -> int:
    """Along which axis fused parts lie: outputs are rows of weights, and channels of activations."""
    return 0 if told.role == "weight" or len(shape) < 2 else -1


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def _sizes(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a number"

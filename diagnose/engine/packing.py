"""Which queries share a rule set of the library, and which joins are too big for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from diagnose.engine.errors import EngineError
from diagnose.engine.evaluate import holds
from diagnose.engine.flatten import FlatFact
from diagnose.engine.properties import Property, property_value
from diagnose.engine.translate import Translation
from diagnose.knowledge.expression import fields_of

MAX_PATTERNS_OF_KIND = 48
"""A fact that reaches more than 64 nodes at once is refused, and a node with more than 255 others below it hangs.

Below the node of a kind each node leads to a pattern of its own, so neither can have more than this."""
MAX_PROPERTIES_OF_KIND = 200
"""A fact with 255 properties is refused; id, session and kind are among them."""
MAX_KINDS = 100
"""Nodes below the root."""
MAX_PARTIAL_MATCHES = 1_000_000
"""Matches of all patterns but the last are kept, at some 300 bytes each."""


def pack(translations: Iterable[Translation]) -> list[list[Translation]]:
    """Fill rule sets one after the other, within the limits."""
    packed: list[list[Translation]] = []
    patterns: Counter[str] = Counter()
    properties: dict[str, set[Property]] = {}
    for translation in translations:
        more_patterns = patterns + Counter(translation.query.kinds.values())
        more_properties = {
            kind: properties.get(kind, set()) | wanted for kind, wanted in translation.properties.items()
        }
        if not packed or not _fits(more_patterns, more_properties):
            packed.append([])
            more_patterns = Counter(translation.query.kinds.values())
            more_properties = {kind: set(wanted) for kind, wanted in translation.properties.items()}
            properties = {}
            if not _fits(more_patterns, more_properties):
                raise EngineError(f"rule {translation.query.rule} reads too many fields of one kind; split it in two")
        packed[-1].append(translation)
        patterns = more_patterns
        properties |= more_properties
    return packed


def _fits(patterns: Counter[str], properties: Mapping[str, set[Property]]) -> bool:
    return (
        max(patterns.values()) <= MAX_PATTERNS_OF_KIND
        and len(patterns) <= MAX_KINDS
        and all(len(wanted) <= MAX_PROPERTIES_OF_KIND for wanted in properties.values())
    )


def check_size(translation: Translation, facts: Mapping[str, Sequence[FlatFact]]) -> None:
    """Refuse a join whose partial matches would not fit into memory; facts are given by kind.

    Once the library has begun to join a fact it cannot be stopped, so this is found out before.
    """
    kinds = translation.query.kinds
    earlier = list(kinds)[:-1]
    if prod(len(facts[kinds[alias]]) for alias in earlier) <= MAX_PARTIAL_MATCHES:
        return
    if prod(_most_partners(translation, alias, facts[kinds[alias]]) for alias in earlier) > MAX_PARTIAL_MATCHES:
        raise EngineError(
            f"rule {translation.query.rule}: {' and '.join(earlier)} have more than {MAX_PARTIAL_MATCHES:,} "
            "combinations; join them by a field that they share"
        )


def _most_partners(translation: Translation, alias: str, facts: Sequence[FlatFact]) -> int:
    """The most facts that can join one combination of those before: facts that share their values of the join key."""
    own = [atom for atom in translation.query.atoms if {field.alias for field in fields_of(atom)} == {alias}]
    keys = [key.own for key in translation.keys if key.alias == alias]
    groups = Counter(
        tuple(property_value(key, fact) for key in keys)
        for fact in facts
        if all(holds(atom, {alias: fact}) for atom in own)
    )
    return max(groups.values(), default=0)

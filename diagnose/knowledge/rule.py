"""A rule as the engine takes it: patterns over typed facts, without YAML around it."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.knowledge.expression import Condition, fields_of


@dataclass(frozen=True, slots=True)
class RulePattern:
    """Facts of one kind that satisfy a condition.

    `at_least` and `at_most` are None for a fact that must be there (each such fact is a match of its own). Otherwise
    the facts are counted for every combination of the other patterns, and the combination stands when the count lies
    in the limits; `none` is a count of at most 0. `looked` is the kind of which at least one fact must exist for the
    count to mean anything: what was never looked for is unknown, not absent.
    """

    alias: str
    kind: str
    condition: Condition
    at_least: int | None = None
    at_most: int | None = None
    looked: str | None = None

    @property
    def counted(self) -> bool:
        """Whether the facts are counted and not matched one by one."""
        return self.at_least is not None or self.at_most is not None

    def other_aliases(self) -> set[str]:
        """Aliases of other patterns that the condition reads."""
        return {field.alias for conjunction in self.condition for atom in conjunction for field in fields_of(atom)} - {
            self.alias
        }


@dataclass(frozen=True, slots=True)
class Rule:
    """Patterns that must all hold. Matched patterns come first, counted ones after them."""

    id: str
    patterns: tuple[RulePattern, ...]

    @property
    def matched(self) -> tuple[RulePattern, ...]:
        """Patterns whose facts make a match."""
        return tuple(pattern for pattern in self.patterns if not pattern.counted)

    @property
    def counted(self) -> tuple[RulePattern, ...]:
        """Patterns whose facts are counted."""
        return tuple(pattern for pattern in self.patterns if pattern.counted)

    def kinds(self) -> set[str]:
        """Kinds of facts that the rule reads, those that show that something was looked for included."""
        return {pattern.kind for pattern in self.patterns} | {
            pattern.looked for pattern in self.patterns if pattern.looked is not None
        }

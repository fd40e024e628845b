"""What a diagnosis made of a scenario whose causes are known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from benchmarks.accuracy import CaseResult
from collectors.inputs import InputReport, Status
from diagnose.knowledge.schema import Severity
from diagnose.ranking.model import ESTABLISHED


class Injected(Protocol):
    """A scenario, as far as its outcome needs to know it."""

    @property
    def causes(self) -> tuple[str, ...]:
        """Causes that were injected; none in a healthy one."""


Kind = TypeVar("Kind", bound=Injected)


@dataclass(frozen=True)
class Outcome(Generic[Kind]):
    """What the diagnosis made of a scenario."""

    scenario: Kind
    ranked: tuple[tuple[str, float, Severity], ...]
    """Cause, probability and severity, most probable first."""
    inputs: tuple[InputReport, ...]
    beside: tuple[str, ...]
    """What is true beside the injected causes."""

    def place(self, cause: str) -> int | None:
        """Rank of a cause, from 1."""
        return next((n for n, (name, _, _) in enumerate(self.ranked, 1) if name == cause), None)

    def probability(self, cause: str) -> float:
        """Of a cause; 0 where it is not put forward."""
        return next((probability for name, probability, _ in self.ranked if name == cause), 0.0)

    @property
    def worst_place(self) -> int | None:
        """Rank of the last of the injected causes; None where one is absent."""
        places = [self.place(cause) for cause in self.scenario.causes]
        return None if None in places else max((place for place in places if place is not None), default=None)

    @property
    def true(self) -> frozenset[str]:
        """Injected causes, and what follows from them."""
        return frozenset({*self.scenario.causes, *self.beside})

    @property
    def accused(self) -> tuple[str, ...]:
        """Causes of severity warning or above at 0.5 or more that are not true."""
        return tuple(
            name
            for name, probability, severity in self.ranked
            if probability >= ESTABLISHED and severity.rank >= Severity.WARNING.rank and name not in self.true
        )

    def as_case(self) -> CaseResult:
        """For the tables that labelled cases have too."""
        return CaseResult(
            name="+".join(self.scenario.causes) or "healthy", accepted=self.true, healthy=not self.scenario.causes,
            ranked=self.ranked,
            unread=tuple(Path(item.path).name for item in self.inputs if item.status != Status.PARSED),
        )  # fmt: skip

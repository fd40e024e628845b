"""Ranks in the background. The knowledge base is loaded once, when the first ranking or question needs it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from diagnose.report.model import Report, ReportInput
from diagnose.tui.jobs.told import Failed, RankedSoFar, RankingDone, Told

if TYPE_CHECKING:
    from diagnose.engine.session import SessionRunner
    from diagnose.knowledge.base import KnowledgeBase


@dataclass(frozen=True)
class _Asked:
    facts: Sequence[dict[str, Any]]
    inputs: Sequence[ReportInput]
    symptoms: Sequence[str]
    ticket: object
    """None for what is only shown while more is being read."""


class Ranker:
    """One daemon thread that ranks what it was asked last; older questions that it has not begun are dropped."""

    def __init__(self, tell: Callable[[Told], None], now: Callable[[], datetime] | None = None) -> None:
        self._tell = tell
        self._now = now or (lambda: datetime.now(UTC).replace(microsecond=0))
        self._questions: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._runner: SessionRunner | None = None
        self._error: Exception | None = None

    def start(self) -> None:
        """Begin to load the rules."""
        threading.Thread(target=self._work, daemon=True, name="Ranker").start()

    def knowledge(self) -> KnowledgeBase | None:
        """The knowledge base, None while it is being loaded or where it cannot be."""
        return None if self._runner is None else self._runner.knowledge

    def ask(
        self, facts: Sequence[dict[str, Any]], inputs: Sequence[ReportInput], symptoms: Sequence[str], ticket: object
    ) -> None:
        """Rank these facts; the answer comes as RankingDone, or as RankedSoFar where the ticket is None."""
        self._questions.put(_Asked(facts, inputs, symptoms, ticket))

    def _work(self) -> None:
        from diagnose.engine.session import SessionRunner
        from diagnose.knowledge.loader import load_knowledge

        try:
            self._runner = SessionRunner(load_knowledge(examples=False))
        except Exception as error:  # told as a sentence with the first question
            self._error = error
        while True:
            asked = self._questions.get()
            while asked is not None and asked.ticket is None and not self._questions.empty():
                asked = self._questions.get()
            if asked is not None:
                self._answer(asked)

    def _answer(self, asked: _Asked) -> None:
        try:
            report = self._report(asked)
        except Exception as error:  # a defect must end in a sentence, not in a ranking that never comes
            self._tell(Failed(f"ranking failed: {type(error).__name__}: {error}"))
            return
        self._tell(RankedSoFar(report) if asked.ticket is None else RankingDone(report, asked.ticket))

    def _report(self, asked: _Asked) -> Report:
        from collectors.resolve import resolve
        from diagnose.intake.symptoms import reported_symptoms
        from diagnose.ranking.diagnosis import diagnose
        from diagnose.report.build import build_report, simulations
        from diagnose.sessions.facts import facts_from_json

        if self._runner is None:
            raise RuntimeError(f"the rules cannot be used: {self._error}")
        # What a check printed names no host as a rule; beside the facts of one host it is about that one.
        facts = resolve(facts_from_json(asked.facts)[0])
        knowledge = self._runner.knowledge
        symptoms = dict.fromkeys([*asked.symptoms, *reported_symptoms(facts, knowledge)])
        diagnosis = diagnose(self._runner, facts, symptoms)
        return build_report(diagnosis, knowledge, asked.inputs, self._now(), simulations(facts))

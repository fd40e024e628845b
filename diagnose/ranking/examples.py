"""Runs the examples that every rule file carries: the tests of the rules themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.engine.session import SessionRunner
from diagnose.knowledge.base import KnownCause
from diagnose.knowledge.consistency import example_fact
from diagnose.knowledge.schema import Example
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import ESTABLISHED, SUSPECTED, RankedCause


@dataclass(frozen=True)
class ExampleFailure:
    """An example whose facts did not lead where its file says."""

    cause_id: str
    example: str
    message: str


def run_examples(runner: SessionRunner, known: KnownCause) -> Iterator[ExampleFailure]:
    """Every example of a cause that does not hold."""
    for example in known.examples:
        problem = _problem(runner, known, example)
        if problem is not None:
            yield ExampleFailure(known.cause.id, example.name, problem)


def _problem(runner: SessionRunner, known: KnownCause, example: Example) -> str | None:
    facts = [example_fact(flat, runner.knowledge.vocabulary) for flat in example.facts]
    diagnosis = diagnose(runner, facts)
    ranked = next(
        (item for item in (*diagnosis.causes, *diagnosis.considered) if item.cause_id == known.cause.id), None
    )
    probability = ranked.probability if ranked is not None and _anything_for(ranked) else 0.0
    matched = set() if ranked is None else _matched(ranked)
    absent = [name for name in example.evidence if name not in matched]
    if absent:
        return f"evidence {', '.join(absent)} does not match"
    if example.expect == "cause" and probability < ESTABLISHED:
        return f"must reach {ESTABLISHED} and has {probability:.3f}"
    limit = SUSPECTED if example.expect == "nothing" else ESTABLISHED
    if example.expect != "cause" and probability >= limit:
        return f"must stay below {limit} and has {probability:.3f}"
    if example.expect == "evidence" and not matched:
        return "nothing matches"
    return None


def _anything_for(ranked: RankedCause) -> bool:
    return any(term.finding.evidence.direction == "for" for item in ranked.instances for term in item.terms)


def _matched(ranked: RankedCause) -> set[str]:
    return {term.finding.evidence.id for item in ranked.instances for term in item.terms}

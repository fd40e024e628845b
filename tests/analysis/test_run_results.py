from __future__ import annotations

import math
from typing import Any

import pytest

from diagnose.analysis.run_results import features
from diagnose.facts import Fact, Source
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

SOURCES = (Source(path="x"),)


def score(role: str | None, value: float, **more: Any) -> EvaluationResult:
    values = {"task": "t", "metric": "acc", "higher_is_better": True, **more}
    return EvaluationResult(sources=SOURCES, role=role, value=value, **values)


def texts(role: str | None, *said: str, degenerate: int = 0) -> GeneratedText:
    pairs = tuple((str(at), text) for at, text in enumerate(said))
    return GeneratedText(sources=SOURCES, role=role, texts=pairs, outputs=len(said), degenerate=degenerate)


def run(role: str, *values: float, nan: int = 0, **more: Any) -> PerplexityRun:
    return PerplexityRun(
        sources=SOURCES,
        role=role,
        chunks=len(values) + nan,
        not_a_number=nan,
        first_not_a_number=len(values) + 1 if nan else None,
        series=values or None,
        final=values[-1] if values and not nan else None,
        **more,
    )


def only(kind: type[Fact], *facts: Fact) -> Any:
    (found,) = features(facts)
    assert isinstance(found, kind)
    return found


def test_loss_is_relative_and_in_standard_errors() -> None:
    found = only(EvaluationDifference, score("reference", 0.8, stderr=0.03), score("low-bit", 0.6, stderr=0.04))
    assert found.loss_ratio == pytest.approx(0.25)
    assert found.standard_errors == pytest.approx(0.2 / 0.05)
    assert found.reference_known


def test_rising_perplexity_is_a_loss() -> None:
    found = only(
        EvaluationDifference,
        score("reference", 5.0, higher_is_better=False),
        score("low-bit", 6.0, higher_is_better=False),
    )
    assert found.loss_ratio == pytest.approx(0.2)
    assert found.standard_errors is None


def test_error_of_a_share_follows_from_its_items() -> None:
    found = only(EvaluationDifference, score("reference", 0.5, items=100), score("low-bit", 0.4, items=100))
    assert found.standard_errors == pytest.approx(0.1 / math.hypot(0.05, math.sqrt(0.0024)))
    assert found.items == 100


def test_without_a_reference_the_better_score_is_compared_with() -> None:
    found = only(EvaluationDifference, score("low-bit", 0.6, precision="int4"), score("low-bit", 0.7, precision="fp8"))
    assert (found.reference_value, found.suspect_value, found.reference_known) == (0.7, 0.6, False)
    assert (found.reference_precision, found.suspect_precision) == ("fp8", "int4")


def test_other_tasks_and_single_scores_are_not_compared() -> None:
    assert features([score("reference", 0.8), score("low-bit", 0.6, task="u")]) == []
    assert features([score("low-bit", 0.6)]) == []


def test_texts_part_where_they_first_differ() -> None:
    found = only(TextDivergence, texts("reference", "abcdef", "same"), texts("low-bit", "abcxyz", "same", "more"))
    assert (found.compared, found.differing, found.differing_ratio) == (2, 1, 0.5)
    assert (found.first_difference_characters, found.common_ratio) == (3, 0.5)


def test_perplexities_are_compared_at_the_same_chunk() -> None:
    found = only(PerplexityDifference, run("reference", 4.0, 5.0, 6.0), run("low-bit", 4.4, 5.5))
    assert (found.reference, found.suspect, found.chunks) == (5.0, 5.5, 2)
    assert found.ratio == pytest.approx(1.1)


def test_perplexity_that_is_no_number_has_no_ratio() -> None:
    found = only(PerplexityDifference, run("reference", 4.0, 5.0), run("low-bit", 4.4, nan=3))
    assert (found.ratio, found.suspect_not_a_number, found.first_not_a_number) == (None, 3, 2)


def sequence(role: str, *positions: dict[str, float]) -> LogprobSequence:
    top = tuple(tuple(sorted(place.items(), key=lambda pair: -pair[1])) for place in positions)
    return LogprobSequence(sources=SOURCES, role=role, prompt="0", top=top)


def test_divergence_of_two_known_distributions() -> None:
    high, low = {"a": math.log(0.7), "b": math.log(0.3)}, {"a": math.log(0.6), "b": math.log(0.4)}
    found = only(LogprobDifference, sequence("reference", high), sequence("low-bit", low))
    expected = 0.7 * math.log(0.7 / 0.6) + 0.3 * math.log(0.3 / 0.4)
    assert found.kl_mean_nats == pytest.approx(expected, abs=1e-6)
    assert (found.positions, found.top1_agreement_ratio) == (1, 1.0)


def test_preferred_tokens_that_differ_are_counted() -> None:
    high, low = {"a": -0.5, "b": -1.0}, {"a": -1.2, "b": -0.4}
    found = only(LogprobDifference, sequence("reference", high, high), sequence("low-bit", high, low))
    assert found.top1_agreement_ratio == 0.5
    assert found.mean_absolute_difference_nats == pytest.approx((0.7 + 0.6) / 4)
    assert found.bias_nats == pytest.approx((-0.7 + 0.6) / 4)

from __future__ import annotations

from collectors.polygraphy import Polygraphy
from diagnose.facts.precision import AccuracyComparison, NonFiniteOutput
from tests.collectors.helpers import damaged, feed

VALIDATION = """\
[I] Output Validation | Runners: ['trt-runner-N0-05/13/26-22:35:48']
[I]     trt-runner-N0-05/13/26-22:35:48  | Validating output: scores (check_inf=True, check_nan=True)
[I]         mean=0.1, std-dev=1, var=1
[I]         PASSED | Output: scores is valid
[I]     trt-runner-N0-05/13/26-22:35:48  | Validating output: mask (check_inf=True, check_nan=True)
[E]         Inf Detected | One or more non-finite values were encountered in this output
[E]         NaN Detected | One or more non-finite values were encountered in this output
[E]         FAILED | Errors detected in output: mask
"""
COMPARISON = """\
[I] Accuracy Comparison | onnxrt-runner-N0-05/13/26-22:35:48 vs. trt-fp16-runner-N0-05/13/26-22:35:50
[I]     Comparing Output: 'logits' (dtype=float32, shape=(1, 10)) with 'logits' (dtype=float32, shape=(1, 10))
[I]         Tolerance: [abs=1e-05, rel=1e-05] | Checking elemwise error
[I]         Error Metrics: logits
[I]             Minimum Required Tolerance: elemwise error | [abs=0.0041] OR [rel=0.01]
[I]             Absolute Difference | Stats: mean=0.0009, std-dev=0.0005, median=0.0008, max=0.0041 at (0, 2)
[I]             Relative Difference | Stats: mean=0.002, std-dev=0.001, median=0.0015, max=0.01 at (0, 2)
[E]         FAILED | Output: 'logits' | Difference exceeds tolerance (rel=1e-05, abs=1e-05)
"""


def test_outputs_that_are_not_finite() -> None:
    (fact,) = feed(Polygraphy, VALIDATION).facts
    assert isinstance(fact, NonFiniteOutput)
    assert (fact.tensor, fact.infinite, fact.not_a_number, fact.order) == ("mask", True, True, 0)
    assert fact.runner == "trt-runner-N0-05/13/26-22:35:48"


def test_comparison_with_its_tolerance_and_errors() -> None:
    (fact,) = feed(Polygraphy, COMPARISON).facts
    assert isinstance(fact, AccuracyComparison)
    assert (fact.output, fact.passed, fact.default_tolerance, fact.low_precision) == ("logits", False, True, True)
    assert (fact.max_absolute_error, fact.mean_absolute_error) == (0.0041, 0.0009)
    assert (fact.median_relative_error, fact.max_relative_error) == (0.0015, 0.01)


def test_set_tolerance_is_not_the_default() -> None:
    (fact,) = feed(Polygraphy, COMPARISON.replace("abs=1e-05, rel=1e-05", "abs=0.001, rel=0.001")).facts
    assert isinstance(fact, AccuracyComparison)
    assert (fact.default_tolerance, fact.absolute_tolerance) == (False, 0.001)


def test_damage_is_survived() -> None:
    for text in damaged(VALIDATION + COMPARISON):
        feed(Polygraphy, text)

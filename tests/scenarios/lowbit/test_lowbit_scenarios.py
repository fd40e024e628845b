from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from diagnose.engine.session import SessionRunner
from diagnose.knowledge.loader import load_knowledge
from tests.scenarios.lowbit.network import SHAPES
from tests.scenarios.lowbit.run import clean_runs
from tests.scenarios.lowbit.scenario import FAULTS, NOISE, LowBitScenario, clean, evaluate, faulty
from tests.scenarios.lowbit.storage import SCHEMES, read_as_stored

SMALLEST = len(SHAPES)
"""The shape after those of the benchmark."""


@pytest.fixture(scope="module")
def runner() -> SessionRunner:
    return SessionRunner(load_knowledge())


def chosen() -> Iterator[LowBitScenario]:
    """One scenario of causes that take long, and one for each other: what all seeds hold is in docs/accuracy.md."""
    wanted = {
        ("weight-conversion-scale", "reciprocal", 0), ("weight-conversion-zero-point", "shifted", 0),
        ("weight-conversion-transposed", "square", 0), ("calibration-unrepresentative", "small inputs", 2),
        ("overflow-to-nan-inf", "hidden state", 2), ("batch-variant-kernels", "split sums", 1),
        ("preprocessing-mismatch", "tokens", 1), ("model-implementation-mismatch", "rotary base", 2),
        ("sampling-mismatch", "settings", 0), ("kv-cache-scales-missing", "scale of 1", 0),
        ("emulated-low-bit", "FP8 on Ampere", 1), ("comparison-setup-error", "tolerance", 1),
    }  # fmt: skip
    seen: set[str] = set()
    for scenario in faulty():
        assert scenario.cause is not None
        if (scenario.cause, scenario.way, scenario.severity) in wanted and scenario.cause not in seen:
            seen.add(scenario.cause)
            yield LowBitScenario(
                scenario.cause, scenario.way, scenario.scheme, scenario.severity, SMALLEST, scenario.seed
            )


@pytest.mark.parametrize("scenario", list(chosen()), ids=lambda scenario: str(scenario.cause))
def test_injected_cause_comes_first(runner: SessionRunner, scenario: LowBitScenario) -> None:
    outcome = evaluate(runner, scenario)
    assert outcome.place() == 1, outcome.ranked[:3]
    assert outcome.accused == ()


@pytest.mark.parametrize("number", [4, 7, 9])
def test_clean_models_are_not_accused(runner: SessionRunner, number: int) -> None:
    outcome = evaluate(runner, replace(list(clean(10))[number], shape=SMALLEST))
    assert outcome.accused == ()
    assert outcome.ranked[0][0] == NOISE


def test_every_way_has_its_own_name() -> None:
    names = [(cause, way, scheme) for cause, ways in FAULTS.items() for way, scheme, _ in ways]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_engines_read_what_converters_write(scheme: str) -> None:
    runs = clean_runs(SHAPES[1], scheme, 3)
    read = read_as_stored(scheme, runs.stored, list(runs.weights))
    name = "model.layers.0.mlp.down_proj.weight"
    weight = runs.weights[name].astype(np.float32)
    error = np.linalg.norm(read[name] - weight) / np.linalg.norm(weight)
    assert error < (0.04 if "8" in scheme else 0.2)

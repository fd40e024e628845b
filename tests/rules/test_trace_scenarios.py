"""Jobs with known trouble, and healthy ones, as traces of all ranks, with noise and clocks of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.synthetic_trace import Job, write_job
from collectors.resolve import resolve_readings
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import ESTABLISHED

SEEDS = range(3)
Causes = Callable[[Path], list[str]]


@pytest.fixture(scope="module")
def causes() -> Causes:
    """Causes at one half and above for a path, most probable first."""
    runner = SessionRunner(load_knowledge())

    def run(path: Path) -> list[str]:
        readings = resolve_readings(read_inputs([str(path)]))
        diagnosis = diagnose(runner, readings.facts, series=readings.series)
        return [item.cause_id for item in diagnosis.causes if item.probability >= ESTABLISHED]

    return run


def job(seed: int, **changes: Any) -> Job:
    """A healthy job of drawn size, whose ranks differ by a percent and whose clocks are anywhere."""
    generator = np.random.default_rng(seed)
    ranks = int(generator.choice([4, 8]))
    drawn: dict[str, Any] = {
        "ranks": ranks,
        "steps": int(generator.integers(3, 6)),
        "kernels": int(generator.integers(80, 140)),
        "kernel_us": float(generator.uniform(120, 260)),
        "interval_us": float(generator.uniform(12, 30)),
        "loader_us": float(generator.uniform(20, 120)),
        "buckets": int(generator.integers(3, 6)),
        "exchange_us": float(generator.uniform(400, 900)),
        "slower": {rank: float(1 + abs(generator.normal(0, 0.002))) for rank in range(ranks)},
        "clock_offset_us": {rank: float(generator.uniform(0, 1e9)) for rank in range(ranks)},
    }
    return Job(**{**drawn, **changes})


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_healthy_job_is_accused_of_nothing(causes: Causes, tmp_path: Path, seed: int, old: bool) -> None:
    write_job(job(seed), tmp_path, old=old)
    assert causes(tmp_path) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_one_rank_of_a_healthy_job_is_accused_of_nothing(causes: Causes, tmp_path: Path, seed: int) -> None:
    assert causes(write_job(job(seed), tmp_path)[0]) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_batches_that_come_late_on_all_ranks(causes: Causes, tmp_path: Path, seed: int) -> None:
    write_job(job(seed, loader_us=9000.0), tmp_path)
    assert causes(tmp_path)[0] == "data-loader-bound"


@pytest.mark.parametrize("seed", SEEDS)
def test_batches_that_come_late_on_one_rank_are_no_straggling_gpu(causes: Causes, tmp_path: Path, seed: int) -> None:
    write_job(job(seed, slow_loader_us={1: 9000.0}), tmp_path)
    found = causes(tmp_path)
    assert found[0] == "data-loader-bound"
    assert "straggler-gpu" not in found
    assert "rank-load-imbalance" not in found


@pytest.mark.parametrize("seed", SEEDS)
def test_kernels_shorter_than_their_launches(causes: Causes, tmp_path: Path, seed: int) -> None:
    write_job(job(seed, kernel_us=9.0, interval_us=28.0, exchange_us=60.0), tmp_path)
    assert causes(tmp_path) == ["launch-bound"]


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_exchanged_after_the_backward_pass(causes: Causes, tmp_path: Path, seed: int) -> None:
    drawn = job(seed)
    exposed = 0.4 * drawn.kernels * drawn.kernel_us / drawn.buckets
    write_job(job(seed, overlapped=False, exchange_us=exposed), tmp_path / "all")
    assert causes(tmp_path / "all") == ["communication-not-overlapped"]
    assert causes(tmp_path / "all" / "rank0.pt.trace.json.gz") == ["communication-not-overlapped"]


@pytest.mark.parametrize("seed", SEEDS)
def test_exchanges_that_outlast_computation_are_too_much_rather_than_exposed(
    causes: Causes, tmp_path: Path, seed: int
) -> None:
    drawn = job(seed)
    write_job(job(seed, exchange_us=1.8 * drawn.kernels * drawn.kernel_us / drawn.buckets), tmp_path)
    assert causes(tmp_path) == ["communication-exceeds-compute"]


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_gpu_that_is_slower_at_the_same_kernels(causes: Causes, tmp_path: Path, seed: int, old: bool) -> None:
    write_job(job(seed, slower={2: 1.15}), tmp_path, old=old)
    assert causes(tmp_path) == ["straggler-gpu"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rank_with_more_to_do(causes: Causes, tmp_path: Path, seed: int) -> None:
    write_job(job(seed, slower={}, more_kernels={2: 1.3}), tmp_path)
    assert causes(tmp_path) == ["rank-load-imbalance"]


def test_traces_from_the_field_are_told_apart(causes: Causes, corpus: Path) -> None:
    folder = corpus / "files" / "pytorch-trace"
    assert causes(folder / "kineto-tb-resnet50-workers0.pt.trace.json.gz") == ["data-loader-bound"]
    assert causes(folder / "kineto-tb-resnet50-workers4.pt.trace.json.gz") == []
    assert causes(folder / "param-dlrm-kineto.tar.gz") == ["launch-bound"]
    for name in ("hta-cpu-only-rank34", "hta-cupti-profiler", "hta-inference-rank1", "hta-timeline-rank0"):
        assert causes(folder / f"{name}.json.gz") == []

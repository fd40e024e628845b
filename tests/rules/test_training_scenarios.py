"""Training that goes wrong in known ways, written as the files that an operator would bring, seeded and with noise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from collectors.resolve import resolve
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import ESTABLISHED

SEEDS = range(6)


@pytest.fixture(scope="module")
def causes() -> Callable[[Path], dict[str, float]]:
    """Causes at one half and above for the files of a folder, most probable first."""
    runner = SessionRunner(load_knowledge())

    def run(folder: Path) -> dict[str, float]:
        diagnosis = diagnose(runner, resolve(read_inputs([str(folder)]).facts))
        return {item.cause_id: item.probability for item in diagnosis.causes if item.probability >= ESTABLISHED}

    return run


def rank_table(generator: np.random.Generator, ranks: int, steps: int = 60) -> np.ndarray:
    return generator.normal(300, 100) ** 2 % 400 + 100 + generator.normal(0, 1.5, size=(steps, ranks))


def write_ranks(folder: Path, compute: np.ndarray, gpu: bool = False) -> None:
    rows = [
        f"{step},{rank},{value:.2f},{row.max() * 1.1:.2f}"
        for step, row in enumerate(compute)
        for rank, value in enumerate(row)
    ]
    (folder / "ranks.csv").write_text("\n".join([f"step,{'gpu' if gpu else 'rank'},compute_ms,step_ms", *rows]) + "\n")


def write_log(folder: Path, seconds: np.ndarray, batch: int = 512, pipeline: int = 1, gpus: int = 64) -> None:
    sizes = {"data_parallel_size": gpus // pipeline, "global_batch_size": batch, "micro_batch_size": 1}
    layout = {**sizes, "num_layers": 32, "pipeline_model_parallel_size": pipeline, "world_size": gpus}
    lines = [f"  {name} {'.' * (48 - len(name))} {value}" for name, value in layout.items()]
    lines += [
        f" iteration {step + 1:8d}/   90000 | consumed samples: {batch * (step + 1):12d} | "
        f"elapsed time per iteration (ms): {1000 * value:.1f} | learning rate: 1.000E-04 | "
        f"global batch size: {batch:5d} | lm loss: 2.0E+00 |"
        for step, value in enumerate(seconds)
    ]
    (folder / f"n{gpus}.log").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("seed", SEEDS)
def test_sound_training_is_not_accused(seed: int, tmp_path: Path, causes: Callable[[Path], dict[str, float]]) -> None:
    generator = np.random.default_rng(seed)
    write_ranks(tmp_path, rank_table(generator, int(generator.choice([4, 8, 16]))))
    seconds = generator.normal(3, 0.02, 120)
    seconds[0] *= 8
    seconds[50] *= 3
    write_log(tmp_path, seconds)
    assert causes(tmp_path) == {}


@pytest.mark.parametrize("seed", SEEDS)
def test_gpu_that_is_slow_in_all_steps(seed: int, tmp_path: Path, causes: Callable[[Path], dict[str, float]]) -> None:
    generator = np.random.default_rng(seed)
    compute = rank_table(generator, 8)
    compute[:, generator.integers(8)] *= generator.uniform(1.07, 1.3)
    write_ranks(tmp_path, compute, gpu=True)
    assert next(iter(causes(tmp_path))) == "straggler-gpu"


@pytest.mark.parametrize("seed", SEEDS)
def test_work_that_differs_from_step_to_step(
    seed: int, tmp_path: Path, causes: Callable[[Path], dict[str, float]]
) -> None:
    generator = np.random.default_rng(seed)
    compute = rank_table(generator, 16)
    compute *= generator.lognormal(0, 0.15, size=compute.shape)
    write_ranks(tmp_path, compute)
    assert list(causes(tmp_path)) == ["rank-load-imbalance"]


@pytest.mark.parametrize("seed", SEEDS)
def test_node_that_becomes_slow(seed: int, tmp_path: Path, causes: Callable[[Path], dict[str, float]]) -> None:
    generator = np.random.default_rng(seed)
    seconds = generator.normal(5, 0.02, 80)
    seconds[int(generator.integers(20, 60)) :] *= generator.uniform(1.05, 1.4)
    write_log(tmp_path, seconds)
    assert list(causes(tmp_path)) == ["straggler-node"]


@pytest.mark.parametrize("seed", SEEDS)
def test_pipeline_that_is_too_deep_for_its_batch(
    seed: int, tmp_path: Path, causes: Callable[[Path], dict[str, float]]
) -> None:
    generator = np.random.default_rng(seed)
    stages = int(generator.choice([8, 16, 32]))
    write_log(tmp_path, generator.normal(2, 0.01, 30), batch=stages // 2, pipeline=stages, gpus=stages)
    assert list(causes(tmp_path)) == ["pipeline-bubble"]


@pytest.mark.parametrize("seed", SEEDS)
def test_fixed_batch_over_ever_more_gpus(seed: int, tmp_path: Path, causes: Callable[[Path], dict[str, float]]) -> None:
    generator = np.random.default_rng(seed)
    exchange = generator.uniform(0.2, 0.6)
    for gpus in (8, 16, 32, 64):
        write_log(tmp_path, generator.normal(8 / gpus + exchange, 0.005, 40), batch=64, gpus=gpus)
    assert next(iter(causes(tmp_path))) == "batch-per-gpu-too-small"

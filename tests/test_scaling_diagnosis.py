"""From a table of throughput, beside what shows the machine, to a cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.resolve import resolve
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import Diagnosis


@pytest.fixture(scope="module")
def runner() -> SessionRunner:
    return SessionRunner(load_knowledge())


def diagnosed(runner: SessionRunner, folder: Path, **files: str) -> Diagnosis:
    for name, content in files.items():
        (folder / f"{name}.txt").write_text(content)
    return diagnose(runner, resolve(read_inputs([str(folder)]).facts))


def causes(diagnosis: Diagnosis) -> dict[str, float]:
    return {cause.cause_id: cause.probability for cause in diagnosis.causes}


def symptoms(diagnosis: Diagnosis) -> set[str]:
    return {symptom.id for symptom in diagnosis.symptoms if symptom.detected}


def matrix(gpus: int, near: str, far: str) -> str:
    head = "\t".join(["", *(f"GPU{gpu}" for gpu in range(gpus)), "CPU Affinity", "NUMA Affinity"])
    rows = [head]
    for row in range(gpus):
        side = row * 2 // gpus
        cells = [" X " if row == column else near if column * 2 // gpus == side else far for column in range(gpus)]
        rows.append("\t".join([f"GPU{row}", *cells, f"{side * 16}-{side * 16 + 15}", str(side)]))
    return "\n".join(rows) + "\n"


def table(cost: dict[int, float]) -> str:
    return "gpus,samples_per_second\n" + "".join(f"{gpus},{100 * gpus / value:.2f}\n" for gpus, value in cost.items())


STEP = {1: 1.0, 2: 1.01, 3: 1.0, 4: 1.02, 5: 1.62, 6: 1.6, 8: 1.63}


def test_a_step_where_the_second_socket_begins_speaks_for_gpus_that_span_sockets(
    runner: SessionRunner, tmp_path: Path
) -> None:
    found = diagnosed(runner, tmp_path, topo=matrix(8, "PHB", "SYS"), curve=table(STEP))
    assert next(iter(causes(found))) == "gpus-span-sockets"
    assert causes(found)["gpus-span-sockets"] >= 0.5
    assert "multi-gpu-scaling" in symptoms(found)


@pytest.mark.parametrize(
    ("topo", "cost"),
    [
        (matrix(8, "NV18", "NV18"), STEP),
        (matrix(8, "PHB", "SYS"), {1: 1.0, 2: 1.01, 4: 1.0, 8: 1.02}),
    ],
    ids=["NVLink joins all", "it scales"],
)
def test_the_innocent_are_not_accused(runner: SessionRunner, tmp_path: Path, topo: str, cost: dict[int, float]) -> None:
    found = causes(diagnosed(runner, tmp_path, topo=topo, curve=table(cost)))
    assert all(probability < 0.5 for probability in found.values()), found


def test_a_job_over_more_leaves_than_it_needs_is_seen(runner: SessionRunner, tmp_path: Path) -> None:
    switches = "".join(f"SwitchName=leaf{leaf} Nodes=n[{leaf * 4}-{leaf * 4 + 3}]\n" for leaf in range(1, 5))
    found = diagnosed(runner, tmp_path, switches=switches, job="   NodeList=n[4,8,12,16]\n")
    assert 0.1 < causes(found)["topology-unaware-placement"] < 0.5
    compact = diagnosed(runner, tmp_path, switches=switches, job="   NodeList=n[4-7]\n")
    assert "topology-unaware-placement" not in causes(compact)

from __future__ import annotations

import pytest

from collectors.rank_table import RankTable
from diagnose.facts.training import RankTimes
from tests.collectors.helpers import block, damaged, opened

STAGES = """\
step,dp_rank,stage,compute_s,n_ops
7,0,0,0.50,8
7,0,1,0.75,8
7,1,0,0.52,8
8,0,0,0.54,8
8,0,1,0.77,8
8,1,0,0.52,8
"""
NODES = """\
| node  | rank | compute_ms | all_reduce_ms | step_ms |
|-------|------|------------|---------------|---------|
| gpu-a | 0    | 200.0      | 40            | 250     |
| gpu-b | 1    | 210.0      | 30            | 250     |
"""


def times(text: str) -> list[RankTimes]:
    return [fact for fact in RankTable.parse(block(text)).facts if isinstance(fact, RankTimes)]


def test_stages_and_replicas_are_told_apart_over_steps() -> None:
    found = times(STAGES)
    assert [(fact.worker, fact.stage, fact.replica) for fact in found] == [
        ("stage 0 of replica 0", 0, 0),
        ("stage 1 of replica 0", 1, 0),
        ("stage 0 of replica 1", 0, 1),
    ]
    assert found[0].series == (0.5, 0.54)
    assert found[0].median_seconds == pytest.approx(0.52)
    assert (found[0].measure, found[0].role, found[0].steps) == ("compute_s", "own-work", 2)


def test_phases_get_their_roles_and_workers_their_hosts() -> None:
    found = times(NODES)
    assert [(fact.measure, fact.role) for fact in found[:3]] == [
        ("compute_ms", "own-work"),
        ("all_reduce_ms", "communication"),
        ("step_ms", "whole-step"),
    ]
    assert found[0].subject.host == "gpu-a"
    assert found[0].median_seconds == pytest.approx(0.2)
    assert found[0].worker == "rank 0 of node gpu-a"


def test_the_wait_for_data_is_told_from_other_waits() -> None:
    found = times("rank,data_wait_ms,data_parallel_sync_ms,step_ms\n0,120,30,300\n1,110,40,300\n")
    assert [(fact.measure, fact.role) for fact in found[:3]] == [
        ("data_wait_ms", "input"),
        ("data_parallel_sync_ms", "communication"),
        ("step_ms", "whole-step"),
    ]


@pytest.mark.parametrize(
    ("table", "seconds"),
    [
        ("rank;backward_ms\n3;292.2\n", 0.2922),
        ('rank,backward_ms\n3,"1,292.2"\n', 1.2922),
        ("rank\tstep (us)\n3\t1500\n", 0.0015),
        ("Rank,Forward [s]\nrank 3,2\n", 2.0),
    ],
)
def test_units_and_thousands(table: str, seconds: float) -> None:
    (fact,) = times(table)
    assert fact.median_seconds == pytest.approx(seconds)
    assert fact.subject.rank == 3


def test_gpu_column_names_the_gpu() -> None:
    (fact,) = times("gpu,gemm_ms\nGPU 5,12\n")
    assert (fact.subject.gpu_index, fact.worker) == (5, "GPU 5")


def test_rows_without_numbers_are_left_out() -> None:
    found = times("rank,step_ms\n0,12\n1,N/A\n2,nan\nmean,11\n3,-4\n")
    assert [fact.subject.rank for fact in found] == [0]


@pytest.mark.parametrize(
    "header",
    [
        "rank,loss",
        "node,peer,GBps",
        "node,latency_ms",
        "host,uptime_s",
        "gpu,temperature",
        "0,1,2",
        "rank 0,step_ms",
    ],
)
def test_other_tables_do_not_open(header: str) -> None:
    assert opened(RankTable, header + "\n") == []


def test_headers_open() -> None:
    assert opened(RankTable, STAGES) == ["step,dp_rank,stage,compute_s,n_ops"]


@pytest.mark.parametrize("text", [STAGES, NODES])
def test_damaged_text_never_raises(text: str) -> None:
    for broken in damaged(text):
        RankTable.parse(block(broken))

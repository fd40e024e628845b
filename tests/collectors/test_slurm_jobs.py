from __future__ import annotations

from datetime import UTC, datetime

from collectors.base import Parsed
from collectors.slurm_jobs import SlurmJobs
from diagnose.facts.sharing import Workload
from tests.collectors.helpers import block, damaged, opened

SQUEUE = """\
             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
               812 inference vllm-70b    alice  R 2-03:04:05      1 gpu01
               813     train pretrain      bob  R    1:02:03      2 gpu[01-02]
               814     train     more      bob PD       0:00      4 (Nodes required for job are DOWN)
"""
PIPES = """\
JOBID|PARTITION|NAME|USER|ST|NODELIST|TRES_PER_NODE|CPUS|PRIORITY|QOS|START_TIME|COMMAND|OVER_SUBSCRIBE
821|batch|run 7|eve|R|gpu03|gres:gpu:4|64|4294|normal|2026-02-03T04:05:06|/home/eve/train.sh --lr 1|OK
822|batch|x|eve|PD||gres:gpu:4|64|4294|normal|N/A|/bin/true|OK
823|single|y|eve|R|gpu04|N/A|8|1|high|N/A|(null)|NO
"""
SACCT = """\
JobID|JobName|Partition|State|Start|End|NodeList|AllocTRES|User
900|qwen-sft|train|COMPLETED|2026-02-03T00:00:00|2026-02-03T02:00:00|gpu[01-02]|billing=16,cpu=32,gres/gpu:h100=8,gres/gpu=8,node=2|bob
900.batch|batch||COMPLETED|2026-02-03T00:00:00|2026-02-03T02:00:00|gpu01|cpu=16,gres/gpu=4|
901|serve|inference|CANCELLED by 0|2026-02-03T00:00:00|2026-02-03T02:00:00|None assigned||alice
"""
FIXED = """\
JobID           JobName  Partition      State        NodeList
------------ ---------- ---------- ---------- ---------------
910          llama ser+  inference    RUNNING           gpu05
910.batch         batch                RUNNING           gpu05
"""


def workloads(parsed: Parsed) -> list[Workload]:
    return [fact for fact in parsed.facts if isinstance(fact, Workload)]


def test_running_jobs_are_told_once_for_each_node() -> None:
    found = workloads(SlurmJobs.parse(block(SQUEUE)))
    assert [(one.job, one.name, one.role, one.node, one.nodes, one.running) for one in found] == [
        ("812", "vllm-70b", "inference", "gpu01", 1, True),
        ("813", "pretrain", "training", "gpu01", 2, True),
        ("813", "pretrain", "training", "gpu02", 2, True),
    ]
    assert {one.subject.host for one in found} == {None}
    assert len(opened(SlurmJobs, SQUEUE)) == 1


def test_other_columns_are_read_by_their_titles() -> None:
    first, second = workloads(SlurmJobs.parse(block(PIPES)))
    assert (first.name, first.role, first.role_from, first.gpu_count, first.cpu_count) == (
        "run 7",
        "training",
        "command",
        4,
        64,
    )
    assert first.start_unix_seconds == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC).timestamp()
    assert (first.clock, first.qos, first.priority, first.exclusive) == ("local", "normal", 4294, False)
    assert (second.job, second.exclusive, second.gpu_count, second.clock) == ("823", True, None, None)


def test_of_accounting_the_steps_are_left_out_and_resources_are_shared_out_over_nodes() -> None:
    parsed = SlurmJobs.parse(block(SACCT))
    found = workloads(parsed)
    assert [(one.job, one.node, one.gpu_count, one.cpu_count, one.running) for one in found] == [
        ("900", "gpu01", 4, 16, False),
        ("900", "gpu02", 4, 16, False),
    ]
    assert found[0].end_unix_seconds is not None
    assert found[0].start_unix_seconds is not None
    assert found[0].end_unix_seconds - found[0].start_unix_seconds == 7200
    assert parsed.problems == []


def test_columns_of_fixed_width_may_hold_blanks() -> None:
    (one,) = workloads(SlurmJobs.parse(block(FIXED)))
    assert (one.name, one.node, one.role) == ("llama ser+", "gpu05", "inference")


def test_rows_without_titles_are_a_problem_and_not_a_guess() -> None:
    parsed = SlurmJobs.parse(block("812 inference vllm alice R 1:00 1 gpu01", command="squeue -h"))
    assert parsed.facts == []
    assert len(parsed.problems) == 1


def test_damaged_text_is_read_without_an_error() -> None:
    for text in (SQUEUE, PIPES, SACCT, FIXED):
        for broken in damaged(text):
            SlurmJobs.parse(block(broken))

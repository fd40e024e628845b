from __future__ import annotations

from pathlib import Path

from collectors.scan import read_inputs
from collectors.slurm_records import SlurmJobRecords, SlurmNodeRecords
from diagnose.facts.placement import JobNodes
from diagnose.facts.sharing import SchedulingNode, Workload
from tests.collectors.helpers import block, damaged

JOBS = """\
JobId=812 JobName=vllm-70b
   UserId=alice(1001) GroupId=ml(100) MCS_label=N/A
   Priority=4294901 Nice=0 Account=serving QOS=high
   JobState=RUNNING Reason=None Dependency=(null)
   StartTime=2026-02-01T10:00:00 EndTime=Unknown Deadline=N/A
   Partition=inference AllocNode:Sid=login1:4242
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=gpu01
   NumNodes=1 NumCPUs=32 NumTasks=1 CPUs/Task=32
   AllocTRES=cpu=32,mem=256G,node=1,billing=32,gres/gpu=4,gres/gpu:h100=4
     Nodes=gpu01 CPU_IDs=0-31 Mem=262144 GRES=gpu:h100:4(IDX:0-3)
   OverSubscribe=OK Contiguous=0
   Command=/opt/serve/run.sh
   WorkDir=/opt/serve

JobId=813 JobName=wrap
   JobState=RUNNING Reason=None
   Partition=train
   NodeList=gpu[01-02]
   TresPerNode=gres/gpu:4
   Command=/home/bob/pretrain.sbatch

JobId=814 JobName=waits
   JobState=PENDING Reason=Resources
   NodeList=
   Command=/home/bob/train.sh
"""
NODES = """\
NodeName=gpu01 Arch=x86_64 CoresPerSocket=56
   CPUAlloc=64 CPUEfctv=224 CPUTot=224 CPULoad=70.11
   Gres=gpu:h100:8(S:0-1)
   OS=Linux 5.15.0 #1 SMP
   Partitions=inference
   CfgTRES=cpu=224,mem=2000G,billing=224,gres/gpu=8
   AllocTRES=cpu=64,gres/gpu=8
"""


def test_a_job_tells_its_gpus_on_each_node() -> None:
    parsed = SlurmJobRecords.parse(block(JOBS))
    found = [fact for fact in parsed.facts if isinstance(fact, Workload)]
    assert [(one.job, one.node, one.role, one.gpus, one.gpu_count) for one in found] == [
        ("812", "gpu01", "inference", "0 1 2 3", 4),
        ("813", "gpu01", "training", None, 4),
        ("813", "gpu02", "training", None, 4),
    ]
    assert (found[0].user, found[0].qos, found[0].exclusive, found[0].clock) == ("alice", "high", False, "local")
    assert [fact.node_names for fact in parsed.facts if isinstance(fact, JobNodes)] == ["gpu01 gpu02"]


def test_a_node_tells_its_partitions_and_what_it_gives_out() -> None:
    (node,) = SlurmNodeRecords.parse(block(NODES)).facts
    assert isinstance(node, SchedulingNode)
    assert (
        node.node,
        node.pool,
        node.pool_role,
        node.gpus_allocatable,
        node.gpus_allocated,
        node.cpus_allocatable,
    ) == (
        "gpu01",
        "inference",
        "inference",
        8,
        8,
        224,
    )


def test_the_list_of_nodes_alone_is_read(tmp_path: Path) -> None:
    (tmp_path / "job.txt").write_text("   NodeList=gpu[01,05]\n")
    (fact,) = read_inputs([str(tmp_path / "job.txt")]).facts
    assert isinstance(fact, JobNodes)
    assert fact.node_names == "gpu01 gpu05"


def test_damaged_text_is_read_without_an_error() -> None:
    for broken in damaged(JOBS):
        SlurmJobRecords.parse(block(broken))
    for broken in damaged(NODES):
        SlurmNodeRecords.parse(block(broken))

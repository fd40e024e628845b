from __future__ import annotations

from diagnose.analysis.workloads import features
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.gpu import GpuProcess
from diagnose.facts.process import ProcessPlacement
from diagnose.facts.sharing import Workload


def of(kind: type[Fact], process: int, name: str | None, gpu: int = 0) -> Fact:
    values = {} if name is None else {"name": name}
    return kind(
        subject=Subject(host="n1", gpu_index=gpu, process_id=process), sources=(Source(path="x", line=1),), **values
    )


def test_a_process_whose_name_tells_its_role_is_a_workload_of_its_own() -> None:
    found = features([of(ProcessPlacement, 7, "VLLM::EngineCor"), of(GpuProcess, 8, "torchrun")])
    told = [(one.subject.path(), one.role, one.system, one.job) for one in found if isinstance(one, Workload)]
    assert told == [("n1/process/7", "inference", "process", "7"), ("n1/process/8", "training", "process", "8")]


def test_a_process_on_several_gpus_is_told_once_and_a_name_without_a_role_not_at_all() -> None:
    facts = [of(GpuProcess, 7, "vllm", 0), of(GpuProcess, 7, "vllm", 1), of(GpuProcess, 9, "python3")]
    assert len(features([*facts, of(ProcessPlacement, 10, None)])) == 1

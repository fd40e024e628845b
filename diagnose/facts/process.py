"""Facts about processes that hold GPUs. Subject: the process, and the GPU where the fact is about both."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class ProcessPlacement(Fact):
    """Where a process may run and where its memory lies, seen from one GPU that it holds. Subject: GPU and process."""

    kind: ClassVar[str] = "process-placement"
    name: str | None = optional("Name of the program")
    cpus: str | None = optional("CPUs that it may run on, all its threads taken together")
    cpu_count: int | None = optional("CPUs that it may run on")
    bound: bool | None = optional("False where it may run on every CPU that is online")
    cpus_near_gpu_ratio: float | None = optional("Share of these CPUs that are near the GPU, 0 to 1")
    memory_nodes: str | None = optional("NUMA nodes that it may allocate on")
    gpu_numa_node: int | None = optional("NUMA node of the GPU")
    memory_bytes: int | None = optional("Memory that it has in use")
    memory_near_gpu_ratio: float | None = optional("Share of that memory on the GPU's node, 0 to 1")
    threads: int | None = optional("Threads")
    threads_near_gpu_ratio: float | None = optional("Share of threads that ran last on a CPU near the GPU, 0 to 1")
    cpu_wait_ratio: float | None = optional("Time waiting for a CPU over time running, between two readings")
    control_group: str | None = optional("Control group")
    in_container: bool | None = optional("Whether the control group is a container's")


class ProcessEnvironment(Fact):
    """A variable that bears on performance, in the environment of a process that holds a GPU."""

    kind: ClassVar[str] = "process-environment"
    name: str = required("Name, e.g. `CUDA_VISIBLE_DEVICES`, `OMP_NUM_THREADS`")
    value: str = required("Value as set")
    number: int | None = optional("Value where it is a whole number")

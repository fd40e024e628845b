"""Facts about who runs where, what workloads share, and what keeps them apart.

A scheduler names nodes, not hosts as other inputs do: the node stands in `node`, and the features name the host.
"""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class Workload(Fact):
    """A job, pod or process group on one node. Subject: the process where it is one; none for what a scheduler lists.

    A job on several nodes gives one fact for each node.
    """

    kind: ClassVar[str] = "workload"
    name: str = required("Name of the job, pod or program")
    role: str = required("`training`, `inference`, `interactive`, `batch` or `unknown`")
    role_from: str | None = optional(
        "What tells the role: `command`, `image`, `name`, `label`, `partition`, `namespace` or `parameters`"
    )
    role_words: str | None = optional("The words that tell it, e.g. `vllm serve`")
    system: str = required("`slurm`, `kubernetes` or `process`")
    job: str | None = optional("Job id, `namespace/pod`, or process id")
    node: str | None = optional("Node as the scheduler names it")
    nodes: int | None = optional("Nodes that the job has in all")
    running: bool | None = optional("Whether it runs at the time of the listing")
    gpus: str | None = optional("GPUs by index or UUID, separated by blanks, where the source names them")
    gpu_count: int | None = optional("GPUs on this node")
    mig_slices: int | None = optional("MIG instances that it asks for")
    cpus: str | None = optional("CPUs that it may run on, as a list, where the source names them")
    cpu_count: float | None = optional("CPUs that it asks for on this node")
    cpu_limit: float | None = optional("CPUs that its quota allows; absent without a quota")
    memory_bytes: int | None = optional("Memory that it asks for on this node")
    pool: str | None = optional("Partition, node pool or namespace that it was put in")
    user: str | None = optional("Whose it is")
    priority: float | None = optional("Priority as the scheduler has it")
    priority_class: str | None = optional("Name of the priority class")
    qos: str | None = optional("Quality of service: Slurm's QOS, or `Guaranteed`, `Burstable`, `BestEffort`")
    exclusive: bool | None = optional("Whether it has the node to itself")
    host_network: bool | None = optional("Whether a pod uses the host's network")
    start_unix_seconds: float | None = optional("When it started; as if UTC where `clock` is `local`")
    end_unix_seconds: float | None = optional("When it ended, or must end at the latest")
    clock: str | None = optional("What the times are told in: `utc` or `local`")


class SchedulingNode(Fact):
    """A node as its scheduler sees it. Subject: none; the node stands in `node`."""

    kind: ClassVar[str] = "scheduling-node"
    node: str = required("Node as the scheduler names it")
    system: str = required("`slurm` or `kubernetes`")
    pool: str | None = optional("Partitions or node pool, separated by blanks")
    pool_role: str | None = optional("Role that labels, taints or the pool's name give it: `training` or `inference`")
    taints: str | None = optional("Taints as `key=value:effect`, separated by blanks; empty where there are none")
    gpus_allocatable: int | None = optional("GPUs that may be given out")
    gpus_allocated: int | None = optional("GPUs that are given out")
    cpus_allocatable: float | None = optional("CPUs that may be given out")
    time_slicing_replicas: int | None = optional("Replicas that each GPU is advertised as, where it is shared")
    sharing_strategy: str | None = optional("`time-slicing`, `mps` or `none`, as the device plugin's label says")
    mig_strategy: str | None = optional("`none`, `single` or `mixed`, as the device plugin's label says")
    cpu_manager_policy: str | None = optional("Policy of the kubelet's CPU manager, e.g. `static`")


class ResourceSharing(Fact):
    """A resource that an inference workload shares with a training workload. A feature. Subject: host, GPU or NIC."""

    kind: ClassVar[str] = "resource-sharing"
    few_per_host: ClassVar[bool] = True
    seen_through: ClassVar[str | None] = "workload"
    resource: str = required(
        "`gpu`, `gpu-memory-bandwidth`, `nic`, `uplink-switch`, `pcie-switch`, `cpu-cores` or `numa-node`"
    )
    item: str | None = optional("Which one: GPU, NIC, switch, bridge, CPUs or NUMA node, where known")
    inference: str = required("The inference workload")
    training: str = required("The training workload")
    inference_gpus: str | None = optional("Its GPUs, separated by blanks, where known")
    training_gpus: str | None = optional("The same for training")
    certain: bool = required(
        "Both are known to use it (placed on it); false where they are only known to be able to, being on one node"
    )
    isolated: bool | None = optional("Whether a mechanism that separates them on this resource is known to be in force")
    isolation: str | None = optional("That mechanism, or the one that is known to be absent")
    overlap_seconds: float | None = optional("How long both ran at the same time, where start and end are known")


class Isolation(Fact):
    """Something that keeps workloads apart, and whether it is in force. Subject: the host, and the GPU if about one."""

    kind: ClassVar[str] = "isolation"
    few_per_host: ClassVar[bool] = True
    mechanism: str = required(
        "`mig`, `mps-limit`, `compute-mode`, `cpuset`, `cpu-quota`, `cpu-manager`, `taint`, `partition` or "
        "`exclusive-node`"
    )
    in_force: bool | None = optional("Absent where it cannot be told")
    protects: str = required("Resource that it keeps apart, as in resource-sharing; `node` for all of a node's")
    detail: str = required("What was seen, in words")


class PoolIntrusion(Fact):
    """Training on a node of the inference pool, or on one where inference runs. A feature. Subject: the host."""

    kind: ClassVar[str] = "pool-intrusion"
    few_per_host: ClassVar[bool] = True
    seen_through: ClassVar[str | None] = "workload"
    node: str = required("The node")
    pool: str | None = optional("Its pool")
    pool_role: str | None = optional("What the pool is for, where labels, taints or its name say so")
    training: str = required("The training workload")
    training_pool: str | None = optional("Partition, pool or namespace through which it came")
    inference: str | None = optional("An inference workload on the same node")
    guarded: bool | None = optional("Whether a taint or partition that should keep training out exists on the node")
    guard: str | None = optional("That taint or partition")
    others_guarded: int | None = optional("Other nodes of the pool that have the taint which this one lacks")
    system: str = required("Scheduler that placed it")
    running: bool | None = optional("Whether it runs at the time of the listing")

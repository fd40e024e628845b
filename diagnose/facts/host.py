"""Facts about the host: driver, processors, memory nodes, virtualisation, limits."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class Driver(Fact):
    """Versions of the GPU driver."""

    kind: ClassVar[str] = "driver"
    few_per_host: ClassVar[bool] = True
    version: str | None = optional("Driver version as the user-space library or nvidia-smi reports it")
    major: int | None = optional("First number of the version")
    cuda_version: str | None = optional("Highest CUDA version that the driver supports")


class KernelModule(Fact):
    """A kernel module of the GPU driver."""

    kind: ClassVar[str] = "kernel-module"
    few_per_host: ClassVar[bool] = True
    name: str = required("`nvidia`, `nouveau`, `nvidia_peermem`, ...")
    version: str | None = optional("Version")
    open_variant: bool | None = optional("Whether it is the open kernel module")
    loaded: bool | None = optional("Whether it is loaded")


class DriverFailure(Fact):
    """nvidia-smi, NVML or CUDA as a whole does not work."""

    kind: ClassVar[str] = "driver-failure"
    few_per_host: ClassVar[bool] = True
    code: str = required(
        "`library-mismatch`, `not-loaded`, `no-devices`, `unknown-error`, `no-permission`, `library-missing`, "
        "`cuda-not-initialised` (802), `cuda-no-device`, `cuda-driver-too-old`, `cuda-ecc-error`, "
        "`cuda-unknown-error`, `key-rejected`"
    )
    message: str = required("What was printed")
    library_version: str | None = optional("User-space version that the message names")


class GpuInventory(Fact):
    """How many GPUs one reading shows."""

    kind: ClassVar[str] = "gpu-inventory"
    few_per_host: ClassVar[bool] = True
    attached: int | None = optional("`Attached GPUs` as printed")
    listed: int = required("GPUs actually listed")
    highest_index: int | None = optional("Highest index listed")
    tool: str = required("What listed them: `nvidia-smi`, `lspci`, `topo`, ...")


class GpuCount(Fact):
    """GPUs seen by the bus against GPUs seen by the driver. A feature."""

    kind: ClassVar[str] = "gpu-count"
    few_per_host: ClassVar[bool] = True
    on_bus: int | None = optional("GPUs of the driver's vendor that lspci lists")
    in_driver: int | None = optional("GPUs that nvidia-smi lists")
    index_gaps: int | None = optional("Indices missing between 0 and the highest one listed")


class CpuTopology(Fact):
    """Processors."""

    kind: ClassVar[str] = "cpu-topology"
    few_per_host: ClassVar[bool] = True
    model_name: str | None = optional("Model")
    vendor: str | None = optional("`GenuineIntel`, `AuthenticAMD`, `ARM`, ...")
    architecture: str | None = optional("`x86_64`, `aarch64`")
    sockets: int | None = optional("Sockets")
    cores_per_socket: int | None = optional("Cores of a socket")
    threads_per_core: int | None = optional("Threads of a core")
    logical_cpus: int | None = optional("Logical CPUs")
    numa_nodes: int | None = optional("NUMA nodes")
    current_mhz: float | None = optional("Clock now, MHz")
    max_mhz: float | None = optional("Highest clock, MHz")


class HostModel(Fact):
    """Which machine it is."""

    kind: ClassVar[str] = "host-model"
    few_per_host: ClassVar[bool] = True
    manufacturer: str | None = optional("Manufacturer as the firmware gives it")
    product_name: str | None = optional("Product as the firmware gives it, e.g. `PowerEdge XE9680`")


class Virtualisation(Fact):
    """The host is a virtual machine."""

    kind: ClassVar[str] = "virtualisation"
    few_per_host: ClassVar[bool] = True
    hypervisor: str | None = optional("Vendor, e.g. `KVM`, `VMware`, `Microsoft`")
    type: str | None = optional("`full`, `para`, `container`")


class NumaNode(Fact):
    """One NUMA node. Subject: the node."""

    kind: ClassVar[str] = "numa-node"
    cpus: str | None = optional("CPU list, e.g. `0-15,32-47`")
    cpu_count: int | None = optional("Logical CPUs; 0 for a memory-only node such as GPU memory on Grace")
    memory_total_bytes: int | None = optional("Memory")
    memory_free_bytes: int | None = optional("Free memory")


class NumaDistance(Fact):
    """Relative distance from one node to another. Subject: the first node."""

    kind: ClassVar[str] = "numa-distance"
    to_node: int = required("Other node")
    distance: int = required("10 is local; 255 means unreachable or not given")


class FilesystemUsage(Fact):
    """A mounted file system (df)."""

    kind: ClassVar[str] = "filesystem-usage"
    few_per_host: ClassVar[bool] = True
    mount: str = required("Where it is mounted")
    filesystem: str | None = optional("Device or type, e.g. `shm`, `tmpfs`")
    size_bytes: int | None = optional("Size")
    used_bytes: int | None = optional("Used")
    available_bytes: int | None = optional("Available")


class PackageUpdate(Fact):
    """GPU driver packages that a package manager changed."""

    kind: ClassVar[str] = "package-update"
    few_per_host: ClassVar[bool] = True
    unattended: bool | None = optional("Whether an automatic update did it")
    to_version: str | None = optional("Version installed")
    command: str | None = optional("Command line of the update")

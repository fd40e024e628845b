"""Facts from NCCL logs and nccl-tests."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class NcclVersion(Fact):
    """A library version that ranks report. Subject: the host."""

    kind: ClassVar[str] = "nccl-version"
    few_per_host: ClassVar[bool] = True
    version: str = required("Version, e.g. `2.19.3`")
    cuda_version: str | None = optional("CUDA that it was built with")
    ranks: int = required("Ranks (or lines) that report it")


class NcclVersionSpread(Fact):
    """Versions over the hosts of a job. A feature of its nccl-version facts."""

    kind: ClassVar[str] = "nccl-version-spread"
    few_per_host: ClassVar[bool] = True
    hosts: int = required("Hosts that tell their version")
    versions: int = required("Different versions")
    usual_version: str = required("The version of most hosts")
    odd_version: str | None = optional("The version of fewest hosts, where there are several")
    odd_host: str | None = optional("A host with the odd version")
    cuda_builds: int = required("Different CUDA versions that the library was built with")
    cuda_build_names: str | None = optional("Those CUDA versions, separated by blanks")


class NcclCommunicator(Fact):
    """What a log shows of the job as a whole."""

    kind: ClassVar[str] = "nccl-communicator"
    few_per_host: ClassVar[bool] = True
    ranks: int | None = optional("Ranks of the largest communicator")
    ranks_on_host: int | None = optional("Ranks on this host")
    hosts: int | None = optional("Hosts in the log")
    log_complete: bool | None = optional("Whether initialisation was logged to its end (`Init COMPLETE`)")
    coll_channels: int | None = optional("Collective channels")
    nvls_channels: int | None = optional("NVLS channels")


class NcclEnvironment(Fact):
    """A variable or setting that NCCL says it took. Subject: the host."""

    kind: ClassVar[str] = "nccl-environment"
    few_per_host: ClassVar[bool] = True
    name: str = required("Name, e.g. `NCCL_P2P_DISABLE`")
    value: str = required("Value as set")
    number: int | None = optional("Value where it is a whole number")


class NcclTransport(Fact):
    """Channels by transport. Subject: the host of the log lines."""

    kind: ClassVar[str] = "nccl-transport"
    few_per_host: ClassVar[bool] = True
    transport: str = required("`P2P`, `SHM`, `NET/IB`, `NET/Socket`, `NET/OFI`, `NET/<plugin>`, `COLLNET`, `NVLS`")
    variant: str | None = optional(
        "What follows: `IPC`, `CUMEM`, `direct pointer`, `indirect`, `GDRDMA`, `Shared`, ..."
    )
    channels: int = required("Connections logged")
    within_host: bool | None = optional("Both ends on one host; absent where the log does not tell")
    gpudirect_rdma: bool | None = optional("GPUDirect RDMA is named on the connection")


class NcclNetwork(Fact):
    """The network that NCCL chose. Subject: the host."""

    kind: ClassVar[str] = "nccl-network"
    few_per_host: ClassVar[bool] = True
    plugin: str | None = optional("`IB`, `Socket`, `AWS Libfabric`, ...")
    devices: str | None = optional("Devices or interfaces chosen, separated by blanks")
    device_count: int | None = optional("How many")
    mixed_link_layers: bool | None = optional("Both InfiniBand and RoCE devices are among them")
    out_of_band_interface: str | None = optional("Interface of the bootstrap traffic")
    ranks: int = required("Lines that say so")


class NcclCalls(Fact):
    """Calls of one operation that a log lists (NCCL_DEBUG_SUBSYS=COLL), of all ranks in it. Subject: the host."""

    kind: ClassVar[str] = "nccl-calls"
    few_per_host: ClassVar[bool] = True
    operation: str = required("`all_reduce`, `all_gather`, `reduce_scatter`, `broadcast`, `send`, `recv`, ...")
    ranks: int | None = optional("Ranks of the communicator, where told")
    calls: int = required("Calls")
    total_bytes: int = required("Bytes of all calls, counted as `count` times the type's size")
    sizes_bytes: tuple[int, ...] = required("Different sizes, rising")
    calls_by_size: tuple[int, ...] = required("Calls of each of the sizes")


class MessageSizes(Fact):
    """Sizes of one operation's calls that may cross hosts, and what they cost on the measured network. A feature.

    Sizes are those of nccl-tests: an all-gather's holds the parts of all ranks.
    """

    kind: ClassVar[str] = "message-sizes"
    few_per_host: ClassVar[bool] = True
    operation: str = required("As in nccl-calls")
    calls: int = required("Calls of all ranks in the log that carry data")
    median_bytes: float = required("Median size of a call")
    small_calls_ratio: float = required("Share of calls of up to 1 MiB")
    small_bytes_ratio: float = required("Share of the bytes that such calls carry")
    cost_ratio: float | None = optional(
        "Time that the calls take at the speed that nccl-tests between hosts measured for their sizes, over the time "
        "of the same bytes at its best speed"
    )


class NcclGpuDirect(Fact):
    """Whether GPUDirect RDMA was found usable. Subject: the host (and GPU, NIC where named)."""

    kind: ClassVar[str] = "nccl-gpudirect"
    few_per_host: ClassVar[bool] = True
    enabled: bool = required("Enabled or disabled")
    reason: str | None = optional("`distance` where the line says that GPU and NIC are too far apart")
    lines: int = required("Lines that say so")


class NcclWarning(Fact):
    """A warning or failure line of a known meaning, counted. Subject: the host of the first line."""

    kind: ClassVar[str] = "nccl-warning"
    few_per_host: ClassVar[bool] = True
    code: str = required("Our name of the message; the list stands in collectors/nccl_messages.py")
    count: int = required("Lines")
    detail: str | None = optional("Text of the first line")
    remote_address: str | None = optional("Peer address that the first line names")


class NcclGraph(Fact):
    """A planned pattern (NCCL_DEBUG_SUBSYS=GRAPH)."""

    kind: ClassVar[str] = "nccl-graph"
    few_per_host: ClassVar[bool] = True
    pattern: int = required("Pattern number")
    channels: int | None = optional("Channels")
    bandwidth_intra_bytes_per_second: float | None = optional("Planned bandwidth inside the host, per channel")
    bandwidth_inter_bytes_per_second: float | None = optional("Planned bandwidth between hosts, per channel")
    path_type: str | None = optional("Worst path inside the host: `NVL`, `PIX`, `PXB`, `PHB`, `SYS`")


class NcclTest(Fact):
    """One nccl-tests run: an operation over a size sweep, summed up. Subject: the host."""

    kind: ClassVar[str] = "nccl-test"
    few_per_host: ClassVar[bool] = True
    operation: str = required("`all_reduce`, `all_gather`, `reduce_scatter`, `alltoall`, `broadcast`, `sendrecv`, ...")
    ranks: int | None = optional("Ranks")
    hosts: int | None = optional("Hosts")
    gpu_name: str | None = optional("GPU model that the header names")
    nccl_version: str | None = optional("NCCL version, where the file or its name gives it")
    largest_size_bytes: int = required("Largest message")
    largest_busbw_bytes_per_second: float = required(
        "Bus bandwidth at the largest message (better of in and out of place)"
    )
    peak_busbw_bytes_per_second: float = required("Highest bus bandwidth of the sweep")
    peak_size_bytes: int = required("Message size of the highest bus bandwidth")
    smallest_latency_seconds: float | None = optional("Time of the smallest message")
    wrong_results: int | None = optional("Elements that came out wrong; absent where unchecked (N/A)")
    reported_average_busbw_bytes_per_second: float | None = optional("The tool's own average over all sizes")
    sizes_bytes: tuple[int, ...] | None = optional("Message sizes of the sweep, rising")
    busbw_by_size_bytes_per_second: tuple[float, ...] | None = optional("Bus bandwidth at each of the sizes")


class NcclTestComparison(Fact):
    """Two runs of one operation and sizes with different library versions. A feature."""

    kind: ClassVar[str] = "nccl-test-comparison"
    few_per_host: ClassVar[bool] = True
    operation: str = required("Operation")
    older_version: str = required("Lower version")
    newer_version: str = required("Higher version")
    ranks: int | None = optional("Ranks, where both runs tell them")
    lowest_ratio: float = required("Smallest bandwidth newer over older at one size")
    lowest_ratio_size_bytes: int = required("Message size of it")
    median_ratio: float = required("Median over the sizes")
    sizes: int = required("Sizes compared")

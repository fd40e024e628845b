"""Facts from bandwidth and latency tests, and about traffic at the time of reading."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class GpuBandwidth(Fact):
    """Measured copy rate of one GPU. Subject: the GPU."""

    kind: ClassVar[str] = "gpu-bandwidth"
    tool: str = required("`nvbandwidth`, `bandwidthTest`, `gpu-copy`, `gpu-stream`, ...")
    direction: str = required("`host-to-device`, `device-to-host` or `device-memory` (the GPU's own memory)")
    bytes_per_second: float = required("Rate; with several CPU nodes that of the best")
    lowest_bytes_per_second: float | None = optional("Rate with the worst CPU node, where several were measured")
    bidirectional: bool | None = optional("Both directions ran at once; the rate is what the tool prints for it")
    concurrent: bool | None = optional("All GPUs copied at once")
    copy_engine: bool | None = optional("Copied by the copy engine (true) or by a kernel (false)")
    pinned: bool | None = optional("Host memory was page-locked")
    size_bytes: int | None = optional("Size of one copy")
    peak_ratio: float | None = optional("Share of the theoretical peak that the tool prints, 0 to 1")


class GpuBandwidthSummary(Fact):
    """How the slowest GPU of a bandwidth test compares with the rest. A feature of one test's GPUs."""

    kind: ClassVar[str] = "gpu-bandwidth-summary"
    few_per_host: ClassVar[bool] = True
    tool: str = required("What measured")
    test: str = required("Name of the test, e.g. `host_to_device_memcpy_ce`")
    direction: str = required("As in gpu-bandwidth")
    gpus: int = required("GPUs measured")
    lowest_bytes_per_second: float = required("Slowest GPU")
    median_bytes_per_second: float = required("Median over GPUs")
    lowest_to_median_ratio: float = required("Slowest GPU over the median")
    lowest_gpu: str = required("The slowest GPU, by index")


class NvlinkTraffic(Fact):
    """Traffic over all NVLinks of a GPU while it was watched. Subject: the GPU."""

    kind: ClassVar[str] = "nvlink-traffic"
    transmit_bytes_per_second: float | None = optional("Typical rate of sending while there was any")
    receive_bytes_per_second: float | None = optional("Typical rate of receiving while there was any")


class NetworkBandwidth(Fact):
    """Measured bandwidth between two ends of the network. Subject: the NIC where it is named."""

    kind: ClassVar[str] = "network-bandwidth"
    tool: str = required("`ib_write_bw`, `ib_read_bw`, `ib_send_bw`, `iperf3`, `gpcnet`, ...")
    operation: str = required("`write`, `read`, `send` or the tool's own name of the test")
    largest_size_bytes: int = required("Largest message")
    largest_bytes_per_second: float = required("Average rate at the largest message")
    peak_bytes_per_second: float = required("Highest average rate of the sweep")
    bidirectional: bool | None = optional("Both directions at once")
    queue_pairs: int | None = optional("Connections")
    link_layer: str | None = optional("`infiniband` or `ethernet`")
    mtu_bytes: int | None = optional("MTU that the test reports")
    loopback: bool | None = optional("Both ends are one port, so that the network was not crossed")
    gpu_memory: bool | None = optional("Buffers were in GPU memory")


class NetworkLatency(Fact):
    """Measured latency between two ends of the network. Subject: the NIC where it is named."""

    kind: ClassVar[str] = "network-latency"
    tool: str = required("`ib_write_lat`, `ib_send_lat`, `gpcnet`, ...")
    operation: str = required("`write`, `read`, `send` or the tool's own name of the test")
    size_bytes: int = required("Message size, the smallest of the sweep")
    typical_seconds: float = required("Typical or average time one way")
    percentile_99_seconds: float | None = optional("99th percentile")
    max_seconds: float | None = optional("Longest")

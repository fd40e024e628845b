"""Facts about how devices are connected."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class GpuPath(Fact):
    """Connection between a pair of GPUs. Subject: the first GPU; each pair appears once, lower index first."""

    kind: ClassVar[str] = "gpu-path"
    peer: str = required("The other GPU, by index")
    connection: str = required("`NV`, `PIX`, `PXB`, `PHB`, `NODE` or `SYS` (old `SOC` is SYS)")
    nvlinks: int | None = optional("Links bonded, for NV#")
    label: str = required("As printed, e.g. `NV18`")


class GpuNicPath(Fact):
    """Connection between a GPU and a NIC. Subject: GPU and NIC."""

    kind: ClassVar[str] = "gpu-nic-path"
    connection: str = required("`PIX`, `PXB`, `PHB`, `NODE` or `SYS`")


class GpuAffinity(Fact):
    """CPUs and memory near a GPU. Subject: the GPU."""

    kind: ClassVar[str] = "gpu-affinity"
    cpus: str | None = optional("CPU list")
    numa_node: int | None = optional("NUMA node")


class PeerAccess(Fact):
    """Peer-to-peer status between a pair of GPUs (`topo -p2p`). Subject: the first GPU."""

    kind: ClassVar[str] = "peer-access"
    peer: str = required("The other GPU, by index")
    operation: str = required("`read`, `write`, `nvlink`, `atomics`, `pcie` or `unknown`")
    status: str = required(
        "`OK`, `CNS` chipset, `GNS` GPU, `TNS` topology not supported, `NS`, `DR` disabled by registry key, `U` unknown"
    )


class TopologySummary(Fact):
    """A host's GPU pairs, counted by connection. A feature of its gpu-path facts."""

    kind: ClassVar[str] = "topology-summary"
    few_per_host: ClassVar[bool] = True
    gpus: int = required("GPUs in the matrix")
    pairs: int = required("Pairs")
    nvlink_pairs: int = required("Pairs with NVLink")
    nvlinks_min: int | None = optional("Fewest links of an NVLink pair")
    nvlinks_max: int | None = optional("Most links of an NVLink pair")
    same_switch_pairs: int = required("PIX and PXB pairs")
    host_bridge_pairs: int = required("PHB pairs")
    cross_bridge_pairs: int = required("NODE pairs")
    cross_socket_pairs: int = required("SYS pairs")
    numa_nodes: int | None = optional("Different NUMA nodes that GPUs sit on")
    nics: int | None = optional("NIC columns")
    nics_near: int | None = optional("NICs that are PIX or PXB to at least one GPU")


class PeerBandwidth(Fact):
    """Measured bandwidth between a pair of GPUs, or of hosts. Subject: the first of the two."""

    kind: ClassVar[str] = "peer-bandwidth"
    peer: str = required("The other GPU, by index, or the other host")
    between_hosts: bool | None = optional("The pair is one of hosts")
    bytes_per_second: float = required("Bandwidth; of the slower direction where both were measured alone")
    bidirectional: bool | None = optional("Both directions counted together")
    p2p_enabled: bool | None = optional("Whether peer access was switched on for the measurement")
    without_peer_access_bytes_per_second: float | None = optional(
        "The same pair with peer access switched off, where both were measured"
    )
    reference_bytes_per_second: float | None = optional(
        "An earlier or healthy value of the same pair, where the table gives one"
    )
    concurrent: bool | None = optional("Measured while other pairs were busy")
    label: str | None = optional("The table's own words for the pair")


class PeerBandwidthSummary(Fact):
    """How the slowest pair of a measurement compares with the rest. A feature of one measurement's pairs."""

    kind: ClassVar[str] = "peer-bandwidth-summary"
    few_per_host: ClassVar[bool] = True
    between_hosts: bool | None = optional("The pairs are pairs of hosts")
    bidirectional: bool | None = optional("Both directions counted together")
    p2p_enabled: bool | None = optional("Whether peer access was switched on for the measurement")
    pairs: int = required("Pairs measured")
    lowest_bytes_per_second: float = required("Slowest pair")
    median_bytes_per_second: float = required("Median over pairs")
    lowest_to_median_ratio: float = required("Slowest pair over the median")
    lowest_to_reference_ratio: float | None = optional(
        "Smallest value over its own reference, where the table gives one"
    )
    lowest_pair: str = required("The slowest pair in words")
    lowest_is_concurrent: bool | None = optional("The slowest pair was measured while other pairs were busy")
    ends_elsewhere_to_median_ratio: float | None = optional(
        "Best that each end of the slowest pair reaches with another partner, over the median; the lower of the two"
    )


class GpuUplink(Fact):
    """A link that a GPU shares on its way to the processor. A feature of paths and PCI devices. Subject: the GPU."""

    kind: ClassVar[str] = "gpu-uplink"
    gpus: int = required("GPUs that share it, this one included")
    gpu_names: str = required("They, separated by blanks")
    nics: int = required("NICs that share it")
    nic_names: str | None = optional("They, separated by blanks")
    link: str | None = optional("The link in words, e.g. `PCIe 4.0 x16`, where the PCI tree is known")
    bridge_bus_id: str | None = optional("PCI address of the bridge that it hangs at, where the tree is known")
    bytes_per_second: float | None = optional("What it carries in one direction, in theory")
    oversubscription_ratio: float | None = optional("What the GPUs' own ways to it carry together, over it")


class PairBandwidthReached(Fact):
    """A measured pair of GPUs against the narrowest link between them. A feature. Subject: the first GPU."""

    kind: ClassVar[str] = "pair-bandwidth-reached"
    peer: str = required("The other GPU, by index")
    connection: str = required("`NV`, `PIX`, `PXB`, `PHB`, `NODE` or `SYS`")
    narrowest: str = required("The link that limits the pair, in words")
    link_bytes_per_second: float = required("What it carries in one direction, in theory")
    achievable_ratio: float | None = optional("Share of that which large copies reach on healthy machines, where known")
    bytes_per_second: float = required("Measured, per direction")
    reached_ratio: float = required("Measured over what the link carries")
    p2p_enabled: bool | None = optional("Whether peer access was switched on for the measurement")
    concurrent: bool | None = optional("Measured while other pairs were busy")

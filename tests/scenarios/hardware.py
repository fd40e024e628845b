"""What machines are made of: models that the rules' examples were not written for stand beside common ones.

Figures are those of datasheets. They feed the generator's physics only; rules have tables of their own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuModel:
    """A GPU as its maker sells it."""

    name: str
    architecture: str
    device_id: str
    generation: int
    memory_mib: int
    watts: int
    max_mhz: int
    form: str
    """`switch` (NVSwitch), `mesh` (wired between GPUs on the board), `bridge` (between cards) or `none`."""
    links: int = 0
    link_gigabytes: float = 0.0
    """Payload of one link in one direction, GB/s."""
    peer_over_pcie: bool = True
    bar1_mib: int = 65536

    @property
    def chip(self) -> str:
        """What lspci calls it."""
        return f"{_CHIPS[self.architecture]} [{self.name.removeprefix('NVIDIA ')}]"

    @property
    def has_nvls(self) -> bool:
        """Whether switches can reduce in the network (Hopper and later)."""
        return self.form == "switch" and self.architecture in ("Hopper", "Blackwell")

    @property
    def operations_per_second(self) -> float:
        """What training reaches in 16 bits: a share of the peak, which goes with power within an architecture."""
        per_watt = {"Volta": 0.15, "Turing": 0.17, "Ampere": 0.33, "Ada Lovelace": 0.4, "Hopper": 0.6, "Blackwell": 0.8}
        return self.watts * per_watt[self.architecture] * 1e12

    @property
    def supports_gpudirect(self) -> bool:
        """Whether NICs may reach its memory: not on GeForce."""
        return "GeForce" not in self.name


_CHIPS = {
    "Volta": "GV100GL",
    "Turing": "TU102GL",
    "Ampere": "GA102GL",
    "Ada Lovelace": "AD102GL",
    "Hopper": "GH100",
    "Blackwell": "GB100",
}

GPU_MODELS = (
    GpuModel("NVIDIA H100 80GB HBM3", "Hopper", "2330", 5, 81559, 700, 1980, "switch", 18, 25.0, True, 131072),
    GpuModel("NVIDIA H200", "Hopper", "2335", 5, 143771, 700, 1980, "switch", 18, 25.0, True, 262144),
    GpuModel("NVIDIA H20", "Hopper", "2329", 5, 97871, 500, 1980, "switch", 18, 25.0, True, 131072),
    GpuModel("NVIDIA H800", "Hopper", "2324", 5, 81559, 700, 1980, "switch", 8, 25.0, True, 131072),
    GpuModel("NVIDIA B200", "Blackwell", "2901", 5, 183359, 1000, 1965, "switch", 18, 50.0, True, 262144),
    GpuModel("NVIDIA A100-SXM4-80GB", "Ampere", "20B2", 4, 81920, 400, 1410, "switch", 12, 25.0, True, 131072),
    GpuModel("NVIDIA A800-SXM4-80GB", "Ampere", "20F3", 4, 81920, 400, 1410, "switch", 8, 25.0, True, 131072),
    GpuModel("Tesla V100-SXM2-32GB", "Volta", "1DB5", 3, 32768, 300, 1530, "mesh", 6, 25.0, True, 32768),
    GpuModel("NVIDIA A100-SXM4-40GB", "Ampere", "20B0", 4, 40960, 400, 1410, "mesh", 12, 25.0, True, 65536),
    GpuModel("NVIDIA A100 80GB PCIe", "Ampere", "20B5", 4, 81920, 300, 1410, "bridge", 12, 25.0, True, 131072),
    GpuModel("NVIDIA H100 NVL", "Hopper", "2321", 5, 95830, 400, 1785, "bridge", 12, 25.0, True, 131072),
    GpuModel("NVIDIA A30", "Ampere", "20B7", 4, 24576, 165, 1440, "bridge", 4, 25.0, True, 32768),
    GpuModel("NVIDIA RTX A6000", "Ampere", "2230", 4, 49140, 300, 2100, "bridge", 4, 14.0625),
    GpuModel("NVIDIA RTX A5000", "Ampere", "2231", 4, 24564, 230, 2100, "bridge", 4, 14.0625, True, 32768),
    GpuModel("NVIDIA H100 PCIe", "Hopper", "2331", 5, 81559, 350, 1755, "bridge", 12, 25.0, True, 131072),
    GpuModel("NVIDIA L40S", "Ada Lovelace", "26B9", 4, 46068, 350, 2520, "none"),
    GpuModel("NVIDIA L20", "Ada Lovelace", "26BA", 4, 46068, 275, 2520, "none"),
    GpuModel("NVIDIA RTX 6000 Ada Generation", "Ada Lovelace", "26B1", 4, 49140, 300, 3105, "none"),
    GpuModel("NVIDIA A10", "Ampere", "2236", 4, 23028, 150, 1695, "none", 0, 0.0, True, 32768),
    GpuModel("Tesla V100-PCIE-32GB", "Volta", "1DB6", 3, 32768, 250, 1380, "none", 0, 0.0, True, 32768),
    GpuModel(
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "Blackwell",
        "2BB5",
        5,
        97887,
        600,
        2430,
        "none",
        0,
        0.0,
        True,
        131072,
    ),
    GpuModel("NVIDIA L4", "Ada Lovelace", "27B8", 4, 23034, 72, 2040, "none", 0, 0.0, False, 32768),
    GpuModel("NVIDIA GeForce RTX 4090", "Ada Lovelace", "2684", 4, 24564, 450, 3105, "none", 0, 0.0, False, 256),
    GpuModel("NVIDIA GeForce RTX 5090", "Blackwell", "2B85", 5, 32607, 575, 3090, "none", 0, 0.0, False, 32768),
    GpuModel("NVIDIA GeForce RTX 3090", "Ampere", "2204", 4, 24576, 350, 2100, "none", 4, 14.0625, False, 256),
)


@dataclass(frozen=True)
class CpuModel:
    """A processor."""

    name: str
    vendor: str
    cores: int
    generation: int
    """Of its PCIe."""
    socket_gigabytes: float
    """What the link between two of them carries for GPU traffic, GB/s."""


CPU_MODELS = (
    CpuModel("Intel(R) Xeon(R) Platinum 8480C", "GenuineIntel", 56, 5, 22.0),
    CpuModel("Intel(R) Xeon(R) Platinum 8558", "GenuineIntel", 48, 5, 24.0),
    CpuModel("AMD EPYC 9654 96-Core Processor", "AuthenticAMD", 96, 5, 30.0),
    CpuModel("AMD EPYC 9354 32-Core Processor", "AuthenticAMD", 32, 5, 28.0),
    CpuModel("Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz", "GenuineIntel", 32, 4, 15.0),
    CpuModel("AMD EPYC 7763 64-Core Processor", "AuthenticAMD", 64, 4, 16.0),
    CpuModel("AMD EPYC 7543 32-Core Processor", "AuthenticAMD", 32, 4, 16.0),
    CpuModel("Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "GenuineIntel", 24, 3, 9.0),
    CpuModel("Intel(R) Xeon(R) Platinum 8268 CPU @ 2.90GHz", "GenuineIntel", 24, 3, 9.0),
)


@dataclass(frozen=True)
class NicModel:
    """An adapter of the compute network."""

    name: str
    hca_type: str
    device_id: str
    generation: int
    gigabits: int
    firmware: str
    part: int
    """Vendor's part id, decimal."""


NIC_MODELS = (
    NicModel("MT27800 Family [ConnectX-5]", "MT4119", "1017", 3, 100, "16.35.2000", 4119),
    NicModel("MT28908 Family [ConnectX-6]", "MT4123", "101b", 4, 200, "20.37.1014", 4123),
    NicModel("MT2894 Family [ConnectX-6 Lx]", "MT4127", "101f", 4, 50, "26.36.1010", 4127),
    NicModel("MT2892 Family [ConnectX-6 Dx]", "MT4125", "101d", 4, 100, "22.39.1002", 4125),
    NicModel("MT2910 Family [ConnectX-7]", "MT4129", "1021", 5, 400, "28.39.3004", 4129),
)

DRIVERS = {
    # version: (CUDA, oldest architecture generation excluded by it)
    "470.223.02": "11.4",
    "525.147.05": "12.0",
    "535.216.01": "12.2",
    "550.127.08": "12.4",
    "560.35.05": "12.6",
    "570.172.08": "12.8",
    "580.82.07": "13.0",
}
FIRST_DRIVER = {"Volta": 470, "Turing": 470, "Ampere": 470, "Ada Lovelace": 525, "Hopper": 525, "Blackwell": 570}
LAST_DRIVER = {"Volta": 580}

NCCL_VERSIONS = {
    "2.18.5": "12.2",
    "2.19.4": "12.3",
    "2.20.5": "12.4",
    "2.21.5": "12.4",
    "2.23.4": "12.6",
    "2.25.1": "12.8",
    "2.26.2": "12.8",
    "2.27.3": "12.9",
}

LANE_GIGABYTES = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938}
"""One PCIe lane in one direction, GB/s."""
COPY_EFFICIENCY = {1: 0.75, 2: 0.77, 3: 0.79, 4: 0.82, 5: 0.87}
GIGATRANSFERS = {1: "2.5", 2: "5", 3: "8", 4: "16", 5: "32"}

"""The collectors that read files, in the order in which they are asked."""

from __future__ import annotations

from collectors.base import BlockCollector, LineCollector
from collectors.nvidia_smi_topo import NvidiaSmiTopo
from collectors.nvidia_smi_topo_p2p import NvidiaSmiTopoP2p

BLOCK_COLLECTORS: tuple[type[BlockCollector], ...] = (
    NvidiaSmiTopo,
    NvidiaSmiTopoP2p,
)

LINE_COLLECTORS: tuple[type[LineCollector], ...] = ()

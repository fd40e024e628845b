"""The collectors that read files, in the order in which they are asked."""

from __future__ import annotations

from collectors.base import BlockCollector, LineCollector
from collectors.kernel_log import KernelLog
from collectors.lspci import Lspci, LspciTree
from collectors.nccl_log import NcclLog
from collectors.nvidia_smi_dmon import NvidiaSmiDmon
from collectors.nvidia_smi_errors import NvidiaSmiErrors
from collectors.nvidia_smi_list import NvidiaSmiList, NvidiaSmiVersion
from collectors.nvidia_smi_nvlink import NvidiaSmiNvlink
from collectors.nvidia_smi_pmon import NvidiaSmiPmon
from collectors.nvidia_smi_q import NvidiaSmiQ
from collectors.nvidia_smi_query import NvidiaSmiQuery
from collectors.nvidia_smi_table import NvidiaSmiTable
from collectors.nvidia_smi_topo import NvidiaSmiTopo
from collectors.nvidia_smi_topo_p2p import NvidiaSmiTopoP2p
from collectors.nvidia_smi_xml import NvidiaSmiXml

BLOCK_COLLECTORS: tuple[type[BlockCollector], ...] = (
    NvidiaSmiQ,
    NvidiaSmiXml,
    NvidiaSmiTable,
    NvidiaSmiList,
    NvidiaSmiNvlink,
    NvidiaSmiVersion,
    NvidiaSmiQuery,
    NvidiaSmiDmon,
    NvidiaSmiPmon,
    NvidiaSmiTopo,
    NvidiaSmiTopoP2p,
    Lspci,
    LspciTree,
)

LINE_COLLECTORS: tuple[type[LineCollector], ...] = (
    KernelLog,
    NcclLog,
    NvidiaSmiErrors,
)

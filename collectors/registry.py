"""The collectors that read files, in the order in which they are asked."""

from __future__ import annotations

from collectors.base import BlockCollector, LineCollector
from collectors.df import Df
from collectors.fabric_manager_log import FabricManagerLog
from collectors.kernel_log import KernelLog
from collectors.kernel_modules import KernelModules
from collectors.lscpu import Lscpu
from collectors.lspci import Lspci, LspciTree
from collectors.manifest import Manifest
from collectors.modprobe_errors import ModprobeErrors
from collectors.nccl_log import NcclLog
from collectors.nccl_tests import NcclTests
from collectors.nccl_tests_json import NcclTestsJson
from collectors.numactl import Numactl
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
from collectors.package_history import PackageHistory
from collectors.pair_table import PairTable
from collectors.pair_test import PairTest
from collectors.peer_bandwidth import PeerBandwidthMatrix
from collectors.proc_driver_version import ProcDriverVersion
from collectors.recorded_host import RecordedHost
from collectors.recorded_network import RecordedNetwork
from collectors.recorded_pci import RecordedPci
from collectors.recorded_processes import RecordedProcesses
from collectors.recorded_services import RecordedServices
from collectors.systemctl_show import SystemctlShow
from collectors.torch_all_reduce import TorchAllReduce

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
    NcclTests,
    NcclTestsJson,
    TorchAllReduce,
    PeerBandwidthMatrix,
    PairTable,
    PairTest,
    Lspci,
    LspciTree,
    KernelModules,
    Numactl,
    Lscpu,
    ProcDriverVersion,
    Df,
    Manifest,
    RecordedHost,
    RecordedNetwork,
    RecordedPci,
    RecordedProcesses,
    RecordedServices,
    SystemctlShow,
    PackageHistory,
)

LINE_COLLECTORS: tuple[type[LineCollector], ...] = (
    ModprobeErrors,
    FabricManagerLog,
    KernelLog,
    NcclLog,
    NvidiaSmiErrors,
)

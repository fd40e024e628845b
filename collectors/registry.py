"""The collectors that read files, in the order in which they are asked."""

from __future__ import annotations

from collectors.aiperf import AiperfCsv, AiperfJson
from collectors.amd_smi import AmdSmiJson
from collectors.bandwidth_test import BandwidthTest
from collectors.base import BlockCollector, FileCollector, LineCollector
from collectors.benchmark_console import BenchmarkConsole
from collectors.benchmark_json import BenchmarkJson
from collectors.dcgm_field_list import DcgmFieldList
from collectors.dcgm_log import DcgmLog
from collectors.dcgmi_diag import DcgmiDiag
from collectors.dcgmi_diag_json import DcgmiDiagJson
from collectors.dcgmi_dmon import DcgmiDmon
from collectors.dcgmi_health import DcgmiHealth
from collectors.dcgmi_lists import DcgmiDiscovery, DcgmiNvlink
from collectors.df import Df
from collectors.dmidecode import Dmidecode
from collectors.ethtool import EthtoolDriver, EthtoolPause, EthtoolRings, EthtoolSettings
from collectors.ethtool_module import EthtoolModule
from collectors.ethtool_statistics import EthtoolStatistics
from collectors.fabric_manager_log import FabricManagerLog
from collectors.flight_recorder import FlightRecorderJson, FlightRecorderText
from collectors.gpcnet import Gpcnet
from collectors.gpu_burn import GpuBurn
from collectors.hdr_histogram import HdrHistogramLog, HdrHistogramTable
from collectors.ibnetdiscover import Ibnetdiscover
from collectors.ibstat import Ibstat
from collectors.ibswinfo import Ibswinfo
from collectors.ibv_devinfo import IbvDevinfo
from collectors.inference_perf import InferencePerfReport
from collectors.input_settings import GenerationConfigJson, InputSettingsJson
from collectors.ip_link import IpLink, IpLinkJson
from collectors.job_exit import JobExit
from collectors.k6 import K6Json, K6Output, K6Summary
from collectors.kernel_log import KernelLog
from collectors.kernel_modules import KernelModules
from collectors.kineto_trace import KinetoTrace
from collectors.kl_divergence import KlDivergenceStatistics, KlDivergenceTable
from collectors.kubectl_json import KubectlJson, KubectlJsonFile
from collectors.kubectl_text import KubectlDescribeNode, KubectlPods
from collectors.kv_scales import KvScalesJson, ScaleComputationJson
from collectors.llmperf import LlmperfSummary
from collectors.lm_eval import LmEvalExpectation, LmEvalJson, LmEvalTable
from collectors.low_bit_tables import PrecisionThroughputTable, ZeroPointTable
from collectors.lscpu import Lscpu
from collectors.lspci import Lspci, LspciTree
from collectors.lstopo_xml import LstopoXml
from collectors.manifest import Manifest
from collectors.modprobe_errors import ModprobeErrors
from collectors.msprobe_compare import MsprobeCompare
from collectors.nccl_log import NcclLog
from collectors.nccl_ras import NcclRas
from collectors.nccl_ras_json import NcclRasJson
from collectors.nccl_tests import NcclTests
from collectors.nccl_tests_json import NcclTestsJson
from collectors.nccl_topo_xml import NcclTopoXml
from collectors.numactl import Numactl
from collectors.nvbandwidth import Nvbandwidth, NvbandwidthJson
from collectors.nvidia_smi_dmon import NvidiaSmiDmon
from collectors.nvidia_smi_errors import NvidiaSmiErrors
from collectors.nvidia_smi_list import NvidiaSmiList, NvidiaSmiVersion
from collectors.nvidia_smi_loop import NvidiaSmiDmonFile, NvidiaSmiQueryFile
from collectors.nvidia_smi_nvlink import NvidiaSmiNvlink
from collectors.nvidia_smi_pmon import NvidiaSmiPmon
from collectors.nvidia_smi_q import NvidiaSmiQ
from collectors.nvidia_smi_query import NvidiaSmiQuery
from collectors.nvidia_smi_table import NvidiaSmiTable
from collectors.nvidia_smi_topo import NvidiaSmiTopo
from collectors.nvidia_smi_topo_p2p import NvidiaSmiTopoP2p
from collectors.nvidia_smi_xml import NvidiaSmiXml
from collectors.onnx_model import OnnxModel
from collectors.package_history import PackageHistory
from collectors.pair_table import PairTable
from collectors.pair_test import PairTest
from collectors.peer_bandwidth import PeerBandwidthMatrix
from collectors.perf_analyzer import PerfAnalyzerCsv, ProfileExport
from collectors.perfquery import Perfquery
from collectors.perftest import Perftest
from collectors.perplexity_log import PerplexityLog
from collectors.polygraphy import Polygraphy
from collectors.precision_log import PrecisionLog
from collectors.proc_driver_version import ProcDriverVersion
from collectors.prometheus_text import PrometheusText
from collectors.py_spy import PySpy
from collectors.quantisation_config import QuantisationConfigJson
from collectors.rank_table import RankTable
from collectors.rdma_sysfs import RdmaSysfs
from collectors.recorded_host import RecordedHost
from collectors.recorded_network import RecordedNetwork
from collectors.recorded_nvml import RecordedNvml
from collectors.recorded_pci import RecordedPci
from collectors.recorded_processes import RecordedProcesses
from collectors.recorded_services import RecordedServices
from collectors.request_table import RequestTable
from collectors.rocm_smi import RocmSmiJson, RocmSmiText
from collectors.run_outputs import RunOutputs
from collectors.safetensors_file import SafetensorsFile
from collectors.scaling_table import ScalingTable
from collectors.score_table import ScoreTable
from collectors.serving_arguments import ServingArguments
from collectors.serving_log import ServingLog
from collectors.serving_table import ServingTable
from collectors.slurm_jobs import SlurmJobs
from collectors.slurm_records import SlurmJobRecords, SlurmNodeRecords
from collectors.slurm_topology import SlurmJobNodes, SlurmTopology
from collectors.step_latency import StepLatency
from collectors.superbench_gpu import GpuCopy, GpuStream
from collectors.sysstat import Sysstat
from collectors.systemctl_show import SystemctlShow
from collectors.tgi_log import TgiLog
from collectors.torch_all_reduce import TorchAllReduce
from collectors.training_log import TrainingLog
from collectors.trtexec import Trtexec
from collectors.wrk import Wrk

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
    RankTable,
    ScalingTable,
    NcclRas,
    NcclRasJson,
    FlightRecorderJson,
    FlightRecorderText,
    PySpy,
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
    RecordedNvml,
    RecordedPci,
    RecordedProcesses,
    RecordedServices,
    SystemctlShow,
    PackageHistory,
    DcgmiDiag,
    DcgmiDiagJson,
    DcgmiHealth,
    DcgmiDmon,
    DcgmiDiscovery,
    DcgmiNvlink,
    DcgmFieldList,
    PrometheusText,
    Ibstat,
    IbvDevinfo,
    Perfquery,
    RdmaSysfs,
    Ibswinfo,
    Ibnetdiscover,
    SlurmTopology,
    SlurmJobs,
    SlurmJobRecords,
    SlurmNodeRecords,
    KubectlPods,
    KubectlDescribeNode,
    KubectlJson,
    Sysstat,
    EthtoolSettings,
    EthtoolDriver,
    EthtoolRings,
    EthtoolPause,
    EthtoolStatistics,
    EthtoolModule,
    IpLink,
    IpLinkJson,
    LstopoXml,
    NcclTopoXml,
    Nvbandwidth,
    NvbandwidthJson,
    BandwidthTest,
    GpuCopy,
    GpuStream,
    GpuBurn,
    Perftest,
    Gpcnet,
    RocmSmiJson,
    RocmSmiText,
    AmdSmiJson,
    Dmidecode,
    ServingArguments,
    QuantisationConfigJson,
    InputSettingsJson,
    GenerationConfigJson,
    KvScalesJson,
    ScaleComputationJson,
    LmEvalTable,
    LmEvalJson,
    LmEvalExpectation,
    KlDivergenceTable,
    ScoreTable,
    ZeroPointTable,
    PrecisionThroughputTable,
    KlDivergenceStatistics,
    MsprobeCompare,
    RunOutputs,
    BenchmarkConsole,
    InferencePerfReport,
    ServingTable,
    AiperfCsv,
    AiperfJson,
    LlmperfSummary,
    PerfAnalyzerCsv,
    K6Json,
    HdrHistogramTable,
    Wrk,
)

LINE_COLLECTORS: tuple[type[LineCollector], ...] = (
    PrecisionLog,
    Polygraphy,
    PerplexityLog,
    ModprobeErrors,
    FabricManagerLog,
    KernelLog,
    NcclLog,
    NvidiaSmiErrors,
    DcgmLog,
    TrainingLog,
    JobExit,
    SlurmJobNodes,
    ServingLog,
    TgiLog,
    K6Summary,
    Trtexec,
    StepLatency,
)

FILE_COLLECTORS: tuple[type[FileCollector], ...] = (
    KubectlJsonFile,
    KinetoTrace,
    BenchmarkJson,
    ProfileExport,
    K6Output,
    HdrHistogramLog,
    RequestTable,
    NvidiaSmiQueryFile,
    NvidiaSmiDmonFile,
    OnnxModel,
    SafetensorsFile,
)

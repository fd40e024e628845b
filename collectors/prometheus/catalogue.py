"""Which metrics are followed over time, under the names that exporters give them, and what exporters may leave out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collectors.dcgm_metrics import DCGM_FIELDS
from collectors.gpu_series import GPU_METRICS, LIMITED_SECONDS

BY_GPU, BY_NIC, BY_HOST = "gpu", "nic", "host"


@dataclass(frozen=True, slots=True)
class Followed:
    """A metric of an exporter as a series of ours."""

    metric: str
    factor: float = 1.0
    counter: bool = False
    per: str = BY_HOST
    over: str | None = None
    """Label over which the server sums: CPUs, disks. There are too many to read each."""
    where: str = ""
    """Further matchers."""
    divided_by: str | None = None
    """Counter by whose rise this one's is divided."""
    one_minus: bool = False
    """Share of the rest: busy is what is neither idle nor waiting."""


def _dcgm() -> dict[str, Followed]:
    found: dict[str, Followed] = {}
    for name, field in DCGM_FIELDS.items():
        key = (field.kind, field.name)
        one = field.convert(1.0)
        factor = float(one) if isinstance(one, int | float) else 1.0
        if metric := GPU_METRICS.get(key):
            found[name] = Followed(metric, factor, per=BY_GPU)
        elif metric := LIMITED_SECONDS.get(key):
            found[name] = Followed(metric, factor, counter=True, per=BY_GPU)
    found["DCGM_FI_PROF_NVLINK_RX_BYTES"] = Followed("gpu_nvlink_receive_bytes_per_second", per=BY_GPU)
    found["DCGM_FI_PROF_NVLINK_TX_BYTES"] = Followed("gpu_nvlink_transmit_bytes_per_second", per=BY_GPU)
    return found


_DISKS = 'device!~"(?:loop|ram|dm-|md|sr).*"'
_NODE: Mapping[str, Followed] = {
    "node_procs_running": Followed("cpu_runnable_tasks"),
    "node_intr_total": Followed("interrupts_per_second", counter=True),
    "node_context_switches_total": Followed("context_switches_per_second", counter=True),
    "node_pressure_cpu_waiting_seconds_total": Followed("cpu_pressure_ratio", counter=True),
    "node_pressure_memory_waiting_seconds_total": Followed("memory_pressure_ratio", counter=True),
    "node_pressure_io_waiting_seconds_total": Followed("storage_pressure_ratio", counter=True),
    "node_memory_MemAvailable_bytes": Followed("memory_available_bytes"),
    "node_vmstat_pgmajfault": Followed("major_faults_per_second", counter=True),
    "node_netstat_Tcp_RetransSegs": Followed("tcp_retransmits_per_second", counter=True),
    "node_network_transmit_bytes_total": Followed("nic_transmit_bytes_per_second", counter=True, per=BY_NIC),
    "node_network_receive_bytes_total": Followed("nic_receive_bytes_per_second", counter=True, per=BY_NIC),
    "node_network_transmit_drop_total": Followed("nic_drops_per_second", counter=True, per=BY_NIC),
    "node_network_receive_drop_total": Followed("nic_drops_per_second", counter=True, per=BY_NIC),
    "node_infiniband_port_data_transmitted_bytes_total": Followed(
        "nic_transmit_bytes_per_second", counter=True, per=BY_NIC
    ),
    "node_infiniband_port_data_received_bytes_total": Followed(
        "nic_receive_bytes_per_second", counter=True, per=BY_NIC
    ),
    "node_disk_written_bytes_total": Followed(
        "storage_write_bytes_per_second", counter=True, over="device", where=_DISKS
    ),
    "node_disk_read_bytes_total": Followed("storage_read_bytes_per_second", counter=True, over="device", where=_DISKS),
}
REASON_METRICS = ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS")
REASON_BITS: Mapping[str, int] = {"gpu_power_limited_ratio": 0x04 | 0x80, "gpu_thermal_limited_ratio": 0x20 | 0x40}
"""Bits of the mask of reasons: software power cap and power brake, software and hardware thermal slowdown."""
CPU_SECONDS = "node_cpu_seconds_total"
"""Counter by CPU and mode, of which three series are made."""
CPU_METRICS: Mapping[str, Followed] = {
    "idle": Followed("cpu_busy_ratio", one_minus=True),
    "iowait": Followed("cpu_iowait_ratio"),
    "steal": Followed("cpu_steal_ratio"),
}
THROTTLED, PERIODS = "container_cpu_cfs_throttled_periods_total", "container_cpu_cfs_periods_total"
"""cAdvisor's counters of quota periods."""

_SERVING: Mapping[str, Followed] = {
    "vllm:num_requests_running": Followed("server_running_requests"),
    "vllm:num_requests_waiting": Followed("server_waiting_requests"),
    "vllm:kv_cache_usage_perc": Followed("server_kv_cache_use_ratio"),
    "vllm:gpu_cache_usage_perc": Followed("server_kv_cache_use_ratio"),
    "vllm:num_preemptions_total": Followed("server_preemptions_per_second", counter=True),
    "vllm:prompt_tokens_total": Followed("server_prompt_tokens_per_second", counter=True),
    "vllm:generation_tokens_total": Followed("server_generated_tokens_per_second", counter=True),
    "sglang:num_running_reqs": Followed("server_running_requests"),
    "sglang:num_queue_reqs": Followed("server_waiting_requests"),
    "sglang:token_usage": Followed("server_kv_cache_use_ratio"),
    "sglang:num_retracted_reqs_total": Followed("server_preemptions_per_second", counter=True),
    "sglang:prompt_tokens_total": Followed("server_prompt_tokens_per_second", counter=True),
    "sglang:generation_tokens_total": Followed("server_generated_tokens_per_second", counter=True),
    "tgi_queue_size": Followed("server_waiting_requests"),
    "tgi_batch_current_size": Followed("server_running_requests"),
    "tgi_request_count": Followed("server_arrivals_per_second", counter=True),
    "nv_inference_pending_request_count": Followed("server_waiting_requests"),
}
FOLLOWED: Mapping[str, Followed] = {**_dcgm(), **_NODE, **_SERVING}
"""Exporter's name to what it becomes."""

HISTOGRAMS: Mapping[str, str] = {
    "vllm:time_to_first_token_seconds": "server_ttft_{}_seconds",
    "vllm:time_per_output_token_seconds": "server_itl_{}_seconds",
    "vllm:inter_token_latency_seconds": "server_itl_{}_seconds",
    "vllm:e2e_request_latency_seconds": "server_e2e_{}_seconds",
    "vllm:request_queue_time_seconds": "server_queue_{}_seconds",
    "sglang:time_to_first_token_seconds": "server_ttft_{}_seconds",
    "sglang:inter_token_latency_seconds": "server_itl_{}_seconds",
    "sglang:time_per_output_token_seconds": "server_itl_{}_seconds",
    "sglang:e2e_request_latency_seconds": "server_e2e_{}_seconds",
    "sglang:queue_time_seconds": "server_queue_{}_seconds",
    "tgi_request_mean_time_per_token_duration": "server_itl_{}_seconds",
    "tgi_request_duration": "server_e2e_{}_seconds",
    "tgi_request_queue_duration": "server_queue_{}_seconds",
}
"""Histogram in seconds to our metric, with the quantile's name to fill in."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """What reads one sort of source, and what it should tell for latency."""

    kind: str
    prefixes: tuple[str, ...]
    wanted: Mapping[str, tuple[str, ...]]
    """What is told, in words, to the metrics any of which tells it."""
    cure: str
    """How what is missing is switched on."""


EXPORTERS: tuple[Exporter, ...] = (
    Exporter(
        "dcgm-exporter",
        ("DCGM_FI_", "DCGM_EXP_"),
        {
            "use of multiprocessors": ("DCGM_FI_PROF_SM_ACTIVE",),
            "use of the memory's bandwidth": ("DCGM_FI_PROF_DRAM_ACTIVE",),
            "PCIe traffic": ("DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES"),
            "why clocks are low": (
                "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS",
                "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS",
                "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
                "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
            ),
            "clocks": ("DCGM_FI_DEV_SM_CLOCK",),
            "power": ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_POWER_USAGE_INSTANT"),
            "temperature": ("DCGM_FI_DEV_GPU_TEMP",),
        },
        "its counters file lists what it collects",
    ),
    Exporter(
        "node-exporter",
        ("node_",),
        {
            "network traffic": ("node_network_transmit_bytes_total",),
            "time of the processors": (CPU_SECONDS,),
            "pressure stalls": ("node_pressure_cpu_waiting_seconds_total",),
            "page faults": ("node_vmstat_pgmajfault",),
            "TCP retransmissions": ("node_netstat_Tcp_RetransSegs",),
            "disk traffic": ("node_disk_written_bytes_total",),
        },
        "--collector.NAME switches a collector on; pressure needs psi=1 on the kernel's command line on some systems",
    ),
    Exporter(
        "serving",
        ("vllm:", "sglang:", "tgi_", "nv_inference_", "nv_llm_", "nv_trt_llm_"),
        {
            "requests that wait": ("vllm:num_requests_waiting", "sglang:num_queue_reqs", "tgi_queue_size"),
            "latency": tuple(f"{name}_bucket" for name in HISTOGRAMS),
        },
        "the server must be scraped; SGLang tells metrics only with --enable-metrics",
    ),
)

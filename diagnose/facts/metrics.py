"""Metrics that are followed over time: their names, with units, and what each is a sign of.

The names are ours; collectors map what their tools call it. A rate's name says what per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Driver(StrEnum):
    """What may drive latency: metrics of one driver are alternatives, not separate suspects."""

    GPU_COMPUTE = "gpu-compute"
    GPU_MEMORY_BANDWIDTH = "gpu-memory-bandwidth"
    GPU_MEMORY_USE = "gpu-memory-use"
    PCIE_TRAFFIC = "pcie-traffic"
    NVLINK_TRAFFIC = "nvlink-traffic"
    SM_CLOCK = "sm-clock"
    CLOCK_LIMIT_POWER = "clock-limit-power"
    CLOCK_LIMIT_THERMAL = "clock-limit-thermal"
    POWER = "power"
    TEMPERATURE = "temperature"
    NIC_EGRESS = "nic-egress"
    NIC_INGRESS = "nic-ingress"
    RETRANSMITS = "retransmits"
    PACKET_DROPS = "packet-drops"
    PAUSE_FRAMES = "pause-frames"
    CPU_USE = "cpu-use"
    CPU_PRESSURE = "cpu-pressure"
    CPU_STEAL = "cpu-steal"
    CPU_THROTTLED = "cpu-throttled"
    CPU_CLOCK = "cpu-clock"
    INTERRUPTS = "interrupts"
    MEMORY_PRESSURE = "memory-pressure"
    PAGE_FAULTS = "page-faults"
    STORAGE_WRITES = "storage-writes"
    STORAGE_READS = "storage-reads"
    STORAGE_PRESSURE = "storage-pressure"
    KV_CACHE_USE = "kv-cache-use"
    PREEMPTIONS = "preemptions"
    QUEUE_LENGTH = "queue-length"
    BATCH_SIZE = "batch-size"
    PREFILL_TOKENS = "prefill-tokens"
    ARRIVAL_RATE = "arrival-rate"
    CONCURRENCY = "concurrency"
    INPUT_LENGTH = "input-length"
    OUTPUT_LENGTH = "output-length"
    IDLE_BEFORE = "idle-before"
    TRAINING_STEP = "training-step"
    LATENCY = "latency"
    """No driver: quantiles of latency as a server tells them, which drivers are sought for."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: `name` carries its unit."""

    name: str
    driver: Driver
    means: str
    lower_is_worse: bool = False
    """Whether low values are the suspicious ones, as for clocks."""


_ROWS = (
    Metric("gpu_sm_active_ratio", Driver.GPU_COMPUTE, "Share of time that multiprocessors had work, 0 to 1"),
    Metric("gpu_utilization_ratio", Driver.GPU_COMPUTE, "Share of time that a kernel ran, 0 to 1"),
    Metric("gpu_tensor_active_ratio", Driver.GPU_COMPUTE, "Share of cycles that tensor cores were active, 0 to 1"),
    Metric("gpu_dram_active_ratio", Driver.GPU_MEMORY_BANDWIDTH, "Share of cycles that device memory moved data"),
    Metric("gpu_memory_utilization_ratio", Driver.GPU_MEMORY_BANDWIDTH, "Share of time that memory was accessed"),
    Metric("gpu_memory_used_bytes", Driver.GPU_MEMORY_USE, "Device memory in use"),
    Metric("gpu_pcie_receive_bytes_per_second", Driver.PCIE_TRAFFIC, "PCIe data to the GPU"),
    Metric("gpu_pcie_transmit_bytes_per_second", Driver.PCIE_TRAFFIC, "PCIe data from the GPU"),
    Metric("gpu_nvlink_receive_bytes_per_second", Driver.NVLINK_TRAFFIC, "NVLink data to the GPU"),
    Metric("gpu_nvlink_transmit_bytes_per_second", Driver.NVLINK_TRAFFIC, "NVLink data from the GPU"),
    Metric("gpu_sm_clock_mhz", Driver.SM_CLOCK, "Clock of the multiprocessors", lower_is_worse=True),
    Metric("gpu_memory_clock_mhz", Driver.SM_CLOCK, "Clock of device memory", lower_is_worse=True),
    Metric("gpu_power_limited_ratio", Driver.CLOCK_LIMIT_POWER, "Share of time that power held the clocks down"),
    Metric("gpu_thermal_limited_ratio", Driver.CLOCK_LIMIT_THERMAL, "Share of time that heat held the clocks down"),
    Metric("gpu_power_watts", Driver.POWER, "Power drawn by the GPU"),
    Metric("gpu_temperature_celsius", Driver.TEMPERATURE, "Temperature of the GPU"),
    Metric("gpu_memory_temperature_celsius", Driver.TEMPERATURE, "Temperature of device memory"),
    Metric("nic_transmit_bytes_per_second", Driver.NIC_EGRESS, "Data that left through a network interface"),
    Metric("nic_receive_bytes_per_second", Driver.NIC_INGRESS, "Data that came in through a network interface"),
    Metric("nic_drops_per_second", Driver.PACKET_DROPS, "Packets that an interface dropped"),
    Metric("nic_pause_frames_per_second", Driver.PAUSE_FRAMES, "Pause frames sent and received"),
    Metric("tcp_retransmits_per_second", Driver.RETRANSMITS, "TCP segments sent again"),
    Metric("cpu_busy_ratio", Driver.CPU_USE, "Share of CPU time with work, 0 to 1"),
    Metric("cpu_iowait_ratio", Driver.STORAGE_PRESSURE, "Share of CPU time idle with input or output outstanding"),
    Metric("cpu_steal_ratio", Driver.CPU_STEAL, "Share of CPU time that the hypervisor gave to others, 0 to 1"),
    Metric("cpu_pressure_ratio", Driver.CPU_PRESSURE, "Share of time in which some task waited for a CPU"),
    Metric("cpu_runnable_tasks", Driver.CPU_PRESSURE, "Tasks that run or wait for a CPU"),
    Metric("cpu_throttled_ratio", Driver.CPU_THROTTLED, "Share of quota periods in which a container was held back"),
    Metric("cpu_clock_mhz", Driver.CPU_CLOCK, "Clock of the CPUs", lower_is_worse=True),
    Metric("interrupts_per_second", Driver.INTERRUPTS, "Interrupts on the CPUs that serve, or on all"),
    Metric("context_switches_per_second", Driver.CPU_PRESSURE, "Context switches"),
    Metric("memory_pressure_ratio", Driver.MEMORY_PRESSURE, "Share of time in which some task waited for memory"),
    Metric("memory_available_bytes", Driver.MEMORY_PRESSURE, "Memory without swapping", lower_is_worse=True),
    Metric("swap_pages_per_second", Driver.MEMORY_PRESSURE, "Pages moved from and to swap"),
    Metric("direct_reclaims_per_second", Driver.MEMORY_PRESSURE, "Stalls of tasks that freed memory themselves"),
    Metric("major_faults_per_second", Driver.PAGE_FAULTS, "Page faults that waited for a disk"),
    Metric("minor_faults_per_second", Driver.PAGE_FAULTS, "Page faults served from memory"),
    Metric("storage_write_bytes_per_second", Driver.STORAGE_WRITES, "Data written to disks or remote storage"),
    Metric("storage_read_bytes_per_second", Driver.STORAGE_READS, "Data read from disks or remote storage"),
    Metric("storage_pressure_ratio", Driver.STORAGE_PRESSURE, "Share of time in which some task waited for storage"),
    Metric("server_kv_cache_use_ratio", Driver.KV_CACHE_USE, "Share of the KV cache in use, 0 to 1"),
    Metric("server_preemptions_per_second", Driver.PREEMPTIONS, "Requests preempted or retracted"),
    Metric("server_waiting_requests", Driver.QUEUE_LENGTH, "Requests that wait"),
    Metric("server_running_requests", Driver.BATCH_SIZE, "Requests that are served at once"),
    Metric("server_prompt_tokens_per_second", Driver.PREFILL_TOKENS, "Prompt tokens processed"),
    Metric("server_generated_tokens_per_second", Driver.BATCH_SIZE, "Tokens generated", lower_is_worse=True),
    Metric("server_arrivals_per_second", Driver.ARRIVAL_RATE, "Requests that arrive"),
    Metric("requests_arrivals_per_second", Driver.ARRIVAL_RATE, "Requests that begin, from a table of requests"),
    Metric("requests_input_tokens_per_second", Driver.PREFILL_TOKENS, "Prompt tokens that arrive, from such a table"),
    Metric("requests_under_way", Driver.CONCURRENCY, "Requests begun and not ended, from such a table"),
    Metric("requests_input_tokens", Driver.INPUT_LENGTH, "Length of the prompts, from such a table"),
    Metric("requests_output_tokens", Driver.OUTPUT_LENGTH, "Length of the answers, from such a table"),
    Metric("requests_idle_before_seconds", Driver.IDLE_BEFORE, "Time with no request under way before a request"),
    Metric("server_ttft_p50_seconds", Driver.LATENCY, "Median time to first token since the sample before"),
    Metric("server_ttft_p99_seconds", Driver.LATENCY, "p99 of the time to first token since the sample before"),
    Metric("server_itl_p50_seconds", Driver.LATENCY, "Median time between tokens since the sample before"),
    Metric("server_itl_p99_seconds", Driver.LATENCY, "p99 of the time between tokens since the sample before"),
    Metric("server_e2e_p50_seconds", Driver.LATENCY, "Median latency of requests since the sample before"),
    Metric("server_e2e_p99_seconds", Driver.LATENCY, "p99 of the latency of requests since the sample before"),
    Metric("server_queue_p50_seconds", Driver.LATENCY, "Median time in the queue since the sample before"),
    Metric("server_queue_p99_seconds", Driver.LATENCY, "p99 of the time in the queue since the sample before"),
    Metric("training_step_active_ratio", Driver.TRAINING_STEP, "Share of time in which a training step ran"),
)
METRICS: Mapping[str, Metric] = {row.name: row for row in _ROWS}
"""Every metric by its name."""

"""Which fields of facts about a GPU are followed over time, whatever tool reads them."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.facts import Fact
from diagnose.facts.bandwidth import NvlinkTraffic
from diagnose.facts.gpu import (
    GpuActivity,
    GpuClockReasons,
    GpuClocks,
    GpuLoad,
    GpuMemory,
    GpuPcieLink,
    GpuPower,
    GpuTemperature,
)

GPU_METRICS: Mapping[tuple[type[Fact], str], str] = {
    (GpuActivity, "sm_ratio"): "gpu_sm_active_ratio",
    (GpuActivity, "tensor_ratio"): "gpu_tensor_active_ratio",
    (GpuActivity, "dram_ratio"): "gpu_dram_active_ratio",
    (GpuLoad, "gpu_utilization_ratio"): "gpu_utilization_ratio",
    (GpuLoad, "memory_utilization_ratio"): "gpu_memory_utilization_ratio",
    (GpuMemory, "used_bytes"): "gpu_memory_used_bytes",
    (GpuPcieLink, "receive_bytes_per_second"): "gpu_pcie_receive_bytes_per_second",
    (GpuPcieLink, "transmit_bytes_per_second"): "gpu_pcie_transmit_bytes_per_second",
    (NvlinkTraffic, "receive_bytes_per_second"): "gpu_nvlink_receive_bytes_per_second",
    (NvlinkTraffic, "transmit_bytes_per_second"): "gpu_nvlink_transmit_bytes_per_second",
    (GpuClocks, "sm_mhz"): "gpu_sm_clock_mhz",
    (GpuClocks, "memory_mhz"): "gpu_memory_clock_mhz",
    (GpuPower, "draw_watts"): "gpu_power_watts",
    (GpuTemperature, "gpu_celsius"): "gpu_temperature_celsius",
    (GpuTemperature, "memory_celsius"): "gpu_memory_temperature_celsius",
}
"""Kind and field of a gauge to the metric; the units are the same."""

LIMITED: Mapping[str, str] = {
    "sw_power_cap": "gpu_power_limited_ratio",
    "hw_power_brake": "gpu_power_limited_ratio",
    "sw_thermal_slowdown": "gpu_thermal_limited_ratio",
    "hw_thermal_slowdown": "gpu_thermal_limited_ratio",
}
"""Field of `gpu-clock-reasons` to the metric: of several reasons that fill one, the one that holds longest counts.

A flag is 0 or 1 at its moment; the counter `FIELD_seconds` rises by the share of the time.
"""

LIMITED_SECONDS: Mapping[tuple[type[Fact], str], str] = {
    (GpuClockReasons, f"{name}_seconds"): metric for name, metric in LIMITED.items()
}

"""Columns of `nvidia-smi --query-...`: which field each fills.

Names: `nvidia-smi --help-query-gpu` and its sisters, drivers 384 to 610.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_values import (
    Convert,
    device_id,
    flag,
    integer,
    lower_words,
    performance_state,
    positive,
    ratio,
    real,
    seconds,
    size,
    version,
    words,
)
from diagnose.facts import Fact
from diagnose.facts.gpu import (
    GpuClockReasons,
    GpuClocks,
    GpuEcc,
    GpuFabric,
    GpuFan,
    GpuIdentity,
    GpuInforom,
    GpuLoad,
    GpuMemory,
    GpuMig,
    GpuPcieLink,
    GpuPower,
    GpuProcess,
    GpuRecovery,
    GpuRemappedRows,
    GpuRetiredPages,
    GpuTemperature,
)
from diagnose.facts.host import Driver


class Column(NamedTuple):
    """The field that a column fills."""

    kind: type[Fact]
    name: str
    convert: Convert


def _columns(kind: type[Fact], *rows: tuple[str, str, Convert]) -> dict[str, Column]:
    return {name: Column(kind, field, convert) for names, field, convert in rows for name in names.split()}


def _ecc() -> dict[str, Column]:
    found: dict[str, Column] = {}
    for sort in ("corrected", "uncorrected"):
        for span in ("volatile", "aggregate"):
            prefix = f"ecc.errors.{sort}.{span}"
            found[f"{prefix}.total"] = Column(GpuEcc, f"{span}_{sort}", integer)
            found[f"{prefix}.dram"] = Column(GpuEcc, f"{span}_dram_{sort}", integer)
            found[f"{prefix}.sram"] = Column(GpuEcc, f"{span}_sram_{sort}", integer)
    return found


def _reasons() -> dict[str, Column]:
    found: dict[str, Column] = {}
    for prefix in ("clocks_event_reasons", "clocks_throttle_reasons"):
        found |= _columns(
            GpuClockReasons,
            (f"{prefix}.gpu_idle", "idle", flag),
            (f"{prefix}.applications_clocks_setting", "applications_clocks_setting", flag),
            (f"{prefix}.sw_power_cap", "sw_power_cap", flag),
            (f"{prefix}.hw_slowdown", "hw_slowdown", flag),
            (f"{prefix}.hw_thermal_slowdown", "hw_thermal_slowdown", flag),
            (f"{prefix}.hw_power_brake_slowdown", "hw_power_brake", flag),
            (f"{prefix}.sw_thermal_slowdown", "sw_thermal_slowdown", flag),
            (f"{prefix}.sync_boost", "sync_boost", flag),
            (f"{prefix}_counters.sw_power_cap", "sw_power_cap_seconds", seconds),
            (f"{prefix}_counters.sw_thermal_slowdown", "sw_thermal_slowdown_seconds", seconds),
            (f"{prefix}_counters.hw_thermal_slowdown", "hw_thermal_slowdown_seconds", seconds),
            (f"{prefix}_counters.hw_power_brake_slowdown", "hw_power_brake_seconds", seconds),
            (f"{prefix}_counters.sync_boost", "sync_boost_seconds", seconds),
        )
    return found


COLUMNS: Mapping[str, Column] = {
    **_columns(
        GpuIdentity,
        ("name gpu_name", "product_name", words),
        ("pci.device_id", "pci_device_id", device_id),
        ("vbios_version", "vbios_version", words),
        ("persistence_mode", "persistence_mode", flag),
        ("display_active", "display_active", flag),
        ("compute_mode", "compute_mode", words),
    ),
    **_columns(
        GpuPcieLink,
        ("pcie.link.gen.current", "generation_current", positive),
        ("pcie.link.gen.max", "generation_max", positive),
        ("pcie.link.gen.gpumax", "generation_device_max", positive),
        ("pcie.link.gen.hostmax", "generation_host_max", positive),
        ("pcie.link.gen.gpucurrent", "generation_device_current", positive),
        ("pcie.link.width.current", "width_current", integer),
        ("pcie.link.width.max", "width_max", integer),
    ),
    **_columns(
        GpuLoad,
        ("pstate", "performance_state", performance_state),
        ("utilization.gpu", "gpu_utilization_ratio", ratio),
        ("utilization.memory", "memory_utilization_ratio", ratio),
        ("utilization.encoder", "encoder_utilization_ratio", ratio),
        ("utilization.decoder", "decoder_utilization_ratio", ratio),
    ),
    **_columns(
        GpuClocks,
        ("clocks.current.graphics clocks.gr", "graphics_mhz", real),
        ("clocks.current.sm clocks.sm", "sm_mhz", real),
        ("clocks.current.memory clocks.mem", "memory_mhz", real),
        ("clocks.max.sm clocks.max.sm", "sm_max_mhz", real),
        ("clocks.max.memory clocks.max.mem", "memory_max_mhz", real),
        ("clocks.applications.graphics clocks.applications.gr", "application_graphics_mhz", real),
        (
            "clocks.default_applications.graphics clocks.default_applications.gr",
            "application_default_graphics_mhz",
            real,
        ),
    ),
    **_columns(
        GpuPower,
        ("power.draw power.draw.average", "draw_watts", real),
        ("power.draw.instant", "instant_draw_watts", real),
        ("enforced.power.limit power.limit", "limit_watts", real),
        ("power.default_limit", "default_limit_watts", real),
        ("power.min_limit", "min_limit_watts", real),
        ("power.max_limit", "max_limit_watts", real),
    ),
    **_columns(
        GpuTemperature,
        ("temperature.gpu", "gpu_celsius", real),
        ("temperature.memory", "memory_celsius", real),
        ("temperature.gpu.tlimit", "margin_celsius", real),
    ),
    **_columns(GpuFan, ("fan.speed", "speed_ratio", ratio)),
    **_columns(
        GpuMemory,
        ("memory.total", "total_bytes", size),
        ("memory.used", "used_bytes", size),
        ("memory.reserved", "reserved_bytes", size),
    ),
    **_columns(
        GpuEcc,
        ("ecc.mode.current", "enabled", flag),
        ("ecc.mode.pending", "pending_enabled", flag),
        ("ecc.errors.uncorrected.aggregate.sram.thresholdexceeded", "sram_threshold_exceeded", flag),
    ),
    **_ecc(),
    **_reasons(),
    **_columns(
        GpuRetiredPages,
        ("retired_pages.single_bit_ecc.count retired_pages.sbe", "single_bit", integer),
        ("retired_pages.double_bit.count retired_pages.dbe", "double_bit", integer),
        ("retired_pages.pending", "pending", flag),
    ),
    **_columns(
        GpuRemappedRows,
        ("remapped_rows.correctable", "correctable", integer),
        ("remapped_rows.uncorrectable", "uncorrectable", integer),
        ("remapped_rows.pending", "pending", flag),
        ("remapped_rows.failure", "failure_occurred", flag),
        ("remapped_rows.histogram.none", "banks_none", integer),
        ("remapped_rows.histogram.low", "banks_low", integer),
    ),
    **_columns(
        GpuMig,
        ("mig.mode.current", "enabled", flag),
        ("mig.mode.pending", "pending_enabled", flag),
    ),
    **_columns(GpuRecovery, ("gpu_recovery_action", "action", lower_words)),
    **_columns(
        GpuInforom,
        ("inforom.checksum_validation", "valid", flag),
        ("inforom.img inforom.image", "image_version", words),
    ),
    **_columns(
        GpuFabric,
        ("fabric.state", "state", words),
        ("fabric.status", "status", words),
        ("fabric.cliqueid", "clique_id", integer),
    ),
    **_columns(Driver, ("driver_version kmd_version", "version", version)),
}
PROCESS_COLUMNS: Mapping[str, Column] = _columns(
    GpuProcess,
    ("process_name name", "name", words),
    ("used_memory used_gpu_memory", "used_memory_bytes", size),
)
INDEX, UUID, BUS_ID, HOST, COUNT, PROCESS_ID = "index", "uuid", "pci.bus_id", "hostname", "count", "pid"
HEALTH = "fabric.health."
COMMON = frozenset({INDEX, UUID, HOST, COUNT, PROCESS_ID, "name", "process_name", "serial", "time", "timestamp"})
"""Names that tables of other programs have too."""
_OTHER_NAMES = {"gpu_uuid": UUID, "gpu_bus_id": BUS_ID, "gpu_index": INDEX}
_UNUSED = (
    "timestamp serial gpu_serial memory.free utilization.jpeg utilization.ofa power.management pci.domain pci.bus"
    " pci.device pci.sub_device_id accounting.mode display_mode display_attached compute_cap clocks.max.graphics"
    " clocks.current.video clocks.video retired_pages.address retired_pages.cause retired_pages.timestamp"
    " clocks_event_reasons.active clocks_throttle_reasons.active driver_model.current gpu_util mem_util time"
    " max_memory_usage clocks.max.gr inforom.oem inforom.ecc inforom.pwr fan.speed gom.current vbios_version"
)
KNOWN = frozenset(
    [*COLUMNS, *PROCESS_COLUMNS, *_OTHER_NAMES, *_UNUSED.split(), INDEX, UUID, BUS_ID, HOST, COUNT, PROCESS_ID]
)

# Bits of the reasons mask: NVML's nvmlClocksEventReasons constants.
_REASON_BITS = {
    "idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake": 0x80,
}
_MASK = re.compile(r"^0x[0-9a-fA-F]{1,16}$")


def column_name(title: str) -> str:
    """The name in a header's cell such as `power.draw [W]`, in lower case."""
    name = title.split("[")[0].strip().lower()
    return _OTHER_NAMES.get(name, name)


def take_reasons_mask(reading: Reading, text: str, line: int) -> None:
    """Note the flags of `clocks_event_reasons.active`, a mask in hex."""
    if _MASK.match(text.strip()):
        mask = int(text.strip(), 16)
        for name, bit in _REASON_BITS.items():
            reading.put(GpuClockReasons, name, bool(mask & bit), line)

"""Columns of `nvidia-smi --query-...`: which field each fills, and what columns without a header mean.

Names: `nvidia-smi --help-query-gpu` and its sisters, drivers 384 to 610.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
    uuid,
    version,
    words,
)
from diagnose.facts import Fact, normalise_bus_id
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


_INDEX_CELL = re.compile(r"^[0-9]{1,3}$")
_VERSION_CELL = re.compile(r"^[3-9][0-9]{2}\.[0-9]{2,3}(?:\.[0-9]{2})?$")
_PRODUCT_CELL = re.compile(r"^(?:NVIDIA|GeForce|Tesla|Quadro|GRID|TITAN)\b")
_MASS = re.compile(r"^[0-9]+ MiB$")


def guess_columns(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """Names of columns that have no header, from their values; "" for a column whose meaning is not certain.

    None where the values do not show that this is of nvidia-smi: a GPU's index, UUID or bus id must be there, and
    beside it something that is no plain number.
    """
    columns = [list(cells) for cells in zip(*rows, strict=True)]
    names = [_certain(cells) for cells in columns]
    if columns and all(_INDEX_CELL.match(cell) for cell in columns[0]) and len(set(columns[0])) == len(rows):
        names[0] = INDEX
    _name_percentages(names, columns)
    _name_powers(names, columns)
    _name_memories(names, columns)
    named = {name for name in names if name}
    return names if named.intersection((INDEX, UUID, BUS_ID)) and len(named) > 1 else None


def _certain(cells: Sequence[str]) -> str:
    """What a column is by the form of its values alone."""
    forms = (
        ("pstate", lambda cell: performance_state(cell) is not None),
        (UUID, lambda cell: cell.startswith("GPU-") and uuid(cell) is not None),
        (BUS_ID, lambda cell: cell.count(":") == 2 and normalise_bus_id(cell) is not None),
        ("driver_version", lambda cell: _VERSION_CELL.match(cell) is not None),
        ("name", lambda cell: _PRODUCT_CELL.match(cell) is not None),
    )
    return next((name for name, fits in forms if all(map(fits, cells))), "")


def _with_unit(columns: Sequence[Sequence[str]], unit: str) -> list[int]:
    """Columns of numbers with this unit."""
    form = re.compile(rf"^(?:[0-9.]+ {re.escape(unit)}|\[?N/A\]?)$")
    return [
        position
        for position, cells in enumerate(columns)
        if all(map(form.match, cells)) and any(cell.endswith(unit) for cell in cells)
    ]


def _name_percentages(names: list[str], columns: Sequence[Sequence[str]]) -> None:
    """One is the use of the GPU; two are that and the use of memory, the usual order. More may be anything."""
    found = _with_unit(columns, "%")
    if len(found) <= 2:
        for position, name in zip(found, ("utilization.gpu", "utilization.memory"), strict=False):
            names[position] = name


def _name_powers(names: list[str], columns: Sequence[Sequence[str]]) -> None:
    found = _with_unit(columns, "W")
    if len(found) == 1:
        names[found[0]] = "power.draw"
    elif len(found) == 2 and len(set(columns[found[1]])) == 1:
        names[found[0]], names[found[1]] = "power.draw", "power.limit"


def _name_memories(names: list[str], columns: Sequence[Sequence[str]]) -> None:
    """One beside values that change is what is used; one beside names only is the total; of two the larger is that."""
    found = [position for position in _with_unit(columns, "MiB") if all(map(_MASS.match, columns[position]))]
    if len(found) == 1:
        changing = {"pstate", "utilization.gpu", "power.draw"}.intersection(names)
        names[found[0]] = "memory.used" if changing else "memory.total"
    elif len(found) == 2:
        first, second = ([size(cell) or 0 for cell in columns[position]] for position in found)
        if all(one <= other for one, other in zip(first, second, strict=True)):
            names[found[0]], names[found[1]] = "memory.used", "memory.total"
        elif all(one >= other for one, other in zip(first, second, strict=True)):
            # What follows the total may be what is used or what is free.
            names[found[0]] = "memory.total"

"""Where `nvidia-smi -q` prints each field: names as drivers 384 to 610 and DTD v10 to v13 have them.

In a path the first name is that of the text, the others are older ones and those of the XML.
"""

from __future__ import annotations

from typing import NamedTuple

from collectors.nvidia_smi_values import (
    Convert,
    device_id,
    flag,
    integer,
    kilobyte_rate,
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
    GpuFabric,
    GpuFan,
    GpuIdentity,
    GpuInforom,
    GpuLoad,
    GpuMemory,
    GpuMig,
    GpuPcieLink,
    GpuPower,
    GpuRecovery,
    GpuRemappedRows,
    GpuRetiredPages,
    GpuTemperature,
)


class Field(NamedTuple):
    """Where a field stands; of several paths the first with a value counts."""

    kind: type[Fact]
    name: str
    convert: Convert
    paths: tuple[str, ...]


def _fields(kind: type[Fact], section: str, *rows: tuple[str, Convert, str]) -> list[Field]:
    """Fields of one kind, their paths below a section; paths of one row are separated by blanks around a comma."""
    prefix = f"{section}/" if section else ""
    return [
        Field(kind, name, convert, tuple(prefix + path for path in paths.split(" , "))) for name, convert, paths in rows
    ]


_LINK = "pci/gpu link info|pci gpu link info"
_REASONS = "clocks event reasons|clocks throttle reasons"
_REASON = "clocks event reason {0}|clocks throttle reason {0}"
_COUNTERS = "clocks event reasons counters|clocks throttle reasons counters"
_COUNTER = "clocks event reasons counters {0}|clocks throttle reasons counters {0}"
_HISTOGRAM = "bank remap availability histogram|row remapper histogram"


def _reason(text: str, tag: str) -> str:
    return f"{text}|{_REASON.format(tag)}"


def _counter(text: str, tag: str) -> str:
    return f"{text}|{_COUNTER.format(tag)}"


FIELDS = (
    *_fields(
        GpuIdentity,
        "",
        ("product_name", words, "product name"),
        ("architecture", words, "product architecture"),
        ("pci_device_id", device_id, "pci/device id|pci device id"),
        ("vbios_version", words, "vbios version"),
        ("persistence_mode", flag, "persistence mode"),
        ("display_active", flag, "display active"),
        ("compute_mode", words, "compute mode"),
        ("virtualization_mode", words, "gpu virtualization mode/virtualization mode"),
        ("gsp_firmware_version", version, "gsp firmware version"),
    ),
    *_fields(
        GpuPcieLink,
        "",
        ("generation_current", positive, f"{_LINK}/pcie generation|pcie gen/current|current link gen"),
        ("generation_max", positive, f"{_LINK}/pcie generation|pcie gen/max|max link gen"),
        ("generation_device_max", positive, f"{_LINK}/pcie generation|pcie gen/device max|max device link gen"),
        ("generation_host_max", positive, f"{_LINK}/pcie generation|pcie gen/host max|max host link gen"),
        (
            "generation_device_current",
            positive,
            f"{_LINK}/pcie generation|pcie gen/device current|device current link gen",
        ),
        ("width_current", integer, f"{_LINK}/link width|link widths/current|current link width"),
        ("width_max", integer, f"{_LINK}/link width|link widths/max|max link width"),
        ("replay_count", integer, "pci/replays since reset|replay counter"),
        ("replay_rollover_count", integer, "pci/replay number rollovers|replay rollover counter"),
        ("transmit_bytes_per_second", kilobyte_rate, "pci/tx throughput|tx util"),
        ("receive_bytes_per_second", kilobyte_rate, "pci/rx throughput|rx util"),
    ),
    *_fields(GpuFan, "", ("speed_ratio", ratio, "fan speed")),
    *_fields(
        GpuLoad,
        "",
        ("performance_state", performance_state, "performance state"),
        ("gpu_utilization_ratio", ratio, "utilization/gpu|gpu util"),
        ("memory_utilization_ratio", ratio, "utilization/memory|memory util"),
        ("encoder_utilization_ratio", ratio, "utilization/encoder|encoder util"),
        ("decoder_utilization_ratio", ratio, "utilization/decoder|decoder util"),
    ),
    *_fields(
        GpuClockReasons,
        _REASONS,
        ("idle", flag, _reason("idle", "gpu idle")),
        (
            "applications_clocks_setting",
            flag,
            _reason("applications clocks setting", "applications clocks setting"),
        ),
        ("sw_power_cap", flag, _reason("sw power cap", "sw power cap")),
        ("hw_slowdown", flag, _reason("hw slowdown", "hw slowdown")),
        (
            "hw_thermal_slowdown",
            flag,
            f"hw slowdown/hw thermal slowdown , {_reason('hw thermal slowdown', 'hw thermal slowdown')}",
        ),
        (
            "hw_power_brake",
            flag,
            f"hw slowdown/hw power brake slowdown , {_reason('hw power brake slowdown', 'hw power brake slowdown')}",
        ),
        ("sw_thermal_slowdown", flag, _reason("sw thermal slowdown", "sw thermal slowdown")),
        ("sync_boost", flag, _reason("sync boost", "sync boost")),
    ),
    *_fields(
        GpuClockReasons,
        _COUNTERS,
        ("sw_power_cap_seconds", seconds, _counter("sw power capping|sw power cap", "sw power cap")),
        (
            "sw_thermal_slowdown_seconds",
            seconds,
            _counter("sw thermal slowdown", "sw therm slowdown"),
        ),
        (
            "hw_thermal_slowdown_seconds",
            seconds,
            _counter("hw thermal slowdown", "hw therm slowdown"),
        ),
        (
            "hw_power_brake_seconds",
            seconds,
            _counter("hw power braking|hw power brake slowdown|hw power brake", "hw power brake"),
        ),
        ("sync_boost_seconds", seconds, _counter("sync boost", "sync boost")),
    ),
    *_fields(
        GpuMemory,
        "",
        ("total_bytes", size, "fb memory usage/total"),
        ("used_bytes", size, "fb memory usage/used"),
        ("reserved_bytes", size, "fb memory usage/reserved"),
        ("bar1_total_bytes", size, "bar1 memory usage/total"),
        ("bar1_used_bytes", size, "bar1 memory usage/used"),
    ),
    *_fields(
        GpuRetiredPages,
        "retired pages",
        ("single_bit", integer, "single bit ecc , multiple single bit retirement/retired count"),
        ("double_bit", integer, "double bit ecc , double bit retirement/retired count"),
        ("pending", flag, "pending page blacklist|pending , pending blacklist , pending retirement"),
    ),
    *_fields(
        GpuRemappedRows,
        "remapped rows",
        ("correctable", integer, "correctable error|remapped row corr"),
        ("uncorrectable", integer, "uncorrectable error|remapped row unc"),
        ("pending", flag, "pending|remapped row pending"),
        ("failure_occurred", flag, "remapping failure occurred|remapped row failure"),
        ("banks_none", integer, f"{_HISTOGRAM}/none|row remapper histogram none"),
        ("banks_low", integer, f"{_HISTOGRAM}/low|row remapper histogram low"),
    ),
    *_fields(
        GpuTemperature,
        "temperature",
        ("gpu_celsius", real, "gpu current temp|gpu temp"),
        ("memory_celsius", real, "memory current temp|memory temp"),
        ("margin_celsius", real, "gpu t.limit temp|gpu current t.limit temp|gpu temp tlimit"),
        ("slowdown_celsius", real, "gpu slowdown temp|gpu temp slow threshold"),
        ("shutdown_celsius", real, "gpu shutdown temp|gpu temp max threshold"),
        ("max_operating_celsius", real, "gpu max operating temp|gpu temp max gpu threshold"),
        ("memory_max_operating_celsius", real, "memory max operating temp|gpu temp max mem threshold"),
        ("target_celsius", real, "gpu target temperature|gpu target temperature specification"),
    ),
    *_fields(
        GpuPower,
        "gpu power readings|power readings",
        (
            "draw_watts",
            real,
            "average power draw , power draw , instantaneous power draw|instant power draw",
        ),
        ("instant_draw_watts", real, "instantaneous power draw|instant power draw"),
        (
            "limit_watts",
            real,
            "enforced power limit , current power limit , gpu ceiling power limit/current power limit , power limit",
        ),
        ("default_limit_watts", real, "default power limit , gpu ceiling power limit/default power limit"),
        ("min_limit_watts", real, "min power limit"),
        ("max_limit_watts", real, "max power limit"),
    ),
    *_fields(
        GpuClocks,
        "",
        ("graphics_mhz", real, "clocks/graphics|graphics clock"),
        ("sm_mhz", real, "clocks/sm|sm clock"),
        ("memory_mhz", real, "clocks/memory|mem clock"),
        ("sm_max_mhz", real, "max clocks/sm|sm clock"),
        ("memory_max_mhz", real, "max clocks/memory|mem clock"),
        ("application_graphics_mhz", real, "applications clocks/graphics|graphics clock"),
        ("application_default_graphics_mhz", real, "default applications clocks/graphics|graphics clock"),
    ),
    *_fields(
        GpuRecovery,
        "",
        ("action", lower_words, "gpu recovery action"),
        ("reset_required", flag, "gpu reset status/reset required"),
        ("drain_and_reset_recommended", flag, "gpu reset status/drain and reset recommended"),
    ),
    *_fields(
        GpuMig,
        "mig mode",
        ("enabled", flag, "current|current mig"),
        ("pending_enabled", flag, "pending|pending mig"),
    ),
    *_fields(GpuInforom, "inforom version", ("image_version", words, "image version|img version")),
    *_fields(
        GpuFabric,
        "fabric",
        ("state", words, "state"),
        ("status", words, "status"),
        ("clique_id", integer, "cliqueid|clique id"),
    ),
)

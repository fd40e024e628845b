"""Which call of NVML fills each field. Numbers are those of NVML's public interface, units too: mW, KB/s, ns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from collectors.nvidia_smi_values import Value
from collectors.nvml_calls import Key
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
    GpuRecovery,
    GpuRemappedRows,
    GpuRetiredPages,
    GpuTemperature,
)

Convert: TypeAlias = Callable[[Any], Value | None]
"""From a call's value; None where it makes no sense. Values come from files, so their types are not to be trusted."""

FIELD = "nvmlDeviceGetFieldValues"

_ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada Lovelace",
    9: "Hopper",
    10: "Blackwell",
    13: "Rubin",
}
_COMPUTE_MODES = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}
_VIRTUALISATION = {0: "None", 1: "Pass-Through", 2: "VGPU", 3: "Host VGPU", 4: "Host VSGA"}
_FABRIC_STATES = {1: "Not Started", 2: "In Progress", 3: "Completed"}
_RECOVERY_ACTIONS = {0: "none", 1: "reset", 2: "reboot", 3: "drain p2p", 4: "drain and reset"}
_HIGHEST_PERFORMANCE_STATE = 15
_LIMIT = 1 << 64


_Source: TypeAlias = tuple[Key, Convert]


class Field(NamedTuple):
    """A field and the calls that fill it; of several the first that has a value counts."""

    kind: type[Fact]
    name: str
    sources: tuple[tuple[Key, Convert], ...]


def number(value: Any) -> int | None:
    """A whole number of 64 bits that is no flag."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and -_LIMIT <= value < _LIMIT else None


def divided(divisor: float) -> Convert:
    """A number in a greater unit; division keeps 57 % at 0.57, which a product would not."""

    def convert(value: Any) -> float | None:
        found = number(value)
        return None if found is None else found / divisor

    return convert


def kilobytes(value: Any) -> float | None:
    """KB/s in bytes per second."""
    found = number(value)
    return None if found is None else found * 1e3


def part(key: str | int, convert: Convert = number) -> Convert:
    """A part of a structure or list."""

    def take(value: Any) -> Value | None:
        if isinstance(value, dict) and key in value:
            return convert(value[key])
        if isinstance(value, list) and isinstance(key, int) and key < len(value):
            return convert(value[key])
        return None

    return take


def flag(value: Any) -> bool | None:
    """0 or 1."""
    return None if number(value) is None else bool(value)


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _positive(value: Any) -> int | None:
    found = number(value)
    return found if found is not None and found > 0 else None


def _named(names: Mapping[int, str]) -> Convert:
    return lambda value: names.get(value) if isinstance(value, int) else None


def _bit(mask: int) -> Convert:
    def convert(value: Any) -> bool | None:
        found = number(value)
        return None if found is None else bool(found & mask)

    return convert


def _count(value: Any) -> int | None:
    return len(value) if isinstance(value, list) else None


def _state(value: Any) -> int | None:
    found = number(value)
    return found if found is not None and 0 <= found <= _HIGHEST_PERFORMANCE_STATE else None


def _device_id(value: Any) -> str | None:
    found = number(value)
    return None if found is None else f"0x{found:08X}"


def _fabric_status(value: Any) -> str | None:
    found = number(value)
    if found is None:
        return None
    return "Success" if found == 0 else f"error {found}"


def _fabric_degraded(value: Any) -> bool | None:
    """The health mask: pairs of bits that read 1 for true, 2 for false, and a nibble about the configuration."""
    mask = number(value)
    if mask is None:
        return None
    flags = [mask >> shift & 3 for shift in (0, 2, 4, 6)]
    configuration = mask >> 8 & 15
    if not any(flags) and configuration == 0:
        return None
    return 1 in flags or configuration > 1


def _sum(*keys: str) -> Convert:
    def convert(value: Any) -> int | None:
        found = [number(value.get(key)) for key in keys] if isinstance(value, dict) else [None]
        known = [item for item in found if item is not None]
        return sum(known) if len(known) == len(found) else None

    return convert


def _call(name: str, *args: str | int, convert: Convert = number) -> tuple[Key, Convert]:
    return (f"nvmlDeviceGet{name}", *args), convert


def _fabric(key: str, convert: Convert) -> list[tuple[Key, Convert]]:
    return [_call(name, convert=part(key, convert)) for name in ("GpuFabricInfoV", "GpuFabricInfo")]


def _field(number_: int, convert: Convert) -> tuple[Key, Convert]:
    return (FIELD, number_), convert


def _fields(kind: type[Fact], **sources: _Source | list[_Source]) -> list[Field]:
    return [Field(kind, name, tuple(found) if isinstance(found, list) else (found,)) for name, found in sources.items()]


def _ecc() -> list[Field]:
    found: list[Field] = []
    status = {
        ("volatile", "corrected"): ("volatileCor",),
        ("volatile", "uncorrected"): ("volatileUncParity", "volatileUncSecDed"),
        ("aggregate", "corrected"): ("aggregateCor",),
        ("aggregate", "uncorrected"): ("aggregateUncParity", "aggregateUncSecDed"),
    }
    for (span, sort), keys in status.items():
        sources: dict[str, _Source | list[_Source]] = {
            f"{span}_{sort}": _call("TotalEccErrors", span, "total", sort),
            f"{span}_dram_{sort}": _call("MemoryErrorCounter", span, "dram", sort),
            f"{span}_sram_{sort}": [
                _call("MemoryErrorCounter", span, "sram", sort),
                _call("SramEccErrorStatus", convert=_sum(*keys)),
            ],
        }
        found += _fields(GpuEcc, **sources)
    return found


def _reasons() -> list[Field]:
    masks = {
        "idle": 0x1,
        "applications_clocks_setting": 0x2,
        "sw_power_cap": 0x4,
        "hw_slowdown": 0x8,
        "sync_boost": 0x10,
        "sw_thermal_slowdown": 0x20,
        "hw_thermal_slowdown": 0x40,
        "hw_power_brake": 0x80,
    }
    return _fields(
        GpuClockReasons,
        **{
            name: [
                _call("CurrentClocksEventReasons", convert=_bit(mask)),
                _call("CurrentClocksThrottleReasons", convert=_bit(mask)),
            ]
            for name, mask in masks.items()
        },
    )


_SECONDS = divided(1e9)
_WATTS = divided(1e3)
_RATIO = divided(100)
_REAL = divided(1)

FIELDS: tuple[Field, ...] = (
    *_fields(
        GpuIdentity,
        product_name=_call("Name", convert=_text),
        architecture=_call("Architecture", convert=_named(_ARCHITECTURES)),
        pci_device_id=_call("PciInfo", convert=part("pciDeviceId", _device_id)),
        vbios_version=_call("VbiosVersion", convert=_text),
        persistence_mode=_call("PersistenceMode", convert=flag),
        display_active=_call("DisplayActive", convert=flag),
        compute_mode=_call("ComputeMode", convert=_named(_COMPUTE_MODES)),
        virtualization_mode=_call("VirtualizationMode", convert=_named(_VIRTUALISATION)),
        gsp_firmware_version=_call("GspFirmwareVersion", convert=_text),
    ),
    *_fields(
        GpuPcieLink,
        generation_current=_call("CurrPcieLinkGeneration", convert=_positive),
        generation_max=_call("MaxPcieLinkGeneration", convert=_positive),
        generation_device_max=_call("GpuMaxPcieLinkGeneration", convert=_positive),
        width_current=_call("CurrPcieLinkWidth", convert=_positive),
        width_max=_call("MaxPcieLinkWidth", convert=_positive),
        replay_count=[_call("PcieReplayCounter"), _field(94, number)],
        replay_rollover_count=_field(95, number),
        transmit_bytes_per_second=_call("PcieThroughput", "transmit", convert=kilobytes),
        receive_bytes_per_second=_call("PcieThroughput", "receive", convert=kilobytes),
    ),
    *_fields(GpuFan, speed_ratio=_call("FanSpeed", convert=_RATIO)),
    *_fields(
        GpuLoad,
        performance_state=_call("PerformanceState", convert=_state),
        gpu_utilization_ratio=_call("UtilizationRates", convert=part("gpu", _RATIO)),
        memory_utilization_ratio=_call("UtilizationRates", convert=part("memory", _RATIO)),
        encoder_utilization_ratio=_call("EncoderUtilization", convert=part(0, _RATIO)),
        decoder_utilization_ratio=_call("DecoderUtilization", convert=part(0, _RATIO)),
    ),
    *_reasons(),
    *_fields(
        GpuClockReasons,
        sw_power_cap_seconds=_field(74, _SECONDS),
        sync_boost_seconds=_field(76, _SECONDS),
        sw_thermal_slowdown_seconds=_field(269, _SECONDS),
        hw_thermal_slowdown_seconds=_field(270, _SECONDS),
        hw_power_brake_seconds=_field(271, _SECONDS),
    ),
    *_fields(
        GpuMemory,
        total_bytes=[_call("MemoryInfo", "v2", convert=part("total")), _call("MemoryInfo", convert=part("total"))],
        used_bytes=[_call("MemoryInfo", "v2", convert=part("used")), _call("MemoryInfo", convert=part("used"))],
        reserved_bytes=_call("MemoryInfo", "v2", convert=part("reserved")),
        bar1_total_bytes=_call("BAR1MemoryInfo", convert=part("bar1Total")),
        bar1_used_bytes=_call("BAR1MemoryInfo", convert=part("bar1Used")),
    ),
    *_fields(
        GpuRetiredPages,
        single_bit=_call("RetiredPages", "single_bit", convert=_count),
        double_bit=_call("RetiredPages", "double_bit", convert=_count),
        pending=_call("RetiredPagesPendingStatus", convert=flag),
    ),
    *_fields(
        GpuRemappedRows,
        correctable=_call("RemappedRows", convert=part(0)),
        uncorrectable=_call("RemappedRows", convert=part(1)),
        pending=_call("RemappedRows", convert=part(2, flag)),
        failure_occurred=_call("RemappedRows", convert=part(3, flag)),
        banks_none=_call("RowRemapperHistogram", convert=part("none")),
        banks_low=_call("RowRemapperHistogram", convert=part("low")),
    ),
    *_fields(
        GpuTemperature,
        gpu_celsius=_call("Temperature", "gpu", convert=_REAL),
        memory_celsius=_field(82, _REAL),
        margin_celsius=_call("MarginTemperature", convert=_REAL),
        slowdown_celsius=_call("TemperatureThreshold", "slowdown", convert=_REAL),
        shutdown_celsius=_call("TemperatureThreshold", "shutdown", convert=_REAL),
        max_operating_celsius=_call("TemperatureThreshold", "gpu_max", convert=_REAL),
        memory_max_operating_celsius=_call("TemperatureThreshold", "memory_max", convert=_REAL),
        target_celsius=_call("TemperatureThreshold", "acoustic_current", convert=_REAL),
    ),
    *_fields(
        GpuPower,
        draw_watts=[_field(185, _WATTS), _call("PowerUsage", convert=_WATTS)],
        instant_draw_watts=_field(186, _WATTS),
        limit_watts=[
            _call("EnforcedPowerLimit", convert=_WATTS),
            _call("PowerManagementLimit", convert=_WATTS),
        ],
        default_limit_watts=_call("PowerManagementDefaultLimit", convert=_WATTS),
        min_limit_watts=_call("PowerManagementLimitConstraints", convert=part(0, _WATTS)),
        max_limit_watts=_call("PowerManagementLimitConstraints", convert=part(1, _WATTS)),
    ),
    *_fields(
        GpuClocks,
        graphics_mhz=_call("ClockInfo", "graphics", convert=_REAL),
        sm_mhz=_call("ClockInfo", "sm", convert=_REAL),
        memory_mhz=_call("ClockInfo", "memory", convert=_REAL),
        sm_max_mhz=_call("MaxClockInfo", "sm", convert=_REAL),
        memory_max_mhz=_call("MaxClockInfo", "memory", convert=_REAL),
        application_graphics_mhz=_call("ApplicationsClock", "graphics", convert=_REAL),
        application_default_graphics_mhz=_call("DefaultApplicationsClock", "graphics", convert=_REAL),
    ),
    *_fields(
        GpuEcc,
        enabled=_call("EccMode", convert=part(0, flag)),
        pending_enabled=_call("EccMode", convert=part(1, flag)),
        sram_threshold_exceeded=_call("SramEccErrorStatus", convert=part("bThresholdExceeded", flag)),
    ),
    *_ecc(),
    *_fields(
        GpuRecovery,
        action=_field(230, _named(_RECOVERY_ACTIONS)),
        reset_required=_field(226, flag),
        drain_and_reset_recommended=_field(227, flag),
    ),
    *_fields(
        GpuMig, enabled=_call("MigMode", convert=part(0, flag)), pending_enabled=_call("MigMode", convert=part(1, flag))
    ),
    *_fields(GpuInforom, image_version=_call("InforomImageVersion", convert=_text)),
    *_fields(
        GpuFabric,
        state=_fabric("state", _named(_FABRIC_STATES)),
        status=_fabric("status", _fabric_status),
        clique_id=_fabric("cliqueId", number),
        health_degraded=_call("GpuFabricInfoV", convert=part("healthMask", _fabric_degraded)),
    ),
)

"""Metrics of dcgm-exporter: `DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-...",pci_bus_id="..."} 41`.

DCGM exports 0 for some fields that it cannot read; where 0 makes no sense (a temperature, a power draw, a clock) it is
taken as absent. Its placeholders for `no value` are absent everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from collectors.base import Block
from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_values import Value
from collectors.prometheus_samples import Metrics, Sample
from diagnose.facts import Fact, Missing, Subject, normalise_bus_id
from diagnose.facts.gpu import (
    GpuActivity,
    GpuClockReasons,
    GpuClocks,
    GpuEcc,
    GpuFan,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuPcieLink,
    GpuPower,
    GpuRemappedRows,
    GpuRetiredPages,
    GpuTemperature,
    NvlinkErrors,
)
from diagnose.facts.host import Driver
from diagnose.facts.kernel import Xid

PREFIXES = ("DCGM_FI_", "DCGM_EXP_")


class _Field(NamedTuple):
    kind: type[Fact]
    name: str
    convert: Callable[[float], Value]
    zero_is_absent: bool = False


def _ratio(value: float) -> float:
    return value / 100


def _mebibytes(value: float) -> int:
    return int(value * 1048576)


def _nanoseconds(value: float) -> float:
    return value / 1e9


# Meanings and units: NVIDIA/DCGM, dcgmlib/dcgm_fields.h; NVIDIA/dcgm-exporter, etc/default-counters.csv.
DCGM_FIELDS: Mapping[str, _Field] = {
    "DCGM_FI_DEV_SM_CLOCK": _Field(GpuClocks, "sm_mhz", float, True),
    "DCGM_FI_DEV_MEM_CLOCK": _Field(GpuClocks, "memory_mhz", float, True),
    "DCGM_FI_DEV_MAX_SM_CLOCK": _Field(GpuClocks, "sm_max_mhz", float, True),
    "DCGM_FI_DEV_MAX_MEM_CLOCK": _Field(GpuClocks, "memory_max_mhz", float, True),
    "DCGM_FI_DEV_APP_SM_CLOCK": _Field(GpuClocks, "application_graphics_mhz", float, True),
    "DCGM_FI_DEV_GPU_TEMP": _Field(GpuTemperature, "gpu_celsius", float, True),
    "DCGM_FI_DEV_MEMORY_TEMP": _Field(GpuTemperature, "memory_celsius", float, True),
    "DCGM_FI_DEV_SLOWDOWN_TEMP": _Field(GpuTemperature, "slowdown_celsius", float, True),
    "DCGM_FI_DEV_SHUTDOWN_TEMP": _Field(GpuTemperature, "shutdown_celsius", float, True),
    "DCGM_FI_DEV_GPU_MAX_OP_TEMP": _Field(GpuTemperature, "max_operating_celsius", float, True),
    "DCGM_FI_DEV_MEM_MAX_OP_TEMP": _Field(GpuTemperature, "memory_max_operating_celsius", float, True),
    "DCGM_FI_DEV_POWER_USAGE": _Field(GpuPower, "draw_watts", float, True),
    "DCGM_FI_DEV_POWER_USAGE_INSTANT": _Field(GpuPower, "instant_draw_watts", float, True),
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": _Field(GpuPower, "limit_watts", float, True),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF": _Field(GpuPower, "default_limit_watts", float, True),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_MIN": _Field(GpuPower, "min_limit_watts", float, True),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_MAX": _Field(GpuPower, "max_limit_watts", float, True),
    "DCGM_FI_DEV_FAN_SPEED": _Field(GpuFan, "speed_ratio", _ratio, True),
    "DCGM_FI_DEV_GPU_UTIL": _Field(GpuLoad, "gpu_utilization_ratio", _ratio),
    "DCGM_FI_DEV_MEM_COPY_UTIL": _Field(GpuLoad, "memory_utilization_ratio", _ratio),
    "DCGM_FI_DEV_ENC_UTIL": _Field(GpuLoad, "encoder_utilization_ratio", _ratio),
    "DCGM_FI_DEV_DEC_UTIL": _Field(GpuLoad, "decoder_utilization_ratio", _ratio),
    "DCGM_FI_DEV_PSTATE": _Field(GpuLoad, "performance_state", int),
    "DCGM_FI_DEV_FB_USED": _Field(GpuMemory, "used_bytes", _mebibytes),
    "DCGM_FI_DEV_FB_TOTAL": _Field(GpuMemory, "total_bytes", _mebibytes, True),
    "DCGM_FI_DEV_FB_RESERVED": _Field(GpuMemory, "reserved_bytes", _mebibytes),
    "DCGM_FI_DEV_BAR1_TOTAL": _Field(GpuMemory, "bar1_total_bytes", _mebibytes, True),
    "DCGM_FI_DEV_BAR1_USED": _Field(GpuMemory, "bar1_used_bytes", _mebibytes),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": _Field(GpuPcieLink, "replay_count", int),
    "DCGM_FI_DEV_PCIE_LINK_GEN": _Field(GpuPcieLink, "generation_current", int, True),
    "DCGM_FI_DEV_PCIE_MAX_LINK_GEN": _Field(GpuPcieLink, "generation_max", int, True),
    "DCGM_FI_DEV_PCIE_LINK_WIDTH": _Field(GpuPcieLink, "width_current", int, True),
    "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH": _Field(GpuPcieLink, "width_max", int, True),
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": _Field(GpuEcc, "volatile_corrected", int),
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": _Field(GpuEcc, "volatile_uncorrected", int),
    "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL": _Field(GpuEcc, "aggregate_corrected", int),
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": _Field(GpuEcc, "aggregate_uncorrected", int),
    "DCGM_FI_DEV_MEMORY_UNREPAIRABLE_FLAG": _Field(GpuEcc, "unrepairable_memory", bool),
    "DCGM_FI_DEV_RETIRED_SBE": _Field(GpuRetiredPages, "single_bit", int),
    "DCGM_FI_DEV_RETIRED_DBE": _Field(GpuRetiredPages, "double_bit", int),
    "DCGM_FI_DEV_RETIRED_PENDING": _Field(GpuRetiredPages, "pending", bool),
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": _Field(GpuRemappedRows, "correctable", int),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": _Field(GpuRemappedRows, "uncorrectable", int),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": _Field(GpuRemappedRows, "failure_occurred", bool),
    "DCGM_FI_DEV_ROW_REMAP_PENDING": _Field(GpuRemappedRows, "pending", bool),
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": _Field(NvlinkErrors, "crc_flit_count", int),
    "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL": _Field(NvlinkErrors, "crc_data_count", int),
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": _Field(NvlinkErrors, "replay_count", int),
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": _Field(NvlinkErrors, "recovery_count", int),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS": _Field(GpuClockReasons, "sw_power_cap_seconds", _nanoseconds),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS": _Field(GpuClockReasons, "sync_boost_seconds", _nanoseconds),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS": _Field(
        GpuClockReasons, "sw_thermal_slowdown_seconds", _nanoseconds
    ),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS": _Field(
        GpuClockReasons, "hw_thermal_slowdown_seconds", _nanoseconds
    ),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS": _Field(
        GpuClockReasons, "hw_power_brake_seconds", _nanoseconds
    ),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": _Field(GpuActivity, "graphics_engine_ratio", float),
    "DCGM_FI_PROF_SM_ACTIVE": _Field(GpuActivity, "sm_ratio", float),
    "DCGM_FI_PROF_SM_OCCUPANCY": _Field(GpuActivity, "sm_occupancy_ratio", float),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": _Field(GpuActivity, "tensor_ratio", float),
    "DCGM_FI_PROF_DRAM_ACTIVE": _Field(GpuActivity, "dram_ratio", float),
    "DCGM_FI_PROF_PCIE_TX_BYTES": _Field(GpuPcieLink, "transmit_bytes_per_second", float),
    "DCGM_FI_PROF_PCIE_RX_BYTES": _Field(GpuPcieLink, "receive_bytes_per_second", float),
}
_REASONS = {
    0x01: "idle",
    0x02: "applications_clocks_setting",
    0x04: "sw_power_cap",
    0x08: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake",
}
_REASON_METRICS = ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS")
_BLANKS = (2147483632, 2147483636, 140737488355328, 140737488355332, 9.0e18)
"""Where DCGM's placeholders of 32 bits, of doubles and of 64 bits begin and end."""


def gpu_metric_facts(metrics: Metrics, block: Block) -> Iterator[Fact]:
    """Facts of every GPU. Parts of a GPU in MIG mode have a load of their own, which is left out."""
    gpus: dict[str, tuple[Subject, Reading, list[Sample]]] = {}
    for sample in metrics.samples:
        name = sample.labels.get("UUID") or sample.labels.get("gpu")
        if name is None or sample.labels.get("GPU_I_ID"):
            continue
        known = gpus.setdefault(name, (_subject(sample, block), Reading(), []))
        known[2].append(sample)
        _take(known[1], sample)
    for subject, reading, samples in gpus.values():
        yield from _identity(subject, samples[0], block)
        yield from reading.facts(subject, block)
        yield from _xids(subject, samples, block)
    yield from _driver(metrics, block)


def _subject(sample: Sample, block: Block) -> Subject:
    index, uuid = sample.labels.get("gpu", ""), sample.labels.get("UUID", "")
    return Subject(
        host=sample.labels.get("Hostname") or block.host,
        gpu_index=int(index) if index.isdecimal() and len(index) < 4 else None,
        gpu_uuid=uuid if uuid.startswith("GPU-") else None,
        gpu_bus_id=normalise_bus_id(sample.labels.get("pci_bus_id", "")),
    )


def _take(reading: Reading, sample: Sample) -> None:
    known = DCGM_FIELDS.get(sample.name)
    if known is not None:
        if _is_blank(sample.value) or (known.zero_is_absent and sample.value == 0):
            reading.put(known.kind, known.name, Missing.BLANK, sample.line.number)
        elif sample.value >= 0:
            reading.put(known.kind, known.name, known.convert(sample.value), sample.line.number)
    elif sample.name in _REASON_METRICS and 0 <= sample.value < 1 << 32 and not _is_blank(sample.value):
        for bit, field in _REASONS.items():
            reading.put(GpuClockReasons, field, bool(int(sample.value) & bit), sample.line.number)


def _is_blank(value: float) -> bool:
    return _BLANKS[0] <= value <= _BLANKS[1] or _BLANKS[2] <= value <= _BLANKS[3] or value >= _BLANKS[4]


def _identity(subject: Subject, sample: Sample, block: Block) -> Iterator[Fact]:
    name = sample.labels.get("modelName")
    if name:
        yield GpuIdentity(subject=subject, sources=(block.source(sample.line),), product_name=name)


def _xids(subject: Subject, samples: list[Sample], block: Block) -> Iterator[Fact]:
    """The gauge holds the last Xid, 0 for none; the counter counts each code within its window."""
    position = 0
    for sample in samples:
        counted = sample.name == "DCGM_EXP_XID_ERRORS_COUNT"
        code = sample.labels.get("xid", "") if counted else str(int(sample.value))
        if sample.name != "DCGM_FI_DEV_XID_ERRORS" and not counted:
            continue
        if not code.isdecimal() or not 0 < int(code) < 1000 or (counted and sample.value < 1):
            continue
        yield Xid(
            subject=subject,
            sources=(block.source(sample.line),),
            code=int(code),
            count=int(sample.value) if counted else 1,
            position=position,
            detail=sample.labels.get("err_msg"),
        )
        position += 1


def _driver(metrics: Metrics, block: Block) -> Iterator[Fact]:
    for sample in metrics.samples:
        version = sample.labels.get("DCGM_FI_DRIVER_VERSION", "")
        major = version.partition(".")[0]
        if major.isdecimal() and len(major) < 5:
            host = sample.labels.get("Hostname") or block.host
            yield Driver(
                subject=Subject(host=host), sources=(block.source(sample.line),), version=version, major=int(major)
            )
            return

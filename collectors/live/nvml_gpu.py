"""One GPU through NVML: everything about it once, and what changes at every reading of the window."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import pynvml

from collectors.live.base import Folder, Recorder, Window
from collectors.live.nvml_journal import GpuLostError, Journal

POWER_AVERAGE, POWER_INSTANT, MEMORY_TEMPERATURE = 185, 186, 82
SHUTDOWN_MARGIN, SLOWDOWN_MARGIN, MEMORY_MARGIN, HIGHEST_MARGIN = 193, 194, 195, 196
TIME_AT_POWER_LIMIT, TIME_SYNC_BOOST = 74, 76
TIME_SOFTWARE_THERMAL, TIME_HARDWARE_THERMAL, TIME_POWER_BRAKE = 269, 270, 271
REPLAYS, REPLAY_ROLLOVERS = 94, 95
RECOVERY_ACTION, RESET_STATUS, DRAIN_STATUS = 230, 226, 227
LINK_SPEED = 164
LINK_MALFORMED, LINK_BUFFER_OVERRUN, LINK_RECOVERIES = 206, 207, 215
LINK_EFFECTIVE_ERRORS, LINK_SYMBOL_ERRORS = 219, 221

_FIELDS_ONCE = (
    SHUTDOWN_MARGIN,
    SLOWDOWN_MARGIN,
    MEMORY_MARGIN,
    HIGHEST_MARGIN,
    RECOVERY_ACTION,
    RESET_STATUS,
    DRAIN_STATUS,
)
_FIELDS = (
    POWER_AVERAGE,
    POWER_INSTANT,
    MEMORY_TEMPERATURE,
    TIME_AT_POWER_LIMIT,
    TIME_SYNC_BOOST,
    TIME_SOFTWARE_THERMAL,
    TIME_HARDWARE_THERMAL,
    TIME_POWER_BRAKE,
    REPLAYS,
    REPLAY_ROLLOVERS,
)
_LINK_FIELDS = (
    LINK_SPEED,
    LINK_MALFORMED,
    LINK_BUFFER_OVERRUN,
    LINK_RECOVERIES,
    LINK_EFFECTIVE_ERRORS,
    LINK_SYMBOL_ERRORS,
)
_LINK_ERRORS = {"replay": 0, "recovery": 1, "crc_flit": 2, "crc_data": 3}
_ONCE = (
    "nvmlDeviceGetName",
    "nvmlDeviceGetSerial",
    "nvmlDeviceGetArchitecture",
    "nvmlDeviceGetBrand",
    "nvmlDeviceGetMinorNumber",
    "nvmlDeviceGetVbiosVersion",
    "nvmlDeviceGetInforomImageVersion",
    "nvmlDeviceGetGspFirmwareVersion",
    "nvmlDeviceGetPersistenceMode",
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetDisplayActive",
    "nvmlDeviceGetVirtualizationMode",
    "nvmlDeviceGetMaxPcieLinkGeneration",
    "nvmlDeviceGetGpuMaxPcieLinkGeneration",
    "nvmlDeviceGetMaxPcieLinkWidth",
    "nvmlDeviceGetPowerManagementLimit",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetPowerManagementDefaultLimit",
    "nvmlDeviceGetPowerManagementLimitConstraints",
    "nvmlDeviceGetBAR1MemoryInfo",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetAccountingMode",
    "nvmlDeviceGetAccountingBufferSize",
    "nvmlDeviceGetNumFans",
)
_ERRORS = (
    "nvmlDeviceGetEccMode",
    "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetRowRemapperHistogram",
    "nvmlDeviceGetRetiredPagesPendingStatus",
)
_CLOCKS = {"graphics": 0, "sm": 1, "memory": 2, "video": 3}
_THRESHOLDS = {"shutdown": 0, "slowdown": 1, "memory_max": 2, "gpu_max": 3, "acoustic_current": 5}
_LOCATIONS = {"dram": 2, "sram": 7}
_SORTS = {"corrected": 0, "uncorrected": 1}
_SPANS = {"volatile": 0, "aggregate": 1}


class NvmlGpu(Recorder):
    """One GPU, by its index."""

    name: ClassVar[str] = "nvml-gpu"
    title: ClassVar[str] = "a GPU"
    directory: ClassVar[str] = "nvml"
    time_limit_seconds: ClassVar[float] = 40.0

    def record(self, folder: Folder, window: Window) -> None:
        """Identity first, then the window, then what stays the same, and the counters of errors last."""
        index = self.number or 0
        journal = Journal(folder, f"gpu-{index}.jsonl", index)
        try:
            journal.call("nvmlInit")
            device = journal.call("nvmlDeviceGetHandleByIndex", index, args=[index])
            if device is None:
                folder.incomplete(f"the driver hands out no handle for GPU {index}")
                return
            journal.call("nvmlDeviceGetUUID", device)
            journal.call("nvmlDeviceGetPciInfo", device)
            began = time.time()
            for sample, _ in enumerate(window.ticks()):
                _changing(journal, device, sample)
            _constant(journal, device)
            _error_counts(journal, device)
            _nvlinks(journal, device)
            _processes(journal, device)
            journal.note({"watched_seconds": round(time.time() - began, 3)})
        except GpuLostError:
            folder.incomplete(f"GPU {index} is lost")


def _changing(journal: Journal, device: Any, sample: int) -> None:
    def ask(name: str, *given: Any, args: Any = ()) -> Any:
        return journal.call(name, device, *given, args=args, sample=sample)

    ask("nvmlDeviceGetUtilizationRates")
    ask("nvmlDeviceGetPerformanceState")
    ask("nvmlDeviceGetCurrPcieLinkGeneration")
    ask("nvmlDeviceGetCurrPcieLinkWidth")
    for kind in ("graphics", "sm", "memory"):
        ask("nvmlDeviceGetClockInfo", _CLOCKS[kind], args=[kind])
    if ask("nvmlDeviceGetCurrentClocksEventReasons") is None:
        ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    ask("nvmlDeviceGetPowerUsage")
    ask("nvmlDeviceGetTemperature", 0, args=["gpu"])
    ask("nvmlDeviceGetMarginTemperature")
    ask("nvmlDeviceGetFanSpeed")
    if ask("nvmlDeviceGetMemoryInfo", pynvml.nvmlMemory_v2, args=["v2"]) is None:
        ask("nvmlDeviceGetMemoryInfo")
    ask("nvmlDeviceGetEncoderUtilization")
    ask("nvmlDeviceGetDecoderUtilization")
    ask("nvmlDeviceGetPcieReplayCounter")
    ask("nvmlDeviceGetPcieThroughput", 0, args=["transmit"])
    ask("nvmlDeviceGetPcieThroughput", 1, args=["receive"])
    journal.fields(device, _FIELDS, sample)


def _constant(journal: Journal, device: Any) -> None:
    for name in _ONCE:
        journal.call(name, device)
    for kind, number in _CLOCKS.items():
        journal.call("nvmlDeviceGetMaxClockInfo", device, number, args=[kind])
    journal.call("nvmlDeviceGetApplicationsClock", device, _CLOCKS["graphics"], args=["graphics"])
    journal.call("nvmlDeviceGetDefaultApplicationsClock", device, _CLOCKS["graphics"], args=["graphics"])
    for name, number in _THRESHOLDS.items():
        journal.call("nvmlDeviceGetTemperatureThreshold", device, number, args=[name])
    _fabric(journal, device)
    _mig(journal, device)
    journal.fields(device, _FIELDS_ONCE)


def _fabric(journal: Journal, device: Any) -> None:
    versioned = pynvml.c_nvmlGpuFabricInfo_v2_t() if hasattr(pynvml, "c_nvmlGpuFabricInfo_v2_t") else None
    if versioned is not None and journal.fill("nvmlDeviceGetGpuFabricInfoV", device, versioned):
        return
    if hasattr(pynvml, "c_nvmlGpuFabricInfo_t"):
        journal.fill("nvmlDeviceGetGpuFabricInfo", device, pynvml.c_nvmlGpuFabricInfo_t())


def _mig(journal: Journal, device: Any) -> None:
    for number in range(journal.call("nvmlDeviceGetMaxMigDeviceCount", device) or 0):
        instance = journal.call("nvmlDeviceGetMigDeviceHandleByIndex", device, number, args=[number])
        if instance is None:
            return
        journal.call("nvmlDeviceGetUUID", instance, args=["mig", number])


def _error_counts(journal: Journal, device: Any) -> None:
    for name in _ERRORS:
        journal.call(name, device)
    for span, span_number in _SPANS.items():
        for sort, sort_number in _SORTS.items():
            journal.call("nvmlDeviceGetTotalEccErrors", device, sort_number, span_number, args=[span, "total", sort])
            for location, place in _LOCATIONS.items():
                journal.call(
                    "nvmlDeviceGetMemoryErrorCounter",
                    device,
                    sort_number,
                    span_number,
                    place,
                    args=[span, location, sort],
                )
    if hasattr(pynvml, "c_nvmlEccSramErrorStatus_v1_t"):
        journal.fill("nvmlDeviceGetSramEccErrorStatus", device, pynvml.c_nvmlEccSramErrorStatus_v1_t())
    journal.call("nvmlDeviceGetRetiredPages", device, 0, args=["single_bit"])
    journal.call("nvmlDeviceGetRetiredPages", device, 1, args=["double_bit"])


def _nvlinks(journal: Journal, device: Any) -> None:
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        if journal.call("nvmlDeviceGetNvLinkState", device, link, args=[link]) is None:
            return
        journal.call("nvmlDeviceGetNvLinkRemotePciInfo", device, link, args=[link])
        for name, number in _LINK_ERRORS.items():
            journal.call("nvmlDeviceGetNvLinkErrorCounter", device, link, number, args=[link, name])
        journal.fields(device, _LINK_FIELDS, link=link)


def _processes(journal: Journal, device: Any) -> None:
    for kind in ("Compute", "Graphics", "MPSCompute"):
        for version in ("v3", "v2"):
            found = journal.call(f"nvmlDeviceGet{kind}RunningProcesses_{version}", device)
            if found is not None:
                break
        for process in found or ():
            journal.call("nvmlSystemGetProcessName", process.pid, args=[process.pid])

"""Facts of one GPU from a recording of its calls.

Over several readings, a GPU is judged by those in which it was busiest: the half with the highest use (all of them
where they are alike). Of these, gauges count by their median and flags by majority. A link is taken at its best of
the whole window, since an idle link slows down to save power; temperatures are taken at their worst.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median_high
from typing import Any

from collectors.base import Block, Parsed
from collectors.nvidia_smi_reading import Reading
from collectors.nvml_calls import Call, Calls
from collectors.nvml_fields import FIELDS, Field, number
from collectors.nvml_link_facts import link_facts
from collectors.nvml_series import gpu_series
from diagnose.facts import Fact, Missing, Subject, normalise_bus_id
from diagnose.facts.gpu import GpuLoad, GpuMig, GpuPcieLink, GpuProcess, GpuRecovery, GpuTemperature, GpuUnreachable

_UTILIZATION = "nvmlDeviceGetUtilizationRates"
_HANDLE = "nvmlDeviceGetHandleByIndex"
_EXTREMES: Mapping[tuple[type[Fact], str], Callable[[Sequence[Any]], Any]] = {
    (GpuPcieLink, "generation_current"): max,
    (GpuPcieLink, "width_current"): max,
    (GpuTemperature, "gpu_celsius"): max,
    (GpuTemperature, "memory_celsius"): max,
    (GpuTemperature, "margin_celsius"): min,
}
_PROCESS_LISTS = {"Compute": "C", "Graphics": "G", "MPSCompute": "M+C"}
_NOT_REFUSALS = frozenset({Missing.NO_PERMISSION, Missing.NOT_SUPPORTED})


def gpu_facts(calls: Calls, block: Block) -> Parsed:
    """Everything that a recording says of its GPU."""
    subject = _subject(calls, block.subject())
    reading = Reading()
    busy = busiest(calls.of(_UTILIZATION))
    for field in FIELDS:
        _take(reading, calls, field, busy)
    _take_mig(reading, calls)
    _take_process_count(reading, calls)
    for call in calls.every:
        if call.error == "RESET_REQUIRED":
            reading.put(GpuRecovery, "reset_required", True, call.line)
            break
    parsed = Parsed(
        facts=[*reading.facts(subject, block), *_processes(calls, subject, block)],
        series=[*gpu_series(calls, subject, block)],
    )
    parsed.facts += link_facts(calls, subject, block)
    parsed.facts += _unreachable(calls, subject, block)
    return parsed


def busiest(utilization: Sequence[Call]) -> frozenset[int] | None:
    """The readings in which the GPU was used most; None where its use is unknown and all readings count."""
    used = {
        call.sample: use
        for call in utilization
        if call.error is None and isinstance(call.value, dict) and (use := number(call.value.get("gpu"))) is not None
    }
    if not used:
        return None
    floor = median_high(used.values())
    return frozenset(sample for sample, use in used.items() if use >= floor)


def _subject(calls: Calls, base: Subject) -> Subject:
    info = calls.value("nvmlDeviceGetPciInfo")
    bus_id = info.get("busId") if isinstance(info, dict) else None
    uuid = calls.value("nvmlDeviceGetUUID")
    return base.model_copy(
        update={
            "gpu_index": calls.index,
            "gpu_uuid": uuid if isinstance(uuid, str) else None,
            "gpu_bus_id": normalise_bus_id(bus_id) if isinstance(bus_id, str) else None,
        }
    )


def _take(reading: Reading, calls: Calls, field: Field, busy: frozenset[int] | None) -> None:
    """Of several sources of a field the first with a value counts, else the first reason for having none."""
    reason: Call | None = None
    extreme = _EXTREMES.get((field.kind, field.name))
    for key, convert in field.sources:
        made = calls.of(*key)
        several = len({call.sample for call in made}) > 1
        values = []
        for call in made:
            if call.error is not None:
                reason = reason or call
            elif extreme is not None or not several or busy is None or call.sample in busy:
                values.append((convert(call.value), call.line))
        known = [(value, line) for value, line in values if value is not None]
        if extreme is not None and known:
            known = [(extreme([value for value, _ in known]), known[0][1])]
        for value, line in known:
            reading.put(field.kind, field.name, value, line)
        if known:
            return
    if reason is not None:
        reading.put(field.kind, field.name, reason.reason, reason.line)


def _take_mig(reading: Reading, calls: Calls) -> None:
    devices = [call for call in calls.named("nvmlDeviceGetMigDeviceHandleByIndex") if call.error is None]
    mode = calls.value("nvmlDeviceGetMigMode")
    line = calls.first_line("nvmlDeviceGetMigMode")
    if line is not None and (devices or (isinstance(mode, list) and mode[:1] == [1])):
        reading.put(GpuMig, "instance_count", len(devices), line)


def _process_lists(calls: Calls) -> Iterator[tuple[str, Call]]:
    for kind, letter in _PROCESS_LISTS.items():
        for version in ("v3", "v2"):
            for call in calls.of(f"nvmlDeviceGet{kind}RunningProcesses_{version}"):
                if call.error is None and isinstance(call.value, list):
                    yield letter, call


def _take_process_count(reading: Reading, calls: Calls) -> None:
    lists = [call for _, call in _process_lists(calls)]
    if lists:
        reading.put(GpuLoad, "process_count", sum(len(call.value) for call in lists), lists[0].line)


def _processes(calls: Calls, subject: Subject, block: Block) -> Iterator[Fact]:
    for kind, call in _process_lists(calls):
        for process in call.value:
            pid = number(process.get("pid")) if isinstance(process, dict) else None
            if pid is None:
                continue
            reading = Reading()
            name = calls.value("nvmlSystemGetProcessName", pid)
            reading.put(GpuProcess, "name", name if isinstance(name, str) else None, call.line)
            reading.put(GpuProcess, "type", kind, call.line)
            reading.put(GpuProcess, "used_memory_bytes", number(process.get("usedGpuMemory")), call.line)
            yield from reading.facts(subject.model_copy(update={"process_id": pid}), block)


def _unreachable(calls: Calls, subject: Subject, block: Block) -> Iterator[Fact]:
    """A call that hangs, the driver's word that the GPU is lost, or no handle for it but for want of a right."""
    lost = next((call for call in calls.every if call.error == "GPU_IS_LOST"), None)
    handle = calls.failed(_HANDLE, calls.index or 0)
    if calls.hang is not None:
        name, _, seconds, line = calls.hang
        message = f"{name} did not return within {seconds:g} s"
        yield GpuUnreachable(subject=subject, sources=(block.source(line),), message=message, reason="hang")
    elif lost is not None:
        message = f"{lost.key[0]} says that the GPU is lost"
        yield GpuUnreachable(subject=subject, sources=(block.source(lost.line),), message=message, reason="lost")
    elif handle is not None and handle.reason not in _NOT_REFUSALS:
        message = f"{_HANDLE} failed: {handle.error}"
        yield GpuUnreachable(
            subject=subject, sources=(block.source(handle.line),), message=message, reason="handle-error"
        )

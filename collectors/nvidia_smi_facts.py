"""Facts from the key tree of `nvidia-smi -q`. Text and XML, old names and new, come out the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from collectors.base import Block
from collectors.nvidia_smi_ecc import take_ecc
from collectors.nvidia_smi_fields import FIELDS
from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_tree import Node
from collectors.nvidia_smi_values import (
    Convert,
    absence,
    flag,
    integer,
    read,
    size,
    uuid,
    version,
    words,
)
from diagnose.facts import Fact, Missing, Subject, normalise_bus_id
from diagnose.facts.gpu import (
    GpuFabric,
    GpuLoad,
    GpuMig,
    GpuProcess,
    GpuRecovery,
    GpuUnreachable,
)
from diagnose.facts.host import Driver, GpuInventory

_PROCESSES = "processes/process id|process info"


def gpu_subject(gpu: Node, bus_id: str | None, base: Subject) -> Subject:
    """The GPU by bus id and UUID. Neither the order nor `Minor Number` is its index, so that stays unknown."""
    printed = bus_id or gpu.text("pci/bus id|pci bus id") or ""
    return base.model_copy(
        update={"gpu_bus_id": normalise_bus_id(printed), "gpu_uuid": uuid(gpu.text("gpu uuid|uuid") or "")}
    )


def gpu_facts(gpu: Node, subject: Subject, block: Block) -> Iterator[Fact]:
    """Everything that the tree says of one GPU."""
    reading = Reading()
    for kind, name, convert, paths in FIELDS:
        _take(reading, gpu, kind, name, convert, paths)
    take_ecc(reading, gpu)
    _take_mig_devices(reading, gpu)
    _take_fabric_health(reading, gpu)
    _take_process_count(reading, gpu)
    for node in gpu.walk():
        if node.value is not None and node.value.strip("[] ").lower() == "gpu requires reset":
            reading.put(GpuRecovery, "reset_required", True, node.line)
            break
    yield from reading.facts(subject, block)
    yield from _process_facts(gpu, subject, block)
    lost = next((node for node in gpu.walk() if node.value and absence(node.value) is Missing.LOST), None)
    if lost is not None:
        message = (lost.value or "").strip("[] ")
        yield GpuUnreachable(subject=subject, sources=(block.source(lost.line),), message=message, reason="lost")


def _take(reading: Reading, gpu: Node, kind: type[Fact], name: str, convert: Convert, paths: Iterable[str]) -> None:
    reason: tuple[Missing, int] | None = None
    for path in paths:
        node = gpu.first(path)
        if node is None or node.value is None:
            continue
        value = read(node.value, convert)
        if isinstance(value, Missing):
            reason = reason or (value, node.line)
        elif value is not None:
            reading.put(kind, name, value, node.line)
            return
    if reason is not None:
        reading.put(kind, name, *reason)


def _take_mig_devices(reading: Reading, gpu: Node) -> None:
    devices = [*gpu.all("mig device"), *gpu.all("mig devices/mig device")]
    mode = gpu.first("mig mode/current|current mig")
    on = mode is not None and mode.value is not None and flag(mode.value)
    if devices or on:
        line = mode.line if mode is not None else devices[0].line
        reading.put(GpuMig, "instance_count", len(devices), line)


_HEALTHY = {"summary": "healthy", "bandwidth": "full", "incorrect configuration": "none"}
_HEALTH_FLAGS = frozenset({"route unhealthy", "route recovery in progress", "access timeout recovery"})


def fabric_degraded(entries: Mapping[str, str]) -> bool | None:
    """Whether one of the fabric's health entries is bad; None where none of them says anything."""
    verdicts: list[bool] = []
    for key, raw in entries.items():
        text = raw.strip().lower()
        if not text or absence(text):
            continue
        if key in _HEALTHY:
            verdicts.append(text != _HEALTHY[key])
        elif key in _HEALTH_FLAGS:
            verdicts.append(text == "true")
    return any(verdicts) if verdicts else None


def _take_fabric_health(reading: Reading, gpu: Node) -> None:
    health = gpu.first("fabric/health")
    if health is not None:
        entries = {entry.key: entry.value or "" for entry in health.children}
        reading.put(GpuFabric, "health_degraded", fabric_degraded(entries), health.line)


def _take_process_count(reading: Reading, gpu: Node) -> None:
    section = gpu.first("processes")
    if section is None:
        return
    listed = sum(1 for _ in gpu.all(_PROCESSES))
    reason = absence(section.value or "")
    reading.put(GpuLoad, "process_count", reason or listed, section.line)


def _process_facts(gpu: Node, subject: Subject, block: Block) -> Iterator[Fact]:
    for process in gpu.all(_PROCESSES):
        process_id = integer(process.value or process.text("pid") or "")
        if process_id is None:
            continue
        reading = Reading()
        for name, convert, path in (
            ("name", words, "name|process name"),
            ("type", words, "type"),
            ("used_memory_bytes", size, "used gpu memory|used memory"),
        ):
            _take(reading, process, GpuProcess, name, convert, (path,))
        yield from reading.facts(subject.model_copy(update={"process_id": process_id}), block)


def driver_facts(root: Node, block: Block) -> Iterator[Fact]:
    """Versions from the head of the output. From 610 on the old lines are marked deprecated beside the new ones."""
    found: dict[str, str] = {}
    line: int | None = None
    for name, paths in (
        ("version", ("driver version", "kmd version")),
        ("cuda_version", ("cuda version", "cuda umd version")),
    ):
        for path in paths:
            node = root.first(path)
            text = version(node.value or "") if node is not None else None
            if node is not None and text is not None:
                found[name] = text
                line = line or node.line
                break
    if found:
        yield driver_fact(block, line, found.get("version"), found.get("cuda_version"))


def driver_fact(block: Block, line: int | None, version: str | None, cuda_version: str | None) -> Driver:
    """A driver fact; the first number of the version tells its branch."""
    major = int(version.split(".")[0]) if version else None
    return Driver(
        subject=block.subject(),
        sources=(block.source(line),),
        version=version,
        major=major,
        cuda_version=cuda_version,
    )


def inventory_facts(
    block: Block, line: int | None, listed: int, attached: int | None, highest_index: int | None = None
) -> Iterator[Fact]:
    """How many GPUs one reading lists; nothing where it was cut short or the command asked for some GPUs only."""
    command = f" {block.command or ''} "
    if block.truncated or " -i" in command or " --id" in command:
        return
    yield GpuInventory(
        subject=block.subject(),
        sources=(block.source(line),),
        attached=attached,
        listed=listed,
        highest_index=highest_index,
        tool="nvidia-smi",
    )


def nothing_found(block: Block, sentence: str) -> list[str]:
    """The problem of a block without facts; none where it is blank because others took its lines."""
    line = next((line for line in block.lines if line.text.strip()), None)
    return [] if line is None else [f"line {line.number}: {sentence}"]

"""Facts from the key tree of `nvidia-smi -q`. Text and XML, old names and new, come out the same.

Names as drivers 384 to 610 and DTD v10 to v13 print them. In a path the first name is that of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from collectors.base import Block
from collectors.nvidia_smi_ecc import take_ecc
from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_tree import Node
from collectors.nvidia_smi_values import (
    Convert,
    absence,
    device_id,
    flag,
    integer,
    kilobyte_rate,
    lower_words,
    performance_state,
    positive,
    ratio,
    read,
    real,
    seconds,
    size,
    uuid,
    version,
    words,
)
from diagnose.facts import Fact, Missing, Subject, normalise_bus_id
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
    GpuProcess,
    GpuRecovery,
    GpuRemappedRows,
    GpuRetiredPages,
    GpuTemperature,
    GpuUnreachable,
)
from diagnose.facts.host import Driver, GpuInventory


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

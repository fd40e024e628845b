"""The table that `nvidia-smi` prints by default: drivers 384 to 610, Linux and Windows, with MIG and processes.

    |   1  NVIDIA L40S                    Off |   00000000:5A:00.0 Off |                    0 |
    | N/A   64C    P0            242W /  350W |       0MiB /  46068MiB |    100%      Default |
    |                                         |                        |             Disabled |

Widths differ by driver, so cells are split at the bars and read by their form. Of several tables in one block (a
`watch`, a loop) gauges give their median.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.nvidia_smi_facts import driver_fact, inventory_facts, nothing_found
from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_values import (
    absence,
    flag,
    integer,
    performance_state,
    ratio,
    real,
    size,
    version,
    words,
)
from diagnose.facts import Fact, Missing, Subject, normalise_bus_id
from diagnose.facts.gpu import (
    GpuEcc,
    GpuFan,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuMig,
    GpuPower,
    GpuProcess,
    GpuTemperature,
    GpuUnreachable,
)

_HEAD = re.compile(
    r"NVIDIA-SMI\s+[0-9][\w.]*\s+(?:Driver|KMD) Version:\s*(\S+)(?:\s+CUDA (?:UMD )?Version:\s*(\S+))?",
)
_TITLES = re.compile(r"\|\s*GPU\s+Name\s+(?:Persistence-M|Driver-Model|TCC/WDDM)\s*\|\s*Bus-Id")
_NAME_CELL = re.compile(r"^\s*([0-9]{1,4})\s+(\S.*?)\s+(On|Off|N/A|WDDM|TCC|MCDM|ERR!|Unknown Error)\s*$")
_BUS_CELL = re.compile(r"^\s*([0-9A-FXx]{1,8}:[0-9A-FXx]{2}:[0-9A-FXx]{2}\.[0-7Xx])(?:\s+(On|Off|N/A|ERR!))?\s*$")
_GAUGE_CELL = re.compile(
    r"^\s*(ERR!|N/A|[0-9]+%)\s+(ERR!|N/A|[0-9]+C)\s+(ERR!|N/A|P[0-9]+)\s+(\S.*?)\s+/\s+(\S.*?)\s*$"
)
_MEMORY_CELL = re.compile(r"^\s*(\S.*?)\s+/\s+(\S.*?)\s*$")
_LOAD_CELL = re.compile(r"^\s*(\S+)\s+(\S.*?)\s*$")
_MIG_CELL = re.compile(r"^\s*(Enabled\*?|Disabled\*?|N/A)\s*$")
_MIG_DEVICE_CELL = re.compile(r"^\s*([0-9]{1,4})(?:\s+[0-9]{1,4}){3}\s*$")
_PROCESS = re.compile(
    r"^\s*\|\s+([0-9]{1,4})\s+(?:(?:N/A|[0-9]+)\s+(?:N/A|[0-9]+)\s+)?([0-9]{1,10})\s+([A-Z](?:\+[A-Z])?)\s+(\S.*?)\s+"
    r"([0-9]+MiB|N/A|\S+)\s*\|\s*$"
)
_COMPUTE_MODES = {"E. Process": "Exclusive_Process", "E. Thread": "Exclusive_Thread"}
_WIDEST = 400
"""Characters; a row has some 90, and longer lines are none of the table's."""
_ROW = re.compile(r"^\s*(?:\|.*\||\+[-=+]+\+)\s*$")


class NvidiaSmiTable(BlockCollector):
    """The default table."""

    kind: ClassVar[str] = "nvidia-smi-table"
    literals: ClassVar[tuple[bytes, ...]] = (b"NVIDIA-SMI", b"Bus-Id")
    command: ClassVar[re.Pattern[str] | None] = re.compile(
        r"(?:^|[\s/\\;&|])nvidia-smi(?:\.exe)?(?:\s+(?:-i|--id|-l|-lms|--loop|--loop-ms)[\s=]?\S+)*\s*$"
    )
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The line of versions, or the titles of the columns where that line was cut off."""
        return len(text) <= _WIDEST and (_HEAD.search(text) is not None or _TITLES.search(text) is not None)

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Rows between bars, one of them a GPU's."""
        rows = [line for line in lines if len(line) <= _WIDEST]
        if not any(_gpu_row(_cells(row)) or _GAUGE_CELL.match(_cells(row)[0]) for row in rows):
            return 0.0
        return share(rows, _ROW) * len(rows) / len(lines)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of every GPU and process in the table."""
        table = _Table(block)
        for line in block.lines:
            table.feed(line)
        return table.parsed()


def _cells(text: str) -> list[str]:
    return text.strip().strip("|").split("|")


def _gpu_row(cells: Sequence[str]) -> tuple[re.Match[str], re.Match[str]] | None:
    name = _NAME_CELL.match(cells[0])
    bus = _BUS_CELL.match(cells[1]) if name and len(cells) > 1 else None
    return (name, bus) if name and bus else None


class _Gpu:
    """One GPU's rows."""

    def __init__(self, subject: Subject, line: int) -> None:
        self.subject = subject
        self.line = line
        self.reading = Reading()
        self.mig_devices = 0
        self.processes = 0


class _Table:
    """Goes through the lines; the section and the GPU of the row before say what a row means."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._facts: list[Fact] = []
        self._processes: dict[tuple[int, int], Fact] = {}
        self._gpus: dict[tuple[int, str], _Gpu] = {}
        self._listed: dict[int, _Gpu] = {}
        self._gpu: _Gpu | None = None
        self._section = "gpus"
        self._head: int | None = None

    def feed(self, line: Line) -> None:
        """Take one line."""
        if len(line.text) > _WIDEST:
            return
        head = _HEAD.search(line.text)
        if head:
            self._begin(line, head)
        elif "Processes:" in line.text or "MIG devices:" in line.text:
            self._end_section()
            self._section = "processes" if "Processes:" in line.text else "mig"
            self._gpu = None
        elif self._section == "processes":
            self._process(line)
        elif self._section == "mig":
            device = _MIG_DEVICE_CELL.match(_cells(line.text)[0])
            if device and int(device[1]) in self._listed:
                self._listed[int(device[1])].mig_devices += 1
        elif line.text.lstrip().startswith("|"):
            self._row(line)

    def parsed(self) -> Parsed:
        """What was found."""
        self._end_section()
        parsed = Parsed(facts=self._facts)
        # Without the list of processes below, the list of GPUs may have been cut short.
        if self._head is not None and self._section == "processes":
            highest = max(self._listed, default=None)
            parsed.facts += inventory_facts(self._block, self._head, len(self._listed), None, highest)
        for gpu in self._gpus.values():
            parsed.facts += _facts_of(gpu, self._block)
        parsed.facts += self._processes.values()
        if not parsed.facts:
            parsed.problems += nothing_found(self._block, "no row of a GPU was found")
        return parsed

    def _begin(self, line: Line, head: re.Match[str]) -> None:
        self._end_section()
        self._listed, self._gpu, self._section = {}, None, "gpus"
        if self._head is None:
            self._facts.append(driver_fact(self._block, line.number, version(head[1]), version(head[2] or "")))
        self._head = line.number

    def _end_section(self) -> None:
        """Counts hold only once the section was there, zero included."""
        for gpu in self._listed.values():
            if self._section == "processes":
                gpu.reading.put(GpuLoad, "process_count", gpu.processes, gpu.line)
                gpu.processes = 0
            elif self._section == "mig":
                gpu.reading.put(GpuMig, "instance_count", gpu.mig_devices, gpu.line)
                gpu.mig_devices = 0

    def _row(self, line: Line) -> None:
        cells = _cells(line.text)
        row = _gpu_row(cells)
        if row:
            self._gpu_row(line, *row, cells[2] if len(cells) > 2 else "")
        elif self._gpu is not None and len(cells) >= 3:
            reading = self._gpu.reading
            if gauges := _GAUGE_CELL.match(cells[0]):
                _take_gauges(reading, line.number, gauges, cells)
            elif (mode := _MIG_CELL.match(cells[2])) and not cells[0].strip():
                reading.take(GpuMig, "enabled", mode[1].rstrip("*"), flag, line.number)

    def _gpu_row(self, line: Line, name: re.Match[str], bus: re.Match[str], ecc: str) -> None:
        index = int(name[1])
        gpu = self._gpus.get((index, bus[1]))
        if gpu is None:
            subject = self._block.subject().model_copy(
                update={"gpu_index": index, "gpu_bus_id": normalise_bus_id(bus[1])}
            )
            gpu = self._gpus[index, bus[1]] = _Gpu(subject, line.number)
        self._gpu = self._listed[index] = gpu
        gpu.reading.take(GpuIdentity, "product_name", name[2], words, line.number)
        gpu.reading.take(GpuIdentity, "persistence_mode", name[3], flag, line.number)
        gpu.reading.take(GpuIdentity, "display_active", bus[2] or "", flag, line.number)
        _take_ecc(gpu.reading, ecc.strip(), line.number)

    def _process(self, line: Line) -> None:
        match = _PROCESS.match(line.text)
        if match is None:
            return
        index, process_id = int(match[1]), int(match[2])
        gpu = self._listed.get(index)
        subject = gpu.subject if gpu else self._block.subject().model_copy(update={"gpu_index": index})
        if gpu:
            gpu.processes += 1
        reading = Reading()
        reading.take(GpuProcess, "type", match[3], words, line.number)
        reading.take(GpuProcess, "name", match[4], words, line.number)
        reading.take(GpuProcess, "used_memory_bytes", match[5], size, line.number)
        for fact in reading.facts(subject.model_copy(update={"process_id": process_id}), self._block):
            self._processes[index, process_id] = fact


def _take_ecc(reading: Reading, text: str, line: int) -> None:
    """The cell holds a count where ECC is on, and a word otherwise; under MIG it says `On`."""
    count = None if absence(text) else integer(text)
    reading.put(GpuEcc, "volatile_uncorrected", count, line)
    reading.put(GpuEcc, "enabled", absence(text) or (flag(text) if count is None else True), line)


def _take_gauges(reading: Reading, line: int, gauges: re.Match[str], cells: Sequence[str]) -> None:
    reading.take(GpuFan, "speed_ratio", gauges[1], ratio, line)
    reading.take(GpuTemperature, "gpu_celsius", gauges[2], real, line)
    reading.take(GpuLoad, "performance_state", gauges[3], performance_state, line)
    reading.take(GpuPower, "draw_watts", gauges[4], real, line)
    reading.take(GpuPower, "limit_watts", gauges[5], real, line)
    if memory := _MEMORY_CELL.match(cells[1]):
        reading.take(GpuMemory, "used_bytes", memory[1], size, line)
        reading.take(GpuMemory, "total_bytes", memory[2], size, line)
    elif reason := absence(cells[1]):
        reading.put(GpuMemory, "used_bytes", reason, line)
    if load := _LOAD_CELL.match(cells[2]):
        reading.take(GpuLoad, "gpu_utilization_ratio", load[1], ratio, line)
        reading.take(GpuIdentity, "compute_mode", _COMPUTE_MODES.get(load[2], load[2]), words, line)


def _facts_of(gpu: _Gpu, block: Block) -> Iterator[Fact]:
    yield from gpu.reading.facts(gpu.subject, block)
    if Missing.LOST in gpu.reading.reasons():
        yield GpuUnreachable(
            subject=gpu.subject, sources=(block.source(gpu.line),), message="GPU is lost", reason="lost"
        )

"""`nvbandwidth`, as text and as JSON (`-j`): copies between hosts and GPUs, and between GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.gpu_bandwidth import GIGA, CopyTest, copy_facts
from collectors.json_text import items, load_object, mapping, real
from collectors.nvidia_smi_values import version
from collectors.pair_bandwidth import Measurement, Pair, pair_facts, slower_directions, summary
from diagnose.facts import Fact, Subject, normalise_bus_id
from diagnose.facts.gpu import GpuIdentity
from diagnose.facts.host import Driver

_TOOL = "nvbandwidth"
_DEVICE = re.compile(r"^Device (\d{1,3}): (.+?)(?: \(([0-9A-Fa-f:.]{7,20})\))?\s*$")
_RUNNING = re.compile(r"^Running (\w{3,60})\.\s*$")
_COLUMNS = re.compile(r"^\s+\d{1,3}(?:\s+\d{1,3})*\s*$")
_ROW = re.compile(r"^\s*(\d{1,3})((?:\s+(?:N/A|\d{1,9}(?:\.\d{1,6})?))+)\s*$")
_DRIVER = re.compile(r"^Driver Version: ([\d.]+)")
_HOST_TEST = re.compile(r"^(host|device|all)_to_(host|device|all)_(bidirectional_)?memcpy_(ce|sm)$")
_PAIR_TEST = re.compile(r"^device_to_device_(bidirectional_)?memcpy_(?:read|write)_(ce|sm)$")


@dataclass(slots=True)
class _Matrix:
    """A test's results: row and column to GB/s (or nanoseconds for latencies, which are left out)."""

    name: str
    line: Line
    cells: dict[tuple[int, int], float] = field(default_factory=dict)


class Nvbandwidth(BlockCollector):
    """Text."""

    kind: ClassVar[str] = "nvbandwidth"
    literals: ClassVar[tuple[bytes, ...]] = (b"nvbandwidth Version", b"Running host_to_", b"Running device_to_")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bnvbandwidth\b(?!.*\s(?:-j|--json))")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The version, or the first test where the head was cut off."""
        return text.startswith("nvbandwidth Version") or _RUNNING.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Rates of every GPU and pair."""
        parsed = Parsed()
        tests: list[_Matrix] = []
        columns: list[int] = []
        for line in block.lines:
            if (running := _RUNNING.match(line.text)) is not None:
                tests.append(_Matrix(running[1], line))
                columns = []
            elif (device := _DEVICE.match(line.text)) is not None:
                parsed.facts.append(_identity(block, line, int(device[1]), device[2], device[3] or ""))
            elif (driver := _DRIVER.match(line.text)) is not None:
                parsed.facts += _driver(block, line, driver[1])
            elif tests and not columns and _COLUMNS.match(line.text):
                columns = [int(word) for word in line.text.split()]
            elif tests and columns and (row := _ROW.match(line.text)) is not None:
                for column, cell in zip(columns, row[2].split(), strict=False):
                    if cell != "N/A":
                        tests[-1].cells[int(row[1]), column] = float(cell)
            elif not line.text.strip():
                columns = []
        for test in tests:
            parsed.facts += _facts(test, block)
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no result of a test was found")
        return parsed


class NvbandwidthJson(BlockCollector):
    """JSON."""

    kind: ClassVar[str] = "nvbandwidth-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'"nvbandwidth"',)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bnvbandwidth\b.*\s(?:-j|--json)")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The whole on one line; laid out over lines it is known by `resembles`."""
        return text.lstrip().startswith("{") and '"nvbandwidth"' in text and '"testcases"' in text

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """The root and its tests."""
        text = "\n".join(lines)
        return 0.9 if '"nvbandwidth"' in text and '"testcases"' in text else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Rates of every GPU and pair."""
        content = load_object(block)
        if isinstance(content, Parsed):
            return content
        root = mapping(content.get("nvbandwidth"))
        first = block.lines[0]
        parsed = Parsed([*_driver(block, first, str(root.get("Driver Version", "")))])
        for number, device in enumerate(items(root.get("GPU Device List"), str)):
            match = _DEVICE.match(device) or _DEVICE.match(f"Device {number}: {device}")
            if match is not None:
                parsed.facts.append(_identity(block, first, int(match[1]), match[2], match[3] or ""))
        for entry in items(root.get("testcases"), dict):
            parsed.facts += _facts(_matrix(entry, first), block)
        return parsed


def _matrix(entry: dict[str, Any], line: Line) -> _Matrix:
    test = _Matrix(str(entry.get("name", "")), line)
    if entry.get("status") in ("Passed", None):
        for row, values in enumerate(items(entry.get("bandwidth_matrix"), list)):
            for column, cell in enumerate(values):
                number = real(cell)
                if number is not None:
                    test.cells[row, column] = number
    return test


def _identity(block: Block, line: Line, index: int, name: str, bus_id: str) -> GpuIdentity:
    subject = Subject(host=block.host, gpu_index=index, gpu_bus_id=normalise_bus_id(bus_id))
    return GpuIdentity(subject=subject, sources=(block.source(line),), product_name=name)


def _driver(block: Block, line: Line, text: str) -> Iterator[Fact]:
    number = version(text)
    if number is not None:
        major = int(number.partition(".")[0])
        yield Driver(subject=block.subject(), sources=(block.source(line),), version=number, major=major)


def _facts(test: _Matrix, block: Block) -> Iterator[Fact]:
    if (match := _HOST_TEST.match(test.name)) is not None and test.cells:
        to_host = match[2] == "host"
        copies = CopyTest(
            _TOOL,
            test.name,
            "device-to-host" if to_host else "host-to-device",
            test.line,
            bidirectional=match[3] is not None,
            concurrent="all" in (match[1], match[2]),
            copy_engine=match[4] == "ce",
            pinned=True,
        )
        for (_, gpu), rate in test.cells.items():
            copies.add(gpu, rate * GIGA)
        yield from copy_facts(copies, block)
    elif (match := _PAIR_TEST.match(test.name)) is not None:
        how = Measurement(bidirectional=match[1] is not None, p2p_enabled=True)
        pairs = slower_directions(
            Pair(first, second, rate * GIGA, test.line)
            for (first, second), rate in test.cells.items()
            if first != second and rate > 0
        )
        yield from pair_facts(block, pairs, how)
        yield from summary(block, pairs, how)

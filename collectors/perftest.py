"""perftest: ib_write_bw, ib_read_bw, ib_send_bw and their latency forms.

Client and server may share one output, so that lines appear twice or mixed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from diagnose.facts import Fact, Subject
from diagnose.facts.bandwidth import NetworkBandwidth, NetworkLatency

_TITLE = re.compile(r"^\s*(?:RDMA_)?(Write|Read|Send|Atomic)(?: \w+)? (Bidirectional BW|BW|Latency) Test\s*$")
_DEVICE = re.compile(r"\bDevice\s*: ([\w.-]{1,40})")
_QUEUE_PAIRS = re.compile(r"Number of qps\s*: (\d{1,6})")
_MTU = re.compile(r"\bMtu\s*: (\d{3,5})\[B\]")
_LINK = re.compile(r"\bLink type\s*: (IB|Ethernet)")
_ADDRESS = re.compile(r"^\s*(local|remote) address: LID (0x?[0-9a-f]+|\d+)", re.IGNORECASE)
_GPU_MEMORY = re.compile(r"use_cuda|CUDA device|cuMemAlloc|GPU buffer|dmabuf", re.IGNORECASE)
_BANDWIDTH_TITLES = re.compile(r"#bytes\s+#iterations\s+BW peak\[(\w+)/sec\]\s+BW average\[(\w+)/sec\]")
_LATENCY_TITLES = re.compile(r"#bytes\s+#iterations\s+t_min\[usec\]")
_ROW = re.compile(r"^\s*(\d{1,12})\s+(\d{1,12})\s+(.+?)\s*$")
_NUMBERS = re.compile(r"-?\d{1,12}(?:\.\d{1,9})?(?![\w%])")
_UNITS = {"MB": 1048576.0, "MiB": 1048576.0, "Gb": 1e9 / 8, "GB": 1e9}
"""perftest's MB are powers of two (src/perftest_resources.c)."""


@dataclass(slots=True)
class _Test:
    operation: str
    measure: str
    line: Line
    device: str | None = None
    queue_pairs: int | None = None
    mtu: int | None = None
    link: str | None = None
    gpu_memory: bool | None = None
    local: set[str] = field(default_factory=set)
    remote: set[str] = field(default_factory=set)
    unit: float | None = None
    rates: dict[int, float] = field(default_factory=dict)
    times: dict[int, list[float]] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """Name of the program."""
        return f"ib_{self.operation}_{'lat' if self.measure == 'Latency' else 'bw'}"


class Perftest(BlockCollector):
    """One test of an output."""

    kind: ClassVar[str] = "perftest"
    literals: ClassVar[tuple[bytes, ...]] = (b" BW Test", b" Latency Test", b"Bidirectional BW Test")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bib_(?:write|read|send|atomic)_(?:bw|lat)\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title of a test."""
        return _TITLE.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Rate at the largest message, or latency at the smallest, of each test."""
        tests: list[_Test] = []
        for line in block.lines:
            if (title := _TITLE.match(line.text)) is not None:
                known = tests[-1] if tests else None
                same = known is not None and (known.operation, known.measure) == (title[1].lower(), title[2])
                # The title of the other end comes before any result; one after results begins another test.
                if not same or (known is not None and (known.rates or known.times)):
                    tests.append(_Test(title[1].lower(), title[2], line))
            elif tests:
                _take(tests[-1], line.text)
        facts = [fact for test in tests for fact in _facts(test, block)]
        if facts:
            return Parsed(facts)
        return Parsed(problems=[f"line {block.lines[0].number}: the test has no results"])


def _take(test: _Test, text: str) -> None:
    if (match := _BANDWIDTH_TITLES.search(text)) is not None:
        test.unit = _UNITS.get(match[2])
        return
    if (match := _ADDRESS.match(text)) is not None:
        (test.local if match[1].lower() == "local" else test.remote).add(match[2])
        return
    if (match := _ROW.match(text)) is not None:
        _take_row(test, int(match[1]), [float(number) for number in _NUMBERS.findall(match[3])])
        return
    test.device = test.device or _first(_DEVICE, text)
    test.link = test.link or _first(_LINK, text)
    test.mtu = test.mtu or _number(_first(_MTU, text))
    test.queue_pairs = test.queue_pairs or _number(_first(_QUEUE_PAIRS, text))
    if _GPU_MEMORY.search(text):
        test.gpu_memory = True


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1] if match else None


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _take_row(test: _Test, size: int, numbers: list[float]) -> None:
    if test.measure == "Latency" and len(numbers) >= 3:
        test.times.setdefault(size, numbers)
    elif test.unit is not None and len(numbers) >= 2 and numbers[1] > 0:
        test.rates[size] = numbers[1] * test.unit


def _facts(test: _Test, block: Block) -> Iterator[Fact]:
    subject, sources = Subject(host=block.host, nic=test.device), (block.source(test.line),)
    if test.rates:
        largest = max(test.rates)
        yield NetworkBandwidth(
            subject=subject,
            sources=sources,
            tool=test.tool,
            operation=test.operation,
            largest_size_bytes=largest,
            largest_bytes_per_second=test.rates[largest],
            peak_bytes_per_second=max(test.rates.values()),
            bidirectional=test.measure.startswith("Bidirectional"),
            queue_pairs=test.queue_pairs,
            link_layer={"IB": "infiniband", "Ethernet": "ethernet"}.get(test.link or ""),
            mtu_bytes=test.mtu,
            loopback=_loopback(test),
            gpu_memory=test.gpu_memory,
        )
    if test.times:
        smallest = min(test.times)
        times = test.times[smallest]
        yield NetworkLatency(
            subject=subject,
            sources=sources,
            tool=test.tool,
            operation=test.operation,
            size_bytes=smallest,
            typical_seconds=times[2] / 1e6,
            percentile_99_seconds=times[5] / 1e6 if len(times) > 5 else None,
            max_seconds=times[1] / 1e6,
        )


def _loopback(test: _Test) -> bool | None:
    """Both ends have one address. RoCE has none (0000), and its ends cannot be told apart so."""
    addresses = test.local | test.remote
    if not test.local or not test.remote or any(set(address) <= set("0x") for address in addresses):
        return None
    return len(addresses) == 1

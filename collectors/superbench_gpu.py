"""SuperBench's gpu_copy (`cpu_to_gpu0_by_dma_under_numa0 26.2`) and gpu_stream (STREAM on GPUs)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.gpu_bandwidth import GIGA, CopyTest, copy_facts
from collectors.pair_bandwidth import Measurement, Pair, pair_facts, slower_directions, summary
from diagnose.facts import Fact, Subject
from diagnose.facts.gpu import GpuIdentity

_COPY = re.compile(
    r"^(?P<first>cpu|gpu\d{1,3}|gpu_all)_(?P<how>to|and)_(?P<second>cpu|gpu\d{1,3}|gpu_all)(?:_(?:read|write))?"
    r"_by_(?P<engine>sm|dma)(?:_under_numa(?P<numa>\d{1,3}))?\s+(?P<rate>\d{1,9}(?:\.\d{1,9})?)$"
)


class GpuCopy(BlockCollector):
    """Copies between CPU nodes and GPUs, and between GPUs."""

    kind: ClassVar[str] = "gpu-copy"
    literals: ClassVar[tuple[bytes, ...]] = (b"_by_sm", b"_by_dma")

    @classmethod
    def opens(cls, text: str) -> bool:
        """Never: every line is alike, and the whole is known by them."""
        return False

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Results in its words."""
        return share(lines, _COPY)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Rates of every GPU and pair; those by the copy engine, which are what the link can do."""
        tests: dict[tuple[str, bool, bool], CopyTest] = {}
        pairs: dict[bool, list[Pair]] = defaultdict(list)
        for line in block.lines:
            match = _COPY.match(line.text.strip())
            if match is None:
                continue
            first, second, both = _gpu(match["first"]), _gpu(match["second"]), match["how"] == "and"
            rate, dma = float(match["rate"]) * GIGA, match["engine"] == "dma"
            if first is not None and second is not None and first != second and dma and rate > 0:
                pairs[both].append(Pair(first, second, rate, line))
                continue
            direction = _direction(match["first"], match["second"])
            gpu = first if first is not None else second
            if direction is not None and gpu is not None:
                key = (direction, both, dma)
                test = tests.setdefault(
                    key,
                    CopyTest("gpu-copy", "gpu-copy", direction, line, bidirectional=both, copy_engine=dma, pinned=True),
                )
                test.add(gpu, rate)
        parsed = Parsed([fact for test in tests.values() for fact in copy_facts(test, block)])
        for both, found in pairs.items():
            how = Measurement(bidirectional=both, p2p_enabled=True)
            slower = slower_directions(found)
            parsed.facts += [*pair_facts(block, slower, how), *summary(block, slower, how)]
        return parsed


def _gpu(name: str) -> int | None:
    return int(name[3:]) if name[3:].isdecimal() else None


def _direction(first: str, second: str) -> str | None:
    if first == "cpu":
        return "host-to-device"
    if second == "cpu":
        return "device-to-host"
    return "device-memory" if first == second and first != "gpu_all" else None


_STREAM_DEVICE = re.compile(r'^Device (\d{1,3}): "([^"]{1,100})"')
_STREAM = re.compile(
    r"^STREAM_(COPY|SCALE|ADD|TRIAD)_\w+_gpu_(\d{1,3})_buffer_(\d{1,15})_block_\d+\s+(\d{1,9}(?:\.\d+)?)"
    r"(?:\s+(\d{1,3}(?:\.\d+)?))?\s*$"
)


class GpuStream(BlockCollector):
    """Memory bandwidth of each GPU."""

    kind: ClassVar[str] = "gpu-stream"
    literals: ClassVar[tuple[bytes, ...]] = (b"STREAM Benchmark", b"STREAM_COPY_")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title, or the first result."""
        return text.strip() == "STREAM Benchmark" or _STREAM.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The best rate of each GPU."""
        parsed = Parsed()
        best: dict[int, tuple[float, float | None, int]] = {}
        first: Line | None = None
        for line in block.lines:
            if (device := _STREAM_DEVICE.match(line.text)) is not None:
                parsed.facts += _identity(device, line, block)
            elif (match := _STREAM.match(line.text)) is not None:
                first = first or line
                gpu, rate = int(match[2]), float(match[4])
                if rate > best.get(gpu, (0.0, None, 0))[0]:
                    best[gpu] = (rate, float(match[5]) / 100 if match[5] else None, int(match[3]))
        if first is not None:
            test = CopyTest(
                "gpu-stream",
                "gpu-stream",
                "device-memory",
                first,
                size_bytes=max(size for _, _, size in best.values()) if best else None,
                peak_ratios={gpu: peak for gpu, (_, peak, _) in best.items() if peak is not None},
            )
            for gpu, (rate, _, _) in best.items():
                test.add(gpu, rate * GIGA)
            parsed.facts += copy_facts(test, block)
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no rate of a GPU was found")
        return parsed


def _identity(device: re.Match[str], line: Line, block: Block) -> Iterator[Fact]:
    if device[2] != "NVIDIA Graphics Device":
        yield GpuIdentity(
            subject=Subject(host=block.host, gpu_index=int(device[1])),
            sources=(block.source(line),),
            product_name=device[2],
        )

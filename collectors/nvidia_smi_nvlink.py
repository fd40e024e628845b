"""`nvidia-smi nvlink`: state (`-s`), error counters (`-e`, `-ec`) and remote ends (`-R`) of every link.

    GPU 6: NVIDIA A100-SXM4-80GB (UUID: GPU-...)
             Link 0: 25 GB/s
             Link 1: <inactive>
             Link 2: Replay Errors: 0

The line of the GPU is the same as that of `nvidia-smi -L`, whose collector therefore begins the block and hands the
links over. What lies here opens at a prompt, or for links whose GPU line was cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.nvidia_smi_facts import nothing_found
from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_values import read, uuid, words
from diagnose.facts import Fact, Missing, Subject, normalise_bus_id
from diagnose.facts.gpu import GpuIdentity, NvlinkErrors, NvlinkState, NvlinkSummary

GPU_LINE = re.compile(r"^\s*GPU ([0-9]{1,4}): (.{0,100}?)\s*\(UUID: ([^)\s]*)\)?")
LINK_LINE = re.compile(r"^\s*Link ([0-9]{1,3}):\s*(\S.*)$")
ABOUT_LINKS = re.compile(
    r"^\s*(?:Link [0-9]{1,3}[:,]|NVML: .*nvlink\b|Device does not have or support nvlink\b)", re.IGNORECASE
)
_ALL_INACTIVE = re.compile(r"all links are inactive", re.IGNORECASE)
_RATE = re.compile(r"^([0-9]{1,6}(?:\.[0-9]{1,6})?) GB/s$")
_INACTIVE = re.compile(r"^<?inactive>?$", re.IGNORECASE)
_REMOTE = re.compile(r"^Remote Device ([0-9A-Fa-f:.]+?): Link", re.IGNORECASE)
_COUNTER = re.compile(r"^(\D.{0,80}?)\s*:\s*([0-9]{1,18}|N/A|\[?Not Supported\]?)$")
_COUNTERS = {
    "replay errors": "replay_count",
    "recovery errors": "recovery_count",
    "total link recovery events": "recovery_count",
    "crc errors": "crc_flit_count",
    "crc flit error": "crc_flit_count",
    "crc flit errors": "crc_flit_count",
    "crc data error": "crc_data_count",
    "crc data errors": "crc_data_count",
    "malformed packet errors": "malformed_packet_count",
    "buffer overrun errors": "buffer_overrun_count",
    "symbol errors": "symbol_error_count",
    "effective errors": "effective_error_count",
    "link down events": "link_down_count",
}


class NvidiaSmiNvlink(BlockCollector):
    """Links under a prompt, or without the line of their GPU."""

    kind: ClassVar[str] = "nvidia-smi-nvlink"
    literals: ClassVar[tuple[bytes, ...]] = (b"Link 0:",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bnvidia-smi\s+nvlink\b")

    @classmethod
    def opens(cls, text: str) -> bool:
        """Never: the line of the GPU opens the block, and that one belongs to the list of GPUs."""
        return False

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Lines of links."""
        return share(lines, LINK_LINE) * 0.9

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of the GPUs and their links."""
        parsed = Parsed(facts=list(link_facts(block)))
        if not parsed.facts:
            parsed.problems += nothing_found(block, "no link is listed")
        return parsed


def gpu_subject(match: re.Match[str], base: Subject) -> Subject:
    """The GPU of a line `GPU 0: ... (UUID: ...)`."""
    return base.model_copy(update={"gpu_index": int(match[1]), "gpu_uuid": uuid(match[3])})


def identity(match: re.Match[str], line: Line, block: Block) -> Iterator[Fact]:
    """What such a line says of the GPU itself."""
    reading = Reading()
    reading.take(GpuIdentity, "product_name", match[2], words, line.number)
    yield from reading.facts(gpu_subject(match, block.subject()), block)


class _Links:
    """The links of one GPU."""

    def __init__(self, subject: Subject, line: int) -> None:
        self.subject = subject
        self.line = line
        self.links: dict[int, Reading] = {}
        self.active: dict[int, bool] = {}
        self.all_inactive = False

    def take(self, line: Line, link: int, text: str) -> None:
        reading = self.links.setdefault(link, Reading())
        if rate := _RATE.match(text):
            self.active[link] = True
            reading.put(NvlinkState, "active", True, line.number)
            reading.put(NvlinkState, "bandwidth_bytes_per_second", float(rate[1]) * 1e9, line.number)
        elif _INACTIVE.match(text):
            self.active[link] = False
            reading.put(NvlinkState, "active", False, line.number)
        elif remote := _REMOTE.match(text):
            reading.put(NvlinkState, "remote_bus_id", normalise_bus_id(remote[1]), line.number)
        elif (counter := _COUNTER.match(text)) and (name := _COUNTERS.get(counter[1].lower())):
            value = read(counter[2], int)
            reading.put(NvlinkErrors, name, value if isinstance(value, int | Missing) else None, line.number)

    def facts(self, block: Block) -> Iterator[Fact]:
        for link, reading in self.links.items():
            yield from reading.facts(self.subject.model_copy(update={"link": link}), block)
        if self.active or self.all_inactive:
            up = sum(self.active.values())
            yield NvlinkSummary(
                subject=self.subject,
                sources=(block.source(self.line),),
                links=len(self.active),
                active=up,
                inactive=len(self.active) - up,
            )


def link_facts(block: Block) -> Iterator[Fact]:
    """GPUs and links of a block. A GPU all of whose links are down lists none: its summary counts 0 links."""
    gpus: dict[Subject, _Links] = {}
    current: _Links | None = None
    for line in block.lines:
        if gpu := GPU_LINE.match(line.text):
            subject = gpu_subject(gpu, block.subject())
            if subject not in gpus:
                yield from identity(gpu, line, block)
            current = gpus.setdefault(subject, _Links(subject, line.number))
        elif link := LINK_LINE.match(line.text):
            if current is None:
                current = gpus.setdefault(block.subject(), _Links(block.subject(), line.number))
            current.take(line, int(link[1]), link[2].rstrip())
        elif current is not None and _ALL_INACTIVE.search(line.text):
            current.all_inactive = True
    for links in gpus.values():
        yield from links.facts(block)

"""`nvidia-smi -q` as text, whole or `-d SECTION`, and fragments that people cut out of it.

    ==============NVSMI LOG==============
    Driver Version                            : 550.90.07
    Attached GPUs                             : 8
    GPU 00000000:52:00.0
        Remapped Rows
            Pending                           : Yes

Nesting is by indentation; the column of the values moves with the driver. A fragment without a `GPU` line gives
facts that name no GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.nvidia_smi_facts import driver_facts, gpu_facts, gpu_subject, inventory_facts, nothing_found
from collectors.nvidia_smi_tree import Node
from collectors.nvidia_smi_values import integer

_HEADER = re.compile(r"^\s*=+\s*NVSMI LOG\s*=")
# Bus ids of all lengths, some with digits blacked out.
_GPU = re.compile(r"^\s*GPU ((?:[0-9A-FXx*]{1,8}:)?[0-9A-FXx*]{1,2}:[0-9A-FXx*]{1,2}\.[0-9Xx*])\s*$", re.IGNORECASE)
_KEYS = re.compile(
    r"^\s*(?:ECC Mode|ECC Errors|Clocks (?:Throttle|Event) Reasons(?: Counters)?|(?:GPU )?Power Readings"
    r"|FB Memory Usage|Retired Pages|Remapped Rows|GPU Link Info|PCIe Generation|BAR1 Memory Usage|Max Clocks"
    r"|Applications Clocks|Inforom Version|MIG Mode|GPU Reset Status|GPU Recovery Action"
    r"|Bank Remap Availability Histogram|GPU [0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.0|(?:GPU|Memory) Current Temp"
    r"|HW (?:Slowdown|Power Brake Slowdown)|[SD]RAM (?:Unc|C)orrectable|GPU UUID|Enforced Power Limit)\b",
    re.IGNORECASE,
)
_SHAPE = re.compile(r"^\s*(?:[A-Z][\w ./()-]{0,60}\s*:\s+\S|[A-Z][\w ./-]{0,60}$)")
_LEVELS = 32


class NvidiaSmiQ(BlockCollector):
    """`nvidia-smi -q` and its parts."""

    kind: ClassVar[str] = "nvidia-smi-q"
    literals: ClassVar[tuple[bytes, ...]] = (b"NVSMI LOG",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(
        r"\bnvidia-smi\b(?!.*(?:\s-x\b|--xml|--query-|\s-q\w*x))(?=.*\s(?:-q\w*|--query)(?:\s|$))"
    )
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The head of the log."""
        return _HEADER.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Sections and values, at least one of them by a name that only this tool prints."""
        if not any(_KEYS.match(line) for line in lines):
            return 0.0
        return sum(_SHAPE.match(line) is not None for line in lines) / len(lines) * 0.9

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of every GPU in every reading."""
        parsed = Parsed()
        for lines in _readings(block.lines):
            root, gpus = build_tree(lines)
            parsed.facts += driver_facts(root, block)
            attached = root.first("attached gpus")
            if attached is not None:
                parsed.facts += inventory_facts(block, attached.line, len(gpus), integer(attached.value or ""))
            parsed.facts += gpu_facts(root, block.subject(), block)
            for bus_id, gpu in gpus:
                parsed.facts += gpu_facts(gpu, gpu_subject(gpu, bus_id, block.subject()), block)
        # Text without any value was none of this tool's, or an error that others tell of. A log's head promises one.
        if not parsed.facts and any(_HEADER.match(line.text) for line in block.lines):
            parsed.problems += nothing_found(block, "no value of a GPU was found")
        return parsed


def _readings(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines of each reading: a file may hold several, one after the other."""
    reading: list[Line] = []
    for line in lines:
        if _HEADER.match(line.text):
            if reading:
                yield reading
            reading = []
        else:
            reading.append(line)
    if reading:
        yield reading


def build_tree(lines: Sequence[Line]) -> tuple[Node, list[tuple[str, Node]]]:
    """The keys outside of any GPU, and each GPU's bus id and keys."""
    root = Node("", lines[0].number)
    gpus: list[tuple[str, Node]] = []
    stack: list[tuple[int, Node]] = [(-1, root)]
    for number, raw in lines:
        text = raw.expandtabs(4).rstrip()
        if not text:
            continue
        gpu_line = _GPU.match(text)
        if gpu_line:
            node = Node("gpu", number)
            gpus.append((gpu_line[1], node))
            stack = [(-1, root), (len(text) - len(text.lstrip()), node)]
            continue
        words = text.lstrip()
        indent = len(text) - len(words)
        key, value = _key_value(words)
        node = Node(" ".join(key.lower().split()), number, value)
        while len(stack) > 1 and (stack[-1][0] >= indent or len(stack) > _LEVELS):
            stack.pop()
        stack[-1][1].children.append(node)
        stack.append((indent, node))
    return root, gpus


def _key_value(text: str) -> tuple[str, str | None]:
    """Key and value; the tool puts blanks before the colon, people who shorten its output do not always."""
    for colon in (" : ", ": "):
        key, found, value = text.partition(colon)
        if found:
            return key, value.strip()
    return (text[:-1], "") if text.endswith(":") else (text, None)

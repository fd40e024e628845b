"""`nvidia-smi -q -x`: DTD v10 to v13, without DTD, without header, or cut short.

The text is fed line by line to an event parser. What had been closed before an error or the end is used; a value of
which the end is missing is not. Entity declarations are refused: nvidia-smi never writes any.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar
from xml.parsers import expat

from collectors.base import Block, BlockCollector, Parsed, share
from collectors.nvidia_smi_facts import driver_facts, gpu_facts, gpu_subject, inventory_facts
from collectors.nvidia_smi_tree import Node
from collectors.nvidia_smi_values import integer

_PROLOGUE = re.compile(r"<\?xml[^>]{0,200}\?>|<!DOCTYPE[^>\[]{0,200}>")
_TAG = re.compile(r"^\s*</?[a-zA-Z_]\w*(?: id=\"[^\"]*\")?>")
_KNOWN_TAG = re.compile(
    r"<(?:gpu id=|fb_memory_usage|ecc_mode|pci_gpu_link_info|clocks_(?:event|throttle)_reasons|gpu_power_readings"
    r"|remapped_rows|gpu_temp|product_name)"
)


class NvidiaSmiXml(BlockCollector):
    """`nvidia-smi -q -x`."""

    kind: ClassVar[str] = "nvidia-smi-xml"
    literals: ClassVar[tuple[bytes, ...]] = (b"nvidia_smi_log",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bnvidia-smi\b.*(?:\s-x\b|--xml-format|\s-q\w*x|\s-xq)")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The document type or the root."""
        return "<!DOCTYPE nvidia_smi_log" in text or "<nvidia_smi_log" in text

    @classmethod
    def closes(cls, text: str) -> bool:
        """The end of the root."""
        return "</nvidia_smi_log>" in text

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Lines of tags, one of them nvidia-smi's own."""
        return share(lines, _TAG) if any(_KNOWN_TAG.search(line) for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of every GPU, as far as the XML is whole."""
        parsed = Parsed()
        builder = _Builder()
        for line in block.lines:
            if "<!ENTITY" in line.text:
                parsed.problems.append(f"line {line.number}: XML with entity declarations is not read")
                return parsed
            try:
                builder.feed(_PROLOGUE.sub("", line.text), line.number)
            except (expat.ExpatError, ValueError) as error:
                parsed.problems.append(f"line {line.number}: the XML is damaged from here on ({error})")
                break
        if not parsed.problems and builder.is_open:
            parsed.problems.append(f"line {block.lines[-1].number}: the XML ends early")
        _collect(parsed, builder.root, block)
        return parsed


def _collect(parsed: Parsed, root: Node, block: Block) -> None:
    log = root.first("nvidia smi log") or root
    parsed.facts += driver_facts(log, block)
    gpus = [*log.all("gpu")]
    attached = log.first("attached gpus")
    if attached is not None:
        parsed.facts += inventory_facts(block, attached.line, len(gpus), integer(attached.value or ""))
    parsed.facts += gpu_facts(log, block.subject(), block)
    for gpu in gpus:
        parsed.facts += gpu_facts(gpu, gpu_subject(gpu, gpu.value, block.subject()), block)


class _Builder:
    """Builds the tree while the parser runs; a tag's words take the blanks that the text has."""

    def __init__(self) -> None:
        self.root = Node("", 0)
        self._open: list[Node] = []
        self._text: list[str] = []
        self._line = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append
        # A document may have one root only, and a fragment without header has many.
        self._parser.Parse("<fragment>", False)

    @property
    def is_open(self) -> bool:
        """Whether an element has not been closed."""
        return len(self._open) > 1

    def feed(self, text: str, line: int) -> None:
        """Take one line."""
        self._line = line
        self._parser.Parse(text + "\n", False)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        node = Node(tag.replace("_", " ").lower(), self._line) if self._open else self.root
        if self._open:
            self._open[-1].children.append(node)
        self._open.append(node)
        if tag == "gpu":
            node.value = attributes.get("id")
        self._text.clear()

    def _end(self, tag: str) -> None:
        node = self._open.pop()
        if not node.children and node.key != "gpu":
            node.value = "".join(self._text).strip()
        self._text.clear()

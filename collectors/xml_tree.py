"""Small XML documents as trees: read line by line, so that what stands before damage is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from collectors.base import Block

_MAX_DEPTH = 200
"""Deeper trees are none that these tools write."""


@dataclass(slots=True)
class Element:
    """One element; `line` is where it begins."""

    tag: str
    attributes: Mapping[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def get(self, name: str) -> str:
        """An attribute, empty where it is absent."""
        return self.attributes.get(name, "")

    def walk(self) -> Iterator[Element]:
        """Itself and everything below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def read_tree(block: Block) -> tuple[Element, list[str]]:
    """A root above all elements of the block, and what is wrong with the text.

    Entity declarations are refused. Never raises.
    """
    root = Element("", {}, block.lines[0].number)
    builder = _Builder(root)
    for line in block.lines:
        if "<!ENTITY" in line.text:
            return root, [f"line {line.number}: XML with entity declarations is not read"]
        try:
            builder.feed(line.text, line.number)
        except (expat.ExpatError, ValueError) as error:
            return root, [f"line {line.number}: the XML is damaged from here on ({error})"]
    if builder.is_open:
        return root, [f"line {block.lines[-1].number}: the XML ends early"]
    return root, []


class _Builder:
    def __init__(self, root: Element) -> None:
        self._open = [root]
        self._line = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    @property
    def is_open(self) -> bool:
        """Whether an element has not been closed."""
        return len(self._open) > 1

    def feed(self, text: str, line: int) -> None:
        """Take one line."""
        self._line = line
        self._parser.Parse(text + "\n", False)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) > _MAX_DEPTH:
            raise ValueError("nested too deeply")
        element = Element(tag, attributes, self._line)
        self._open[-1].children.append(element)
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

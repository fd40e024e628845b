"""JSON files that are told by their keys, on one line or laid out over many."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.json_text import load_object


class JsonDocument(BlockCollector):
    """A block that is one JSON object. Subclasses say which keys tell it, and read the object."""

    reopens: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def told_by(cls, text: str) -> bool:
        """Whether text that begins with a brace is of this format; it may be only the first 400 lines."""

    @classmethod
    @abstractmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """Facts of the object. Must not raise, whatever its shape."""

    @classmethod
    def opens(cls, text: str) -> bool:
        """The whole object on one line."""
        text = text.strip()
        return text.startswith("{") and text.endswith("}") and cls.told_by(text)

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """An object over many lines, behind at most a few of remarks."""
        start = next((at for at, line in enumerate(lines[:5]) if line.lstrip().startswith("{")), None)
        return 0.85 if start is not None and cls.told_by("\n".join(lines[start:])) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts, or a problem where the object is cut."""
        content = load_object(block)
        return content if isinstance(content, Parsed) else cls.read(block, content)

"""Arguments of an inference server as files hold them: one on a line, in a shell script, in a pod's specification."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed, share
from collectors.serving_settings import SERVING_ONLY, Settings, normal
from diagnose.facts.serving import ServingEngine, ServingSettings

_FLAG = re.compile(r"(?<![\w-])--(?P<name>[A-Za-z][\w-]{1,48})(?:[=\s]\s*(?P<value>[^\s\\\"',-][^\s\\\"',]*|-1\b))?")
_LINE = re.compile(
    r"^\s*(?:-\s+)?[\"']?--[A-Za-z][\w-]+|\bvllm serve\b|\b(?:vllm|sglang)\.[\w.]+\b|^\s*(?:export )?\w+=|^#"
)
_MOST_LINES = 2000


class ServingArguments(BlockCollector):
    """One server."""

    kind: ClassVar[str] = "serving-arguments"
    literals: ClassVar[tuple[bytes, ...]] = ()

    @classmethod
    def opens(cls, text: str) -> bool:
        """Nothing opens a list of arguments: it is known by all its lines."""
        return False

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Mostly arguments, some of which only inference servers have."""
        names = {normal(name) for line in lines[:100] for name, _ in _flags(line)}
        return share(lines, _LINE) if names & SERVING_ONLY else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The settings, and the engine where the names tell it."""
        settings = Settings()
        text = "\n".join(block.texts()[:_MOST_LINES])
        for line in block.lines[:_MOST_LINES]:
            if not line.text.lstrip().startswith("#"):
                for name, value in _flags(line.text):
                    settings.take(name, value)
        if not settings.names & SERVING_ONLY:
            return Parsed()
        engine = "vllm" if "vllm" in text else "sglang" if "sglang" in text else settings.engine()
        subject, sources = block.subject(), (block.source(),)
        parsed = Parsed([ServingSettings(subject=subject, sources=sources, engine=engine, **settings.values)])
        if engine is not None:
            parsed.facts.append(ServingEngine(subject=subject, sources=sources, name=engine, model=settings.model))
        return parsed


def _flags(text: str) -> Iterator[tuple[str, str]]:
    for match in _FLAG.finditer(text):
        yield match["name"], match["value"] or "true"

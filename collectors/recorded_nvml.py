"""Recordings of NVML: one of the driver as a whole, one of each GPU. The facts are those of `nvidia-smi -q`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.nvml_calls import Calls, read_calls
from collectors.nvml_gpu_facts import gpu_facts
from collectors.nvml_system_facts import system_facts
from diagnose.facts import Fact

_HEAD = '{"recording":"nvml"'


class RecordedNvml(BlockCollector):
    """JSON lines that `collectors.live.nvml_journal` writes."""

    kind: ClassVar[str] = "nvml-recording"
    literals: ClassVar[tuple[bytes, ...]] = (_HEAD.encode(),)

    @classmethod
    def opens(cls, text: str) -> bool:
        """The head."""
        return text.startswith(_HEAD)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of the driver, or of a GPU."""
        calls = read_calls(block.lines)
        parsed = system_facts(calls, block) if calls.index is None else gpu_facts(calls, block)
        parsed.facts = list(_with_calls(parsed.facts, calls))
        parsed.problems += [f"line {number}: this is no line of a recording" for number in calls.damaged[:3]]
        return parsed


def _with_calls(facts: Sequence[Fact], calls: Calls) -> Iterator[Fact]:
    """Names the call of each fact's line."""
    names = {call.line: str(call.key[0]) for call in calls.every}
    for fact in facts:
        sources = tuple(
            source.model_copy(update={"api_call": names[source.line]}) if source.line in names else source
            for source in fact.sources
        )
        yield fact.model_copy(update={"sources": sources})

"""`dcgmi health -c`: the table of old and new versions, and its JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.dcgm_results import Run, Test, run_facts
from collectors.json_text import load_object, mapping

_OVERALL = re.compile(r"Overall Health:?\s*\|?\s*(\w+)", re.IGNORECASE)
_OUTCOMES = {"healthy": "pass", "warning": "warn", "failure": "fail"}
_ROW = re.compile(r"^\s*\|([^|]*)(?:\|([^|]*))?\|?\s*$")
_ARROW = re.compile(r"^\s*->\s*(.*)$")
_GPU = re.compile(r"^(?:GPU ID: ?|GPU ?)?(\d{1,3})$")
_SYSTEM = re.compile(r"^([A-Za-z][\w /-]{0,40}?)(?: system| subsystem)?:\s*(Healthy|Warning|Failure)\s*(?:-\s*(.*))?$")
_ANY_ROW = re.compile(r"^\s*[|+]")


class DcgmiHealth(BlockCollector):
    """Health watches."""

    kind: ClassVar[str] = "dcgmi-health"
    literals: ClassVar[tuple[bytes, ...]] = (b"Overall Health", b"Health Monitor Report")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bdcgmi\s+health\b.*\s(?:-c\b|--check)")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title, or the first line of a table without one."""
        return "Health Monitor Report" in text or (text.lstrip().startswith("|") and "Overall Health" in text)

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """A table, or JSON, with the overall health."""
        text = "\n".join(lines)
        if "Overall Health" not in text:
            return 0.0
        return 0.9 if text.startswith("{") else share(lines, _ANY_ROW)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One result for each system that is not healthy, or one for the host."""
        run = Run("dcgmi-health")
        if any(line.text.lstrip().startswith("{") for line in block.lines[:3]):
            content = load_object(block)
            if isinstance(content, Parsed):
                return content
            _from_json(run, content, block.lines[0].number)
        else:
            _from_table(run, block)
        facts = [*run_facts(run, block)]
        problem = f"line {block.lines[0].number}: no overall health was found"
        return Parsed(facts, [] if facts else [problem])


def _from_table(run: Run, block: Block) -> None:
    gpu: int | None = None
    message: list[str] | None = None
    for line in block.lines:
        if (overall := _OVERALL.search(line.text)) is not None:
            _begin(run, "overall", line, overall[1], None)
            continue
        row = _ROW.match(line.text)
        if row is None:
            continue
        left, right = row[1].strip(), (row[2] or "").strip()
        arrow = _ARROW.match(left)
        name = arrow[1].strip() if arrow else left
        if (index := _GPU.match(name)) is not None:
            gpu, message = int(index[1]), None
        elif (system := _SYSTEM.match(right or name)) is not None:
            _begin(run, system[1], line, system[2], gpu)
            message = [system[3] or ""]
            _say(run, message, gpu)
        elif arrow and right.lower() in _OUTCOMES:
            _begin(run, name.removesuffix(" system"), line, right, gpu)
        elif right and (message is not None or name.startswith("(") or not name):
            message = [*(message or []), right] if not name else [right]
            _say(run, message, gpu)


def _begin(run: Run, name: str, line: Line, word: str, gpu: int | None) -> None:
    outcome = _OUTCOMES.get(word.lower())
    if outcome is None:
        return
    test = Test(name, line.number)
    if gpu is None:
        test.overall = outcome
    else:
        test.by_gpu[gpu] = outcome
    run.tests.append(test)


def _say(run: Run, message: list[str], gpu: int | None) -> None:
    """Give the last system its message, which goes on from row to row."""
    if run.tests:
        run.tests[-1].messages.clear()
        run.tests[-1].note(" ".join(message), gpu)


def _from_json(run: Run, content: dict[str, Any], line: int) -> None:
    body = mapping(content.get("body"))
    where = Line(line, "")
    _begin(run, "overall", where, str(mapping(body.get("Overall Health")).get("value", "")), None)
    for index, gpu in mapping(mapping(body.get("GPU")).get("children")).items():
        if not (index.isdecimal() and len(index) < 4):
            continue
        for system, word, text in _systems(mapping(gpu), 0):
            _begin(run, system.removesuffix(" system"), where, word, int(index))
            _say(run, [text], int(index))


def _systems(node: dict[str, Any], depth: int) -> Iterator[tuple[str, str, str]]:
    for name, child in mapping(node.get("children")).items():
        entry = mapping(child)
        word = str(entry.get("value", ""))
        if word.lower() in _OUTCOMES:
            texts = [str(mapping(item).get("value", "")) for item in mapping(entry.get("children")).values()]
            yield name, word, "; ".join(text for text in texts if text)
        elif depth < 4:
            yield from _systems(entry, depth + 1)

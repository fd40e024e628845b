"""The manifest of a recording: which host, and how each recorder ended.

{"schema": "diagnose.bundle/1", "host": "node01", "recorders": [{"name": "host", "status": "done", "seconds": 1.2}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Parsed
from diagnose.facts import Subject
from diagnose.facts.collection import CollectorStatus, ReportedSymptom

_SCHEMA = '"schema": "diagnose.bundle/'
_READ = "diagnose.bundle/1"
_UNFINISHED = {
    "running": "was cut off",
    "partial": "read only a part",
    "timed-out": "did not end in time",
    "crashed": "failed",
}


class Manifest(BlockCollector):
    """manifest.json. What the collection could not read makes the reading of this part incomplete."""

    kind: ClassVar[str] = "manifest"
    literals: ClassVar[tuple[bytes, ...]] = (_SCHEMA.encode(),)
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The line with the schema; the brace may stand on the line above."""
        return text.removeprefix("{").lstrip().startswith(_SCHEMA)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each recorder, about the host that the manifest names."""
        text = "\n".join(block.texts())
        try:
            content = json.loads(text if text.lstrip().startswith("{") else "{" + text)
        except (ValueError, RecursionError):
            return Parsed(problems=["The manifest is cut off or damaged"])
        recorders = content.get("recorders")
        entries = [entry for entry in recorders if isinstance(entry, dict)] if isinstance(recorders, list) else []
        host = content.get("host")
        subject = Subject(host=host) if isinstance(host, str) and host else block.subject()
        schema = content.get("schema")
        if schema != _READ:
            # The number goes up when this version would misread the new form.
            return Parsed(problems=[f"A recording of schema {schema}, of which this version knows nothing"])
        facts = list(_facts(block, subject, entries, _text(content.get("simulated"))))
        symptoms = content.get("symptoms")
        named = [name for name in symptoms if isinstance(name, str)] if isinstance(symptoms, list) else []
        reported = [ReportedSymptom(subject=subject, sources=(block.source(),), symptom=name) for name in named]
        problems = list(_problems(facts))
        if not problems and "ended_at" in content and content["ended_at"] is None:
            # Killed before the first recorder was noted as running.
            problems.append("The recording was cut off at its beginning")
        return Parsed([*facts, *reported], problems)


def _facts(
    block: Block, subject: Subject, entries: list[dict[str, Any]], simulated: str | None
) -> Iterator[CollectorStatus]:
    for entry in entries:
        name, status, seconds = entry.get("name"), entry.get("status"), entry.get("seconds")
        if not isinstance(name, str) or not isinstance(status, str):
            continue
        lacked = entry.get("lacked")
        yield CollectorStatus(
            subject=subject,
            sources=(block.source(_line_of(block, name)),),
            name=name,
            status=status,
            seconds=float(seconds) if isinstance(seconds, int | float) and abs(seconds) < 1e9 else None,
            detail=_text(entry.get("detail")),
            lacked=_text("; ".join(str(item) for item in lacked)) if isinstance(lacked, list) else None,
            simulated=simulated,
        )


def _line_of(block: Block, name: str) -> int | None:
    wanted = f'"name": {json.dumps(name)}'
    return next((line.number for line in block.lines if wanted in line.text), None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _problems(facts: Sequence[CollectorStatus]) -> Iterator[str]:
    """What is missing from the diagnosis, and why."""
    for fact in facts:
        if fact.status in _UNFINISHED:
            yield f"The recorder {fact.name} {_UNFINISHED[fact.status]}" + (f": {fact.detail}" if fact.detail else "")
        elif fact.lacked is not None:
            yield f"The recorder {fact.name} lacked privileges: {fact.lacked}"

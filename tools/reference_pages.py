"""Writes the reference pages that come from code and rules: `make docs`."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from diagnose.facts import Fact, fact_kinds
from diagnose.facts.base import Missing, Subject
from diagnose.facts.registry import MODULES
from diagnose.knowledge.base import KnowledgeBase, KnownCause
from diagnose.knowledge.derived_kinds import Table
from diagnose.knowledge.loader import load_knowledge

FOLDER = Path(__file__).resolve().parent.parent / "docs"


def pages() -> dict[str, str]:
    """File name to text, for every generated page."""
    knowledge = load_knowledge()
    return {"facts.md": _page(_facts(knowledge)), "causes.md": _page(_causes(knowledge))}


def _page(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _facts(knowledge: KnowledgeBase) -> Iterator[str]:
    yield "# Facts"
    yield ""
    yield "Generated from the models by `make docs`; do not edit."
    yield ""
    yield "A fact is one typed observation with a subject and its sources. Rules use the fields below and those of the"
    yield "subject. A field that has no value is absent, never 0; `missing(field)` gives the reason:"
    yield ""
    for reason in Missing:
        yield f"- `{reason.value}`"
    yield ""
    yield "## Subject"
    yield ""
    yield from _table((name, "", info.description or "") for name, info in Subject.model_fields.items())
    for module in MODULES:
        yield f"## {(module.__doc__ or '').strip().splitlines()[0]}"
        yield ""
        for model in fact_kinds().values():
            if model.__module__ == module.__name__:
                yield from _kind(model)
    yield "## Tables and derived facts, declared in the rules"
    yield ""
    for model in knowledge.vocabulary.values():
        if model.kind not in fact_kinds():
            yield from _kind(model)


def _kind(model: type[Fact]) -> Iterator[str]:
    yield f"### {model.kind}"
    yield ""
    yield " ".join((model.__doc__ or "").split())
    yield ""
    yield from _table(
        (name, type_name(model.model_fields[name].annotation), model.model_fields[name].description or "")
        for name in model.own_fields()
    )


def type_name(annotation: object) -> str:
    """The type as readers of the page know it."""
    text = str(annotation)
    for word, name in (("bool", "flag"), ("tuple", "list"), ("int", "whole number"), ("float", "number")):
        if word in text:
            return name
    return "text"


def _table(rows: Iterator[tuple[str, str, str]]) -> Iterator[str]:
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for name, kind, meaning in rows:
        yield f"| `{name}` | {kind} | {meaning.replace('|', chr(92) + '|')} |"
    yield ""


def _causes(knowledge: KnowledgeBase) -> Iterator[str]:
    yield "# Causes"
    yield ""
    yield "Generated from the rules by `make docs`; do not edit. `diagnose rules show ID` prints one in full."
    yield ""
    by_symptom: dict[str, list[KnownCause]] = defaultdict(list)
    for known in knowledge.causes.values():
        by_symptom[known.path.parent.name].append(known)
    for name, symptom in knowledge.symptoms.items():
        if not by_symptom[name]:
            continue
        yield f"## {symptom.symptom.title} (`{name}`)"
        yield ""
        yield symptom.symptom.question
        yield ""
        for known in by_symptom[name]:
            yield from _cause(known)
    yield "## Reference tables"
    yield ""
    for table in knowledge.tables:
        yield from _reference_table(table)


def _cause(known: KnownCause) -> Iterator[str]:
    cause = known.cause
    yield f"### {cause.id}"
    yield ""
    yield f"**{cause.title}.** {' '.join(cause.explanation.split())}"
    yield ""
    others = f"; also under {', '.join(cause.symptoms[1:])}" if len(cause.symptoms) > 1 else ""
    yield f"Severity {cause.severity.value}, one per {cause.subject}, prior {cause.prior.probability:.1%}{others}."
    yield ""
    yield "| evidence | ratio | what it says | source |"
    yield "|---|---|---|---|"
    for item in known.evidence:
        written = item.written
        ratio = f"x{written.weight:g}" if written.direction == "for" else f"/{1 / written.weight:g}"
        yield f"| `{written.id}` | {ratio} | {_cell(written.says)} | {_cell(written.source)} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _reference_table(table: Table) -> Iterator[str]:
    yield f"### {table.file.table}"
    yield ""
    yield f"{' '.join(table.file.description.split())} Source: {' '.join(table.file.source.split())}"
    yield ""
    yield f"{len(table.file.rows)} rows, looked up by `{table.file.key.field}` of `{table.file.key.fact}`."
    yield ""


def main() -> int:
    """Write the pages, or with `--check` say which ones are out of date."""
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.stderr.write(f"out of date: {', '.join(stale)}; run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

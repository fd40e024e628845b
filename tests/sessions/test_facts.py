from __future__ import annotations

from pathlib import Path

from collectors.resolve import resolve
from collectors.scan import read_inputs
from diagnose.sessions.facts import facts_from_json, facts_to_json

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"


def test_facts_come_back_as_they_were() -> None:
    facts = resolve(read_inputs([str(DEMO)]).facts)

    assert facts_from_json(facts_to_json(facts)) == (facts, 0)


def test_kinds_and_fields_of_other_versions_are_counted_and_left_out() -> None:
    source = {"sources": [{"path": "x", "line": 1}]}
    unknown = {"kind": "from-the-future", **source}
    changed = {"kind": "xid", "code": 79, "no_such_field": 1, **source}

    assert facts_from_json([unknown, changed]) == ([], 2)

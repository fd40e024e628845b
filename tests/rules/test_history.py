"""What a log shows from before the last boot is history, and every rule has to say how it takes it."""

from __future__ import annotations

import pytest

from diagnose.facts import fact_kinds
from diagnose.knowledge.loader import load_knowledge

LOGGED = {kind for kind, model in fact_kinds().items() if "before_last_boot" in model.own_fields()}


@pytest.mark.parametrize("cause", load_knowledge().causes)
def test_no_evidence_takes_history_for_the_present(cause: str) -> None:
    careless = [
        f"{item.written.id}: {pattern.kind}"
        for item in load_knowledge().causes[cause].evidence
        for pattern in item.written.when
        if pattern.kind in LOGGED and "before_last_boot" not in " ".join(pattern.where)
    ]
    assert careless == []

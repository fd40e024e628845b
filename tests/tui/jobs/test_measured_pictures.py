from __future__ import annotations

import json

from collectors.scan import read_inputs
from diagnose.simulate.environment import SCENARIOS
from diagnose.tui.jobs.readings import reading_of
from diagnose.tui.model.events import EVENT, Collected
from diagnose.tui.model.walk import Walk, apply
from tests.tui.made import NOW

REQUESTS = SCENARIOS / "jittery-inference" / "files" / "requests.csv"


def test_latency_is_drawn_while_its_requests_are_at_hand_and_kept_with_the_session() -> None:
    reading = reading_of(read_inputs([str(REQUESTS)]), over=True)
    event = Collected(
        at=NOW,
        purpose="diagnose",
        run=1,
        facts=tuple(reading.facts),
        inputs=(),
        parts=(),
        complete=True,
        pictures=tuple(reading.pictures),
    )
    saved = EVENT.validate_python(json.loads(json.dumps(EVENT.dump_python(event, mode="json", by_alias=True))))
    walk = apply(Walk(), saved)

    assert walk.before is not None
    assert [picture.title.partition(",")[0] for picture in walk.before.pictures] == [
        "ttft over time",
        "How ttft is distributed",
    ]
    assert all(len(row) <= 80 for picture in walk.before.pictures for row in picture.rows)
    assert walk.past[0].pictures == ()  # type: ignore[union-attr]


def test_nothing_is_drawn_while_reading_goes_on() -> None:
    assert reading_of(read_inputs([str(REQUESTS)]), over=False).pictures == ()

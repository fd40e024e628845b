from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from diagnose.tui.model.events import (
    EVENT,
    Answered,
    Collected,
    Event,
    Moved,
    Noted,
    Outcome,
    Place,
    Ranked,
    Saved,
    StepMarked,
    StepState,
    SymptomsChosen,
    Verified,
)
from diagnose.tui.model.walk import Walk, apply, walk_of
from tests.tui.made import NOW, events, report

CAUSES = st.sampled_from(["narrow-link", "late-gpu", "gone"])
WORDS = st.text(max_size=8)
FACTS = st.lists(st.fixed_dictionaries({"kind": WORDS, "n": st.integers()}), max_size=2).map(tuple)
PURPOSES = st.sampled_from(["diagnose", "verify"])
EVENTS = st.one_of(
    st.builds(SymptomsChosen, at=st.just(NOW), symptoms=st.lists(WORDS, max_size=2).map(tuple)),
    st.builds(
        Collected,
        at=st.just(NOW),
        purpose=PURPOSES,
        run=st.integers(1, 5),
        facts=FACTS,
        inputs=st.just(()),
        parts=st.just(()),
        complete=st.booleans(),
    ),
    st.builds(Ranked, at=st.just(NOW), purpose=PURPOSES, report=st.just(report())),
    st.builds(
        Answered,
        at=st.just(NOW),
        purpose=PURPOSES,
        check=WORDS,
        answer=st.sampled_from(["output", "yes", "cannot"]),
        facts=FACTS,
    ),
    st.builds(
        StepMarked,
        at=st.just(NOW),
        cause=CAUSES,
        fix=st.integers(0, 1),
        step=st.integers(0, 2),
        state=st.sampled_from(StepState),
    ),
    st.builds(Noted, at=st.just(NOW), about=WORDS, text=WORDS),
    st.builds(Verified, at=st.just(NOW), cause=CAUSES, outcome=st.sampled_from(Outcome), why=WORDS),
    st.builds(Saved, at=st.just(NOW), path=WORDS),
    st.builds(Moved, at=st.just(NOW), place=st.sampled_from(Place)),
)


def then(*more: Event) -> Walk:
    return walk_of([*events(), *more])


def marked(*states: StepState, fix: int = 0) -> list[Event]:
    return [StepMarked(at=NOW, cause="narrow-link", fix=fix, step=at, state=state) for at, state in enumerate(states)]


@given(st.lists(EVENTS, max_size=12))
def test_a_walk_that_was_written_down_and_read_again_is_the_same(happened: list[Event]) -> None:
    lines = [json.dumps(EVENT.dump_python(event, mode="json", by_alias=True)) for event in happened]
    read = [EVENT.validate_python(json.loads(line)) for line in lines]

    assert walk_of(read) == walk_of(happened)


@given(st.lists(EVENTS, max_size=8), st.integers(0, 8))
def test_a_walk_goes_on_from_where_it_was_interrupted(happened: list[Event], at: int) -> None:
    walk = walk_of(happened[:at])
    for event in happened[at:]:
        walk = apply(walk, event)

    assert walk == walk_of(happened)


def test_an_answer_adds_its_facts_and_replaces_an_earlier_one_to_the_same_check() -> None:
    first = Answered(at=NOW, check="look", answer="output", facts=({"kind": "a"},))
    second = Answered(at=NOW, check="look", answer="output", facts=({"kind": "b"},))

    assert then(first).facts == ({"kind": "a"},)
    assert then(first, second).facts == ({"kind": "b"},)


def test_reading_anew_forgets_answers_about_the_machine_as_it_was() -> None:
    answered = Answered(at=NOW, check="look", answer="output", facts=({"kind": "a"},))
    again = Collected(at=NOW, purpose="diagnose", run=2, facts=({"kind": "c"},), inputs=(), parts=(), complete=True)
    walk = then(answered, again)

    assert walk.facts == ({"kind": "c"},)
    assert walk.report is None


def test_reading_to_verify_leaves_what_was_found_before() -> None:
    walk = then(
        Collected(at=NOW, purpose="verify", run=2, facts=({"kind": "c"},), inputs=(), parts=(), complete=True),
        Ranked(at=NOW, purpose="verify", report=report(hosts=("node-a",), checks=())),
    )

    assert walk.report == report()
    assert walk.report_after is not None
    assert not walk.report_after.checks
    assert walk.facts_after == ({"kind": "c"},)


def test_a_check_that_counted_is_to_be_repeated_until_it_is() -> None:
    answered = Answered(at=NOW, check="look", answer="output", facts=({"kind": "a"},))
    nothing = Answered(at=NOW, check="other", answer="output")
    repeated = Answered(at=NOW, check="look", purpose="verify", answer="output")

    assert then(answered, nothing).to_repeat == ("look",)
    assert then(answered, nothing, repeated).to_repeat == ()


def test_the_ranking_before_an_answer_is_kept_to_show_what_it_moved() -> None:
    walk = then(Ranked(at=NOW, purpose="diagnose", report=report(checks=())))

    assert walk.previous == report()


def test_a_fix_is_carried_out_when_no_step_is_open_or_failed_and_one_was_done() -> None:
    done, skipped, failed = StepState.DONE, StepState.SKIPPED, StepState.FAILED

    assert then(*marked(done, skipped, done)).carried_out("narrow-link")
    assert then(*marked(done, done, done, fix=1)).carried_out("narrow-link")
    assert not then(*marked(done, done)).carried_out("narrow-link")
    assert not then(*marked(done, failed, done)).carried_out("narrow-link")
    assert not then(*marked(skipped, skipped, skipped)).carried_out("narrow-link")
    assert not then(*marked(done, done, done)).carried_out("late-gpu")


def test_a_step_can_be_opened_again() -> None:
    walk = then(*marked(StepState.DONE), *marked(StepState.OPEN))

    assert walk.step_state("narrow-link", 0, 0) is StepState.OPEN


def test_an_empty_note_removes_the_one_before() -> None:
    note = Noted(at=NOW, about="step 1", text="card was loose")

    assert [item.text for item in then(note).notes] == ["card was loose"]
    assert then(note, Noted(at=NOW, about="step 1", text="")).notes == ()


def test_a_cause_that_vanished_gives_way_to_the_most_probable_one() -> None:
    others = report(report().causes[1])
    walk = then(Ranked(at=NOW, purpose="diagnose", report=others))

    assert walk.chosen is not None
    assert walk.chosen.id == "late-gpu"

from __future__ import annotations

from diagnose.tui.model.events import Answered, Moved, Noted, Outcome, Place, StepMarked, StepState, Verified
from diagnose.tui.model.path_taken import path_taken
from diagnose.tui.model.walk import walk_of
from tests.tui.made import NOW, events


def test_the_path_tells_what_was_done_and_not_between_which_screens_one_went() -> None:
    walk = walk_of(
        [
            *events(),
            Moved(at=NOW, place=Place.CHECK),
            Answered(at=NOW, check="look", answer="output"),
            Answered(at=NOW, check="bring-log", answer="cannot"),
            StepMarked(at=NOW, cause="narrow-link", fix=0, step=1, state=StepState.DONE),
            Noted(at=NOW, about="narrow-link, step 2", text="card was loose"),
            Verified(at=NOW, cause="narrow-link", outcome=Outcome.GONE, why="All lanes are back"),
        ]
    )

    assert [taken.text for taken in path_taken(walk)] == [
        "Began with q.txt, dmesg.txt",
        "Symptoms named: slow",
        "Read 3 parts",
        "Turned to narrow-link",
        "Check look: its output was read",
        "Check bring-log: cannot be done here",
        "Step 2 of the fix for narrow-link: done (Drain the node and reseat the card)",
        "Note on narrow-link, step 2: card was loose",
        "Verified narrow-link: gone. All lanes are back",
    ]

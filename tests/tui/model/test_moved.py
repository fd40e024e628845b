from __future__ import annotations

from diagnose.tui.model.moved import moves
from tests.tui.made import cause, report


def test_what_moved_farthest_comes_first_and_what_stayed_is_left_out() -> None:
    before = report(cause("a", "A", 0.5), cause("b", "B", 0.3), cause("c", "C", 0.2))
    after = report(cause("a", "A", 0.6), cause("b", "B", 0.301), cause("d", "D", 0.4))

    found = [(move.cause.id, move.before, move.after) for move in moves(before, after)]

    assert found == [("d", None, 0.4), ("c", 0.2, None), ("a", 0.5, 0.6)]


def test_a_first_ranking_moved_nothing() -> None:
    assert moves(None, report()) == []

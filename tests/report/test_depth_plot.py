from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.lowbit.comparison import DepthPoint
from diagnose.report.depth_plot import depth_plot, depth_svg
from diagnose.report.scaling_plot import ASCII, UNICODE

POINTS = [DepthPoint(at, str(at // 3), 0.01 * (at + 1), 0.02, 1e-4) for at in range(24)]
RATIOS = st.one_of(st.none(), st.floats(0, 1e30))
ANY = st.lists(st.builds(DepthPoint, st.integers(0, 5000), st.text(max_size=20), RATIOS, RATIOS, RATIOS), min_size=1)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(len(row) <= width for row in depth_plot(POINTS, width, UNICODE)[:-1])


def test_only_what_is_there_is_in_the_legend() -> None:
    measured = [DepthPoint(at, str(at), 0.1) for at in range(4)]

    assert "noise" in depth_plot(POINTS, 80, ASCII)[-1]
    assert "noise" not in depth_plot(measured, 80, ASCII)[-1]


def test_a_jump_is_seen_as_one() -> None:
    points = [DepthPoint(at, str(at), 0.01 if at < 5 else 0.9) for at in range(10)]
    rows = depth_plot(points, 60, ASCII)

    marked = [at for at, row in enumerate(rows[1:-3]) if "o" in row]
    assert len(marked) == 2
    assert marked[1] - marked[0] > 3


@given(ANY)
def test_any_points_give_a_picture(points: list[DepthPoint]) -> None:
    ordered = sorted(points, key=lambda point: point.position)

    assert depth_plot(ordered, 60, ASCII)
    ElementTree.fromstring(depth_svg([point for point in ordered if point.label.isprintable()] or POINTS, "Error"))

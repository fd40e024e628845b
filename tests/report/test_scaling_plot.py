from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.analysis.scaling import analyse
from diagnose.report.scaling_plot import ASCII, UNICODE, glyphs_for, scaling_plot, scaling_svg

CURVE = analyse({1: [412.0], 2: [801.0], 4: [1380.0], 8: [2090.0]})
POINTS = st.dictionaries(
    st.integers(1, 4096), st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=3), min_size=2, max_size=8
)


@pytest.mark.parametrize("width", [40, 72, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(len(row) <= width for row in scaling_plot(CURVE, width, UNICODE)[:-1])


def test_every_measurement_is_drawn_and_named() -> None:
    rows = scaling_plot(CURVE, 80, ASCII)
    assert sum(row.count("o") for row in rows[1:-3]) == 4
    assert rows[-2].split() == ["1", "2", "4", "8"]


def test_ideal_lies_above_a_curve_that_falls_behind() -> None:
    rows = scaling_plot(CURVE, 80, ASCII)[1:-3]
    last = [row[-1] for row in rows if len(row) == max(map(len, rows))]
    assert last[0] == "."
    assert "o" in last[1:]


@pytest.mark.parametrize(
    ("encoding", "glyphs"),
    [("utf-8", UNICODE), ("ascii", ASCII), ("latin-1", ASCII), (None, ASCII), ("nonsense", ASCII)],
)
def test_plots_use_what_the_encoding_has(encoding: str | None, glyphs: object) -> None:
    assert glyphs_for(encoding) is glyphs


def test_ascii_is_ascii() -> None:
    assert "\n".join(scaling_plot(CURVE, 80, ASCII)).isascii()


@given(POINTS)
def test_any_curve_can_be_drawn(points: dict[int, list[float]]) -> None:
    curve = analyse(points)
    assert len(scaling_plot(curve, 60, UNICODE)) == 20
    ElementTree.fromstring(scaling_svg(curve, "any"))


def test_svg_is_well_formed_and_says_what_it_shows() -> None:
    picture = ElementTree.fromstring(scaling_svg(CURVE, "a <b> & c"))
    space = "{http://www.w3.org/2000/svg}"
    assert picture.findtext(f"{space}title") == "a <b> & c"
    assert len(picture.findall(f"{space}circle")) == 4
    words = {item.text for item in picture.findall(f"{space}text")}
    assert {"measured", "ideal", "fitted", "1", "2", "4", "8"} <= words

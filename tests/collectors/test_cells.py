from __future__ import annotations

import pytest

from collectors.cells import cells


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a,b , c", ["a", "b", "c"]),
        ("a\tb,c", ["a", "b,c"]),
        ("| a | b |", ["a", "b"]),
        ("a;1,5", ["a", "1,5"]),
        ('0,"1,292.2"', ["0", "1,292.2"]),
        ("no separator", []),
        ("", []),
    ],
)
def test_the_first_separator_of_the_line_cuts_it(line: str, expected: list[str]) -> None:
    assert cells(line) == expected


def test_an_open_quote_never_raises() -> None:
    assert cells('a,"b') == ["a", "b"]

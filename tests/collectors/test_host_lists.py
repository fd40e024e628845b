from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.host_lists import expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node1", ["node1"]),
        ("node[01-03,07]", ["node01", "node02", "node03", "node07"]),
        ("a[1-2],b,c[9-10]-ib", ["a1", "a2", "b", "c9-ib", "c10-ib"]),
        ("n1,n1", ["n1"]),
        ("", []),
        ("(null)", []),
        ("n[1-", []),
        ("n[3-1]", []),
        ("n[1-900000000]", []),
    ],
)
def test_lists_are_expanded(text: str, names: list[str]) -> None:
    assert expand(text) == names


@given(st.text("n01,-[].", max_size=40))
def test_any_text_is_survived(text: str) -> None:
    assert len(expand(text)) <= 20_000

"""The search for many literals finds exactly what searching for each would find."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import literals as literals_module
from collectors.literals import LiteralSearch

LETTERS = st.sampled_from(list(b"ab\n#"))


def naive(data: bytes, literals: list[bytes]) -> set[tuple[int, int]]:
    found = set()
    for bit, literal in enumerate(literals):
        start = data.find(literal)
        while start >= 0:
            found.add((start, 1 << bit))
            start = data.find(literal, start + 1)
    return found


@given(
    data=st.lists(LETTERS, max_size=200).map(bytes),
    sample=st.lists(LETTERS, max_size=50).map(bytes),
    literals=st.lists(st.lists(LETTERS, min_size=3, max_size=5).map(bytes), min_size=1, max_size=6, unique=True),
)
def test_all_places_are_found(data: bytes, sample: bytes, literals: list[bytes]) -> None:
    search = LiteralSearch((literal, 1 << bit) for bit, literal in enumerate(literals))
    search.tune(sample)
    found = search.find(data)
    assert found == sorted(found, key=lambda place: place[0])
    expected = naive(data, literals)
    assert len(found) == len(expected)
    for position, mask in found:
        literal = literals[mask.bit_length() - 1]
        assert any((start, mask) in expected for start in range(position - len(literal) + 1, position + 1))


def test_places_across_the_parts_of_the_search_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literals_module, "_PART_BYTES", 4)
    data = b"".join(b"." * gap + b"Xid" for gap in range(9))
    search = LiteralSearch([(b"Xid", 1)])
    assert len(search.find(data)) == 9


def test_a_literal_that_begins_with_a_line_end_is_found_on_its_own_line() -> None:
    data = b"\nGPU GPU\nGPU"
    assert [data.rfind(b"\n", 0, place) for place, _ in LiteralSearch([(b"\nGPU", 1)]).find(data)] == [0, 8]


def test_equal_literals_of_two_owners_are_joined() -> None:
    assert LiteralSearch([(b"NVRM", 1), (b"NVRM", 4)]).find(b"x NVRM") == [(2, 5)]


@pytest.mark.parametrize("literal", [b"", b"x", b"\nx"])
def test_too_short_a_literal_is_refused(literal: bytes) -> None:
    with pytest.raises(ValueError, match="two bytes"):
        LiteralSearch([(literal, 1)])

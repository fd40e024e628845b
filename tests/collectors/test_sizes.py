from __future__ import annotations

import pytest

from collectors.sizes import parse_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64M", 64 << 20),
        ("1.5GiB", 3 << 29),
        ("774124 MB", 774124 << 20),
        ("2T", 2 << 40),
        ("128B", 128),
        ("0", 0),
        ("-", None),
        ("", None),
        ("64 M extra", None),
    ],
)
def test_amounts_are_powers_of_1024(text: str, expected: int | None) -> None:
    assert parse_bytes(text) == expected


def test_a_bare_number_counts_in_the_unit_of_its_column() -> None:
    assert parse_bytes("65536", default_unit=1024) == 64 << 20
    assert parse_bytes("64M", default_unit=1024) == 64 << 20

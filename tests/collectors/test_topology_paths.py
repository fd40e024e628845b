from __future__ import annotations

import pytest

from collectors.topology_paths import Place, connection


@pytest.mark.parametrize(
    ("first", "second", "bridges_of_switch", "expected"),
    [
        (Place(("a", "b"), "h", 0), Place(("a", "c"), "h", 0), 1, "PXB"),
        (Place(("a",), "h", 0), Place(("a",), "h", 0), 1, "PIX"),
        (Place(("r", "u", "d1"), "h", 0), Place(("r", "u", "d2"), "h", 0), 2, "PIX"),
        (Place(("r", "u", "d1", "v", "e1"), "h", 0), Place(("r", "u", "d2"), "h", 0), 2, "PXB"),
        (Place(("a",), "h", 0), Place(("b",), "h", 0), 1, "PHB"),
        (Place(("a",), "h", 0), Place(("b",), "i", 0), 1, "NODE"),
        (Place(("a",), "h", 0), Place(("b",), "i", 1), 1, "SYS"),
        (Place(("a",), "h", None), Place(("b",), "i", 1), 1, None),
    ],
)
def test_the_path_follows_from_what_is_shared(
    first: Place, second: Place, bridges_of_switch: int, expected: str | None
) -> None:
    assert connection(first, second, bridges_of_switch) == expected
    assert connection(second, first, bridges_of_switch) == expected

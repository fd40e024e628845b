"""Sentences with values filled in."""

from __future__ import annotations

import pytest

from diagnose.knowledge.expression import ExpressionError, ValueType
from diagnose.knowledge.template import check_template, fill

SCOPE: dict[str, dict[str, ValueType]] = {"gpu": {"index": "string", "watts": "number", "count": "number"}}


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("{a.b}", 3.0, "3"),
        ("{a.b}", 0.1234567, "0.123457"),
        ("{a.b:.1f}", 2.25, "2.2"),
        ("{a.b:percent}", 0.965, "96.5%"),
        ("{a.b:bytes}", 3 * 2**30, "3 GiB"),
        ("{a.b:rate}", 2.5e10, "25 GB/s"),
        ("{a.b:times}", 1, "once"),
        ("{a.b:times}", 2.0, "twice"),
        ("{a.b:times}", 7, "7 times"),
        ("{a.b:lines}", 1, "1 line"),
        ("{a.b:lines}", 12, "12 lines"),
        ("{a.b}", None, "unknown"),
        ("{a.b:.0f}", None, "unknown"),
        ("{a.b}", True, "yes"),
        ("{a.b}", "{c.d}", "{c.d}"),
    ],
)
def test_values_read_as_people_write_them(template: str, value: object, text: str) -> None:
    assert fill(template, lambda _alias, _field: value) == text


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{gpu.wats}", "did you mean `watts`?"),
        ("{gp.watts}", "no fact is called `gp`"),
        ("{watts}", "write `{alias.field}`"),
        ("{gpu.index:.0f}", "does not fit"),
        ("{others.watts}", "only `{others.count}` can be said"),
    ],
)
def test_placeholders_that_cannot_be_filled_are_refused(template: str, words: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        check_template(template, SCOPE, {"others"})
    assert words in str(raised.value)

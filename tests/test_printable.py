"""What inputs say never commands the terminal that shows it."""

from __future__ import annotations

import io

import pytest

from diagnose.cli.progress import Progress
from diagnose.printable import printable, printable_lines
from diagnose.report.paper import Paper

HOSTILE = "a\x1b]0;title\x07b\x9b31mc\u202ed\ue000e\udcfff\rg\x08"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("gpu-worker 7", "gpu-worker 7"),
        ("Größe 温度\u00a0°C", "Größe 温度\u00a0°C"),
        ("a\nb", "a\\x0ab"),
        (HOSTILE, "a\\x1b]0;title\\x07b\\x9b31mc\\u202ed\\ue000e\\xfff\\x0dg\\x08"),
    ],
)
def test_only_what_does_not_print_is_escaped(text: str, seen: str) -> None:
    assert printable(text) == seen


def test_ends_of_lines_stay_in_text_of_several_lines() -> None:
    assert printable_lines("one\ntwo\x1b[2J") == "one\ntwo\\x1b[2J"


def test_no_line_or_paragraph_of_a_report_carries_a_control_character() -> None:
    stream = io.StringIO()
    paper = Paper(stream)
    paper.line(f"{HOSTILE}\nnext")
    paper.paragraph(f"one\ntwo {HOSTILE}")
    assert stream.getvalue().count("\n") == 2
    assert all(line.isprintable() for line in stream.getvalue().splitlines())
    assert "one two" in stream.getvalue()


def test_progress_shows_a_hostile_name_harmlessly(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("diagnose.cli.progress._QUIET_SECONDS", -1.0)
    Progress(stream)(f"reading {HOSTILE}\nrm -rf")
    assert stream.getvalue() == f"reading {printable(HOSTILE)}\\x0arm -rf\n"

from __future__ import annotations

from datetime import timedelta

from diagnose.report.markdown import markdown
from diagnose.report.model import ReportInput, ReportTaken
from tests.tui.made import NOW, cause, evidence, report


def test_the_first_line_answers() -> None:
    first = markdown(report()).splitlines()[0]

    assert first == "# Most likely: A PCIe link runs below its width on node-a/gpu/3 (93%), and 1 other finding."


def test_causes_have_their_evidence_with_places_and_their_fix() -> None:
    text = markdown(report())

    assert "## 1. A PCIe link runs below its width (93%, warning)" in text
    assert "- for: GPU 3 has a link of x8 of x16, 7 other GPUs have all lanes (q.txt:12, dmesg.txt:42)" in text
    assert "- against: GPU 3 is idle, and idle links may be narrow (q.txt:40, dmesg.txt:70)" in text
    assert "- looked, found nothing: The kernel names no link that was narrowed" in text
    assert "   ```sh\n   sudo lspci -vvv -s 0000:9b:00.0 | grep -E 'LnkCap:|LnkSta:'\n   ```" in text
    assert "Follows from narrow-link@node-a/gpu/3." in text


def test_the_path_taken_is_told_with_times() -> None:
    taken = (ReportTaken(at=NOW, text="Began"), ReportTaken(at=NOW + timedelta(minutes=3), text="Verified: gone"))
    text = markdown(report(path_taken=taken))

    assert "- 2026-03-14 03:07:00 UTC: Began\n- 2026-03-14 03:10:00 UTC: Verified: gone\n" in text


def test_what_inputs_say_is_no_markup_and_no_command_for_a_terminal() -> None:
    hostile = "x](http://evil) <b>\x1b[31m `rm`\n# heading | cell"
    made = cause("narrow-link", "Narrow", 0.9, evidence=(evidence("narrow-link/width", hostile),))
    inputs = (ReportInput(path="a|b`c.txt", kind=None, status="unrecognised", facts=0, detail=hostile),)
    text = markdown(report(made, inputs=inputs))

    assert r"x\](http://evil) \<b\>\\x1b\[31m \`rm\` \# heading \| cell" in text
    assert "\x1b" not in text
    assert r"a\|b\`c.txt" in text
    assert "\n# heading" not in text


def test_nothing_found_says_so() -> None:
    empty = report().model_copy(update={"causes": ()})

    assert markdown(empty).startswith("# Nothing found: nothing in these inputs speaks for a known cause.")

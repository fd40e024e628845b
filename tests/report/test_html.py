from __future__ import annotations

from html.parser import HTMLParser

from diagnose.report.html import html
from diagnose.report.model import ReportInput, ReportTaken
from tests.tui.made import NOW, cause, evidence, report

VOID = {"meta", "br"}


class Tags(HTMLParser):
    """Checks that what is opened is closed, and gathers what would load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def parsed(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == []
    return tags


def test_the_page_is_well_formed_and_tells_causes_fixes_and_the_path() -> None:
    page = parsed(html(report(path_taken=(ReportTaken(at=NOW, text="Began with q.txt"),))))

    assert "Most likely: A PCIe link runs below its width on node-a/gpu/3 (93%)" in page.words
    assert "for: GPU 3 has a link of x8 of x16" in page.words
    assert "q.txt:12, dmesg.txt:42" in page.words
    assert "sudo lspci -vvv -s 0000:9b:00.0" in page.words
    assert "2026-03-14 03:07:00 UTC: Began with q.txt" in page.words


def test_the_page_loads_and_runs_nothing_whatever_inputs_say() -> None:
    hostile = "<script>alert(1)</script> <img src=x onerror=y> &amp; \x1b[31m"
    made = cause("narrow-link", hostile, 0.9, evidence=(evidence("narrow-link/width", hostile),))
    inputs = (ReportInput(path=hostile, kind=None, status="unrecognised", facts=0, detail=hostile),)
    text = html(report(made, inputs=inputs))
    page = parsed(text)

    assert not page.seen & {"script", "img", "iframe", "link", "object", "a"}
    assert page.attributes <= {"lang", "charset", "class"}
    assert "<script>alert(1)</script>" in page.words
    assert "\x1b" not in text

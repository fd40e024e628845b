"""Files are taken apart by content: every line is claimed or reported, and nothing raises."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors import scanner as scanner_module
from collectors.base import Block, BlockCollector, Line, LineCollector, Parsed
from collectors.compression import Limits
from collectors.inputs import FileResult, Status
from collectors.regions import KEPT_BYTES
from collectors.scan import scan_file
from diagnose.facts import Source, Subject
from diagnose.facts.host import GpuInventory
from diagnose.facts.kernel import DriverMessage


class Table(BlockCollector):
    """Opens at `TABLE`; each `row` line is a fact's worth."""

    kind = "table"
    literals = (b"TABLE",)
    command = re.compile(r"\bshow-table\b")
    seen: ClassVar[list[Block]] = []

    @classmethod
    def opens(cls, text: str) -> bool:
        return text.startswith("TABLE")

    @classmethod
    def resembles(cls, lines: list[str]) -> float:  # type: ignore[override]
        return sum(line.startswith("row") for line in lines) / len(lines)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        cls.seen.append(block)
        rows = sum(text.startswith("row") for text in block.texts())
        if not rows:
            return Parsed()
        fact = GpuInventory(subject=block.subject(), sources=(block.source(),), listed=rows, tool="table")
        return Parsed([fact], [f"line {line.number}: bad" for line in block.lines if line.text.startswith("row bad")])


class Single(BlockCollector):
    """One block in a file, which ends where it says so; log lines in between do not end it."""

    kind = "single"
    literals = (b"BEGIN",)
    reopens = False
    interleaved = True

    @classmethod
    def opens(cls, text: str) -> bool:
        return text.startswith("BEGIN")

    @classmethod
    def closes(cls, text: str) -> bool:
        return text == "END"

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        return Parsed([GpuInventory(sources=(block.source(),), listed=len(block.lines), tool="single")])


class Log(LineCollector):
    """Takes lines with `NVRM`, counts them."""

    kind = "log"
    literals = (b"NVRM", b"kernel:")

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.taken: list[tuple[int, str | None]] = []

    @classmethod
    def resembles(cls, lines: list[str]) -> float:  # type: ignore[override]
        return sum("] systemd" in line for line in lines) / len(lines)

    def feed(self, line: Line, host: str | None) -> bool:
        if "NVRM" not in line.text:
            return False
        self.taken.append((line.number, host))
        return True

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        first, host = self.taken[0] if self.taken else (1, None)
        code = f"claimed of {total_lines}" if claimed else f"total {total_lines}"
        fact = DriverMessage(
            subject=Subject(host=host), sources=(self.source(first),), code=code, count=max(1, len(self.taken))
        )
        return Parsed([fact])


@pytest.fixture(autouse=True)
def forget_blocks() -> None:
    Table.seen.clear()


def scan(text: str | bytes, limits: Limits | None = None) -> FileResult:
    data = text if isinstance(text, bytes) else text.encode()
    return scan_file(None, "x.txt", (Table, Single), (Log,), stdin=io.BytesIO(data), limits=limits)


def kinds(result: FileResult) -> list[tuple[str, str, int, int | None]]:
    return [(report.kind, report.status.value, report.facts, report.first_line) for report in result.reports]


def block_texts() -> list[list[str]]:
    return [block.texts() for block in Table.seen]


def test_blocks_of_one_kind_are_one_part() -> None:
    result = scan("TABLE\nrow 1\nTABLE\nrow 1\nrow 2\n")
    assert kinds(result) == [("table", "parsed", 2, 1)]
    assert [fact.sources[0] for fact in result.facts] == [Source(path="x.txt", line=1), Source(path="x.txt", line=3)]


def test_problems_make_a_part_partial_and_are_named() -> None:
    (report,) = scan("TABLE\nrow\n" + "row bad\n" * 5).reports
    assert report.status is Status.PARTIAL
    assert report.detail == "line 3: bad; line 4: bad; line 5: bad (and 2 more)"


def test_lines_of_a_line_collector_are_left_out_of_blocks() -> None:
    result = scan("TABLE\nrow 1\nNVRM: hello\nrow 2\n")
    assert block_texts() == [["TABLE", "row 1", "row 2"]]
    assert kinds(result) == [("table", "parsed", 1, 1), ("log", "parsed", 1, 3)]


@pytest.mark.parametrize(
    "line",
    [
        "[   12.345678] usb 1-1: new device",
        "[Thu Oct  1 10:00:00 2026] usb 1-1: new device",
        "Oct  1 10:00:00 gpu-a01 kernel: usb 1-1: new device",
        "Okt. 1 10:00:00 gpu-a01 kernel: usb 1-1: new device",
        "2026-10-01T10:00:00,123456+02:00 gpu-a01 kernel: usb 1-1: new device",
        "2026-10-01 10:00:00 worker started",
        "I1001 10:00:00.123456 1 server.go:10] started",
        "gpu-a01:4711:4999 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/IPC",
    ],
)
def test_a_log_line_ends_a_block_but_not_an_interleaved_one(line: str) -> None:
    scan(f"TABLE\nrow 1\n{line}\nother\n")
    assert block_texts() == [["TABLE", "row 1"]]
    result = scan(f"BEGIN\n{line}\nEND\n")
    assert kinds(result) == [("single", "parsed", 1, 1)]


def test_a_table_whose_rows_begin_with_a_time_is_no_log() -> None:
    scan("TABLE\n2026/10/01 10:00:00.123, 0, 45\n2026-10-01 10:00:00, 0, 45\n")
    assert len(Table.seen[0].lines) == 3


def test_a_closing_line_belongs_to_the_block_and_ends_it() -> None:
    result = scan("BEGIN\nBEGIN again\nEND\nsome rest\n")
    assert [fact.values()["listed"] for fact in result.facts] == [3]
    assert kinds(result)[1] == ("text", "unrecognised", 0, 4)


def test_prompts_end_blocks_and_give_host_and_command() -> None:
    scan("ops@gpu-a01:~$ sudo show-table | cat\nTABLE\nrow 1\nops@gpu-a01:~$ exit\n")
    (block,) = Table.seen
    assert (block.host, block.command, block.texts()) == ("gpu-a01", "sudo show-table | cat", ["TABLE", "row 1"])


def test_output_under_a_known_command_needs_no_opening_line() -> None:
    result = scan("$ ssh root@gpu-a02 show-table --short\nrow 1\n$ show-table\nrow 1\n")
    assert [block.host for block in Table.seen] == ["gpu-a02", None]
    assert kinds(result) == [("table", "parsed", 2, 2)]


def test_output_that_its_command_does_not_explain_is_reported() -> None:
    result = scan("$ show-table\nsh: show-table: command not found\n")
    (report,) = result.reports
    assert (report.status, report.first_line) == (Status.UNRECOGNISED, 2)
    assert report.detail == "The output of `show-table` in line 2 is in no known format"


def test_a_command_that_goes_on_in_the_next_line_is_joined() -> None:
    scan("$ cat x | \\\n> show-table\nrow 1\n")
    assert Table.seen[0].command == "cat x | show-table"


def test_headings_name_the_host_of_what_follows() -> None:
    scan("=== gpu-a01 ===\nTABLE\nrow 1\n=== gpu-a02 ===\nTABLE\nrow 1\nNVRM: x\n")
    assert [block.host for block in Table.seen] == ["gpu-a01", "gpu-a02"]


def test_a_command_holds_for_the_sections_of_all_hosts() -> None:
    ruler = "-" * 16
    sections = (f"{ruler}\n{host}\n{ruler}\nrow of {host}\n" for host in ("gpu-a01", "gpu-a02"))
    scan("$ pdsh -w gpu-a[01-02] show-table | dshbak\n" + "".join(sections))
    assert [(block.host, block.texts()[0]) for block in Table.seen] == [
        ("gpu-a01", "row of gpu-a01"),
        ("gpu-a02", "row of gpu-a02"),
    ]


def test_a_word_below_a_ruler_of_a_table_is_output() -> None:
    text = "TABLE\n--------------\nnode1\nrow 1\n"
    scan(text)
    assert block_texts() == [text.splitlines()]


def test_frames_around_a_command_do_not_separate_it_from_its_output() -> None:
    frame = "#" * 60
    scan(f"{frame}\n# tables\n# $ show-table\n{frame}\nrow 1\n{frame}\n# $ uptime\n{frame}\nup\n")
    assert [block.texts() for block in Table.seen] == [["row 1"]]


def test_a_bug_report_names_commands_below_rulers() -> None:
    scan("_" * 44 + "\n\n/usr/bin/lspci show-table\n\nrow 1\n")
    assert Table.seen[0].command == "/usr/bin/lspci show-table"


def test_the_host_of_a_prompt_reaches_line_collectors() -> None:
    (fact,) = scan("ops@gpu-a01:~$ dmesg\nNVRM: x\n").facts
    assert fact.subject.host == "gpu-a01"


def test_a_fragment_goes_to_the_collector_that_it_resembles() -> None:
    assert kinds(scan("remark\n\nrow 1\nrow 2\nrow 3\n")) == [("table", "parsed", 1, 1)]


def test_a_healthy_log_without_any_hit_is_claimed() -> None:
    result = scan("[ 1.000000] systemd[1]: up\n" * 50)
    assert kinds(result) == [("log", "parsed", 1, 1)]
    assert result.facts[0].values()["code"] == "claimed of 50"


def test_a_log_with_hits_owns_the_lines_between_them() -> None:
    line = "[ 1.000000] systemd[1]: up\n"
    result = scan(line * 50 + "NVRM: x\n" + line * 50)
    assert kinds(result) == [("log", "parsed", 1, 51)]
    assert result.facts[0].values()["code"] == "total 101"


def test_dates_rulers_and_xml_prologues_beside_known_parts_are_not_reported() -> None:
    result = scan('Thu Oct  1 10:00:00 2026       \n+-----+\nTABLE\nrow 1\n$ x\n<?xml version="1.0" ?>\n')
    assert kinds(result) == [("table", "parsed", 1, 3)]
    assert result.lines.blank == 3


def test_unknown_parts_are_reported_one_by_one_and_together_where_there_are_many() -> None:
    assert [line for *_, line in kinds(scan("$ a\nx y\nx\n$ b\nx\n"))] == [2, 5]
    (report,) = scan("".join(f"$ a{number}\nx\n" for number in range(30))).reports
    assert report.detail == "30 parts with 30 lines together are in no known format"


@pytest.mark.parametrize(
    ("data", "kind", "status", "words"),
    [
        (b"", "text", Status.UNRECOGNISED, "empty"),
        (b"\n \n", "text", Status.UNRECOGNISED, "blank"),
        (b"hello\n", "text", Status.UNRECOGNISED, "No known format"),
        (b"\x7fELF" + bytes(60), "binary", Status.UNRECOGNISED, "ELF"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(60), "archive", Status.SKIPPED, "unpack"),
        (gzip.compress(b"x" * 999, mtime=0)[:10], "file", Status.UNREADABLE, "cut off"),
    ],
    ids=["empty", "blank", "prose", "program", "archive", "cut"],
)
def test_files_without_facts_say_why(data: bytes, kind: str, status: Status, words: str) -> None:
    (report,) = scan(data).reports
    assert (report.kind, report.status) == (kind, status)
    assert words in (report.detail or "")


def test_a_cut_off_compressed_file_is_partial() -> None:
    text = "TABLE\n" + "".join(f"row {number * 7919 % 100_000}\n" for number in range(50_000))
    (report,) = scan(gzip.compress(text.encode())[:-3000]).reports
    assert (report.kind, report.status, report.facts) == ("table", Status.PARTIAL, 1)
    assert "cut off" in (report.detail or "")


def test_a_bomb_is_partial_with_the_limit_in_its_detail() -> None:
    data = gzip.compress(b"TABLE\nrow 1\n" + b"\n" * 5_000_000)
    (report,) = scan(data, Limits(ratio=10, ratio_free_bytes=1000)).reports
    assert report.status in (Status.PARTIAL, Status.UNREADABLE)
    assert "bomb" in (report.detail or "")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_windows_files_are_read_like_others(encoding: str) -> None:
    result = scan("PS C:\\> show-table\r\nTABLE\r\nrow 1\r\n".encode(encoding))
    assert block_texts() == [["TABLE", "row 1"]]
    assert kinds(result) == [("table", "parsed", 1, 2)]


def test_coloured_output_is_read_like_plain() -> None:
    scan("\x1b[32mops@gpu-a01\x1b[0m:\x1b[34m~\x1b[0m$ show-table\r\n\x1b[4mTABLE\x1b[0m\nrow 1\n")
    assert block_texts() == [["TABLE", "row 1"]]
    assert Table.seen[0].host == "gpu-a01"


def test_a_block_that_grows_too_long_is_cut_off_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner_module, "BLOCK_LINES", 100)
    result = scan("TABLE\n" + "row\n" * 500)
    assert Table.seen[0].truncated
    assert len(Table.seen[0].lines) == 100
    assert result.reports[0].status is Status.PARTIAL
    assert result.lines.claimed == 501


def test_unclaimed_text_is_kept_up_to_a_limit_and_counted_beyond() -> None:
    lines = KEPT_BYTES // 5
    result = scan("abcdefghi\n" * lines)
    assert result.lines.unrecognised == lines
    assert result.reports[0].lines == lines


def test_a_huge_line_comes_in_parts_with_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("READ_BYTES", 1 << 12), ("CHUNK_BYTES", 1 << 13), ("LONGEST_LINE_BYTES", 1 << 14)):
        monkeypatch.setattr(f"collectors.stream.{name}", size)
    result = scan("first\nTABLE\nrow " + "1, " * 30_000 + "\nrow 2\n")
    numbers = [line.number for line in Table.seen[0].lines]
    assert sorted(set(numbers)) == [2, 3, 4]
    assert len(numbers) > 4
    assert "".join(Table.seen[0].texts()) == "TABLErow " + "1, " * 30_000 + "row 2"
    assert (result.lines.total, result.lines.claimed, result.lines.unrecognised) == (4, 3, 1)


def test_where_the_file_is_cut_into_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ruler = "-" * 12
    section = f"$ cat \\\n> show-table\nrow 1\n{ruler}\ngpu-a0{{}}\n{ruler}\nrow 2\nNVRM: x\nTABLE\nrow bad\nremark\n"
    text = "".join(section.format(number) for number in range(1, 400))
    whole = scan(text)
    monkeypatch.setattr("collectors.stream.READ_BYTES", 7)
    monkeypatch.setattr("collectors.stream.CHUNK_BYTES", 11)
    assert scan(text) == whole


def _raising(*_: object) -> None:
    raise RuntimeError("the parser tripped")


@pytest.mark.parametrize("method", ["opens", "closes", "parse", "resembles"])
def test_a_block_collector_that_raises_costs_only_its_own_part(method: str) -> None:
    opens = classmethod(lambda _, text: text.startswith("FAULT"))
    members = {"kind": "faulty", "literals": (b"FAULT",), "command": None, "opens": opens, method: _raising}
    faulty = type("Faulty", (Table,), members)
    text = "FAULT\nrow 1\nTABLE\nrow 1\n$ x\nremark\n"
    result = scan_file(None, "x.txt", (faulty, Table), (), stdin=io.BytesIO(text.encode()))
    by_kind = {report.kind: report for report in result.reports}
    assert by_kind["faulty"].status is Status.PARTIAL
    detail = str(by_kind["faulty"].detail)
    assert re.search(r"RuntimeError: the parser tripped in test_scan\.py:\d+, reading x\.txt:\d", detail)
    assert by_kind["table"].facts >= 1


@pytest.mark.parametrize("method", ["__init__", "feed", "finish"])
def test_a_line_collector_that_raises_costs_only_its_own_part(method: str) -> None:
    faulty = type("Faulty", (Log,), {"kind": "faulty", method: _raising})
    text = "TABLE\nrow 1\n" + "NVRM: x\n" * 300
    result = scan_file(None, "x.txt", (Table,), (faulty,), stdin=io.BytesIO(text.encode()))
    by_kind = {report.kind: report for report in result.reports}
    assert by_kind["faulty"].status is Status.PARTIAL
    assert "the parser tripped" in str(by_kind["faulty"].detail)
    assert by_kind["table"].facts == 1


PIECES = st.sampled_from(
    [
        "TABLE",
        "row 1",
        "row bad",
        "BEGIN",
        "END",
        "NVRM: x",
        "Oct  1 10:00:00 gpu-a01 kernel: NVRM: y",
        "Oct  1 10:00:00 gpu-a01 kernel: z",
        "$ show-table",
        "$ cat \\",
        "=== gpu-a01 ===",
        "-" * 12,
        "_" * 30,
        "#" * 30,
        "gpu-a01",
        "```",
        "",
        "   ",
        "some remark",
        "\x1b[1mbold\x1b[0m",
        "10%\r20%",
    ]
)


@given(st.lists(PIECES | st.text(max_size=12).map(lambda text: text.replace("\n", " ")), max_size=40), st.booleans())
@settings(max_examples=300)
def test_every_line_is_claimed_or_unrecognised_or_blank(pieces: list[str], ends: bool) -> None:
    data = "\n".join(pieces).encode("utf-8", "replace") + b"\n" * ends
    result = scan(data)
    if any(report.kind == "binary" for report in result.reports):
        return
    lines = result.lines
    assert lines.total == data.removeprefix(b"\xef\xbb\xbf").count(b"\n") + (not data.endswith(b"\n") and data != b"")
    assert lines.claimed + lines.unrecognised + lines.blank == lines.total
    assert result.reports
    for report in result.reports:
        assert report.first_line is None or 1 <= report.first_line <= lines.total


@given(st.binary(max_size=400))
@settings(max_examples=300)
def test_any_bytes_give_a_report_and_no_exception(data: bytes) -> None:
    assert scan(data).reports


@given(st.binary(max_size=200), st.sampled_from([b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh91AY&SY"]))
def test_any_bytes_behind_a_magic_number_give_a_report(data: bytes, magic: bytes) -> None:
    assert scan(magic + data).reports


def test_a_file_by_path_is_opened_and_named_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("TABLE\nrow 1\n")
    result = scan_file(path, "bundle/f", (Table,), ())
    assert result.path == "bundle/f"
    assert str(result.facts[0].sources[0]) == "bundle/f:1"


def test_a_file_that_cannot_be_opened_is_unreadable(tmp_path: Path) -> None:
    (report,) = scan_file(tmp_path / "absent", "absent", (Table,), ()).reports
    assert (report.status, report.detail) == (Status.UNREADABLE, "No such file or directory")


def test_json_of_endless_depth_is_in_no_known_format_and_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "deep").write_text('{"MESSAGE": ' * 100_000 + "1" + "}" * 100_000 + "\n")
    reports = scan_file(tmp_path / "deep", "deep").reports
    assert not any("Error" in (report.detail or "") for report in reports)

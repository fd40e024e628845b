"""Lines by their numbers, against what Python says of the same bytes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.tui.jobs import line_file, line_search
from diagnose.tui.jobs.line_file import LineFile
from diagnose.tui.jobs.line_search import find


def opened(path: Path, data: bytes) -> LineFile:
    path.write_bytes(data)
    with path.open("rb") as file:
        return LineFile(file)


def counted(file: LineFile) -> LineFile:
    while file.index_more():
        pass
    return file


LINES = st.lists(st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")), max_size=30)


@settings(max_examples=200, deadline=None)
@given(LINES, st.booleans(), st.integers(1, 40))
def test_every_line_is_found_whatever_the_size_of_blocks(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], ends: bool, block: int
) -> None:
    data = b"\n".join(parts) + (b"\n" if ends else b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_file, "BLOCK_BYTES", block)
        file = counted(opened(tmp_path_factory.getbasetemp() / "lines", data))
        expected = data.removesuffix(b"\n").split(b"\n") if data else []
        assert file.lines == len(expected)
        spans = [file.span(number) for number in range(file.lines)]
        assert [file.read(span.start, span.end - span.start) for span in spans if span] == expected
        for number, span in enumerate(spans):
            assert span is not None
            assert file.line_at(span.start) == number
        assert file.span(file.lines) is None


@settings(max_examples=200, deadline=None)
@given(st.text("abA\n", max_size=60), st.text("abA", min_size=1, max_size=3), st.data(), st.integers(1, 9))
def test_a_search_finds_what_a_plain_search_finds(
    tmp_path_factory: pytest.TempPathFactory, text: str, words: str, data: st.DataObject, piece: int
) -> None:
    start = data.draw(st.integers(0, len(text)))
    looked_in = text if words != words.lower() else text.lower()
    places = [at for at in range(len(text)) if looked_in.startswith(words, at)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_search, "_PIECE_BYTES", piece)
        file = opened(tmp_path_factory.getbasetemp() / "searched", text.encode())
        go_on = threading.Event()
        after = [at for at in places if at >= start] + places
        before = [at for at in places[::-1] if at < start] + places[::-1]
        assert find(file, words, start, forwards=True, cancelled=go_on) == (after[0] if after else None)
        assert find(file, words, start, forwards=False, cancelled=go_on) == (before[0] if before else None)


def test_a_search_that_is_cancelled_ends(tmp_path: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    assert find(opened(tmp_path / "log", b"needle"), "needle", 0, forwards=True, cancelled=cancelled) is None


def test_lines_are_known_as_far_as_they_are_counted(tmp_path: Path) -> None:
    file = opened(tmp_path / "log", b"x" * 99 + b"\n" + b"y\n" * line_file.BLOCK_BYTES)
    assert file.lines == 0
    file.index_more(1)
    assert 1 < file.lines < line_file.BLOCK_BYTES
    assert not file.complete
    assert file.span(0) == (0, 99)
    assert file.span(line_file.BLOCK_BYTES) is None


def test_a_file_that_is_cut_while_it_is_shown_gives_less_and_says_so(tmp_path: Path) -> None:
    file = counted(opened(tmp_path / "log", b"one\ntwo\n" * 20_000))
    assert not file.changed
    (tmp_path / "log").write_bytes(b"one\n")
    assert file.changed
    span = file.span(30_000)
    assert span is None or file.read(span.start, span.end - span.start) == b""

"""Traces are read event by event, around cuts and damage."""

from __future__ import annotations

import io
import json
import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import trace_json
from collectors.trace_json import TraceJson

EVENTS = [
    {
        "ph": "X",
        "cat": "kernel",
        "name": f"k{at} " + "x" * (at % 37),
        "ts": at * 1.5,
        "dur": 1,
        "args": {"grid": [at]},
    }
    for at in range(200)
]
TEXT = json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": EVENTS, "traceName": "näme"})


def read(data: bytes) -> tuple[list[dict[str, Any]], TraceJson]:
    reader = TraceJson(io.BytesIO(data))
    return list(reader.events()), reader


@pytest.fixture(params=[1, 7, 1000, 1 << 22])
def piece_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(trace_json, "_READ_BYTES", request.param)
    size: int = request.param
    return size


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.usefixtures("piece_bytes")
def test_events_and_header_come_whole_however_the_file_is_cut_into_pieces(indent: int | None) -> None:
    found, reader = read(json.dumps(json.loads(TEXT), indent=indent, ensure_ascii=False).encode())
    assert found == EVENTS
    assert reader.header == {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceName": "näme"}
    assert (reader.cut, reader.damaged) == (False, 0)


def test_a_bare_array_of_events_is_read_with_and_without_its_end() -> None:
    assert read(json.dumps(EVENTS).encode())[0] == EVENTS
    found, reader = read(json.dumps(EVENTS).encode()[:-1])
    assert found == EVENTS
    assert reader.cut


@given(st.integers(0, len(TEXT)))
def test_a_cut_file_gives_the_events_before_the_cut(length: int) -> None:
    found, reader = read(TEXT.encode()[:length])
    assert found == EVENTS[: len(found)]
    assert reader.cut == (length < len(TEXT.encode()))
    assert reader.damaged == 0


def test_events_around_damage_are_read() -> None:
    broken = TEXT.replace('"name": "k50 ', '"name": k50 ').replace('"name": "k120 ', '"na"me": "k120 ')
    found, reader = read(broken.encode())
    assert reader.damaged == 2
    assert [event["name"].split()[0] for event in found] == [f"k{at}" for at in range(200) if at not in (50, 120)]


@pytest.mark.parametrize(
    ("sound", "damaged", "events"),
    [
        ('"schemaVersion": 1', '"schemaVersion": #', 200),
        ('[{"id": 0}]', '[{"id" 0}]', 200),
        ('"schemaVersion": 1', '"schemaVersion": "' + "x" * 5000, 200),
        ('"traceName": "', '"traceName" "', 200),
        ('"traceEvents": [', '"traceEvents" [', 0),
    ],
)
@pytest.mark.usefixtures("piece_bytes")
def test_events_behind_a_damaged_header_are_read(sound: str, damaged: str, events: int) -> None:
    assert sound in TEXT
    found, reader = read(TEXT.replace(sound, damaged).encode())
    assert found == EVENTS[:events]
    assert (reader.damaged, reader.cut) == (1, False)


def test_a_header_too_long_to_keep_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_json, "_READ_BYTES", 1000)
    monkeypatch.setattr(trace_json, "_HEADER_CHARACTERS", 5000)
    found, reader = read(TEXT.replace('"schemaVersion": 1', f'"note": "{"x" * 50_000}"').encode())
    assert (found, reader.damaged) == (EVENTS, 1)


def test_flipped_bits_lose_little_and_never_raise() -> None:
    generator = random.Random(1)
    for _ in range(200):
        data = bytearray(TEXT.encode())
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        found, reader = read(bytes(data))
        assert len(found) >= 190 or reader.damaged or reader.cut


@pytest.mark.parametrize("rest", ["\0\0\0", TEXT, "}"])
def test_what_follows_the_end_is_told(rest: str) -> None:
    found, reader = read(f"{TEXT}\n{rest}".encode())
    assert found == EVENTS
    assert (reader.cut, reader.damaged) == (False, 1)


def test_a_mark_of_the_encoding_is_passed_over() -> None:
    found, reader = read(b"\xef\xbb\xbf" + TEXT.encode())
    assert found == EVENTS
    assert reader.damaged == 0


@pytest.mark.parametrize("rows", [[{"args": {"n": 1}, **event} for event in EVENTS], [{"x\t": 1}, *EVENTS]])
def test_events_come_whole_whatever_their_first_key(rows: list[dict[str, Any]]) -> None:
    assert read(json.dumps(rows * 20).encode())[0] == rows * 20


class _CountingPattern:
    """Adds up how far searches go."""

    def __init__(self) -> None:
        self.characters = 0

    def search(self, text: str, at: int) -> re.Match[str] | None:
        found = _MARK.search(text, at)
        self.characters += max(0, (found.end() if found else len(text)) - at)
        return found


_MARK = trace_json._OBJECT_BEGINS


@pytest.mark.parametrize("comma", [",", ", 1,"])
def test_a_file_is_searched_for_marks_a_few_times_over_at_most(comma: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = _CountingPattern()
    monkeypatch.setattr(trace_json, "_OBJECT_BEGINS", counting)
    text = "[" + comma.join(json.dumps({"args": {"n": at}, "ph": "X"}) for at in range(10_000)) + "]"
    assert len(read(text.encode())[0]) == 10_000
    assert counting.characters < 4 * len(text)


DEEP = "[" * 200_000


@pytest.mark.parametrize("content", ["", "[", "{", "[[[[", "{}", DEEP, '{"traceEvents": ' + DEEP, "nul", "\x00"])
def test_other_content_ends_quietly(content: str) -> None:
    assert read(content.encode())[0] == []

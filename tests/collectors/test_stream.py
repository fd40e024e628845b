"""Files of every kind become clean text with the line numbers of the file, or a reason why not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import random
import struct
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors import stream as stream_module
from collectors.compression import Limits
from collectors.stream import TextStream, clean

TEXT = "".join(f"line {number}: fan {number * 37 % 100} %\n" for number in range(1, 5001)).encode()
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}
each_compression = pytest.mark.parametrize("name", COMPRESSORS)


def read(data: bytes, limits: Limits | None = None) -> tuple[bytes, list[str]]:
    stream = TextStream(io.BytesIO(data), limits)
    return b"".join(stream.chunks()), stream.problems


def reason(data: bytes) -> tuple[str, str]:
    stream = TextStream(io.BytesIO(data))
    assert stream.not_text is not None
    assert not list(stream.chunks())
    return stream.not_text.kind, stream.not_text.reason


@each_compression
def test_compressed_text_is_expanded(name: str) -> None:
    assert read(COMPRESSORS[name](TEXT)) == (TEXT, [])


@each_compression
def test_members_of_one_compressed_file_are_read_one_after_another(name: str) -> None:
    compress = COMPRESSORS[name]
    assert read(compress(TEXT) + compress(b"more\n")) == (TEXT + b"more\n", [])


@each_compression
def test_a_cut_off_compressed_file_gives_its_beginning_and_a_problem(name: str) -> None:
    noise = random.Random(1)
    text = b"".join(b"%030x\n" % noise.getrandbits(120) for _ in range(60_000))
    data = COMPRESSORS[name](text)
    expanded, problems = read(data[: len(data) * 3 // 4])
    assert len(expanded) > len(text) // 3
    assert text.startswith(expanded[:-1])
    assert len(problems) == 1
    assert "cut off" in problems[0]


@each_compression
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_damaged_compressed_data_never_raises(name: str, data: st.DataObject) -> None:
    packed = bytearray(COMPRESSORS[name](TEXT))
    position = data.draw(st.integers(10, len(packed) - 1))
    packed[position] ^= data.draw(st.integers(1, 255))
    expanded, _ = read(bytes(packed))
    assert expanded.count(b"\n") >= 0


def test_zeros_after_the_compressed_data_are_padding() -> None:
    assert read(gzip.compress(TEXT) + bytes(512)) == (TEXT, [])


def test_other_bytes_after_the_compressed_data_are_reported() -> None:
    expanded, problems = read(gzip.compress(TEXT) + b"trailing remark")
    assert expanded == TEXT
    assert "follow the end of the gzip data" in problems[0]


@each_compression
def test_a_decompression_bomb_stops_at_the_ratio(name: str) -> None:
    limits = Limits(ratio=20, ratio_free_bytes=1_000_000)
    expanded, problems = read(COMPRESSORS[name](b"0" * 79 * 200_000), limits)
    assert len(expanded) <= 6_000_000
    assert "decompression bomb" in problems[0]


def test_expanded_size_has_a_limit_of_its_own() -> None:
    _, problems = read(gzip.compress(TEXT), Limits(expanded_bytes=50_000))
    assert "more than 50,000 bytes" in problems[0]


def test_a_compressed_file_inside_a_compressed_file_is_named() -> None:
    assert reason(gzip.compress(gzip.compress(TEXT))) == (
        "binary",
        "The file is compressed more than once: expand it and name the result instead",
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_in_other_encodings_is_decoded(encoding: str) -> None:
    text = "GPU 0: température 45 °C\r\n" * 20
    assert read(text.encode(encoding))[0].decode() == text.replace("\r\n", "\n")


def test_escapes_carriage_returns_and_nul_bytes_are_removed_and_lines_keep_their_numbers() -> None:
    prompt = b"\x1b]0;ops@gpu-a01: ~\x07ops@gpu-a01:~$ \x1b[?2004hnvidia-smi\x1b[?2004l\r\r\n"
    assert clean(prompt + b"\t\x1b[4mGPU0\x1b[0m\x00\x00\r\n\x1b(Bend") == b"ops@gpu-a01:~$ nvidia-smi\n\tGPU0\nend"


def test_an_unfinished_escape_takes_no_text_with_it() -> None:
    assert clean(b"a\x1b]0;title without end\nb\x1b[\nc\x1b") == b"a0;title without end\nb\nc"


def test_a_lone_carriage_return_stays() -> None:
    assert clean(b"10%\r20%\rdone\n") == b"10%\r20%\rdone\n"


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_cleaning_never_removes_a_line_end(data: bytes) -> None:
    assert clean(data).count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (pickle.dumps({"a": [1.5] * 20}), "binary", "pickle"),
        (pickle.dumps({"a": [1.5] * 20}, protocol=0), "binary", "pickle"),
        (pickle.dumps({"a": [1.5] * 20}, protocol=2), "binary", "pickle"),
        (b"\x7fELF\x02\x01\x01" + bytes(57), "binary", "ELF"),
        (b"MZ\x90\x00\x03\x00\x00\x00", "binary", "Windows program"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "binary", "PNG"),
        (b"PK\x03\x04" + bytes(40), "archive", "unpack"),
        (b"PK\x03\x04" + bytes(26) + b"model/data.pkl", "binary", "checkpoint"),
        (b"dir/\x00".ljust(257, b"\0") + b"ustar\x0000" + bytes(240), "archive", "tar archive"),
        (struct.pack("<200f", *(number / 7 for number in range(200))), "binary", "binary data"),
        (random.Random(3).randbytes(4000), "binary", "binary data"),
    ],
)
def test_what_is_not_text_is_named_and_not_read(data: bytes, kind: str, words: str) -> None:
    found, sentence = reason(data)
    assert found == kind
    assert words in sentence


def test_a_flight_recorder_that_is_a_pickle_is_named_with_the_way_to_json() -> None:
    kind, words = reason(pickle.dumps({"version": "2.9", "pg_config": {}, "entries": []}))
    assert kind == "binary"
    assert "flight recorder" in words
    assert "JSON" in words
    assert "flight recorder" not in reason(pickle.dumps({"a": [1.5] * 20}))[1]


def test_a_pickle_that_would_run_a_command_is_not_loaded(capfd: pytest.CaptureFixture[str]) -> None:
    class Hostile:
        def __reduce__(self) -> tuple[object, ...]:
            return print, ("pickle was loaded",)

    assert reason(pickle.dumps(Hostile()))[0] == "binary"
    assert capfd.readouterr().out == ""


def test_a_run_of_nul_bytes_of_a_crashed_machine_does_not_make_a_log_binary() -> None:
    text = b"Oct  1 10:00:00 gpu-a01 kernel: up\n" + bytes(3000) + b"Oct  1 10:05:00 gpu-a01 kernel: boot\n"
    assert read(text) == (text.replace(b"\0", b""), [])


def test_text_in_an_unknown_single_byte_encoding_is_text() -> None:
    text = "30. märz 10:00 Prüfung für Gerät läuft\n".encode("latin-1") * 10
    assert read(text) == (text, [])


def test_the_last_line_gets_its_end_and_an_empty_file_has_none() -> None:
    assert read(b"one\ntwo") == (b"one\ntwo\n", [])
    assert read(b"") == (b"", [])


def test_pieces_end_at_line_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "CHUNK_BYTES", 1000)
    chunks = list(TextStream(io.BytesIO(TEXT)).chunks())
    assert len(chunks) > 1
    assert all(chunk.endswith(b"\n") for chunk in chunks)
    assert b"".join(chunks) == TEXT


@pytest.mark.parametrize("unit", ["x", "ü", "1,", "nan "])
def test_a_very_long_line_is_cut_between_characters(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "READ_BYTES", 1 << 12)
    monkeypatch.setattr(stream_module, "CHUNK_BYTES", 1 << 14)
    monkeypatch.setattr(stream_module, "LONGEST_LINE_BYTES", 1 << 15)
    text = "a" + unit * 100_000 + "\nshort\n"
    chunks = list(TextStream(io.BytesIO(text.encode())).chunks())
    assert len(chunks) > 2
    assert "".join(chunk.decode("utf-8", errors="strict") for chunk in chunks) == text
    if unit in ("1,", "nan "):
        assert all(chunk.endswith(unit[-1].encode()) for chunk in chunks[:-1])


class _Failing(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() > 0:
            raise OSError(5, "Input/output error")
        return super().read(10_000)


def test_a_read_error_keeps_what_came_before() -> None:
    stream = TextStream(_Failing(TEXT))
    text = b"".join(stream.chunks())
    assert TEXT.startswith(text[:-1])
    assert len(text) > 5000
    assert "Input/output error" in stream.problems[0]

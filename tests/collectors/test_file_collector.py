from __future__ import annotations

import gzip
import tarfile
from pathlib import Path
from typing import ClassVar

import numpy as np

from collectors.base import FileCollector, OpenFile, Parsed
from collectors.dispatch import Dispatch
from collectors.inputs import FileResult, Readings, Status
from collectors.resolve import resolve_readings
from collectors.scan import scan_source
from diagnose.facts import Source, Subject
from diagnose.facts.gpu import GpuIdentity
from diagnose.facts.series import Clock, Series

MAGIC = b"SAMPLES1"


class Samples(FileCollector):
    """A binary table: a magic word, then float32 values, one for each second."""

    kind: ClassVar[str] = "samples"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        return head.startswith(MAGIC)

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        values = np.frombuffer(file.binary().read()[len(MAGIC) :], dtype="<f4")
        if not len(values):
            raise ValueError("no values")
        series = Series(
            "gpu_power_watts",
            Subject(gpu_index=1),
            np.arange(len(values), dtype=np.float64),
            values,
            Clock.RELATIVE,
            (Source(path=file.name),),
        )
        return Parsed(series=[series], problems=[] if file.path is None else [f"at {file.path}"])


def scan(path: Path) -> FileResult:
    with path.open("rb") as source:
        return scan_source(source, str(path), Dispatch((), (), (Samples,)))


def content(count: int = 4) -> bytes:
    return MAGIC + np.arange(count, dtype="<f4").tobytes()


def test_a_file_collector_gets_a_binary_file_and_its_place(tmp_path: Path) -> None:
    path = tmp_path / "power.bin"
    path.write_bytes(content())
    result = scan(path)
    assert result.series[0].sources[0].path == str(path)
    assert (result.reports[0].kind, result.reports[0].facts, result.reports[0].measurements) == ("samples", 0, 4)
    assert result.reports[0].detail == f"at {path}"


def test_what_is_compressed_or_in_an_archive_has_no_place_to_map(tmp_path: Path) -> None:
    packed = tmp_path / "power.bin.gz"
    packed.write_bytes(gzip.compress(content()))
    plain = tmp_path / "power.bin"
    plain.write_bytes(content())
    archive = tmp_path / "all.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(plain, "power.bin")
    for path in (packed, archive):
        result = scan(path)
        assert [report.status for report in result.reports] == [Status.PARSED]
        assert isinstance(result.series[0], Series)
        assert result.series[0].values.tolist() == [0, 1, 2, 3]


def test_a_file_collector_that_raises_is_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "power.bin"
    path.write_bytes(MAGIC)
    report = scan(path).reports[0]
    assert report.status is Status.PARTIAL
    assert "no values" in str(report.detail)


def test_measurements_take_the_names_that_facts_beside_them_make_certain() -> None:
    uuid = "GPU-00000000-1111-2222-3333-444444444444"
    identity = GpuIdentity(
        subject=Subject(host="node01", gpu_index=1, gpu_uuid=uuid), sources=(Source(path="dump/nvidia-smi.txt"),)
    )
    series = Series(
        "gpu_power_watts",
        Subject(gpu_index=1),
        np.zeros(2),
        np.zeros(2),
        Clock.UTC,
        (Source(path="dump/power.bin"),),
    )
    resolved = resolve_readings(Readings(facts=[identity], series=[series]))
    assert resolved.series[0].subject == Subject(host="node01", gpu_index=1, gpu_uuid=uuid)

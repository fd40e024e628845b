from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from collectors.inputs import FileResult, Status
from collectors.request_columns import Hints
from collectors.request_table import RequestTable
from collectors.scan import read_inputs, scan_file
from diagnose.facts.series import Clock, Requests
from tests.collectors.helpers import damaged

CSV = """\
request_id,timestamp,ttft_ms,latency_ms,prompt_tokens,completion_tokens,status
a,1700000000.5,50.5,500,100,20,200
b,1700000001.0,60.0,610.5,90,25,200
c,1700000002.0,,30000,80,0,503
"""


def read(tmp_path: Path, text: str | bytes, name: str = "requests.csv") -> FileResult:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return scan_file(path, name)


def table(result: FileResult) -> Requests:
    (found,) = result.series
    assert isinstance(found, Requests)
    assert result.reports[0].kind == "request-table"
    return found


def detail(result: FileResult) -> str:
    return result.reports[0].detail or ""


def test_columns_are_found_by_their_names(tmp_path: Path) -> None:
    found = table(read(tmp_path, CSV))
    assert set(found.columns) == {
        *("start_seconds", "ttft_seconds", "end_to_end_seconds", "input_tokens", "output_tokens", "succeeded"),
    }
    assert found.columns["end_to_end_seconds"] == pytest.approx([0.5, 0.6105, 30.0])
    assert np.isnan(found.columns["ttft_seconds"][2])
    assert list(found.columns["succeeded"]) == [1, 1, 0]
    assert found.clock is Clock.UTC
    assert found.sources[0].line == 1


def test_dialects_of_other_countries(tmp_path: Path) -> None:
    text = "id;Start Time;Latency (ms)\r\n1;2026-03-04T05:06:07+01:00;512,25\r\n2;2026-03-04T05:06:08+01:00;480,5\r\n"
    found = table(read(tmp_path, "\ufeff" + text))
    assert found.columns["end_to_end_seconds"] == pytest.approx([0.51225, 0.4805])
    assert (found.clock, float(found.columns["start_seconds"][0])) == (Clock.UTC, 1772597167.0)


def test_a_column_without_numbers_is_told(tmp_path: Path) -> None:
    result = read(tmp_path, "id,ttft_ms,latency_ms\n1,fast,500\n2,slow,600\n")
    assert detail(result) == "column 'ttft_ms' holds no number"
    assert set(table(result).columns) == {"end_to_end_seconds"}


def test_a_comma_between_commas_is_refused(tmp_path: Path) -> None:
    result = read(tmp_path, "id,latency_ms\n1,512,25\n2,480,5\n3,1,5\n")
    assert not result.series
    assert detail(result).startswith("line 2: rows have more cells than the header names")


def test_stamps_without_a_zone_are_the_machine_s(tmp_path: Path) -> None:
    text = "start_time,ttft_s\n2026-03-04 05:06:07.250,0.5\n2026-03-04 05:06:09,0.25\n"
    found = table(read(tmp_path, text))
    assert found.clock is Clock.LOCAL
    assert np.diff(found.columns["start_seconds"]) == pytest.approx([1.75])


def test_cells_may_have_units_of_their_own(tmp_path: Path) -> None:
    found = table(read(tmp_path, "id,latency\n1,12.5ms\n2,1.25s\n3,900us\n"))
    assert found.columns["end_to_end_seconds"] == pytest.approx([0.0125, 1.25, 0.0009])


def test_start_and_end_make_a_duration(tmp_path: Path) -> None:
    text = '{"start_ns": 1700000000000000000, "end_ns": 1700000000500000000, "output_tokens": 5}\n' * 3
    found = table(read(tmp_path, text, "r.jsonl"))
    assert found.columns["end_to_end_seconds"] == pytest.approx([0.5] * 3)


def test_a_unit_is_guessed_only_where_nothing_else_makes_sense(tmp_path: Path) -> None:
    found = table(read(tmp_path, "latency,success\n0.21,true\n0.42,false\n0.39,true\n"))
    assert found.columns["end_to_end_seconds"][0] == pytest.approx(0.21)
    assert list(found.columns["succeeded"]) == [1, 0, 1]


def test_a_unit_that_cannot_be_told_is_asked_for(tmp_path: Path) -> None:
    result = read(tmp_path, "latency,status\n12,200\n13,200\n11,200\n")
    assert not result.series
    assert detail(result) == (
        "column 'latency' does not tell its unit and its values (median 12) fit s as well as ms: "
        "say it with `--unit 'latency=ms'` (or s, us, ns)"
    )


def test_a_time_that_counts_from_nowhere_is_asked_for(tmp_path: Path) -> None:
    result = read(tmp_path, '{"timestamp": 27000, "input_length": 5, "output_length": 6}\n' * 3, "t.jsonl")
    assert "does not count from 1970" in detail(result)


def test_hints_name_columns_and_units(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("when,lat,who\n10.0,12.5,a\n10.5,13.5,b\n")
    told = RequestTable.told(Hints({"end_to_end_seconds": "lat", "start_seconds": "when"}, {"lat": "ms", "when": "s"}))
    (found,) = read_inputs([str(path)], more_file_collectors=[told]).series
    assert isinstance(found, Requests)
    assert found.columns["end_to_end_seconds"] == pytest.approx([0.0125, 0.0135])
    assert list(found.columns["start_seconds"]) == [10.0, 10.5]
    assert not read_inputs([str(path)]).series


def test_json_in_its_three_shapes(tmp_path: Path) -> None:
    rows = [{"metrics": {"request_latency": {"value": 125.0 + at, "unit": "ms"}}, "metadata": {"request_start_ns": 1}}
            for at in range(3)]  # fmt: skip
    for name, text in (
        ("list.json", json.dumps(rows, indent=2)),
        ("short.json", json.dumps(rows)),
        ("lines.jsonl", "\n".join(map(json.dumps, rows))),
    ):
        found = table(read(tmp_path, text, name))
        assert found.columns["end_to_end_seconds"] == pytest.approx([0.125, 0.126, 0.127])


def test_errors_without_a_status_are_failures(tmp_path: Path) -> None:
    rows = [{"ttft_s": 0.5, "error_code": None}, {"ttft_s": 0.6, "error_code": -100}, {"ttft_s": 0.7}]
    found = table(read(tmp_path, json.dumps(rows), "individual.json"))
    assert list(found.columns["succeeded"]) == [1, 0, 1]


def test_damaged_lines_are_counted(tmp_path: Path) -> None:
    line = '{"ttft_ms": 50.5, "latency_ms": 500.5}\n'
    result = read(tmp_path, line * 3 + '{"ttft_ms": 5' + "\n" + line, "r.jsonl")
    assert len(table(result)) == 4
    assert (result.reports[0].status, detail(result)) == (Status.PARTIAL, "1 lines are no records: damaged or cut")
    result = read(
        tmp_path, CSV.replace("503\n", "503\n" + "d,1700000003.0,70,700,10,10,200\n" * 500) + "x,5,6,1,2,3,4,5,6,7,8\n"
    )
    assert len(table(result)) == 504
    assert detail(result).startswith("rows have 4 cells more than the header names")


def test_compressed_tables_are_read(tmp_path: Path) -> None:
    assert len(table(read(tmp_path, gzip.compress(CSV.encode()), "requests.csv.gz"))) == 3


def test_a_damaged_parquet_file_or_a_lacking_library_is_a_problem(tmp_path: Path) -> None:
    result = read(tmp_path, b"PAR1" + bytes(2000), "requests.parquet")
    assert result.reports[0].status is Status.PARTIAL
    assert "parquet" in detail(result).lower()


def test_parquet_is_read_where_pyarrow_is_there(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"ttft_ms": [50.0, 60.0], "latency_ms": [500.0, 600.0], "note": ["a", "b"]})
    frame.to_parquet(tmp_path / "r.parquet")
    found = scan_file(tmp_path / "r.parquet", "r.parquet").series[0]
    assert isinstance(found, Requests)
    assert found.columns["ttft_seconds"] == pytest.approx([0.05, 0.06])


def test_many_rows_take_little_more_memory_than_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.request_table._ROWS", 5_000)
    rows = 100_000
    path = tmp_path / "big.csv"
    with path.open("w") as file:
        file.write("request_id,timestamp,latency_ms\n")
        file.writelines(f"request-{at},{1_700_000_000 + at * 0.01:.2f},{100 + at % 50}\n" for at in range(rows))
    scan_file(path, "warm-up")
    tracemalloc.start()
    found = table(scan_file(path, "big.csv"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == rows
    kept = sum(column.nbytes for column in found.columns.values())
    # The file is read in pieces of 4 MB; the numbers exist twice while they are joined.
    assert peak < 4 * kept + 24 * 2**20


def test_no_damage_raises(tmp_path: Path) -> None:
    lines = '{"ttft_ms": 50.5, "latency_ms": 500.5, "error": null}\n' * 3
    for name, text in (
        ("r.csv", CSV),
        ("r.jsonl", lines),
        ("r.json", json.dumps(json.loads(f"[{lines[:-1].splitlines()[0]}]"))),
    ):
        for at, cut in enumerate(damaged(text)):
            if at % 16 == 0:
                result = read(tmp_path, cut, name)
                assert not any(", reading " in (report.detail or "") for report in result.reports)


def test_traces_of_the_corpus(corpus: Path) -> None:
    folder = corpus / "files" / "llm-traces"
    trace = table(scan_file(folder / "azure-llm-code-head.csv", "azure"))
    assert (len(trace), trace.clock) == (550, Clock.LOCAL)
    assert "timestamp" in detail(scan_file(folder / "mooncake-conversation-head.jsonl", "mooncake"))
    for name in ("servegen-chunk0-trace.csv", "acme-cluster-summary.csv"):
        assert scan_file(folder / name, name).reports[0].status is Status.UNRECOGNISED
    individual = table(scan_file(corpus / "files" / "inference-bench" / "llmperf-individual-bedrock70b.json", "x"))
    assert (len(individual), int((individual.columns["succeeded"] == 0).sum())) == (150, 150 - int(
        individual.columns["succeeded"].sum()
    ))  # fmt: skip


def test_a_document_over_several_lines_is_no_table_of_records() -> None:
    document = b'{\n "latency_ms": 12,\n "timestamp": 1700000000\n}\n'
    assert not RequestTable.recognises(document, "state.json")
    assert RequestTable.recognises(document.replace(b"\n", b"") + b"\n", "requests.jsonl")


ROWS = [(f"{1_700_000_000 + at}", f"{0.5 + at / 100}") for at in range(40)]


def written(rows: Sequence[tuple[str, ...]], header: str = "start,latency_s") -> str:
    return "\n".join([header, *map(",".join, rows)]) + "\n"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("-1", "1 values of column 'latency_s' are negative or no numbers, and were left out"),
        ("inf", "1 values of column 'latency_s' are negative or no numbers, and were left out"),
        ("timeout", "1 values of column 'latency_s' are negative or no numbers, and were left out"),
        ("1e300", "1 values of column 'latency_s' are negative or no numbers, and were left out"),
        ("", ""),
    ],
)
def test_values_that_are_no_durations_are_counted(tmp_path: Path, cell: str, words: str) -> None:
    result = read(tmp_path, written([*ROWS, ("1700000041", cell)]))
    assert (result.reports[0].detail or "") == words
    assert np.isfinite(table(result).columns["end_to_end_seconds"]).sum() == 40


@pytest.mark.parametrize(
    ("stamps", "words"),
    [
        (["02.03.2026 10:00:00"] * 40, "holds no time that is understood"),
        (["2026-03-02T10:00:00Z", "2026-03-02T10:00:00"] * 20, "tells a time zone in some rows only"),
        (["nan", "1700000000"] * 20, "20 rows tell no time in column 'start'"),
    ],
)
def test_times_that_cannot_be_understood_are_told(tmp_path: Path, stamps: list[str], words: str) -> None:
    rows = [(stamp, latency) for stamp, (_, latency) in zip(stamps, ROWS, strict=True)]
    assert words in detail(read(tmp_path, written(rows)))


def test_of_columns_of_one_name_the_first_counts(tmp_path: Path) -> None:
    result = read(tmp_path, written([(*row, "9") for row in ROWS], "start,latency_s,latency_s"))
    assert detail(result) == "column 'latency_s' is there more than once: the first one counts"
    assert table(result).columns["end_to_end_seconds"][0] == pytest.approx(0.5)


def test_prompts_in_a_table_may_be_long_and_have_lines_of_their_own(tmp_path: Path) -> None:
    prompt = '"' + "a word, another\n" * 700 + '"'
    result = read(tmp_path, written([(*row, prompt) for row in ROWS], "start,latency_s,prompt"))
    assert len(table(result)) == 40
    assert result.reports[0].detail is None


def test_numbers_of_any_length_in_json_do_no_harm(tmp_path: Path) -> None:
    lines = [json.dumps({"start_time": 1.7e9 + at, "latency_s": 0.5}) for at in range(20)]
    result = read(
        tmp_path, "\n".join([*lines, '{"start_time": 1700000021, "latency_s": ' + "9" * 400 + "}"]), "r.jsonl"
    )
    assert len(table(result)) == 21


def test_tables_in_utf_16_are_known(tmp_path: Path) -> None:
    assert len(table(read(tmp_path, written(ROWS).encode("utf-16")))) == 40

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.base import Parsed
from collectors.scaling_table import ScalingTable
from collectors.scan import read_inputs
from diagnose.facts.scaling import ScalingMeasurement
from tests.collectors.helpers import block, damaged, opened

STRONG = """\
model,gpus,global_batch,samples_per_second
tiny,1,256,412
tiny,2,256,801
tiny,4,256,"1,380"
tiny,8,256,2090
"""
LINES = """\
{"world_size": 8, "tokens_per_second": 1.1e5}
{"world_size": 16, "tokens_per_second": 2.0e5}
{"world_size": 32, "tokens_per_second": null}
{"world_size": 64, "tokens_per_second": 5.0e5}
"""


def parse(text: str) -> Parsed:
    return ScalingTable.parse(block(text))


def points(text: str) -> list[tuple[int, float]]:
    return [(fact.gpus, fact.throughput) for fact in facts(text)]


def facts(text: str) -> list[ScalingMeasurement]:
    return [fact for fact in parse(text).facts if isinstance(fact, ScalingMeasurement)]


def test_rows_become_measurements_of_the_curve_that_their_labels_name() -> None:
    found = facts(STRONG)
    assert [(fact.gpus, fact.throughput) for fact in found] == [(1, 412), (2, 801), (4, 1380), (8, 2090)]
    assert {(fact.curve, fact.unit, fact.mode) for fact in found} == {
        ("samples_per_second (model tiny)", "samples-per-second", "strong")
    }
    assert [fact.sources[0].line for fact in found] == [2, 3, 4, 5]


def test_json_lines_are_read_by_their_names_and_missing_values_left_out() -> None:
    assert points(LINES) == [(8, 1.1e5), (16, 2.0e5), (64, 5.0e5)]
    assert {fact.unit for fact in facts(LINES)} == {"tokens-per-second"}


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("n\tthroughput", "work"),
        ("GPUs;images/s", "samples-per-second"),
        ("num_gpus,Throughput (tokens/s)", "tokens-per-second"),
        ("world size | train steps per second", "steps-per-second"),
        ("gpu_count,avg_tokens_per_sec", "tokens-per-second"),
        ("number of GPUs,it/s", "steps-per-second"),
    ],
)
def test_columns_are_found_by_meaning(header: str, unit: str) -> None:
    sign = next(sign for sign in "\t;,|" if sign in header)
    text = f"{header}\n1{sign}100\n2{sign}190\n"
    assert opened(ScalingTable, text) == [header]
    assert points(text) == [(1, 100.0), (2, 190.0)]
    assert {fact.unit for fact in facts(text)} == {unit}


def test_batches_tell_the_mode() -> None:
    weak = "gpus,batch_per_gpu,throughput\n1,32,100\n2,32,190\n4,32,370\n"
    mixed = "gpus,global_batch,throughput\n1,32,100\n2,48,190\n4,64,370\n"
    assert {fact.mode for fact in facts(weak)} == {"weak"}
    assert {fact.mode for fact in facts(mixed)} == {None}


def test_times_of_a_run_become_throughput() -> None:
    assert points("gpus,total_time_s\n1,100\n2,50\n4,25\n") == [(1, 0.01), (2, 0.02), (4, 0.04)]
    weak = "gpus,mbs,step_time_ms\n1,4,100\n2,4,125\n"
    assert [throughput for _, throughput in points(weak)] == pytest.approx([0.01, 0.016])


def test_a_step_time_without_the_batch_tells_no_throughput() -> None:
    parsed = parse("gpus,step_time_ms\n1,100\n2,60\n")
    assert parsed.facts == []
    assert parsed.problems == ["line 2: 'step_time_ms' tells no throughput without the batch; add a column for it"]


def test_a_sweep_of_the_batch_is_not_one_curve() -> None:
    parsed = parse("gpus,mbs,throughput\n1,1,50\n1,2,80\n2,1,90\n2,2,150\n")
    assert parsed.facts == []
    assert len(parsed.problems) == 1


def test_several_labels_are_several_curves() -> None:
    found = facts("gpus,precision,throughput\n1,bf16,100\n2,bf16,190\n1,fp8,150\n2,fp8,280\n4,tf32,1\n")
    assert [fact.curve for fact in found] == ["throughput (precision bf16)"] * 2 + ["throughput (precision fp8)"] * 2


@pytest.mark.parametrize(
    "text",
    [
        "step,gpus,throughput",
        "rank,world_size,samples_per_second",
        "epoch,gpus,throughput",
        "n,time",
        "gpus,price",
        "gpus,samples",
        "gpu,throughput",
        "throughput of 8 gpus was good",
        '{"step": 10, "world_size": 8, "throughput": 100}',
        '{"throughput": 100}',
        "gpus,throughput,gpus",
        "gpus,8,throughput",
        "{gpus, throughput}",
    ],
)
def test_other_tables_are_left_alone(text: str) -> None:
    assert opened(ScalingTable, text) == []


@pytest.mark.parametrize("row", ["2.5,100", "0,100", "2,0", "2,-4", "2,nan", "x,100", "2,XX", "2", "99999999,1"])
def test_rows_that_are_no_measurement_are_left_out(row: str) -> None:
    assert points(f"gpus,throughput\n1,100\n{row}\n4,300\n") == [(1, 100.0), (4, 300.0)]


def test_one_number_of_gpus_is_no_curve() -> None:
    assert parse("gpus,throughput\n8,100\n8,110\n").facts == []


@pytest.mark.parametrize("text", [STRONG, LINES])
def test_damaged_text_is_read_without_an_error(text: str) -> None:
    for broken in damaged(text):
        parse(broken)


def test_a_table_is_found_within_a_file(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Weekly numbers\n\n" + STRONG + "\nThat is all.\n")
    readings = read_inputs([str(tmp_path / "notes.md")])
    assert [item.kind for item in readings.inputs if item.kind == "scaling-table"] == ["scaling-table"]
    assert sum(isinstance(fact, ScalingMeasurement) for fact in readings.facts) == 4

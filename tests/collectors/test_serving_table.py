from __future__ import annotations

from pathlib import Path

from collectors.scan import scan_file
from collectors.serving_table import ServingTable
from tests.collectors.helpers import block, damaged, opened

RUNNING = """\
setup,samples,median_running,p95,max,tok/s
cuda_graph_max_bs=16,400,30,50,64,900
cuda_graph_max_bs=80,400,30,50,64,1500
plain,n/a,x,,,
"""


def test_rows_tell_load_setting_and_what_lies_outside_the_graphs() -> None:
    facts = ServingTable.parse(block(RUNNING)).facts
    assert [fact.kind for fact in facts] == ["serving-load", "serving-settings", "serving-decode-outside-graph"] * 2
    assert facts[0].values() == {
        "origin": "table",
        "configuration": "cuda_graph_max_bs=16",
        "samples": 400,
        "running_median": 30.0,
        "running_p95": 50.0,
        "running_max": 64.0,
        "generation_tokens_per_second_median": 900.0,
    }
    assert [facts[at].values()["outside_ratio"] for at in (2, 5)] == [0.5, 0.0]


def test_a_label_may_tell_an_event() -> None:
    text = "phase,tps_min,tps_max\nbefore,900,950\nafter preemption,20,40\n"
    facts = ServingTable.parse(block(text)).facts
    assert [fact.values().get("event") for fact in facts] == [None, None, "preemption"]
    assert facts[1].values()["generation_tokens_per_second_min"] == 20.0


def test_only_headers_with_a_label_and_a_load_open() -> None:
    assert opened(ServingTable, "config,running\n") == ["config,running"]
    for text in ("running,waiting\n", "config,gpus,samples\n", "rank,tok/s\n", "the config, running well\n"):
        assert opened(ServingTable, text) == []


def test_damage_does_not_raise() -> None:
    for text in damaged(RUNNING):
        ServingTable.parse(block(text))


def test_tables_of_the_cases_are_read(corpus: Path) -> None:
    path = corpus / "cases" / "jitter-cuda-graph-ceiling" / "running_req.csv"
    facts = [fact for fact in scan_file(path, "x").facts if fact.kind == "serving-decode-outside-graph"]
    assert [(fact.values()["cuda_graph_max_batch"], fact.values()["outside_ratio"]) for fact in facts] == [
        (32, 0.5), (128, 0.0),
    ]  # fmt: skip
    path = corpus / "cases" / "jitter-kv-pool-full-retraction" / "after.csv"
    assert [fact.kind for fact in scan_file(path, "x").facts] == ["serving-load", "serving-event"]

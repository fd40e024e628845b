from __future__ import annotations

import json
from typing import Any

import pytest

from collectors.flight_recorder import FlightRecorderJson, FlightRecorderText
from diagnose.facts.hang import FlightRecorderRank, FlightRecorderSummary
from tests.collectors.helpers import block, damaged, opened

SUMMARY = """\
completed nccl:all_reduce
    step train.py:41
    main train.py:90
started nccl:all_reduce
    step train.py:44
    main train.py:90
scheduled nccl:broadcast
    save checkpoint.py:12
    main train.py:95
"""


def entry(sequence: int, operation: str, state: str, **more: Any) -> dict[str, Any]:
    return {
        "record_id": sequence,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": sequence,
        "profiling_name": f"nccl:{operation}",
        "state": state,
        "is_p2p": False,
        "input_sizes": [[128]],
        "input_dtypes": ["Float"],
        **more,
    }


FRAMES = [
    {"name": "all_reduce", "filename": "/opt/lib/torch/distributed/distributed_c10d.py", "line": 2501},
    {"name": "step", "filename": "/home/user/train.py", "line": 44},
]
DUMP = {
    "version": "2.9",
    "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
    "entries": [
        entry(1, "broadcast", "completed"),
        entry(3, "all_gather", "scheduled"),
        entry(2, "all_reduce", "started", frames=FRAMES),
        entry(9, "send 0->1", "scheduled", is_p2p=True),
    ],
}


def one(dump: object, path: str = "nccl_trace_rank_3.json") -> FlightRecorderRank:
    (fact,) = FlightRecorderJson.parse(block(json.dumps(dump), path=path)).facts
    assert isinstance(fact, FlightRecorderRank)
    return fact


def test_rank_stands_in_the_first_call_that_is_not_complete() -> None:
    fact = one(DUMP)
    assert (fact.process_group, fact.group_size, fact.subject.rank) == ("0", 4, 3)
    assert (fact.last_completed_sequence, fact.last_sequence) == (1, 3)
    assert (fact.pending_sequence, fact.pending_operation, fact.pending_state) == (2, "all_reduce", "started")
    assert fact.pending_at == "step train.py:44"
    assert fact.calls[1] == "2 all_reduce [[128]] Float"


def test_rank_comes_from_the_dump_before_the_name_of_the_file() -> None:
    assert one({**DUMP, "rank": 7}).subject.rank == 7
    assert one(DUMP, path="dump.json").subject.rank is None


def test_old_dumps_have_another_name_for_the_sequence_and_no_group() -> None:
    old = {"version": "1.5", "entries": [{"seq_id": 4, "profiling_name": "nccl:all_reduce", "state": "completed"}]}
    fact = one(old)
    assert (fact.process_group, fact.last_completed_sequence, fact.pending_sequence) == ("0", 4, None)


def test_groups_are_kept_apart() -> None:
    two = {
        **DUMP,
        "entries": [entry(1, "all_reduce", "completed"), entry(8, "x", "started", process_group=["5", "tp"])],
    }
    facts = FlightRecorderJson.parse(block(json.dumps(two))).facts
    assert [fact.process_group for fact in facts if isinstance(fact, FlightRecorderRank)] == ["0", "5"]


def test_one_line_opens_and_many_lines_resemble() -> None:
    text = json.dumps(DUMP)
    assert opened(FlightRecorderJson, text) == [text]
    assert FlightRecorderJson.resembles(json.dumps(DUMP, indent=1).splitlines()) >= 0.5
    assert opened(FlightRecorderJson, '{"entries": []}') == []


def test_summary_counts_calls_that_wait_and_names_their_lines() -> None:
    (fact,) = FlightRecorderText.parse(block(SUMMARY)).facts
    assert isinstance(fact, FlightRecorderSummary)
    assert (fact.completed, fact.pending, fact.pending_operations) == (1, 2, 2)
    assert fact.pending_detail == (
        "all_reduce started at step train.py:44; broadcast scheduled at save checkpoint.py:12"
    )
    assert fact.sources[0].line == 4


def test_summary_of_one_operation_has_one() -> None:
    (fact,) = FlightRecorderText.parse(block(SUMMARY.replace("broadcast", "all_reduce"))).facts
    assert isinstance(fact, FlightRecorderSummary)
    assert fact.pending_operations == 1


def test_only_bare_lines_open_a_summary() -> None:
    assert opened(FlightRecorderText, SUMMARY)[0] == "completed nccl:all_reduce"
    assert opened(FlightRecorderText, "rank 3 started nccl:all_reduce at noon\n") == []


@pytest.mark.parametrize("text", [SUMMARY, json.dumps(DUMP)])
def test_damaged_text_never_raises(text: str) -> None:
    for broken in damaged(text):
        FlightRecorderText.parse(block(broken))
        FlightRecorderJson.parse(block(broken))

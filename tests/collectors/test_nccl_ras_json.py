from __future__ import annotations

import json
from typing import Any

import pytest

from collectors.nccl_ras_json import NcclRasJson
from diagnose.facts.hang import RasMismatch, RasProcess, RasStatus
from tests.collectors.helpers import block, damaged, opened

GONE: dict[str, Any] = {"rank": 1, "host": "10.9.8.7", "pid": 812, "cuda_dev": 0, "nvml_dev": 5}


def rank(number: int, count: int, **status: int) -> dict[str, Any]:
    return {
        "rank": number,
        "host": "10.9.8.6",
        "pid": 500 + number,
        "cuda_dev": 0,
        "nvml_dev": number,
        "status": {"init_state": 0, "async_error": 0, **status},
        "collective_counts": {"AllReduce": count},
    }


def query(ranks: list[dict[str, Any]], missing: list[dict[str, Any]]) -> str:
    communicator = {
        "hash": "0xaa11bb22cc33dd44",
        "secondary_hash": "0x1:0x2",
        "size": len(ranks) + len(missing),
        "ranks_count": len(ranks),
        "missing_ranks_count": len(missing),
        "ranks": ranks,
        "missing_ranks": missing,
    }
    return json.dumps(
        {
            "nccl_version": "2.28.9",
            "communicators_count": 1,
            "communicators": [communicator],
            "ras": {"collection_time_sec": 0.1, "timeouts_count": 2},
        }
    )


@pytest.mark.parametrize(
    ("flags", "state"),
    [
        ({"status": {"unresponsive": True, "considered_dead": False}}, "not-answering"),
        ({"unresponsive": True, "considered_dead": True}, "dead"),
    ],
)
def test_missing_process_is_named_whichever_way_its_flags_are_written(flags: dict[str, Any], state: str) -> None:
    status, process = NcclRasJson.parse(block(query([rank(0, 7)], [GONE | flags]))).facts
    assert isinstance(status, RasStatus)
    assert (status.ranks, status.timeouts) == (2, 2)
    assert isinstance(process, RasProcess)
    assert process.state == state
    assert process.subject.path() == "10.9.8.7/gpu/5/process/812/rank/1"


def test_rank_that_left_the_communicator_is_not_missing() -> None:
    (status,) = NcclRasJson.parse(block(query([rank(0, 7)], [GONE]))).facts
    assert isinstance(status, RasStatus)
    assert status.processes_not_answering == 0


def test_counts_that_differ_are_told_by_operation() -> None:
    _, mismatch = NcclRasJson.parse(block(query([rank(0, 7), rank(1, 7), rank(2, 3)], []))).facts
    assert isinstance(mismatch, RasMismatch)
    assert (mismatch.what, mismatch.groups, mismatch.outlying_ranks) == ("AllReduce", "2 at 7, 1 at 3", "2")


def test_asynchronous_error_counts_but_work_in_progress_does_not() -> None:
    failed = [rank(0, 7, async_error=6), rank(1, 7, init_state=7)]
    (status,) = NcclRasJson.parse(block(query(failed, []))).facts
    assert isinstance(status, RasStatus)
    assert status.failed_communicators == 1
    (status,) = NcclRasJson.parse(block(query([rank(1, 7, init_state=7)], []))).facts
    assert isinstance(status, RasStatus)
    assert status.failed_communicators == 0


def test_one_line_opens_and_many_lines_resemble() -> None:
    text = query([rank(0, 7)], [])
    assert opened(NcclRasJson, text) == [text]
    assert NcclRasJson.resembles(json.dumps(json.loads(text), indent=2).splitlines()) >= 0.5
    assert NcclRasJson.resembles(['{"communicators": 3}']) == 0


def test_damaged_text_never_raises_and_says_so() -> None:
    text = query([rank(0, 7)], [GONE | {"unresponsive": True}])
    assert NcclRasJson.parse(block(text[:-20])).problems
    for broken in damaged(text):
        NcclRasJson.parse(block(broken))

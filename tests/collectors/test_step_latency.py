from __future__ import annotations

from pathlib import Path

import pytest

from collectors.scan import scan_file
from collectors.step_latency import StepLatency
from diagnose.facts.series import Requests
from tests.collectors.helpers import damaged, feed

LOG = "Latency of step 0: 1.5 ms\nother\nLatency of step 1: 900 us\nLatency of step 2: 0.002 s\n"


def test_steps_are_a_table_of_requests() -> None:
    (table,) = feed(StepLatency, LOG).series
    assert isinstance(table, Requests)
    assert table.columns["end_to_end_seconds"] == pytest.approx([0.0015, 0.0009, 0.002])


def test_damage_does_not_raise() -> None:
    for text in damaged(LOG):
        if "Latency of step " in text:
            feed(StepLatency, text)


def test_the_log_of_the_corpus_is_read(corpus: Path) -> None:
    (table,) = scan_file(corpus / "files" / "inference-bench" / "superbench-dist-inference.log", "x").series
    assert len(table) == 100

from __future__ import annotations

import pytest

from collectors.tgi_log import TgiLog
from diagnose.facts.series import Clock, Requests
from tests.collectors.helpers import damaged, feed

LOG = """\
2026-03-04T05:06:07.100000Z  INFO text_generation_launcher: Using prefill chunking = false
2026-03-04T05:06:08.100000Z  INFO text_generation_launcher: Cuda Graphs are enabled for sizes [1, 2, 4, 8]
2026-03-04T05:06:09.100000Z  INFO text_generation_router: Setting max batch total tokens to 70000
2026-03-04T05:06:20.500000Z  INFO generate{parameters=GenerateParameters { max_new_tokens: Some(20) } total_time="1.5s" validation_time="210µs" queue_time="45.5ms" inference_time="1.45s" time_per_token="20.1ms" seed="None"}: text_generation_router::server: router/src/server.rs:407: Success
2026-03-04T05:06:21.500000Z  INFO generate{total_time="500ms" validation_time="210µs" queue_time="5.5ms" inference_time="494ms" time_per_token="19ms" seed="None"}: text_generation_router::server: router/src/server.rs:407: Success
2026-03-04T05:06:22.500000Z ERROR generate: text_generation_router::infer: router/src/infer.rs:330: Model is overloaded
"""  # noqa: E501


def test_requests_settings_and_refusals() -> None:
    parsed = feed(TgiLog, LOG)
    assert [fact.kind for fact in parsed.facts] == ["serving-engine", "serving-settings", "serving-event"]
    assert parsed.facts[1].values() == {
        "engine": "tgi",
        "chunked_prefill": False,
        "cuda_graph_max_batch": 8,
        "cuda_graph_batches": (1, 2, 4, 8),
        "kv_cache_tokens": 70_000,
    }
    assert (parsed.facts[2].values()["event"], parsed.facts[2].values()["count"]) == ("queue-full", 1)
    (table,) = parsed.series
    assert isinstance(table, Requests)
    assert table.clock is Clock.UTC
    assert table.columns["end_to_end_seconds"] == pytest.approx([1.5, 0.5])
    assert table.columns["queue_seconds"] == pytest.approx([0.0455, 0.0055])
    assert table.columns["itl_seconds"] == pytest.approx([0.0201, 0.019])
    assert float(table.columns["start_seconds"][1] - table.columns["start_seconds"][0]) == pytest.approx(2.0)


def test_damage_does_not_raise() -> None:
    for text in damaged(LOG):
        feed(TgiLog, text)

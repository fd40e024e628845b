from __future__ import annotations

from pathlib import Path

import pytest

from collectors.perplexity_log import PerplexityLog
from collectors.scan import read_inputs
from diagnose.facts.precision import PerplexityRun
from tests.collectors.helpers import damaged, feed

LOG = """\
print_info: file type   = Q4_K - Medium
llama_kv_cache_init: KV self size  = 256.00 MiB, K (f16): 128.00 MiB, V (f16): 128.00 MiB
perplexity: tokenizing the input ..
perplexity: calculating perplexity over 6 chunks, n_ctx=512, batch_size=2048, n_seq=4
perplexity: 2.10 seconds per pass - ETA 0.05 minutes
[1]4.1000,[2]4.9000,[3]5.2000,[4]5.1000,[5]5.0500,[6]5.0100,
Final estimate: PPL = 5.0100 +/- 0.02110
"""


def run(text: str, path: str = "x.log") -> PerplexityRun:
    (fact,) = feed(PerplexityLog, text, path).facts
    assert isinstance(fact, PerplexityRun)
    return fact


def test_run_is_summed_up() -> None:
    fact = run(LOG)
    assert (fact.chunks, fact.chunks_expected, fact.context_length) == (6, 6, 512)
    assert (fact.final, fact.stderr, fact.not_a_number) == (5.01, 0.0211, 0)
    assert (fact.kv_cache_format, fact.model_format, fact.role) == ("f16", "Q4_K - Medium", "low-bit")
    assert fact.series == (4.1, 4.9, 5.2, 5.1, 5.05, 5.01)


def test_nan_may_begin_midway() -> None:
    fact = run(
        LOG.replace("[4]5.1000,[5]5.0500,[6]5.0100", "[4]nan,[5]nan,[6]nan").replace("5.0100 +/- 0.02110", "nan")
    )
    assert (fact.not_a_number, fact.first_not_a_number, fact.final) == (3, 4, None)
    assert fact.series == (4.1, 4.9, 5.2)


def test_interrupted_run_ends_with_its_last_value() -> None:
    fact = run("[1]4.1000,[2]4.9000,", "ppl_reference.log")
    assert (fact.final, fact.chunks, fact.role) == (4.9, 2, "reference")


def test_a_line_of_a_million_characters_is_read_whole(tmp_path: Path) -> None:
    chunks = "".join(f"[{number}]{3 + number / 1e6:.4f}," for number in range(1, 60_001))
    path = tmp_path / "ppl.log"
    path.write_text(f"perplexity: calculating perplexity over 60000 chunks, n_ctx=512, batch_size=2048\n{chunks}\n")
    (fact,) = read_inputs([str(path)]).facts
    assert isinstance(fact, PerplexityRun)
    assert fact.chunks == pytest.approx(60_000, abs=20)  # where a part of the line ends a value may be cut
    assert fact.not_a_number == 0


def test_other_logs_give_nothing() -> None:
    assert feed(PerplexityLog, "[1] starting\nllama_context: n_ctx = 512\n[2] done\n").facts == []


def test_damage_is_survived() -> None:
    for text in damaged(LOG):
        feed(PerplexityLog, text)

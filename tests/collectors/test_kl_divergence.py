from __future__ import annotations

import pytest

from collectors.kl_divergence import KlDivergenceStatistics, KlDivergenceTable
from diagnose.facts import Fact
from diagnose.facts.precision import KlDivergenceResult
from tests.collectors.helpers import block, damaged, opened

TABLE = """\
KLD Evaluation Results (ref: Mini-BF16, dataset: some text, 20,480 positions)
=============================================================

Model                       Mean KLD   Median KLD    P99 KLD    Max KLD
-----------------------------------------------------------------------
org/Mini-AWQ (INT4)         0.021057     0.004700   0.311000     4.1000
org/Mini-FP8                0.004313     0.000843   0.041800     2.1100
"""
MARKDOWN = """\
| Quantization | size [GiB] | PPL                 | KLD                   |
|--------------|------------|---------------------|-----------------------|
| q4_K_M       |       4.58 | 6.40 ±   0.03       | 0.031273 ±   0.000238 |
| total        |            |                     |                       |
"""
STATISTICS = """\
====== Perplexity statistics ======
Mean PPL(Q)                   :   6.407115 ±   0.039119
Mean PPL(Q)/PPL(base)         :   1.028160 ±   0.000723

====== KL divergence statistics ======
Mean    KLD:   0.031273 ±   0.000238
Maximum KLD:   4.512300
99.0%   KLD:   0.310000
Median  KLD:   0.011000
Mean    Δp: -0.596 ± 0.014 %
Same top p: 91.901 ± 0.072 %
"""


def results(facts: list[Fact]) -> list[KlDivergenceResult]:
    return [fact for fact in facts if isinstance(fact, KlDivergenceResult)]


def test_rows_of_models() -> None:
    awq, fp8 = results(KlDivergenceTable.parse(block(TABLE)).facts)
    assert (awq.mean_nats, awq.median_nats, awq.p99_nats, awq.max_nats) == (0.021057, 0.0047, 0.311, 4.1)
    assert (awq.bits, fp8.bits, awq.positions) == (4.0, 8.0, 20480)


def test_markdown_rows_without_numbers_are_left_out() -> None:
    (fact,) = results(KlDivergenceTable.parse(block(MARKDOWN)).facts)
    assert (fact.model, fact.mean_nats, fact.precision) == ("q4_K_M", 0.031273, "int4")


def test_statistics_of_one_run() -> None:
    (fact,) = results(KlDivergenceStatistics.parse(block(STATISTICS, path="kld-q4_0.log")).facts)
    assert (fact.mean_nats, fact.max_nats, fact.p99_nats, fact.median_nats) == (0.031273, 4.5123, 0.31, 0.011)
    assert fact.top1_agreement_ratio == pytest.approx(0.91901)
    assert (fact.perplexity_ratio, fact.bits) == (1.02816, 4.0)


def test_each_opens_its_own() -> None:
    assert "Model" in opened(KlDivergenceTable, TABLE)[-1]
    assert opened(KlDivergenceTable, STATISTICS) == []
    assert len(opened(KlDivergenceStatistics, STATISTICS)) >= 1
    assert opened(KlDivergenceStatistics, "| Mean KLD | 0.1 | 0.4 | 0.2 |\n") == []


@pytest.mark.parametrize("text", [TABLE, MARKDOWN, STATISTICS])
def test_damage_is_survived(text: str) -> None:
    for part in damaged(text):
        KlDivergenceTable.parse(block(part))
        KlDivergenceStatistics.parse(block(part))

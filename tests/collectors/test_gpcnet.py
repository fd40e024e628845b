from __future__ import annotations

from pathlib import Path

from collectors.gpcnet import Gpcnet
from tests.collectors.helpers import block, damaged, opened

TESTS = """\
Network Tests v1.3
  Test with 4 MPI ranks (2 nodes)
+------------------------------------------------------------------------------+
|                            Isolated Network Tests                            |
+---------------------------------+--------------+--------------+--------------+
|                            Name |          Avg |          99% |        Units |
+---------------------------------+--------------+--------------+--------------+
|          RR Two-sided Lat (8 B) |          1.7 |          2.4 |         usec |
+---------------------------------+--------------+--------------+--------------+
|  RR Two-sided BW+Sync (131072 B) |       9000.0 |       8000.0 |   MiB/s/rank |
+---------------------------------+--------------+--------------+--------------+
"""


def test_rows_are_latencies_or_bandwidths_by_their_unit() -> None:
    latency, bandwidth = Gpcnet.parse(block(TESTS)).facts
    assert latency.kind == "network-latency"
    assert round(latency.values()["percentile_99_seconds"] * 1e6, 3) == 2.4
    assert bandwidth.values()["largest_bytes_per_second"] == 9000 * 1048576
    assert bandwidth.values()["operation"] == "isolated network tests: RR Two-sided BW+Sync"


def test_the_title_opens() -> None:
    assert opened(Gpcnet, TESTS) == ["Network Tests v1.3"]


def test_damaged_tables_do_not_raise() -> None:
    for text in damaged(TESTS):
        Gpcnet.parse(block(text))


def test_the_file_of_the_corpus_has_eight_rows(corpus: Path) -> None:
    text = (corpus / "files" / "perftest" / "superbench-gpcnet-test.log").read_text()
    assert len(Gpcnet.parse(block(text)).facts) == 8

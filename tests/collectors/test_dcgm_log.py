from __future__ import annotations

from pathlib import Path

from collectors.base import Line
from collectors.dcgm_log import DcgmLog
from tests.collectors.helpers import damaged, feed

LOG = """\
2025-03-04 10:11:12.131 INFO  [4242:4242] Diagnostic begins [/src/nvvs/src/TestFramework.cpp:90] [TestFramework::Go]
2025-03-04 10:11:13.131 ERROR [4242:4250] [[pcie]] Bandwidth of GPU 1 of 8.1 did not exceed minimum required \
bandwidth of 20.0 [/src/nvvs/plugin_src/pcie/Pcie.cpp:77] [Pcie::run]
2025-03-04 10:11:14.131 ERROR [4242:4250] [[pcie]] Bandwidth of GPU 1 of 8.0 did not exceed minimum required \
bandwidth of 20.0 [/src/nvvs/plugin_src/pcie/Pcie.cpp:77] [Pcie::run]
  10:11:15.131 Test nvbandwidth start
  10:11:16.131 ERROR [[nvbandwidth]] MCUTIL > 10% for GPU 0 (NVBandwidthPlugin.cpp:100)
"""


def test_errors_are_counted_by_test_gpu_and_meaning() -> None:
    facts = feed(DcgmLog, LOG).facts
    assert [(fact.subject.gpu_index, fact.values()["test"], fact.values()["code"]) for fact in facts] == [
        (1, "pcie", "low-bandwidth"),
        (0, "nvbandwidth", "gpu-busy"),
    ]
    assert [source.line for source in facts[0].sources] == [2, 3]


def test_an_error_of_the_test_is_no_verdict_on_the_gpu() -> None:
    assert {fact.values()["outcome"] for fact in feed(DcgmLog, LOG).facts} == {"error"}


def test_lines_of_other_logs_are_left_to_others() -> None:
    collector = DcgmLog("x.log")
    lines = ["2025-03-04 10:11:12.131 ERROR [1:2] out of memory [/app/main.cpp:3]", "[[nodiscard]] int f();"]
    assert not any(collector.feed(Line(number, text), None) for number, text in enumerate(lines, start=1))


def test_damaged_logs_do_not_raise() -> None:
    for text in damaged(LOG):
        feed(DcgmLog, text)


def test_the_case_gives_only_an_error_of_the_test(corpus: Path) -> None:
    text = (corpus / "cases" / "dcgm-nvbandwidth-false-fail" / "nvvs.log").read_text()
    (fact,) = feed(DcgmLog, text).facts
    assert (fact.subject.gpu_index, fact.values()["code"], fact.values()["outcome"]) == (2, "gpu-busy", "error")

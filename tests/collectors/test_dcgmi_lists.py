from __future__ import annotations

from pathlib import Path

from collectors.dcgmi_lists import DcgmiDiscovery, DcgmiNvlink
from tests.collectors.helpers import block, damaged, opened

GPUS = """\
2 GPUs found.
+--------+----------------------------------------------------------------------+
| GPU ID | Device Information                                                   |
+--------+----------------------------------------------------------------------+
| 0      | Name: NVIDIA A100-SXM4-80GB                                          |
|        | PCI Bus ID: 00000000:0F:00.0                                         |
|        | Device UUID: GPU-11111111-2222-3333-4444-555555555555                |
+--------+----------------------------------------------------------------------+
| 1      | Name: NVIDIA A100-SXM4-80GB                                          |
|        | PCI Bus ID: 00000000:15:00.0                                         |
|        | Device UUID: GPU-11111111-2222-3333-4444-666666666666                |
+--------+----------------------------------------------------------------------+
0 NvSwitches found.
"""
LINKS = """\
+----------------------+
|  NvLink Link Status  |
+----------------------+
GPUs:
    gpuId 0:
        U U D X _ _
    gpuId 1:
        U U U X _ _
Key: Up=U, Down=D, Disabled=X, Not Supported=_
"""


def test_names_of_a_gpu_are_joined() -> None:
    first = DcgmiDiscovery.parse(block(GPUS)).facts[0]
    assert first.subject.gpu_index == 0
    assert first.subject.gpu_bus_id == "0000:0f:00.0"
    assert first.subject.gpu_uuid == "GPU-11111111-2222-3333-4444-555555555555"
    assert first.values() == {"product_name": "NVIDIA A100-SXM4-80GB"}


def test_gpus_are_counted() -> None:
    inventory = DcgmiDiscovery.parse(block(GPUS)).facts[-1]
    assert inventory.values() == {"attached": 2, "listed": 2, "highest_index": 1, "tool": "dcgmi"}


def test_links_that_are_switched_off_or_not_there_do_not_count() -> None:
    facts = DcgmiNvlink.parse(block(LINKS)).facts
    summaries = [fact.values() for fact in facts if fact.kind == "nvlink-summary"]
    assert summaries == [{"links": 3, "active": 2, "inactive": 1}, {"links": 3, "active": 3, "inactive": 0}]
    (down,) = [fact for fact in facts if fact.values() == {"active": False}]
    assert (down.subject.gpu_index, down.subject.link, down.sources[0].line) == (0, 2, 6)


def test_titles_open() -> None:
    assert opened(DcgmiDiscovery, GPUS)[0] == "2 GPUs found."
    assert opened(DcgmiNvlink, LINKS)[0].strip("| ") == "NvLink Link Status"


def test_damaged_lists_do_not_raise() -> None:
    for text in damaged(GPUS):
        DcgmiDiscovery.parse(block(text))
    for text in damaged(LINKS):
        DcgmiNvlink.parse(block(text))


def test_the_links_of_the_corpus_file_that_are_down_are_found(corpus: Path) -> None:
    text = (corpus / "files" / "dcgmi" / "gcm-nvlink_status_fail_output.txt").read_text()
    down = [fact.subject for fact in DcgmiNvlink.parse(block(text)).facts if fact.values() == {"active": False}]
    assert [(subject.gpu_index, subject.link) for subject in down] == [(0, 3), (1, 6)]

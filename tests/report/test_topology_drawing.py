from __future__ import annotations

from xml.etree import ElementTree

import pytest

from diagnose.analysis.topology_graph import topology_graph
from diagnose.facts import Fact
from diagnose.report.topology_drawing import topology_svg, topology_text
from tests.analysis.topologies import nvlink_machine, one_switch, two_sockets


def text(facts: list[Fact], width: int = 100, encoding: str | None = "utf-8") -> str:
    return "\n".join(topology_text(topology_graph(facts), "n1", width, encoding))


def test_devices_stand_beneath_the_link_that_they_share() -> None:
    assert text(one_switch()).splitlines()[:6] == [
        "n1",
        "NUMA node unknown",
        "└─ PCIe 4.0 x8, shared by 2 GPUs and 2 NICs",
        "   ├─ GPU 0  PCIe 4.0 x16",
        "   ├─ GPU 1  PCIe 4.0 x16",
        "   ├─ mlx5_0  PCIe 4.0 x8",
    ]


def test_numa_nodes_and_the_matrix_are_shown() -> None:
    shown = text(two_sockets())
    assert shown.index("NUMA node 0") < shown.index("GPU 1") < shown.index("NUMA node 1") < shown.index("GPU 3")
    assert [row.split() for row in shown.splitlines() if row.startswith("GPU0")] == [
        ["GPU0", "X", "PIX", "SYS", "SYS", "PXB"]
    ]
    assert "SYS: 16 GB/s, the link between the sockets" in shown


def test_a_matrix_that_does_not_fit_is_left_out() -> None:
    assert "NV12  NV12" in text(nvlink_machine())
    assert "NV12  NV12" not in text(nvlink_machine(), width=40)


def test_ascii_terminals_get_ascii() -> None:
    assert text(one_switch(), encoding="ascii").isascii()
    assert text(one_switch(), encoding=None).isascii()


@pytest.mark.parametrize("facts", [one_switch(), two_sockets(), nvlink_machine(), []])
def test_svg_is_well_formed_and_names_every_device(facts: list[Fact]) -> None:
    graph = topology_graph(facts)
    picture = ElementTree.fromstring(topology_svg(graph, "n1"))
    words = " ".join(item.text or "" for item in picture.iter("{http://www.w3.org/2000/svg}text"))
    for gpu in graph.gpus:
        assert f"GPU {gpu}" in words
    if facts == nvlink_machine():
        assert "NVLink joins 28 of 28 pairs of GPUs: NV12" in words

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from diagnose.analysis import link_capacity

RULES = Path(__file__).resolve().parents[2] / "rules"


def test_figures_for_pcie_are_those_that_rules_read() -> None:
    table = yaml.safe_load((RULES / "tables" / "pcie-rate.yaml").read_text(encoding="utf-8"))
    for row in table["rows"]:
        values = row["values"]
        capacity = link_capacity.pcie(row["match"], 16)
        assert capacity is not None
        assert capacity.bytes_per_second == pytest.approx(values["lane_bytes_per_second"] * 16)
        assert capacity.achievable_ratio == values.get("achievable_ratio")
        assert link_capacity.pcie_generation(values["gigatransfers_per_second"]) == row["match"]


@pytest.mark.parametrize(
    ("product", "links", "gigabytes"),
    [
        ("NVIDIA B200", 18, 900),
        ("NVIDIA H100 80GB HBM3", 18, 450),
        ("NVIDIA GH200 480GB", 18, 450),
        ("NVIDIA H20", 18, 450),
        ("NVIDIA A100-SXM4-80GB", 12, 300),
        ("Tesla V100-SXM2-16GB", 6, 150),
        ("NVIDIA RTX A6000", 4, 56.25),
    ],
)
def test_nvlinks_add_up(product: str, links: int, gigabytes: float) -> None:
    capacity = link_capacity.nvlink(product, links)
    assert capacity is not None
    assert capacity.bytes_per_second == pytest.approx(gigabytes * 1e9)


@pytest.mark.parametrize(
    ("processor", "gigabytes"),
    [
        ("AMD EPYC 7742 64-Core Processor", 16),
        ("Intel(R) Xeon(R) Platinum 8480CL", 22),
        ("Intel(R) Xeon(R) Platinum 8480+", 22),
        ("Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", 10),
        ("Intel(R) Core(TM) i9-9900K", None),
        (None, None),
    ],
)
def test_the_link_between_sockets_depends_on_the_processor(processor: str | None, gigabytes: float | None) -> None:
    capacity = link_capacity.between_sockets(processor)
    assert (capacity.bytes_per_second / 1e9 if capacity else None) == gigabytes


def test_what_is_not_known_has_no_capacity() -> None:
    assert link_capacity.pcie(None, 16) is None
    assert link_capacity.pcie(4, None) is None
    assert link_capacity.pcie(9, 16) is None
    assert link_capacity.pcie_generation(3.0) is None
    assert link_capacity.nvlink("NVIDIA L4", 1) is None
    assert link_capacity.nvlink("NVIDIA A100-SXM4-80GB", None) is None

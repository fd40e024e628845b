"""Product names as tools print them, cut-off ones included, find the row of their model."""

from __future__ import annotations

import pytest

from diagnose.facts import Fact, Source
from diagnose.facts.gpu import GpuIdentity
from diagnose.knowledge.loader import load_knowledge


def specification(product_name: str) -> Fact | None:
    table = next(item for item in load_knowledge().tables if item.file.table == "gpu-specification")
    found = table.facts([GpuIdentity(sources=(Source(command="nvidia-smi -L"),), product_name=product_name)])
    return found[0] if found else None


@pytest.mark.parametrize(
    ("product_name", "values"),
    [
        ("NVIDIA GB300", {"nvlink_form": "switch", "tdp_watts": 1400}),
        ("NVIDIA GB200", {"nvlink_form": "switch", "tdp_watts": 1200}),
        ("NVIDIA B200", {"tdp_watts": 1000, "full_mesh_nvlinks_pair": 18}),
        ("NVIDIA H100 80GB HBM3", {"full_mesh_nvlinks_pair": 18, "pcie_generation_max": 5}),
        ("NVIDIA H100 NVL", {"nvlink_form": "bridge", "nvlink_links": 12}),
        ("NVIDIA H100 PCIe", {"nvlink_form": "bridge", "tdp_watts": 350}),
        ("NVIDIA H200", {"nvlink_form": "switch", "nvlink_links": 18}),
        ("NVIDIA H200 NVL", {"nvlink_form": "bridge", "nvlink_links": 18}),
        ("NVIDIA H800", {"full_mesh_nvlinks_pair": 8}),
        ("NVIDIA A100-SXM4-40GB", {"full_mesh_nvlinks_pair": 12, "memory_bytes": 40 * 2**30}),
        ("NVIDIA A100 80GB PCIe", {"nvlink_form": "bridge", "memory_bytes": 80 * 2**30}),
        ("NVIDIA A800 80G...", {"nvlink_form": "bridge", "nvlink_links": 8}),
        ("NVIDIA A10G", {"nvlink_form": "none", "memory_bytes": 24 * 2**30}),
        ("Tesla V100-SXM2...", {"nvlink_links": 6, "pcie_generation_max": 3}),
        ("NVIDIA L4", {"tdp_watts": 72}),
        ("NVIDIA L40", {"tdp_watts": 300}),
        ("NVIDIA L40S", {"tdp_watts": 350}),
        ("NVIDIA RTX PRO 6000 Blac...", {"nvlink_form": "none", "pcie_generation_max": 5}),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", {"tdp_watts": 300}),
        ("NVIDIA RTX 6000 Ada Gene...", {"pcie_generation_max": 4, "nvlink_form": "none"}),
        ("Quadro RTX 6000", {"pcie_generation_max": 3, "nvlink_form": "bridge"}),
        ("NVIDIA RTX A6000", {"nvlink_links": 4}),
        ("NVIDIA GeForce RTX 4090", {"peer_access_over_pcie": False}),
        ("NVIDIA GeForce RTX 4060 Ti", {"pcie_width_max": 8}),
        ("GeForce RTX 2080 Ti", {"nvlink_links": 2}),
        ("NVIDIA GeForce RTX 2080 SUPER", {"nvlink_links": 1}),
    ],
)
def test_a_product_name_finds_the_row_of_its_model(product_name: str, values: dict[str, object]) -> None:
    found = specification(product_name)
    assert found is not None
    assert {name: getattr(found, name) for name in values} == values


@pytest.mark.parametrize("product_name", ["NVIDIA RTX A2000", "NVIDIA GB10", "GRID K520", "NVIDIA Graphics Device"])
def test_a_model_that_the_table_does_not_know_yields_nothing(product_name: str) -> None:
    assert specification(product_name) is None


def test_the_figures_of_a_board_are_not_given_to_a_part_of_it() -> None:
    found = specification("NVIDIA A40-48Q")
    assert found is not None
    assert found.values() == {"product_name": "NVIDIA A40-48Q"}


def test_a_value_that_is_not_known_stays_absent() -> None:
    found = specification("NVIDIA GH200 480GB")
    assert found is not None
    assert "pcie_width_max" not in found.values()
    assert "peer_access_over_pcie" not in found.values()

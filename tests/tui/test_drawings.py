"""Which pictures are drawn for which cause."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.facts import Fact, Source, Subject
from diagnose.facts.gpu import GpuTemperature
from diagnose.facts.lowbit import TensorError
from diagnose.facts.scaling import ScalingMeasurement
from diagnose.facts.topology import GpuPath
from diagnose.tui.drawings import Material, Picture, pictures_for
from tests.tui.made import cause

SOURCE = (Source(path="table.csv", line=1),)


def tensor(position: int) -> TensorError:
    return TensorError(
        subject=Subject(), sources=SOURCE, tensor=f"layers.{position}.out", layer=position, position=position,
        role="output", elements=10, equal=False, relative_l2_ratio=0.01 * (position + 1), nan_count=0, inf_count=0,
        reference_nan_count=0, reference_inf_count=0,
    )  # fmt: skip


FACTS: list[Fact] = [
    *(
        ScalingMeasurement(
            subject=Subject(host="node-a"), sources=SOURCE, curve="tokens", gpus=gpus, throughput=100.0 * gpus**0.8,
            unit="tokens-per-second",
        )
        for gpus in (1, 2, 4, 8)
    ),
    *(
        GpuTemperature(
            subject=Subject(host=host, gpu_index=0), sources=SOURCE, gpu_celsius=50 + number, slowdown_celsius=90
        )
        for number, host in enumerate(("node-b", "node-a"))
    ),
    *(tensor(position) for position in range(4)),
]  # fmt: skip
MEASURED = (Picture("ttft over time", ("the curve",)),)


def titles(**given: Any) -> list[str]:
    material = Material(cause("c", "A cause", 0.9, **given), FACTS, MEASURED, 70)
    drawn = pictures_for(material)
    assert all(len(row) <= 70 for picture in drawn for row in picture.rows)
    return [picture.title for picture in drawn]


@pytest.mark.parametrize(
    ("symptom", "title"),
    [
        ("inference-jitter", "ttft over time"),
        ("multi-gpu-scaling", "tokens by number of GPUs"),
        ("multi-node-scaling", "tokens by number of GPUs"),
        ("low-bit-divergence", "Error by depth in the model"),
    ],
)
def test_a_symptom_has_its_picture(symptom: str, title: str) -> None:
    assert titles(symptoms=(symptom,), component="application") == [title]


def test_gpus_are_shown_where_the_cause_is_one_of_gpus_its_own_host_first() -> None:
    assert titles(symptoms=(), component="cooling", subjects=("node-a/gpu/0",)) == [
        "GPUs of node-a, bars are shares of limits",
        "GPUs of node-b, bars are shares of limits",
    ]


def test_the_topology_is_shown_where_the_cause_is_one_of_links() -> None:
    path = GpuPath(subject=Subject(host="node-a", gpu_index=0), sources=SOURCE, peer="1", connection="PIX", label="PIX")
    material = Material(cause("c", "A cause", 0.9, symptoms=(), component="pcie"), [path], (), 70)
    assert [picture.title for picture in pictures_for(material)] == ["How the devices of node-a are connected"]


def test_a_cause_of_software_has_no_picture() -> None:
    assert titles(symptoms=("job-hang",), component="application") == []

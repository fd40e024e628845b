"""Which pictures speak for a cause, drawn as lines of characters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from diagnose.facts import UNNAMED_HOST, Fact
from diagnose.report.model import ReportCause

_HOSTS = 4
_CURVES = 3
_DEVICES = ("pcie", "nvlink", "topology", "network", "fabric", "host", "node")
_GPUS = ("gpu", "gpu-engine", "gpu-memory", "gpu-firmware", "cooling", "power", "pcie", "driver", "nvlink", "node")


class Picture(NamedTuple):
    """A picture: title and lines."""

    title: str
    rows: Sequence[str]


@dataclass(frozen=True)
class Material:
    """What pictures are drawn from, and how wide and in which characters."""

    cause: ReportCause
    facts: Sequence[Fact]
    measured: Sequence[Picture]
    """Those of latency, drawn when it was read: measurements are too many to keep."""
    width: int
    encoding: str = "utf-8"

    def of(self, symptom: str) -> bool:
        """Whether the cause is one of a symptom."""
        return symptom in self.cause.symptoms

    def by_host(self) -> list[tuple[str, list[Fact]]]:
        """Facts of each host; hosts that the cause is on come first, and only some."""
        hosts: dict[str, list[Fact]] = defaultdict(list)
        for subject in self.cause.subjects:
            hosts[subject.partition("/")[0]] = []
        for fact in self.facts:
            hosts[fact.subject.host or UNNAMED_HOST].append(fact)
        return [(host, facts) for host, facts in hosts.items() if facts][:_HOSTS]


Draw = Callable[[Material], Iterator[Picture]]


def pictures_for(material: Material) -> list[Picture]:
    """All pictures that help with a cause."""
    return [picture for draw in DRAWN for picture in draw(material)]


def _latency(material: Material) -> Iterator[Picture]:
    if material.of("inference-jitter"):
        yield from material.measured


def _scaling(material: Material) -> Iterator[Picture]:
    if not (material.of("multi-gpu-scaling") or material.of("multi-node-scaling")):
        return
    from diagnose.analysis.scaling import curves
    from diagnose.report.scaling_plot import glyphs_for, scaling_plot

    for name, scaling in curves(material.facts)[:_CURVES]:
        yield Picture(f"{name} by number of GPUs", scaling_plot(scaling, material.width, glyphs_for(material.encoding)))


def _depth(material: Material) -> Iterator[Picture]:
    if not material.of("low-bit-divergence"):
        return
    from diagnose.facts.lowbit import TensorError
    from diagnose.lowbit.comparison import point_of
    from diagnose.report.depth_plot import depth_plot
    from diagnose.report.scaling_plot import glyphs_for

    points = [point_of(fact) for fact in material.facts if isinstance(fact, TensorError)]
    points = sorted((point for point in points if point.relative_l2_ratio), key=lambda point: point.position)
    if len(points) > 1:
        yield Picture("Error by depth in the model", depth_plot(points, material.width, glyphs_for(material.encoding)))


def _gpus(material: Material) -> Iterator[Picture]:
    from diagnose.report.gpu_table import gpu_gauges, gpu_table

    if material.cause.component not in _GPUS:
        return
    for host, facts in material.by_host():
        gauges = gpu_gauges(facts)
        if gauges:
            yield Picture(
                f"GPUs of {host}, bars are shares of limits", gpu_table(gauges, material.width, material.encoding)
            )


def _topology(material: Material) -> Iterator[Picture]:
    from diagnose.analysis.topology_graph import topology_graph
    from diagnose.report.topology_drawing import topology_text

    if material.cause.component not in (*_DEVICES, "gpu"):
        return
    for host, facts in material.by_host():
        graph = topology_graph(facts)
        if graph.gpus:
            rows = topology_text(graph, host, material.width, material.encoding)[1:]
            yield Picture(f"How the devices of {host} are connected", rows)


DRAWN: tuple[Draw, ...] = (_latency, _scaling, _depth, _gpus, _topology)
"""Every sort of picture, in the order in which they are shown."""

"""Facts of what a server has, by the collector that reads the same metrics from a file of an exporter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from collectors.base import Block, Line
from collectors.prometheus.samples import Stream
from collectors.prometheus.subjects import Hosts
from collectors.prometheus_text import PrometheusText
from diagnose.facts import Fact, Source


def exposition_facts(
    last: Sequence[Stream], hosts: Hosts, medians: Mapping[tuple[tuple[str, str], ...], float], shown_url: str
) -> list[Fact]:
    """Facts of the last samples of each host, gauges by their median over the range."""
    by_host: dict[str | None, list[Stream]] = defaultdict(list)
    for stream in last:
        by_host[hosts.host_of(stream.labels)].append(stream)
    return [fact for host, streams in by_host.items() for fact in _of_host(host, streams, medians, shown_url)]


def _of_host(
    host: str | None,
    streams: Iterable[Stream],
    medians: Mapping[tuple[tuple[str, str], ...], float],
    shown_url: str,
) -> Iterator[Fact]:
    lines: list[Line] = []
    times: list[float] = []
    for stream in streams:
        if not len(stream.values):
            continue
        value = medians.get(tuple(sorted(stream.labels.items())), float(stream.values[-1]))
        lines.append(Line(len(lines) + 1, f"{_series_text(stream.labels, host)} {value!r}"))
        times.append(float(stream.times_seconds[-1]))
    if not lines:
        return
    parsed = PrometheusText.parse(Block(path=shown_url, lines=lines, host=host))
    for fact in parsed.facts:
        yield fact.model_copy(update={"sources": tuple(_source(one, lines, times) for one in fact.sources)})


def _series_text(labels: Mapping[str, str], host: str | None) -> str:
    """The series as an exporter would print it, with the host that its labels turned out to mean."""
    shown = {name: value for name, value in labels.items() if name != "__name__"}
    if "Hostname" in shown and host is not None:
        shown["Hostname"] = host
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in shown.items())
    return labels.get("__name__", "") + (f"{{{inside}}}" if inside else "")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _source(source: Source, lines: Sequence[Line], times: Sequence[float]) -> Source:
    """Lines of the text made for the collector say nothing to the reader; the metric does."""
    place = (source.line or 1) - 1
    metric = lines[place].text.partition("{")[0].partition(" ")[0]
    return Source(path=source.path, command=metric, time=datetime.fromtimestamp(times[place], UTC))

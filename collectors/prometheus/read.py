"""Reads a time range of a Prometheus server into facts and series."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from collectors.inputs import InputReport, Readings, Status
from collectors.node_metrics import VIRTUAL_INTERFACES
from collectors.prometheus.access import PrometheusError
from collectors.prometheus.api import PrometheusApi
from collectors.prometheus.catalogue import (
    BY_GPU,
    BY_NIC,
    CPU_METRICS,
    CPU_SECONDS,
    FOLLOWED,
    HISTOGRAMS,
    PERIODS,
    REASON_BITS,
    REASON_METRICS,
    THROTTLED,
    Followed,
)
from collectors.prometheus.coverage import left_out, telemetry_configuration
from collectors.prometheus.exposition import exposition_facts
from collectors.prometheus.histograms import QUANTILES, Increments, classic, grouped, native
from collectors.prometheus.samples import Stream
from collectors.prometheus.subjects import Hosts, gpu_subject, nic_subject
from collectors.series_columns import counter_rates, series_of
from diagnose.facts import Source, Subject
from diagnose.facts.series import Clock, Series

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collectors.series_columns import Numbers

_READ = (
    r"DCGM_(?:FI|EXP)_.*",
    r"node_(?:uname_info|network_.*|infiniband_.*|ethtool_.*|memory_(?:MemTotal|MemAvailable|SwapTotal|Dirty"
    r"|HardwareCorrupted)_bytes|netstat_Tcp_.*|pressure_.*|vmstat_.*|procs_running|intr_total|context_switches_total"
    r"|disk_(?:written|read)_bytes_total)",
    r"container_cpu_cfs_(?:throttled_)?periods_total",
    *(r"vllm:.*", r"sglang:.*", r"tgi_.*", r"nv_(?:inference|gpu|llm|trt_llm)_.*"),
)
_MOST_SERIES = 100_000
_MATCHER = re.compile(r'^\s*([A-Za-z_]\w*)\s*(=~|!~|!=|=)\s*"?(.*?)"?\s*$')
_LONGEST_STEPS = 2.5
"""Scrapes may be this much later than usual before what lies between counts as a gap."""
_USUAL_INTERVAL = 15.0


@dataclass(frozen=True, slots=True)
class Range:
    """What is read."""

    start: float
    end: float
    step: float | None = None
    """Seconds between values; None for every sample as scraped."""
    matchers: tuple[str, ...] = ()
    """As PromQL writes them: `node="gpu01"`."""


def matcher(text: str) -> str:
    """`node=gpu01` as PromQL writes it. Raises ValueError where it is none."""
    match = _MATCHER.match(text)
    if match is None:
        raise ValueError(f"{text!r} is no condition on a label; write node=gpu01, or instance=~'gpu0[12]:.*'")
    value = match[3].replace("\\", "\\\\").replace('"', '\\"')
    return f'{match[1]}{match[2]}"{value}"'


def read_prometheus(
    api: PrometheusApi, wanted: Range, shown_url: str, progress: Callable[[str], None] | None = None
) -> Readings:
    """Facts and series of the range, and a report for each exporter. Raises PrometheusError."""
    reader = _Reader(api, wanted, shown_url, progress or (lambda _: None))
    reader.read()
    return reader.readings()


@dataclass(slots=True)
class _Reader:
    api: PrometheusApi
    wanted: Range
    shown_url: str
    progress: Callable[[str], None]
    last: list[Stream] = field(default_factory=list)
    hosts: Hosts = field(default_factory=lambda: Hosts(()))
    series: list[Series] = field(default_factory=list)
    medians: dict[tuple[tuple[str, str], ...], float] = field(default_factory=dict)
    """Typical value of a gauge, by its labels."""
    interval: float = _USUAL_INTERVAL

    def read(self) -> None:
        self.progress(f"asking {self.shown_url} what it has")
        names = "|".join(_READ)
        self.last = self.api.last(self._selector(f'__name__=~"{names}"'), self.wanted.start, self.wanted.end)
        if not self.last:
            raise PrometheusError(f"{self.shown_url}: {self._nothing()}")
        if len(self.last) > _MOST_SERIES:
            raise PrometheusError(
                f"{self.shown_url}: {len(self.last):,} series match: name the hosts in question with --match"
            )
        self.hosts = Hosts(self.last)
        present = dict.fromkeys(stream.name for stream in self.last)
        self.interval = self._scrape_interval(present)
        for name in present:
            if (followed := FOLLOWED.get(name)) is not None:
                self.progress(f"reading {name}")
                self._follow(name, followed)
        self._reasons(present)
        self._processors()
        self._throttling(present)
        for name in HISTOGRAMS:
            if f"{name}_bucket" in present or name in present:
                self.progress(f"reading {name}")
                self._histogram(name, f"{name}_bucket" in present)

    def _selector(self, *matchers: str) -> str:
        return "{" + ",".join((*matchers, *self.wanted.matchers)) + "}"

    def _nothing(self) -> str:
        """Why nothing matched, with what there is instead."""
        for text in self.wanted.matchers:
            label = re.split(r"[=!]", text, maxsplit=1)[0]
            values = self.api.label_values(label, self.wanted.start, self.wanted.end)
            if not values:
                return f"no series has a label {label!r}; `instance` and, in Kubernetes, `node` are usual"
            listed = ", ".join(values[:8]) + (", ..." if len(values) > 8 else "")
            return f"nothing of interest with {', '.join(self.wanted.matchers)}; values of {label!r} are: {listed}"
        return "neither dcgm-exporter, node_exporter nor an inference server was scraped in this time"

    def _scrape_interval(self, present: Mapping[str, None]) -> float:
        """Usual time between two scrapes, of the metric that comes first."""
        import numpy as np

        name = next((name for name in present if name in FOLLOWED), None)
        if name is None:
            return _USUAL_INTERVAL
        for first, last in ((self.wanted.end - 900, self.wanted.end), (self.wanted.start, self.wanted.start + 900)):
            streams = self.api.raw(self._selector(f'__name__="{name}"'), first, last)
            steps = [np.diff(stream.times_seconds) for stream in streams if len(stream.times_seconds) > 1]
            if steps:
                return float(np.median(np.concatenate(steps)))
        return _USUAL_INTERVAL

    @property
    def _gap(self) -> float:
        return _LONGEST_STEPS * max(self.interval, self.wanted.step or 0.0)

    def _fetch(self, name: str, over: str | None = None, where: str = "") -> list[Stream]:
        selector = self._selector(f'__name__="{name}"', *([where] if where else []))
        if over is None and self.wanted.step is None:
            return self.api.raw(selector, self.wanted.start, self.wanted.end)
        step = max(self.wanted.step or 0.0, self.interval)
        if over is None:
            return self.api.stepped(
                lambda window: f"last_over_time({selector}{window})", self.wanted.start, self.wanted.end, step
            )
        return self.api.stepped(
            lambda window: f"sum without ({over}) (last_over_time({selector}{window}))",
            self.wanted.start,
            self.wanted.end,
            step,
        )

    def _follow(self, name: str, followed: Followed) -> None:
        import numpy as np

        for stream in self._fetch(name, followed.over, followed.where):
            subject = self._subject(stream.labels, followed)
            values: Numbers = stream.values
            if subject is None or not np.isfinite(values).any():
                continue
            times: Numbers = stream.times_seconds
            if followed.counter:
                times, values = counter_rates(times, values, self._gap)
            else:
                key = tuple(sorted({**stream.labels, "__name__": name}.items()))
                self.medians[key] = float(np.median(values[np.isfinite(values)]))
            self._add(followed.metric, subject, times, values * followed.factor, name)

    def _reasons(self, present: Mapping[str, None]) -> None:
        """Why clocks were low at each moment, where no counter tells it for all of the time."""
        import numpy as np

        told = {series.metric for series in self.series}
        for name in REASON_METRICS:
            for stream in self._fetch(name) if name in present else ():
                subject = gpu_subject(stream.labels, self.hosts.host_of(stream.labels))
                known = np.isfinite(stream.values) & (stream.values >= 0) & (stream.values < 1 << 32)
                mask = np.where(known, stream.values, 0).astype(np.int64)
                for metric, bits in REASON_BITS.items():
                    if subject is not None and metric not in told:
                        flags = np.where(known, (mask & bits) != 0, np.nan)
                        self._add(metric, subject, stream.times_seconds, flags, name)

    def _subject(self, labels: Mapping[str, str], followed: Followed) -> Subject | None:
        host = self.hosts.host_of(labels)
        if followed.per == BY_GPU:
            return gpu_subject(labels, host)
        if followed.per == BY_NIC:
            device = labels.get("device", "")
            return None if not device or device.startswith(VIRTUAL_INTERFACES) else nic_subject(labels, host)
        return Subject(host=host)

    def _add(self, metric: str, subject: Subject, times: Numbers, values: Numbers, name: str) -> None:
        self.series += series_of(metric, subject, times, values, Clock.UTC, (self._source(name),))

    def _source(self, name: str) -> Source:
        return Source(path=self.shown_url, command=name)

    def _processors(self) -> None:
        """Shares of the processors' time, of the sums over all CPUs."""
        import numpy as np

        by_host: dict[str | None, dict[str, Stream]] = defaultdict(dict)
        for stream in self._fetch(CPU_SECONDS, over="cpu"):
            by_host[self.hosts.host_of(stream.labels)][stream.labels.get("mode", "")] = stream
        for host, modes in by_host.items():
            times = np.unique(np.concatenate([stream.times_seconds for stream in modes.values()]))
            rates = {mode: _on(times, stream, self._gap) for mode, stream in modes.items()}
            total = sum(rates.values(), np.zeros(max(0, len(times) - 1)))
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = {mode: rate / total for mode, rate in rates.items()}
            for mode, followed in CPU_METRICS.items():
                if mode in shares:
                    values = shares[mode]
                    if followed.one_minus:
                        values = 1 - values - shares.get("iowait", 0.0)
                    self._add(followed.metric, Subject(host=host), times[1:], values, CPU_SECONDS)

    def _throttling(self, present: Mapping[str, None]) -> None:
        """Share of its quota's periods in which a container was held back."""
        import numpy as np

        if THROTTLED not in present or PERIODS not in present:
            return
        periods = {_without_name(stream.labels): stream for stream in self._fetch(PERIODS)}
        for stream in self._fetch(THROTTLED):
            whole = periods.get(_without_name(stream.labels))
            if whole is None:
                continue
            times = np.intersect1d(stream.times_seconds, whole.times_seconds)
            held, all_ = _on(times, stream, self._gap), _on(times, whole, self._gap)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.where(all_ > 0, held / all_, np.nan)
            host = self.hosts.host_of(stream.labels)
            self._add("cpu_throttled_ratio", Subject(host=host), times[1:], shares, THROTTLED)

    def _histogram(self, name: str, is_classic: bool) -> None:
        found: list[tuple[Stream, Increments]] = []
        if is_classic:
            for group in grouped(self._fetch(f"{name}_bucket")):
                if (counted := classic(group, self._gap)) is not None:
                    found.append((group[0], counted))
        else:
            for stream in self._fetch(name):
                if (counted := native(stream.histograms, self._gap)) is not None:
                    found.append((stream, counted))
        for stream, counted in found:
            joined = counted.joined()
            if not len(joined.times):
                continue
            subject = Subject(host=self.hosts.host_of(stream.labels))
            for word, level in QUANTILES.items():
                self._add(HISTOGRAMS[name].format(word), subject, joined.times, joined.quantile(level), name)

    def readings(self) -> Readings:
        """Everything, with a report for each exporter, and one for each thing that an exporter leaves out."""
        facts = exposition_facts(self.last, self.hosts, self.medians, self.shown_url)
        present = {stream.name for stream in self.last}
        if any(series.metric == "cpu_busy_ratio" for series in self.series):
            present.add(CPU_SECONDS)
        facts += telemetry_configuration(present, self._source("DCGM_FI_DEV_*"))
        report = InputReport(
            path=self.shown_url,
            kind="prometheus",
            status=Status.PARSED,
            facts=len(facts),
            detail=f"{len(self.last):,} series of the metrics in question, {len(self.series):,} followed over time",
        )
        return Readings(facts, [report, *left_out(present, self.shown_url)], [*self.series])


def _without_name(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in labels.items() if name != "__name__"))


def _on(times: NDArray[np.float64], stream: Stream, gap: float) -> NDArray[np.float64]:
    """Rates of a counter between these times, NaN over gaps and resets."""
    import numpy as np

    counts = np.full(len(times), np.nan)
    places = np.searchsorted(times, stream.times_seconds)
    inside = (places < len(times)) & (times[np.minimum(places, len(times) - 1)] == stream.times_seconds)
    counts[places[inside]] = stream.values[inside]
    rise, step = np.diff(counts), np.diff(times)
    return np.where((rise >= 0) & (step <= gap), rise / np.where(step > 0, step, np.nan), np.nan)

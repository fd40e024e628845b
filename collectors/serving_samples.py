"""Samples of a server's load, and what follows from them: load, stalls, decoding outside of CUDA graphs, series."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from diagnose.facts import Fact, Source, Subject
from diagnose.facts.series import Clock, Measurement, Series
from diagnose.facts.serving import ServingDecodeOutsideGraph, ServingLoad, ServingStall

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST = 1 << 20
"""Samples kept; beyond, every second one is dropped and every second one taken from then on."""
_STALLED_GAP_SECONDS = 0.2
"""Slower than people read, and above what a step with an ordinary piece of a prompt takes."""
_PREFILL_HEAVY = 10.0
_LEAST_FOR_SERIES = 3
_ABSENT = float("nan")


class Sample(NamedTuple):
    """One line of a log, or one scrape. Absent values are NaN; `time` in seconds from any beginning."""

    time: float = _ABSENT
    running: float = _ABSENT
    waiting: float = _ABSENT
    kv_cache_usage: float = _ABSENT
    generation_rate: float = _ABSENT
    prompt_rate: float = _ABSENT
    prefix_hits: float = _ABSENT
    swapped: float = _ABSENT
    preempted: float = _ABSENT
    in_graph: float = _ABSENT
    busy: float = 0.0
    """1 where the server had work all the time since the sample before."""


_COLUMNS = Sample._fields
_METRICS = {
    "running": "server_running_requests",
    "waiting": "server_waiting_requests",
    "kv_cache_usage": "server_kv_cache_use_ratio",
    "generation_rate": "server_generated_tokens_per_second",
    "prompt_rate": "server_prompt_tokens_per_second",
}


class Samples:
    """All samples of one server, in the order of the log."""

    def __init__(self) -> None:
        self._columns = {name: array("d") for name in _COLUMNS}
        self._stride = 1
        self._skip = 0
        self.count = 0

    def __bool__(self) -> bool:
        return self.count > 0

    def add(self, sample: Sample) -> None:
        """Take a sample."""
        self.count += 1
        if self._skip:
            self._skip -= 1
            return
        self._skip = self._stride - 1
        for column, value in zip(self._columns.values(), sample, strict=True):
            column.append(value)
        if len(self._columns["time"]) >= _MOST:
            for name, column in self._columns.items():
                self._columns[name] = column[::2]
            self._stride *= 2

    def column(self, name: str) -> NDArray[np.float64]:
        """A column of the samples that were kept."""
        import numpy as np

        return np.array(self._columns[name], np.float64)

    def known(self, name: str) -> NDArray[np.float64]:
        """The values of a column that are known."""
        return _finite(self.column(name))


def load_fact(samples: Samples, subject: Subject, source: Source, origin: str, engine: str | None) -> ServingLoad:
    """The samples summed up."""
    import numpy as np

    running, waiting, usage = (samples.known(name) for name in ("running", "waiting", "kv_cache_usage"))
    at_work = ~(samples.column("running") == 0)
    generation, prompt = (_where(samples.column(name), at_work) for name in ("generation_rate", "prompt_rate"))
    gaps = _gaps(samples)
    times, hits = samples.known("time"), samples.known("prefix_hits")
    return ServingLoad(
        subject=subject,
        sources=(source,),
        origin=origin,
        engine=engine,
        samples=samples.count,
        seconds=float(times.max() - times.min()) if len(times) > 1 else None,
        running_median=_median(running),
        running_p95=float(np.percentile(running, 95)) if len(running) >= 20 else None,
        running_max=_max(running),
        waiting_median=_median(waiting),
        waiting_max=_max(waiting),
        waiting_share_ratio=float((waiting > 0).mean()) if len(waiting) else None,
        waiting_growth_per_second=_slope(samples.column("time"), samples.column("waiting")),
        kv_cache_usage_median_ratio=_median(usage),
        kv_cache_usage_max_ratio=_max(usage),
        generation_tokens_per_second_median=_median(generation),
        generation_tokens_per_second_min=float(generation.min()) if len(generation) else None,
        generation_tokens_per_second_max=_max(generation),
        prompt_tokens_per_second_median=_median(prompt),
        prompt_tokens_per_second_max=_max(prompt),
        output_gap_median_seconds=_median(gaps),
        output_gap_max_seconds=_max(gaps),
        prefix_cache_hit_ratio=float(hits[-1]) if len(hits) else None,
        swapped_max=_max(samples.known("swapped")),
    )


def _where(values: NDArray[np.float64], rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    return _finite(values[rows])


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    known: NDArray[np.float64] = values[values == values]
    return known


def _median(values: NDArray[np.float64]) -> float | None:
    return float(median(values.tolist())) if len(values) else None


def _max(values: NDArray[np.float64]) -> float | None:
    return float(values.max()) if len(values) else None


def _slope(times: NDArray[np.float64], values: NDArray[np.float64]) -> float | None:
    """Of a straight line; None for fewer than five samples."""
    both = (times == times) & (values == values)
    x, y = times[both], values[both]
    if len(x) < 5 or x.max() <= x.min():
        return None
    x = x - x.mean()
    return float((x * (y - y.mean())).sum() / (x * x).sum())


def _busy_gaps(samples: Samples) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which samples had work all the time, and every sample's time between two tokens of a request."""
    import numpy as np

    running, rate = samples.column("running"), samples.column("generation_rate")
    busy = (samples.column("busy") == 1) & (running > 0) & (rate >= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return busy, running / rate


def _gaps(samples: Samples) -> NDArray[np.float64]:
    import numpy as np

    busy, gaps = _busy_gaps(samples)
    return gaps[busy & np.isfinite(gaps)]


def stall_fact(samples: Samples, subject: Subject, source: Source) -> ServingStall | None:
    """What the samples say of stalls; None where no interval had work all the time."""
    import numpy as np

    busy, gaps = _busy_gaps(samples)
    if not busy.any():
        return None
    stalled = busy & (gaps >= _STALLED_GAP_SECONDS)
    prompt, rate = samples.column("prompt_rate"), samples.column("generation_rate")
    heavy = stalled & (prompt > 0) & (prompt >= _PREFILL_HEAVY * rate)
    count = int(stalled.sum())
    finite = np.isfinite(gaps)
    return ServingStall(
        subject=subject,
        sources=(source,),
        intervals=int(busy.sum()),
        stalled=count,
        stalled_ratio=count / int(busy.sum()),
        with_prefill_ratio=int(heavy.sum()) / count if count else 0.0,
        longest_seconds=_longest(samples.column("time").tolist(), stalled.tolist()),
        prompt_tokens_per_second_median=_median(_where(prompt, stalled)),
        output_gap_stalled_seconds=_median(gaps[stalled & finite]),
        output_gap_usual_seconds=_median(gaps[busy & ~stalled & finite]),
    )


def _longest(times: Sequence[float], stalled: Sequence[bool]) -> float | None:
    longest = current = 0.0
    for (before, after), slow in zip(pairwise(times), stalled[1:], strict=True):
        current = current + (after - before) if slow and after >= before else 0.0
        longest = max(longest, current)
    return longest or None


def graph_fact(
    samples: Samples, largest: int | None, subject: Subject, source: Source
) -> ServingDecodeOutsideGraph | None:
    """Batches outside of the graphs: as the log reports them, else those larger than the largest graph."""
    reported, running = samples.known("in_graph"), samples.known("running")
    running = running[running > 0]
    if len(reported):
        basis, outside, batches = "reported", reported == 0, len(reported)
    elif largest is not None and len(running):
        basis, outside, batches = "batch-size", running > largest, len(running)
    else:
        return None
    return ServingDecodeOutsideGraph(
        subject=subject,
        sources=(source,),
        basis=basis,
        batches=batches,
        outside_ratio=float(outside.mean()),
        cuda_graph_max_batch=largest,
        running_median=_median(running),
        running_max=_max(running),
    )


def series_of(
    samples: Samples, subject: Subject, source: Source, clock: Clock, begin_seconds: float
) -> Iterator[Measurement]:
    """The samples over time, for the analysis; their times count from `begin_seconds` of the clock."""
    import numpy as np

    times = samples.column("time") + begin_seconds
    for name, metric in _METRICS.items():
        values = samples.column(name)
        rows = (times == times) & (values == values)
        if int(rows.sum()) >= _LEAST_FOR_SERIES:
            order = np.argsort(times[rows], kind="stable")
            yield Series(metric, subject, times[rows][order], values[rows][order], clock, (source,))


def load_facts(
    samples: Samples, subject: Subject, source: Source, engine: str | None, largest_graph: int | None
) -> Iterator[Fact]:
    """Everything that the samples of a log say."""
    yield load_fact(samples, subject, source, "log", engine)
    if (stall := stall_fact(samples, subject, source)) is not None:
        yield stall
    if (graph := graph_fact(samples, largest_graph, subject, source)) is not None:
        yield graph

"""Traces of the ranks of one job compared: how long they wait for one another, for whom, and where that one is late."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import median

import numpy as np

from diagnose.analysis.outlier import outlier_p_value
from diagnose.analysis.trace_device import TracedDevice
from diagnose.analysis.trace_intervals import Floats, measure, merge, subtract
from diagnose.analysis.trace_matching import Matched, match
from diagnose.facts import Subject
from diagnose.facts.trace import TraceRanks
from diagnose.facts.trace_columns import Work

_STANDS_OUT = 0.05
_MOSTLY = 0.5
"""judgement: who comes last in half of what is waited for is one that the others wait for."""


def compare(devices: Sequence[TracedDevice]) -> Iterator[TraceRanks]:
    """One fact for each job whose ranks have collectives in common. `devices` holds one for each trace."""
    for job in _jobs(devices):
        matched = match(job)
        if matched:
            yield _Comparison(job, matched).fact()


def _jobs(devices: Sequence[TracedDevice]) -> Iterator[list[TracedDevice]]:
    """Traces of one job: all where each rank comes once, else those of a folder; never of steps that differ."""
    named = [device for device in devices if device.trace.subject.rank is not None and len(device.trace.collectives)]
    folders: dict[PurePosixPath, list[TracedDevice]] = defaultdict(list)
    for device in named:
        folders[PurePosixPath(device.trace.sources[0].path or "").parent].append(device)
    for job in [named] if _distinct(named) else list(folders.values()):
        if len(job) >= 2 and _distinct(job) and _same_steps(job):
            yield sorted(job, key=lambda device: device.trace.subject.rank or 0)


def _distinct(job: Sequence[TracedDevice]) -> bool:
    return len({device.trace.subject.rank for device in job}) == len(job)


def _same_steps(job: Sequence[TracedDevice]) -> bool:
    marked = [set(device.trace.steps.code.tolist()) for device in job if len(device.trace.steps)]
    return not marked or bool(set.intersection(*marked))


@dataclass(frozen=True)
class _Comparison:
    job: Sequence[TracedDevice]
    matched: Sequence[Matched]

    def fact(self) -> TraceRanks:
        exchanges, waits = self._intervals()
        waiting = [device.ratio(wait) for device, wait in zip(self.job, waits, strict=True)]
        lost = self._exposed(waits)
        transfer = [device.ratio(exchange) for device, exchange in zip(self.job, exchanges, strict=True)]
        computing = [measure(device.compute) for device in self.job]
        sources = tuple(device.trace.sources[0] for device in self.job)
        general = {
            "ranks": len(self.job),
            "matched_collectives": sum(item.duration.shape[1] for item in self.matched),
            "wait_ratio": float(np.mean(waiting)),
            "exposed_wait_ratio": float(np.mean(lost)),
            "exposed_transfer_ratio": float(np.mean(self._exposed(exchanges))),
            "transfer_ratio": float(np.mean(transfer)),
            "compute_ratio": float(np.mean([device.ratio(device.compute) for device in self.job])),
            "compute_balance_ratio": float(np.mean(computing)) / max(computing) if max(computing) > 0 else 1.0,
        }
        # A wait behind which something computes costs nothing, and the next collective's would count it again.
        last = int(np.argmin(lost))
        share, p_value = self._last_ratio(last), outlier_p_value(lost, "low")
        if p_value > _STANDS_OUT or share < _MOSTLY:
            return TraceRanks(subject=Subject(), sources=sources, **general)
        late = self.job[last]
        others = [device for number, device in enumerate(self.job) if number != last]
        lag_ratio = median(value for number, value in enumerate(lost) if number != last) - lost[last]
        return TraceRanks(
            subject=late.trace.subject,
            sources=sources,
            **general,
            trace=late.label,
            last_ratio=share,
            p_value=p_value,
            lag_ratio=lag_ratio,
            lag_in=_lag_in(late, others, lag_ratio * late.window_seconds),
            compute_difference_ratio=_over_median(measure(late.compute), [measure(other.compute) for other in others]),
            same_kernels_ratio=_same_kernels_ratio(late, others),
            launched_kernels_ratio=_over_median(_kernels(late), [_kernels(other) for other in others]),
        )

    def _intervals(self) -> tuple[list[Floats], list[Floats]]:
        """For each rank while collectives are under way on all, and while it waits for that; merged sets."""
        exchange: list[list[Floats]] = [[] for _ in self.job]
        wait: list[list[Floats]] = [[] for _ in self.job]
        for item in self.matched:
            for row, number in enumerate(item.members):
                start, end = item.start[row], item.start[row] + item.duration[row]
                wait[number].append(np.column_stack((start, end - item.exchange)))
                exchange[number].append(np.column_stack((end - item.exchange, end)))
        exchanges = [_merged(parts) for parts in exchange]
        return exchanges, [
            subtract(_merged(parts), under_way) for parts, under_way in zip(wait, exchanges, strict=True)
        ]

    def _exposed(self, sets: Sequence[Floats]) -> list[float]:
        """For each rank the share of its window in which a set holds and nothing computes."""
        return [device.ratio(subtract(item, device.compute)) for device, item in zip(self.job, sets, strict=True)]

    def _last_ratio(self, rank: int) -> float:
        """Share of collectives to which a rank comes last, each weighed by how long it is waited for."""
        lost = total = 0.0
        for item in self.matched:
            rows = np.flatnonzero(item.members == rank)
            if len(rows):
                weight = item.wait.mean(axis=0)
                lost += float(weight[item.duration.argmin(axis=0) == rows[0]].sum())
                total += float(weight.sum())
        return lost / total if total > 0 else 0.0


def _merged(parts: Sequence[Floats]) -> Floats:
    rows = np.concatenate(parts) if parts else np.empty((0, 2))
    return merge(rows[:, 0], rows[:, 1])


def _lag_in(late: TracedDevice, others: Sequence[TracedDevice], lag_seconds: float) -> str:
    """Where the late rank spent what the others spent waiting for it."""
    computing = measure(late.compute) - median(measure(other.compute) for other in others)
    idle = _idle_seconds(late) - median(map(_idle_seconds, others))
    if max(computing, idle) < _MOSTLY * lag_seconds:
        return "neither"
    return "compute" if computing >= idle else "idle"


def _idle_seconds(device: TracedDevice) -> float:
    return device.window_seconds - measure(device.busy)


def _kernels(device: TracedDevice) -> float:
    return float((device.work == Work.COMPUTE).sum())


def _over_median(value: float, others: Sequence[float]) -> float | None:
    middle = median(others)
    return value / middle if middle > 0 else None


def _same_kernels_ratio(late: TracedDevice, others: Sequence[TracedDevice]) -> float | None:
    """Median over computing time of one rank's mean duration over the others', kernel by kernel of equal grid."""
    own = _mean_durations(late)
    theirs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for other in others:
        for name, (mean, total) in _mean_durations(other).items():
            theirs[name].append((mean, total))
    ratios, weights = [], []
    for name, (mean, _) in own.items():
        found = theirs.get(name, [])
        if len(found) * 2 >= len(others) and found:
            ratios.append(mean / median(item[0] for item in found))
            weights.append(median(item[1] for item in found))
    if not ratios:
        return None
    order = np.argsort(ratios)
    reached = np.cumsum(np.array(weights)[order])
    return float(np.array(ratios)[order][int(np.searchsorted(reached, reached[-1] / 2))])


def _mean_durations(device: TracedDevice) -> dict[str, tuple[float, float]]:
    """Mean duration and total by name and grid, of kernels that compute."""
    computing = device.work == Work.COMPUTE
    codes, durations = device.trace.gpu.name[device.at[computing]], device.duration[computing]
    totals, counts = np.bincount(codes, weights=durations), np.bincount(codes)
    return {
        device.trace.names[code]: (float(totals[code] / counts[code]), float(totals[code]))
        for code in np.flatnonzero(totals > 0)
    }

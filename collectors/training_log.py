"""Training logs: step times and layout of a run, summed up while the lines go by.

Megatron-LM and its kin (Megatron-DeepSpeed, Bridge, DLRover), DeepSpeed, PyTorch Lightning, NeMo, torchtitan, plain
`Batch 3 ... Speed: 11.1 samples/sec`, and the closing summary of the Hugging Face Trainer.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any, ClassVar

from collectors import training_checkpoints as checkpoints
from collectors.base import Line, LineCollector, Parsed
from collectors.training_checkpoints import Checkpoints
from collectors.training_records import ARGUMENT_LITERALS, LITERALS, Record, arguments, is_argument, record
from diagnose.facts import Source, Subject
from diagnose.facts.training import TrainingRun

_SERIES_LENGTH = 256
_MOST_STEPS = 1_000_000
_MOST_RUNS = 64
_RUNS_TOLD = 8
_WARM_UP = 1.2
"""A first record above this many medians is compilation and allocation, not a step like the others."""
_PREFIX = re.compile(r"^\s*(\[(?:default|rank)?\d{1,6}\]:?|\d{1,6}:|\[\d{1,4},\d{1,6}\]<\w+>:?)")
_TRAINER = re.compile(
    r"\{'train_runtime': '?([\d.]+)'?.*?'train_samples_per_second': '?([\d.]+)'?"
    r".*?'train_steps_per_second': '?([\d.]+)'?"
)
_ABSENT = float("nan")
_SLOW = 2.0
"""A step that costs so many medians stands out from any noise of steps."""
_FEWEST_STEPS = 20
"""Of fewer steps it is not told which are slow."""


@dataclass(slots=True)
class _Run:
    """The steps of one rank's output since the last restart."""

    framework: str
    line: int
    host: str | None
    steps: array[float] = field(default_factory=lambda: array("d"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    samples: array[float] = field(default_factory=lambda: array("d"))
    units: array[float] = field(default_factory=lambda: array("d"))
    tflops: array[float] = field(default_factory=lambda: array("d"))
    batches: array[float] = field(default_factory=lambda: array("d"))

    def begin(self, item: Record) -> None:
        """Another step."""
        for column in (self.steps, self.seconds, self.samples, self.units, self.tflops, self.batches):
            column.append(_ABSENT)
        self.fill(item)

    def fill(self, item: Record) -> None:
        """What a line says of the step at hand."""
        for column, value in (
            (self.steps, item.step),
            (self.seconds, item.seconds),
            (self.samples, item.samples_per_second),
            (self.units, item.units_per_second),
            (self.tflops, item.tflops),
            (self.batches, item.global_batch),
        ):
            if value is not None:
                column[-1] = value


class TrainingLog(LineCollector):
    """One fact for each run: a restart begins another, ranks that repeat the same lines do not."""

    kind: ClassVar[str] = "training-log"
    literals: ClassVar[tuple[bytes, ...]] = (
        *(*LITERALS, *ARGUMENT_LITERALS, *checkpoints.LITERALS),
        b"'train_runtime'",
    )

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._layout: dict[str, int] = {}
        self._layout_line = 0
        self._runs: dict[str, list[_Run]] = {}
        self._trainer: list[tuple[int, float, float]] = []
        self._left_out = 0
        self._checkpoints = Checkpoints()

    def read_record(self, text: str) -> Record | None:
        """What a line says of a step; None where it says nothing."""
        return record(text)

    def feed(self, line: Line, host: str | None) -> bool:
        """Take a record, a line of the arguments, or timers that belong to a record."""
        if item := self.read_record(line.text):
            return self._take(item, line, host)
        if pairs := dict(arguments(line.text)):
            self._layout.update(pairs)
            self._layout_line = self._layout_line or line.number
            return True
        if self._checkpoints.take(line.text, line.number):
            return True
        if match := _TRAINER.search(line.text):
            self._trainer.append((line.number, float(match.group(2)), float(match.group(3))))
            return True
        return is_argument(line.text) or (bool(self._runs) and line.text.lstrip().startswith("time (ms) |"))

    def _take(self, item: Record, line: Line, host: str | None) -> bool:
        prefix = _PREFIX.match(line.text)
        key = prefix.group(1) if prefix else ""
        runs = self._runs.get(key)
        if runs is None:
            if (not item.begins and item.seconds is None) or len(self._runs) >= _MOST_RUNS:
                return bool(self._runs)
            runs = self._runs[key] = []
        if not item.begins and runs:
            runs[-1].fill(item)
            return True
        last = runs[-1].steps[-1] if runs else _ABSENT
        if not runs or (item.step is not None and item.step <= last and item.framework != "lightning"):
            runs.append(_Run(item.framework, line.number, host))
        if len(runs[-1].steps) >= _MOST_STEPS:
            self._left_out += 1
            return True
        runs[-1].begin(item)
        return True

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """The runs of the rank that logged most; the others repeat them."""
        ranks = list(self._runs.values())
        most = max(ranks, key=lambda runs: sum(len(run.steps) for run in runs), default=[])
        facts = [fact for run in most if (fact := self._fact(run)) is not None][-_RUNS_TOLD:]
        facts += [self._trainer_fact(*item) for item in self._trainer[-_RUNS_TOLD:]]
        if not facts and len(self._layout) >= 2:
            facts = [
                TrainingRun(
                    subject=Subject(),
                    sources=(self.source(self._layout_line),),
                    framework="megatron",
                    steps=0,
                    **self._layout,
                )
            ]
        step_seconds = [fact.median_step_seconds for fact in facts if fact.median_step_seconds]
        saves = self._checkpoints.fact(self.path, step_seconds[-1] if step_seconds else None)
        problems = [f"{self._left_out:,} steps of a very long log were not read"] if self._left_out else []
        return Parsed([*facts, *([saves] if saves is not None else [])], problems)

    def _trainer_fact(self, line: int, samples: float, steps: float) -> TrainingRun:
        return TrainingRun(
            sources=(self.source(line),),
            framework="hugging-face",
            steps=1,
            median_step_seconds=1 / steps if steps > 0 else None,
            median_samples_per_second=samples if samples > 0 else None,
            global_batch_size=round(samples / steps) if steps > 0 and round(samples / steps) > 0 else None,
        )

    def _fact(self, run: _Run) -> TrainingRun | None:
        start = _steady(run)
        seconds, samples, units = (column[start:] for column in (run.seconds, run.samples, run.units))
        layout = dict(self._layout)
        batch = _known(run.batches[start:])
        if batch:
            layout["global_batch_size"] = int(batch[-1])
        cost, unit = _cost(seconds, samples, units)
        times, rates, tflops = _known(seconds), _known(samples), _known(run.tflops[start:])
        if not (times or rates or tflops or cost):
            return None
        if not rates and times and "global_batch_size" in layout:
            rates = [layout["global_batch_size"] / value for value in times if value > 0]
        numbers = _known(run.steps[start:])
        sources = [Source(path=self.path, line=run.line)]
        if self._layout_line:
            sources.append(self.source(self._layout_line))
        return TrainingRun(
            subject=Subject(host=run.host),
            sources=tuple(sources),
            framework=run.framework,
            steps=len(run.steps),
            first_step=int(min(numbers)) if numbers else None,
            last_step=int(max(numbers)) if numbers else None,
            median_step_seconds=median(times) if times else None,
            p95_step_seconds=sorted(times)[int(0.95 * (len(times) - 1))] if times else None,
            median_samples_per_second=median(rates) if rates else None,
            median_tflops_per_gpu=median(tflops) if tflops else None,
            series_unit=unit if cost else None,
            series=tuple(cost) or None,
            series_first_step=int(numbers[0]) if numbers else None,
            series_last_step=int(numbers[-1]) if numbers else None,
            **_slow_steps(run.steps[start:], _aligned_cost(seconds, samples, units)),
            **layout,
        )


def _steady(run: _Run) -> int:
    """Where the last stretch with one global batch begins: a batch that ramps up changes the work of a step."""
    batches = run.batches
    start = len(batches)
    last = next((value for value in reversed(batches) if value == value), None)
    if last is None:
        return 0
    while start and (batches[start - 1] == last or batches[start - 1] != batches[start - 1]):
        start -= 1
    return start


def _aligned_cost(seconds: Sequence[float], samples: Sequence[float], units: Sequence[float]) -> Sequence[float]:
    """Cost of each record, absent where it tells none."""
    if _known(seconds):
        return seconds
    rates = samples if _known(samples) else units
    return [1 / rate if rate > 0 else _ABSENT for rate in rates]


def _slow_steps(steps: Sequence[float], cost: Sequence[float]) -> dict[str, Any]:
    """Fields of the fact about steps that cost twice the median or more; the first record is warm-up."""
    known = zip(steps, cost, strict=True)
    costs = [(int(step), value) for step, value in known if step == step and value == value][1:]
    if len(costs) < _FEWEST_STEPS:
        return {}
    typical = median(cost for _, cost in costs)
    slow = [(step, cost) for step, cost in costs if cost >= _SLOW * typical]
    if not slow:
        return {"slow_steps": ()}
    return {
        "slow_steps": tuple(step for step, _ in slow[:_SERIES_LENGTH]),
        "slow_steps_median_ratio": median(cost for _, cost in slow) / typical,
        "slow_steps_time_share_ratio": sum(cost - typical for _, cost in slow) / sum(cost for _, cost in costs),
    }


def _known(values: Sequence[float]) -> list[float]:
    return [value for value in values if value == value]


def _cost(seconds: Sequence[float], samples: Sequence[float], units: Sequence[float]) -> tuple[list[float], str]:
    """Time of a step, or of a unit of work where only the throughput is told; without the warm-up."""
    for values, unit in ((seconds, "seconds"), (samples, "seconds-per-unit"), (units, "seconds-per-unit")):
        known = [value for value in _known(values) if value > 0]
        if known:
            cost = known if unit == "seconds" else [1 / value for value in known]
            typical = median(cost)
            while len(cost) > 3 and cost[0] > _WARM_UP * typical:
                cost = cost[1:]
            return _shortened(cost), unit
    return [], ""


def _shortened(values: list[float]) -> list[float]:
    if len(values) <= _SERIES_LENGTH:
        return values
    edges = [round(at * len(values) / _SERIES_LENGTH) for at in range(_SERIES_LENGTH + 1)]
    return [median(values[start:end]) for start, end in pairwise(edges)]

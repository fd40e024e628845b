"""Gathers the events of one trace into columns of numbers, while they come."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from collectors.kineto_names import (
    STEP,
    Category,
    category_of,
    collective_in,
    fetches_batch,
    launch_of,
    message_bytes,
    waits_for_gpu,
    work_of,
)
from diagnose.facts import Source, Subject
from diagnose.facts.trace_columns import Collectives, GpuWork, Spans, Trace, Work

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NANOSECOND_STAMPS = 1e17
"""Microseconds since 1970 reach this in the year 5138; some versions wrote nanoseconds."""
_LARGEST = 10**19
_LONGEST_SECONDS = 86_400.0
"""judgement: profilers record seconds to minutes; a stamp that lies a day apart was never set, or is damaged."""
_INTEGER = 1 << 31


class _Spans:
    """Columns of `Spans` under way, in units of the file."""

    def __init__(self) -> None:
        self.start = array("d")
        self.duration = array("d")
        self.thread = array("i")
        self.code = array("i")

    def add(self, start: float, duration: float, thread: int, code: int = 0) -> None:
        self.start.append(start)
        self.duration.append(duration)
        self.thread.append(thread)
        self.code.append(code)

    def finish(self, origin: float, unit_seconds: float) -> Spans:
        return Spans(
            _seconds(self.start, origin, unit_seconds),
            _seconds(self.duration, 0.0, unit_seconds),
            _integers(self.thread),
            _integers(self.code),
        )


class Columns:
    """All columns of one trace under way.

    Attributes:
        events: events seen, of all sorts.
        rows: those of use.
        host_events: operators and calls of the runtime among them.
        unusable: events of use but for their times, which are missing, negative, or a day from the others.
        python_stacks: whether an event shows that Python's stacks were recorded.
    """

    def __init__(self) -> None:
        self.events = 0
        self.rows = 0
        self.host_events = 0
        self.unusable = 0
        self.python_stacks = False
        self._base: float | None = None
        self.first = math.inf
        self.last = -math.inf
        self._unit_seconds = 1e-6
        self._start, self._duration = array("d"), array("d")
        self._device, self._work, self._name = array("i"), array("i"), array("i")
        self._correlation, self._launch_correlation = array("q"), array("q")
        self._at, self._kind, self._group, self._size = array("i"), array("i"), array("i"), array("d")
        self._launches, self._waits, self._operators = _Spans(), _Spans(), _Spans()
        self._loader, self._steps = _Spans(), _Spans()
        self._outermost: dict[int, tuple[float, float]] = {}
        self._names: dict[Any, int] = {}
        self._threads: dict[str, int] = {}

    @property
    def gpu_events(self) -> int:
        """Kernels, copies and fills seen."""
        return len(self._start)

    @property
    def span_seconds(self) -> float:
        """From the first event to the end of the last."""
        return max(0.0, (self.last - self.first) * self._unit_seconds)

    def take(self, event: Mapping[str, Any]) -> None:
        """One event; what is of no use here is passed over."""
        self.events += 1
        if event.get("ph") != "X":
            return
        category = event.get("cat")
        known = category_of(category) if type(category) is str else None
        name = event.get("name")
        if known is None or not isinstance(name, str):
            return
        stamp, duration = _number(event.get("ts")), _number(event.get("dur"))
        if stamp is None or duration is None or duration < 0:
            self.unusable += 1
            return
        # Stamps since 1970 have too many digits for a float, and whole ones keep all of them until here.
        if self._base is None:
            self._base = stamp
            if stamp > _NANOSECOND_STAMPS:
                self._unit_seconds = 1e-9
        start = float(stamp - self._base)
        if (abs(start) + duration) * self._unit_seconds > _LONGEST_SECONDS:
            self.unusable += 1
            return
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            arguments = {}
        if known is Category.PYTHON:
            self.python_stacks = True
            if not fetches_batch(name):
                return
        self.rows += 1
        self.first = min(self.first, start)
        self.last = max(self.last, start + duration)
        if known is Category.KERNEL or known is Category.COPY:
            self._take_gpu(name, start, duration, arguments, known, event)
        else:
            self._take_host(name, start, duration, arguments, known, event)

    def _take_gpu(
        self,
        name: str,
        start: float,
        duration: float,
        arguments: Mapping[str, Any],
        category: Category,
        event: Mapping[str, Any],
    ) -> None:
        if category is Category.COPY:
            work, key = Work.COPY, name
        else:
            work = Work.COMMUNICATION if "Collective name" in arguments else work_of(name)
            grid = arguments.get("grid")
            key = f"{name} {grid}" if grid else name
        if work is Work.COMMUNICATION:
            self._take_collective(name, arguments)
        self._start.append(start)
        self._duration.append(duration)
        self._device.append(_integer(arguments.get("device", event.get("pid"))))
        self._work.append(work)
        self._name.append(self._number_of(key))
        self._correlation.append(_integer(arguments.get("correlation"), 1 << 62))

    def _take_collective(self, name: str, arguments: Mapping[str, Any]) -> None:
        told = arguments.get("Collective name")
        group = arguments.get("Process Group Name")
        members = arguments.get("Process Group Ranks")
        self._at.append(len(self._start))
        self._kind.append(self._number_of(collective_in(told if isinstance(told, str) and told else name)))
        self._group.append(-1 if group is None and members is None else self._number_of(f"group {group} {members}"))
        self._size.append(message_bytes(arguments))

    def _take_host(
        self,
        name: str,
        start: float,
        duration: float,
        arguments: Mapping[str, Any],
        category: Category,
        event: Mapping[str, Any],
    ) -> None:
        thread = self._threads.setdefault(str(event.get("tid")), len(self._threads))
        if category is Category.RUNTIME:
            if (launch := launch_of(name)) is not None:
                self._launches.add(start, duration, thread, launch)
                self._launch_correlation.append(_integer(arguments.get("correlation"), 1 << 62))
            if waits_for_gpu(name):
                self._waits.add(start, duration, thread)
            self._take_operator(start, duration, thread)
        elif step := STEP.match(name):
            self._steps.add(start, duration, thread, int(step.group(1)))
        elif fetches_batch(name):
            self._loader.add(start, duration, thread, "SingleProcess" not in name)
        elif category is Category.OPERATOR:
            self._take_operator(start, duration, thread)
            if "Call stack" in arguments:
                self.python_stacks = True

    def _take_operator(self, start: float, duration: float, thread: int) -> None:
        """What runs within the one before adds nothing to the time in which the host is busy."""
        self.host_events += 1
        end = start + duration
        outer = self._outermost.get(thread)
        if outer is None or start < outer[0] or end > outer[1]:
            self._outermost[thread] = (start, end)
            self._operators.add(start, duration, thread)

    def _number_of(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def finish(self, subject: Subject, sources: tuple[Source, ...], label: str, complete: bool) -> Trace:
        """The columns as they are used from here on."""
        origin, unit_seconds = (self.first if self.rows else 0.0), self._unit_seconds
        return Trace(
            subject=subject,
            sources=sources,
            label=label,
            python_stacks=self.python_stacks,
            complete=complete,
            names=tuple(self._names),
            gpu=GpuWork(
                _seconds(self._start, origin, unit_seconds),
                _seconds(self._duration, 0.0, unit_seconds),
                _integers(self._device),
                _integers(self._work),
                _integers(self._name),
                _matches(self._correlation, self._launch_correlation),
            ),
            collectives=Collectives(
                _integers(self._at), _integers(self._kind), _integers(self._group), _floats(self._size)
            ),
            launches=self._launches.finish(origin, unit_seconds),
            waits_for_gpu=self._waits.finish(origin, unit_seconds),
            operators=self._operators.finish(origin, unit_seconds),
            loader=self._loader.finish(origin, unit_seconds),
            steps=self._steps.finish(origin, unit_seconds),
        )


def _matches(wanted: array[int], offered: array[int]) -> NDArray[np.int32]:
    """For each correlation the index of the call that has it, -1 where there is none."""
    import numpy as np

    ids, calls = np.frombuffer(wanted, np.int64), np.frombuffer(offered, np.int64)
    if not len(calls):
        return np.full(len(ids), -1, np.int32)
    order = np.argsort(calls, kind="stable")
    at = np.minimum(np.searchsorted(calls[order], ids), len(calls) - 1)
    found = order[at]
    return np.where((calls[found] == ids) & (ids >= 0), found, -1).astype(np.int32)


def _seconds(column: array[float], origin: float, unit_seconds: float) -> NDArray[np.float64]:
    """The column in its own memory, which may be most of what there is."""
    found = _floats(column)
    found -= origin
    found *= unit_seconds
    return found


def _floats(column: array[float]) -> NDArray[np.float64]:
    import numpy as np

    return np.frombuffer(column, np.float64) if column else np.empty(0)


def _integers(column: array[int]) -> NDArray[np.int32]:
    import numpy as np

    return np.frombuffer(column, np.int32) if column else np.empty(0, np.int32)


def _number(value: Any) -> float | None:
    """A finite number, whole ones as they are; old versions wrote some as text."""
    if type(value) is int or type(value) is float:
        return value if -_LARGEST < value < _LARGEST else None
    if type(value) is not str:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < _LARGEST else None


def _integer(value: Any, limit: int = _INTEGER) -> int:
    return value if isinstance(value, int) and 0 <= value < limit else -1

"""A recording of NVML calls, as `collectors.live.nvml_journal` writes it, read back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from collectors.base import Line
from diagnose.facts import Missing

Key: TypeAlias = tuple[str | int, ...]
"""Name of a call and its arguments."""

_REASONS = {
    "NO_PERMISSION": Missing.NO_PERMISSION,
    "DEPRECATED": Missing.DEPRECATED,
    "GPU_IS_LOST": Missing.LOST,
    "UNKNOWN": Missing.UNKNOWN_ERROR,
    "NO_DATA": Missing.BLANK,
    "NOT_READY": Missing.BLANK,
    **dict.fromkeys(
        ("NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "INVALID_ARGUMENT", "NOT_FOUND", "ARGUMENT_VERSION_MISMATCH"),
        Missing.NOT_SUPPORTED,
    ),
}


class Call(NamedTuple):
    """One call that returned."""

    key: Key
    sample: int
    value: Any
    error: str | None
    line: int
    seconds: float | None = None
    """Unix time after it."""

    @property
    def reason(self) -> Missing:
        """Why there is no value, where the call failed."""
        return _REASONS.get(self.error or "", Missing.ERROR)


@dataclass(slots=True)
class Calls:
    """Everything of one recording."""

    index: int | None = None
    """The GPU; None for the driver as a whole."""
    on_bus: int | None = None
    """NVIDIA GPUs that the kernel lists, where the recorder could see it."""
    hang: tuple[str, list[Any], float, int] | None = None
    """The call that did not return: name, arguments, seconds waited, line."""
    every: list[Call] = field(default_factory=list)
    by_key: dict[Key, list[Call]] = field(default_factory=dict)
    damaged: list[int] = field(default_factory=list)
    """Lines that are no line of a recording."""

    def of(self, *key: str | int) -> Sequence[Call]:
        """All calls of one name with these arguments."""
        return self.by_key.get(key, ())

    def named(self, name: str) -> Iterator[Call]:
        """All calls of one name, whatever their arguments."""
        return (call for call in self.every if call.key[0] == name)

    def value(self, *key: str | int) -> Any:
        """The last value, None where the call failed or was never made."""
        return next((call.value for call in reversed(self.of(*key)) if call.error is None), None)

    def first_line(self, *key: str | int) -> int | None:
        """Where a call was first made."""
        calls = self.of(*key)
        return calls[0].line if calls else None

    def failed(self, *key: str | int) -> Call | None:
        """The last call where it failed."""
        calls = self.of(*key)
        return calls[-1] if calls and calls[-1].error is not None else None


def read_calls(lines: Sequence[Line]) -> Calls:
    """The calls of a recording. A last line that a kill cut short is no damage."""
    calls = Calls()
    for position, line in enumerate(lines):
        entry = _entry(line.text)
        if entry is None:
            if line.text.strip() and position < len(lines) - 1:
                calls.damaged.append(line.number)
        elif "recording" in entry:
            index = entry.get("index")
            calls.index = index if isinstance(index, int) and not isinstance(index, bool) else None
        elif "on_bus" in entry:
            calls.on_bus = entry["on_bus"] if isinstance(entry["on_bus"], int) else None
        elif "hang" in entry:
            seconds = entry.get("seconds")
            calls.hang = (
                str(entry["hang"]),
                list(_arguments(entry)),
                float(seconds) if isinstance(seconds, int | float) else 0.0,
                line.number,
            )
        elif "call" in entry:
            _take(calls, entry, line.number)
    return calls


def _entry(text: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _arguments(entry: dict[str, Any]) -> tuple[str | int, ...]:
    args = entry.get("args")
    return tuple(arg for arg in args if isinstance(arg, str | int)) if isinstance(args, list) else ()


def _take(calls: Calls, entry: dict[str, Any], line: int) -> None:
    error = entry.get("error")
    sample = entry.get("sample")
    call = Call(
        key=(str(entry["call"]), *_arguments(entry)),
        sample=sample if isinstance(sample, int) else 0,
        value=entry.get("value"),
        error=None if error is None else str(error),
        line=line,
        seconds=_time(entry.get("t")),
    )
    calls.every.append(call)
    calls.by_key.setdefault(call.key, []).append(call)


def _time(value: object) -> float | None:
    plausible = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e11
    return float(value) if plausible and isinstance(value, int | float) else None

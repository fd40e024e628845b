"""Calls of the driver's library, each written down before and after, so that one that hangs is known by its name."""

from __future__ import annotations

import ctypes
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import pynvml

from collectors.live.base import Folder

Json: TypeAlias = str | int | float | bool | Sequence["Json"] | Mapping[str, "Json"] | None

SCHEMA = "diagnose.nvml/1"
HANG_SECONDS = 5.0
INIT_HANG_SECONDS = 25.0
"""Without persistence mode the first call initialises every GPU, which takes seconds for each."""

_LOOK_SECONDS = 0.25
_HANG_STATUS = 124
_NAMES = {
    value: name.removeprefix("NVML_ERROR_")
    for name, value in vars(pynvml).items()
    if name.startswith("NVML_ERROR_") and isinstance(value, int)
}
_FINAL = frozenset({"NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "NO_PERMISSION", "DEPRECATED", "INVALID_ARGUMENT"})


class GpuLostError(Exception):
    """The GPU answers nothing any more."""


class Journal:
    """One file of calls.

    Lines are JSON objects: a head `{"recording": "nvml", "schema": ..., "index": ...}`, then
    `{"begin": call, "args": [...]}` ahead of each call and
    `{"call": call, "args": [...], "sample": number of the reading, "t": unix time, "value": ...}` after it, with
    `"error"` and `"code"` in place of the value where it failed. A call without end is followed by
    `{"hang": call, "args": [...], "seconds": ...}`.
    """

    def __init__(self, folder: Folder, name: str, index: int | None) -> None:
        self.index = index
        self._folder = folder
        self._name = name
        self._refused: set[tuple[str, str]] = set()
        self._watch = _Watch(self._hung)
        self.note({"recording": "nvml", "schema": SCHEMA, "index": index, "t": round(time.time(), 3)})

    def call(self, name: str, *given: Any, args: Sequence[Json] = (), sample: int = 0, final: bool = True) -> Any:
        """The call's result, None where it failed; what a device does not support is asked once only.

        `given` is what the function gets, `args` what is written down in its place. Raises GpuLostError when the
        GPU has gone, unless the call is not `final`, as one about two GPUs.
        """
        key = (name, json.dumps(args))
        if key in self._refused:
            return None
        head = {"args": list(args)}
        self.note({"begin": name, **head})
        try:
            with self._watch.over(name, args):
                result = getattr(pynvml, name)(*given)
        except pynvml.NVMLError as error:
            self._failed(key, head, sample, error.value)
            if final and error.value == pynvml.NVML_ERROR_GPU_IS_LOST:
                raise GpuLostError(name) from error
            return None
        except (AttributeError, pynvml.NVMLLibraryMismatchError):
            # An older pynvml lacks the function, or refuses to ask an older driver for it.
            self._failed(key, head, sample, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
            return None
        self.note({"call": name, **head, **_stamp(sample), "value": plain(result)})
        return result

    def fill(self, name: str, device: Any, structure: ctypes.Structure) -> bool:
        """A call that fills a structure and returns nothing of use; whether it succeeded."""
        self.note({"begin": name, "args": []})
        try:
            with self._watch.over(name, ()):
                getattr(pynvml, name)(device, ctypes.byref(structure))
        except pynvml.NVMLError as error:
            self._failed((name, "[]"), {"args": []}, 0, error.value)
            if error.value == pynvml.NVML_ERROR_GPU_IS_LOST:
                raise GpuLostError(name) from error
            return False
        self.note({"call": name, "args": [], **_stamp(0), "value": plain(structure)})
        return True

    def fields(self, device: Any, ids: Sequence[int], sample: int = 0, link: int | None = None) -> None:
        """Ask for several field values in one call; each is written down as a call of its own."""
        call = "nvmlDeviceGetFieldValues"
        scope = [] if link is None else [link]
        # What the first link does not support, the others do not either.
        wanted = [number for number in ids if (call, str(number)) not in self._refused]
        if not wanted:
            return
        self.note({"begin": call, "args": [*wanted, *scope]})
        try:
            with self._watch.over(call, wanted):
                values = pynvml.nvmlDeviceGetFieldValues(device, [(number, link or 0) for number in wanted])
        except pynvml.NVMLError as error:
            self._failed((call, "all"), {"args": [*wanted, *scope]}, sample, error.value)
            if error.value == pynvml.NVML_ERROR_GPU_IS_LOST:
                raise GpuLostError(call) from error
            return
        for value in values:
            args = [int(value.fieldId), *scope]
            if value.nvmlReturn:
                self._failed((call, str(args[0])), {"args": args}, sample, value.nvmlReturn)
            else:
                self.note({"call": call, "args": args, **_stamp(sample), "value": _field(value)})

    def note(self, line: Mapping[str, Json]) -> None:
        """Write a line of our own."""
        self._folder.append(self._name, json.dumps(line, separators=(",", ":")))

    def _failed(self, key: tuple[str, str], head: Mapping[str, Any], sample: int, code: int) -> None:
        error = _NAMES.get(code, f"CODE_{code}")
        if error in _FINAL:
            self._refused.add(key)
        self.note({"call": key[0], **head, **_stamp(sample), "error": error, "code": code})

    def _hung(self, name: str, args: Sequence[Json], seconds: float) -> None:
        """Runs in the watching thread: this process is of no more use, since the call holds its only reader."""
        self.note({"hang": name, "args": list(args), "seconds": seconds})
        self._folder.timed_out(f"{name} did not return within {seconds:g} s")
        os._exit(_HANG_STATUS)


class _Watch:
    """Sees a call that does not return. Looks now and then only, so that it costs a call next to nothing."""

    def __init__(self, hung: Callable[[str, Sequence[Json], float], None]) -> None:
        self._hung = hung
        self._running: tuple[float, float, str, Sequence[Json]] | None = None
        threading.Thread(target=self._run, daemon=True).start()

    @contextmanager
    def over(self, name: str, args: Sequence[Json]) -> Iterator[None]:
        """Watch while a call runs."""
        limit = INIT_HANG_SECONDS if name == "nvmlInit" else HANG_SECONDS
        self._running = (time.monotonic() + limit, limit, name, args)
        try:
            yield
        finally:
            self._running = None

    def _run(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            running = self._running
            if running is not None and time.monotonic() > running[0]:
                _, limit, name, args = running
                self._hung(name, args, limit)


def plain(value: Any) -> Json:
    """A result of pynvml as JSON: structures and its friendly objects become objects, arrays lists, bytes text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, ctypes.Structure):
        return {entry[0]: plain(getattr(value, entry[0])) for entry in value._fields_}
    if isinstance(value, list | tuple | ctypes.Array):
        return [plain(item) for item in value]
    if isinstance(value, pynvml.nvmlFriendlyObject):
        return {name: plain(item) for name, item in vars(value).items()}
    return True  # a handle


def _stamp(sample: int) -> dict[str, Json]:
    return {"sample": sample, "t": round(time.time(), 3)}


def _field(value: Any) -> Json:
    kinds = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    kind = value.valueType
    found: Json = getattr(value.value, kinds[kind]) if 0 <= kind < len(kinds) else None
    return found

"""Every recorder by name. Modules are named, not imported, so that a worker loads only the one that it runs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from collectors.live.base import Recorder

RECORDERS: Mapping[str, str] = {
    "host": "collectors.live.host:Host",
    "pci": "collectors.live.pci:Pci",
    "processes": "collectors.live.processes:Processes",
    "network": "collectors.live.network:Network",
    "kernel-log": "collectors.live.kernel_log:KernelLog",
    "services": "collectors.live.services:Services",
    "commands": "collectors.live.commands:Commands",
    "nvml-system": "collectors.live.nvml_system:NvmlSystem",
    "nvml-gpu": "collectors.live.nvml_gpu:NvmlGpu",
}
"""Name to `module:class`."""

STARTED_BY_OTHERS = frozenset({"nvml-gpu"})
"""Recorders that only another one asks for, by a name with a number."""


def recorder_class(name: str) -> type[Recorder]:
    """The class of a recorder, named with or without a number; KeyError where there is none."""
    module, _, attribute = RECORDERS[_split(name)[0]].partition(":")
    found: type[Recorder] = getattr(import_module(module), attribute)
    return found


def recorder(name: str) -> Recorder:
    """The recorder of a name such as `nvml-system` or `nvml-gpu-3`; KeyError where there is none."""
    return recorder_class(name)(_split(name)[1])


def _split(name: str) -> tuple[str, int | None]:
    base, _, number = name.rpartition("-")
    return (base, int(number)) if number.isascii() and number.isdecimal() else (name, None)

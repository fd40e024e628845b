"""The recorded tree of processes that hold GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from collectors.live.control_groups import group_of
from collectors.live.pci import DEVICES
from collectors.recorded_groups import control_groups
from collectors.recorded_host import shared_memory
from collectors.recorded_settings import limits
from collectors.recorded_tree import RecordedTree, RecordedTreeCollector, pairs, ratio, rise, whole
from diagnose.facts import Fact, Source, Subject, normalise_bus_id
from diagnose.facts.cpu_lists import parse_cpu_list
from diagnose.facts.nccl import NcclEnvironment
from diagnose.facts.process import ProcessEnvironment, ProcessPlacement

_GPUS = "proc/driver/nvidia/gpus"
_MINOR = re.compile(r"^Device Minor:\s+(\d{1,5})\s*$", re.MULTILINE)
_FIELD = re.compile(r"^(\w+):\s+(.*)$")
_CONTAINER = re.compile(r"docker|containerd|crio|kubepods|podman|libpod|lxc|garden|enroot", re.IGNORECASE)


class RecordedProcesses(RecordedTreeCollector):
    """What the recorder of processes writes."""

    kind: ClassVar[str] = "recorded-processes"
    about: ClassVar[str] = "processes"

    @classmethod
    def facts(cls, tree: RecordedTree, host: Subject) -> Iterator[Fact]:
        """Each process, then the settings that they share, then their control groups."""
        gpus = _gpus(tree)
        processes = [name for name in tree.names("proc") if name.isascii() and name.isdecimal() and len(name) < 11]
        environments: dict[tuple[str, str], tuple[Source, ...]] = {}
        for name in processes:
            subject = host.model_copy(update={"process_id": int(name)})
            yield from _placements(tree, name, subject, gpus)
            yield from limits(tree, subject, f"proc/{name}/limits", "process")
            yield from shared_memory(tree, subject, f"proc/{name}/root/dev/shm")
            for variable in _variables(tree, name):
                if variable[0].startswith("NCCL_"):
                    environments.setdefault(variable, tree.source(f"proc/{name}/environ"))
                else:
                    yield ProcessEnvironment(
                        subject=subject,
                        sources=tree.source(f"proc/{name}/environ"),
                        name=variable[0],
                        value=variable[1],
                        number=whole(variable[1]),
                    )
        # The ranks of a job have the same settings: one fact says it.
        for (variable_name, value), sources in environments.items():
            yield NcclEnvironment(subject=host, sources=sources, name=variable_name, value=value, number=whole(value))
        yield from control_groups(tree, host)


def _gpus(tree: RecordedTree) -> dict[int, str]:
    """Number of the device file to bus id, as the folder of the driver is named."""
    found = {}
    for name in tree.names(_GPUS):
        match = _MINOR.search(tree.text(f"{_GPUS}/{name}/information") or "")
        if match is not None:
            found[int(match[1])] = name
    return found


def _variables(tree: RecordedTree, process: str) -> Iterator[tuple[str, str]]:
    entry = tree.last(f"proc/{process}/environ")
    for line in entry.lines if entry is not None else ():
        name, found, value = line.partition("=")
        if found:
            yield name, value


def _placements(tree: RecordedTree, process: str, subject: Subject, gpus: Mapping[int, str]) -> Iterator[Fact]:
    """One fact for each GPU; one without a GPU where no device file can be told to be which."""
    path = f"proc/{process}"
    held = tree.last(f"{path}/fd (devices)")
    minors = [whole(line.rpartition("nvidia")[2]) for line in held.lines] if held is not None else []
    names = [gpus[minor] for minor in minors if minor is not None and minor in gpus]
    for name in names:
        yield _placement(tree, path, subject, name)
    if minors and not names:
        yield _placement(tree, path, subject, None)


def _placement(tree: RecordedTree, path: str, subject: Subject, gpu: str | None) -> ProcessPlacement:
    entry = tree.last(f"{path}/status")
    status = {match[1]: match[2].strip() for line in entry.lines if (match := _FIELD.match(line))} if entry else {}
    allowed = parse_cpu_list(status.get("Cpus_allowed_list"))
    online = parse_cpu_list(tree.text("sys/devices/system/cpu/online"))
    node = tree.number(f"{DEVICES}/{gpu}/numa_node") if gpu is not None else None
    node = node if node is not None and node >= 0 else None
    near = parse_cpu_list(tree.text(f"{DEVICES}/{gpu}/local_cpulist")) if node is not None else frozenset[int]()
    memory = _numbers(tree, f"{path}/numa_maps (nodes)")
    threads = _numbers(tree, f"{path}/task (threads)")
    total, running = sum(memory.values()), sum(threads.values())
    group = group_of(tree.text(f"{path}/cgroup"))
    return ProcessPlacement(
        subject=subject.model_copy(update={"gpu_bus_id": normalise_bus_id(gpu) if gpu is not None else None}),
        sources=tree.source(f"{path}/status", f"{path}/numa_maps (nodes)"),
        name=status.get("Name"),
        cpus=status.get("Cpus_allowed_list"),
        cpu_count=len(allowed) or None,
        bound=not online <= allowed if allowed and online else None,
        cpus_near_gpu_ratio=ratio(len(allowed & near), len(allowed)) if near else None,
        memory_nodes=status.get("Mems_allowed_list"),
        gpu_numa_node=node,
        memory_bytes=total or None,
        memory_near_gpu_ratio=ratio(memory.get(node, 0), total) if node is not None else None,
        threads=whole(status.get("Threads")),
        threads_near_gpu_ratio=ratio(sum(threads.get(cpu, 0) for cpu in near), running) if near else None,
        cpu_wait_ratio=_waiting(tree, f"{path}/schedstat"),
        control_group=group,
        in_container=_CONTAINER.search(group) is not None if group is not None else None,
    )


def _numbers(tree: RecordedTree, path: str) -> dict[int, int]:
    """Lines `NUMBER COUNT` as a mapping."""
    entry = tree.last(path)
    counted = pairs(entry.lines) if entry is not None else {}
    return {number: count for name, count in counted.items() if (number := whole(name)) is not None}


def _waiting(tree: RecordedTree, path: str) -> float | None:
    """Time waiting over time running plus waiting; None for a process that did neither."""
    span = tree.span(path)
    if span is None:
        return None
    first, last = (_schedule(entry.lines) for entry in (span.first, span.last))
    ran, waited = rise(first, last, "ran"), rise(first, last, "waited")
    return ratio(waited, ran + waited) if ran is not None and waited is not None else None


def _schedule(lines: Sequence[str]) -> dict[str, int]:
    words = lines[0].split() if lines else []
    found = {name: whole(word) for name, word in zip(("ran", "waited"), words, strict=False)}
    return {name: number for name, number in found.items() if number is not None}

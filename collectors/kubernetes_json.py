"""Pods and nodes of Kubernetes as JSON: `kubectl get pods,nodes -o json`, a list or a single object.

A pod tells where it runs, what it asks for and by whom; a node its labels, taints and what it may give out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from collectors.json_text import items, mapping, real
from collectors.kubernetes_nodes import SchedulerNode, quantity
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.sharing import Workload
from diagnose.facts.workload_roles import role_of

GPU_RESOURCE = re.compile(r"^(?:nvidia\.com/(?:gpu|gpu\.shared)|amd\.com/gpu)$")
_MIG_RESOURCE = re.compile(r"^nvidia\.com/mig-\d+g\.\d+gb")
_POD_PHASES = {"Running": True, "Succeeded": False, "Failed": False}
_MOST = 100_000


def object_facts(content: object, source: Source, host: str | None = None) -> Iterator[Fact]:
    """Facts of every pod and node; other objects are passed over."""
    top = mapping(content)
    listed = top.get("items")
    for number, item in enumerate(items(listed, dict) if isinstance(listed, list) else iter((top,))):
        if number >= _MOST:
            return
        if item.get("kind") == "Node" or ("status" in item and "allocatable" in mapping(item.get("status"))):
            node = _node(item)
            if node is not None:
                yield node.fact(source, host)
        elif item.get("kind") == "Pod" or "containers" in mapping(item.get("spec")):
            yield from _pod(item, source, host)


def _pod(item: Mapping[str, Any], source: Source, host: str | None) -> Iterator[Fact]:
    metadata, spec, status = (mapping(item.get(key)) for key in ("metadata", "spec", "status"))
    node, name = _text(spec.get("nodeName")), _text(metadata.get("name"))
    if node is None or name is None:
        return
    containers = list(items(spec.get("containers"), dict))
    namespace, labels = _text(metadata.get("namespace")), mapping(metadata.get("labels"))
    role = role_of(
        {
            "command": " ".join(_command(containers)) or None,
            "image": " ".join(filter(None, (_image(container) for container in containers))) or None,
            "name": name,
            "label": " ".join(f"{key} {value}" for key, value in labels.items() if isinstance(value, str)) or None,
            "namespace": namespace,
        }
    )
    asked, limits = _resources(containers, "requests"), _resources(containers, "limits")
    start = _seconds(status.get("startTime"))
    gpus = _count({**asked, **limits}, GPU_RESOURCE)
    phase = status.get("phase")
    yield Workload(
        subject=Subject(host=host),
        sources=(source,),
        name=name,
        role=role.role,
        role_from=role.told_by,
        role_words=role.words,
        system="kubernetes",
        job=f"{namespace}/{name}" if namespace else name,
        node=node,
        running=_POD_PHASES.get(phase) if isinstance(phase, str) else None,
        gpu_count=gpus,
        mig_slices=_count({**asked, **limits}, _MIG_RESOURCE),
        cpu_count=asked.get("cpu"),
        cpu_limit=limits.get("cpu"),
        memory_bytes=int(asked["memory"]) if "memory" in asked else None,
        pool=namespace,
        priority=real(spec.get("priority")),
        priority_class=_text(spec.get("priorityClassName")),
        qos=_text(status.get("qosClass")),
        host_network=spec.get("hostNetwork") if isinstance(spec.get("hostNetwork"), bool) else None,
        start_unix_seconds=start,
        end_unix_seconds=max(ends) if (ends := _ends(status)) else None,
        clock="utc" if start is not None else None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _image(container: Mapping[str, Any]) -> str | None:
    """Without the registry: its name may hold any words."""
    image = _text(container.get("image"))
    return image.rpartition("/")[2] if image else None


def _command(containers: list[dict[str, Any]]) -> Iterator[str]:
    for container in containers:
        for key in ("command", "args"):
            yield from items(container.get(key), str)


def _resources(containers: list[dict[str, Any]], which: str) -> dict[str, float]:
    """Sums over the containers; a resource that one of them leaves open is open for the pod."""
    found: dict[str, float] = {}
    open_ended: set[str] = set()
    for container in containers:
        amounts = {
            str(key): value
            for key, text in mapping(mapping(container.get("resources")).get(which)).items()
            if (value := quantity(text)) is not None
        }
        for key, value in amounts.items():
            found[key] = found.get(key, 0.0) + value
        open_ended |= {key for key in ("cpu", "memory") if key not in amounts}
    return {key: value for key, value in found.items() if which != "limits" or key not in open_ended}


def _count(amounts: Mapping[str, float], pattern: re.Pattern[str]) -> int | None:
    found = [int(value) for key, value in amounts.items() if pattern.match(key)]
    return sum(found) if found else None


def _seconds(value: object) -> float | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return moment.timestamp() if moment is not None and moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _ends(status: Mapping[str, Any]) -> list[float]:
    """Ends of the containers, where all of them have ended."""
    states = [mapping(mapping(state).get("state")) for state in items(status.get("containerStatuses"), dict)]
    ends = [_seconds(mapping(state.get("terminated")).get("finishedAt")) for state in states]
    known = [end for end in ends if end is not None]
    return known if len(known) == len(states) else []


def _node(item: Mapping[str, Any]) -> SchedulerNode | None:
    metadata, spec, status = (mapping(item.get(key)) for key in ("metadata", "spec", "status"))
    name = _text(metadata.get("name"))
    if name is None:
        return None
    taints = [
        f"{taint.get('key')}={taint.get('value')}:{taint.get('effect')}"
        if taint.get("value")
        else f"{taint.get('key')}:{taint.get('effect')}"
        for taint in items(spec.get("taints"), dict)
    ]
    allocatable = mapping(status.get("allocatable"))
    labels = {str(key): value for key, value in mapping(metadata.get("labels")).items() if isinstance(value, str)}
    return SchedulerNode(name, labels, taints, {str(key): str(value) for key, value in allocatable.items()})

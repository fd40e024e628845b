"""What facts say differently: settings, versions and topology, and what else changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diagnose.facts import Fact
from diagnose.report.comparison.model import FactChange
from diagnose.report.comparison.pairs import Pair, partners

MOST_OTHERS = 40
_NOTICEABLE = 0.2
"""Numbers that are neither settings nor measured by a test count as changed from a fifth on: they go up and down."""

CONFIGURATION: Mapping[str, frozenset[str] | None] = {
    **dict.fromkeys(
        (
            *("driver", "kernel-module", "cpu-topology", "host-model", "virtualisation", "numa-distance"),
            *("gpu-identity", "gpu-mig", "gpu-inventory", "gpu-path", "gpu-nic-path", "gpu-affinity", "peer-access"),
            *("pci-device", "pci-acs", "memory-policy", "clock-source", "resource-limit", "nccl-version"),
            *("nccl-environment", "process-environment", "rdma-device", "network-module", "job-nodes", "leaf-switch"),
            *("serving-engine", "serving-settings", "scheduling-node", "isolation", "telemetry-configuration"),
        )
    ),
    "gpu-power": frozenset({"limit_watts", "default_limit_watts", "min_limit_watts", "max_limit_watts"}),
    "gpu-clocks": frozenset({"application_graphics_mhz", "sm_max_mhz", "memory_max_mhz"}),
    "gpu-ecc": frozenset({"enabled", "pending_enabled"}),
    "gpu-pcie-link": frozenset({"generation_max", "width_max", "width_current"}),
    "cpu-frequency": frozenset(
        {"governor", "cpus_not_performance", "driver", "energy_preference", "limit_mhz", "max_mhz", "boost_enabled"}
    ),
    "cpu-idle-state": frozenset({"disabled_cpus", "exit_latency_seconds"}),
    "service-state": frozenset({"installed", "active", "state", "enabled"}),
    "interrupt-placement": frozenset({"cpus", "cpu_count", "local_cpus", "vectors_remote"}),
    "network-interface": None,
    "rdma-port": None,
    "control-group": frozenset({"quota_cpus", "cpus", "memory_nodes", "memory_limit_bytes", "tasks_limit"}),
    "process-placement": frozenset({"cpus", "cpu_count", "bound", "memory_nodes", "control_group"}),
    "host-memory": frozenset({"total_bytes", "swap_total_bytes", "hugepages_total_bytes"}),
    "cpu-load": frozenset({"cpus_online", "cpus_offline"}),
    "workload": frozenset({"role", "pool", "gpus", "gpu_count", "cpus", "cpu_limit", "qos", "exclusive"}),
}
"""Kind to the fields that state what was set up; None for all of them."""

_LEFT_OUT = frozenset({"kernel-log-span", "collector-status", "reported-symptom", "input-window"})
"""They tell of the reading, not of the machine."""


def compare_facts(
    before: Sequence[Fact], after: Sequence[Fact], host_names: Mapping[str, str], measured: frozenset[str]
) -> tuple[list[FactChange], list[FactChange]]:
    """Changes of what is set up, and others. Kinds in `measured` are compared elsewhere."""
    observed = {fact.kind for fact in before}, {fact.kind for fact in after}
    configuration: list[FactChange] = []
    others: list[FactChange] = []
    for pair in partners(before, after, host_names):
        kind = pair.key[0]
        # What one side did not look for has not changed.
        if kind in measured or kind in _LEFT_OUT or not (kind in observed[0] and kind in observed[1]):
            continue
        for change in _changes(pair):
            settings = CONFIGURATION.get(kind, frozenset())
            of_settings = settings is None or change.field is None or change.field in settings
            if kind in CONFIGURATION and of_settings:
                configuration.append(change)
            else:
                others.append(change)
    return configuration, others


def _changes(pair: Pair) -> Iterator[FactChange]:
    kind, subject, name = pair.key
    shown = name if isinstance(name, str) else None
    if not pair.before or not pair.after:
        there = (pair.before or pair.after)[0]
        words = _words_of(there)
        yield FactChange(
            kind=kind,
            subject=subject,
            name=shown,
            field=None,
            before=words if pair.before else None,
            after=words if pair.after else None,
        )
        return
    old, new = pair.before[-1], pair.after[-1]
    for field in type(old).own_fields():
        first, second = getattr(old, field), getattr(new, field)
        # A value that one side could not read is no change.
        if first is None or second is None or isinstance(first, tuple) or not _differ(kind, field, first, second):
            continue
        yield FactChange(
            kind=kind, subject=subject, name=shown, field=field, before=_shown(first), after=_shown(second)
        )


def _differ(kind: str, field: str, first: Any, second: Any) -> bool:
    if first == second:
        return False
    numbers = isinstance(first, int | float) and not isinstance(first, bool)
    if not numbers:
        return True
    settings = CONFIGURATION.get(kind, frozenset())
    if kind in CONFIGURATION and (settings is None or field in settings):
        return not math.isclose(first, second, rel_tol=1e-3)
    return bool(abs(second - first) > _NOTICEABLE * max(abs(first), abs(second)))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _words_of(fact: Fact) -> str:
    """A fact in a line: its first few values."""
    shown = [f"{name} {_shown(value)}" for name, value in fact.values().items() if not isinstance(value, tuple)]
    return ", ".join(shown[:4])

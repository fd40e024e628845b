"""From facts to features: what takes arithmetic over many facts, as facts again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diagnose.analysis import (
    benchmark_stages,
    clock_limits,
    communication,
    counter_rises,
    gpu_count,
    hangs,
    message_sizes,
    nccl_comparison,
    nccl_versions,
    pipeline_stages,
    placement,
    precision_features,
    rdma_ports,
    run_inputs,
    run_results,
    scaling,
    stragglers,
    topology_features,
    trace_features,
    training_runs,
    training_scaling,
    workloads,
)
from diagnose.analysis.latency import features as latency_features
from diagnose.facts import Fact
from diagnose.facts.series import Measurement

Feature = Callable[[Sequence[Fact]], list[Fact]]
SeriesFeature = Callable[[Sequence[Measurement], Sequence[Fact]], list[Fact]]

HOST_FEATURES: tuple[Feature, ...] = (
    gpu_count.features,
    rdma_ports.features,
    counter_rises.features,
    stragglers.features,
    scaling.features,
    topology_features.features,
    benchmark_stages.features,
    workloads.features,
)
"""Each takes the facts of one host and returns new ones."""

SERIES_FEATURES: tuple[SeriesFeature, ...] = (
    trace_features.features,
    latency_features.features,
    clock_limits.features,
)
"""Each takes the measurements of all hosts, and their facts, and returns new facts."""

JOB_FEATURES: tuple[Feature, ...] = (
    nccl_comparison.features,
    nccl_versions.features,
    training_runs.features,
    training_scaling.features,
    scaling.features_of_job,
    communication.features,
    message_sizes.features,
    placement.features,
    pipeline_stages.features,
    stragglers.features_between_hosts,
    hangs.features,
    run_inputs.features,
    run_results.features,
    precision_features.features,
)
"""Each takes the facts of all hosts of a job and returns new ones."""


def series_features(series: Sequence[Measurement], facts: Sequence[Fact]) -> list[Fact]:
    """Every feature of the measurements; `facts` are those of all hosts."""
    return [feature for compute in SERIES_FEATURES for feature in compute(series, facts)]


def host_features(facts: Sequence[Fact]) -> list[Fact]:
    """Every feature of the facts of one host."""
    return [feature for compute in HOST_FEATURES for feature in compute(facts)]


def job_features(facts: Sequence[Fact]) -> list[Fact]:
    """Every feature of the facts of a job."""
    return [feature for compute in JOB_FEATURES for feature in compute(facts)]

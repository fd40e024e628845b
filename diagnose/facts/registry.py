"""Every kind of fact by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from diagnose.facts import (
    bandwidth,
    collection,
    gpu,
    hang,
    host,
    kernel,
    latency,
    load,
    lowbit,
    nccl,
    network,
    pcie,
    placement,
    precision,
    process,
    scaling,
    serving,
    sharing,
    topology,
    trace,
    training,
    tuning,
    validation,
)
from diagnose.facts.base import Fact

MODULES = (
    gpu,
    pcie,
    kernel,
    host,
    tuning,
    load,
    lowbit,
    process,
    topology,
    nccl,
    network,
    placement,
    sharing,
    bandwidth,
    training,
    trace,
    scaling,
    hang,
    serving,
    latency,
    validation,
    precision,
    collection,
)


def _kinds() -> Iterator[type[Fact]]:
    for module in MODULES:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Fact) and value is not Fact:
                yield value


@cache
def fact_kinds() -> Mapping[str, type[Fact]]:
    """Kind to model, in the order of the reference page."""
    return MappingProxyType({model.kind: model for model in _kinds()})

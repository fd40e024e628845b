"""GPUs that the bus shows against GPUs that the driver shows."""

from __future__ import annotations

from collections.abc import Sequence

from diagnose.facts import Fact, Subject
from diagnose.facts.host import GpuCount, GpuInventory


def features(facts: Sequence[Fact]) -> list[Fact]:
    """One gpu-count fact, where any tool listed the GPUs of the whole machine.

    Readings of one tool at different times may differ; the lowest count of the driver and the highest of the bus are
    compared, since a lost GPU may come back after a reset.
    """
    inventories = [fact for fact in facts if isinstance(fact, GpuInventory)]
    on_bus = [item for item in inventories if item.tool == "lspci"]
    in_driver = [item for item in inventories if item.tool == "nvidia-smi"]
    if not inventories:
        return []
    fewest = min(in_driver, key=lambda item: item.listed, default=None)
    gaps = [item.highest_index + 1 - item.listed for item in in_driver if item.highest_index is not None]
    return [
        GpuCount(
            subject=Subject(host=inventories[0].subject.host),
            sources=tuple(dict.fromkeys(source for item in inventories for source in item.sources)),
            on_bus=max((item.listed for item in on_bus), default=None),
            in_driver=fewest.listed if fewest else None,
            index_gaps=max((gap for gap in gaps if gap >= 0), default=None),
        )
    ]

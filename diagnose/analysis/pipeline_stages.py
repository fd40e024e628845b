"""Stages of a pipeline compared: unequal work, which every replica shows at the same stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from diagnose.facts import Fact, Subject
from diagnose.facts.training import RankTimes, StageSpread


def features(facts: Sequence[Fact]) -> list[Fact]:
    """One spread for each table and phase of own work that tells stages apart."""
    tables: dict[tuple[str | None, str], list[RankTimes]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, RankTimes) and fact.stage is not None and fact.role == "own-work":
            tables[fact.sources[0].path, fact.measure].append(fact)
    return [spread for workers in tables.values() if (spread := _spread(workers)) is not None]


def _spread(workers: Sequence[RankTimes]) -> StageSpread | None:
    stages = sorted({worker.stage for worker in workers if worker.stage is not None})
    if len(stages) < 2:
        return None
    by_replica: dict[int | None, dict[int, list[RankTimes]]] = defaultdict(lambda: defaultdict(list))
    for worker in workers:
        by_replica[worker.replica][worker.stage or 0].append(worker)
    rows = []
    for own in by_replica.values():
        if sorted(own) != stages:
            continue
        steps = min(len(worker.series) for group in own.values() for worker in group)
        columns = [np.median([worker.series[:steps] for worker in own[stage]], axis=0) for stage in stages]
        rows.append(np.array(columns).T)
    if not rows:
        return None
    times = np.concatenate(rows)
    typical = np.median(times, axis=0)
    slowest = int(typical.argmax())
    others = np.delete(times, slowest, axis=1)
    if not bool(np.all(others > 0)):
        return None
    ratios = times[:, slowest] / np.median(others, axis=1)
    return StageSpread(
        subject=Subject(host=workers[0].subject.host),
        sources=tuple(dict.fromkeys(source for worker in workers[:8] for source in worker.sources)),
        measure=workers[0].measure,
        stages=len(stages),
        replicas=len(rows),
        slowest_stage=stages[slowest],
        slowest_ratio=float(np.median(ratios)),
        slowest_ratio_low=float(np.quantile(ratios, 0.05)),
        agreement_ratio=float(np.mean(times.argmax(axis=1) == slowest)),
        idle_ratio=1 - float(typical.mean() / typical.max()),
        last_stage=slowest == len(stages) - 1,
    )

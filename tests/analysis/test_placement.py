from __future__ import annotations

import pytest

from diagnose.analysis.placement import features
from diagnose.facts import Source
from diagnose.facts.placement import FabricUplinks, JobNodes, JobPlacement, LeafSwitch

SOURCES = (Source(path="slurm.txt", line=1),)


def leaf(name: str, nodes: str, ratio: float | None = None) -> LeafSwitch:
    return LeafSwitch(
        sources=SOURCES,
        name=name,
        nodes=len(nodes.split()),
        node_names=nodes,
        uplinks=8 if ratio else None,
        oversubscription_ratio=ratio,
    )


def job(nodes: str) -> JobNodes:
    return JobNodes(sources=SOURCES, nodes=len(nodes.split()), node_names=nodes)


LEAVES = [leaf("l1", "a b c d", 1.0), leaf("l2", "e f g h", 2.0), leaf("l3", "i j k l", 4.0)]


@pytest.mark.parametrize(
    ("nodes", "leaves", "needed", "across", "best", "worst"),
    [
        ("a b c d", 1, 1, 0.0, 0.0, 1.0),
        ("a e", 2, 1, 1.0, 0.0, 2.0),
        ("a b e f", 2, 1, 2 / 3, 0.0, 2.0),
        ("a b c d e f", 2, 2, 1 - 14 / 30, 1 - 14 / 30, 2.0),
        ("a b e f i j", 3, 2, 1 - 6 / 30, 1 - 14 / 30, 4.0),
    ],
)
def test_placements_are_compared_with_the_best(
    nodes: str, leaves: int, needed: int, across: float, best: float, worst: float
) -> None:
    (fact,) = [fact for fact in features([*LEAVES, job(nodes)]) if isinstance(fact, JobPlacement)]
    assert (fact.leaves, fact.leaves_needed, fact.oversubscription_ratio) == (leaves, needed, worst)
    assert [fact.across_ratio, fact.across_needed_ratio] == pytest.approx([across, best])


def test_leaves_of_several_rails_are_one_place_even_where_a_name_is_missing() -> None:
    rails = [leaf("rail0", "a b c"), leaf("rail1", "a c d"), leaf("other", "x y z")]
    (fact,) = features([*rails, job("a b c d")])
    assert isinstance(fact, JobPlacement)
    assert (fact.leaves, fact.across_ratio, fact.oversubscription_ratio) == (1, 0.0, None)


def test_a_job_with_a_node_of_unknown_place_is_not_judged() -> None:
    assert [fact.kind for fact in features([*LEAVES, job("a nowhere")])] == ["fabric-uplinks"]
    assert features([job("a b")]) == []


def test_the_worst_leaf_is_named() -> None:
    (fact,) = features(LEAVES)
    assert isinstance(fact, FabricUplinks)
    assert (fact.worst_leaf, fact.worst_ratio, fact.median_ratio, fact.leaves) == ("l3", 4.0, 2.0, 3)

from __future__ import annotations

import pytest

from diagnose.analysis.topology_features import features
from diagnose.facts.topology import GpuUplink, PairBandwidthReached
from tests.analysis.topologies import measured, nvlink_machine, one_switch, path, two_sockets


def test_each_gpu_tells_with_whom_it_shares_its_link() -> None:
    found = [fact for fact in features(one_switch()) if isinstance(fact, GpuUplink)]
    assert [(fact.subject.gpu_index, fact.gpu_names, fact.nics, fact.link) for fact in found] == [
        (0, "0 1", 2, "PCIe 4.0 x8"),
        (1, "0 1", 2, "PCIe 4.0 x8"),
    ]
    assert {fact.oversubscription_ratio for fact in found} == {4.0}


def test_from_the_matrix_alone_the_link_stays_unknown() -> None:
    found = [fact for fact in features(two_sockets()) if isinstance(fact, GpuUplink)]
    assert [(fact.subject.gpu_index, fact.gpus, fact.nic_names) for fact in found] == [
        (0, 2, "mlx5_0"), (1, 2, "mlx5_0"), (2, 2, None), (3, 2, None),
    ]  # fmt: skip
    assert {(fact.link, fact.oversubscription_ratio) for fact in found} == {(None, None)}


def test_measured_pairs_are_set_against_their_narrowest_link() -> None:
    facts = [*two_sockets(), measured(0, 1, 25.2), measured(0, 2, 8.0), measured(2, 3, 50.4, bidirectional=True)]
    found = [fact for fact in features(facts) if isinstance(fact, PairBandwidthReached)]
    assert [(fact.subject.gpu_index, fact.peer, fact.connection) for fact in found] == [
        (0, "1", "PIX"), (0, "2", "SYS"), (2, "3", "PIX"),
    ]  # fmt: skip
    assert [fact.reached_ratio for fact in found] == pytest.approx([0.8, 0.5, 0.8], rel=0.01)


def test_pairs_without_a_known_link_and_machines_without_any_give_nothing() -> None:
    assert features([path(0, 1, "SYS"), measured(0, 1, 10.0)]) == []
    assert [fact.kind for fact in features(nvlink_machine())] == []

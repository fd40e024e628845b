from __future__ import annotations

import pytest

from diagnose.analysis.topology_graph import topology_graph
from tests.analysis.topologies import device, nvlink_machine, one_switch, path, two_sockets


def test_pairs_across_sockets_are_limited_by_the_link_between_them() -> None:
    graph = topology_graph(two_sockets())
    near, far = graph.gpu_route("0", "1"), graph.gpu_route("3", "1")
    assert near is not None
    assert far is not None
    assert near.narrowest is not None
    assert far.narrowest is not None
    assert (near.connection, near.narrowest.name) == ("PIX", "PCIe 4.0 x16")
    assert (far.connection, far.narrowest.bytes_per_second) == ("SYS", 16e9)


def test_a_narrow_bridge_on_the_way_limits_a_pair_and_the_bridge_where_both_meet_does_not() -> None:
    meeting = topology_graph(one_switch()).gpu_route("0", "1")
    assert meeting is not None
    assert meeting.narrowest is not None
    assert meeting.narrowest.name == "PCIe 4.0 x16"
    apart = topology_graph(
        [
            *device("10", None, 16),
            *device("11", "10", 4),
            *device("12", "11", 16, gpu=0),
            *device("20", None, 16),
            *device("21", "20", 16, gpu=1),
            path(0, 1, "PHB"),
        ]
    ).gpu_route("0", "1")
    assert apart is not None
    assert apart.narrowest is not None
    assert apart.narrowest.name == "PCIe 4.0 x4"


def test_nvlinks_of_a_pair_add_up() -> None:
    route = topology_graph(nvlink_machine()).gpu_route("2", "5")
    assert route is not None
    assert route.narrowest is not None
    assert (route.connection, route.narrowest.bytes_per_second) == ("NV", 300e9)


def test_where_a_link_on_the_way_is_unknown_no_capacity_is_made_up() -> None:
    route = topology_graph([path(0, 1, "SYS")]).gpu_route("0", "1")
    assert route is not None
    assert (route.connection, route.narrowest) == ("SYS", None)
    assert topology_graph([]).gpu_route("0", "1") is None


def test_devices_below_one_switch_share_its_link() -> None:
    (shared,) = topology_graph(one_switch()).shared_uplinks()
    assert (shared.gpus, shared.nics, shared.bridge) == (("0", "1"), ("mlx5_0", "mlx5_1"), "0000:11:00.0")
    assert shared.capacity is not None
    assert shared.capacity.name == "PCIe 4.0 x8"


def test_ports_of_one_card_alone_share_nothing_that_matters() -> None:
    facts = [fact for fact in one_switch() if fact.subject.gpu is None and fact.kind != "gpu-path"]
    assert topology_graph(facts).shared_uplinks() == []


def test_without_the_tree_the_matrix_tells_who_shares_and_not_what() -> None:
    found = topology_graph(two_sockets()).shared_uplinks()
    assert [(shared.gpus, shared.nics, shared.capacity) for shared in found] == [
        (("0", "1"), ("mlx5_0",), None),
        (("2", "3"), (), None),
    ]


def test_nics_have_the_matrix_name_where_it_has_one_and_their_links_count() -> None:
    graph = topology_graph(one_switch())
    assert graph.nics == ["mlx5_0", "mlx5_1"]
    assert graph.places["mlx5_1"] == "0000:15:00.1"


def test_a_path_to_a_nic_is_limited_by_the_nics_link() -> None:
    facts = one_switch()
    nic_path = two_sockets()
    near = next(fact for fact in nic_path if fact.kind == "gpu-nic-path")
    route = topology_graph([*facts, near]).nic_route("0", "mlx5_0")
    assert route is not None
    assert route.narrowest is not None
    assert (route.connection, route.narrowest.name) == ("PXB", "PCIe 4.0 x8")


@pytest.mark.parametrize("loop", ["12", "11"])
def test_a_tree_that_bites_its_tail_is_walked_once(loop: str) -> None:
    facts = [*device("11", loop, 8), *device("12", "11", 16), *device("13", "12", 16, gpu=0)]
    assert topology_graph(facts).shared_uplinks() == []

from __future__ import annotations

from typing import Any

from diagnose.analysis.rdma_ports import features
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.network import RdmaDevice, RdmaPort

SOURCES = (Source(path="ibstat.txt", line=1),)


def port(nic: str, state: str = "active", rate: float = 400.0, **values: Any) -> list[Fact]:
    subject = Subject(nic=nic, port=1)
    return [
        RdmaDevice(subject=Subject(nic=nic), sources=SOURCES, model=values.pop("model", "MT4129")),
        RdmaPort(
            subject=subject,
            sources=SOURCES,
            state=state,
            rate_gigabits_per_second=rate,
            **{"physical_state": "linkup", "link_layer": "infiniband", **values},
        ),
    ]


def comparison(facts: list[Fact], nic: str) -> Any:
    return next((fact for fact in features(facts) if fact.subject.nic == nic), None)


def test_a_slow_port_is_compared_with_the_median_of_its_active_peers() -> None:
    facts = [*port("mlx5_0", rate=200.0), *port("mlx5_1"), *port("mlx5_2"), *port("mlx5_3", state="down", rate=40.0)]
    found = comparison(facts, "mlx5_0")
    assert (found.peers, found.active_peers) == (3, 2)
    assert (found.peers_rate_gigabits_per_second, found.rate_to_peers_ratio) == (400.0, 0.5)


def test_the_rate_of_a_port_that_is_down_is_none() -> None:
    found = comparison([*port("mlx5_0", state="down", rate=40.0), *port("mlx5_1")], "mlx5_0")
    assert found.rate_gigabits_per_second is None
    assert found.rate_to_peers_ratio is None


def test_adapters_of_another_model_or_link_layer_are_no_peers() -> None:
    facts = [*port("mlx5_0"), *port("mlx5_1", model="MT4125", rate=100.0), *port("mlx5_2", link_layer="ethernet")]
    assert features(facts) == []


def test_a_port_that_two_tools_list_counts_once() -> None:
    short = RdmaPort(subject=Subject(nic="mlx5_0", port=1), sources=SOURCES, state="active", link_layer="infiniband")
    facts = [short, *port("mlx5_0", active_mtu_bytes=2048), *port("mlx5_1", active_mtu_bytes=4096)]
    found = comparison(facts, "mlx5_0")
    assert (found.active_mtu_bytes, found.peers_mtu_bytes, found.peers) == (2048, 4096, 1)

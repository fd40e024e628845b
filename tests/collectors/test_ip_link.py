from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from collectors.base import BlockCollector
from collectors.ip_link import IpLink, IpLinkJson
from tests.collectors.helpers import block, damaged, opened

TEXT = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000
    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff
    RX:  bytes  packets errors dropped  missed   mcast
          1000       10      1       2       0       0
    TX:  bytes  packets errors dropped carrier collsns
          2000       20      3       4       0       0
3: ib0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 2044 qdisc mq state DOWN mode DEFAULT group default qlen 256
    link/infiniband 00:00:10:29 brd 00:ff:ff:ff
"""
JSON = [
    {"ifindex": 1, "ifname": "lo", "flags": ["LOOPBACK", "UP", "LOWER_UP"], "mtu": 65536, "operstate": "UNKNOWN"},
    {
        "ifindex": 2,
        "ifname": "ib0",
        "flags": ["BROADCAST", "UP", "LOWER_UP"],
        "mtu": 2044,
        "operstate": "UP",
        "link_type": "infiniband",
        "stats64": {"rx": {"bytes": 5, "dropped": 1}, "tx": {"bytes": 6}},
    },
]


def facts(collector: type[BlockCollector], text: str) -> dict[tuple[str, str | None], Any]:
    return {(fact.kind, fact.subject.nic): fact for fact in collector.parse(block(text)).facts}


def test_link_and_counters_of_an_interface() -> None:
    found = facts(IpLink, TEXT)
    assert found["network-interface", "eth0"].values() == {
        "link_detected": True,
        "operational_state": "up",
        "mtu_bytes": 9000,
    }
    assert found["network-counters", "eth0"].values() == {
        "receive_bytes": 1000,
        "receive_packets": 10,
        "receive_errors": 1,
        "receive_dropped": 2,
        "transmit_bytes": 2000,
        "transmit_packets": 20,
        "transmit_errors": 3,
        "transmit_dropped": 4,
    }


def test_an_interface_that_is_up_without_carrier_has_no_link() -> None:
    assert facts(IpLink, TEXT)["network-interface", "ib0"].link_detected is False


def test_the_loopback_is_left_out() -> None:
    assert not any(nic == "lo" for _, nic in facts(IpLink, TEXT))
    assert not any(nic == "lo" for _, nic in facts(IpLinkJson, json.dumps(JSON)))


def test_json_says_the_same() -> None:
    found = facts(IpLinkJson, json.dumps(JSON))
    assert found["network-interface", "ib0"].values() == {
        "link_detected": True,
        "operational_state": "up",
        "mtu_bytes": 2044,
        "link_type": "infiniband",
    }
    assert found["network-counters", "ib0"].values() == {
        "receive_bytes": 5,
        "receive_dropped": 1,
        "transmit_bytes": 6,
    }


def test_interfaces_open() -> None:
    assert len(opened(IpLink, TEXT)) == 3
    compact = json.dumps(JSON, separators=(",", ":"))
    assert opened(IpLinkJson, compact) == [compact]
    assert IpLinkJson.resembles(json.dumps(JSON, indent=1).splitlines()) > 0.5


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(TEXT):
        IpLink.parse(block(text))
    for text in damaged(json.dumps(JSON)):
        IpLinkJson.parse(block(text))


def test_the_interfaces_of_the_corpus_file_are_up(corpus: Path) -> None:
    text = (corpus / "files" / "infiniband" / "gcm-ibstat-pass_ib_interfaces.txt").read_text()
    found = facts(IpLinkJson, text)
    assert len(found) == 8
    assert all(fact.link_detected for fact in found.values())

from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.ibnetdiscover import Ibnetdiscover
from tests.collectors.helpers import block, damaged, opened

FABRIC = """\
#
# Topology file: generated on Mon Jan  6 10:00:00 2025
#
vendid=0x2c9
devid=0xd2f2
sysimgguid=0x1111000000000001
switchguid=0x1111000000000001(1111000000000001)
Switch\t65 "S-1111000000000001"\t\t# "MF0;leaf-1:MQM9700/U1" enhanced port 0 lid 1 lmc 0
[1]\t"H-2222000000000001"[1](2222000000000001) \t\t# "gpu-a mlx5_0" lid 5 4xNDR
[2]\t"H-2222000000000002"[1](2222000000000002) \t\t# "gpu-b mlx5_0" lid 6 4xNDR
[3]\t"H-2222000000000003"[1](2222000000000003) \t\t# "gpu-c mlx5_0" lid 7 4xHDR
[40]\t"S-1111000000000002"[1]\t\t# "MF0;spine-1:MQM9700/U1" lid 2 4xNDR

vendid=0x2c9
caguid=0x2222000000000001
Ca\t1 "H-2222000000000001"\t\t# "gpu-a mlx5_0"
[1](2222000000000001) \t"S-1111000000000001"[1]\t\t# lid 5 lmc 0 "MF0;leaf-1:MQM9700/U1" lid 1 4xNDR
"""


def fabric(text: str) -> Any:
    return next(fact for fact in Ibnetdiscover.parse(block(text)).facts if fact.kind == "fabric-topology")


def test_links_listed_from_both_ends_count_once() -> None:
    assert fabric(FABRIC).values() == {
        "switches": 1,
        "adapters": 1,
        "host_links": 3,
        "switch_links": 1,
        "usual_link": "4xNDR",
        "slower_links": 1,
        "slower_link_names": "MF0;leaf-1:MQM9700/U1 port 3 to gpu-c mlx5_0",
    }


def test_a_leaf_has_its_hosts_and_the_share_of_their_rate_that_its_uplinks_carry() -> None:
    aggregation = (
        '[41]\t"H-3333000000000001"[1](3333000000000001) \t\t# "Mellanox Technologies Aggregation Node" lid 9 4xNDR'
    )
    text = FABRIC.replace("[40]", f"{aggregation}\n[40]")
    (leaf,) = [fact for fact in Ibnetdiscover.parse(block(text)).facts if fact.kind == "leaf-switch"]
    assert leaf.values() == {
        "name": "MF0;leaf-1:MQM9700/U1",
        "nodes": 3,
        "node_names": "gpu-a gpu-b gpu-c",
        "uplinks": 1,
        "oversubscription_ratio": 2.5,
    }


def test_with_speeds_that_are_not_known_no_share_is_made_up() -> None:
    text = FABRIC.replace("xNDR", "xNEW")
    leaves = [fact for fact in Ibnetdiscover.parse(block(text)).facts if fact.kind == "leaf-switch"]
    assert ["oversubscription_ratio" in leaf.values() for leaf in leaves] == [False]


def test_the_head_opens() -> None:
    assert opened(Ibnetdiscover, FABRIC)[0].startswith("# Topology file")


def test_damaged_files_do_not_raise() -> None:
    for text in damaged(FABRIC):
        Ibnetdiscover.parse(block(text))


def test_the_large_fabric_of_the_corpus_is_counted(corpus: Path) -> None:
    fact = fabric((corpus / "files" / "infiniband" / "topograph-ibnetdiscover-example.txt").read_text())
    assert (fact.switches, fact.usual_link, fact.slower_links) == (40, "4xNDR", 0)


def test_rows_of_ports_are_read_too(corpus: Path) -> None:
    assert fabric((corpus / "files" / "infiniband" / "ibexp-ibnetdiscover-test3.txt").read_text()).switches == 1

from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.nccl_topo_xml import NcclTopoXml
from tests.collectors.helpers import block, damaged, opened

SYSTEM = """\
<system version="1">
  <cpu numaid="0" affinity="ffffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:18:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:1a:00.0" class="0x030200" vendor="0x10de" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1"/>
      </pci>
      <pci busid="0000:1b:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1">
    <pci busid="0000:98:00.0" class="0x020000">
      <nic>
        <net name="eth0" dev="1" speed="100000" port="1"/>
      </nic>
    </pci>
  </cpu>
</system>
"""


def facts(text: str, kind: str) -> list[Any]:
    return [fact for fact in NcclTopoXml.parse(block(text)).facts if fact.kind == kind]


def test_a_gpu_has_index_bus_id_and_link() -> None:
    (gpu,) = [fact for fact in facts(SYSTEM, "pci-device") if fact.is_gpu]
    assert (gpu.subject.gpu_index, gpu.subject.gpu_bus_id, gpu.numa_node) == (0, "0000:1a:00.0", 0)
    assert gpu.upstream_bus_id == "0000:18:00.0"
    (link,) = [fact for fact in facts(SYSTEM, "pci-link") if fact.subject.gpu_index == 0]
    assert link.values() == {"speed_max_gigatransfers_per_second": 32.0, "width_max": 16}


def test_a_nic_belongs_to_its_own_device() -> None:
    links = {fact.subject.nic: fact for fact in facts(SYSTEM, "network-interface")}
    assert links["mlx5_0"].subject.bus_id == "0000:1b:00.0"
    assert links["mlx5_0"].values() == {
        "speed_gigabits_per_second": 400.0,
        "rdma_device": "mlx5_0",
        "numa_node": 0,
    }


def test_paths_from_gpu_to_nics() -> None:
    assert {fact.subject.nic: fact.connection for fact in facts(SYSTEM, "gpu-nic-path")} == {
        "mlx5_0": "PIX",
        "eth0": "SYS",
    }


def test_a_class_that_is_not_told_is_not_assumed() -> None:
    text = '<system version="1">\n<cpu numaid="0">\n<pci busid="0000:00:16.0"/>\n</cpu>\n</system>\n'
    (device,) = facts(text, "pci-device")
    assert device.values() == {"numa_node": 0}


def test_the_root_opens() -> None:
    assert opened(NcclTopoXml, SYSTEM) == ['<system version="1">']


def test_damaged_xml_does_not_raise() -> None:
    for text in damaged(SYSTEM):
        NcclTopoXml.parse(block(text))


def test_every_model_of_the_corpus_is_read(corpus: Path) -> None:
    paths = [*(corpus / "files" / "nccl-topo-xml").glob("*.xml")]
    assert len(paths) == 5
    for path in paths:
        text = path.read_text()
        parsed = NcclTopoXml.parse(block(text[text.index("<system") :]))
        assert parsed.problems == [], path.name
        assert len(parsed.facts) >= 9, path.name

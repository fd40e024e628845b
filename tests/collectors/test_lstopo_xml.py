from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.lstopo_xml import LstopoXml
from tests.collectors.helpers import block, damaged, opened

MACHINE = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" nodeset="0x00000007" gp_index="1">
    <info name="Architecture" value="x86_64"/>
    <object type="Package" os_index="0" cpuset="0x00000003" nodeset="0x00000005">
      <info name="CPUModel" value="Example CPU"/>
      <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x00000001" local_memory="1000"/>
      <object type="NUMANode" os_index="2" cpuset="0x0" nodeset="0x00000004" local_memory="500"/>
      <object type="Core" os_index="0" cpuset="0x00000001" nodeset="0x00000001">
        <object type="PU" os_index="0" cpuset="0x00000001" nodeset="0x00000001"/>
      </object>
      <object type="Core" os_index="1" cpuset="0x00000002" nodeset="0x00000001">
        <object type="PU" os_index="1" cpuset="0x00000002" nodeset="0x00000001"/>
      </object>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[00-09]">
        <object type="Bridge" bridge_type="1-1" pci_busid="0000:00:01.0" pci_type="0604 [8086:3c08]">
          <object type="Bridge" bridge_type="1-1" pci_busid="0000:01:00.0" pci_type="0604 [10b5:8747]">
            <object type="Bridge" bridge_type="1-1" pci_busid="0000:02:08.0" pci_type="0604 [10b5:8747]">
              <object type="PCIDev" pci_busid="0000:03:00.0" pci_type="0302 [10de:2330] [10de:0000] a1 00">
                <info name="PCIVendor" value="NVIDIA"/>
                <object type="OSDev" name="nvml0" subtype="NVML" osdev_type="12"/>
              </object>
            </object>
            <object type="Bridge" bridge_type="1-1" pci_busid="0000:02:10.0" pci_type="0604 [10b5:8747]">
              <object type="PCIDev" pci_busid="0000:04:00.0" pci_type="0207 [15b3:1021] [15b3:0000] 00 00">
                <object type="OSDev" name="ib0" osdev_type="16"/>
                <object type="OSDev" name="mlx5_0" osdev_type="48"/>
              </object>
            </object>
          </object>
        </object>
        <object type="Bridge" bridge_type="1-1" pci_busid="0000:00:02.0" pci_type="0604 [8086:3c08]">
          <object type="PCIDev" pci_busid="0000:06:00.0" pci_type="0300 [1002:515e] [1002:0000] 00 00">
            <info name="PCIDevice" value="ES1000"/>
          </object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" nodeset="0x00000002">
      <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" local_memory="1000"/>
      <object type="Core" os_index="2" cpuset="0x00000004" nodeset="0x00000002">
        <object type="PU" os_index="2" cpuset="0x00000004" nodeset="0x00000002"/>
      </object>
      <object type="Core" os_index="3" cpuset="0x00000008" nodeset="0x00000002">
        <object type="PU" os_index="3" cpuset="0x00000008" nodeset="0x00000002"/>
      </object>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[80-81]">
        <object type="PCIDev" pci_busid="0000:81:00.0" pci_type="0200 [8086:1521] [8086:0000] 00 00">
          <object type="OSDev" name="eth0" osdev_type="16"/>
        </object>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="6">10 21 </u64values>
    <u64values length="6">21 10 </u64values>
  </distances2>
</topology>
"""


def facts(text: str, kind: str) -> list[Any]:
    return [fact for fact in LstopoXml.parse(block(text)).facts if fact.kind == kind]


def test_nodes_have_cpus_and_memory_and_a_node_without_cpus_has_none() -> None:
    nodes = {fact.subject.numa_node: fact.values() for fact in facts(MACHINE, "numa-node")}
    assert nodes[0] == {"cpus": "0-1", "cpu_count": 2, "memory_total_bytes": 1000}
    assert nodes[2] == {"cpu_count": 0, "memory_total_bytes": 500}


def test_processors_are_counted() -> None:
    (cpu,) = facts(MACHINE, "cpu-topology")
    assert cpu.values() == {
        "model_name": "Example CPU",
        "architecture": "x86_64",
        "sockets": 2,
        "cores_per_socket": 2,
        "threads_per_core": 1,
        "logical_cpus": 4,
        "numa_nodes": 3,
    }


def test_distances_may_be_cut_into_several_elements() -> None:
    distances = {(fact.subject.numa_node, fact.to_node): fact.distance for fact in facts(MACHINE, "numa-distance")}
    assert distances == {(0, 0): 10, (0, 1): 21, (1, 0): 21, (1, 1): 10}


def test_a_gpu_is_joined_by_index_and_bus_id_and_a_board_controller_is_none() -> None:
    (gpu,) = [fact for fact in facts(MACHINE, "pci-device") if fact.is_gpu]
    assert (gpu.subject.gpu_index, gpu.subject.gpu_bus_id, gpu.numa_node) == (0, "0000:03:00.0", 0)


def test_paths_from_gpu_to_nics_below_one_switch_and_across_sockets() -> None:
    paths = {fact.subject.nic: fact.connection for fact in facts(MACHINE, "gpu-nic-path")}
    assert paths == {"mlx5_0": "PIX", "ib0": "PIX", "eth0": "SYS"}


def test_an_interface_names_its_rdma_device() -> None:
    links = {fact.subject.nic: fact.values() for fact in facts(MACHINE, "network-interface")}
    assert links == {"ib0": {"rdma_device": "mlx5_0", "numa_node": 0}, "eth0": {"numa_node": 1}}


def test_the_document_type_opens_and_other_xml_does_not() -> None:
    assert opened(LstopoXml, MACHINE)[0].startswith("<!DOCTYPE topology")
    assert opened(LstopoXml, "<topologyTest>\n<nvidia_smi_log>\n") == []


def test_xml_that_ends_early_keeps_what_was_whole() -> None:
    parsed = LstopoXml.parse(block(MACHINE[: MACHINE.index('<object type="Package" os_index="1"')]))
    assert any(fact.kind == "pci-device" for fact in parsed.facts)
    assert "ends early" in parsed.problems[0]


def test_entities_are_refused() -> None:
    parsed = LstopoXml.parse(block('<!DOCTYPE topology SYSTEM "x" [\n<!ENTITY a "b">\n]>\n<topology>\n</topology>'))
    assert parsed.facts == []
    assert "entity declarations" in parsed.problems[0]


def test_damaged_xml_does_not_raise() -> None:
    for text in damaged(MACHINE):
        LstopoXml.parse(block(text))


def test_every_machine_of_the_corpus_has_nodes_and_cpus(corpus: Path) -> None:
    paths = [*(corpus / "files" / "hwloc-xml").glob("*.xml")]
    assert len(paths) > 5
    for path in paths:
        parsed = LstopoXml.parse(block(path.read_text()))
        assert parsed.problems == [], path.name
        assert {"numa-node", "cpu-topology"} <= {fact.kind for fact in parsed.facts}, path.name

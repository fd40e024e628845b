from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.lscpu import Lscpu, count_cpus
from tests.collectors.helpers import block, damaged, opened

OLD = """\
Architecture:          x86_64
CPU op-mode(s):        32-bit, 64-bit
CPU(s):                128
On-line CPU(s) list:   0-127
Thread(s) per core:    2
Core(s) per socket:    32
Socket(s):             2
NUMA node(s):          2
Vendor ID:             AuthenticAMD
Model name:            AMD EPYC 7513 32-Core Processor
CPU MHz:               1500.000
CPU max MHz:           3681.6399
NUMA node0 CPU(s):     0-31,64-95
NUMA node1 CPU(s):     32-63,96-127
"""
NEW_ARM = """\
Architecture:                    aarch64
  CPU op-mode(s):                64-bit
CPU(s):                          72
Vendor ID:                       ARM
  Model name:                    Neoverse-V2
    Thread(s) per core:          1
    Core(s) per socket:          72
    Socket(s):                   1
    CPU max MHz:                 3447.0000
Virtualization features:
  Hypervisor vendor:             KVM
  Virtualization type:           full
NUMA:
  NUMA node(s):                  2
  NUMA node0 CPU(s):             0-71
  NUMA node1 CPU(s):
"""
GERMAN = """\
Architektur:                     x86_64
CPU(s):                          16
Thread(s) pro Kern:              2
Kern(e) pro Socket:              8
Sockel:                          1
NUMA-Knoten:                     1
Anbieterkennung:                 GenuineIntel
Modellname:                      Intel(R) Xeon(R) Silver
Maximale Taktfrequenz der CPU:   3200,0000
NUMA-Knoten0 CPU(s):             0-15
"""


def facts(text: str, kind: str) -> list[Any]:
    return [fact for fact in Lscpu.parse(block(text)).facts if fact.kind == kind]


def test_the_old_layout_is_read() -> None:
    (cpus,) = facts(OLD, "cpu-topology")
    assert cpus.values() == {
        "model_name": "AMD EPYC 7513 32-Core Processor",
        "vendor": "AuthenticAMD",
        "architecture": "x86_64",
        "sockets": 2,
        "cores_per_socket": 32,
        "threads_per_core": 2,
        "logical_cpus": 128,
        "numa_nodes": 2,
        "current_mhz": 1500.0,
        "max_mhz": 3681.6399,
    }
    assert [(node.subject.numa_node, node.cpu_count) for node in facts(OLD, "numa-node")] == [(0, 64), (1, 64)]
    assert facts(OLD, "virtualisation") == []


def test_the_indented_layout_is_read_and_a_node_without_cpus_has_none() -> None:
    (cpus,) = facts(NEW_ARM, "cpu-topology")
    assert (cpus.architecture, cpus.logical_cpus, cpus.sockets, cpus.max_mhz) == ("aarch64", 72, 1, 3447.0)
    assert [(node.cpus, node.cpu_count) for node in facts(NEW_ARM, "numa-node")] == [("0-71", 72), (None, 0)]
    assert facts(NEW_ARM, "virtualisation")[0].values() == {"hypervisor": "KVM", "type": "full"}


def test_another_language_is_read() -> None:
    (cpus,) = facts(GERMAN, "cpu-topology")
    assert (cpus.sockets, cpus.cores_per_socket, cpus.threads_per_core, cpus.max_mhz) == (1, 8, 2, 3200.0)
    assert facts(GERMAN, "numa-node")[0].cpus == "0-15"
    assert opened(Lscpu, GERMAN) == [GERMAN.splitlines()[0]]


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_read_with_nested_fields(indent: int | None) -> None:
    children = [{"field": "Socket(s):", "data": "2"}, {"field": "Core(s) per socket:", "data": "-"}]
    text = json.dumps(
        {
            "lscpu": [
                {"field": "Architecture:", "data": "x86_64"},
                {"field": "Vendor ID:", "data": "GenuineIntel", "children": children},
                {"field": "NUMA node0 CPU(s):", "data": "0-3"},
            ]
        },
        indent=indent,
    )
    (cpus,) = facts(text, "cpu-topology")
    assert cpus.values() == {"architecture": "x86_64", "vendor": "GenuineIntel", "sockets": 2}
    assert facts(text, "numa-node")[0].cpu_count == 4
    assert opened(Lscpu, text) or Lscpu.resembles(text.splitlines()) == 1.0


def test_an_architecture_of_something_else_opens_nothing() -> None:
    assert opened(Lscpu, "Architecture: amd64\n    Product Architecture : Ampere\nArchitecture: Hopper\n") == []


@pytest.mark.parametrize(("text", "count"), [("0-3,8", 5), ("", 0), ("7", 1), ("a-b", None)])
def test_cpus_of_a_list_are_counted(text: str, count: int | None) -> None:
    assert count_cpus(text) == count


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(OLD + NEW_ARM + '{"lscpu": [{"field": "Architecture:", "data": "x86_64"}]}'):
        Lscpu.parse(block(text))
        Lscpu.resembles(text.splitlines())


def test_field_output_parses(corpus: Path) -> None:
    for path in sorted((corpus / "files" / "numa-cpu").glob("*lscpu*")):
        text = path.read_text()
        assert facts(text, "cpu-topology")[0].logical_cpus == 2
        assert facts(text, "virtualisation")[0].hypervisor == "KVM"

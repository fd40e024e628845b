from __future__ import annotations

from pathlib import Path

from collectors.scan import read_inputs
from collectors.slurm_topology import SlurmJobNodes, SlurmTopology
from diagnose.facts.placement import JobNodes, LeafSwitch
from tests.collectors.helpers import block, damaged, feed, opened

TOPOLOGY = """\
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=gpu[01-04]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=gpu[05-08]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=gpu[01-08] Switches=leaf[1-2]
"""
JOB = """\
JobId=77 JobName=train
   NodeList=gpu[01,05]
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=gpu[01,05]
SLURM_JOB_NODELIST=gpu[01-03]
export SLURM_NODELIST="gpu[01-03]"
"""


def test_leaves_have_their_nodes_and_switches_above_are_left_out() -> None:
    found = [fact for fact in SlurmTopology.parse(block(TOPOLOGY)).facts if isinstance(fact, LeafSwitch)]
    assert [(fact.name, fact.nodes, fact.node_names) for fact in found] == [
        ("leaf1", 4, "gpu01 gpu02 gpu03 gpu04"),
        ("leaf2", 4, "gpu05 gpu06 gpu07 gpu08"),
    ]
    assert {(fact.uplinks, fact.oversubscription_ratio) for fact in found} == {(None, None)}
    assert len(opened(SlurmTopology, TOPOLOGY)) == 3


def test_the_form_of_the_configuration_file_is_read_too() -> None:
    text = "# leaves\nSwitchName=s0 Nodes=n[1-2]\nSwitchName=s2 Switches=s[0-1]\n"
    (leaf,) = SlurmTopology.parse(block(text)).facts
    assert leaf.values() == {"name": "s0", "nodes": 2, "node_names": "n1 n2"}


def test_nodes_of_a_job_are_read_once_and_lists_of_other_things_are_not() -> None:
    found = [fact for fact in feed(SlurmJobNodes, JOB).facts if isinstance(fact, JobNodes)]
    assert [fact.node_names for fact in found] == ["gpu01 gpu02 gpu03"]


def test_a_job_of_one_node_has_no_placement() -> None:
    assert feed(SlurmJobNodes, "SLURM_JOB_NODELIST=gpu01\n").facts == []


def test_damaged_text_is_read_without_an_error() -> None:
    for text in (*damaged(TOPOLOGY), *damaged(JOB)):
        SlurmTopology.parse(block(text))
        feed(SlurmJobNodes, text)


def test_both_are_found_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "slurm.txt").write_text(f"$ scontrol show topology\n{TOPOLOGY}$ scontrol show job 77\n{JOB}")
    kinds = [fact.kind for fact in read_inputs([str(tmp_path / "slurm.txt")]).facts]
    assert (kinds.count("leaf-switch"), kinds.count("job-nodes")) == (2, 2)

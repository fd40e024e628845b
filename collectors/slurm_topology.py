"""Slurm's tree of switches (`scontrol show topology`, topology.conf), and a job's nodes in its environment."""

from __future__ import annotations

import re
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, LineCollector, Parsed
from collectors.host_lists import expand
from diagnose.facts import Fact, Subject
from diagnose.facts.placement import JobNodes, LeafSwitch

_SWITCH = re.compile(r"^\s*SwitchName=([\w.-]{1,64})\b(.*)$")
_NODES = re.compile(r"\bNodes=(\S+)")
_HIGHER = re.compile(r"\bSwitches=\S|\bLevel=[1-9]")
_JOB_NODES = re.compile(r"^\s*(?:export )?SLURM_(?:JOB_NODELIST|NODELIST)=[\"']?([\w.,\[\]-]+)[\"']?")


class SlurmTopology(BlockCollector):
    """Switches that nodes hang at directly."""

    kind: ClassVar[str] = "slurm-topology"
    literals: ClassVar[tuple[bytes, ...]] = (b"SwitchName=",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bscontrol\b.*\btopo")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A switch."""
        return _SWITCH.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each leaf; switches above list the nodes beneath as well and are left out."""
        return Parsed([fact for line in block.lines if (fact := _leaf(block, line)) is not None])


def _leaf(block: Block, line: Line) -> Fact | None:
    match = _SWITCH.match(line.text)
    nodes = _NODES.search(match[2]) if match else None
    if match is None or nodes is None or _HIGHER.search(match[2]):
        return None
    names = expand(nodes[1])
    if not names:
        return None
    return LeafSwitch(
        subject=Subject(), sources=(block.source(line),), name=match[1], nodes=len(names), node_names=" ".join(names)
    )


class SlurmJobNodes(LineCollector):
    """The nodes of a job: the variable that Slurm sets for it."""

    kind: ClassVar[str] = "slurm-environment"
    literals: ClassVar[tuple[bytes, ...]] = (b"SLURM_JOB_NODELIST=", b"SLURM_NODELIST=")

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._jobs: dict[str, Fact] = {}

    def feed(self, line: Line, host: str | None) -> bool:
        """A list of more than one node."""
        match = _JOB_NODES.match(line.text)
        names = expand(match[1]) if match else []
        if len(names) < 2:
            return False
        fact = JobNodes(sources=(self.source(line.number),), nodes=len(names), node_names=" ".join(names))
        self._jobs.setdefault(fact.node_names, fact)
        return True

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """Each list once."""
        return Parsed(list(self._jobs.values()))

"""`scontrol show job` and `scontrol show node`: records of `Name=value`, the first line not indented.

JobId=812 JobName=vllm-70b
   JobState=RUNNING Reason=None Dependency=(null)
   NodeList=gpu01
     Nodes=gpu01 CPU_IDs=0-31 Mem=0 GRES=gpu:h100:4(IDX:0-3)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.host_lists import expand
from collectors.slurm_values import (
    RUNNING,
    cpu_count,
    gpu_count,
    gpu_indices,
    known,
    local_seconds,
    mig_slices,
    number,
)
from diagnose.facts import Fact
from diagnose.facts.placement import JobNodes
from diagnose.facts.sharing import SchedulingNode, Workload
from diagnose.facts.workload_roles import role_of

_PAIR = re.compile(r"(?:^|\s)([A-Za-z][\w/:]{0,40})=")
_JOB = re.compile(r"^\s*JobId=\d+")
_NODE_LIST = re.compile(r"^\s*NodeList=\S")
_NODE = re.compile(r"^\s*NodeName=\S+ .*\b(?:Arch|CoresPerSocket|CPUAlloc|CPUTot)=")
_DETAIL = re.compile(r"^\s*Nodes=\S+ CPU_IDs=")


@dataclass(slots=True)
class _Record:
    line: Line
    values: dict[str, str] = field(default_factory=dict)
    details: list[dict[str, str]] = field(default_factory=list)
    """What each node gives to a job, with `-d`."""


class SlurmJobRecords(BlockCollector):
    """Jobs."""

    kind: ClassVar[str] = "slurm-job"
    literals: ClassVar[tuple[bytes, ...]] = (b"JobId=", b"NodeList=")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bscontrol\b.*\bshow\s+jobs?\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The first line of a record, or the line that lists the nodes where only that was kept."""
        return _JOB.match(text) is not None or _NODE_LIST.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The nodes of each job, and what runs there."""
        seen: set[str] = set()
        facts: list[Fact] = []
        for record in _records(block, _JOB):
            nodes = expand(known(record.values.get("NodeList")) or "")
            names = " ".join(nodes)
            if len(nodes) > 1 and names not in seen:
                seen.add(names)
                source = block.source(record.line)
                facts.append(JobNodes(subject=block.subject(), sources=(source,), nodes=len(nodes), node_names=names))
            facts += _job(block, record, nodes)
        return Parsed(facts)


class SlurmNodeRecords(BlockCollector):
    """Nodes."""

    kind: ClassVar[str] = "slurm-node"
    literals: ClassVar[tuple[bytes, ...]] = (b"NodeName=",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bscontrol\b.*\bshow\s+nodes?\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The first line of a record."""
        return _NODE.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each node."""
        return Parsed([_node(block, record) for record in _records(block, _NODE) if "NodeName" in record.values])


def _pairs(text: str) -> dict[str, str]:
    """Values reach to the next name, for some hold blanks."""
    marks = list(_PAIR.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {mark[1]: text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=False)}


def _records(block: Block, first: re.Pattern[str]) -> Iterator[_Record]:
    record: _Record | None = None
    for line in block.lines:
        if first.match(line.text) and record is not None:
            yield record
            record = None
        if record is None:
            if "=" not in line.text:
                continue
            record = _Record(line)
        if _DETAIL.match(line.text):
            record.details.append(_pairs(line.text))
        else:
            for name, value in _pairs(line.text).items():
                record.values.setdefault(name, value)
    if record is not None:
        yield record


def _job(block: Block, record: _Record, nodes: list[str]) -> Iterator[Fact]:
    values = record.values
    state = values.get("JobState", "").split(" ")[0]
    if "JobId" not in values or not nodes:
        return
    name = known(values.get("JobName"))
    command = " ".join(text for key in ("Command", "WorkDir") if (text := known(values.get(key)))) or None
    partition = known(values.get("Partition"))
    role = role_of({"command": known(values.get("Command")), "name": name, "partition": partition})
    if role.told_by is None and command is not None:
        role = role_of({"command": command})
    resources = values.get("AllocTRES") or values.get("TRES") or values.get("ReqTRES")
    gpus, cpus = gpu_count(resources), cpu_count(resources) or number(values.get("NumCPUs"))
    start, end = local_seconds(values.get("StartTime")), local_seconds(values.get("EndTime"))
    given = _given(record)
    for node in nodes:
        own = given.get(node, {})
        per_node = own.get("GRES") or values.get("TresPerNode")
        yield Workload(
            subject=block.subject(),
            sources=(block.source(record.line),),
            name=name or values["JobId"],
            role=role.role,
            role_from=role.told_by,
            role_words=role.words,
            system="slurm",
            job=values["JobId"],
            node=node,
            nodes=len(nodes),
            running=state in RUNNING if state else None,
            gpus=gpu_indices(own.get("GRES")),
            gpu_count=gpu_count(per_node) if gpus is None else -(-gpus // len(nodes)),
            mig_slices=mig_slices(per_node),
            cpu_count=None if cpus is None else cpus / len(nodes),
            pool=partition,
            user=(known(values.get("UserId")) or "").partition("(")[0] or None,
            priority=number(values.get("Priority")),
            qos=known(values.get("QOS")),
            exclusive={"NO": True, "OK": False, "YES": False}.get(values.get("OverSubscribe", "").upper()),
            start_unix_seconds=start,
            end_unix_seconds=end,
            clock="local" if start is not None or end is not None else None,
        )


def _given(record: _Record) -> Mapping[str, dict[str, str]]:
    return {node: detail for detail in record.details for node in expand(detail.get("Nodes", ""))}


def _node(block: Block, record: _Record) -> Fact:
    values = record.values
    partitions = (known(values.get("Partitions")) or "").replace(",", " ") or None
    role = role_of({"partition": partitions})
    return SchedulingNode(
        subject=block.subject(),
        sources=(block.source(record.line),),
        node=values["NodeName"],
        system="slurm",
        pool=partitions,
        pool_role=role.role if role.told_by else None,
        gpus_allocatable=gpu_count(values.get("CfgTRES")) or gpu_count(values.get("Gres")),
        gpus_allocated=gpu_count(values.get("AllocTRES")),
        cpus_allocatable=number(values.get("CPUTot")),
    )

"""What kubectl prints for people: `kubectl get pods -o wide` and `kubectl describe node`.

NAMESPACE   NAME                READY   STATUS    RESTARTS     AGE   IP           NODE    NOMINATED NODE
serving     vllm-70b-6b9f-x2x   1/1     Running   1 (2d ago)   9d    10.0.3.17    gpu01   <none>
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.kubernetes_nodes import SchedulerNode, quantity
from diagnose.facts import Fact
from diagnose.facts.sharing import Workload
from diagnose.facts.workload_roles import role_of

_TITLES = re.compile(r"^(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\s+IP\s+NODE\b")
_COLUMN = re.compile(r"\S+(?: \S+)*")
_DESCRIBED = re.compile(r"^Name:\s+(\S+)\s*$")
_FIELD = re.compile(r"^([A-Z][A-Za-z -]*):\s*(.*)$")
_LABEL = re.compile(r"^([\w./-]{1,316})=(.{0,63})$")
_POD_ROW = re.compile(r"^  (\S+)\s+(\S+)\s+(\S+) \(\S+\)\s+(\S+) \(\S+\)\s+(\S+) \(\S+\)\s+(\S+) \(\S+\)")
_TAINT = re.compile(r"^[\w./-]+(?:=[\w.-]*)?:(?:NoSchedule|PreferNoSchedule|NoExecute)$")


class KubectlPods(BlockCollector):
    """The table of pods with their nodes."""

    kind: ClassVar[str] = "kubectl-pods"
    literals: ClassVar[tuple[bytes, ...]] = (b"RESTARTS",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bkubectl\b.*\bget\s+(?:pods?|po)\b.*\bwide\b")

    @classmethod
    def opens(cls, text: str) -> bool:
        """Titles with the node."""
        return _TITLES.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Each pod that has a node."""
        position = next((at for at, line in enumerate(block.lines) if cls.opens(line.text)), None)
        if position is None:
            return Parsed(problems=[f"line {block.lines[0].number}: no titles with NAME, STATUS and NODE"])
        titles = [match[0] for match in re.finditer(r"\S+(?: NODE| GATES)?", block.lines[position].text)]
        starts = [match.start() for match in re.finditer(r"\S+(?: NODE| GATES)?", block.lines[position].text)]
        rows = ((line, _cells(line.text, titles, starts)) for line in block.lines[position + 1 :])
        return Parsed([fact for line, row in rows if (fact := _pod(block, line, row)) is not None])


def _cells(text: str, titles: Sequence[str], starts: Sequence[int]) -> dict[str, str]:
    """Columns begin where their titles do."""
    ends = [*starts[1:], len(text)]
    return {title: text[first:last].strip() for title, first, last in zip(titles, starts, ends, strict=True)}


def _pod(block: Block, line: Line, row: dict[str, str]) -> Fact | None:
    name, node = row.get("NAME", ""), row.get("NODE", "")
    if not re.fullmatch(r"[a-z0-9.-]+", name) or not re.fullmatch(r"[A-Za-z0-9.-]+", node):
        return None
    namespace = row.get("NAMESPACE") or None
    role = role_of({"name": name, "namespace": namespace})
    return Workload(
        subject=block.subject(),
        sources=(block.source(line),),
        name=name,
        role=role.role,
        role_from=role.told_by,
        role_words=role.words,
        system="kubernetes",
        job=f"{namespace}/{name}" if namespace else name,
        node=node,
        running=row.get("STATUS") == "Running",
        pool=namespace,
    )


class KubectlDescribeNode(BlockCollector):
    """A node described."""

    kind: ClassVar[str] = "kubectl-describe-node"
    literals: ClassVar[tuple[bytes, ...]] = (b"Name:", b"Allocated resources:")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bkubectl\b.*\bdescribe\s+nodes?\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """Never by one line: `Name:` is anybody's."""
        return False

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """The sections that a node's description has, in its order."""
        seen = {match[1] for line in lines if (match := _FIELD.match(line))}
        wanted = {"Name", "Roles", "Labels", "Taints", "Allocatable"}
        return 0.9 if wanted <= seen else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Each node, and the pods on it."""
        parsed = Parsed()
        starts = [at for at, line in enumerate(block.lines) if _DESCRIBED.match(line.text)]
        for first, last in zip(starts, [*starts[1:], len(block.lines)], strict=False):
            parsed.facts += _described(block, block.lines[first:last])
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no node is described")
        return parsed


def _sections(lines: Sequence[Line]) -> Iterator[tuple[str, Line, str]]:
    """Name of the section, line, and its text without the name."""
    section = ""
    for line in lines:
        match = _FIELD.match(line.text)
        if match is not None:
            section = match[1]
        yield section, line, match[2] if match else line.text


def _described(block: Block, lines: Sequence[Line]) -> Iterator[Fact]:
    name = lines[0].text.partition(":")[2].strip()
    labels: dict[str, str] = {}
    taints: list[str] | None = None
    allocatable: dict[str, str] = {}
    pods: list[Fact] = []
    for section, line, text in _sections(lines):
        words = text.strip()
        if section == "Labels" and (label := _LABEL.match(words)):
            labels[label[1]] = label[2]
        elif section == "Taints":
            taints = (taints or []) + ([words] if _TAINT.match(words) else [])
        elif section == "Allocatable" and ":" in words:
            key, _, value = words.partition(":")
            allocatable[key.strip()] = value.strip()
        elif section == "Non-terminated Pods" and (row := _POD_ROW.match(line.text)):
            pods.append(_listed(block, line, row, name))
    yield SchedulerNode(name, labels, taints, allocatable).fact(block.source(lines[0]), block.host)
    yield from pods


def _listed(block: Block, line: Line, row: re.Match[str], node: str) -> Fact:
    namespace, name, cpu, cpu_limit, memory, _ = row.groups()
    role = role_of({"name": name, "namespace": namespace})
    limit, bytes_ = quantity(cpu_limit), quantity(memory)
    return Workload(
        subject=block.subject(),
        sources=(block.source(line),),
        name=name,
        role=role.role,
        role_from=role.told_by,
        role_words=role.words,
        system="kubernetes",
        job=f"{namespace}/{name}",
        node=node,
        running=True,
        cpu_count=quantity(cpu),
        cpu_limit=limit or None,
        memory_bytes=int(bytes_) if bytes_ else None,
        pool=namespace,
    )

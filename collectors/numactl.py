"""`numactl --hardware` (nodes, memory, distances)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.sizes import parse_bytes
from diagnose.facts import Subject
from diagnose.facts.cpu_lists import format_cpu_list
from diagnose.facts.host import NumaDistance, NumaNode

_OPENING = re.compile(r"^available: \d+ nodes? \(")
_NODE = re.compile(r"^node (\d{1,5}) (cpus|size|free):\s*(.*)$")
_DISTANCES = re.compile(r"^node distances:")
_ROW = re.compile(r"^\s*(\d{1,5}):\s+(\d[\d\s]*)$")
_SHOW = re.compile(r"^(?:policy|preferred node|physcpubind|cpubind|nodebind|membind|preferred): ?")


class Numactl(BlockCollector):
    """NUMA nodes and their distances; `numactl --show` is recognised too and says nothing of the machine."""

    kind: ClassVar[str] = "numactl"
    literals: ClassVar[tuple[bytes, ...]] = (b"available: ", b"policy: ", b"node distances:", b"node 0 cpus:")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bnumactl\b.*\s(?:-H|--hardware|-s|--show)\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """First line of either form, or of a part of the first."""
        return bool(
            _OPENING.match(text) or re.match(r"^policy: \w", text) or _DISTANCES.match(text) or _NODE.match(text)
        )

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Share of lines of nodes, distances or policy."""
        return share(lines, re.compile(f"{_NODE.pattern}|{_ROW.pattern}|{_SHOW.pattern}|{_DISTANCES.pattern}"))

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Nodes first, then distances."""
        parsed = Parsed()
        nodes: dict[int, dict[str, str]] = {}
        first_lines: dict[int, Line] = {}
        distances: list[tuple[Line, int, list[int]]] = []
        columns: list[int] | None = None
        for line in block.lines:
            node, row = _NODE.match(line.text), _ROW.match(line.text)
            if node is not None:
                nodes.setdefault(int(node[1]), {})[node[2]] = node[3].strip()
                first_lines.setdefault(int(node[1]), line)
            elif re.match(r"^node +\d", line.text):
                columns = [int(word) for word in line.text.split()[1:] if word.isdecimal() and len(word) < 6]
            elif row is not None:
                distances.append((line, int(row[1]), [int(word) for word in row[2].split() if len(word) < 6]))
        for number, parts in nodes.items():
            cpus = parts.get("cpus")
            words = [int(word) for word in (cpus or "").split() if word.isdecimal() and len(word) < 8]
            parsed.facts.append(
                NumaNode(
                    subject=Subject(host=block.host, numa_node=number),
                    sources=(block.source(first_lines[number]),),
                    cpus=format_cpu_list(words) or None,
                    cpu_count=len(words) if cpus is not None else None,
                    memory_total_bytes=parse_bytes(parts.get("size", "")),
                    memory_free_bytes=parse_bytes(parts.get("free", "")),
                )
            )
        for line, number, values in distances:
            for to_node, distance in zip(columns or range(len(values)), values, strict=False):
                parsed.facts.append(
                    NumaDistance(
                        subject=Subject(host=block.host, numa_node=number),
                        sources=(block.source(line),),
                        to_node=to_node,
                        distance=distance,
                    )
                )
        return parsed

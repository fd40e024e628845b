"""`nvidia-smi topo -p2p`: whether GPUs may reach each other's memory."""

from __future__ import annotations

import re
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.nvidia_smi_topo import path_facts
from collectors.topology_matrix import Matrix, device_columns, gpu_index, read_matrix
from diagnose.facts.topology import PeerAccess

_COMMAND = re.compile(r"\bnvidia-smi\b.*\btopo\b.*\s(?:-p2p|--p2p_status)(?:[\s=]+([rwnap])\b)?")
_OPERATIONS = {"r": "read", "w": "write", "n": "nvlink", "a": "atomics", "p": "pcie"}
_STATUSES = frozenset({"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"})


class NvidiaSmiTopoP2p(BlockCollector):
    """Matrix of peer-to-peer status. It does not say for which operation: that stands in the command only."""

    kind = "nvidia-smi-topo-p2p"
    literals = (b"GPU0", b"GPU1")
    command: ClassVar[re.Pattern[str] | None] = _COMMAND

    @classmethod
    def opens(cls, text: str) -> bool:
        """A header of GPU columns and nothing else."""
        columns = device_columns(text)
        return len(columns) == len(text.split()) > 0 and all(gpu_index(name) is not None for name in columns)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Peer access; paths where the cells turn out to be those of `topo -m` with its other columns cut off."""
        matrix = read_matrix(block)
        if matrix is None:
            return Parsed()
        if not any(cell in _STATUSES for *_, cell, _ in matrix.pairs()):
            return path_facts(block, matrix)
        command = _COMMAND.search(block.command or "")
        return access_facts(block, matrix, _OPERATIONS.get(command.group(1) or "", "unknown") if command else "unknown")


def access_facts(block: Block, matrix: Matrix, operation: str) -> Parsed:
    """The status of every pair for one operation."""
    parsed = Parsed()
    pairs: dict[tuple[int, int], PeerAccess] = {}
    for first, second, status, line in matrix.pairs():
        one, other = gpu_index(first), gpu_index(second)
        if one is None or other is None or status == "X":
            continue
        if status not in _STATUSES:
            parsed.problems.append(f"line {line.number}: {first} to {second} reads {status!r}, which is no status")
            continue
        pair = (min(one, other), max(one, other))
        # Where the two directions differ, the one that does not work is the news.
        if pair not in pairs or pairs[pair].status == "OK":
            pairs[pair] = PeerAccess(
                subject=block.subject().model_copy(update={"gpu_index": pair[0]}),
                sources=(block.source(line),),
                peer=str(pair[1]),
                operation=operation,
                status=status,
            )
    parsed.facts += pairs.values()
    return parsed

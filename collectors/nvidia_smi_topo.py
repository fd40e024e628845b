"""`nvidia-smi topo -m`: how GPUs and NICs are connected, and which CPUs are near."""

from __future__ import annotations

import re
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.topology_matrix import Matrix, Row, device_columns, gpu_index, read_matrix
from diagnose.facts import Fact, Missing
from diagnose.facts.host import GpuInventory
from diagnose.facts.topology import GpuAffinity, GpuNicPath, GpuPath, TopologySummary

_NVLINK = re.compile(r"^NV(\d{1,3})$")
_CPU_LIST = re.compile(r"^\d+(-\d+)?(,\d+(-\d+)?)*$")
_NODE = re.compile(r"^\d{1,5}$")
_PCIE_LABELS = {"PIX": "PIX", "PXB": "PXB", "PHB": "PHB", "NODE": "NODE", "SYS": "SYS", "SOC": "SYS"}


class NvidiaSmiTopo(BlockCollector):
    """Matrix of connections, with affinity columns and NIC columns where the driver prints them."""

    kind = "nvidia-smi-topo"
    literals = (b"GPU0", b"CPU Affinity")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bnvidia-smi\b.*\btopo\b.*\s(?:-m\b|--matrix\b)")

    @classmethod
    def opens(cls, text: str) -> bool:
        """A header with more than GPU columns; `topo -p2p` prints those alone."""
        columns = device_columns(text)
        return bool(columns) and (len(columns) < len(text.split()) or any(gpu_index(name) is None for name in columns))

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Paths, affinities, inventory and summary."""
        matrix = read_matrix(block)
        return Parsed() if matrix is None else path_facts(block, matrix)


def connection(label: str) -> tuple[str, int | None] | None:
    """Connection and links of a cell; None where the label is unknown. Labels: `nvidia-smi topo -m`, its legend."""
    if match := _NVLINK.match(label):
        return "NV", int(match.group(1))
    name = _PCIE_LABELS.get(label)
    return None if name is None else (name, None)


def path_facts(block: Block, matrix: Matrix) -> Parsed:
    """Everything a matrix of connections says."""
    parsed = Parsed()
    gpu_paths: dict[tuple[int, int], GpuPath] = {}
    nic_paths: dict[tuple[int, str], GpuNicPath] = {}
    for first, second, label, line in matrix.pairs():
        one, other = gpu_index(first), gpu_index(second)
        if (known := connection(label)) is None:
            if label and label != "X":
                parsed.problems.append(
                    f"line {line.number}: {first} to {second} reads {label!r}, which is no connection"
                )
            continue
        if one is not None and other is not None:
            pair = (min(one, other), max(one, other))
            gpu_paths.setdefault(pair, _gpu_path(block, pair, known, label, line))
            continue
        nic = second if other is None else first
        name = matrix.legend.get(nic, nic)
        index = other if one is None else one
        if index is not None:
            nic_paths.setdefault((index, name), _nic_path(block, index, name, known[0], line))
    affinities = [fact for row in matrix.rows if (fact := _affinity(block, matrix, row))]
    parsed.facts += [*gpu_paths.values(), *nic_paths.values(), *affinities]
    parsed.facts += _totals(block, matrix, list(gpu_paths.values()), list(nic_paths.values()), affinities)
    return parsed


def _gpu_path(block: Block, pair: tuple[int, int], known: tuple[str, int | None], label: str, line: Line) -> GpuPath:
    return GpuPath(
        subject=block.subject().model_copy(update={"gpu_index": pair[0]}),
        sources=(block.source(line),),
        peer=str(pair[1]),
        connection=known[0],
        nvlinks=known[1],
        label=label,
    )


def _nic_path(block: Block, index: int, nic: str, name: str, line: Line) -> GpuNicPath:
    return GpuNicPath(
        subject=block.subject().model_copy(update={"gpu_index": index, "nic": nic}),
        sources=(block.source(line),),
        connection=name,
    )


def _affinity(block: Block, matrix: Matrix, row: Row) -> GpuAffinity | None:
    index = gpu_index(row.label)
    if index is None or "CPU Affinity" not in matrix.headings:
        return None
    cells = dict(zip(("cpus", "numa_node"), row.trailing, strict=False))
    if "NUMA Affinity" not in matrix.headings:
        cells.pop("numa_node", None)
    cpus, node = cells.get("cpus", ""), cells.get("numa_node", "")
    missing = {name: Missing.NOT_APPLICABLE for name, cell in cells.items() if cell == "N/A"}
    if not missing and not _CPU_LIST.match(cpus) and not _NODE.match(node):
        return None
    return GpuAffinity(
        subject=block.subject().model_copy(update={"gpu_index": index}),
        sources=(block.source(row.line),),
        cpus=cpus if _CPU_LIST.match(cpus) else None,
        numa_node=int(node) if _NODE.match(node) else None,
        missing=missing,
    )


def _totals(
    block: Block, matrix: Matrix, gpus: list[GpuPath], nics: list[GpuNicPath], affinities: list[GpuAffinity]
) -> list[Fact]:
    indices = matrix.gpu_indices()
    links = [path.nvlinks for path in gpus if path.nvlinks is not None]
    count = [path.connection for path in gpus].count
    nodes = {fact.numa_node for fact in affinities if fact.numa_node is not None}
    source = block.source(matrix.rows[0].line if matrix.rows else None)
    summary = TopologySummary(
        subject=block.subject(),
        sources=(source,),
        gpus=len(indices),
        pairs=len(gpus),
        nvlink_pairs=count("NV"),
        nvlinks_min=min(links, default=None),
        nvlinks_max=max(links, default=None),
        same_switch_pairs=count("PIX") + count("PXB"),
        host_bridge_pairs=count("PHB"),
        cross_bridge_pairs=count("NODE"),
        cross_socket_pairs=count("SYS"),
        numa_nodes=len(nodes) or None,
        nics=len({path.subject.nic for path in nics}) if nics else None,
        nics_near=len({path.subject.nic for path in nics if path.connection in ("PIX", "PXB")}) if nics else None,
    )
    inventory = GpuInventory(
        subject=block.subject(),
        sources=(source,),
        listed=len(indices),
        highest_index=indices[-1],
        tool="topo",
    )
    return [summary, inventory]

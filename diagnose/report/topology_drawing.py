"""A machine's topology as a tree and a matrix of characters, and as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diagnose.analysis.topology_graph import SharedUplink, TopologyGraph
from diagnose.report.svg import ACCENT, FAINT, SECOND, Svg

_BRANCHES = ("├─ ", "└─ ", "│  ", "   ")
_ASCII_BRANCHES = ("|- ", "`- ", "|  ", "   ")


@dataclass(frozen=True, slots=True)
class _Group:
    """Devices of one NUMA node that share a link, or a device that shares none."""

    uplink: SharedUplink | None
    devices: tuple[str, ...]


def topology_text(graph: TopologyGraph, title: str, width: int, encoding: str | None) -> list[str]:
    """Lines: a tree by NUMA node and shared link, the matrix where it fits into `width`, and what the paths carry."""
    lines = [title]
    branches = _branches(encoding)
    for node, groups in _by_node(graph):
        lines.append(_node_name(node))
        for at, group in enumerate(groups):
            lines += _group_lines(graph, group, branches, last=at == len(groups) - 1)
    matrix = _matrix(graph)
    if matrix and all(len(row) <= width for row in matrix):
        lines += ["", *matrix]
    carried = _carried(graph)
    return [*lines, "", *carried] if carried else lines


def _branches(encoding: str | None) -> tuple[str, str, str, str]:
    try:
        "".join(_BRANCHES).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _ASCII_BRANCHES
    return _BRANCHES


def _by_node(graph: TopologyGraph) -> Iterator[tuple[int | None, list[_Group]]]:
    """NUMA nodes in order, those of unknown place last."""
    shared = sorted(graph.shared_uplinks(), key=lambda uplink: -len(uplink.gpus) - len(uplink.nics))
    groups: list[_Group] = []
    placed: set[str] = set()
    for uplink in shared:
        devices = (*uplink.gpus, *uplink.nics)
        if not placed & set(devices):
            groups.append(_Group(uplink, devices))
            placed |= set(devices)
    order = [*graph.gpus, *graph.nics]
    groups += [_Group(None, (device,)) for device in order if device not in placed]
    groups.sort(key=lambda group: order.index(group.devices[0]))
    nodes = {graph.numa.get(group.devices[0]) for group in groups}
    for node in sorted(nodes, key=lambda number: (number is None, number or 0)):
        yield node, [group for group in groups if graph.numa.get(group.devices[0]) == node]


def _node_name(node: int | None) -> str:
    return f"NUMA node {node}" if node is not None else "NUMA node unknown"


def _group_lines(graph: TopologyGraph, group: _Group, branches: tuple[str, str, str, str], last: bool) -> Iterator[str]:
    tee, corner, bar, blank = branches
    start = corner if last else tee
    if group.uplink is None:
        yield start + _device_name(graph, group.devices[0])
        return
    yield start + _uplink_name(group.uplink)
    for at, device in enumerate(group.devices):
        inner = corner if at == len(group.devices) - 1 else tee
        yield (blank if last else bar) + inner + _device_name(graph, device)


def _uplink_name(uplink: SharedUplink) -> str:
    link = uplink.capacity.name if uplink.capacity else "one switch or bridge"
    counts = [count_of(len(uplink.gpus), "GPU"), count_of(len(uplink.nics), "NIC")]
    return f"{link}, shared by {' and '.join(text for text in counts if text)}"


def count_of(number: int, word: str) -> str:
    """`1 GPU`, `2 GPUs`, and nothing for none."""
    return "" if number == 0 else f"{number} {word}" + ("s" if number > 1 else "")


def _device_name(graph: TopologyGraph, device: str) -> str:
    link = graph.links.get(device) or graph.links.get(graph.places.get(device, ""))
    parts = [_label(graph, device), graph.products.get(device, ""), link.name if link else ""]
    return "  ".join(part for part in parts if part)


def _label(graph: TopologyGraph, device: str) -> str:
    return f"GPU {device}" if device in graph.gpus else device


def _cell(graph: TopologyGraph, first: str, second: str) -> str:
    path = graph.gpu_paths.get((first, second)) or graph.gpu_paths.get((second, first))
    if first == second:
        return "X"
    return path.label if path is not None else graph.nic_paths.get((first, second), "")


def _matrix(graph: TopologyGraph) -> list[str]:
    if not graph.gpu_paths:
        return []
    columns = [*graph.gpus, *graph.nics]
    heads = [_label(graph, device).replace(" ", "") for device in columns]
    rows = [["", *heads]]
    rows += [
        [_label(graph, gpu).replace(" ", ""), *(_cell(graph, gpu, device) for device in columns)] for gpu in graph.gpus
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(heads) + 1)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _carried(graph: TopologyGraph) -> list[str]:
    """What each sort of connection carries, where it is known: `SYS: 16 GB/s, the link between the sockets`."""
    found: dict[str, None] = {}
    for first, second in graph.gpu_paths:
        route = graph.gpu_route(first, second)
        if route is not None and route.narrowest is not None:
            label = _cell(graph, first, second)
            found[f"{label}: {route.narrowest.bytes_per_second / 1e9:.3g} GB/s, {route.narrowest.name}"] = None
    for gpu, nic in graph.nic_paths:
        route = graph.nic_route(gpu, nic)
        if route is not None and route.narrowest is not None:
            text = f"{route.connection} to a NIC: {route.narrowest.bytes_per_second / 1e9:.3g} GB/s"
            found[f"{text}, {route.narrowest.name}"] = None
    return [f"Narrowest link one way, in theory: {'; '.join(sorted(found))}"] if found else []


_ROW, _WIDTH, _LEFT = 26.0, 560.0, 20.0


def topology_svg(graph: TopologyGraph, title: str) -> str:
    """Boxes: NUMA nodes around shared links around devices, with a line on NVLink beneath."""
    nodes = list(_by_node(graph))
    heights = [30 + sum(_group_height(group) for group in groups) for _, groups in nodes]
    notes = [*_nvlink_note(graph), *_carried(graph)]
    picture = Svg(_WIDTH + 2 * _LEFT, 60 + sum(heights) + 12 * len(heights) + 20 * len(notes) + 10, title)
    picture.text(_LEFT, 30, title, size=15)
    top = 46.0
    for (node, groups), height in zip(nodes, heights, strict=True):
        picture.box(_LEFT, top, _WIDTH, height, "#f6f8fa")
        picture.text(_LEFT + 10, top + 19, _node_name(node), size=13)
        at = top + 28
        for group in groups:
            _draw_group(picture, graph, group, at)
            at += _group_height(group)
        top += height + 12
    for note in notes:
        picture.text(_LEFT, top + 12, note)
        top += 20
    return str(picture)


def _group_height(group: _Group) -> float:
    return _ROW * len(group.devices) + (_ROW if group.uplink else 0.0) + 6


def _draw_group(picture: Svg, graph: TopologyGraph, group: _Group, top: float) -> None:
    left, width = _LEFT + 10, _WIDTH - 20
    if group.uplink is not None:
        picture.box(left, top, width, _group_height(group) - 6, "#ffffff", SECOND)
        picture.text(left + 10, top + 17, _uplink_name(group.uplink), colour=SECOND)
        top, left, width = top + _ROW, left + 12, width - 24
    for device in group.devices:
        colour = ACCENT if device in graph.gpus else FAINT
        picture.box(left, top, width, _ROW - 5, "#ffffff", colour)
        picture.text(left + 10, top + 15, _device_name(graph, device))
        top += _ROW


def _nvlink_note(graph: TopologyGraph) -> Sequence[str]:
    joined = [path for path in graph.gpu_paths.values() if path.connection == "NV"]
    if not joined:
        return []
    labels = sorted({path.label for path in joined})
    return [f"NVLink joins {len(joined)} of {len(graph.gpu_paths)} pairs of GPUs: {', '.join(labels)}"]

"""Facts of the driver as a whole, and of what joins the GPUs, from a recording of its calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from collectors.base import Block, Line, Parsed
from collectors.nvidia_smi_facts import driver_fact, inventory_facts
from collectors.nvidia_smi_topo import path_facts
from collectors.nvidia_smi_topo_p2p import access_facts
from collectors.nvml_calls import Call, Calls
from collectors.nvml_fields import number
from collectors.nvml_link_facts import remote_bus_id
from collectors.topology_matrix import Matrix, Row
from diagnose.facts import Fact
from diagnose.facts.cpu_lists import format_cpu_list
from diagnose.facts.gpu import GpuUnreachable
from diagnose.facts.host import DriverFailure, GpuInventory

_FAILURES: Mapping[str, str] = {
    "LIB_RM_VERSION_MISMATCH": "library-mismatch",
    "DRIVER_NOT_LOADED": "not-loaded",
    "LIBRARY_NOT_FOUND": "library-missing",
    "NO_PERMISSION": "no-permission",
    "OPERATING_SYSTEM": "no-permission",
}
_WITHOUT_HARDWARE = frozenset({"not-loaded", "library-missing"})
"""What is no failure on a machine that has no GPU."""
_LEVELS = {10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
_ACCESS = {0: "OK", 1: "CNS", 2: "GNS", 3: "TNS", 4: "DR", 5: "NS", 6: "U"}
_OPERATIONS = ("read", "write", "nvlink", "atomics", "pcie")
_SWITCH = 2
_MOST_GPUS = 64
_HEADINGS = "CPU Affinity NUMA Affinity"


def system_facts(calls: Calls, block: Block) -> Parsed:
    """Versions, failures, inventory, topology."""
    parsed = Parsed()
    started = calls.of("nvmlInit")
    if started and started[-1].error is not None:
        parsed.facts += _failure(calls, started[-1], block)
        return parsed
    parsed.facts += _versions(calls, block)
    parsed.facts += _inventory(calls, block)
    if calls.hang is not None:
        parsed.facts.append(_hang(calls, block))
    gpus = _handles(calls)
    if len(gpus) > 1:
        matrix = _matrix(calls, gpus)
        # The driver's own list above counts what the matrix would count again.
        parsed.facts += [fact for fact in path_facts(block, matrix).facts if not isinstance(fact, GpuInventory)]
        for operation in _OPERATIONS:
            parsed.facts += access_facts(block, _access(calls, gpus, matrix, operation), operation).facts
    return parsed


def _failure(calls: Calls, call: Call, block: Block) -> Iterator[Fact]:
    code = _FAILURES.get(call.error or "", "unknown-error")
    if calls.on_bus == 0 and code in _WITHOUT_HARDWARE:
        return
    yield DriverFailure(
        subject=block.subject(),
        sources=(block.source(call.line),),
        code=code,
        message=f"Initialising NVML failed: {call.error}",
    )


def _hang(calls: Calls, block: Block) -> Fact:
    """A call about the driver hangs; where its first argument is one GPU, that one is named."""
    name, args, seconds, line = calls.hang or ("", [], 0.0, 0)
    gpu = number(args[0]) if len(args) == 1 else None
    return GpuUnreachable(
        subject=block.subject().model_copy(update={"gpu_index": gpu}),
        sources=(block.source(line),),
        message=f"{name} did not return within {seconds:g} s",
        reason="hang",
    )


def _versions(calls: Calls, block: Block) -> Iterator[Fact]:
    version = calls.value("nvmlSystemGetDriverVersion")
    cuda = number(calls.value("nvmlSystemGetCudaDriverVersion_v2"))
    if isinstance(version, str) and version.split(".")[0].isdecimal():
        line = calls.first_line("nvmlSystemGetDriverVersion")
        yield driver_fact(block, line, version, f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None)


def _handles(calls: Calls) -> list[int]:
    """GPUs that the driver hands out."""
    found = {
        index
        for call in calls.named("nvmlDeviceGetHandleByIndex")
        if call.error is None and (index := number(call.key[-1])) is not None and 0 <= index < _MOST_GPUS
    }
    return sorted(found)


def _inventory(calls: Calls, block: Block) -> Iterator[Fact]:
    attached = number(calls.value("nvmlDeviceGetCount"))
    line = calls.first_line("nvmlDeviceGetCount")
    if attached is None:
        return
    if attached == 0 and calls.on_bus:
        yield DriverFailure(
            subject=block.subject(),
            sources=(block.source(line),),
            code="no-devices",
            message=f"The driver finds no GPU, and the bus shows {calls.on_bus}",
        )
    asked = sum(1 for _ in calls.named("nvmlDeviceGetHandleByIndex"))
    if asked == attached and attached:
        handles = _handles(calls)
        yield from inventory_facts(block, line, len(handles), attached, max(handles, default=None))


def _matrix(calls: Calls, gpus: Sequence[int]) -> Matrix:
    """The matrix that `nvidia-smi topo -m` would print."""
    links = _Links(calls)
    matrix = Matrix([f"GPU{gpu}" for gpu in gpus], _HEADINGS)
    for one in gpus:
        cells = tuple("X" if one == other else _label(calls, links, one, other) for other in gpus)
        trailing = (_processors(calls, one), _nodes(calls, one))
        line = calls.first_line("nvmlDeviceGetPciInfo", one) or 1
        matrix.rows.append(Row(f"GPU{one}", cells, trailing, Line(line, "")))
    return matrix


def _label(calls: Calls, links: _Links, one: int, other: int) -> str:
    joined = links.between(one, other)
    if joined:
        return f"NV{joined}"
    level = number(calls.value("nvmlDeviceGetTopologyCommonAncestor", min(one, other), max(one, other)))
    return "" if level is None else _LEVELS.get(level, "")


class _Links:
    """Which NVLinks lead where."""

    def __init__(self, calls: Calls) -> None:
        self._addresses: dict[int, str] = {}
        self._ends: dict[int, Counter[str]] = {}
        self._to_switch: Counter[int] = Counter()
        for call in calls.every:
            gpu = call.key[1] if len(call.key) > 1 else None
            if call.error is not None or not isinstance(gpu, int):
                continue
            if call.key[0] == "nvmlDeviceGetPciInfo" and (address := remote_bus_id(call.value)):
                self._addresses[gpu] = address
            elif call.key[0] == "nvmlDeviceGetNvLinkRemotePciInfo" and (end := remote_bus_id(call.value)):
                self._ends.setdefault(gpu, Counter())[end] += 1
            elif call.key[0] == "nvmlDeviceGetNvLinkRemoteDeviceType" and call.value == _SWITCH:
                self._to_switch[gpu] += 1

    def between(self, one: int, other: int) -> int:
        """Links that end at the other GPU, else those by which both reach a switch."""
        address = self._addresses.get(other)
        direct = self._ends.get(one, Counter())[address] if address is not None else 0
        return direct or min(self._to_switch[one], self._to_switch[other])


def _processors(calls: Calls, gpu: int) -> str:
    return format_cpu_list(_bits(calls.value("nvmlDeviceGetCpuAffinity", gpu))) or "N/A"


def _nodes(calls: Calls, gpu: int) -> str:
    nodes = _bits(calls.value("nvmlDeviceGetMemoryAffinity", gpu))
    return str(nodes[0]) if len(nodes) == 1 else "N/A"


def _bits(words: object) -> list[int]:
    """Numbers of the bits that are set, in sets of 64."""
    if not isinstance(words, list):
        return []
    return [
        64 * position + bit
        for position, word in enumerate(words)
        if (value := number(word)) is not None
        for bit in range(64)
        if value >> bit & 1
    ]


def _access(calls: Calls, gpus: Sequence[int], lines: Matrix, operation: str) -> Matrix:
    """The matrix that `nvidia-smi topo -p2p` would print for an operation."""
    rows = [
        Row(row.label, tuple(_status(calls, one, other, operation) for other in gpus), (), row.line)
        for row, one in zip(lines.rows, gpus, strict=True)
    ]
    return Matrix(lines.columns, "", rows)


def _status(calls: Calls, one: int, other: int, operation: str) -> str:
    status = number(calls.value("nvmlDeviceGetP2PStatus", min(one, other), max(one, other), operation))
    return "X" if status is None else _ACCESS.get(status, "U")

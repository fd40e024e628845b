# ruff: noqa: ARG001 - All writers have one signature, used or not.
"""What the tools print that measure copies."""

from __future__ import annotations

from random import Random

from tests.scenarios.hardware import DRIVERS
from tests.scenarios.machine import Gpu, Machine
from tests.scenarios.world import World


def peer_matrix(world: World, node: Machine, rng: Random) -> str:
    """`p2pBandwidthLatencyTest` of the CUDA samples."""
    gpus = node.visible
    head = "   D\\D" + "".join(f"{gpu.index:>7}" for gpu in gpus)

    def matrix(title: str, peer: bool, both: float) -> list[str]:
        rows = [title, head]
        for a in gpus:
            cells = []
            for b in gpus:
                own = 900.0 + 90 * node.gpu_model.generation
                rate = own if a is b else node.pair_gigabytes(a, b, peer and node.gpu_model.peer_over_pcie) * both
                cells.append(f"{rate * rng.gauss(1, 0.006):6.2f}")
            rows.append(f"{a.index:>6} " + " ".join(cells))
        return rows

    lines = ["[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]"]
    for gpu in gpus:
        lines.append(
            f"Device: {gpu.index}, {node.gpu_model.name}, pciBusID: {int(gpu.slot.bus_id[5:7], 16):x}, "
            f"pciDeviceID: 0, pciDomainID:0"
        )
    for a in gpus:
        for b in gpus:
            if a is not b:
                can = node.gpu_model.peer_over_pcie or node.nvlinks(a, b)
                lines.append(f"Device={a.index} {'CAN' if can else 'CANNOT'} Access Peer Device={b.index}")
    lines += ["", *matrix("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", False, 1.0)]
    lines += matrix("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", True, 1.0)
    lines += matrix("Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)", False, 1.6)
    lines += matrix("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", True, 1.9)
    return "\n".join(lines) + "\n"


def nvbandwidth(world: World, node: Machine, rng: Random) -> str:
    """nvbandwidth: copies with the host one GPU at a time, then all at once."""
    gpus = node.visible
    cuda = f"{DRIVERS[node.driver].replace('.', '0')}0"
    lines = ["nvbandwidth Version: v0.7", "Built from Git version: v0.7", "", f"CUDA Runtime Version: {cuda}"]
    lines += [f"CUDA Driver Version: {cuda}", f"Driver Version: {node.driver}", "", node.host]
    lines += [f"Device {gpu.index}: {node.gpu_model.name} (0000{gpu.slot.bus_id.upper()})" for gpu in gpus]

    def test(name: str, arrow: str, rates: list[float]) -> None:
        noisy = [rate * rng.gauss(1, 0.004) for rate in rates]
        lines.extend(["", f"Running {name}.", f"memcpy CE CPU(row) {arrow} GPU(column) bandwidth (GB/s)"])
        lines.append(" " * 10 + "".join(f"{gpu.index:>10}" for gpu in gpus).lstrip(" ").rjust(10 * len(gpus) - 9))
        lines.append(" 0" + "".join(f"{rate:>10.2f}" for rate in noisy))
        lines.extend(["", f"SUM {name} {sum(noisy):.2f}"])

    single = [node.copy_gigabytes(gpu) for gpu in gpus]
    test("host_to_device_memcpy_ce", "->", single)
    test("device_to_host_memcpy_ce", "<-", [rate * 0.99 for rate in single])
    together = [copy_together(node, gpu) for gpu in gpus]
    test("host_to_all_memcpy_ce", "->", together)
    test("all_to_host_memcpy_ce", "<-", together)
    return "\n".join(lines) + "\n"


def copy_together(node: Machine, gpu: Gpu) -> float:
    """What a GPU gets while all copy: GPUs below one switch share its link to the processor."""
    alone = node.copy_gigabytes(gpu)
    if gpu.slot.switch is None:
        return alone * 0.93
    beside = [other for other in node.visible if other.slot.switch == gpu.slot.switch]
    uplink = {3: 12.4, 4: 25.8, 5: 54.0}[node.switches[gpu.slot.switch].generation]
    return min(alone, uplink / len(beside)) * 0.97

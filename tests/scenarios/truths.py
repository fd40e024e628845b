"""What is true of a world beside the injected causes, so that naming it accuses nobody falsely. Each has its reason."""

from __future__ import annotations

from collections.abc import Mapping

from tests.scenarios.world import World

FOLLOWS: Mapping[str, Mapping[str, str]] = {
    "nic-not-local-to-gpu": {"gpudirect-rdma-disabled": "NCCL leaves GPUDirect out at that distance"},
    "network-plugin-not-loaded": {"nccl-uses-tcp-sockets": "without the plugin only sockets are left on such fabrics"},
    "rdma-link-errors": {
        "nic-link-flapping": "recoveries and drops of the link are flaps",
        "nic-link-degraded": "a port that is down carries nothing",
        "rdma-peer-unreachable": "a port that is down cannot be reached",
    },
    "nic-link-flapping": {"rdma-link-errors": "the counter of drops rises with each flap"},
    "pcie-link-degraded": {"straggler-gpu": "the GPU with the narrow link is the slowest of the copies"},
    "nvlink-inactive": {
        "straggler-gpu": "the GPU with fewer links is the slowest",
        "nvlink-partial-mesh": "without the bridge's links the pair falls to PCIe",
    },
    "collective-mismatch": {"collective-timeout": "the watchdog ends what never meets"},
    "data-loader-deadlock": {"collective-timeout": "the watchdog ends the wait"},
    "rank-died": {"collective-timeout": "the watchdog ends the wait"},
    "batch-per-gpu-too-small": {
        "communication-exceeds-compute": "at the largest size there is less work than exchange"
    },
    "communication-exceeds-compute": {"batch-per-gpu-too-small": "the work of a step is too small for the exchange"},
    "wrong-network-interface": {"bootstrap-unreachable": "a bridge's address is not reachable from other hosts"},
    "gpu-missing": {"driver-not-loaded": "the driver gave up on that GPU while it initialised"},
    "straggler-node": {"straggler-gpu": "the GPUs of the slow node are the slow ones"},
    "p2p-blocked-by-acs": {"shared-pcie-uplink": "redirected traffic passes the switch's uplink twice"},
    "p2p-blocked-by-iommu": {"shared-pcie-uplink": "translated traffic passes the switch's uplink twice"},
}
"""Cause to what follows from it."""

_EXCHANGE = "at the bandwidth that is left, gradients really take most of the step"


def acknowledged(world: World, causes: tuple[str, ...]) -> dict[str, str]:
    """Causes that may be named beside the injected ones, with the reason."""
    found = structural(world)
    for cause in causes:
        found.update(FOLLOWS.get(cause, {}))
    if world.world_size() > 1 and world.exchange_seconds() > 0.4 * (world.compute_seconds() + world.exposed_seconds()):
        found["communication-exceeds-compute"] = _EXCHANGE
    return found


def structural(world: World) -> dict[str, str]:
    """What holds of the machine as it was built, whether or not it matters."""
    node = world.suspect
    model, gpus = node.gpu_model, node.gpus
    pairs = [(a, b) for a in gpus for b in gpus if a.index < b.index]
    below = [gpu.slot.switch for gpu in gpus if gpu.slot.switch is not None]
    found = {}
    if any(a.slot.socket != b.slot.socket and not node.nvlinks(a, b) for a, b in pairs):
        found["gpus-span-sockets"] = "some pairs have no way but across the sockets"
    if any(node.nvlinks(a, b) for a, b in pairs) and not all(node.nvlinks(a, b) for a, b in pairs):
        found["nvlink-partial-mesh"] = "bridges join some pairs only"
    if node.hidden_topology:
        found["p2p-blocked-by-iommu"] = "the guest does not see how its GPUs are connected"
    if not model.peer_over_pcie:
        found["p2p-unsupported"] = "the model offers no peer access"
    if len(below) != len(set(below)):
        found["shared-pcie-uplink"] = "GPUs share a switch's link to the processor"
    if any(gpu.slot.width < 16 or gpu.slot.generation < model.generation for gpu in gpus):
        found["interconnect-lanes-insufficient"] = "the board gives the GPUs less than they support"
    if node.nics and not any(_near(world, number) for number in range(len(gpus))):
        found["nic-not-local-to-gpu"] = "no NIC shares a switch with a GPU"
        found["gpudirect-rdma-disabled"] = "NCCL leaves GPUDirect out at that distance"
    if node.nics and not model.supports_gpudirect:
        found["gpudirect-rdma-disabled"] = "the model has no GPUDirect RDMA"
    return found


def _near(world: World, number: int) -> bool:
    node = world.suspect
    switch = node.gpus[number].slot.switch
    return switch is not None and any(nic.slot.switch == switch for nic in node.nics)

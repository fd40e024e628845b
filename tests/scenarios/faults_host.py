# ruff: noqa: ARG001 - All injectors have one signature, used or not.
"""Faults inside one machine: what they change, and which tools an operator would run for them."""

from __future__ import annotations

from random import Random

from tests.scenarios.fault import Fault, fault
from tests.scenarios.machine import Machine
from tests.scenarios.print_bandwidth import copy_together
from tests.scenarios.world import World


def _node(world: World) -> Machine:
    return world.suspect


def _bare(world: World) -> bool:
    return not _node(world).virtual


def _spans_by_pcie(world: World) -> bool:
    """GPUs on both sockets that have nothing but PCIe between them."""
    node = _node(world)
    pairs = [(a, b) for a in node.gpus for b in node.gpus if a.slot.socket != b.slot.socket]
    return _bare(world) and bool(pairs) and not any(node.nvlinks(a, b) for a, b in pairs)


def _slower_across(world: World) -> bool:
    """And some pair on one side that is much faster than those across."""
    node = _node(world)
    if not _spans_by_pcie(world):
        return False
    rates = {
        far: max(
            (node.pair_gigabytes(a, b) for a in node.gpus for b in node.gpus
             if a is not b and not node.nvlinks(a, b) and (a.slot.socket != b.slot.socket) == far),
            default=0.0,
        )
        for far in (True, False)
    }  # fmt: skip
    return rates[True] < 0.6 * rates[False]


def _peers_below_switches(world: World) -> bool:
    node = _node(world)
    return (
        _bare(world)
        and node.gpu_model.form in ("none", "bridge")
        and node.gpu_model.peer_over_pcie
        and any(
            a is not b and a.slot.switch is not None and a.slot.switch == b.slot.switch and not node.nvlinks(a, b)
            for a in node.gpus
            for b in node.gpus
        )
    )


@fault("pcie-link-degraded", any_of=("smi-q", "lspci"), often=("nvbandwidth", "nccl-tests", "topo"))
def narrow_link(world: World, rng: Random) -> None:
    """A card badly seated, or a slot that trained low: fewer lanes at any time, or a lower generation under load."""
    node = _node(world)
    gpu = rng.choice(node.gpus)
    if rng.random() < 0.7:
        gpu.width = rng.choice([1, 4, 8, 8])
    else:
        gpu.generation = max(1, gpu.generation - rng.choice([1, 2]))
        world.loaded = True
    gpu.replays = rng.choice([0, 0, 12, 310])


@fault(
    "interconnect-lanes-insufficient",
    needs=lambda world: (
        _bare(world) and _node(world).gpu_model.form in ("none", "bridge") and not _node(world).switches
    ),
    any_of=("smi-q", "lspci"),
    all_of=("lspci",),
    often=("nvbandwidth", "nccl-tests"),
)
def few_lanes_by_design(world: World, rng: Random) -> None:
    """A board that gives each card eight or four lanes, so that root ports and cards agree on them."""
    width = rng.choice([4, 8])
    for gpu in _node(world).gpus:
        gpu.slot.width = gpu.width = width


@fault(
    "gpus-span-sockets",
    needs=_slower_across,
    all_of=("topo",),
    any_of=("p2p-matrix", "nccl-tests+half-nccl-tests"),
    often=("nccl-log", "lscpu"),
)
def spans(world: World, rng: Random) -> None:
    """Nothing is broken: the job simply uses GPUs of both sockets."""
    world.loaded = True


@fault(
    "process-not-bound-to-local-numa",
    needs=lambda world: (
        _bare(world) and _node(world).sockets == 2 and len({gpu.slot.socket for gpu in _node(world).gpus}) == 2
    ),
    all_of=("recorded-processes",),
    often=("topo", "lscpu", "numactl"),
)
def unbound(world: World, rng: Random) -> None:
    """A launcher that starts everything on one socket."""
    _node(world).bound_socket = rng.randrange(2)
    world.loaded = True


@fault(
    "p2p-blocked-by-acs",
    needs=_peers_below_switches,
    all_of=("lspci", "topo"),
    any_of=("p2p-matrix", "nccl-tests+p2p-matrix"),
    often=("nccl-log", "lscpu"),
)
def acs(world: World, rng: Random) -> None:
    """Firmware left ACS redirection on in every bridge."""
    _node(world).acs_redirect = True


@fault(
    "p2p-blocked-by-iommu",
    needs=_peers_below_switches,
    all_of=("dmesg", "topo"),
    any_of=("p2p-matrix", "nccl-tests+p2p-matrix"),
    often=("lscpu",),
)
def iommu(world: World, rng: Random) -> None:
    """The IOMMU translates on bare metal: peer traffic is slow, and on some machines faults and comes out wrong."""
    node = _node(world)
    node.iommu = "translated"
    if rng.random() < 0.5:
        return
    node.wrong_elements = rng.randrange(3, 900)
    for gpu in node.gpus[: rng.randrange(1, 3)]:
        address = f"0x{rng.getrandbits(44):x}"
        if node.cpu.vendor == "AuthenticAMD":
            node.kernel_lines += [
                f"nvidia {gpu.slot.bus_id}: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0{14 + gpu.index:03x} "
                f"address={address} flags=0x0020]"
            ]
        else:
            node.kernel_lines += [
                "DMAR: DRHD: handling fault status reg 3",
                f"DMAR: [DMA Write NO_PASID] Request device [{gpu.slot.bus_id[5:]}] fault addr {address} "
                "[fault reason 0x05] PTE Write access is not set",
            ]


@fault(
    "p2p-unsupported",
    needs=lambda world: not _node(world).gpu_model.peer_over_pcie and len(_node(world).gpus) > 1,
    all_of=("topo-p2p",),
    often=("nccl-log", "p2p-matrix", "nccl-tests", "smi"),
)
def no_peers(world: World, rng: Random) -> None:
    """The model offers no peer access."""


@fault(
    "p2p-disabled-by-setting",
    needs=lambda world: _node(world).gpu_model.peer_over_pcie,
    all_of=("nccl-log",),
    often=("nccl-tests", "topo", "topo-p2p"),
)
def switched_off(world: World, rng: Random) -> None:
    """A variable left over from debugging."""
    name = rng.choice(["NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"])
    world.job.environment[name] = "1" if name.endswith("DISABLE") else "LOC"
    world.job.peer_access = False
    world.job.peer_reason = "setting"


@fault(
    "nvlink-inactive",
    needs=lambda world: any(gpu.links_up for gpu in _node(world).gpus),
    any_of=("nvlink-s",),
    often=("topo", "nccl-tests", "smi-q", "nvlink-e"),
)
def links_down(world: World, rng: Random) -> None:
    """Some links of one GPU failed to train; where no switch stands between, the other end of each is down too."""
    node = _node(world)
    gpu = rng.choice([gpu for gpu in node.gpus if gpu.links_up])
    count = min(len(gpu.links_up), rng.choice([1, 2, 2, max(1, len(gpu.links_up) // 2)]))
    if node.switched:
        for number in rng.sample(range(len(gpu.links_up)), count):
            gpu.links_up[number] = False
        return
    partner = node.gpus[rng.choice(sorted(gpu.partners))]
    for near, far in ((gpu, partner), (partner, gpu)):
        start = sum(links for other, links in near.partners.items() if other < far.index)
        near.links_up[start : start + min(count, near.partners[far.index])] = [False] * min(
            count, near.partners[far.index]
        )


@fault(
    "nvlink-errors",
    needs=lambda world: any(gpu.links_up for gpu in _node(world).gpus),
    all_of=("nvlink-e",),
    often=("nvlink-s", "topo", "dmesg"),
)
def link_errors(world: World, rng: Random) -> None:
    """One link repeats and recovers."""
    gpu = rng.choice([gpu for gpu in _node(world).gpus if gpu.links_up])
    counts = rng.choice(gpu.link_errors)
    counts["replay"] = int(rng.lognormvariate(6, 1.5)) + 20
    counts["recovery"] = rng.choice([0, 1, 4, 17])
    counts["crc"] = int(counts["replay"] * rng.uniform(0, 3))


@fault(
    "nvlink-partial-mesh",
    needs=lambda world: (
        _node(world).gpu_model.form == "bridge"
        and len(_node(world).gpus) > 2
        and any(gpu.partners for gpu in _node(world).gpus)
    ),
    all_of=("topo",),
    often=("nccl-tests", "nvlink-s", "nccl-log", "half-nccl-tests"),
)
def bridges_only(world: World, rng: Random) -> None:
    """Bridges join pairs and the job uses more."""


@fault(
    "fabric-manager-not-running",
    needs=lambda world: _node(world).switched,
    any_of=("systemctl", "smi-q", "cuda-802"),
    often=("cuda-802", "topo", "smi"),
)
def fabric_manager(world: World, rng: Random) -> None:
    """The service failed; CUDA cannot start."""
    _node(world).fabric_manager = "failed"
    world.loaded = False


@fault("shared-memory-limit", any_of=("df",), all_of=("nccl-log",), often=("df", "smi", "topo"))
def small_shm(world: World, rng: Random) -> None:
    """A container with the runtime's default of 64 MiB."""
    node = _node(world)
    node.shm_mib = 64
    gpu = rng.choice(node.gpus)
    prefix = f"{node.host}:{30000 + 7 * gpu.index}:{31000 + gpu.index} [{gpu.index}]"
    world.notes += [
        f"{prefix} misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-{rng.getrandbits(24):06x} to "
        "33030532 bytes, error: No space left on device (28)",
        f"{prefix} misc/shmutils.cc:113 NCCL WARN Error while creating shared memory segment "
        f"/dev/shm/nccl-{rng.getrandbits(24):06x} (size 33030528), error: No space left on device (28)",
        f"{prefix} NCCL INFO transport/shm.cc:114 -> 2",
    ]


@fault(
    "shared-pcie-uplink",
    # A switch whose own link is of a newer generation than the GPUs below it may carry them all.
    needs=lambda world: (
        _bare(world)
        and any(copy_together(_node(world), gpu) < 0.6 * _node(world).copy_gigabytes(gpu) for gpu in _node(world).gpus)
    ),
    all_of=("nvbandwidth",),
    any_of=("lspci", "topo"),
    often=("lscpu",),
)
def shared_uplink(world: World, rng: Random) -> None:
    """Several GPUs behind one uplink, and a load that copies on all of them."""
    _node(world).uplink_shared = True
    world.loaded = True


@fault(
    "straggler-gpu",
    needs=lambda world: len(_node(world).gpus) >= 4,
    all_of=("rank-table",),
    often=("smi-q", "smi", "topo"),
)
def slow_gpu(world: World, rng: Random) -> None:
    """One GPU computes slower than the others at all times."""
    gpu = rng.choice(_node(world).gpus)
    gpu.speed_ratio = 1 / rng.uniform(1.07, 1.35)
    world.job.rank_factors[gpu.index] = 1 / gpu.speed_ratio
    world.loaded = True


@fault(
    "host-numa-balancing",
    needs=lambda world: _bare(world) and _node(world).sockets == 2,
    all_of=("recorded-host", "recorded-processes"),
    often=("lscpu", "numactl"),
)
def balancing(world: World, rng: Random) -> None:
    """Automatic NUMA balancing as distributions ship it, beside ranks that are bound already."""
    node = _node(world)
    node.numa_balancing = True
    node.hint_faults_per_second = rng.uniform(2000, 60000)
    world.loaded = True


@fault("gpu-missing", needs=_bare, all_of=("smi", "lspci"), often=("dmesg", "smi-q"))
def missing(world: World, rng: Random) -> None:
    """A GPU stands on the bus and does not initialise."""
    node = _node(world)
    gpu = rng.choice(node.gpus)
    gpu.answers = False
    node.kernel_lines += [
        f"NVRM: GPU {gpu.slot.bus_id}: RmInitAdapter failed! (0x62:0xffff:2477)",
        f"NVRM: GPU {gpu.slot.bus_id}: rm_init_adapter failed, device minor number {gpu.index}",
    ]


HOST_FAULTS: tuple[Fault, ...] = tuple(Fault.of(__name__))

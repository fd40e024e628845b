# ruff: noqa: ARG001 - All injectors have one signature, used or not.
"""Faults of the network between machines, and of how NCCL uses it."""

from __future__ import annotations

from random import Random

from tests.scenarios.fault import Fault, fault
from tests.scenarios.machine import Machine, Nic
from tests.scenarios.world import Leaf, World


def _prefix(node: Machine, gpu: int, number: int = 0) -> str:
    return f"{node.host}:{30000 + 7 * gpu}:{31000 + number} [{gpu}]"


def _several_nics(world: World) -> bool:
    return len(world.suspect.nics) > 1


def _rdma(world: World) -> bool:
    return bool(world.suspect.nics) and world.job.network == "IB"


def _nic(world: World, rng: Random) -> Nic:
    return rng.choice(world.suspect.nics)


@fault(
    "nccl-uses-tcp-sockets", several=True, needs=_rdma, all_of=("nccl-log",), often=("nccl-tests", "ibstat", "lsmod")
)
def sockets(world: World, rng: Random) -> None:
    """Containers without the verbs devices, or a variable that forbids RDMA."""
    world.job.network = "Socket"
    world.job.gpudirect = False
    if rng.random() < 0.3:
        world.job.environment["NCCL_IB_DISABLE"] = "1"


@fault(
    "gpudirect-rdma-disabled",
    several=True,
    needs=lambda world: _rdma(world) and all(world.direct(world.suspect, gpu) for gpu in world.suspect.gpus),
    all_of=("nccl-log",),
    often=("lsmod", "nccl-tests", "topo"),
)
def no_gpudirect(world: World, rng: Random) -> None:
    """nvidia-peermem is not loaded and DMA-BUF is not there."""
    world.job.gpudirect = False
    for node in world.nodes:
        node.peer_memory = False


@fault(
    "wrong-network-interface",
    several=True,
    needs=_rdma,
    all_of=("nccl-log",),
    often=("nccl-tests", "ibstat", "ip-link"),
)
def wrong_interface(world: World, rng: Random) -> None:
    """NCCL takes a container bridge for its sockets, or the storage NIC beside the compute ones."""
    if rng.random() < 0.5:
        world.job.interface = rng.choice(["docker0", "virbr0", "cni0"])
        for number, node in enumerate(world.nodes):
            node.address = f"172.17.0.{number + 1}"
    else:
        names = [nic.name for nic in world.suspect.nics]
        world.job.devices = [*names, "mlx5_bond_0"]
        world.job.efficiency = 0.4


@fault(
    "nic-link-degraded",
    several=True,
    needs=lambda world: _rdma(world) and _several_nics(world),
    any_of=("ibstat", "lspci"),
    often=("perftest", "nccl-tests", "ibv_devinfo"),
)
def slow_port(world: World, rng: Random) -> None:
    """A port that trained at half its rate or less, or an adapter with fewer lanes."""
    nic = _nic(world, rng)
    nic.gigabits //= rng.choice([2, 2, 4])
    nic.width = rng.choice([8, 4])


@fault(
    "rdma-link-errors",
    several=True,
    needs=_rdma,
    any_of=("perfquery", "rdma-sysfs", "recorded-network"),
    often=("ibstat", "nccl-tests"),
)
def bad_cable(world: World, rng: Random) -> None:
    """A dirty connector: symbol errors, recoveries, and links that drop."""
    nic = _nic(world, rng)
    errors = int(rng.lognormvariate(8, 1.5)) + 200
    nic.counters.update(
        symbol_error=errors,
        link_error_recovery=rng.randrange(2, 60),
        link_downed=rng.randrange(1, 12),
        port_rcv_errors=errors // 3,
        local_link_integrity_errors=rng.choice([0, 0, 3]),
    )
    nic.rates.update(symbol_error=errors / 3600, port_rcv_errors=errors / 9000)
    if rng.random() < 0.3 and _several_nics(world):
        nic.state, nic.physical_state = "Down", "Polling"


@fault(
    "nic-link-flapping",
    several=True,
    needs=_rdma,
    all_of=("dmesg", "journal"),
    often=("ibstat", "ip-link", "nccl-tests"),
)
def flapping(world: World, rng: Random) -> None:
    """A port that loses its carrier again and again."""
    nic = _nic(world, rng)
    nic.counters["link_downed"] = 0
    for _ in range(rng.randrange(4, 14)):
        # The driver itself tells of Ethernet only; of InfiniBand the manager of the IP interface does.
        name = f"mlx5_core {nic.slot.bus_id} {nic.interface}: Link"
        if world.suspect.link_layer == "Ethernet":
            world.suspect.kernel_lines += [f"{name} down", f"{name} up"]
        else:
            world.suspect.service_lines += [f"{nic.interface}: Lost carrier", f"{nic.interface}: Gained carrier"]
        nic.counters["link_downed"] += 1


@fault(
    "network-congestion",
    several=True,
    needs=_rdma,
    all_of=("recorded-network",),
    often=("nccl-tests", "ibstat", "slurm-topology"),
)
def congestion(world: World, rng: Random) -> None:
    """Many flows meet: credits run out on InfiniBand, marks and notifications come on Ethernet."""
    world.loaded = True
    for nic in rng.sample(world.suspect.nics, max(1, len(world.suspect.nics) // 2)):
        ticks = nic.gigabits / 8 * 1e9 / 4 * 0.3
        if world.suspect.link_layer == "InfiniBand":
            nic.rates["port_xmit_wait"] = ticks * rng.uniform(0.5, 3)
        else:
            nic.rates["rp_cnp_handled"] = rng.uniform(400, 9000)
            nic.rates["np_ecn_marked_roce_packets"] = rng.uniform(300, 20000)
    world.job.efficiency *= rng.uniform(0.5, 0.8)


@fault(
    "rdma-packet-loss",
    several=True,
    needs=lambda world: _rdma(world) and world.suspect.link_layer == "Ethernet",
    all_of=("recorded-network",),
    often=("rdma-sysfs", "nccl-tests", "ethtool"),
)
def packet_loss(world: World, rng: Random) -> None:
    """A RoCE class without flow control somewhere on the way."""
    world.loaded = True
    for nic in rng.sample(world.suspect.nics, max(1, len(world.suspect.nics) // 2)):
        lost = rng.uniform(3, 300)
        for name, share in {"out_of_sequence": 1.0, "packet_seq_err": 0.8, "local_ack_timeout_err": 0.02}.items():
            nic.rates[name] = lost * share
            nic.counters[name] = int(lost * share * 40000)
        nic.rates["roce_adp_retrans"] = lost * 0.1
    world.job.efficiency *= rng.uniform(0.4, 0.8)


@fault(
    "mtu-mismatch",
    several=True,
    needs=_rdma,
    all_of=("ibv_devinfo-all",),
    often=("perftest", "ip-link-all", "nccl-tests"),
)
def mtu(world: World, rng: Random) -> None:
    """Some hosts were set up with another MTU."""
    small = rng.choice([1024, 2048])
    for node in world.nodes[: max(1, len(world.nodes) // rng.choice([2, 4, 8]))]:
        for nic in node.nics:
            nic.mtu = small


@fault(
    "nic-not-local-to-gpu",
    several=True,
    needs=lambda world: (
        _rdma(world)
        and all(
            world.suspect.path(nic.slot, gpu.slot) in ("NODE", "SYS", "PHB")
            for nic in world.suspect.nics
            for gpu in world.suspect.gpus
        )
    ),
    all_of=("topo",),
    often=("nccl-log", "nccl-tests"),
)
def far_nic(world: World, rng: Random) -> None:
    """No NIC shares a switch with a GPU, so NCCL stages in host memory."""
    world.job.gpudirect = False


@fault(
    "collective-algorithm-mismatch",
    several=True,
    needs=lambda world: world.world_size() >= 8,
    all_of=("nccl-log", "nccl-tests"),
    often=("topo", "slurm-topology"),
)
def forced_algorithm(world: World, rng: Random) -> None:
    """A protocol or algorithm forced by a variable that suited another machine."""
    name, value, left = rng.choice(
        [("NCCL_PROTO", "LL", 0.45), ("NCCL_PROTO", "LL", 0.45), ("NCCL_ALGO", "Tree", 0.75)]
    )
    world.job.environment[name] = value
    world.job.efficiency *= left


@fault("locked-memory-limit", several=True, needs=_rdma, all_of=("nccl-log",), often=("systemctl", "ibstat"))
def memlock(world: World, rng: Random) -> None:
    """A daemon that passes a small limit on locked memory to its jobs."""
    node = world.suspect
    node.memlock_bytes = rng.choice([65536, 8388608])
    gpu = rng.randrange(len(node.gpus))
    world.notes += [
        f"{_prefix(node, gpu)} misc/ibvwrap.cc:{rng.randrange(150, 260)} NCCL WARN Call to ibv_reg_mr_iova2 failed "
        "with error Cannot allocate memory",
        f"{_prefix(node, gpu)} NCCL INFO transport/net_ib.cc:1219 -> 2",
    ]


@fault("nccl-version-mismatch", several=True, all_of=("nccl-log",), often=("smi", "topo"))
def mixed_versions(world: World, rng: Random) -> None:
    """One host runs an older image."""
    node = world.nodes[min(len(world.nodes), 4) - 1]
    other = rng.choice([name for name in ("2.18.5", "2.20.5", "2.23.4") if name != world.job.nccl_version])
    world.job.nccl_versions[node.host] = other
    # NCCL compares the versions of all ranks when a communicator is made.
    codes = [
        major * 10000 + minor * 100 + patch
        for major, minor, patch in (map(int, name.split(".")) for name in (world.job.nccl_version, other))
    ]
    rank = next(number for number, host, _ in world.ranks if host is node)
    world.notes += [
        f"{_prefix(world.suspect, 0)} init.cc:{rng.randrange(900, 1300)} NCCL WARN Mismatched NCCL version detected : "
        f"rank 0 version {codes[0]} rank {rank} version {codes[1]}"
    ]


@fault("nccl-version-regression", several=True, all_of=("nccl-tests-versions",), often=("topo", "ibstat"))
def regression(world: World, rng: Random) -> None:
    """The newer library is slower at the same test."""
    world.job.efficiency = rng.uniform(0.5, 0.82)


@fault("network-plugin-not-loaded", several=True, needs=_rdma, all_of=("nccl-log",), often=("nccl-tests", "lsmod"))
def no_plugin(world: World, rng: Random) -> None:
    """The image lacks the plugin that the settings name."""
    name = rng.choice(["ofi", "gcp-fastrak", "hpcx-sharp"])
    world.job.plugin = name
    world.job.environment["NCCL_NET_PLUGIN"] = name
    if rng.random() < 0.5:
        network = {"ofi": "AWS Libfabric"}.get(name, "FasTrak")
        world.job.environment["NCCL_NET"] = network
        world.notes += [
            f"{_prefix(world.suspect, 0)} net.cc:{rng.randrange(600, 700)} NCCL WARN Error: network {network} "
            "not found."
        ]
    else:
        world.job.network, world.job.gpudirect = "Socket", False


@fault(
    "fabric-path-fault",
    several=True,
    needs=lambda world: _rdma(world) and len(world.nodes) >= 4,
    all_of=("pairs",),
    often=("slurm-topology", "ibstat"),
)
def bad_path(world: World, rng: Random) -> None:
    """One route between two sound hosts is slow."""
    hosts = [node.host for node in world.nodes[:8]]
    first, second = rng.sample(hosts, 2)
    world.job.bad_pair = (first, second)


@fault(
    "oversubscribed-uplink",
    several=True,
    needs=lambda world: (
        _rdma(world) and len(world.nodes) >= 8 and len(world.leaves) > 1 and world.suspect.link_layer == "InfiniBand"
    ),
    all_of=("ibnetdiscover", "scaling"),
    often=("nccl-tests", "slurm-topology"),
)
def oversubscribed(world: World, rng: Random) -> None:
    """Leaves with a half or a quarter of the uplinks that their hosts could fill."""
    part = rng.choice([2, 4])
    for leaf in world.leaves:
        leaf.uplinks = max(1, len(leaf.hosts) * len(world.suspect.nics) // part)
    world.job.leaf_slowdown = float(part)


@fault(
    "topology-unaware-placement",
    several=True,
    needs=lambda world: 4 <= len(world.nodes) <= 16,
    all_of=("slurm-topology", "slurm-job"),
    often=("nccl-tests", "train-log"),
)
def scattered(world: World, rng: Random) -> None:
    """The scheduler took one or two hosts below each of many leaves that hold more."""
    mine = [node.host for node in world.nodes]
    per_leaf = rng.choice([1, 1, 2])
    world.leaves = []
    stem = mine[0].rstrip("0123456789")
    for number, at in enumerate(range(0, len(mine), per_leaf)):
        others = [f"{stem}{500 + 20 * number + k}" for k in range(16 - per_leaf)]
        world.leaves.append(
            Leaf(f"leaf{number + 1:02d}", [*mine[at : at + per_leaf], *others], 16, f"{rng.getrandbits(64):016x}")
        )
    world.job.efficiency *= 0.85


@fault("rdma-peer-unreachable", several=True, needs=_rdma, all_of=("nccl-log",), often=("ibstat", "ibv_devinfo"))
def unreachable(world: World, rng: Random) -> None:
    """Queue pairs that nobody acknowledges, although TCP works."""
    node, peer = world.nodes[0], world.nodes[-1]
    gpu = rng.randrange(len(node.gpus))
    device = rng.choice(node.nics).name
    world.notes += [
        f"{_prefix(node, gpu)} transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer {peer.address}"
        f"<{rng.randrange(40000, 60000)}> with status=12 opcode=0 len=0 vendor err 129 (Send) "
        f"localGid fe80::{node.nics[0].guid[:4]} remoteGidsfe80::{peer.nics[0].guid[:4]} hca {device}",
        f"{_prefix(node, gpu)} NCCL INFO transport/net.cc:1304 -> 6",
    ]


NETWORK_FAULTS: tuple[Fault, ...] = tuple(Fault.of(__name__))

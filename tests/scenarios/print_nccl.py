# ruff: noqa: ARG001, ARG005 - All writers have one signature, used or not.
"""What NCCL, its tests and its RAS print."""

from __future__ import annotations

from random import Random

from tests.scenarios.hardware import NCCL_VERSIONS
from tests.scenarios.machine import Gpu, Machine
from tests.scenarios.world import World


def nccl_log(world: World, node: Machine, rng: Random) -> str:
    """The log of a job's start with NCCL_DEBUG=INFO: all ranks of up to four hosts, in the order of events."""
    job = world.job
    ranks = [item for item in world.ranks if item[1] in world.nodes[:4]]
    size, hosts = world.world_size(), len(world.nodes)
    process = {rank: 30000 + 7 * rank for rank, _, _ in ranks}
    comm = f"0x{rng.getrandbits(44):x}"
    phases: list[list[str]] = []

    def phase(write: object) -> None:
        lines = []
        for rank, host, gpu in ranks:
            prefix = f"{host.host}:{process[rank]}:{process[rank] + 300} [{gpu.index}] NCCL INFO "
            lines.append([prefix + text for text in write(rank, host, gpu)])  # type: ignore[operator]
        rng.shuffle(lines)
        phases.append([line for part in lines for line in part])

    phase(lambda rank, host, gpu: [f"Bootstrap : Using {job.interface}:{host.address}<0>"])
    versions = {job.nccl_versions.get(host.host, job.nccl_version) for _, host, _ in ranks}
    phases.append([f"NCCL version {name}+cuda{NCCL_VERSIONS.get(name, '12.4')}" for name in sorted(versions)])
    phase(lambda rank, host, gpu: _settings(world, host, gpu))
    phase(lambda rank, host, gpu: _network(world, host))
    phase(
        lambda rank, host, gpu: [
            f"comm {comm} rank {rank} nRanks {size} nNodes {hosts} localRanks {len(host.visible)} "
            f"localRank {gpu.index} MNNVL 0"
        ]
    )
    channels = max(2, min(24, sum(ranks[0][2].links_up) or 4))
    for channel in range(min(channels, 4)):
        phase(lambda rank, host, gpu, channel=channel: _connections(world, rank, host, gpu, channel))
    if not (job.hang and job.hang.sort in ("unreachable",)):
        phase(lambda rank, host, gpu: ["Connected all rings", "Connected all trees"])
        nvls = 16 if world.suspect.gpu_model.has_nvls and job.nvls and len(node.visible) == 8 else 0
        phase(
            lambda rank, host, gpu: [
                f"{channels} coll channels, 0 collnet channels, {nvls} nvls channels, {channels} p2p channels, "
                f"{2 if hosts > 1 else channels} p2p channels per peer",
                f"ncclCommInitRank comm {comm} rank {rank} nranks {size} cudaDev {gpu.index} nvmlDev {gpu.index} "
                f"busId {int(gpu.slot.bus_id[5:7], 16):x}000 commId 0x{rng.getrandbits(60):x} - Init COMPLETE",
            ]
        )
    phases.append([line for line in world.notes if "NCCL" in line])
    return "\n".join(line for lines in phases for line in lines) + "\n"


def _settings(world: World, host: Machine, gpu: Gpu) -> list[str]:
    return [f"{name} set by environment to {value}" for name, value in world.job.environment.items()]


def _network(world: World, host: Machine) -> list[str]:
    job = world.job
    out_of_band = f"OOB {job.interface}:{host.address}<0>"
    lines = []
    if job.plugin is not None:
        lines += [
            f"NET/Plugin: Could not find: {job.plugin} libnccl-net-{job.plugin}.so. Using internal network plugin."
        ]
    else:
        lines += ["NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."]
    if job.network == "IB" and host.nics:
        devices = job.devices or [nic.name for nic in host.nics if nic.state == "Active"]
        layer = "IB" if host.link_layer == "InfiniBand" else "RoCE"
        listed = " ".join(f"[{number}]{name}:1/{layer}" for number, name in enumerate(devices))
        lines += [f"NET/IB : Using {listed} [RO]; {out_of_band}"]
        if len(world.nodes) > 1:
            word = "Enabled" if host.peer_memory and host.gpu_model.supports_gpudirect else "Disabled"
            lines += [
                f"NET/IB : GPU Direct RDMA {word} for HCA {number} '{name}'" for number, name in enumerate(devices)
            ]
        lines += ["Using network IB"]
    else:
        if "NCCL_IB_DISABLE" not in job.environment:
            lines += ["NET/IB : No device found."]
        lines += [f"NET/Socket : Using [0]{job.interface}:{host.address}<0>", "Using network Socket"]
    return lines


def _connections(world: World, rank: int, host: Machine, gpu: Gpu, channel: int) -> list[str]:
    job = world.job
    visible = host.visible
    first = rank - visible.index(gpu)
    following = visible[(visible.index(gpu) + 1) % len(visible)]
    lines = []
    crosses = len(world.nodes) > 1 and gpu is visible[-1]
    if crosses:
        peer = (first + len(visible)) % world.world_size()
        network = "IB" if job.network == "IB" else "Socket"
        direct = "/GDRDMA" if network == "IB" and world.direct(host, gpu) else ""
        number = channel % max(1, len(job.devices or host.nics))
        lines += [
            f"Channel {channel:02d}/0 : {rank}[{gpu.index}] -> {peer}[0] [send] via NET/{network}/{number}{direct}"
        ]
        return lines
    peer = first + visible.index(following)
    lines += [
        f"Channel {channel:02d}/0 : {rank}[{gpu.index}] -> {peer}[{following.index}] via "
        f"{transport(world, host, gpu, following)}"
    ]
    return lines


def transport(world: World, host: Machine, a: Gpu, b: Gpu) -> str:
    """What NCCL takes between two GPUs of a host by default: peer access up to PXB, else shared memory."""
    job = world.job
    reachable = job.peer_access and (host.nvlinks(a, b) or host.path(a.slot, b.slot) in ("PIX", "PXB"))
    if not job.peer_access and host.nvlinks(a, b) and job.peer_reason is None:
        reachable = True
    return "P2P/CUMEM" if reachable else "SHM/direct/direct"


def nccl_calls(world: World, node: Machine, rng: Random) -> str:
    """What one rank logs of its collectives with NCCL_DEBUG_SUBSYS=INIT,COLL, over some steps."""
    job, size = world.job, world.world_size()
    prefix = f"{node.host}:30000:30300 [0] NCCL INFO "
    comm = f"0x{rng.getrandbits(44):x}"
    lines = [
        f"{prefix}comm {comm} rank 0 nRanks {size} nNodes {len(world.nodes)} localRanks {len(node.visible)} "
        "localRank 0 MNNVL 0"
    ]
    count = 0
    for _ in range(rng.randrange(30, 50)):
        for length in job.message_bytes:
            lines += [
                f"{prefix}AllReduce: opCount {count:x} sendbuff 0x7f2a{rng.getrandbits(28):08x} recvbuff "
                f"0x7f2a{rng.getrandbits(28):08x} count {length // 2} datatype 9 op 0 root 0 comm {comm} "
                f"[nranks={size}] stream 0x55d0c4e0"
            ]
            count += 1
    return "\n".join(lines) + "\n"


def nccl_tests(
    world: World,
    node: Machine,
    rng: Random,
    nodes: int | None = None,
    gpus: list[Gpu] | None = None,
    version: str | None = None,
    ratio: float = 1.0,
) -> str:
    """`all_reduce_perf` over all GPUs of some hosts, or over some GPUs of one."""
    hosts = world.nodes[: nodes or len(world.nodes)]
    chosen = [(host, gpu) for host in hosts for gpu in (gpus if gpus is not None else host.visible)]
    count = len(chosen)
    if gpus is not None:
        top = node.ring_gigabytes(gpus, world.job.peer_access, world.job.nvls) * world.job.efficiency
    else:
        top = world.collective_gigabytes(hosts)
    top *= ratio
    lines = ["# nThread 1 nGpus 1 minBytes 1024 maxBytes 8589934592 step: 4(factor) warmup iters: 5 iters: 20 agg "
             "iters: 1 validation: 1 graph: 0", "#", "# Using devices"]  # fmt: skip
    if version is not None:
        lines.insert(0, f"# nccl-tests version 2.13.11 nccl-headers={_number(version)} nccl-library={_number(version)}")
    for number, (host, gpu) in enumerate(chosen):
        lines += [
            f"#  Rank {number:2d} Group  0 Pid {21000 + number:6d} on {host.host:>10} device {gpu.index:2d} "
            f"[0x{gpu.slot.bus_id[5:7]}] {node.gpu_model.name}"
        ]
    lines += ["#", "#" + " " * 62 + "out-of-place" + " " * 23 + "in-place          "]
    columns = "    time   algbw   busbw #wrong"
    lines += [f"#       size         count      type   redop    root {columns} {columns}"]
    lines += ["#        (B)    (elements)" + " " * 31 + "(us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       "]
    total, rows, total_wrong = 0.0, 0, 0
    factor = 2 * (count - 1) / count
    latency = (18 + 1.6 * count + 22 * (len(hosts) - 1) ** 0.5) * 1e-6
    for power in range(10, 34, 2):
        size = 2**power
        cells = []
        wrong = node.wrong_elements if size >= 2**20 else 0
        total_wrong += 2 * (wrong > 0)
        for _ in range(2):
            seconds = (latency + size * factor / (top * 1e9) * (1 + 2**22 / (size + 2**20) * 0.2)) * rng.gauss(1, 0.006)
            algorithm = size / seconds / 1e9
            time = seconds * 1e6
            digits = 0 if time >= 10000 else 1 if time >= 100 else 2
            cells.append(f"  {time:7.{digits}f}  {algorithm:6.2f}  {algorithm * factor:6.2f}  {wrong:>5}")
            total, rows = total + algorithm * factor, rows + 1
        lines += [f"{size:>12}{size // 4:>14}     float     sum      -1{cells[0]}{cells[1]}"]
    lines += [
        f"# Out of bounds values : {total_wrong} {'FAILED' if total_wrong else 'OK'}",
        f"# Avg bus bandwidth    : {total / rows:.4f} ",
        "#",
    ]
    return "\n".join(lines) + "\n"


def _number(version: str) -> int:
    major, minor, patch = (int(part) for part in version.split("."))
    return major * 10000 + minor * 100 + patch


def ras(world: World, node: Machine, rng: Random) -> str:
    """`ncclras -v` while the job stands still, or runs."""
    job, size, hosts = world.job, world.world_size(), len(world.nodes)
    local = len(node.visible)
    hang = job.hang
    lines = ["Job summary", "===========", "", "  Nodes  Processes         GPUs  Processes     GPUs",
             "(total)   per node  per process    (total)  (total)",
             f"{hosts:>7}{local:>11}{1:>13}{size:>11}{size:>9}", ""]  # fmt: skip
    word = {"mismatch": "MISMATCH", "loader": "MISMATCH", "died": "INCOMPLETE"}.get(hang.sort if hang else "", "OK")
    per_node = f"{local - 1}-{local}" if word == "INCOMPLETE" else str(local)
    lines += [f"Communicators... ({2.05 if word == 'INCOMPLETE' else 0.0:.2f}s)", "=============", "",
              "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors",
              "    #  in group  per comm  per node  per comm  in group",
              f"    0         1{hosts:>10}{per_node:>10}{size:>10}{size:>10}   RUNNING  {word}", ""]  # fmt: skip
    if hang is None or word == "OK":
        return "\n".join(lines) + "\n"
    host = next(machine for rank, machine, _ in world.ranks if rank == hang.rank)
    gpu = next(item for rank, _, item in world.ranks if rank == hang.rank)
    code = f"{rng.getrandbits(64):016x}"
    if word == "INCOMPLETE":
        lines += ["Errors", "======", "", "DEAD",
                  "  1 job process is considered dead (unreachable via the RAS network)",
                  f"  Process {30000 + 7 * hang.rank} on node {host.address} managing GPU {gpu.index}", "",
                  f"#0-0 ({code}) INCOMPLETE", "  Missing communicator data from 1 rank",
                  f"  The missing rank: {hang.rank}", ""]  # fmt: skip
    else:
        lines += ["Warnings", "========", "", f"#0-0 ({code}) MISMATCH",
                  "  Communicator ranks have different collective operation counts",
                  f"  {size - 1} ranks have launched up to operation {hang.sequence}",
                  f"  1 rank has launched up to operation {hang.sequence - 1}",
                  f"  Rank {hang.rank} -- GPU {gpu.index} managed by process {30000 + 7 * hang.rank} on node "
                  f"{host.address}", ""]  # fmt: skip
    return "\n".join(lines) + "\n"

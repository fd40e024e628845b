# ruff: noqa: ARG001 - All writers have one signature, used or not.
"""A scenario: a seed, causes, the world that they made, and the files that an operator brings."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.scenarios import (
    print_bandwidth,
    print_gpu,
    print_host,
    print_nccl,
    print_network,
    print_recorded,
    print_training,
)
from tests.scenarios.fault import Fault
from tests.scenarios.faults_host import HOST_FAULTS
from tests.scenarios.faults_job import JOB_FAULTS
from tests.scenarios.faults_network import NETWORK_FAULTS
from tests.scenarios.faults_program import PROGRAM_FAULTS
from tests.scenarios.machine import Machine
from tests.scenarios.print_traces import traces
from tests.scenarios.world import World, draw_world

FAULTS: Mapping[str, Fault] = {
    item.cause: item for item in (*HOST_FAULTS, *NETWORK_FAULTS, *JOB_FAULTS, *PROGRAM_FAULTS)
}
_TRIES = 400

Writer = Callable[[World, Machine, Random], str]


@dataclass(frozen=True)
class _Tool:
    """A file that a command on a host fills."""

    file: str
    command: str
    write: Writer


_TOOLS: Mapping[str, _Tool] = {
    "smi-q": _Tool("nvidia-smi-q.txt", "nvidia-smi -q", print_gpu.smi_q),
    "smi": _Tool("nvidia-smi.txt", "nvidia-smi", print_gpu.smi_table),
    "topo": _Tool("topo.txt", "nvidia-smi topo -m", print_gpu.topo),
    "topo-p2p": _Tool("topo-p2p.txt", "nvidia-smi topo -p2p r", print_gpu.topo_p2p),
    "nvlink-s": _Tool("nvlink.txt", "nvidia-smi nvlink -s", print_gpu.nvlink_status),
    "nvlink-e": _Tool("nvlink-errors.txt", "nvidia-smi nvlink -e", print_gpu.nvlink_errors),
    "p2p-matrix": _Tool("p2p.txt", "./p2pBandwidthLatencyTest", print_bandwidth.peer_matrix),
    "nvbandwidth": _Tool("nvbandwidth.txt", "nvbandwidth", print_bandwidth.nvbandwidth),
    "lspci": _Tool("lspci.txt", "sudo lspci -vvv", print_host.lspci),
    "dmesg": _Tool("dmesg.txt", "sudo dmesg", print_host.dmesg),
    "journal": _Tool("journal.txt", "journalctl -b --no-pager", print_host.journal),
    "lscpu": _Tool("lscpu.txt", "lscpu", print_host.lscpu),
    "numactl": _Tool("numactl.txt", "numactl --hardware", print_host.numactl),
    "df": _Tool("df.txt", "df -h", print_host.df),
    "lsmod": _Tool("lsmod.txt", "lsmod", print_host.lsmod),
    "systemctl": _Tool("services.txt", "systemctl show slurmd nvidia-fabricmanager", print_host.systemctl),
    "ibstat": _Tool("ibstat.txt", "ibstat", print_network.ibstat),
    "ibv_devinfo": _Tool("ibv_devinfo.txt", "ibv_devinfo", print_network.ibv_devinfo),
    "perfquery": _Tool("perfquery.txt", "sudo perfquery -x", print_network.perfquery),
    "rdma-sysfs": _Tool(
        "rdma-counters.txt", "grep -H . /sys/class/infiniband/*/ports/1/*counters/*", print_network.rdma_sysfs
    ),
    "ethtool": _Tool("ethtool.txt", "ethtool IF", print_network.ethtool),
    "ip-link": _Tool("ip-link.txt", "ip link", print_network.ip_link),
    "perftest": _Tool("ib_write_bw.txt", "ib_write_bw -a --report_gbits", print_network.perftest),
}
"""Files about one host."""

_RECORDED: Mapping[str, Writer] = {
    "recorded-host": print_recorded.recorded_host,
    "recorded-network": print_recorded.recorded_network,
    "recorded-processes": print_recorded.recorded_processes,
}
_JOB: Mapping[str, tuple[str, Writer]] = {
    "nccl-log": ("nccl.log", print_nccl.nccl_log),
    "nccl-tests": ("all_reduce_perf.txt", print_nccl.nccl_tests),
    "nccl-calls": ("nccl-coll.log", print_nccl.nccl_calls),
    "ras": ("ncclras.txt", print_nccl.ras),
    "train-log": ("train.log", print_training.training_log),
    "rank-table": ("ranks.csv", print_training.rank_table),
    "stage-table": ("stages.csv", print_training.stage_table),
    "scaling": ("scaling.csv", print_training.scaling_table),
    "pairs": ("pairs.csv", print_training.pair_table),
    "job-output": ("job.err", print_training.job_output),
    "launcher-output": ("slurm.out", print_training.launcher_output),
    "py-spy": ("py-spy.txt", print_training.py_spy),
    "ibnetdiscover": ("ibnetdiscover.txt", print_network.ibnetdiscover),
    "slurm-topology": ("topology.txt", print_network.slurm_topology),
}
_INNOCENT_ANYWHERE = ("smi", "smi-q", "topo", "lscpu", "numactl", "dmesg", "lsmod", "df", "lspci", "systemctl")
_INNOCENT_ON_NETWORKS = ("ibstat", "ibv_devinfo", "perfquery", "ip-link", "nccl-tests", "train-log", "nccl-log")


@dataclass(frozen=True)
class Scenario:
    """What happened, and what is handed in."""

    causes: tuple[str, ...]
    world: World
    brought: tuple[str, ...]

    def files(self) -> dict[str, str]:
        """Texts by file name."""
        found: dict[str, str] = {}
        for name in self.brought:
            found.update(self._file(name, Random(zlib.crc32(f"{self.world.seed}/{name}".encode()))))
        return found

    def write(self, folder: Path) -> None:
        """Write all files into a folder."""
        for name, text in self.files().items():
            (folder / name).write_text(text, encoding="utf-8")

    def _file(self, name: str, rng: Random) -> dict[str, str]:
        world, node = self.world, self.world.suspect
        if name in _TOOLS:
            return {_TOOLS[name].file: self._session(_TOOLS[name], node, rng)}
        if name in _RECORDED:
            return {f"{name}.txt": _RECORDED[name](world, node, rng)}
        if name in _JOB:
            return {_JOB[name][0]: _JOB[name][1](world, node, rng)}
        return _SPECIAL[name](self, rng)

    def _session(self, tool: _Tool, node: Machine, rng: Random) -> str:
        """The output as a terminal shows it: below a prompt that names the host where there are several."""
        command = tool.command
        if tool.file == "ethtool.txt":
            command = f"ethtool {node.nics[0].interface}"
        text = tool.write(self.world, node, rng)
        if len(self.world.nodes) > 1 or rng.random() < 0.3:
            return f"[root@{node.host} ~]# {command}\n{text}"
        return text

    def of_all_hosts(self, tool: str, rng: Random) -> dict[str, str]:
        """The same command on up to eight hosts all over the job, one file each."""
        item = _TOOLS[tool]
        stem, _, ending = item.file.rpartition(".")
        nodes = self.world.nodes[:: -(-len(self.world.nodes) // 8)]
        return {f"{stem}-{node.host}.{ending}": self._session(item, node, rng) for node in nodes}


def _half(scenario: Scenario, rng: Random) -> dict[str, str]:
    """The test within the first socket, or over the first bridge, for comparison."""
    node = scenario.world.suspect
    near = [gpu for gpu in node.gpus if gpu.slot.socket == node.gpus[0].slot.socket]
    if node.gpus[0].partners:
        near = near[:2]
    if len(near) < 2:
        return {}
    return {"all_reduce_perf-near.txt": print_nccl.nccl_tests(scenario.world, node, rng, 1, near)}


def _versions(scenario: Scenario, rng: Random) -> dict[str, str]:
    world = scenario.world
    old, new = "2.20.5", rng.choice(["2.21.5", "2.23.4", "2.25.1"])
    slower = world.job.efficiency
    return {
        f"all_reduce-{old}.txt": print_nccl.nccl_tests(world, world.suspect, rng, version=old, ratio=1 / slower),
        f"all_reduce-{new}.txt": print_nccl.nccl_tests(world, world.suspect, rng, version=new),
    }


def _exchange(scenario: Scenario, rng: Random) -> dict[str, str]:
    """A table of ranks with the time in communication."""
    compute, exposed = scenario.world.compute_seconds(), scenario.world.exposed_seconds()
    rows = ["step,rank,compute_ms,allreduce_ms,step_ms"]
    for step in range(rng.randrange(20, 40)):
        for rank, _, _ in scenario.world.ranks[:32]:
            own = compute * 1000 * rng.gauss(1, 0.006)
            wait = exposed * 1000 * rng.gauss(1, 0.01)
            rows.append(f"{step},{rank},{own:.2f},{wait:.2f},{own + wait:.2f}")
    return {"ranks.csv": "\n".join(rows) + "\n"}


def _cuda_802(scenario: Scenario, rng: Random) -> dict[str, str]:
    return {
        "app.err": "Traceback (most recent call last):\n"
        '  File "/workspace/train.py", line 41, in <module>\n    torch.cuda.init()\n'
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 802: system not yet initialized\n"
    }


def _slurm_job(scenario: Scenario, rng: Random) -> dict[str, str]:
    hosts = ",".join(node.host for node in scenario.world.nodes)
    return {
        "job.txt": f"JobId=48213 JobName=pretrain\n   UserId=trainer(2001) GroupId=users(100)\n   JobState=RUNNING "
        f"Reason=None Dependency=(null)\n   NumNodes={len(scenario.world.nodes)}\n   NodeList={hosts}\n"
    }


_SPECIAL: Mapping[str, Callable[[Scenario, Random], dict[str, str]]] = {
    "half-nccl-tests": _half,
    "nccl-tests-versions": _versions,
    "rank-comm": _exchange,
    "cuda-802": _cuda_802,
    "slurm-job": _slurm_job,
    "onset-log": lambda scenario, rng: {
        "train.log": print_training.training_log(scenario.world, scenario.world.suspect, rng)
    },
    "strong-scaling": lambda scenario, rng: print_training.strong_scaling_logs(scenario.world, rng),
    "traces": lambda scenario, rng: traces(scenario.world, rng),
    "flight-recorders": lambda scenario, rng: print_training.flight_recorders(scenario.world, rng),
    "ibv_devinfo-all": lambda scenario, rng: scenario.of_all_hosts("ibv_devinfo", rng),
    "ip-link-all": lambda scenario, rng: scenario.of_all_hosts("ip-link", rng),
}


class ImpossibleError(Exception):
    """No world was found that can have all of the causes."""


def scenario(causes: Sequence[str], seed: int, form: str | None = None) -> Scenario:
    """A world with these causes and what an operator brings. Raises ImpossibleError."""
    faults = [FAULTS[name] for name in causes]
    rng = Random(zlib.crc32(f"{seed}/{'+'.join(causes)}".encode()))
    several = any(item.several for item in faults) or (not faults and rng.random() < 0.5)
    for _ in range(_TRIES):
        world = draw_world(rng.getrandbits(32), several, form)
        before = dataclasses.replace(world)
        if all(item.needs(before) for item in faults):
            break
    else:
        raise ImpossibleError(f"no machine can have {' and '.join(causes)}")
    brought: list[str] = []
    for item in faults:
        item.inject(world, rng)
        brought += item.files(rng)
    brought += _bystanders(world, rng, brought)
    return Scenario(tuple(causes), world, tuple(dict.fromkeys(brought)))


def _bystanders(world: World, rng: Random, brought: Sequence[str]) -> list[str]:
    """Other files that come along: about the machine, and where there is a network about that and the job."""
    pool = [*_INNOCENT_ANYWHERE]
    if world.suspect.nics:
        pool += _INNOCENT_ON_NETWORKS[:4]
    if world.job.hang is None and len(world.suspect.visible) > 1 and world.suspect.fabric_manager == "running":
        pool += _INNOCENT_ON_NETWORKS[4:]
        if rng.random() < 0.3:
            pool += ["traces", "nccl-calls"]
    if "nccl-tests-versions" in brought:
        pool.remove("nccl-tests")
    return [name for name in pool if rng.random() < 0.3]

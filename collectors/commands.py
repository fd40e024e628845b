"""Understands the command line at a prompt: which program prints, and on which host."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAFE = """
    nvidia-smi nvidia-bug-report.sh nvidia-persistenced nvidia-settings nvcc dcgmi nvbandwidth nv-fabricmanager
    p2pBandwidthLatencyTest bandwidthTest deviceQuery gpu-burn gpu_burn ncclras rocm-smi
    all_reduce_perf all_gather_perf reduce_scatter_perf alltoall_perf broadcast_perf sendrecv_perf reduce_perf
    lspci setpci lscpu lsmod lsblk lshw lstopo lstopo-no-graphics hwloc-ls modinfo modprobe rmmod dkms mokutil dmidecode
    dmesg journalctl numactl numastat cpupower turbostat tuned-adm ipmitool sensors
    ibstat ibstatus ibv_devinfo ibv_devices ibdev2netdev ibnetdiscover iblinkinfo perfquery ibdiagnet mlxlink mst
    mlxconfig show_gids ethtool devlink rdma rdma_topo ib_write_bw ib_read_bw ib_send_bw ib_write_lat iperf3
    py-spy mpstat iostat vmstat pidstat sysctl systemctl kubectl scontrol sinfo squeue sacct srun mpirun
    nslookup getenforce ulimit uname df lsof strace gdb hostnamectl ssh sudo
"""
_FAMILIAR = """
    cat ls grep egrep tail head less zcat cd echo export ip ifconfig free top htop uptime ps pgrep kill hostname date
    watch time docker podman nerdctl crictl singularity apptainer enroot python python3 pip torchrun vllm apt apt-get
    yum dnf ping sar traceroute tc taskset env make git wget curl find awk sed sh bash reboot which whoami id mount stat
    nproc vi vim nano
"""
SAFE_COMMANDS = frozenset(_SAFE.split())
"""Programs whose names begin no sentence and no comment: `# NAME` is a root prompt."""
KNOWN_COMMANDS = SAFE_COMMANDS | frozenset(_FAMILIAR.split())
"""Programs that a prompt of another sort (`> NAME`) may be followed by."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line."""

    text: str
    """As typed, without the prompt."""
    core: str
    """What prints: without `sudo`, `ssh host`, `srun` and the like in front."""
    program: str
    """Name of the program without its folder; empty where nothing was typed."""
    host: str | None = None
    """The host that `ssh` or `srun -w` runs it on."""


_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=\S*$")
_VALUE_OPTIONS = {
    "sudo": frozenset({"-u", "-g", "-h", "-p"}),
    "ssh": frozenset({"-p", "-i", "-l", "-o", "-F", "-J", "-b", "-c", "-L", "-R", "-D"}),
    "srun": frozenset({"-w", "-n", "-N", "-p", "-A", "-t", "-c", "-J", "--nodelist", "--jobid", "--partition"}),
    "watch": frozenset({"-n", "--interval"}),
    "timeout": frozenset({"-s", "-k"}),
    "nice": frozenset({"-n"}),
    "taskset": frozenset({"-c"}),
    "env": frozenset({"-u"}),
    "time": frozenset({"-f", "-o"}),
    "nohup": frozenset(),
    "stdbuf": frozenset(),
    "exec": frozenset(),
}
_WORDS_AFTER = {"timeout": 1, "taskset": 1}
_WORD = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|\S+)")


def understand(text: str) -> Command:
    """Take a command line apart. Never raises: what it does not know stays part of the core."""
    text = text.strip()
    core, host = text, None
    for _ in range(6):
        stripped, found = _unwrap(core)
        host = found or host
        if stripped == core:
            break
        core = stripped
    first = _WORD.match(core)
    program = first[1].strip("\"'").rsplit("/", 1)[-1] if first else ""
    return Command(text=text, core=core, program=program, host=host)


def _unwrap(core: str) -> tuple[str, str | None]:
    """Without one wrapper in front, and the host that it named."""
    if len(core) > 1 and core[0] == core[-1] and core[0] in "\"'":
        return core[1:-1].strip(), None
    first = _WORD.match(core)
    if first is None:
        return core, None
    if _ASSIGNMENT.match(first[1]):
        return core[first.end() :].strip(), None
    name = first[1].rsplit("/", 1)[-1]
    if name not in _VALUE_OPTIONS:
        return core, None
    return _behind(name, core, first.end())


def _behind(name: str, core: str, position: int) -> tuple[str, str | None]:
    host: str | None = None
    words_left = _WORDS_AFTER.get(name, 0) + (name == "ssh")
    while match := _WORD.match(core, position):
        word = match[1]
        if word.startswith("-"):
            position = match.end()
            value = _WORD.match(core, position) if word in _VALUE_OPTIONS[name] else None
            if value is not None:
                position = value.end()
            if name == "srun" and word.split("=")[0] in ("-w", "--nodelist"):
                host = _one_host(value[1] if value else word.partition("=")[2])
            continue
        if words_left == 0:
            break
        words_left -= 1
        position = match.end()
        if name == "ssh":
            host = _one_host(word.rsplit("@", 1)[-1])
    rest = core[position:].strip()
    # A wrapper with nothing behind it is the program itself (`ssh node01` opens a shell).
    return (rest or core), host


def _one_host(name: str) -> str | None:
    return name if re.fullmatch(r"[A-Za-z0-9][\w.-]*", name) else None

"""Processes that hold a GPU: where they may run, where their memory lies, and the settings in their environment."""

from __future__ import annotations

import re
from collections import Counter
from typing import ClassVar

from collectors.live.base import Folder, Recorder, Window
from collectors.live.control_groups import group_of, record_counters, record_settings, with_parents
from collectors.live.pci import DEVICES
from collectors.live.tree import TreeWriter

_GPU_DEVICE = re.compile(r"^/dev/nvidia\d+$")
_PROCESSES = 256
"""No more processes than this are recorded; servers run one for each GPU, rarely a few more."""
_THREADS = 2048
_NUMA_MAPS_LIMIT_KILOBYTES = 64 << 20
"""Above this much resident memory numa_maps is not read: the kernel walks every page while it holds a lock."""
_STATUS = ("Name:", "VmRSS:", "VmLck:", "VmPin:", "Threads:", "Cpus_allowed_list:", "Mems_allowed_list:")
ENVIRONMENT = re.compile(
    r"^(?:NCCL_|CUDA_|OMP_|KMP_|GOMP_|MKL_|OPENBLAS_|UCX_|MLX5_|IBV_|FI_|NVIDIA_VISIBLE_DEVICES|NVIDIA_TF32|NVSHMEM_|"
    r"TORCH_NCCL|TORCH_DIST|PYTORCH_|XLA_FLAGS|VLLM_|SGLANG_|GLOO_SOCKET|MASTER_PORT|WORLD_SIZE|LOCAL_WORLD_SIZE|"
    r"RANK|LOCAL_RANK|SLURM_JOB_ID|SLURM_LOCALID|SLURM_PROCID|SLURM_CPU_BIND|SLURM_GPUS|MALLOC_|LD_PRELOAD)"
)
"""Variables that bear on performance or tell which rank it is. No others leave the process."""
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|API_?KEY|CREDENTIAL", re.IGNORECASE)
_PAGES = re.compile(r"\bN(\d+)=(\d+)\b")
_PAGE_SIZE = re.compile(r"\bkernelpagesize_kB=(\d+)\b")


class Processes(Recorder):
    """Processes with a file of a GPU open."""

    name: ClassVar[str] = "processes"
    title: ClassVar[str] = "processes that hold GPUs"
    directory: ClassVar[str] = "processes"
    time_limit_seconds: ClassVar[float] = 20.0

    def record(self, folder: Folder, window: Window) -> None:
        """Placement once, scheduling counters at both ends of the window."""
        if not (folder.root / "proc").is_dir():
            folder.absent("There is no /proc")
            return
        tree = TreeWriter(folder, "processes")
        _gpus(tree)
        tree.read("sys/devices/system/cpu/online")
        hidden = 0
        found: list[int] = []
        for process in sorted(int(name) for name in tree.names("proc") if name.isascii() and name.isdecimal()):
            devices = _gpus_held(tree, process)
            hidden += devices is None
            if devices and len(found) < _PROCESSES:
                found.append(process)
                tree.note(f"proc/{process}/fd", devices, what="devices")
        if hidden:
            folder.lacked(f"Which processes of other users hold a GPU can be told by root only (hidden here: {hidden})")
        if not found and not hidden:
            folder.absent("No process holds a GPU")
            return
        groups = [group for process in found if (group := _process(tree, process)) is not None]
        paths = list(dict.fromkeys(path for group in groups for path in with_parents(group)))
        for path in paths:
            record_settings(tree, path)
        for _ in window.ends():
            for process in found:
                tree.read(f"proc/{process}/schedstat", timed=True)
            for path in paths:
                record_counters(tree, path)


def _gpus(tree: TreeWriter) -> None:
    """Which device file is which GPU, and what is near it."""
    base = "proc/driver/nvidia/gpus"
    for bus_id in tree.names(base):
        tree.read(f"{base}/{bus_id}/information")
        for name in ("numa_node", "local_cpulist"):
            tree.read(f"{DEVICES}/{bus_id}/{name}")


def _gpus_held(tree: TreeWriter, process: int) -> list[str] | None:
    """Device files of GPUs that a process has open; None where that may not be looked at."""
    folder = tree.root / f"proc/{process}/fd"
    found = set()
    try:
        for entry in folder.iterdir():
            try:
                target = str(entry.readlink())
            except FileNotFoundError:
                continue
            if _GPU_DEVICE.match(target):
                found.add(target)
    except PermissionError:
        return None
    except OSError:
        return []
    return sorted(found)


def _process(tree: TreeWriter, process: int) -> str | None:
    """Record what holds for the whole window; the process's control group."""
    path = f"proc/{process}"
    status = tree.read(f"{path}/status", keep=lambda line: line.startswith(_STATUS))
    tree.read(f"{path}/limits", keep=lambda line: line.startswith(("Max locked", "Max open", "Max processes")))
    tree.space(f"{path}/root/dev/shm")
    _environment(tree, path)
    _threads(tree, path)
    resident = re.search(r"^VmRSS:\s+(\d{1,15}) kB", status or "", re.MULTILINE)
    if resident is not None and int(resident[1]) > _NUMA_MAPS_LIMIT_KILOBYTES:
        tree.note_error(f"{path}/numa_maps", "TOOLARGE")
    else:
        _numa_maps(tree, path)
    return group_of(tree.read(f"{path}/cgroup"))


def _environment(tree: TreeWriter, path: str) -> None:
    try:
        data = (tree.root / path / "environ").read_bytes()
    except OSError:
        return
    lines = [word.decode("utf-8", "replace").replace("\n", " ") for word in data.split(b"\0")]
    kept = [line for line in lines if ENVIRONMENT.match(line) and not _SECRET.search(line.partition("=")[0])]
    tree.note(f"{path}/environ", sorted(kept))


def _threads(tree: TreeWriter, path: str) -> None:
    """How many threads ran last on each CPU: the 39th field of their state."""
    counts: Counter[str] = Counter()
    for thread in tree.names(f"{path}/task")[:_THREADS]:
        try:
            text = (tree.root / path / "task" / thread / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # The name in brackets may hold blanks; the fields behind it begin with the third.
        fields = text.rpartition(")")[2].split()
        if len(fields) > 36:
            counts[fields[36]] += 1
    tree.note(f"{path}/task", [f"{cpu} {count}" for cpu, count in counts.items()], what="threads")


def _numa_maps(tree: TreeWriter, path: str) -> None:
    """Memory by node, added up: the file itself has thousands of lines and names every mapped file."""
    bytes_on: Counter[str] = Counter()
    try:
        with (tree.root / path / "numa_maps").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                _add_pages(bytes_on, line)
    except OSError:
        return
    tree.note(f"{path}/numa_maps", _node_lines(bytes_on), what="nodes")


def _add_pages(bytes_on: Counter[str], line: str) -> None:
    size = _PAGE_SIZE.search(line)
    page = int(size[1]) << 10 if size else 4096
    for node, count in _PAGES.findall(line):
        bytes_on[node] += int(count) * page


def _node_lines(bytes_on: Counter[str]) -> list[str]:
    return [f"{node} {size}" for node, size in sorted(bytes_on.items())]

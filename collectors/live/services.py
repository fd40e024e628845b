"""Services that GPUs depend on, limits that daemons pass on to jobs, and the batch system or container around us."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import ClassVar

from collectors.live.base import Folder, Recorder, Window
from collectors.live.programs import find_program, run_program
from collectors.live.tree import TreeWriter

UNITS = (
    "nvidia-fabricmanager",
    "nvidia-persistenced",
    "nvidia-dcgm",
    "nvidia-imex",
    "nvidia-powerd",
    "irqbalance",
    "tuned",
    "opensm",
    "openibd",
    "docker",
    "containerd",
    "crio",
    "kubelet",
    "slurmd",
)
_PROPERTIES = "Id,LoadState,ActiveState,SubState,UnitFileState,NRestarts,Result,LimitMEMLOCK,LimitMEMLOCKSoft"
_LIMIT_SECONDS = 8.0
_VARIABLES = re.compile(r"^(?:SLURM_JOB_ID|SLURM_JOB_PARTITION|SLURM_JOB_NUM_NODES|container|PBS_JOBID|LSB_JOBID)=")
_SIGNS = (
    ".dockerenv",
    "run/.containerenv",
    "run/containerd/containerd.sock",
    "run/docker.sock",
    "run/crio/crio.sock",
    "run/secrets/kubernetes.io/serviceaccount/namespace",
    "var/lib/kubelet/config.yaml",
    "etc/slurm/slurm.conf",
    "run/nvidia-fabricmanager/nv-fabricmanager.pid",
    "run/nvidia-persistenced/nvidia-persistenced.pid",
)
"""Files that stand for a container, its runtime or a scheduler by being there."""


class Services(Recorder):
    """State of services, and where this program itself runs."""

    name: ClassVar[str] = "services"
    title: ClassVar[str] = "services, container and batch system"
    directory: ClassVar[str] = "services"

    def record(self, folder: Folder, window: Window) -> None:
        """Signs in files and environment first, which are there without systemd too."""
        tree = TreeWriter(folder, "services")
        tree.note("signs", [path for path in _SIGNS if tree.exists(path)], what="names")
        tree.read("proc/1/cgroup")
        tree.read("proc/1/comm")
        if folder.root != Path("/"):
            # The environment is the real machine's, and programs know nothing of a stand-in tree.
            return
        tree.note("environment", [line for line in _environment() if _VARIABLES.match(line)], what="variables")
        program = find_program("systemctl")
        if program is None:
            return
        arguments = ("show", "--no-pager", f"--property={_PROPERTIES}", *(f"{unit}.service" for unit in UNITS))
        output = run_program(program, arguments, _LIMIT_SECONDS)
        if output.status is None:
            folder.incomplete(f"systemctl show did not answer within {_LIMIT_SECONDS:.0f} s")
        if "LoadState=" in output.text:
            folder.write("systemctl-show.txt", f"$ systemctl {' '.join(arguments)}\n{output.text}")


def _environment() -> list[str]:
    lines = [f"{name}={value}" for name, value in os.environ.items() if "\n" not in value]
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        lines.append("container=kubernetes")
    return sorted(lines)

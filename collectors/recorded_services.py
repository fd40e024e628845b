"""The recorded tree of services: the container or batch system that the reading is part of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from collectors.recorded_tree import RecordedTree, RecordedTreeCollector
from diagnose.facts import Fact, Subject
from diagnose.facts.tuning import SchedulerContext

_SIGNS = {
    ".dockerenv": "docker",
    "run/.containerenv": "podman",
    "run/secrets/kubernetes.io/serviceaccount/namespace": "kubernetes",
    "var/lib/kubelet/config.yaml": "kubernetes",
    "etc/slurm/slurm.conf": "slurm",
}
_JOBS = {"SLURM_JOB_ID": "slurm", "PBS_JOBID": "pbs", "LSB_JOBID": "lsf"}


class RecordedServices(RecordedTreeCollector):
    """What the services recorder writes, beside the output of systemctl."""

    kind: ClassVar[str] = "recorded-services"
    about: ClassVar[str] = "services"

    @classmethod
    def facts(cls, tree: RecordedTree, host: Subject) -> Iterator[Fact]:
        """One fact for each system, with the job where the environment names it."""
        signs, variables = tree.last("signs (names)"), tree.last("environment (variables)")
        environment = dict(line.split("=", 1) for line in (variables.lines if variables else ()) if "=" in line)
        jobs = {system: environment[name] for name, system in _JOBS.items() if name in environment}
        systems = [_SIGNS[line] for line in (signs.lines if signs is not None else ()) if line in _SIGNS]
        systems += [environment["container"]] if environment.get("container") else []
        for system in dict.fromkeys([*systems, *jobs]):
            partition = environment.get("SLURM_JOB_PARTITION") if system == "slurm" else None
            yield SchedulerContext(
                subject=host,
                sources=tree.source("signs (names)", "environment (variables)"),
                system=system,
                job=jobs.get(system),
                detail=f"partition {partition}" if partition else None,
            )

"""What Kubernetes says of a node, as JSON or as `kubectl describe node`: its pool, taints, how GPUs are shared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnose.facts import Source, Subject
from diagnose.facts.sharing import SchedulingNode
from diagnose.facts.workload_roles import role_of

_POOL_LABELS = (
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "node-pool",
    "nodepool",
    "pool",
)
"""Labels in which providers and people keep the name of a node's pool."""
_ROLE_LABEL = re.compile(r"(?:^|[/.-])(?:pool|nodepool|workload|workload-type|role|purpose|tier|dedicated|node-role)$")
_QUANTITY = re.compile(r"^(\d{1,15}(?:\.\d{1,9})?)(m|k|K|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$")
_UNITS: dict[str | None, float] = {
    None: 1.0,
    "m": 1e-3,
    **{unit: 1000.0 ** (power + 1) for power, unit in enumerate("kMGTP")},
    "K": 1000.0,
    **{f"{unit}i": 1024.0 ** (power + 1) for power, unit in enumerate("KMGTP")},
}
SYSTEM_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "nvidia.com/gpu")
"""Taints that say something other than for whom the node is; that of GPUs keeps out only what needs none."""


def quantity(text: object) -> float | None:
    """`500m`, `64Gi`, `8` as a number; bytes for amounts of memory."""
    match = _QUANTITY.match(str(text).strip()) if isinstance(text, str | int | float) else None
    return float(match[1]) * _UNITS[match[2]] if match else None


@dataclass(frozen=True, slots=True)
class SchedulerNode:
    """A node's words."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[str] | None
    """`key=value:effect` each; None where the source does not list them."""
    allocatable: Mapping[str, str]

    def fact(self, source: Source, host: str | None) -> SchedulingNode:
        """The fact."""
        role = role_of({"label": " ".join(self._role_words()) or None, "partition": self._pool()})
        gpus = quantity(self.allocatable.get("nvidia.com/gpu", self.allocatable.get("amd.com/gpu")))
        cpus = quantity(self.allocatable.get("cpu"))
        replicas = self.labels.get("nvidia.com/gpu.replicas", "")
        return SchedulingNode(
            subject=Subject(host=host),
            sources=(source,),
            node=self.name,
            system="kubernetes",
            pool=self._pool(),
            pool_role=role.role if role.told_by else None,
            taints=None if self.taints is None else " ".join(self.taints),
            gpus_allocatable=None if gpus is None else int(gpus),
            cpus_allocatable=cpus,
            time_slicing_replicas=int(replicas) if replicas.isdecimal() and len(replicas) < 5 else None,
            sharing_strategy=self.labels.get("nvidia.com/gpu.sharing-strategy"),
            mig_strategy=self.labels.get("nvidia.com/mig.strategy"),
            cpu_manager_policy=self.labels.get("cpumanager"),
        )

    def _pool(self) -> str | None:
        return next((self.labels[label] for label in _POOL_LABELS if self.labels.get(label)), None)

    def _role_words(self) -> list[str]:
        words = [value for key, value in self.labels.items() if _ROLE_LABEL.search(key)]
        words += [key.rpartition("/")[2] for key in self.labels if "node-role.kubernetes.io/" in key]
        return words + [taint for taint in self.taints or () if not taint.startswith(SYSTEM_TAINTS)]

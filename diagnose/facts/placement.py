"""Facts about which switches the nodes of a job hang at."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class LeafSwitch(Fact):
    """A switch that nodes hang at directly. Subject: none; the switch stands in `name`."""

    kind: ClassVar[str] = "leaf-switch"
    name: str = required("Name of the switch")
    nodes: int = required("Nodes that hang at it")
    node_names: str = required("They, separated by blanks")
    uplinks: int | None = optional("Links to other switches, where the source shows links")
    oversubscription_ratio: float | None = optional(
        "What its links to hosts carry together over what those to other switches do, where the source shows links"
    )


class JobNodes(Fact):
    """The nodes that a job runs on."""

    kind: ClassVar[str] = "job-nodes"
    few_per_host: ClassVar[bool] = True
    nodes: int = required("Nodes")
    node_names: str = required("They, separated by blanks")


class JobPlacement(Fact):
    """A job's nodes over the leaf switches. A feature of job-nodes and leaf-switch facts."""

    kind: ClassVar[str] = "job-placement"
    few_per_host: ClassVar[bool] = True
    nodes: int = required("Nodes of the job")
    leaves: int = required(
        "Leaf switches, or sets of them where a node hangs at several, that the nodes are spread over"
    )
    leaves_needed: int = required("Fewest that hold so many nodes")
    across_ratio: float = required("Share of pairs of nodes whose traffic leaves its leaf switch")
    across_needed_ratio: float = required("The same for the best placement")
    oversubscription_ratio: float | None = optional("Worst of the leaves that the job uses, where links are known")


class FabricUplinks(Fact):
    """The leaf switch of a fabric with the least capacity upwards. A feature of leaf-switch facts."""

    kind: ClassVar[str] = "fabric-uplinks"
    few_per_host: ClassVar[bool] = True
    leaves: int = required("Leaf switches with links to others")
    worst_ratio: float = required("Highest oversubscription: what hosts can send up over what uplinks carry")
    worst_leaf: str = required("Its switch")
    worst_uplinks: int = required("Links of that switch to others")
    median_ratio: float = required("Median over the leaves")

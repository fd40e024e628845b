"""Pairs of causes that one machine or job can have at once, drawn by a seed."""

from __future__ import annotations

from random import Random

from tests.scenarios.scenario import FAULTS, ImpossibleError, Scenario, scenario

HIDES = (
    # The job never runs, so nothing about its speed can be brought.
    frozenset({"fabric-manager-not-running", "bootstrap-unreachable", "nccl-version-mismatch", "shared-memory-limit",
               "locked-memory-limit", "rdma-peer-unreachable", "collective-mismatch", "data-loader-deadlock",
               "rank-died", "collective-timeout"}),
    # Two reasons for which peer access is not used: the first leaves nothing for the second to slow down.
    frozenset({"p2p-unsupported", "p2p-disabled-by-setting", "p2p-blocked-by-acs", "p2p-blocked-by-iommu",
               "gpus-span-sockets"}),
    # Each decides which network NCCL uses.
    frozenset({"nccl-uses-tcp-sockets", "network-plugin-not-loaded", "wrong-network-interface",
               "gpudirect-rdma-disabled", "nic-not-local-to-gpu"}),
    # One table of ranks, one log: each would need its own.
    frozenset({"batch-per-gpu-too-small", "communication-exceeds-compute", "pipeline-bubble", "rank-load-imbalance",
               "straggler-node", "straggler-gpu", "storage-stalls-ranks"}),
    frozenset({"data-loader-bound", "launch-bound", "communication-not-overlapped"}),
    frozenset({"fabric-path-fault", "straggler-node"}),
    frozenset({"oversubscribed-uplink", "topology-unaware-placement"}),
    # One library compared with another says nothing while something else changes.
    frozenset({"nccl-version-regression", "nccl-version-mismatch", "collective-algorithm-mismatch"}),
    frozenset({"pcie-link-degraded", "interconnect-lanes-insufficient"}),
)  # fmt: skip
"""Sets of which a pair takes one at most."""
_STOPS = HIDES[0]


def can_coexist(first: str, second: str) -> bool:
    """Whether both can show at once."""
    if first == second or any({first, second} <= group for group in HIDES):
        return False
    # What stops the job at its start leaves facts about the machine only.
    stopped = {first, second} & _STOPS
    other = {first, second} - _STOPS
    measured = {"nccl-tests", "train-log", "rank-table", "rank-comm", "scaling", "strong-scaling", "pairs", "traces"}
    needs = {name for cause in other for name in (*FAULTS[cause].all_of, *FAULTS[cause].any_of)}
    return not (stopped and needs & measured)


def drawn_pairs(count: int, seed: int = 0) -> list[Scenario]:
    """So many scenarios of two causes each."""
    rng = Random(seed)
    names = list(FAULTS)
    found: list[Scenario] = []
    while len(found) < count:
        first, second = rng.sample(names, 2)
        if not can_coexist(first, second):
            continue
        try:
            found.append(scenario((first, second), rng.randrange(10**6)))
        except ImpossibleError:
            continue
    return found

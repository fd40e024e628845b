"""What is true of a run beside the injected causes, so that naming it accuses nobody falsely. Each has its reason."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.scenarios.serving.run import Run

FOLLOWS: Mapping[str, Mapping[str, str]] = {
    "thermal-throttling": {"straggler-gpu": "the hot GPU is slower than the others of the host"},
    "power-cap-throttling": {"straggler-gpu": "the limited GPU is slower than the others of the host"},
    "slow-peer-in-parallel-group": {
        "straggler-gpu": "it is the cause in the words of another symptom",
        "thermal-throttling": "heat is what holds the slow GPU down",
    },
    "inference-crosses-numa": {"process-not-bound-to-local-numa": "it is the cause in the words of another symptom"},
    "training-intrudes-inference-pool": {"cpu-oversubscription": "the job that intrudes fills the processors"},
    "training-shares-network-egress": {"network-retransmission": "full buffers drop segments"},
    "shared-network-path": {"network-retransmission": "full buffers of switches drop segments"},
    "prefill-blocks-decode": {"request-queueing": "prompts that have steps to themselves leave others waiting"},
}
"""Cause to what follows from it whatever the numbers."""


def acknowledged(run: Run, causes: tuple[str, ...]) -> dict[str, str]:
    """Causes that may be named beside the injected ones, with the reason."""
    found: dict[str, str] = {}
    for cause in causes:
        found.update(FOLLOWS.get(cause, {}))
    if run.served.preempted:
        found["kv-cache-preemption"] = "requests were preempted"
    waited = np.array([waiting for _, _, waiting, _ in run.served.samples[: int(run.world.seconds)]])
    if (waited >= 3).mean() > 0.1:
        found["request-queueing"] = "three requests or more waited for a tenth of the time"
    return found

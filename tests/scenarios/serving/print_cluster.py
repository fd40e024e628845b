"""What schedulers tell: who runs on the node, and what keeps pools apart."""

from __future__ import annotations

import json
from typing import Any

from tests.scenarios.serving.print_client import stamp
from tests.scenarios.serving.run import Run


def squeue(run: Run) -> str:
    """`squeue`, with a training job on this node and the next where there is one."""
    world = run.world
    node = world.host.name
    lines = ["             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"]
    lines += [f"              7120 inference {world.server.engine:>8s}    alice  R 3-01:22:40      1 {node}"]
    job = world.training
    if job is not None and job.place == "other-node":
        lines += ["              8841     train pretrain      bob  R    5:10:33      2 rack1-n07,rack2-n01"]
    elif job is not None:
        partition = "inference" if world.intrudes else "train"
        lines += [f"              8841 {partition:>9s} pretrain      bob  R    5:10:33      2 {node},rack2-n01"]
    return "\n".join(lines) + "\n"


def switches(run: Run) -> str:
    """`scontrol show topology`: the node and the training job's first one hang at one leaf."""
    node = run.world.host.name
    first = f"{node},rack1-n07" if run.world.training is not None else node
    return (
        f"SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes={first}\n"
        "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=rack2-n01\n"
        f"SwitchName=spine Level=1 LinkSpeed=1 Nodes={first},rack2-n01 Switches=leaf1,leaf2\n"
    )


def pods(run: Run) -> str:
    """`kubectl get pods,nodes -A -o json`."""
    world = run.world
    node = world.host.name
    command = ["vllm", "serve"] if world.server.engine == "vllm" else ["python3", "-m", "sglang.launch_server"]
    items = [_pod("serving", "chat-7d9f", node, command, 1, stamp(run, -90000, "%Y-%m-%dT%H:%M:%SZ"))]
    job = world.training
    if job is not None and job.place != "other-node":
        begun = -9000.0 if job.started_at is None else job.started_at * world.seconds
        items += [_pod("research", "llm-pretrain-worker-0", node, ["torchrun", "pretrain.py"], 2,
                       stamp(run, begun, "%Y-%m-%dT%H:%M:%SZ"))]  # fmt: skip
    pool = "inference" if world.intrudes else "shared"
    items += [_node(node, pool, guarded=False), _node("gpu-other-1", pool, guarded=True)]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1)


def _pod(space: str, name: str, node: str, command: list[str], gpus: int, begun: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": "8"}, "limits": {"nvidia.com/gpu": str(gpus)}}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": space, "labels": {"app": name}},
        "spec": {"nodeName": node, "containers": [
            {"name": "main", "image": "registry.example/app:3", "command": command, "resources": resources}]},
        "status": {"phase": "Running", "qosClass": "Burstable", "startTime": begun},
    }  # fmt: skip


def _node(name: str, pool: str, guarded: bool) -> dict[str, Any]:
    taints = [{"key": "pool", "value": "inference", "effect": "NoSchedule"}] if guarded and pool == "inference" else []
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"pool": pool}},
        "spec": {"taints": taints}, "status": {"allocatable": {"cpu": "96", "nvidia.com/gpu": "4"}},
    }  # fmt: skip

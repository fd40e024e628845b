from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.kubectl_json import KubectlJson, KubectlJsonFile
from collectors.kubectl_text import KubectlDescribeNode, KubectlPods
from collectors.kubernetes_json import object_facts
from collectors.kubernetes_nodes import quantity
from collectors.scan import read_inputs
from diagnose.facts import Fact, Source
from diagnose.facts.sharing import SchedulingNode, Workload
from tests.collectors.helpers import block, damaged, lines, opened

WIDE = """\
NAMESPACE   NAME                     READY   STATUS      RESTARTS     AGE   IP           NODE     NOMINATED NODE
serving     vllm-70b-6b9f-x2x7q      1/1     Running     1 (2d ago)   9d    10.0.3.17    gpu01    <none>
research    llm-pretrain-worker-3    1/1     Running     0            3h    10.0.3.18    gpu01    <none>
research    old-sft                  0/1     Completed   0            3h    10.0.3.19    gpu01    <none>
research    waits                    0/1     Pending     0            3h    <none>       <none>   <none>
"""
DESCRIBED = """\
Name:               gpu01
Roles:              <none>
Labels:             kubernetes.io/hostname=gpu01
                    node-pool=llm-serving
                    nvidia.com/gpu.replicas=4
                    nvidia.com/gpu.sharing-strategy=time-slicing
                    nvidia.com/mig.strategy=none
Annotations:        csi.volume.kubernetes.io/nodeid: {}
Taints:             workload=inference:NoSchedule
                    nvidia.com/gpu=present:NoSchedule
Unschedulable:      false
Capacity:
  cpu:                224
  nvidia.com/gpu:     32
Allocatable:
  cpu:                222
  memory:             2100000Mi
  nvidia.com/gpu:     32
System Info:
  Machine ID:         0123
Non-terminated Pods:          (2 in total)
  Namespace                   Name                   CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
  ---------                   ----                   ------------  ----------  ---------------  -------------  ---
  serving                     vllm-70b-6b9f-x2x7q    16 (7%)       16 (7%)     128Gi (6%)       128Gi (6%)     9d
  research                    llm-pretrain-worker-3  500m (0%)     0 (0%)      1Gi (0%)         0 (0%)         3h
Allocated resources:
  (Total limits may be over 100 percent, i.e., overcommitted.)
"""


def pod(name: str, command: list[str], **more: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "16", "memory": "128Gi"}, "limits": {"cpu": "16", "nvidia.com/gpu": "4"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "apps", "labels": {"app": name}},
        "spec": {
            "nodeName": "gpu01",
            "containers": [{"name": "c", "image": "training.example/x:1", "command": command, "resources": resources}],
            "priority": 1000,
            "priorityClassName": "high",
            **more,
        },
        "status": {"phase": "Running", "qosClass": "Burstable", "startTime": "2026-02-03T04:05:06Z"},
    }


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "gpu01", "labels": {"pool": "online", "cpumanager": "true"}},
    "spec": {"taints": [{"key": "dedicated", "value": "inference", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "222", "nvidia.com/gpu": "8"}},
}
LIST = {"apiVersion": "v1", "items": [pod("engine", ["vllm", "serve"], hostNetwork=True), NODE], "kind": "List"}


def read(content: object) -> list[Fact]:
    return list(object_facts(content, Source(path="x.json")))


def test_a_pod_tells_its_role_by_its_command_and_what_it_asks_for() -> None:
    (one,) = (fact for fact in read(LIST) if isinstance(fact, Workload))
    assert (one.role, one.role_from, one.node, one.job, one.pool) == (
        "inference",
        "command",
        "gpu01",
        "apps/engine",
        "apps",
    )
    assert (one.gpu_count, one.cpu_count, one.cpu_limit, one.memory_bytes) == (4, 16, 16, 128 << 30)
    assert (one.priority, one.priority_class, one.qos, one.host_network) == (1000, "high", "Burstable", True)
    assert (one.start_unix_seconds, one.clock, one.running) == (1770091506.0, "utc", True)


def test_a_container_without_a_limit_leaves_the_pod_without_one() -> None:
    content = pod("engine", ["vllm"])
    content["spec"]["containers"].append({"name": "side", "image": "x", "resources": {}})
    (one,) = read(content)
    assert isinstance(one, Workload)
    assert one.cpu_limit is None
    assert one.cpu_count == 16


def test_a_node_tells_its_pool_and_taints() -> None:
    (one,) = (fact for fact in read(LIST) if isinstance(fact, SchedulingNode))
    assert (one.pool, one.pool_role, one.taints, one.gpus_allocatable) == (
        "online",
        "inference",
        "dedicated=inference:NoSchedule",
        8,
    )


def test_the_taint_of_gpu_nodes_is_no_role() -> None:
    node = {**NODE, "metadata": {"name": "n"}, "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}}
    (one,) = read(node)
    assert isinstance(one, SchedulingNode)
    assert one.pool_role is None
    assert one.taints == "nvidia.com/gpu:NoSchedule"


def test_a_file_and_a_paste_below_its_command_give_the_same(tmp_path: Path) -> None:
    text = json.dumps(LIST, indent=4)
    (tmp_path / "pods.json").write_text(text)
    (tmp_path / "paste.txt").write_text(f"$ kubectl get pods,nodes -o json\n{text}\n$ uptime\n")
    found = [read_inputs([str(tmp_path / name)]) for name in ("pods.json", "paste.txt")]
    first, second = ([fact.values() for fact in one.facts] for one in found)
    assert first == second
    assert {item.kind for one in found for item in one.inputs if item.facts} == {"kubectl-json"}
    assert len(found[0].facts) == 2


def test_the_table_is_read_by_the_places_of_its_titles() -> None:
    found = [fact for fact in KubectlPods.parse(block(WIDE)).facts if isinstance(fact, Workload)]
    assert [(one.job, one.node, one.role, one.running) for one in found] == [
        ("serving/vllm-70b-6b9f-x2x7q", "gpu01", "inference", True),
        ("research/llm-pretrain-worker-3", "gpu01", "training", True),
        ("research/old-sft", "gpu01", "training", False),
    ]
    assert len(opened(KubectlPods, WIDE)) == 1


def test_a_described_node_has_taints_labels_and_pods() -> None:
    assert KubectlDescribeNode.resembles([line.text for line in lines(DESCRIBED)]) >= 0.5
    node, *pods = KubectlDescribeNode.parse(block(DESCRIBED)).facts
    assert isinstance(node, SchedulingNode)
    assert node.taints == "workload=inference:NoSchedule nvidia.com/gpu=present:NoSchedule"
    assert (node.pool, node.pool_role, node.time_slicing_replicas, node.sharing_strategy, node.gpus_allocatable) == (
        "llm-serving",
        "inference",
        4,
        "time-slicing",
        32,
    )
    assert [(one.name, one.role, one.cpu_count, one.cpu_limit) for one in pods if isinstance(one, Workload)] == [
        ("vllm-70b-6b9f-x2x7q", "inference", 16, 16),
        ("llm-pretrain-worker-3", "training", 0.5, None),
    ]


@pytest.mark.parametrize(
    ("text", "value"), [("500m", 0.5), ("64Gi", 64 << 30), ("2k", 2000), (8, 8), ("x", None), (None, None)]
)
def test_quantities(text: object, value: float | None) -> None:
    assert quantity(text) == value


def test_damaged_text_is_read_without_an_error() -> None:
    for broken in damaged(WIDE):
        KubectlPods.parse(block(broken))
    for broken in damaged(DESCRIBED):
        KubectlDescribeNode.parse(block(broken))
    for broken in damaged(json.dumps(LIST, indent=1)):
        KubectlJson.parse(block(broken))
    strange: tuple[object, ...] = (
        1,
        None,
        [],
        [[]],
        {"items": 3},
        {"kind": "Pod", "spec": {"nodeName": 3}},
        {"kind": "Node"},
    )
    for value in strange:
        assert read(value) == []
    assert not KubectlJsonFile.recognises(b'{"apiVersion": "v1", "kind": "Secret"}', "x")

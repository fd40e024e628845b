from __future__ import annotations

import numpy as np
import pytest

from collectors.prometheus.samples import Stream
from collectors.prometheus.subjects import Hosts, address, gpu_subject

KNOWN = [
    Stream({"__name__": "node_uname_info", "instance": "10.0.0.1:9100", "nodename": "gpu01"}, np.zeros(1), np.ones(1))
]


@pytest.mark.parametrize(
    ("labels", "host"),
    [
        ({"Hostname": "gpu07", "instance": "10.0.0.1:9400"}, "gpu07"),
        ({"Hostname": "nvidia-dcgm-exporter-x2x", "node": "gpu08"}, "gpu08"),
        ({"instance": "10.0.0.1:8000"}, "gpu01"),
        ({"instance": "10.0.0.9:8000", "node": "gpu09"}, "gpu09"),
        ({"instance": "gpu10:9100"}, "gpu10"),
        ({}, None),
    ],
)
def test_labels_tell_the_host(labels: dict[str, str], host: str | None) -> None:
    assert Hosts(KNOWN).host_of(labels) == host


@pytest.mark.parametrize(
    ("instance", "name"), [("gpu01:9100", "gpu01"), ("[fd00::1]:9100", "fd00::1"), ("gpu01", "gpu01"), ("", "")]
)
def test_ports_are_no_part_of_a_host(instance: str, name: str) -> None:
    assert address(instance) == name


def test_a_part_of_a_gpu_is_not_the_gpu() -> None:
    assert gpu_subject({"gpu": "0", "GPU_I_ID": "3"}, None) is None
    whole = gpu_subject({"gpu": "0", "UUID": "x"}, "h")
    assert whole is not None
    assert (whole.gpu_index, whole.gpu_uuid) == (0, None)

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.collectors.prometheus.server import Recorded, prometheus

START = datetime(2026, 2, 3, 10, 0, 0, tzinfo=UTC).timestamp()
END = START + 3600
STEP = 15.0
UUIDS = ("GPU-11111111-2222-3333-4444-555555555555", "GPU-11111111-2222-3333-4444-666666666666")


def moments(without: tuple[float, float] | None = None) -> list[float]:
    """Times of scrapes, 2.5 s off the full step, as scrapes are."""
    times = [START + 2.5 + STEP * number for number in range(240)]
    return [at for at in times if without is None or not without[0] <= at - START < without[1]]


def recorded() -> Recorded:
    """An hour of a node with two GPUs and a server, with a gap, restarts, and what belongs to another node."""
    data = Recorded()
    instance = {"instance": "10.0.0.1:9100", "job": "node"}
    data.put("node_uname_info", {**instance, "nodename": "gpu01"}, [(at, 1) for at in moments()])
    data.put("node_uname_info", {"instance": "10.0.0.2:9100", "nodename": "gpu02"}, [(at, 1) for at in moments()])
    for gpu, uuid in enumerate(UUIDS):
        labels = {
            "gpu": str(gpu),
            "UUID": uuid,
            "pci_bus_id": f"00000000:{gpu + 1:02x}:00.0",
            "modelName": "NVIDIA H100 80GB HBM3",
            "Hostname": "gpu01",
            "instance": "10.0.0.1:9400",
        }
        # The exporter was away from minute 20 to minute 30.
        times = moments(without=(1200, 1800))
        data.put("DCGM_FI_DEV_POWER_USAGE", labels, [(at, 300 + gpu + (at - START) / 100) for at in times])
        data.put("DCGM_FI_DEV_SM_CLOCK", labels, [(at, 1980) for at in times])
        data.put("DCGM_FI_DEV_GPU_UTIL", labels, [(at, 50) for at in times])
        capped = [(at, (at - START) * 0.25e9) for at in times]
        data.put("DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS", labels, capped)
        data.put("DCGM_FI_DEV_XID_ERRORS", labels, [(at, 0) for at in times])
    # The counter begins anew at minute 40: the host was started again.
    sent = [(at, (at - START) * 1e6 if at < START + 2400 else (at - START - 2400) * 1e6) for at in moments()]
    data.put("node_network_transmit_bytes_total", {**instance, "device": "eth0"}, sent)
    data.put("node_network_transmit_bytes_total", {**instance, "device": "lo"}, sent)
    data.put("node_network_transmit_bytes_total", {"instance": "10.0.0.2:9100", "device": "eth0"}, sent)
    data.put("node_netstat_Tcp_RetransSegs", instance, [(at, 3 * (at - START)) for at in moments()])
    data.put("node_pressure_cpu_waiting_seconds_total", instance, [(at, 0.1 * (at - START)) for at in moments()])
    for cpu in ("0", "1"):
        for mode, share in (("idle", 0.7), ("user", 0.2), ("iowait", 0.08), ("steal", 0.02)):
            seconds = [(at, share * (at - START)) for at in moments()]
            data.put("node_cpu_seconds_total", {**instance, "cpu": cpu, "mode": mode}, seconds)
    server = {"instance": "10.0.0.1:8000", "model_name": "m"}
    data.put("vllm:num_requests_waiting", server, [(at, 5 + math.sin(at / 60)) for at in moments()])
    # Ten requests a second: in the first half 90 % take up to 0.1 s, later all take between 0.25 s and 0.5 s.
    name = "vllm:time_to_first_token_seconds_bucket"
    for bound, early, late in (("0.1", 0.9, 0.0), ("0.25", 1.0, 0.0), ("0.5", 1.0, 1.0), ("+Inf", 1.0, 1.0)):
        counts = []
        for at in moments():
            before, after = min(at - START, 1800.0), max(0.0, at - START - 1800)
            counts.append((at, round(10 * (early * before + late * after), 3)))
        data.put(name, {**server, "le": bound}, counts)
    return data


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server that holds `recorded`."""
    with prometheus(tmp_path_factory.mktemp("prometheus"), recorded()) as url:
        yield url

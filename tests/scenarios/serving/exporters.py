"""The same run as node-exporter and dcgm-exporter tell it to a Prometheus server that asks once a second."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tests.collectors.prometheus.server import Recorded
from tests.scenarios.serving.run import Run

_CPUS = 4
"""Of the host's CPUs, that many are told; all are alike."""


def exported(run: Run) -> Recorded:
    """Series to load."""
    world, told = run.world, run.told
    host = {"instance": f"{world.host.name}:9100"}
    data = Recorded()
    times = (world.start + 1.0 + np.arange(int(world.seconds))).tolist()

    def gauge(name: str, values: NDArray[np.float64], labels: Mapping[str, str]) -> None:
        data.put(name, labels, list(zip(times, np.round(values, 6).tolist(), strict=True)))

    def counter(name: str, rates: NDArray[np.float64], labels: Mapping[str, str]) -> None:
        gauge(name, np.cumsum(rates), labels)

    gauge("node_uname_info", np.ones(len(times)), {**host, "nodename": world.host.name, "sysname": "Linux"})
    gauge("node_procs_running", told.runnable, host)
    gauge("node_memory_MemAvailable_bytes", told.available, host)
    for name, rates in (
        ("node_pressure_cpu_waiting_seconds_total", told.cpu_pressure),
        ("node_pressure_memory_waiting_seconds_total", told.memory_pressure),
        ("node_pressure_io_waiting_seconds_total", told.io_pressure),
        ("node_vmstat_pgmajfault", told.faults),
        ("node_netstat_Tcp_RetransSegs", told.retransmits),
        ("node_netstat_Tcp_OutSegs", told.segments),
        ("node_intr_total", told.interrupts),
    ):
        counter(name, rates, host)
    for cpu in range(_CPUS):
        for mode, share in (
            ("idle", np.maximum(0.0, 1 - told.busy - told.iowait)), ("iowait", told.iowait), ("user", told.busy),
            ("steal", np.zeros(len(times))),
        ):  # fmt: skip
            counter("node_cpu_seconds_total", share, {**host, "cpu": str(cpu), "mode": mode})
    nic = {**host, "device": world.host.nic}
    counter("node_network_transmit_bytes_total", told.sent, nic)
    counter("node_network_receive_bytes_total", told.received, nic)
    gauge("node_network_up", np.ones(len(times)), nic)
    for row in run.told.gpus[:1]:
        labels = {
            "instance": f"{world.host.name}:9400",
            "Hostname": world.host.name,
            "gpu": str(row.index),
            "UUID": f"GPU-00000000-1111-2222-3333-44444444444{row.index}",
            "modelName": world.gpu.name,
        }
        for name, values in (
            ("DCGM_FI_DEV_GPU_UTIL", np.round(100 * row.use)),
            ("DCGM_FI_DEV_MEM_COPY_UTIL", np.round(100 * row.memory_use)),
            ("DCGM_FI_DEV_POWER_USAGE", row.watts),
            ("DCGM_FI_DEV_GPU_TEMP", np.round(row.celsius)),
            ("DCGM_FI_DEV_SM_CLOCK", row.clock),
        ):
            gauge(name, values, labels)
    return data

"""What tools tell of GPUs: `nvidia-smi` in a loop, dmon, pmon, the topology, a recording of NVML calls."""

from __future__ import annotations

import json

from tests.scenarios.serving.print_client import stamp
from tests.scenarios.serving.run import Run
from tests.scenarios.serving.telemetry import GpuRows

_QUERY = (
    "timestamp, index, name, pstate, temperature.gpu, power.draw [W], enforced.power.limit [W], "
    "power.default_limit [W], clocks.current.sm [MHz], clocks.max.sm [MHz], clocks.current.memory [MHz], "
    "utilization.gpu [%], utilization.memory [%], memory.used [MiB], persistence_mode, "
    "clocks_event_reasons.sw_power_cap, clocks_event_reasons.sw_thermal_slowdown, "
    "clocks_event_reasons.hw_thermal_slowdown"
)


def query_loop(run: Run) -> str:
    """`nvidia-smi --query-gpu=... --format=csv -l 1`."""
    gpu = run.world.gpu
    lines = [_QUERY]
    for second in range(int(run.world.seconds)):
        moment = stamp(run, second + 0.3, "%Y/%m/%d %H:%M:%S.%f")[:-3]
        for row in run.told.gpus:
            state = "P0" if row.clock[second] > 0.3 * gpu.clock_max else "P8"
            lines.append(
                f"{moment}, {row.index}, {gpu.name}, {state}, {row.celsius[second]:.0f}, {row.watts[second]:.2f} W, "
                f"{row.limit:.2f} W, {gpu.power_limit:.2f} W, {row.clock[second]:.0f} MHz, {gpu.clock_max} MHz, "
                f"{row.memory_clock:.0f} MHz, {100 * row.use[second]:.0f} %, {100 * row.memory_use[second]:.0f} %, "
                f"{row.memory_used / 2**20:.0f} MiB, {'Enabled' if run.world.host.persistence else 'Disabled'}, "
                f"{_flag(row.power_limited[second])}, {_flag(row.heat_limited[second])}, Not Active"
            )
    return "\n".join(lines) + "\n"


def _flag(share: float) -> str:
    return "Active" if share > 0.5 else "Not Active"


def dmon(run: Run) -> str:
    """`nvidia-smi dmon -o DT -s pucmt`."""
    titles = (
        "#Date       Time        gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk    fb  rxpci  txpci",
        "#YYYYMMDD   HH:MM:SS    Idx     W     C     C     %     %     %     %   MHz   MHz    MB   MB/s   MB/s",
    )
    lines: list[str] = []
    for second in range(int(run.world.seconds)):
        if second % 20 == 0:
            lines += titles
        moment = stamp(run, second + 0.6, " %Y%m%d   %H:%M:%S")
        for row in run.told.gpus:
            lines.append(
                f"{moment} {row.index:8d} {row.watts[second]:5.0f} {row.celsius[second]:5.0f}     - "
                f"{100 * row.use[second]:5.0f} {100 * row.memory_use[second]:5.0f}     0     0 "
                f"{row.memory_clock:5.0f} {row.clock[second]:5.0f} {row.memory_used / 1e6:5.0f} "
                f"{row.received[second] / 1e6:6.0f} {row.sent[second] / 1e6:6.0f}"
            )
    return "\n".join(lines) + "\n"


def pmon(run: Run) -> str:
    """`nvidia-smi pmon -c 1 -s um`: who holds which GPU."""
    world = run.world
    lines = [
        "# gpu         pid   type     fb     sm    mem    enc    dec    command",
        "# Idx           #    C/G     MB      %      %      %      %    name",
    ]
    server = "VLLM::EngineCore" if world.server.engine == "vllm" else "sglang::scheduler"
    for index in range(world.gpu.group):
        lines.append(f"    {index} {41200 + index:11d}     C  68000     80     60      -      -    {server}")
    job = world.training
    if job is not None and job.place != "other-node":
        first = 0 if job.place == "same-gpu" else world.gpu.group
        for index in range(first, first + (1 if job.place == "same-gpu" else 2)):
            lines.append(f"    {index} {57300 + index:11d}     C   9000     40     30      -      -    pretrain_gpt.py")
    return "\n".join(lines) + "\n"


def topology(run: Run) -> str:
    """`nvidia-smi topo -m` of four GPUs, of which the inference GPU and the job's first are below one switch or not."""
    near = run.world.training is not None and run.world.training.pcie > 0
    close = {frozenset((0, run.world.gpu.group))} if near else set()
    count = max(4, run.world.gpu.group + 2)
    lines = ["\t" + "".join(f"GPU{index}\t" for index in range(count)) + "CPU Affinity\tNUMA Affinity\tGPU NUMA ID"]
    for row in range(count):
        cells = "".join(
            " X \t" if row == column else "PIX\t" if frozenset((row, column)) in close else "NODE\t"
            for column in range(count)
        )
        lines.append(f"GPU{row}\t{cells}0-{run.world.host.cores - 1}\t0\t\tN/A")
    lines += ["", "Legend:", "", "  X    = Self", "  PIX  = Connection traversing at most a single PCIe bridge"]
    return "\n".join(lines) + "\n"


def recorded_nvml(run: Run, row: GpuRows) -> str:
    """A recording of one GPU's NVML calls."""
    rows: list[dict[str, object]] = [{"recording": "nvml", "schema": 1, "index": row.index}]
    for second in range(int(run.world.seconds)):
        head: dict[str, object] = {"sample": second, "t": round(run.world.start + second + 0.2, 3)}
        use = {"gpu": round(100 * row.use[second]), "memory": round(100 * row.memory_use[second])}
        rows += [
            {"call": "nvmlDeviceGetUtilizationRates", **head, "value": use},
            {"call": "nvmlDeviceGetPowerUsage", **head, "value": round(1000 * row.watts[second])},
            {"call": "nvmlDeviceGetTemperature", "args": ["gpu"], **head, "value": round(row.celsius[second])},
            {"call": "nvmlDeviceGetClockInfo", "args": ["sm"], **head, "value": round(row.clock[second])},
        ]
    return "\n".join(json.dumps(item, separators=(",", ":")) for item in rows) + "\n"

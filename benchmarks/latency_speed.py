"""How long latency is analysed, and in how much memory: requests and telemetry of one day and of seven.

    python benchmarks/latency_speed.py --days 1 7

A day holds 8 GPUs with 20 metrics at 1 Hz, and a seventh of 5 million requests; training that fills the network now and
then slows a part of them. Each is made and analysed in a process of its own. The figures are of this machine at this
moment; nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from diagnose.analysis.latency.features import features  # noqa: E402
from diagnose.facts.base import Source, Subject  # noqa: E402
from diagnose.facts.latency import LatencyAssociation  # noqa: E402
from diagnose.facts.metrics import METRICS, Driver  # noqa: E402
from diagnose.facts.series import Clock, Measurement, Requests, Series  # noqa: E402

GPUS = 8
METRICS_OF_A_GPU = 20
REQUESTS_A_DAY = 5_000_000 // 7
DAY_SECONDS = 86_400
BEGIN_SECONDS = 1_760_000_000.0
SOURCES = (Source(path="made up"),)


def measurements(days: int) -> list[Measurement]:
    """Telemetry and requests of so many days."""
    numbers = np.random.default_rng(days)
    seconds = days * DAY_SECONDS
    times = BEGIN_SECONDS + np.arange(seconds, dtype=np.float64)
    # Training exchanges gradients for 30 to 120 seconds at a time.
    switches = np.cumsum(numbers.uniform(30, 120, seconds // 60))
    busy = (np.searchsorted(switches, np.arange(seconds)) % 4 == 0).astype(np.float32)
    names = [name for name, row in METRICS.items() if row.driver is not Driver.LATENCY and name.startswith("gpu_")]
    names += [name for name in METRICS if name.startswith(("cpu_", "memory_", "storage_"))]
    found: list[Measurement] = []
    for gpu in range(GPUS):
        for name in names[:METRICS_OF_A_GPU]:
            subject = Subject(host="node01", gpu_index=gpu)
            values = numbers.standard_normal(seconds, dtype=np.float32)
            found.append(Series(name, subject, times, values, Clock.UTC, SOURCES))
    load = numbers.random(seconds, dtype=np.float32) + busy
    found.append(
        Series("nic_transmit_bytes_per_second", Subject(host="node01", nic="eth0"), times, load, Clock.UTC, SOURCES)
    )
    count = REQUESTS_A_DAY * days
    starts = np.sort(numbers.uniform(0.0, seconds - 30.0, count))
    slow = 1.0 + 0.8 * busy[starts.astype(np.int64)] * numbers.random(count, dtype=np.float32)
    ttft = np.exp(0.3 * numbers.standard_normal(count, dtype=np.float32)) * np.float32(0.2) * slow
    tokens = numbers.integers(10, 400, count).astype(np.float32)
    gaps = np.exp(0.05 * numbers.standard_normal(count, dtype=np.float32)) * np.float32(0.02)
    columns = {
        "start_seconds": BEGIN_SECONDS + starts,
        "ttft_seconds": ttft,
        "end_to_end_seconds": ttft + (tokens - 1) * gaps,
        "output_tokens": tokens,
        "input_tokens": numbers.integers(10, 4000, count).astype(np.float32),
        "queue_seconds": np.float32(0.3) * ttft,
    }
    found.append(Requests(Subject(host="node01"), columns, Clock.UTC, SOURCES))
    return found


def measure(days: int) -> dict[str, float | str]:
    """Make the data, analyse them, and tell time, memory and what was found."""
    made = measurements(days)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    start, cpu = time.perf_counter(), time.process_time()
    facts = features(made, [])
    taken, used = time.perf_counter() - start, time.process_time() - cpu
    associated = [
        f"{fact.driver} with {fact.metric}"
        for fact in facts
        if isinstance(fact, LatencyAssociation) and fact.verdict == "associated"
    ]
    samples = sum(len(item) for item in made)
    return {
        "samples": samples, "seconds": taken, "cpu": used, "facts": len(facts), "data": float(before),
        "peak": float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024), "found": ", ".join(associated),
    }  # fmt: skip


def main() -> None:
    """Measure each number of days in a process of its own, and print."""
    parser = argparse.ArgumentParser(description="Speed of the analysis of latency.")
    parser.add_argument("--days", type=int, nargs="+", default=[1, 7])
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        print(json.dumps(measure(given.days[0])))
        return
    for days in given.days:
        command = [sys.executable, __file__, "--here", "--days", str(days)]
        seen = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        print(
            f"{days} day{'s' if days > 1 else ''}: {seen['samples']:,} values in {seen['seconds']:.1f} s "
            f"({seen['cpu']:.1f} s of processor), {seen['samples'] / seen['seconds']:,.0f} values/s, "
            f"{seen['peak'] / 1e9:.2f} GB peak ({seen['data'] / 1e9:.2f} GB once the data were made), "
            f"{seen['facts']} facts; associated: {seen['found'] or 'nothing'}"
        )


if __name__ == "__main__":
    main()

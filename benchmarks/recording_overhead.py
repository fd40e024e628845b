"""What recording costs: processor time and memory while 8 simulated GPUs are recorded at 1 Hz, beside nvitop.

    python benchmarks/recording_overhead.py --seconds 60

Both read the same stand-in library. nvitop runs its own collector (`ResourceMetricCollector`) in a virtual environment
that is made for the purpose; without a package index that has it, its line says so. The shares are of one processor,
over the whole run with the start of all processes. Memory is what the processes have to themselves (PSS, summed),
at its highest. How long `diagnose check` takes stands last. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_SCENARIO = "hgx-h100"
_CHECKS = 5
_RECORD = """
import sys
from pathlib import Path
from collectors.live.base import Window
from collectors.live.record import Machine, Record
from collectors.live.run import Collection, passive_recorders
from diagnose.simulate.environment import load_scenario
folder, seconds, names = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
found = load_scenario("hgx-h100")
machine = Machine(found.root, found.name, dict(found.environment), found.commands)
window = Window(seconds, 1.0)
Collection(Record(folder, machine, window, "0"), machine, window).run(names or passive_recorders())
"""
_NVITOP = """
import sys, time
from nvitop import Device, ResourceMetricCollector
devices = Device.all()
assert len(devices) == 8, devices
collector = ResourceMetricCollector(devices, interval=1.0)
with collector("recording"):
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        time.sleep(1.0)
        collector.collect()
"""


class Cost(NamedTuple):
    """What a program and all its children took."""

    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int

    def line(self, name: str) -> str:
        """As printed."""
        share = self.cpu_seconds / self.wall_seconds
        memory = f"{self.peak_bytes / 1e6:6.1f} MB at most"
        return f"{name:<34} {share:7.2%} of one processor  {self.cpu_seconds:6.2f} s  {memory}"


def measure(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a program to its end. Raises CalledProcessError where it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    peak = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.25):
            peak = max(peak, sum(_memory(pid) for pid in _family(process.pid)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, errors = process.communicate()
    done.set()
    watcher.join()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=errors)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - begin, cpu, peak)


def _family(pid: int) -> Iterator[int]:
    """A process and all that it started."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text(encoding="ascii").split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))


def _memory(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:"))


def nvitop(folder: Path) -> tuple[str | None, str]:
    """An interpreter that has nvitop, made in a folder, and its version; None and why where it cannot be had."""
    python = folder / "nvitop" / "bin" / "python"
    commands = (
        [sys.executable, "-m", "venv", str(folder / "nvitop")],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "nvitop"],
    )
    for command in commands:
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=300)
        except (subprocess.SubprocessError, OSError) as error:
            return None, f"{Path(command[0]).name} {' '.join(command[2:4])} failed: {type(error).__name__}"
    version = subprocess.run(
        [str(python), "-c", "from importlib.metadata import version; print(version('nvitop'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    return str(python), version.stdout.strip()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to record")
    parser.add_argument("--without-nvitop", action="store_true", help="install nothing")
    options = parser.parse_args()
    from diagnose.simulate.environment import load_scenario

    environment = dict(load_scenario(_SCENARIO).environment)
    here = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    seconds = str(options.seconds)
    print(f"8 simulated GPUs, 1 Hz, {options.seconds:g} s, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, recorders in (("GPUs (nvml-system, nvml-gpu-0..7)", ["nvml-system"]), ("every passive recorder", [])):
            target = folder / name[:4]
            target.mkdir()
            cost = measure([sys.executable, "-c", _RECORD, str(target), seconds, *recorders], here)
            size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
            print(f"{cost.line(name)}  {size / 1e6:5.1f} MB written")
        python, detail = (None, "not wanted") if options.without_nvitop else nvitop(folder)
        if python is None:
            print(f"nvitop: not available ({detail})")
        else:
            print(measure([python, "-c", _NVITOP, seconds], environment).line(f"nvitop {detail}, its collector"))
        command = [sys.executable, "-m", "diagnose.cli.main", "--simulate", _SCENARIO, "check"]
        costs = sorted(measure([*command, "--format=json"], here | {"TMPDIR": temporary}) for _ in range(_CHECKS))
        print(
            f"diagnose check: median {costs[_CHECKS // 2].wall_seconds:.2f} s, longest {costs[-1].wall_seconds:.2f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

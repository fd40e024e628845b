"""How fast files are scanned, and in how much memory: a kernel log with few hits, an NCCL log with a hit in most lines.

    python benchmarks/scan_speed.py --megabytes 200

The logs are made up, written to a temporary folder, and read once by `grep -c` and once by all collectors, each in a
process of its own. The figures are of this machine at this moment; nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_BATCH_LINES = 10_000
_EVENTS = (
    "usb 1-{a}: new high-speed USB device number {b} using xhci_hcd",
    "eth0: renamed from veth{b:07x}",
    "docker0: port {a}(veth{b:07x}) entered blocking state",
    "EXT4-fs (sda{a}): mounted filesystem with ordered data mode. Quota mode: none.",
    'audit: type=1400 audit(1760000000.{b}:{a}): apparmor="ALLOWED" operation="open" profile="snap"',
    "IPv6: ADDRCONF(NETDEV_CHANGE): veth{b:07x}: link becomes ready",
    "systemd[1]: Started Session {b} of user operator.",
)
_SCAN = """
import json, resource, sys, time
from pathlib import Path
start = time.perf_counter()
from collectors.scan import scan_file
loaded, loaded_cpu = time.perf_counter(), time.process_time()
result = scan_file(Path(sys.argv[1]), "log")
print(json.dumps({
    "import": loaded - start,
    "scan": time.perf_counter() - loaded,
    "cpu": time.process_time() - loaded_cpu,
    "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "facts": len(result.facts),
    "reports": [f"{report.kind} {report.status}" for report in result.reports],
}))
"""


def kernel_log(random_numbers: random.Random) -> Iterator[str]:
    """Syslog lines of a busy host; an Xid about every 50,000 lines."""
    number = 0
    while True:
        number += 1
        clock = f"{number // 432_000 % 24:02d}:{number // 7200 % 60:02d}:{number // 120 % 60:02d}"
        head = f"Oct {1 + number // 10_368_000:2d} {clock} gpu-a01 kernel: [{number / 120:13.6f}] "
        if random_numbers.random() < 2e-5:
            yield head + "NVRM: Xid (PCI:0000:9b:00): 31, pid=4711, name=python3, Ch 00000008, intr 10000000. MMU Fault"
        else:
            a, b = random_numbers.randint(1, 9), random_numbers.randint(1, 99_999)
            yield head + random_numbers.choice(_EVENTS).format(a=a, b=b)


def nccl_log(random_numbers: random.Random) -> Iterator[str]:
    """Initialisation lines of many ranks, over and over; one line in ten belongs to the training itself."""
    while True:
        host, local = random_numbers.randint(1, 16), random_numbers.randint(0, 7)
        rank, channel = (host - 1) * 8 + local, random_numbers.randint(0, 15)
        head = f"gpu-a{host:02d}:{20_000 + rank}:{21_000 + rank} [{local}] NCCL INFO "
        turn = random_numbers.randint(0, 9)
        if turn == 0:
            yield f"step {channel} of rank {rank}: loss {random_numbers.random():.4f}, waiting for the next batch"
        elif turn < 6:
            peer = (rank + 1) % 128
            how = "NET/IB/0/GDRDMA" if local == 7 else "P2P/IPC"
            yield f"{head}Channel {channel:02d}/0 : {rank}[{local}] -> {peer}[{peer % 8}] via {how}"
        elif turn < 8:
            yield f"{head}Trees [0] {rank + 1}/-1/-1->{rank}->{rank - 1} [1] {rank + 1}/-1/-1->{rank}->{rank - 1}"
        else:
            ids = f"cudaDev {local} busId {local + 0x1A}000"
            yield f"{head}comm 0x{rank:012x} rank {rank} nranks 128 {ids} - Init COMPLETE"


def write(path: Path, lines: Iterator[str], size: int) -> None:
    """Fill a file with lines up to a size in bytes."""
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            file.write("\n".join(next(lines) for _ in range(_BATCH_LINES)) + "\n")


def grep(path: Path, word: str) -> str:
    """Time of `grep -c` on the file."""
    start = time.perf_counter()
    found = subprocess.run(["grep", "-c", word, str(path)], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    return f"grep -c {word!r}: {path.stat().st_size / 1e6 / seconds:,.0f} MB/s, {int(found.stdout):,} lines"


def scan(path: Path) -> str:
    """Time and memory of a scan with all collectors in a fresh process."""
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", _SCAN, str(path)], capture_output=True, text=True, check=True, cwd=root
    )
    seen = json.loads(done.stdout)
    megabytes = path.stat().st_size / 1e6
    return (
        f"scan: {megabytes / seen['scan']:,.0f} MB/s ({megabytes / seen['cpu']:,.0f} MB per processor second), "
        f"{seen['rss'] / 1e6:,.0f} MB peak memory, "
        f"{seen['facts']} facts, {', '.join(seen['reports'])} (imports took {seen['import']:.2f} s)"
    )


def main() -> None:
    """Make the logs, read them, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=200, help="size of each log (default: 200)")
    size = parser.parse_args().megabytes * 1_000_000
    logs: tuple[tuple[str, str, Callable[[random.Random], Iterator[str]]], ...] = (
        ("kernel log", "Xid", kernel_log),
        ("NCCL log", "NCCL INFO", nccl_log),
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, word, make in logs:
            path = Path(folder) / name.replace(" ", "-")
            write(path, make(random.Random(1)), size)
            print(f"{name}, {path.stat().st_size / 1e6:,.0f} MB")
            print(f"  {grep(path, word)}")
            print(f"  {scan(path)}")
            path.unlink()


if __name__ == "__main__":
    main()

"""Breakdown of profiler traces beside HolisticTraceAnalysis: shares, overlap, time and peak memory in one run.

    python benchmarks/trace_breakdown.py --peer-python hta/bin/python TRACE...
    python benchmarks/trace_breakdown.py --make-peer

Without traces it takes those of the corpus, where it is present, and made-up ones: one trace, and the eight ranks of a
job. HolisticTraceAnalysis runs in an interpreter of its own, which is named, or made in a temporary folder; without one
ours stands alone. Each line is a process of its own, imports included; memory is its peak. Last comes one large
made-up trace. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.synthetic_trace import Job, write_job, write_large  # noqa: E402

_LIMIT_SECONDS = 900
_PEER = "HolisticTraceAnalysis==0.5.0"
_OURS = """
import json, os, resource, sys, time
start = time.perf_counter()
from collectors.scan import read_inputs
from diagnose.analysis import series_features
readings = read_inputs(sys.argv[1:])
read = time.perf_counter() - start
facts = series_features(readings.series, readings.facts)
rows = [
    {"trace": fact.sources[0].path, "window": fact.window_seconds, "idle": fact.idle_ratio,
     "compute": fact.compute_ratio, "overlap": fact.overlap_ratio}
    for fact in facts if fact.kind == "trace-summary"
]
print(json.dumps({
    "rows": rows, "seconds": time.perf_counter() - start, "cpu": sum(os.times()[:4]), "read": read,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "inputs": [f"{item.status}" + (f": {item.detail}" if item.detail else "") for item in readings.inputs],
}))
"""
_THEIRS = """
import json, logging, os, resource, sys, time, warnings
logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")
start = time.perf_counter()
from hta.trace_analysis import TraceAnalysis
files = dict(enumerate(sys.argv[1:]))
analysis = TraceAnalysis(trace_files=files, trace_dir="", include_last_profiler_step=True)
times = analysis.get_temporal_breakdown(visualize=False).to_dict("records")
overlaps = analysis.get_comm_comp_overlap(visualize=False).set_index("rank")["comp_comm_overlap_pctg"]
rows = [
    {"trace": files[row["rank"]], "window": row["kernel_time(us)"] * 1e-6,
     "idle": row["idle_time(us)"] / row["kernel_time(us)"], "compute": row["compute_time(us)"] / row["kernel_time(us)"],
     "overlap": None if overlaps[row["rank"]] != overlaps[row["rank"]] else overlaps[row["rank"]] / 100}
    for row in times
]
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print("\\n" + json.dumps({
    "rows": rows, "seconds": time.perf_counter() - start, "cpu": sum(os.times()[:4]),
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "largest_child": children,
}))
"""


class Group(NamedTuple):
    """Traces that are read together."""

    title: str
    traces: list[Path]


def run(python: str, program: str, traces: Sequence[Path]) -> dict[str, Any] | str:
    """What a program prints of the traces; a sentence where it fails."""
    command = [python, "-c", program, *map(str, traces)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"is stopped after {_LIMIT_SECONDS:,} s"
    if done.returncode:
        return f"fails: {(done.stderr.strip().splitlines() or ['without a word'])[-1][:160]}"
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def table(ours: dict[str, Any] | str, theirs: dict[str, Any] | str | None) -> Iterator[str]:
    """One line a trace and program, then what each took."""
    programs = (("ours", ours), ("HTA", theirs))
    yield f"  {'trace':<44} {'':<5} {'window s':>10} {'idle':>8} {'compute':>8} {'overlap':>8}"
    rows = [
        (Path(row["trace"]).name, name, row)
        for name, found in programs
        if isinstance(found, dict)
        for row in found["rows"]
    ]
    for trace, name, row in sorted(rows, key=lambda item: item[0]):
        overlap = "-" if row["overlap"] is None else f"{row['overlap']:.2%}"
        cells = f"{row['window']:>10.6f} {row['idle']:>8.2%} {row['compute']:>8.2%} {overlap:>8}"
        yield f"  {trace[:44]:<44} {name:<5} {cells}"
    for name, found in programs:
        if isinstance(found, str):
            yield f"  {name} {found}"
        elif found is not None:
            child = (
                f", largest child process {found['largest_child'] / 1e6:,.0f} MB" if "largest_child" in found else ""
            )
            cpu = f"{found['seconds']:.2f} s, {found['cpu']:.2f} s of processors"
            yield f"  {name}: {cpu}, {found['peak'] / 1e6:,.0f} MB peak{child}"


def corpus_groups(corpus: Path, folder: Path) -> Iterator[Group]:
    """Traces from the field, each alone, and the ranks of an archive together."""
    traces = sorted((corpus / "files" / "pytorch-trace").glob("*.json.gz"))
    yield from (Group(path.name, [path]) for path in traces)
    for archive in sorted((corpus / "files" / "pytorch-trace").glob("*.tar.gz")):
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        ranks = sorted(folder.rglob("*.json"), key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])
        yield Group(f"{archive.name}, {len(ranks)} ranks", ranks)


def made_up_groups(folder: Path) -> Iterator[Group]:
    """One trace, and a job of eight ranks with one that is slower and a clock of its own on each."""
    yield Group("made up, one rank", write_job(Job(steps=20, kernels=1000, kernel_us=60.0), folder / "one"))
    offsets = {rank: 1e6 * rank for rank in range(8)}
    job = Job(ranks=8, steps=10, kernels=1000, kernel_us=60.0, slower={5: 1.1}, clock_offset_us=offsets)
    yield Group("made up, eight ranks, rank 5 slower", write_job(job, folder / "eight"))


def make_peer(folder: Path) -> str | None:
    """An interpreter with HolisticTraceAnalysis; None where it cannot be installed."""
    python = folder / "hta" / "bin" / "python"
    for command in (
        [sys.executable, "-m", "venv", str(folder / "hta")],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", _PEER],
    ):
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=600)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"HolisticTraceAnalysis could not be installed ({type(error).__name__})")
            return None
    return str(python)


def main() -> int:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "traces", nargs="*", type=Path, help="traces, each read alone (default: corpus and made-up ones)"
    )
    parser.add_argument(
        "--peer-python",
        default=os.environ.get("DIAGNOSE_HTA_PYTHON"),
        help="interpreter that has HolisticTraceAnalysis (default: $DIAGNOSE_HTA_PYTHON)",
    )
    parser.add_argument("--make-peer", action="store_true", help="install it into a temporary folder")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the large trace, 0 for none (default: 1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = options.peer_python or (make_peer(folder) if options.make_peer else None)
        if peer is None:
            print("HolisticTraceAnalysis is not at hand (--peer-python, --make-peer): ours alone")
        groups = [Group(path.name, [path]) for path in options.traces]
        if not groups:
            corpus = Path(os.environ.get("DIAGNOSE_CORPUS", ROOT.parent / "shared" / "corpus"))
            groups = [*corpus_groups(corpus, folder / "ranks"), *made_up_groups(folder)]
        for group in groups:
            print(group.title)
            ours = run(sys.executable, _OURS, group.traces)
            print("\n".join(table(ours, run(peer, _THEIRS, group.traces) if peer else None)), flush=True)
        if options.gigabytes and not options.traces:
            _large(folder / "large.json", options.gigabytes, peer)
    return 0


def _large(path: Path, gigabytes: float, peer: str | None) -> None:
    count = write_large(path, int(gigabytes * 1e9))
    print(f"made up, one plain file of {path.stat().st_size / 1e9:.2f} GB, {count:,} events")
    ours = run(sys.executable, _OURS, [path])
    print("\n".join(table(ours, run(peer, _THEIRS, [path]) if peer else None)))
    if isinstance(ours, dict):
        print(f"  ours: {path.stat().st_size / 1e6 / ours['read']:,.0f} MB/s, {'; '.join(ours['inputs'])}")


if __name__ == "__main__":
    sys.exit(main())

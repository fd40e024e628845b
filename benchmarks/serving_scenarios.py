"""Prints how the diagnosis does on simulated serving beside training, with causes of jitter and without.

python benchmarks/serving_scenarios.py [--seeds 3] [--pairs 30] [--healthy 50] [--misses] [--write]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.accuracy import calibration_table  # noqa: E402
from benchmarks.accuracy_page import write_section  # noqa: E402
from benchmarks.outcome_tables import healthy_lines, pair_lines, single_table  # noqa: E402
from diagnose.engine.session import SessionRunner  # noqa: E402
from diagnose.knowledge.loader import load_knowledge  # noqa: E402
from tests.scenarios.outcome import Outcome  # noqa: E402
from tests.scenarios.serving.bystanders import BYSTANDERS  # noqa: E402
from tests.scenarios.serving.evaluate import evaluate  # noqa: E402
from tests.scenarios.serving.faults import FAULTS  # noqa: E402
from tests.scenarios.serving.pairs import drawn_pairs  # noqa: E402
from tests.scenarios.serving.scenario import ServingScenario, scenario  # noqa: E402

COMMAND = "python benchmarks/serving_scenarios.py"
ABOUT = """\
A model of an inference server (`tests/scenarios/serving/`: continuous batching, prefill, KV cache, CUDA graphs, clocks,
host time) serves requests for ten minutes or longer while a training job, other processes and the network load what
it shares with them. Latencies and telemetry follow from one state and are written as the client's table, the server's
log and metrics, `nvidia-smi`, `sar` or a recording, and the scheduler's listing. `accused` counts runs in which a cause
of severity warning or above reaches 50% though it was not injected and does not follow from what was
(`tests/scenarios/serving/truths.py` has the list, with reasons). Healthy runs have loads of 25% to 70% of capacity,
steady, in bursts or over a day's wave, most beside a training job. A bystander is something innocent that rises and
falls with the load or beside it. The model shows whether the analysis tells causes apart that act as somebody thinks
they do; the field has more at once."""


def by_bystander(outcomes: Iterable[Outcome[ServingScenario]]) -> str:
    """Runs of each bystander, and those in which anything was accused."""
    lines = [f"{'bystander':<34} {'n':>3} {'accused':>8}"]
    found: dict[str, list[Outcome[ServingScenario]]] = {}
    for item in outcomes:
        found.setdefault(item.scenario.bystander or "", []).append(item)
    for name, items in found.items():
        lines.append(f"{name:<34} {len(items):>3} {sum(bool(item.accused) for item in items):>8}")
    return "\n".join(lines)


def misses(outcomes: Iterable[Outcome[ServingScenario]]) -> str:
    """What went wrong where, to look into."""
    lines = []
    for item in outcomes:
        if any((item.place(cause) or 99) > 3 for cause in item.scenario.causes) or item.accused:
            listed = ", ".join(f"{name} {probability:.2f}" for name, probability, _ in item.ranked[:4])
            name = "+".join(item.scenario.causes) or item.scenario.bystander or "healthy"
            lines.append(f"{name} [{item.scenario.world.seed}]: {listed or 'nothing'}")
    return "\n".join(lines)


def main() -> int:
    """Run, print, and with --write put the table into docs/accuracy.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="runs for each cause and each bystander")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--healthy", type=int, default=50)
    parser.add_argument("--misses", action="store_true", help="list what went wrong")
    parser.add_argument("--write", action="store_true", help="write the table into docs/accuracy.md")
    options = parser.parse_args()
    runner = SessionRunner(load_knowledge())
    start, spent = time.perf_counter(), time.process_time()
    single = [evaluate(runner, scenario((cause,), seed)) for cause in FAULTS for seed in range(options.seeds)]
    paired = [evaluate(runner, item) for item in drawn_pairs(options.pairs)]
    beside = [evaluate(runner, scenario((), seed, name)) for name in BYSTANDERS for seed in range(options.seeds)]
    healthy = [evaluate(runner, scenario((), seed)) for seed in range(options.healthy)]
    everything = [*single, *paired, *beside, *healthy]
    calibration = calibration_table(item.as_case() for item in everything)
    table = "\n\n".join(
        [single_table(single), pair_lines(paired), by_bystander(beside), healthy_lines(healthy, "healthy runs"),
         calibration]
    )  # fmt: skip
    print(table)
    passed, used = time.perf_counter() - start, time.process_time() - spent
    print(f"\n{len(everything)} runs in {passed:.0f} s, {used:.0f} s of one core")
    if options.misses:
        print("\n" + misses(everything))
    if options.write:
        write_section("serving-scenarios", "Simulated serving beside training", COMMAND, ABOUT, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())

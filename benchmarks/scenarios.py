"""Prints how the diagnosis does on generated machines and jobs with injected causes.

python benchmarks/scenarios.py [--seeds 8] [--pairs 100] [--healthy 100] [--misses] [--write]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.accuracy import calibration_table  # noqa: E402
from benchmarks.accuracy_page import write_section  # noqa: E402
from diagnose.engine.session import SessionRunner  # noqa: E402
from diagnose.knowledge.loader import load_knowledge  # noqa: E402
from tests.scenarios.evaluate import Outcome, evaluate  # noqa: E402
from tests.scenarios.pairs import drawn_pairs  # noqa: E402
from tests.scenarios.scenario import FAULTS, scenario  # noqa: E402

COMMAND = "python benchmarks/scenarios.py"
ABOUT = """\
A generator (`tests/scenarios/`) draws machines and jobs from a seed, changes them as a fault of the hardware, the
network or the job would, and writes what tools print there, with other files that come along and with noise. The
machines are not those of the rules' examples. That shows whether rules and formats fit the physics of faults that
somebody thought of; it does not show how often they are right in the field, where more goes wrong at once. `first` and
`in 3` count where the injected cause stands in the whole list, in which truths about how a machine is built (bridges
between some GPUs only, no peer access) may stand before it. `accused` counts scenarios in which a cause of severity
warning or above reaches 50% though it was not injected, is not how the machine is built and does not follow from what
was injected (`tests/scenarios/truths.py` has the list, with reasons). A pair takes two causes that one machine or job
can have at once. In the table of calibration what holds beside the injected causes counts as true."""


def single_table(outcomes: Iterable[Outcome]) -> str:
    """One line for each cause, then the sums."""
    by_cause: dict[str, list[Outcome]] = defaultdict(list)
    for item in outcomes:
        by_cause[item.scenario.causes[0]].append(item)
    lines = [f"{'cause':<34} {'n':>3} {'first':>6} {'in 3':>5} {'median p':>9} {'accused':>8}"]
    sums = [0, 0, 0, 0]
    for cause, items in by_cause.items():
        places = [item.place(cause) for item in items]
        row = [len(items), places.count(1), sum(place is not None and place <= 3 for place in places)]
        accused = sum(bool(item.accused) for item in items)
        middle = median(item.probability(cause) for item in items)
        lines.append(f"{cause:<34} {row[0]:>3} {row[1]:>6} {row[2]:>5} {middle:>9.2f} {accused:>8}")
        sums = [total + part for total, part in zip(sums, [*row, accused], strict=True)]
    lines.append(f"{'all':<34} {sums[0]:>3} {sums[1]:>6} {sums[2]:>5} {'':>9} {sums[3]:>8}")
    return "\n".join(lines)


def pair_lines(outcomes: Sequence[Outcome]) -> str:
    """How many pairs are found whole, in part, and not at all."""
    whole = [item.worst_place for item in outcomes]
    one = [min((item.place(cause) or 99) for cause in item.scenario.causes) for item in outcomes]
    return "\n".join(
        [
            f"pairs of causes:                 {len(outcomes)}",
            f"both within the first three:     {sum(place is not None and place <= 3 for place in whole)}",
            f"both within the first four:      {sum(place is not None and place <= 4 for place in whole)}",
            f"one of them first:               {one.count(1)}",
            f"something else accused:          {sum(bool(item.accused) for item in outcomes)}",
        ]
    )


def healthy_lines(outcomes: Sequence[Outcome]) -> str:
    """How many sound machines are left in peace."""
    return "\n".join(
        [
            f"healthy machines and jobs:       {len(outcomes)}",
            f"accused:                         {sum(bool(item.accused) for item in outcomes)}",
            f"with an empty list:              {sum(not item.ranked for item in outcomes)}",
        ]
    )


def misses(outcomes: Iterable[Outcome]) -> str:
    """What went wrong where, to look into."""
    lines = []
    for item in outcomes:
        bad = any((item.place(cause) or 99) > 3 for cause in item.scenario.causes)
        if bad or item.accused:
            listed = ", ".join(f"{name} {probability:.2f}" for name, probability, _ in item.ranked[:4])
            node = item.scenario.world.suspect
            lines.append(
                f"{'+'.join(item.scenario.causes) or 'healthy'} [{len(item.scenario.world.nodes)} x "
                f"{len(node.gpus)} {node.gpu_model.name}]: {listed or 'nothing'} from {' '.join(item.scenario.brought)}"
            )
    return "\n".join(lines)


def main() -> int:
    """Run, print, and with --write put the table into docs/accuracy.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8, help="scenarios for each cause")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--healthy", type=int, default=100)
    parser.add_argument("--misses", action="store_true", help="list what went wrong")
    parser.add_argument("--write", action="store_true", help="write the table into docs/accuracy.md")
    options = parser.parse_args()
    runner = SessionRunner(load_knowledge())
    start = time.perf_counter()
    single = [evaluate(runner, scenario((cause,), seed)) for cause in FAULTS for seed in range(options.seeds)]
    paired = [evaluate(runner, item) for item in drawn_pairs(options.pairs)]
    healthy = [evaluate(runner, scenario((), seed)) for seed in range(options.healthy)]
    everything = [*single, *paired, *healthy]
    calibration = calibration_table(item.as_case() for item in everything)
    table = "\n\n".join([single_table(single), pair_lines(paired), healthy_lines(healthy), calibration])
    print(table)
    print(f"\n{len(everything)} scenarios in {time.perf_counter() - start:.1f} s")
    if options.misses:
        print("\n" + misses(everything))
    if options.write:
        write_section("scenarios", "Generated scenarios", COMMAND, ABOUT, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())

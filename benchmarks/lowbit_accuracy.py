"""Prints how the diagnosis does on small quantised models with injected faults.

python benchmarks/lowbit_accuracy.py [--seeds 1] [--clean 50] [--misses] [--write]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.accuracy import calibration_table  # noqa: E402
from benchmarks.accuracy_page import write_section  # noqa: E402
from diagnose.engine.session import SessionRunner  # noqa: E402
from diagnose.knowledge.loader import load_knowledge  # noqa: E402
from tests.scenarios.lowbit.scenario import NOISE, SEVERITIES, LowBitOutcome, clean, evaluate, faulty  # noqa: E402

COMMAND = "python benchmarks/lowbit_accuracy.py"
ABOUT = """\
A small decoder with random weights (three shapes, `tests/scenarios/lowbit/`) is run in high precision and in a low-bit
format, with a fault at three severities: of weights it concerns one matrix, one projection of all layers, or all of
them. Checkpoints, recordings and texts are written in their true formats, compared as `diagnose lowbit compare` does,
and diagnosed. `first` and `in 3` count where the injected cause stands; `accused` counts scenarios in which another
cause of severity warning or above reaches 50%. Clean models are of every format, with configs, logs and scores."""


def fault_table(outcomes: Sequence[LowBitOutcome]) -> str:
    """One line for each cause and way, then the sums, then hits by severity."""
    rows: dict[tuple[str, str], list[LowBitOutcome]] = defaultdict(list)
    for item in outcomes:
        rows[item.scenario.cause or "", f"{item.scenario.way}, {item.scenario.scheme}"].append(item)
    lines = [f"{'cause':<30} {'way':<24} {'n':>3} {'first':>6} {'in 3':>5} {'median p':>9} {'accused':>8}"]
    for (cause, way), items in [*rows.items(), (("all", ""), list(outcomes))]:
        places = [item.place() for item in items]
        lines.append(
            f"{cause:<30} {way:<24} {len(items):>3} {places.count(1):>6} "
            f"{sum(place is not None and place <= 3 for place in places):>5} "
            f"{median(item.probability() for item in items):>9.2f} {sum(bool(item.accused) for item in items):>8}"
        )
    for degree, name in enumerate(SEVERITIES):
        found = [item for item in outcomes if item.scenario.severity == degree]
        lines.append(f"{name + ' faults first:':<30} {sum(item.place() == 1 for item in found)} of {len(found)}")
    return "\n".join(lines)


def clean_lines(outcomes: Sequence[LowBitOutcome]) -> str:
    """How many sound models are left in peace."""
    noise = sum(item.ranked[:1] != () and item.ranked[0][0] == NOISE for item in outcomes)
    return "\n".join(
        [
            f"clean models:                            {len(outcomes)}",
            f"accused:                                 {sum(bool(item.accused) for item in outcomes)}",
            f"with the format's own noise in the lead: {noise}",
        ]
    )


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--clean", type=int, default=50)
    parser.add_argument("--misses", action="store_true", help="list what was not found, and what was accused")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/accuracy.md")
    options = parser.parse_args()
    runner = SessionRunner(load_knowledge())
    start = time.perf_counter()
    faults = [evaluate(runner, scenario) for scenario in faulty(options.seeds)]
    sound = [evaluate(runner, scenario) for scenario in clean(options.clean)]
    table = "\n\n".join(
        [fault_table(faults), clean_lines(sound), calibration_table([item.as_case() for item in (*faults, *sound)])]
    )
    print(table)
    if options.misses:
        for item in (*faults, *sound):
            if (item.scenario.cause and item.place() != 1) or item.accused:
                shown = ", ".join(f"{cause} {value:.2f}" for cause, value, _ in item.ranked[:3])
                print(f"  {item.scenario.name}: {shown or 'nothing'}")
    if options.write:
        write_section("lowbit", "Low-bit models with injected faults", COMMAND, ABOUT, table)
    print(f"\n{len(faults) + len(sound)} scenarios in {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

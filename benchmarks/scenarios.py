"""Prints how the diagnosis does on generated machines and jobs with injected causes.

python benchmarks/scenarios.py [--seeds 8] [--pairs 100] [--healthy 100] [--misses] [--write]
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
from tests.scenarios.evaluate import evaluate  # noqa: E402
from tests.scenarios.outcome import Outcome  # noqa: E402
from tests.scenarios.pairs import drawn_pairs  # noqa: E402
from tests.scenarios.scenario import FAULTS, Scenario, scenario  # noqa: E402

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


def misses(outcomes: Iterable[Outcome[Scenario]]) -> str:
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

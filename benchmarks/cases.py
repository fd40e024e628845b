"""Prints hits, false alarms and calibration on the labelled cases beside the checkout.

python benchmarks/cases.py [CORPUS] [--write]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.accuracy import calibration_table, case_table, run_cases  # noqa: E402
from benchmarks.accuracy_page import write_section  # noqa: E402
from diagnose.engine.session import SessionRunner  # noqa: E402
from diagnose.knowledge.loader import load_knowledge  # noqa: E402

COMMAND = "python benchmarks/cases.py"
ABOUT = """\
Files that operators saved, as they were, with the cause that was found in the end. They lie beside the checkout and are
no part of it. A healthy case is quiet when no cause of severity warning or above that its label does not accept reaches
50%."""


def main() -> int:
    """Run, print, and with --write put the tables into docs/accuracy.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="?", type=Path, default=ROOT.parent / "shared" / "corpus")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/accuracy.md")
    options = parser.parse_args()
    if not options.corpus.is_dir():
        print(f"no corpus of labelled cases at {options.corpus}: nothing to measure")
        return 0
    runner = SessionRunner(load_knowledge())
    start = time.perf_counter()
    results = run_cases(runner, options.corpus)
    table = f"{case_table(results)}\n\n{calibration_table(results)}"
    print(table)
    print(f"\n{len(results)} cases in {time.perf_counter() - start:.1f} s")
    if options.write:
        write_section("cases", "Cases from the field", COMMAND, ABOUT, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())

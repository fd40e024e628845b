"""Prints hits, false alarms and calibration on the labelled cases beside the checkout.

python benchmarks/cases.py [CORPUS]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.accuracy import calibration_table, case_table, run_cases  # noqa: E402
from diagnose.engine.session import SessionRunner  # noqa: E402
from diagnose.knowledge.loader import load_knowledge  # noqa: E402


def main() -> int:
    """Run and print."""
    corpus = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "corpus"
    if not corpus.is_dir():
        print(f"no corpus of labelled cases at {corpus}: nothing to measure")
        return 0
    runner = SessionRunner(load_knowledge())
    start = time.perf_counter()
    results = run_cases(runner, corpus)
    print(case_table(results))
    print()
    print(calibration_table(results))
    print(f"\n{len(results)} cases in {time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How fast rules are matched, next to trying every combination of facts, on the rules that come with the project.

    python benchmarks/engine_speed.py --facts 100 500

The facts are those of the rules' own examples, spread over hosts with 8 GPUs each. Both sides match the same rules
against the same facts, and the benchmark fails when their matches differ. The figures are of this machine at this
moment.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from diagnose.engine import Engine  # noqa: E402
from diagnose.facts import Fact  # noqa: E402
from diagnose.knowledge.base import KnowledgeBase  # noqa: E402
from diagnose.knowledge.consistency import example_fact  # noqa: E402
from diagnose.knowledge.loader import load_knowledge  # noqa: E402
from tests.engine.oracle import oracle  # noqa: E402

GPUS_PER_HOST = 8
FACTS_PER_HOST = 100
REPEATS = 5


def example_facts(knowledge: KnowledgeBase, number: int) -> list[Fact]:
    """This many facts from the examples, over and over, each time for the next GPU, and host by host."""
    written = [
        example_fact(flat, knowledge.vocabulary)
        for known in knowledge.causes.values()
        for example in known.examples
        for flat in example.facts
    ]
    return [_moved(fact, place) for place, fact in enumerate(islice(cycle(written), number))]


def _moved(fact: Fact, place: int) -> Fact:
    changes: dict[str, object] = {"host": f"node{place // FACTS_PER_HOST:02}"}
    if fact.subject.gpu_index is not None:
        changes["gpu_index"] = place % GPUS_PER_HOST
    return fact.model_copy(update={"subject": fact.subject.model_copy(update=changes)})


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The best of some runs, as others only have something else on the machine in them."""

    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return min(once() for _ in range(repeats))


def report(knowledge: KnowledgeBase, facts: Sequence[Fact]) -> Iterator[str]:
    """The lines to print."""
    rules = [*knowledge.host_rules, *knowledge.job_rules]
    construction = seconds(lambda: Engine(rules, knowledge.vocabulary))
    engine = Engine(rules, knowledge.vocabulary)
    found = engine.run(facts)
    matches = sum(map(len, found.values()))
    run = seconds(lambda: engine.run(facts))
    yield f"{len(rules)} rules, {len(facts)} facts of {len({fact.kind for fact in facts})} kinds, {matches} matches"
    yield f"construction   {construction * 1000:9.1f} ms"
    yield _line("engine", run, len(facts), matches)
    tried = {rule.id: oracle(rule, facts) for rule in rules}
    slow = seconds(lambda: [oracle(rule, facts) for rule in rules], repeats=1)
    yield _line("trying all", slow, len(facts), matches)
    differing = [name for name, all_matches in tried.items() if len(all_matches) != len(found[name])]
    if differing:
        raise SystemExit(f"the engine and trying all differ on {', '.join(differing)}")


def _line(label: str, taken: float, facts: int, matches: int) -> str:
    return f"{label:<14} {taken * 1000:9.1f} ms   {facts / taken:10,.0f} facts/s   {matches / taken:10,.0f} matches/s"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Speed of the engine.")
    parser.add_argument("--facts", type=int, nargs="+", default=[100, 500], help="numbers of facts")
    parser.add_argument("--rules", type=Path, help="folder of rules; by default those of the project")
    given = parser.parse_args()
    knowledge = load_knowledge(given.rules)
    for number in given.facts:
        print(*report(knowledge, example_facts(knowledge, number)), sep="\n", end="\n\n")


if __name__ == "__main__":
    main()

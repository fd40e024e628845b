"""Where a device's interrupts are served, from the recorded tree of PCI devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from collectors.recorded_tree import Entry, RecordedTree, ratio, whole
from diagnose.facts import Fact, Subject
from diagnose.facts.cpu_lists import format_cpu_list, parse_cpu_list
from diagnose.facts.tuning import InterruptPlacement

_COUNTS = "proc/interrupts"


def interrupts(tree: RecordedTree, device: str, subject: Subject) -> Iterator[Fact]:
    """One fact for a device that has interrupts. Masked and unused vectors count as the rest does."""
    listed = tree.last(f"{device}/msi_irqs (names)")
    numbers = listed.lines if listed is not None else []
    allowed = {number: _cpus(tree, number) for number in numbers}
    allowed = {number: cpus for number, cpus in allowed.items() if cpus}
    if not allowed:
        return
    near = parse_cpu_list(tree.text(f"{device}/local_cpulist"))
    served, seconds = _served(tree, numbers)
    total = sum(served.values())
    busiest = max(served, key=lambda cpu: served[cpu], default=None) if total else None
    cpus = frozenset[int]().union(*allowed.values())
    net = tree.last(f"{device}/net (names)")
    yield InterruptPlacement(
        subject=subject.model_copy(update={"nic": net.lines[0]}) if net is not None and net.lines else subject,
        sources=tree.source(f"{device}/msi_irqs (names)", _COUNTS),
        vectors=len(numbers),
        cpus=format_cpu_list(cpus),
        cpu_count=len(cpus),
        local_cpus=format_cpu_list(near) or None,
        vectors_remote=sum(not cpus & near for cpus in allowed.values()) if near else None,
        interrupts_per_second=total / seconds if seconds else None,
        remote_ratio=ratio(sum(count for cpu, count in served.items() if cpu not in near), total) if near else None,
        busiest_cpu=busiest,
        busiest_cpu_ratio=ratio(served[busiest], total) if busiest is not None else None,
    )


def _cpus(tree: RecordedTree, number: str) -> frozenset[int]:
    """CPUs that serve an interrupt: those in effect where the kernel tells, else those allowed."""
    base = f"proc/irq/{number}"
    return parse_cpu_list(tree.text(f"{base}/effective_affinity_list") or tree.text(f"{base}/smp_affinity_list"))


def _served(tree: RecordedTree, numbers: Sequence[str]) -> tuple[Counter[int], float | None]:
    """Interrupts by CPU between two readings, and the time between them."""
    span = tree.span(_COUNTS)
    served: Counter[int] = Counter()
    if span is None:
        return served, None
    first, last = _table(span.first), _table(span.last)
    for number in numbers:
        before = first.get(number, {})
        for cpu, count in last.get(number, {}).items():
            if count > before.get(cpu, count):
                served[cpu] += count - before[cpu]
    return served, span.seconds


def _table(entry: Entry) -> dict[str, dict[int, int]]:
    """Counts by interrupt and CPU. The heading names the CPUs, since offline ones have no column."""
    if not entry.lines:
        return {}
    cpus = [whole(word.removeprefix("CPU")) for word in entry.lines[0].split()]
    table = {}
    for line in entry.lines[1:]:
        name, _, rest = line.partition(":")
        counts = zip(cpus, rest.split(), strict=False)
        table[name.strip()] = {
            cpu: count for cpu, word in counts if cpu is not None and (count := whole(word)) is not None
        }
    return table

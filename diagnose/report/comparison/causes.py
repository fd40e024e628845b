"""What became of causes: gone, still there, or not shown. Also how a fix is verified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from diagnose.knowledge.base import KnowledgeBase
from diagnose.ranking.model import ESTABLISHED, JOB, SUSPECTED
from diagnose.report.comparison.model import CauseChange, CauseVerdict
from diagnose.report.model import Report, ReportCause
from diagnose.report.numbers import percent


def compare_causes(before: Report, after: Report, knowledge: KnowledgeBase) -> tuple[CauseChange, ...]:
    """Every cause that either report puts forward, those that are there now first."""
    names = host_names(before.hosts, after.hosts)
    old = {cause.id: cause for cause in before.causes}
    new = {cause.id: cause for cause in after.causes}
    changes = [became(old[name], new.get(name), after, knowledge, names) for name in old] + [
        _came(new[name], before, knowledge, names) for name in new if name not in old
    ]
    return tuple(sorted(changes, key=lambda one: (one.probability_after is None, -(one.probability_after or 0.0))))


def became(
    cause: ReportCause,
    again: ReportCause | None,
    after: Report,
    knowledge: KnowledgeBase,
    renamed: Mapping[str, str] | None = None,
) -> CauseChange:
    """What became of one cause that was there before.

    `again` is the same cause in the later report, where it is put forward there; `renamed` tells what hosts of the
    earlier report are called in the later one, where that differs.
    """
    names = renamed or {}
    subjects = {_renamed(subject, names): subject for subject in cause.subjects}
    found = [] if again is None or again.probability < SUSPECTED else list(again.subjects)
    unobserved = _unobserved(cause, after, knowledge, names)
    if again is not None and found:
        same = [subject for subject in found if subject in subjects]
        words = "is found again" if again.probability >= ESTABLISHED else "is still suspected"
        where = "" if same else f", now at {', '.join(found)}"
        verdict, why = CauseVerdict.STILL_THERE, f"It {words} ({percent(again.probability)}){where}"
    elif unobserved:
        why = f"What showed it was not read this time: {', '.join(unobserved)}"
        verdict = CauseVerdict.NOT_SHOWN
    else:
        verdict, why = CauseVerdict.GONE, "What spoke for it was looked for again and is not there any more"
    return CauseChange(
        id=cause.id,
        title=cause.title,
        severity=cause.severity,
        verdict=verdict,
        moved=bool(found) and not any(subject in subjects for subject in found),
        subjects_before=cause.subjects,
        subjects_after=tuple(found),
        probability_before=cause.probability,
        probability_after=again.probability if again is not None and found else None,
        why=why,
        unobserved=tuple(unobserved) if verdict is CauseVerdict.NOT_SHOWN else (),
    )


def _came(cause: ReportCause, before: Report, knowledge: KnowledgeBase, names: Mapping[str, str]) -> CauseChange:
    backwards = {new: old for old, new in names.items()}
    unobserved = _unobserved(cause, before, knowledge, backwards)
    why = (
        f"It could not have been seen before: {', '.join(unobserved)} not read then"
        if unobserved
        else "It was not there before, although it would have been seen"
    )
    return CauseChange(
        id=cause.id,
        title=cause.title,
        severity=cause.severity,
        verdict=CauseVerdict.NEW if unobserved else CauseVerdict.CAME,
        moved=False,
        subjects_before=(),
        subjects_after=cause.subjects,
        probability_before=None,
        probability_after=cause.probability,
        why=why,
        unobserved=tuple(unobserved),
    )


def _unobserved(cause: ReportCause, other: Report, knowledge: KnowledgeBase, names: Mapping[str, str]) -> list[str]:
    """Kinds that the evidence for the cause needs and that the other report did not observe on the cause's hosts."""
    known = knowledge.causes.get(cause.id)
    if known is None:
        return [f"evidence of {cause.id}, which this version does not know"]
    counted = {item.rule for item in cause.evidence if item.direction == "for" and item.counted}
    needed = {
        kind for item in known.evidence if f"{cause.id}/{item.written.id}" in counted for kind in item.rule.kinds()
    }
    hosts = [JOB] if known.cause.subject == "job" else _hosts(cause.subjects, names)
    return sorted({kind for host in hosts for kind in needed - set(other.observed.get(host, ()))})


def _hosts(subjects: Iterable[str], names: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(names.get(host, host) for host in (subject.partition("/")[0] for subject in subjects)))


def host_names(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """What hosts of the earlier result are called in the later one, where that differs.

    Where each is of one host they are the same, whatever they are called: bundles rename hosts.
    """
    if len(before) == len(after) == 1 and before != after:
        return {before[0]: after[0]}
    return {}


def _renamed(subject: str, names: Mapping[str, str]) -> str:
    host, slash, rest = subject.partition("/")
    return names.get(host, host) + slash + rest

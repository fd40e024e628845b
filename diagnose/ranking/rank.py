"""Probabilities: prior odds times the likelihood ratio of the strongest evidence of every group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import exp, log

from diagnose.knowledge.base import KnowledgeBase, KnownCause
from diagnose.ranking.findings import whole_host
from diagnose.ranking.model import ESTABLISHED, Finding, Instance, InstanceKey, Term

NONE_OF_THESE = 0.2
"""Share that an asserted symptom keeps for causes that no rule knows (judgement)."""


def priors(knowledge: KnowledgeBase, asserted: Iterable[str]) -> dict[str, float]:
    """Prior of every cause.

    A symptom that the operator names is given, so the priors of its causes are scaled up to share all of it but
    `NONE_OF_THESE`; without a named symptom they stay as written.
    """
    values = {name: known.cause.prior.probability for name, known in knowledge.causes.items()}
    scaled = dict(values)
    for symptom in asserted:
        members = [name for name, known in knowledge.causes.items() if symptom in known.cause.symptoms]
        total = sum(values[name] for name in members)
        for name in members:
            scaled[name] = max(scaled[name], values[name] * max(1.0, (1 - NONE_OF_THESE) / total))
    return scaled


def logit(probability: float) -> float:
    """Log odds."""
    return log(probability / (1 - probability))


def logistic(log_odds: float) -> float:
    """Probability of log odds, safe for large values."""
    return 1 / (1 + exp(-log_odds)) if log_odds >= 0 else exp(log_odds) / (1 + exp(log_odds))


def terms_of(findings: Sequence[Finding]) -> list[Term]:
    """Every finding, marked as counted when it is the strongest of its group: one fault seen in three files is one."""
    strongest: dict[str, Finding] = {}
    for finding in findings:
        best = strongest.get(finding.evidence.group)
        if best is None or abs(finding.log_weight) > abs(best.log_weight):
            strongest[finding.evidence.group] = finding
    return [Term(finding, strongest[finding.evidence.group] is finding) for finding in findings]


def instances_of(known: KnownCause, findings: Sequence[Finding], prior: float) -> list[Instance]:
    """Instances of a cause with their probabilities, the most probable first.

    What is found on the whole host counts for each of its parts; it makes an instance of its own only where no part
    is named by evidence for the cause.
    """
    for_keys = dict.fromkeys(item.instance for item in findings if item.evidence.direction == "for")
    narrow_hosts = {key.host for key in for_keys if not key.whole_host}
    keys = [key for key in for_keys if not key.whole_host or key.host not in narrow_hosts]
    keys = keys or list(dict.fromkeys(item.instance for item in findings))
    by_key: dict[InstanceKey, list[Finding]] = {}
    for finding in findings:
        by_key.setdefault(finding.instance, []).append(finding)
    instances = [_instance(known, key, by_key, prior) for key in keys]
    return sorted(instances, key=lambda instance: (-instance.probability, instance.key.subject))


def _instance(
    known: KnownCause, key: InstanceKey, by_key: Mapping[InstanceKey, Sequence[Finding]], prior: float
) -> Instance:
    wide = () if key.whole_host else by_key.get(whole_host(key.host), ())
    terms = terms_of([*by_key.get(key, ()), *wide])
    log_odds = logit(prior) + sum(term.finding.log_weight for term in terms if term.counted)
    return Instance(known, key, prior, terms, logistic(log_odds))


def apply_exclusions(instances: Sequence[Instance]) -> None:
    """Where two causes cannot both be true on a subject, the weaker one keeps what the stronger leaves."""
    places = _Places(instances)
    for instance in sorted(instances, key=lambda item: -item.probability):
        for other in places.overlapping(instance, instance.known.cause.excludes):
            if instance.probability >= ESTABLISHED and other.probability <= instance.probability:
                other.probability *= 1 - instance.probability
                other.notes.append(f"lowered: {instance.cause_id} on {instance.key.subject} excludes it")


def link_roots(instances: Sequence[Instance]) -> None:
    """Put consequences beneath the cause that explains them.

    What is explained is at most as probable, as a fault of its own, as what explains it.
    """
    places = _Places(instances)
    for root in sorted(instances, key=lambda item: -item.probability):
        if root.probability < ESTABLISHED:
            continue
        for other in places.overlapping(root, root.known.cause.explains):
            if other.root is None:
                other.root = root
                if other.probability > root.probability:
                    other.notes.append(
                        f"capped at {root.probability:.2f}: {root.cause_id} on {root.key.subject} explains it"
                    )
                    other.probability = root.probability


class _Places:
    """Instances by cause and place: comparing all pairs would take minutes for the GPUs of a large cluster."""

    def __init__(self, instances: Iterable[Instance]) -> None:
        self._on_host: dict[tuple[str, str], list[Instance]] = {}
        self._on_subject: dict[tuple[str, InstanceKey], list[Instance]] = {}
        for instance in instances:
            self._on_host.setdefault((instance.cause_id, instance.key.host), []).append(instance)
            self._on_subject.setdefault((instance.cause_id, instance.key), []).append(instance)

    def overlapping(self, instance: Instance, causes: Iterable[str]) -> Iterator[Instance]:
        """Instances of the causes on the same subject or its whole host; for a whole host, on all its parts."""
        key = instance.key
        for cause in causes:
            if key.whole_host:
                yield from self._on_host.get((cause, key.host), ())
            else:
                yield from self._on_subject.get((cause, key), ())
                yield from self._on_subject.get((cause, whole_host(key.host)), ())


def by_cause(instances: Iterable[Instance]) -> Mapping[str, list[Instance]]:
    """Instances grouped by cause, in the given order."""
    grouped: dict[str, list[Instance]] = {}
    for instance in instances:
        grouped.setdefault(instance.cause_id, []).append(instance)
    return grouped

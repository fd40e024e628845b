"""Checks of rule files that go beyond one key: names, priors, references between files, examples."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from diagnose.facts import Fact
from diagnose.facts.base import Source, Subject
from diagnose.knowledge.base import KnownCause
from diagnose.knowledge.expression import suggestion
from diagnose.knowledge.schema import CauseFile, Risk
from diagnose.knowledge.vocabulary import Vocabulary
from diagnose.knowledge.yaml_file import RuleError, YamlFile

_RISKS_OF_COMMANDS = (
    (re.compile(r"\b(?:sudo|systemctl) reboot\b|\bshutdown\b|\bpower (?:cycle|off|reset)\b"), Risk.REBOOT),
    (re.compile(r"--gpu-reset\b|\bnvidia-smi -r\b"), Risk.RESET),
    (re.compile(r"\brmmod\b|\bmodprobe -r\b"), Risk.DRAIN),
)
"""Commands with the least risk that a fix with them has, the worst first."""

MAX_PRIOR_SUM = 0.8
"""What the priors of one symptom's causes may add up to: the rest is `none of these`."""


def cause_errors(file: YamlFile, written: CauseFile, symptoms: set[str]) -> list[RuleError]:
    """Errors that one cause file shows by itself, but for those of its examples."""
    return [
        *_name_errors(file, written, symptoms),
        *_evidence_errors(file, written),
        *_risk_errors(file, written),
    ]


def _name_errors(file: YamlFile, written: CauseFile, symptoms: set[str]) -> Iterator[RuleError]:
    cause = written.cause
    if file.path.stem != cause.id:
        yield file.error(("cause", "id"), f"is `{cause.id}`, but the file is called {file.path.name}")
    for number, symptom in enumerate(cause.symptoms):
        if symptom not in symptoms:
            close = suggestion(symptom, symptoms)
            yield file.error(("cause", "symptoms", number), f"no symptom is called `{symptom}`{close}")
    if file.path.parent.name not in cause.symptoms:
        yield file.error(
            ("cause", "symptoms"),
            f"the file lies under {file.path.parent.name}/, which is none of the cause's symptoms; move it",
        )


def _evidence_errors(file: YamlFile, written: CauseFile) -> Iterator[RuleError]:
    seen: set[str] = set()
    for number, item in enumerate(written.evidence):
        if item.id in seen:
            yield file.error(("evidence", number, "id"), f"`{item.id}` stands twice; every id is used once")
        seen.add(item.id)
    if not any(item.direction == "for" for item in written.evidence):
        yield file.error(("evidence",), "has nothing that speaks for the cause")


def _risk_errors(file: YamlFile, written: CauseFile) -> Iterator[RuleError]:
    """A risk that is understated takes a node from its users without a warning."""
    for number, fix in enumerate(written.fixes):
        for pattern, needed in _RISKS_OF_COMMANDS:
            commands = [step.command for step in fix.steps if step.command and pattern.search(step.command)]
            if commands and fix.risk.rank < needed.rank:
                yield file.error(
                    ("fixes", number, "risk"), f"is `{fix.risk.value}`, but `{commands[0]}` means `{needed.value}`"
                )
                break


def example_errors(file: YamlFile, written: CauseFile, vocabulary: Vocabulary) -> Iterator[RuleError]:
    """Errors in the examples of one cause file."""
    expectations = {example.expect for example in written.examples}
    if "cause" not in expectations:
        yield file.error(("examples",), "has no set of facts that must lead to the cause (`expect: cause`)")
    if "nothing" not in expectations:
        yield file.error(("examples",), "has no near miss (`expect: nothing`)")
    ids = {item.id: None for item in written.evidence}
    for number, example in enumerate(written.examples):
        for place, name in enumerate(example.evidence):
            if name not in ids:
                close = suggestion(name, ids)
                yield file.error(("examples", number, "evidence", place), f"no evidence is called `{name}`{close}")
        for place, flat in enumerate(example.facts):
            try:
                example_fact(flat, vocabulary)
            except ValueError as error:
                yield file.error(("examples", number, "facts", place), str(error))


def example_fact(flat: Mapping[str, object], vocabulary: Vocabulary) -> Fact:
    """The fact that an example writes down flat. Raises ValueError with a sentence for the writer."""
    kind = flat.get("kind")
    if not isinstance(kind, str) or kind not in vocabulary:
        raise ValueError(f"no kind of fact is called `{kind}`{suggestion(str(kind), dict(vocabulary))}")
    model = vocabulary[kind]
    subject_fields = Subject.model_fields
    own = set(model.own_fields())
    values = {name: value for name, value in flat.items() if name != "kind"}
    for name in values:
        if name not in own and name not in subject_fields and name != "missing":
            raise ValueError(f"`{kind}` has no field `{name}`{suggestion(name, own | set(subject_fields))}")
    try:
        subject = Subject.model_validate(
            {name: value for name, value in values.items() if name in subject_fields and name not in own}
        )
        fields = {name: value for name, value in values.items() if name in own or name == "missing"}
        return model.model_validate({"subject": subject, "sources": (Source(command="example"),), **fields})
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from None


def base_errors(causes: Mapping[str, KnownCause], symptoms: set[str]) -> list[RuleError]:
    """Errors that only all files together show."""
    return [*_reference_errors(causes), *_prior_errors(causes, symptoms), *_circles(causes)]


def _reference_errors(causes: Mapping[str, KnownCause]) -> Iterator[RuleError]:
    for known in causes.values():
        for key, names in (("explains", known.cause.explains), ("excludes", known.cause.excludes)):
            for name in names:
                if name not in causes:
                    message = f"no cause is called `{name}`{suggestion(name, dict(causes))}"
                    yield RuleError(known.path, 1, f"cause.{key}", message)


def _prior_errors(causes: Mapping[str, KnownCause], symptoms: set[str]) -> Iterator[RuleError]:
    sums: dict[str, float] = defaultdict(float)
    for known in causes.values():
        for symptom in known.cause.symptoms:
            sums[symptom] += known.cause.prior.probability
    for symptom in sorted(symptoms):
        if sums[symptom] > MAX_PRIOR_SUM:
            largest = max(
                (known for known in causes.values() if symptom in known.cause.symptoms),
                key=lambda known: known.cause.prior.probability,
            )
            yield RuleError(
                largest.path,
                1,
                "cause.prior",
                f"the priors of {symptom} add up to {sums[symptom]:.2f}; at most {MAX_PRIOR_SUM} leaves room for "
                "`none of these`: lower the largest ones",
            )


def _circles(causes: Mapping[str, KnownCause]) -> Iterator[RuleError]:
    for start in causes:
        reached: set[str] = set()
        frontier = set(causes[start].cause.explains)
        while frontier:
            reached |= frontier
            frontier = {after for name in frontier if name in causes for after in causes[name].cause.explains} - reached
        if start in reached:
            yield RuleError(
                causes[start].path, 1, "cause.explains", f"leads back to `{start}`: a cause cannot explain itself"
            )

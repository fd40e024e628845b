"""Probabilities, groups, priors, exclusions and roots, on a small rule base."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from diagnose.engine.session import SessionRunner
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.gpu import GpuLoad, GpuPcieLink
from diagnose.facts.host import Virtualisation
from diagnose.facts.kernel import KernelLogSpan
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import Diagnosis, Finding, Instance, InstanceKey
from diagnose.ranking.rank import apply_exclusions, instances_of, link_roots, logistic, logit

RuleBase = Callable[..., Path]
PRIOR = 0.05


def link(gpu: int, width: int, host: str | None = None) -> Fact:
    return GpuPcieLink(
        subject=Subject(host=host, gpu_index=gpu), sources=(Source(path="q.txt", line=gpu + 1),), width_current=width,
        width_max=16,
    )  # fmt: skip


def load(gpu: int, host: str | None = None) -> Fact:
    return GpuLoad(
        subject=Subject(host=host, gpu_index=gpu), sources=(Source(path="load.txt", line=1),), gpu_utilization_ratio=0.9
    )


def run(folder: Path, facts: list[Fact], *symptoms: str) -> Diagnosis:
    return diagnose(SessionRunner(load_knowledge(folder)), facts, symptoms)


def other_cause(folder: Path, *changes: tuple[str, str]) -> None:
    text = (folder / "slow" / "narrow-link.yaml").read_text()
    text = text.replace("id: narrow-link", "id: other-link")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    (folder / "slow" / "other-link.yaml").write_text(text)


MORE_EVIDENCE = """\
  - id: again
    group: {group}
    strength: {strength}
    direction: {direction}
    source: "vendor manual, another section"
    when:
      - {{fact: gpu-pcie-link, as: link, where: width_current < 12}}
    says: "GPU {{link.gpu}} again"
checks: [look]
"""


def with_more(rule_base: RuleBase, group: str, strength: str, direction: str = "for") -> Path:
    more = MORE_EVIDENCE.format(group=group, strength=strength, direction=direction)
    return rule_base(("checks: [look]\n", more))


def test_a_strong_piece_of_evidence_multiplies_the_prior_odds_by_a_hundred(rule_base: RuleBase) -> None:
    (cause,) = run(rule_base(), [link(0, 8), load(0)]).causes
    assert cause.probability == pytest.approx(logistic(logit(PRIOR) + logit(100 / 101)))


def test_evidence_of_one_group_counts_once_by_its_strongest(rule_base: RuleBase) -> None:
    (cause,) = run(with_more(rule_base, "width", "weak"), [link(0, 8), load(0)]).causes
    counted = {term.finding.evidence.id: term.counted for term in cause.instances[0].terms}
    assert counted == {"width": True, "again": False}
    assert cause.probability == pytest.approx(logistic(logit(PRIOR) + logit(100 / 101)))


def test_evidence_of_another_group_adds_up(rule_base: RuleBase) -> None:
    (cause,) = run(with_more(rule_base, "other", "moderate"), [link(0, 8), load(0)]).causes
    assert cause.probability == pytest.approx(logistic(logit(PRIOR) + logit(1000 / 1001)), rel=1e-6)


def test_evidence_against_divides(rule_base: RuleBase) -> None:
    (cause,) = run(with_more(rule_base, "other", "moderate", "against"), [link(0, 8), load(0)]).causes
    assert cause.probability == pytest.approx(logistic(logit(PRIOR) + logit(10 / 11)))


def test_evidence_against_alone_puts_nothing_forward(rule_base: RuleBase) -> None:
    diagnosis = run(with_more(rule_base, "other", "weak", "against"), [link(0, 8)])
    assert diagnosis.causes == []
    assert [cause.cause_id for cause in diagnosis.considered] == ["narrow-link"]


def test_no_facts_give_no_causes(rule_base: RuleBase) -> None:
    assert run(rule_base(), []).causes == []


def test_each_gpu_is_an_instance_of_its_own(rule_base: RuleBase) -> None:
    (cause,) = run(rule_base(), [link(0, 8), load(0), link(1, 16), load(1), link(2, 4), load(2)]).causes
    assert [instance.key.subject for instance in cause.instances] == ["unnamed/gpu/0", "unnamed/gpu/2"]


def test_hosts_are_diagnosed_apart(rule_base: RuleBase) -> None:
    facts = [link(0, 8, "a"), load(0, "b"), link(0, 8, "c"), load(0, "c")]
    diagnosis = run(rule_base(), facts)
    assert diagnosis.hosts == ("a", "b", "c")
    assert [item.key.subject for item in diagnosis.causes[0].instances] == ["c/gpu/0"]


def test_naming_a_symptom_raises_the_priors_of_its_causes_and_leaves_a_fifth_for_none_of_these(
    rule_base: RuleBase,
) -> None:
    folder = rule_base()
    other_cause(folder)
    diagnosis = run(folder, [link(0, 8), load(0)], "slow")
    assert [cause.instances[0].prior for cause in diagnosis.causes] == [pytest.approx(0.4)] * 2
    assert [(state.id, state.asserted, state.detected) for state in diagnosis.symptoms] == [("slow", True, False)]


def test_a_consequence_stands_beneath_its_root_and_is_no_more_probable(rule_base: RuleBase) -> None:
    folder = rule_base(("  prior:", "  explains: [other-link]\n  prior:"))
    other_cause(folder, ("  explains: [other-link]\n", ""), ("probability: 0.05", "probability: 0.2"))
    root, consequence = run(folder, [link(0, 8), load(0)]).causes
    assert (root.cause_id, root.explains) == ("narrow-link", ("other-link",))
    assert consequence.instances[0].root is root.instances[0]
    assert consequence.probability == root.probability
    assert "capped" in consequence.instances[0].notes[0]


def test_a_root_on_another_gpu_explains_nothing(rule_base: RuleBase) -> None:
    folder = rule_base(
        ("  prior:", "  explains: [other-link]\n  prior:"), ("width_current < width_max", "width_current == 8")
    )
    other_cause(folder, ("  explains: [other-link]\n", ""), ("width_current == 8", "width_current == 4"))
    causes = run(folder, [link(0, 8), load(0), link(1, 4), load(1)]).causes
    assert [cause.instances[0].root for cause in causes] == [None, None]


def test_of_two_causes_that_exclude_each_other_the_weaker_keeps_what_the_stronger_leaves(rule_base: RuleBase) -> None:
    folder = rule_base(("  prior:", "  excludes: [other-link]\n  prior:"))
    other_cause(folder, ("  excludes: [other-link]\n", ""), ("probability: 0.05", "probability: 0.03"))
    first, second = run(folder, [link(0, 8), load(0)]).causes
    unexcluded = logistic(logit(0.03) + logit(100 / 101))
    assert first.cause_id == "narrow-link"
    assert second.probability == pytest.approx(unexcluded * (1 - first.probability))


def test_what_is_missing_and_what_was_looked_for_are_told_apart(rule_base: RuleBase) -> None:
    folder = with_more(rule_base, "other", "moderate")
    only_links = run(folder, [link(0, 8)])
    cause = (*only_links.causes, *only_links.considered)[0]
    assert [(item.evidence.id, item.kinds) for item in cause.unseen] == [("width", ("gpu-load",))]
    assert cause.looked == []


def test_looked_and_found_nothing_is_said_when_the_facts_are_there(rule_base: RuleBase) -> None:
    folder = rule_base(
        ("checks: [look]\n", MORE_EVIDENCE.format(group="other", strength="moderate", direction="for")),
        ("where: width_current < width_max", "where: width_current > width_max"),
    )
    diagnosis = run(folder, [link(0, 8), load(0)])
    cause = (*diagnosis.causes, *diagnosis.considered)[0]
    assert cause.looked == ["No link is narrow"]


def test_the_check_that_would_tell_most_comes_first(rule_base: RuleBase) -> None:
    checks = (
        "checks:\n"
        "  - {id: look, text: Look, provides: [gpu-load], cost_seconds: 10}\n"
        "  - {id: drain-first, text: Look long, provides: [gpu-load], cost_seconds: 10, risk: drain}\n"
        "  - {id: unrelated, text: Elsewhere, provides: [virtualisation]}\n"
    )
    folder = rule_base(("checks: [look]", "checks: [unrelated, drain-first, look]"), **{"checks.yaml": checks})
    diagnosis = run(folder, [link(0, 8)], "slow")
    assert [check.id for check in diagnosis.checks] == ["look", "drain-first"]
    assert diagnosis.checks[0].separates == ("narrow-link",)


def test_a_host_wide_finding_counts_for_every_gpu_that_evidence_names(rule_base: RuleBase) -> None:
    more = (
        MORE_EVIDENCE.format(group="other", strength="moderate", direction="for")
        .replace("{fact: gpu-pcie-link, as: link, where: width_current < 12}", "{fact: virtualisation, as: link}")
        .replace("GPU {link.gpu} again", "Virtual")
    )
    folder = rule_base(("checks: [look]\n", more))
    virtual = Virtualisation(sources=(Source(path="lscpu.txt", line=1),), hypervisor="KVM")
    (cause,) = run(folder, [link(0, 8), load(0), link(1, 8), load(1), virtual]).causes
    assert [len(instance.terms) for instance in cause.instances] == [2, 2]
    (host_cause,) = run(folder, [virtual]).causes
    assert host_cause.instances[0].key.subject == "unnamed"


def test_the_gpus_of_a_large_cluster_are_ranked_in_seconds(rule_base: RuleBase) -> None:
    folder = rule_base(("  prior:", "  explains: [other-link]\n  prior:"))
    other_cause(folder, ("  explains: [other-link]\n", ""))
    causes = load_knowledge(folder).causes
    instances: list[Instance] = []
    for known in (causes["narrow-link"], causes["other-link"]):
        (evidence,) = known.evidence
        findings = [
            Finding(evidence.written, InstanceKey(f"n{number}", f"n{number}/gpu/0", Subject()), "narrow", (), 1)
            for number in range(20_000)
        ]
        instances += instances_of(known, findings, PRIOR)
    started = time.monotonic()
    link_roots(instances)
    apply_exclusions(instances)
    assert sum(instance.root is not None for instance in instances) == 20_000
    assert time.monotonic() - started < 20  # all pairs would be 1.6 billion


def test_a_log_without_an_event_counts_as_looked_for(rule_base: RuleBase) -> None:
    more = (
        MORE_EVIDENCE.format(group="other", strength="moderate", direction="for")
        .replace(
            "{fact: gpu-pcie-link, as: link, where: width_current < 12}", "{fact: xid, as: link, where: code == 79}"
        )
        .replace('again"', 'again"\n    otherwise: No Xid 79')
    )
    folder = rule_base(("checks: [look]\n", more))
    log = KernelLogSpan(sources=(Source(path="dmesg.txt", line=1),), lines=900)
    without, with_log = (run(folder, [link(0, 8), load(0), *extra]).causes[0] for extra in ([], [log]))
    assert [item.evidence.id for item in without.unseen] == ["again"]
    assert ([item.evidence.id for item in with_log.unseen], with_log.looked) == ([], ["No Xid 79"])


def test_a_host_that_the_engine_refuses_is_named_and_the_others_are_diagnosed(rule_base: RuleBase) -> None:
    bad = load(0, "bad").model_copy(update={"gpu_utilization_ratio": float("nan")})
    diagnosis = run(rule_base(), [link(0, 8, "bad"), bad, link(0, 8, "good"), load(0, "good")])
    assert [item.key.subject for item in diagnosis.causes[0].instances] == ["good/gpu/0"]
    assert [problem.partition(":")[0] for problem in diagnosis.problems] == ["bad was not diagnosed"]


def test_a_gpu_that_the_input_does_not_name_is_said_to_be_so(rule_base: RuleBase) -> None:
    more = MORE_EVIDENCE.format(group="other", strength="strong", direction="for")
    unnamed = link(0, 8).model_copy(update={"subject": Subject()})
    (cause,) = run(rule_base(("checks: [look]\n", more)), [unnamed]).causes
    assert [term.finding.text for term in cause.instances[0].terms] == ["GPU (not named) again"]


SIGN = """\
symptoms:
  - id: slow
    title: It is slow
    question: Is it slow?
    detect:
      - id: two-links
        subject: {subject}
        source: vendor manual
        when:
          - {{fact: virtualisation, as: machine}}
          - {{count: gpu-pcie-link, as: links, at_least: 2}}
        says: "{{links.count}} links"
"""


@pytest.mark.parametrize(("subject", "signs"), [("job", ("2 links",)), ("host", ())])
def test_a_sign_of_a_job_is_looked_for_over_all_hosts(
    rule_base: RuleBase, subject: str, signs: tuple[str, ...]
) -> None:
    folder = rule_base(**{"symptoms.yaml": SIGN.format(subject=subject)})
    machine = Virtualisation(subject=Subject(host="a"), sources=(Source(path="lscpu.txt", line=1),))
    (state,) = run(folder, [machine, link(0, 16, "a"), link(0, 16, "b")]).symptoms
    assert (state.signs, state.detected) == (signs, bool(signs))

"""Rule files that are broken on purpose, in one place each: one clear error with file, line, key and cure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from diagnose.knowledge.base import KnowledgeError
from diagnose.knowledge.loader import load_knowledge

RuleBase = Callable[..., Path]

BROKEN = {
    "a fix that reboots and calls itself harmless": (
        "    risk: hardware\n    privilege: root\n    steps:\n      - do: Reseat it\n        command: ",
        "    risk: drain\n    privilege: root\n    steps:\n      - do: Restart it\n        command: sudo reboot #",
        "fixes[0].risk",
        "`sudo reboot` means `reboot`",
    ),
    "misspelt key": (
        "    strength: strong",
        "    strenght: strong",
        "evidence[0].strenght",
        "did you mean `strength`?",
    ),
    "misspelt top key": ("references: [", "referencess: [", "referencess", "did you mean `references`?"),
    "unknown kind": ("fact: gpu-load", "fact: gpu-lod", "evidence[0].when[1].fact", "did you mean `gpu-load`?"),
    "unknown field": (
        "width_current < width_max",
        "width_curent < width_max",
        "evidence[0].when[0].where[0]",
        "did you mean `width_current`?",
    ),
    "comparison across types": (
        "width_current < width_max",
        "width_current < 'x8'",
        "evidence[0].when[0].where[0]",
        "`width_current` is a number and `'x8'` a string",
    ),
    "order of strings": ("width_current < width_max", "gpu < 'b'", "evidence[0].when[0].where[0]", "`<` needs numbers"),
    "unknown operator": (
        "width_current < width_max",
        "width_current is width_max",
        "evidence[0].when[0].where[0]",
        "operator `is` is unknown",
    ),
    "no expression": (
        "width_current < width_max",
        "width_current <",
        "evidence[0].when[0].where[0]",
        "is not a condition",
    ),
    "unknown function": (
        "width_current < width_max",
        "startswith(gpu, '0')",
        "evidence[0].when[0].where[0]",
        "there are matches(field, 'pattern')",
    ),
    "bad pattern": (
        "width_current < width_max",
        "matches(gpu, '[')",
        "evidence[0].when[0].where[0]",
        "is no regular expression",
    ),
    "missing source": (
        '    source: "vendor manual, section on link width"\n',
        "",
        "evidence[0].source",
        "is missing; add it",
    ),
    "empty source": ("vendor manual, section on link width", "x", "evidence[0].source", "name the document"),
    "missing prior source": (', source: "judgement: one machine in twenty"', "", "cause.prior.source", "is missing"),
    "prior out of range": ("probability: 0.05", "probability: 1.5", "cause.prior.probability", "less than 0.5"),
    "unknown strength": ("strength: strong", "strength: huge", "evidence[0].strength", "'weak', 'moderate'"),
    "two weights": (
        "strength: strong",
        "strength: strong\n    likelihood_ratio: 20",
        "evidence[0]",
        "say either `strength` or `likelihood_ratio`",
    ),
    "unknown alias": ("gpu == link.gpu", "gpu == lnk.gpu", "evidence[0].when[1].where[0]", "no fact is called `lnk`"),
    "no join key": (
        "[gpu == link.gpu, gpu_utilization_ratio > 0.5]",
        "gpu_utilization_ratio > 0.5",
        "evidence[0].when[1]",
        "is not tied to link",
    ),
    "bad placeholder": ("x{link.width_current}", "x{link.width}", "evidence[0].says", "`link` has no field `width`"),
    "no placeholder syntax": ("x{link.width_current}", "x{width}", "evidence[0].says", "write `{alias.field}`"),
    "unknown check": ("checks: [look]", "checks: [loook]", "checks[0]", "did you mean `look`?"),
    "unknown symptom": ("symptoms: [slow]", "symptoms: [slo, slow]", "cause.symptoms[0]", "did you mean `slow`?"),
    "name differs from file": ("id: narrow-link", "id: wide-link", "cause.id", "narrow-link.yaml"),
    "invalid name": ("    group: width", "    group: Link Width", "evidence[0].group", "lower-case words"),
    "unknown cause explained": (
        "  prior:",
        "  explains: [no-such-cause]\n  prior:",
        "cause.explains",
        "no cause is called `no-such-cause`",
    ),
    "example with unknown field": (
        "width_current: 8,",
        "widht_current: 8,",
        "examples[0].facts[0]",
        "did you mean `width_current`?",
    ),
    "example with wrong type": ("width_current: 8,", "width_current: eight,", "examples[0].facts[0]", "width_current"),
    "no near miss": ("expect: nothing", "expect: cause", "examples", "near miss"),
    "text with a colon": ("title: The link", "title: Link: the link", "", "quote texts that hold `: `"),
    "too few entries": ("symptoms: [slow]", "symptoms: []", "cause.symptoms", "needs at least 1 entry, and has 0"),
    "duplicate key": ("    group: width", "    group: width\n    group: other", "evidence[0].group", "stands twice"),
    "unknown severity": ("severity: warning", "severity: bad", "cause.severity", "'info', 'warning' or 'critical'"),
}


@pytest.mark.parametrize(("old", "new", "key", "cure"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_rule_gives_one_error_that_names_file_line_key_and_cure(
    rule_base: RuleBase, old: str, new: str, key: str, cure: str
) -> None:
    folder = rule_base((old, new))
    with pytest.raises(KnowledgeError) as raised:
        load_knowledge(folder)
    (error,) = raised.value.errors
    assert error.path == folder / "slow" / "narrow-link.yaml"
    assert error.key == key
    assert cure in error.message
    assert error.line >= 1


@pytest.mark.parametrize(
    ("start", "key"),
    [("fixes:", "fixes"), ("examples:", "examples"), ("references:", "references"), ("checks:", "checks")],
)
def test_a_cause_lacking_a_section_is_refused(rule_base: RuleBase, start: str, key: str) -> None:
    folder = rule_base()
    path = folder / "slow" / "narrow-link.yaml"
    sections = path.read_text().split("\n" + start, 1)
    rest = sections[1].split("\n")
    following = next((n for n, line in enumerate(rest[1:], 1) if line and line[0].isalpha()), len(rest))
    path.write_text(sections[0] + "\n" + "\n".join(rest[following:]))
    with pytest.raises(KnowledgeError) as raised:
        load_knowledge(folder)
    assert [(error.key, error.message) for error in raised.value.errors] == [(key, "is missing; add it")]


def test_the_line_of_an_error_is_the_line_of_the_key(rule_base: RuleBase) -> None:
    folder = rule_base(("width_current < width_max", "width_curent < width_max"))
    path = folder / "slow" / "narrow-link.yaml"
    with pytest.raises(KnowledgeError) as raised:
        load_knowledge(folder)
    expected = next(n for n, line in enumerate(path.read_text().splitlines(), 1) if "width_curent" in line)
    assert raised.value.errors[0].line == expected


def test_all_errors_of_all_files_are_told_at_once(rule_base: RuleBase) -> None:
    folder = rule_base(("severity: warning", "severity: bad"), **{"checks.yaml": "checks:\n  - {id: look}\n"})
    with pytest.raises(KnowledgeError) as raised:
        load_knowledge(folder)
    assert {error.path.name for error in raised.value.errors} == {"narrow-link.yaml", "checks.yaml"}


@pytest.mark.parametrize(
    "content", ["", "a: [1", "\x00", "- just\n- a list\n", "'unclosed", "a: !!python/object:os.system x"]
)
def test_what_is_no_rule_file_gives_an_error_and_no_traceback(rule_base: RuleBase, content: str) -> None:
    folder = rule_base()
    (folder / "slow" / "narrow-link.yaml").write_text(content)
    with pytest.raises(KnowledgeError, match=r"narrow-link\.yaml:\d+"):
        load_knowledge(folder)


def test_a_correct_rule_base_loads(rule_base: RuleBase) -> None:
    knowledge = load_knowledge(rule_base())
    assert list(knowledge.causes) == ["narrow-link"]
    assert knowledge.causes["narrow-link"].evidence[0].rule.kinds() == {"gpu-pcie-link", "gpu-load"}


def test_yaml_words_such_as_no_and_off_stay_text(rule_base: RuleBase) -> None:
    knowledge = load_knowledge(rule_base(("title: The link is narrow", "title: off")))
    assert knowledge.causes["narrow-link"].cause.title == "off"


def test_causes_that_explain_each_other_in_a_circle_are_refused(rule_base: RuleBase) -> None:
    folder = rule_base(("  prior:", "  explains: [other-link]\n  prior:"))
    first = (folder / "slow" / "narrow-link.yaml").read_text()
    second = first.replace("id: narrow-link", "id: other-link").replace("[other-link]", "[narrow-link]")
    (folder / "slow" / "other-link.yaml").write_text(second)
    with pytest.raises(KnowledgeError, match="a cause cannot explain itself"):
        load_knowledge(folder)


def test_priors_of_a_symptom_must_leave_room_for_none_of_these(rule_base: RuleBase) -> None:
    folder = rule_base(("probability: 0.05", "probability: 0.45"))
    first = (folder / "slow" / "narrow-link.yaml").read_text()
    (folder / "slow" / "other-link.yaml").write_text(first.replace("id: narrow-link", "id: other-link"))
    with pytest.raises(KnowledgeError, match=r"priors of slow add up to 0\.90"):
        load_knowledge(folder)


TABLE = """\
table: link-limit
description: What a card's link can do
source: "vendor data sheet"
key: {fact: gpu-identity, field: product_name, match: pattern}
columns:
  lanes: {type: integer, description: Lanes}
rows:
  - {match: "T4", values: {lanes: 16}}
"""


@pytest.mark.parametrize(
    ("old", "new", "key", "cure"),
    [
        ("fact: gpu-identity", "fact: gpu-idenity", "key.fact", "did you mean `gpu-identity`?"),
        ("field: product_name", "field: product", "key.field", "has no field `product`"),
        ("values: {lanes: 16}", "values: {lane: 16}", "rows[0].values.lane", "did you mean `lanes`?"),
        ("values: {lanes: 16}", "values: {lanes: many}", "rows[0].values.lanes", "does not fit its column"),
        ("table: link-limit", "table: gpu-load", "table", "exists already"),
    ],
)
def test_a_broken_table_gives_one_error(rule_base: RuleBase, old: str, new: str, key: str, cure: str) -> None:
    folder = rule_base(**{"tables/link-limit.yaml": TABLE.replace(old, new)})
    with pytest.raises(KnowledgeError) as raised:
        load_knowledge(folder)
    (error,) = raised.value.errors
    assert (error.key, error.path.name) == (key, "link-limit.yaml")
    assert cure in error.message


def test_a_rule_may_use_the_columns_of_a_table(rule_base: RuleBase) -> None:
    folder = rule_base(
        (
            "      - fact: gpu-load\n        as: load\n        where: [gpu == link.gpu, gpu_utilization_ratio > 0.5]",
            "      - {fact: link-limit, as: limit, where: [gpu == link.gpu, lanes > link.width_current]}",
        ),
        **{"tables/link-limit.yaml": TABLE},
    )
    assert "link-limit" in load_knowledge(folder).causes["narrow-link"].evidence[0].rule.kinds()


DERIVED = """\
derived: busy
description: A GPU that works
source: "judgement: half the time is busy"
when:
  - {fact: gpu-load, as: load, where: gpu_utilization_ratio > 0.5}
subject: load
fields:
  percent: {type: number, description: Use in percent, value: "load.gpu_utilization_ratio * 100"}
"""


@pytest.mark.parametrize(
    ("old", "new", "key", "cure"),
    [
        ("subject: load", "subject: lod", "subject", "no matched fact is called `lod`"),
        ("load.gpu_utilization_ratio * 100", "load.gpu * 100", "fields.percent.value", "`*` needs numbers"),
        ("load.gpu_utilization_ratio * 100", "ratio", "fields.percent.value", "with the alias of its fact"),
        ("fact: gpu-load", "fact: busy", "derived", "need each other"),
    ],
)
def test_a_broken_derived_fact_gives_one_error(rule_base: RuleBase, old: str, new: str, key: str, cure: str) -> None:
    folder = rule_base(**{"derived/busy.yaml": DERIVED.replace(old, new)})
    with pytest.raises(KnowledgeError) as raised:
        load_knowledge(folder)
    (error,) = raised.value.errors
    assert error.key == key
    assert cure in error.message


def test_examples_are_passed_over_where_nobody_asks_for_them(rule_base: RuleBase) -> None:
    folder = rule_base(("expect: nothing", "expect: cause"))
    assert "narrow-link" in load_knowledge(folder, examples=False).causes
    with pytest.raises(KnowledgeError):
        load_knowledge(folder)

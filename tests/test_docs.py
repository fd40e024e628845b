"""What the documents say is true: commands parse, shown output is printed so, pages are fresh, links lead somewhere."""

from __future__ import annotations

import re
import shlex
import shutil
from math import log
from pathlib import Path

import click
import pytest

from diagnose.cli.main import cli
from diagnose.engine.session import SessionRunner
from diagnose.knowledge.loader import load_knowledge
from diagnose.knowledge.schema import Risk, Strength
from diagnose.ranking import checks, examples, model, rank
from tools import readme_output, reference_pages

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
DOCUMENTS = readme_output.documents()
GENERATED = {DOCS / name for name in reference_pages.pages()}
BLOCK = re.compile(r"^```sh\n(.*?)^```$|((?:^    \S.*\n)+)", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(?:[^#\n]*\| )?diagnose (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:)([^)#]+)")


def commands(path: Path) -> list[str]:
    """Arguments of every `diagnose` command in a document's code blocks."""
    blocks = ["".join(part or "" for part in groups) for groups in BLOCK.findall(path.read_text(encoding="utf-8"))]
    return [found for block in blocks for found in COMMAND.findall(re.sub(r"^ +", "", block, flags=re.MULTILINE))]


WRITTEN = [(path.name, line) for path in DOCUMENTS if path not in GENERATED for line in commands(path)]


def test_the_readme_shows_how_to_see_it_work_and_how_to_test_it() -> None:
    text = README.read_text(encoding="utf-8")
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "docs"):
        assert f"make {target}" in text
        assert re.search(rf"^{target}:", targets, re.MULTILINE)


def test_the_documents_show_commands() -> None:
    assert len([line for name, line in WRITTEN if name == "README.md"]) >= 8
    assert len([line for name, line in WRITTEN if name == "writing-rules.md"]) >= 4


@pytest.mark.parametrize(("document", "line"), WRITTEN)
def test_every_command_that_a_document_shows_is_accepted(
    document: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = shlex.split(line, comments=True)
    with_files_named(arguments, tmp_path)
    monkeypatch.chdir(tmp_path)
    command: click.Command = cli
    context = click.Context(cli, info_name="diagnose")
    while isinstance(command, click.Group):
        found = command.get_command(context, arguments[0])
        assert found is not None, f"{document}: {line}"
        command = found
        arguments = arguments[1:]
        if not isinstance(command, click.Group):
            context = command.make_context(command.name, arguments, parent=context)
    for option in ("symptoms", "explained", "cause"):
        value = context.params.get(option) or ()
        for name in (value,) if isinstance(value, str) else value:
            assert name in known_names(), f"{document}: {line}"


def with_files_named(arguments: list[str], folder: Path) -> None:
    """Everything of the checkout, and an empty file for each file that the reader is to have."""
    for entry in ("fixtures", "rules", "docs"):
        (folder / entry).symlink_to(ROOT / entry)
    for argument in arguments:
        if re.search(r"[/.]", argument) and not argument.startswith("-") and not (folder / argument).exists():
            (folder / argument).parent.mkdir(parents=True, exist_ok=True)
            (folder / argument).touch()


def known_names() -> set[str]:
    knowledge = load_knowledge()
    return {*knowledge.causes, *knowledge.symptoms, "CAUSE"}


def test_the_output_that_documents_show_is_what_the_program_prints() -> None:
    shown = [path for path in DOCUMENTS if readme_output.BLOCK.search(path.read_text(encoding="utf-8"))]
    assert {path.name for path in shown} >= {"README.md", "ranking.md"}
    stale = [path.name for path in shown if readme_output.refreshed(text := path.read_text(encoding="utf-8")) != text]
    assert stale == [], "run `make docs`"


def test_the_generated_pages_are_fresh() -> None:
    stale = [
        name
        for name, text in reference_pages.pages().items()
        if not (DOCS / name).is_file() or (DOCS / name).read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `make docs`"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files_that_exist(path: Path) -> None:
    absent = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if not (path.parent / link).exists()]
    assert absent == []


def test_the_exit_codes_of_the_readme_are_those_of_the_program() -> None:
    from diagnose.cli.exit_codes import ExitCode

    rows = re.findall(r"^\| (\d+) \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(row) for row in rows] == [int(code) for code in ExitCode]


def test_the_worked_example_of_a_rule_is_valid_and_its_examples_hold(tmp_path: Path) -> None:
    text = (DOCS / "writing-rules.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (place,) = re.findall(r"`rules/([\w-]+/[\w-]+\.yaml)`:\n", text)
    folder = tmp_path / "rules"
    shutil.copytree(ROOT / "rules", folder)
    assert not (folder / place).exists(), "a rule of this name exists by now: choose another example"
    (folder / place).write_text(example, encoding="utf-8")

    knowledge = load_knowledge(folder)

    known = knowledge.causes[Path(place).stem]
    assert list(examples.run_examples(SessionRunner(knowledge), known)) == []


def test_the_page_on_ranking_gives_the_figures_of_the_code() -> None:
    text = (DOCS / "ranking.md").read_text(encoding="utf-8")
    for strength in Strength:
        after = rank.logistic(rank.logit(0.02) + log(strength.likelihood_ratio))
        assert f"| {strength.value} | {strength.likelihood_ratio:g} | {after * 100:.2g}% |" in text
    for risk in Risk:
        assert f"`{risk.value}`" in text
        assert f"{checks.RISK_SECONDS[risk]:g}" in text
    assert f"from {model.SUSPECTED:.0%} on" in text
    assert f"From {model.ESTABLISHED:.0%} on" in text
    assert f"until they fill {1 - rank.NONE_OF_THESE:.0%}" in text
    assert f"show in {checks.SENSITIVITY} of the cases" in text
    assert f"cost = {checks.BASE_SECONDS:g} s" in text

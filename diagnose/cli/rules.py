"""`diagnose rules`: list, show, check and test the rule files."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from diagnose.cli.exit_codes import ExitCode

_FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of rule files. [default: the bundled rules]",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def rules() -> None:
    """List, show, check and test the rules."""


@rules.command()
@_FOLDER
def lint(folder: Path | None) -> ExitCode:
    """Check every rule file; each error names file, line, key and cure."""
    from diagnose.knowledge.base import KnowledgeError
    from diagnose.knowledge.loader import load_knowledge

    try:
        knowledge = load_knowledge(folder)
    except KnowledgeError as error:
        for item in error.errors:
            click.echo(str(item))
        click.echo(f"{len(error.errors)} to mend", err=True)
        return ExitCode.CAUSES_FOUND
    evidence = sum(len(known.evidence) for known in knowledge.causes.values())
    click.echo(f"{len(knowledge.causes)} causes with {evidence} pieces of evidence: no errors")
    return ExitCode.NOTHING_FOUND


@rules.command()
@_FOLDER
@click.argument("causes", nargs=-1)
def test(folder: Path | None, causes: tuple[str, ...]) -> ExitCode:
    """Run the examples of every rule file, or of the CAUSES named."""
    from diagnose.engine.session import SessionRunner
    from diagnose.knowledge.loader import load_knowledge
    from diagnose.ranking.examples import run_examples

    knowledge = load_knowledge(folder)
    runner = SessionRunner(knowledge)
    chosen = [known for name, known in knowledge.causes.items() if not causes or name in causes]
    failures = [failure for known in chosen for failure in run_examples(runner, known)]
    for failure in failures:
        click.echo(f"{failure.cause_id}: {failure.example}: {failure.message}")
    examples = sum(len(known.examples) for known in chosen)
    click.echo(f"{examples - len(failures)} of {examples} examples hold")
    return ExitCode.CAUSES_FOUND if failures else ExitCode.NOTHING_FOUND


@rules.command(name="list")
@_FOLDER
def list_(folder: Path | None) -> ExitCode:
    """List the causes, one a line: id, severity, symptoms, title."""
    from diagnose.knowledge.loader import load_knowledge

    for name, known in load_knowledge(folder).causes.items():
        cause = known.cause
        click.echo(f"{name:<32} {cause.severity:<9} {','.join(cause.symptoms):<45} {cause.title}")
    return ExitCode.NOTHING_FOUND


@rules.command()
@_FOLDER
@click.argument("cause")
def show(folder: Path | None, cause: str) -> ExitCode:
    """Show what the rules know about a CAUSE."""
    from diagnose.knowledge.expression import suggestion
    from diagnose.knowledge.loader import load_knowledge
    from diagnose.report.explain import write_knowledge

    causes = load_knowledge(folder).causes
    if cause not in causes:
        raise click.UsageError(f"no cause is called {cause!r}{suggestion(cause, dict(causes))}")
    write_knowledge(causes[cause], sys.stdout)
    return ExitCode.NOTHING_FOUND

"""`diagnose explain CAUSE PATH...`: every term of a cause's probability."""

from __future__ import annotations

import sys
from typing import Literal

import click

from diagnose.cli.exit_codes import ExitCode


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("cause")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--symptom", "symptoms", multiple=True, metavar="ID", help="A symptom that you see; may be repeated.")
@click.option("--host", metavar="NAME", help="Only this host; inputs that name no host are taken as its own.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(
    cause: str, paths: tuple[str, ...], symptoms: tuple[str, ...], host: str | None, style: Literal["text", "json"]
) -> ExitCode:
    """Take the probability of CAUSE apart: prior, every piece of evidence with its weight and source, what is missing.

    Without PATHs it shows what would speak for and against the cause.
    """
    return explain_cause(cause, paths, symptoms, host, style)


def explain_cause(
    cause_id: str,
    paths: tuple[str, ...],
    symptoms: tuple[str, ...],
    host: str | None,
    style: Literal["text", "json"],
) -> ExitCode:
    """Explain a cause on inputs, or as the rules have it."""
    from diagnose.knowledge.expression import suggestion
    from diagnose.knowledge.loader import load_knowledge
    from diagnose.report.explain import write_explanation, write_knowledge

    knowledge = load_knowledge()
    if cause_id not in knowledge.causes:
        raise click.UsageError(f"no cause is called {cause_id!r}{suggestion(cause_id, dict(knowledge.causes))}")
    if not paths:
        write_knowledge(knowledge.causes[cause_id], sys.stdout)
        return ExitCode.NOTHING_FOUND
    from diagnose.cli.inputs import run_analysis
    from diagnose.report.build import report_cause

    diagnosis = run_analysis(paths, symptoms, host).diagnosis
    ranked = next((item for item in (*diagnosis.causes, *diagnosis.considered) if item.cause_id == cause_id), None)
    if ranked is None:
        click.echo(f"Nothing in these inputs speaks for or against {cause_id}. What would:", err=True)
        write_knowledge(knowledge.causes[cause_id], sys.stdout)
        return ExitCode.NOTHING_FOUND
    if style == "json":
        sys.stdout.write(report_cause(ranked).model_dump_json(indent=1) + "\n")
    else:
        write_explanation(report_cause(ranked), sys.stdout)
    return ExitCode.CAUSES_FOUND if ranked.put_forward else ExitCode.NOTHING_FOUND

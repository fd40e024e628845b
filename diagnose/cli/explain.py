"""`diagnose explain CAUSE PATH...`: every term of a cause's probability."""

from __future__ import annotations

from typing import Literal

import click

from diagnose.cli.exit_codes import FAIL_ON, ExitCode, exit_code
from diagnose.cli.output import remark, standard_output
from diagnose.cli.question import Question


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("cause")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--symptom", "symptoms", multiple=True, metavar="ID", help="A symptom that you see; may be repeated.")
@click.option("--host", metavar="NAME", help="Only this host; inputs that name no host are taken as its own.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="warning",
    show_default=True,
    help="Exit with 1 from this severity on.",
)
def explain(
    cause: str,
    paths: tuple[str, ...],
    symptoms: tuple[str, ...],
    host: str | None,
    style: Literal["text", "json"],
    fail_on: str,
) -> ExitCode:
    """Take the probability of CAUSE apart: prior, every piece of evidence with its weight and source, what is missing.

    Without PATHs it shows what would speak for and against the cause.
    """
    return explain_cause(cause, Question(paths, symptoms, host), style, fail_on)


def explain_cause(cause_id: str, question: Question, style: Literal["text", "json"], fail_on: str) -> ExitCode:
    """Explain a cause on inputs, of which a fresh recording may be one, or as the rules have it."""
    from diagnose.knowledge.expression import suggestion
    from diagnose.knowledge.loader import load_knowledge
    from diagnose.report.explain import write_explanation, write_knowledge

    knowledge = load_knowledge()
    if cause_id not in knowledge.causes:
        raise click.UsageError(f"no cause is called {cause_id!r}{suggestion(cause_id, dict(knowledge.causes))}")
    known = knowledge.causes[cause_id]
    if question.empty:
        if style == "json":
            raise click.UsageError("--format json takes a probability apart: name inputs too")
        with standard_output() as stream:
            write_knowledge(known, stream)
        return ExitCode.NOTHING_FOUND
    from diagnose.cli.inputs import run_analysis
    from diagnose.ranking.model import ESTABLISHED
    from diagnose.report.as_json import write_model
    from diagnose.report.build import report_cause

    analysis = run_analysis(question)
    for path, detail in analysis.unreadable():
        remark(f"{path}: {detail}")
    diagnosis = analysis.diagnosis
    ranked = next((item for item in (*diagnosis.causes, *diagnosis.considered) if item.cause_id == cause_id), None)
    with standard_output() as stream:
        if ranked is None and style == "json":
            stream.write("null\n")
        elif ranked is None:
            remark(f"Nothing in these inputs speaks for or against {cause_id}. What would:")
            write_knowledge(known, stream)
        elif style == "json":
            write_model(report_cause(ranked), stream)
        else:
            write_explanation(report_cause(ranked), stream)
    found = ranked is not None and ranked.put_forward and ranked.probability >= ESTABLISHED
    return exit_code(
        severities=[known.cause.severity] if found else [],
        fail_on=fail_on,
        unusable=analysis.unusable,
        incomplete=analysis.incomplete,
    )

"""`diagnose` and `diagnose tui`: the terminal interface."""

from __future__ import annotations

import gc
import os
import sys

import click

from diagnose.cli.exit_codes import ExitCode


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--symptom", "symptoms", multiple=True, metavar="ID", help="A symptom that you see; may be repeated.")
@click.option("--resume", metavar="ID", help="Go on with a session; `last` is the one changed last.")
@click.option("--theme", metavar="NAME", help="Colours: diagnose-dark, diagnose-light, or one that Ctrl+P lists.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters alone.")
def tui(
    paths: tuple[str, ...], symptoms: tuple[str, ...], resume: str | None, theme: str | None, ascii_only: bool
) -> ExitCode:
    """Walk from a symptom to a verified fix, in a full-screen interface.

    Without PATHS it asks what is to be diagnosed: this machine, files, a simulated machine, an earlier session. It only
    reads, and shows fixes for you to carry out. Every walk is saved as it goes and can be resumed.
    """
    if not on_terminal():
        raise click.UsageError(
            "the full-screen interface needs a terminal; `diagnose analyze` gives the answer as text"
        )
    if resume is not None and paths:
        raise click.UsageError("--resume goes on with a session; name either it or paths")
    return run(paths, symptoms, resume, theme, ascii_only)


def on_terminal() -> bool:
    """Whether there is a terminal to draw on and to type at."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def run(
    paths: tuple[str, ...] = (),
    symptoms: tuple[str, ...] = (),
    resume: str | None = None,
    theme: str | None = None,
    ascii_only: bool = False,
) -> ExitCode:
    """Open the interface and wait for its end."""
    # Nothing that is made until the first screen stands is garbage: looking for it takes a tenth of the time till then.
    gc.disable()
    from diagnose.sessions.store import SessionStore
    from diagnose.settings import SettingsError, load_settings
    from diagnose.tui.app import DiagnoseApp
    from diagnose.tui.model.events import Origin, OriginKind

    try:
        settings = load_settings(theme=theme, characters="ascii" if ascii_only else None)
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    if symptoms:
        from diagnose.cli.symptoms import check_symptoms
        from diagnose.knowledge.loader import load_knowledge

        check_symptoms(symptoms, load_knowledge(examples=False))
    if resume == "last":
        resume = SessionStore(settings.sessions_folder).latest()
        if resume is None:
            raise click.UsageError("there is no session yet")
    scenario = click.get_current_context().find_root().params.get("simulate")
    origin = None
    if scenario is not None:
        origin = Origin(kind=OriginKind.SIMULATION, scenario=scenario)
    elif paths:
        origin = Origin(kind=OriginKind.FILES, paths=paths, folder=os.getcwd())  # noqa: PTH109 - kept as text
    DiagnoseApp(settings, origin=origin, session=resume, symptoms=symptoms).run()
    return ExitCode.NOTHING_FOUND

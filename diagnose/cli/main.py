"""Entry point: a command group that loads a command's module only when the command runs."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn

import click

from diagnose import __version__
from diagnose.cli.exit_codes import ExitCode
from diagnose.cli.output import accept_every_character, open_closed_streams, remark, standard_output

COMMANDS: Mapping[str, tuple[str, str]] = {
    "analyze": ("diagnose.cli.analyze:analyze", "Rank the causes that files, folders or a paste speak for."),
    "check": ("diagnose.cli.check:check", "One line on this machine's health, for cron, Slurm and Kubernetes."),
    "collect": ("diagnose.cli.collect:collect", "Record this machine for a diagnosis elsewhere."),
    "explain": ("diagnose.cli.explain:explain", "Take a cause's probability apart, term by term."),
    "compare": ("diagnose.cli.compare:compare", "Two results side by side: what changed, and is it better?"),
    "bundle": ("diagnose.cli.bundle:bundle", "Look into a bundle, check it, take names and secrets out of it."),
    "latency": ("diagnose.cli.latency:latency", "Tell when requests are slow, and what goes along with it."),
    "scaling": ("diagnose.cli.scaling:scaling", "Explain how throughput grows with the number of GPUs."),
    "lowbit": ("diagnose.cli.lowbit:lowbit", "Compare a low-precision run or checkpoint with its reference."),
    "capture": ("diagnose.cli.capture:capture", "Record a model's inside in high or low precision."),
    "topology": ("diagnose.cli.topology:topology", "Draw how a machine's GPUs and NICs are connected."),
    "tui": ("diagnose.cli.tui:tui", "Walk from a symptom to a verified fix (also without any command)."),
    "config": ("diagnose.cli.config:config", "Show where the settings stand, and what they are."),
    "rules": ("diagnose.cli.rules:rules", "List, show, check and test the rules."),
}
"""Command to where it stands, with the line that help shows, so that help loads none of them."""

READ_THE_MACHINE = ("analyze", "check", "collect", "tui")
"""Commands that a scenario can stand in for the machine of."""


class LazyGroup(click.Group):
    """Knows its commands by name and imports them when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; click itself would end with 1, which means `causes found`, when the reader has left."""
        with standard_output():
            result: object = super().invoke(ctx)
            return result
        return ExitCode.NOTHING_FOUND

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Help from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _simulation(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Lists the scenarios where that is asked for; refuses a name that there is not."""
    if value is None or ctx.resilient_parsing:
        return value
    from diagnose.simulate.environment import scenario_names, scenario_title

    names = scenario_names()
    if value == "list":
        click.echo("\n".join(f"{name:<20} {scenario_title(name)}" for name in names))
        ctx.exit()
    if value not in names:
        raise click.UsageError(f"no scenario is called {value!r}; there are: {', '.join(names)}")
    return value


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="diagnose")
@click.option(
    "--simulate",
    metavar="SCENARIO",
    callback=_simulation,
    help="Read a simulated machine in place of this one (tui, check, collect, analyze --live); `list` names them.",
)
@click.pass_context
def cli(ctx: click.Context, simulate: str | None) -> ExitCode | None:
    """Find out why a GPU server or cluster is slow or broken: ranked causes, their evidence, the fix.

    \b
    diagnose                                       asks, at a terminal, and leads from symptom to fix
    diagnose analyze dmesg.txt nvidia-smi-q.txt    files as they are
    nvidia-smi -q | diagnose analyze -             standard input
    diagnose analyze --symptom multi-gpu-scaling support-bundle/

    Exit codes: 0 nothing found, 1 causes found, 2 wrong usage or nothing readable,
    3 an input was only partly read and nothing was found in the rest, 130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        return _without_command(ctx)
    if simulate is not None and ctx.invoked_subcommand not in READ_THE_MACHINE:
        raise click.UsageError(f"--simulate is for the commands that read a machine: {', '.join(READ_THE_MACHINE)}")
    return None


def _without_command(ctx: click.Context) -> ExitCode:
    """The full-screen interface at a terminal; elsewhere the help, and the code of a wrong use."""
    from diagnose.cli.tui import on_terminal, run

    if on_terminal():
        return run()
    if ctx.params["simulate"] is not None:
        raise click.UsageError(f"--simulate is for the commands that read a machine: {', '.join(READ_THE_MACHINE)}")
    click.echo(ctx.get_help(), err=True)
    return ExitCode.UNUSABLE


def main() -> NoReturn:
    """Run the command line; every way out has an exit code and a sentence, never a traceback."""
    open_closed_streams()
    accept_every_character()
    try:
        code = cli.main(prog_name="diagnose", standalone_mode=False)
    except click.exceptions.Abort:
        code = _interrupted()
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        remark(words.getvalue().rstrip("\n"))
        code = ExitCode.UNUSABLE
    except KeyboardInterrupt:
        code = _interrupted()
    except Exception as error:
        code = _unexpected(error)
    sys.exit(int(code) if isinstance(code, int) else ExitCode.NOTHING_FOUND)


def _interrupted() -> ExitCode:
    remark("Interrupted.")
    return ExitCode.INTERRUPTED


def _unexpected(error: Exception) -> ExitCode:
    """A known error ends in its sentence; a defect of ours names where it happened, for the report."""
    from diagnose.cli.errors import known_error

    message = known_error(error)
    if message is None:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
        message = f"internal error: {type(error).__name__}: {error}{place}; please report it with the input if you can"
    remark(f"diagnose: {message}")
    return ExitCode.UNUSABLE


if __name__ == "__main__":
    main()

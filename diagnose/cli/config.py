"""`diagnose config`: where the settings stand, and what they are."""

from __future__ import annotations

import click

from diagnose.cli.exit_codes import ExitCode
from diagnose.cli.output import standard_output


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def config() -> None:
    """Show where the settings stand, and what they are."""


@config.command()
def locate() -> ExitCode:
    """Print the path of the settings' file, which need not exist."""
    from diagnose.settings import settings_file

    with standard_output() as stream:
        stream.write(f"{settings_file()}\n")
    return ExitCode.NOTHING_FOUND


@config.command()
def show() -> ExitCode:
    """Print the settings in force, as the file would have them."""
    from diagnose.settings import SettingsError, load_settings, settings_as_toml

    try:
        settings = load_settings()
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    with standard_output() as stream:
        stream.write(settings_as_toml(settings))
    return ExitCode.NOTHING_FOUND

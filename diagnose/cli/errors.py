"""Errors that are no defects, as sentences."""

from __future__ import annotations

import click

from diagnose.cli.exit_codes import ExitCode


class UnusableInput(click.ClickException):
    """What was given cannot be used; the command itself was written rightly, so that its help would not help."""

    exit_code = ExitCode.UNUSABLE


def known_error(error: Exception) -> str | None:
    """The sentence for an error that the user can do something about; None for a defect of the program."""
    from diagnose.engine import EngineError, EngineUnavailable
    from diagnose.knowledge.base import KnowledgeError
    from diagnose.simulate.build import BuildError

    if isinstance(error, KnowledgeError):
        return f"the rules cannot be used:\n{error}"
    if isinstance(error, EngineUnavailable | BuildError):
        return str(error)
    if isinstance(error, EngineError):
        return f"these inputs are too many for one diagnosis, look at one host at a time with --host ({error})"
    if isinstance(error, MemoryError):
        return "out of memory; analyse fewer files at once"
    if isinstance(error, OSError):
        return f"{error.filename or 'reading or writing failed'}: {error.strerror}"
    return None

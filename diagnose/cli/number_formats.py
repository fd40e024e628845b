"""The option that names a low-bit number format, checked in one place."""

from __future__ import annotations

import click


def check_format(name: str | None) -> None:
    """Raise UsageError for a format that is unknown; none named is none wrong."""
    if name is None:
        return
    from diagnose.lowbit.deployed import DEPLOYED, deployed

    if deployed(name) is None:
        raise click.UsageError(f"the format {name!r} is unknown; there are: {', '.join(DEPLOYED)}")

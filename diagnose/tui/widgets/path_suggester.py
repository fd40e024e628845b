"""Completes paths while they are typed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from textual.suggester import Suggester

_LIMIT_SECONDS = 0.3
"""A folder on a server that does not answer must not hold up the typing."""


class PathSuggester(Suggester):
    """Suggests the first file or folder that begins as typed; the Right key takes it."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """The whole path, None where there is none."""
        try:
            return await asyncio.wait_for(asyncio.to_thread(completed, value), _LIMIT_SECONDS)
        except TimeoutError:
            return None


def completed(value: str) -> str | None:
    """The path with its last part completed, folders with a slash at their end."""
    if not value:
        return None
    head, typed = os.path.split(value)
    folder = Path(os.path.expanduser(head or "."))  # noqa: PTH111 - the typed `~` stays in the suggestion
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.startswith(typed))
    except OSError:
        return None
    shown = [name for name in names if typed.startswith(".") or not name.startswith(".")]
    if not shown:
        return None
    ending = "/" if (folder / shown[0]).is_dir() else ""
    return value[: len(value) - len(typed)] + shown[0] + ending

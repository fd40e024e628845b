"""What can go wrong with sessions, as sentences."""

from __future__ import annotations


class SessionError(Exception):
    """A session that cannot be used; the text says why and what to do."""

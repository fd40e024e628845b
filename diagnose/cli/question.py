"""What is to be diagnosed, as the command line says. Light, so that help need not wait for what answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diagnose.cli.prometheus_options import PrometheusQuestion


@dataclass(frozen=True)
class Question:
    """Inputs, and what the operator says of them."""

    paths: Sequence[str]
    symptoms: Sequence[str] = ()
    host: str | None = None
    """Only this host."""
    live: Path | None = None
    """Folder of a recording that was made just now."""
    pattern: str | None = None
    """Regular expression of a training log of an own format."""
    columns: Sequence[str] = ()
    """Columns of tables of requests whose names do not tell what they hold: `ttft=first`."""
    units: Sequence[str] = ()
    """Units of columns whose names do not tell them: `first=ms`."""
    prometheus: PrometheusQuestion | None = None
    """A server to read."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to read."""
        return not self.paths and self.live is None and self.prometheus is None

"""Options of commands that read a Prometheus server, gathered into one description of what is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

_AGO = re.compile(r"^(\d{1,6}(?:\.\d{1,3})?)(s|m|h|d|w)$")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class PrometheusQuestion:
    """A server, the time that is asked about, and how to get in. Secrets stay in their files."""

    url: str
    since: str = "1h"
    until: str | None = None
    step: str | None = None
    matchers: tuple[str, ...] = ()
    bearer_token_file: Path | None = None
    user: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None
    insecure: bool = False


def moment(text: str, now: float, name: str) -> float:
    """`6h` ago, or a date and time, as seconds since 1970; without a zone it is UTC. Raises UsageError."""
    if match := _AGO.match(text):
        return now - float(match[1]) * _SECONDS[match[2]]
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        sentence = f"{name}: {text!r} is neither a length of time (6h, 2d) nor a date and time (2026-02-03T10:00:00Z)"
        raise click.UsageError(sentence) from None
    return (told if told.tzinfo is not None else told.replace(tzinfo=UTC)).timestamp()


def length(text: str, name: str) -> float:
    """`15s` in seconds. Raises UsageError."""
    match = _AGO.match(text)
    if match is None or float(match[1]) <= 0:
        raise click.UsageError(f"{name}: {text!r} is no length of time; write 15s or 1m")
    return float(match[1]) * _SECONDS[match[2]]


_FILE = click.Path(path_type=Path)
_OPTIONS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("--prometheus", {"metavar": "URL", "help": "Read this Prometheus server, beside PATHS if there are any."}),
    ("--since", {"metavar": "TIME", "help": "With --prometheus: 6h, 2d, or a date and time.  [default: 1h]"}),
    ("--until", {"metavar": "TIME", "help": "With --prometheus: the end of the time asked about.  [default: now]"}),
    ("--step", {"metavar": "TIME", "help": "With --prometheus: one value each 15s, 1m; default is every scrape."}),
    (
        "--match",
        {"metavar": "LABEL=VALUE", "multiple": True, "help": "With --prometheus: label of what to read."},
    ),
    ("--bearer-token-file", {"metavar": "FILE", "type": _FILE, "help": "File of a bearer token."}),
    ("--user", {"metavar": "NAME", "help": "User for basic authentication."}),
    (
        "--password-file",
        {"metavar": "FILE", "type": _FILE, "help": "File of that user's password."},
    ),
    ("--ca-file", {"metavar": "FILE", "type": _FILE, "help": "CA of the server's certificate."}),
    ("--insecure", {"is_flag": True, "help": "Do not check the server's certificate."}),
)
_NAMES = tuple(name.removeprefix("--").replace("-", "_") for name, _ in _OPTIONS)


def prometheus_options(command: Command) -> Command:
    """Adds the options; the command gets one argument, `prometheus`: a PrometheusQuestion or None."""

    @wraps(command)
    def gathered(**values: Any) -> Any:
        given = {name: values.pop(name) for name in _NAMES}
        return command(prometheus=_question(given), **values)

    for name, more in reversed(_OPTIONS):
        gathered = click.option(name, **more)(gathered)
    return gathered  # type: ignore[return-value]  # wraps keeps what callers see


def _question(given: Mapping[str, Any]) -> PrometheusQuestion | None:
    url = given["prometheus"]
    others = {name: value for name, value in given.items() if name != "prometheus" and value not in (None, False, ())}
    if url is None:
        if others:
            option = next(iter(others)).replace("_", "-")
            raise click.UsageError(f"--{option} is for reading a Prometheus server; name it with --prometheus URL")
        return None
    if "bearer_token_file" in others and "user" in others:
        raise click.UsageError("--bearer-token-file and --user exclude each other")
    if "password_file" in others and "user" not in others:
        raise click.UsageError("--password-file needs --user")
    if "match" in others:
        others["matchers"] = tuple(others.pop("match"))
    return PrometheusQuestion(url=url, **others)

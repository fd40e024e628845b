"""Lines of a captured terminal that are no output: prompts, and headings that name a host or a command."""

from __future__ import annotations

import re
from dataclasses import dataclass

from collectors.commands import KNOWN_COMMANDS, SAFE_COMMANDS, Command, understand

MARK_LITERALS: tuple[bytes, ...] = (
    *(b"\n" + start for start in (b"> ", b"% ", b"+ ", b"$nv", b"PS ", b"==", b"---", b"***", b"##", b"~~", b"___")),
    *(b"$ ", b"# ", b"$\n", b"#\n", b"]# ", b"> nvidia-smi", b">nvidia-smi", b"> dcgmi", b"```"),
    *(b"| CHANGED", b"| SUCCESS", b"| FAILED", b"| UNREACHABLE"),
)
"""Cheap filter: any line that `mark_of` may recognise contains one of these, or follows a ruler."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a prompt or heading says about the lines below it."""

    host: str | None = None
    """Host that it names; None leaves the one known so far."""
    command: Command | None = None
    ruler: bool = False
    """A line of dashes or underscores: what it means depends on the lines below."""


_BEFORE = r"^(?:# )?(?:\([\w.-]+\) ?)*(?:\[?\d\d:\d\d:\d\d\]?\s+)?"
_USER = r"[A-Za-z_][\w.-]*@(?P<host>[A-Za-z0-9][\w.-]*)"
_USER_PROMPTS = (
    re.compile(rf"{_BEFORE}\[{_USER}(?:[ :][^\]]{{0,300}})?\]\s?[$#%>](?P<command>.*)$"),
    re.compile(rf"{_BEFORE}{_USER}(?:[: ]\s?[~/][^\s$#%>]*(?: \([^)]*\))?\s?[$#%>]|:?\s?[$#])(?P<command>\s.*|)$"),
    re.compile(r"^(?P<host>[A-Za-z][\w.-]*):[~/][^\s:]* [#$>](?P<command> .*|)$"),
)
_SHELL_PROMPT = re.compile(r"^(?:# \$|\$|(?:bash|sh)-\d[\d.]*[$#]|PS [A-Z]:\\[^>]*>)\s+(?P<command>\S.*)$")
_KNOWN_ONLY = re.compile(r"^(?:[>%+]|\${1,2}|[A-Z]:\\[^>]*>)\s*(?P<command>[\w./~-]+(?:\s.*)?)$")
_ROOT_OR_COMMENT = re.compile(r"^#\s+(?P<command>[\w./-]+(?:\s.*)?)$")
_CONTAINER_ID = re.compile(r"^(?=.*\d)[0-9a-f]{12}$")

_RULER = re.compile(r"^(?:-{8,}|_{20,}|#{20,})$")
_FENCE = re.compile(r"^\s*```[\w-]*\s*$")
_LISTED = re.compile(r"^\*\*\* ls: .* (?P<path>/\S+)$")
_HEADING = re.compile(r"^(?P<left>[=*#~-]{2,}>?|_{4,})\s*(?P<body>[^=*#~\s<>-][^<>]*?)\s*(?P<right><?[=*#~_-]{2,})?$")
_NAMED = re.compile(r"^(?:host|hostname|node|server|machine)\s*[:= ]\s*(?P<host>[A-Za-z0-9][\w.-]*)$", re.IGNORECASE)
_HOST = re.compile(r"^(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*$")
_ADDRESS = re.compile(r"^\d{1,3}(?:\.\d{1,3}){3}$")
_COUNTED = (
    "test|run|step|phase|part|case|iter|iteration|rank|stage|section|trial|round|exp|experiment|epoch|link|port|mlx5|ib|"
    "eth|nic|numa|cpu|v|day|attempt|log|file|version|level|task|job|cuda|nccl|pytorch|torch|python"
)
_FILE_ENDINGS = "log|txt|json|csv|xml|out|gz|md|ya?ml"
_NO_HOST = re.compile(
    rf"^(?:(?:{_COUNTED})[-_. ]?v?\d[\d.]*"
    r"|gpu[-_. ]?(?!0\d)\d+"  # GPU 7 is a device, gpu07 a machine
    r"|[abhltv]\d{1,4}s?|gb\d+|gh\d+|rtx.*|(?:fp|bf|int|uint|nvfp|mxfp)\d+|\d+\w{0,3}"
    rf"|.*\.(?:{_FILE_ENDINGS}))$",
    re.IGNORECASE,
)
_ANSIBLE = re.compile(r"^(?P<host>[\w.-]+) \| (?:CHANGED|SUCCESS|FAILED|UNREACHABLE)!?(?: \||\s*=>)")
_GATHERED = re.compile(r"^(?P<host>[A-Za-z0-9][\w.-]*)(?: \(1\))?$")
_PATH = re.compile(r"^/[\w./:@+-]+$")


def mark_of(text: str) -> Mark | None:
    """What a line says as prompt or heading; None for output."""
    return _prompt(text) or _heading(text)


def _prompt(text: str) -> Mark | None:
    for pattern in _USER_PROMPTS:
        if match := pattern.match(text):
            return _told(match["command"], _shell_host(match["host"]))
    if match := _SHELL_PROMPT.match(text):
        return _told(match["command"])
    if (match := _KNOWN_ONLY.match(text)) and _begins(match["command"], KNOWN_COMMANDS):
        return _told(match["command"])
    if (match := _ROOT_OR_COMMENT.match(text)) and _begins(match["command"], SAFE_COMMANDS):
        return _told(match["command"])
    return None


def _told(command: str, host: str | None = None) -> Mark:
    return Mark(host=host, command=understand(command))


def _shell_host(name: str) -> str | None:
    """A container's id and `localhost` say nothing about which machine it is."""
    return None if _CONTAINER_ID.match(name) or name.startswith("localhost") else name


def _begins(command: str, names: frozenset[str]) -> bool:
    return understand(command).program in names


def _heading(text: str) -> Mark | None:
    if _RULER.match(text):
        return Mark(ruler=True)
    if _FENCE.match(text):
        return Mark()
    if match := _ANSIBLE.match(text):
        return Mark(host=match["host"])
    if match := _LISTED.match(text):
        return Mark(command=understand(f"cat {match['path']}"))
    match = _HEADING.match(text)
    # A single dash or underscore rule at one side only is more often a list or a table.
    if match is None or (match["right"] is None and match["left"][0] in "-_~"):
        return None
    return _title(match["body"])


def _title(body: str) -> Mark | None:
    """A heading counts only where it names a host, a command or a file: output has headings of its own."""
    host = heading_host(body)
    if host is not None:
        return Mark(host=host)
    if _PATH.match(body):
        return Mark(command=understand(f"cat {body}"))
    command = understand(body.removeprefix("$ ").strip("`"))
    return Mark(command=command) if command.program in SAFE_COMMANDS else None


def heading_host(body: str) -> str | None:
    """The host that a heading's text names. Words without a digit count only after `host`, `node` or the like."""
    text = body.strip().rstrip(":")
    if match := _NAMED.match(text):
        return match["host"]
    if _ADDRESS.match(text):
        return text
    return text if _HOST.match(text) and not _NO_HOST.match(text) else None


def under_ruler(ruler: str, text: str) -> Mark | None:
    """What the first line below a ruler says: dshbak and clush put hosts between dashes, others commands."""
    if ruler.startswith("-"):
        match = _GATHERED.match(text)
        return Mark(host=match["host"]) if match else None
    body = text.removeprefix("*** ").removeprefix("# ").strip()
    if _PATH.match(body) and text.startswith("***"):
        return Mark(command=understand(f"cat {body}"))
    command = understand(body)
    return Mark(command=command) if command.program in SAFE_COMMANDS else None

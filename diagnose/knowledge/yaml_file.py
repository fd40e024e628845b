"""YAML with line numbers, and without its traps: no duplicate keys, no `yes`/`no`/`on`/`off`, no base-60 numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from diagnose.knowledge.expression import suggestion

Location = tuple[str | int, ...]


class RuleError(Exception):
    """A rule file that cannot be used: file, line, key, what is wrong and how to cure it."""

    def __init__(self, path: Path, line: int, key: str, message: str) -> None:
        self.path, self.line, self.key, self.message = path, line, key, message
        where = f"{path}:{line}"
        super().__init__(f"{where}: {key}: {message}" if key else f"{where}: {message}")


_Fastest: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C is ten times faster; PyYAML may be built without it."""


class _Loader(_Fastest):  # type: ignore[misc]
    """Types as in YAML 1.2's core schema."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


@dataclass(frozen=True)
class YamlFile:
    """The content of a file and the line of every key and item in it."""

    path: Path
    data: Any
    lines: dict[Location, int]

    def line(self, location: Sequence[str | int]) -> int:
        """Line of the nearest part that exists, going outwards."""
        parts = tuple(location)
        while parts and parts not in self.lines:
            parts = parts[:-1]
        return self.lines.get(parts, 1)

    def error(self, location: Sequence[str | int], message: str) -> RuleError:
        """An error at a place in the file."""
        return RuleError(self.path, self.line(location), dotted(location), message)


def dotted(location: Sequence[str | int]) -> str:
    """`evidence[2].when[0].where`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def read_yaml(path: Path) -> YamlFile:
    """Read a file. Raises RuleError with the line where the text is no YAML, or a key stands twice."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(path, 1, "", f"cannot be read: {error}") from None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise RuleError(path, 1, "", "the file is empty")
        lines: dict[Location, int] = {}
        _index(path, node, (), lines)
        return YamlFile(path, loader.construct_document(node), lines)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        cure = "; quote texts that hold `: ` or ` #`" if "mapping values" in (error.problem or "") else ""
        raise RuleError(path, line, "", f"is no valid YAML: {error.problem or error.context}{cure}") from None
    except yaml.YAMLError as error:
        raise RuleError(path, 1, "", f"is no valid YAML: {error}") from None
    except ValueError as error:
        raise RuleError(path, 1, "", f"holds a value that cannot be read: {error}") from None


def _index(path: Path, node: yaml.Node, location: Location, lines: dict[Location, int]) -> None:
    lines.setdefault(location, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                raise RuleError(path, key.start_mark.line + 1, dotted((*location, name)), "stands twice; keep one")
            seen.add(name)
            lines[(*location, name)] = key.start_mark.line + 1
            _index(path, value, (*location, name), lines)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            _index(path, item, (*location, number), lines)


def validation_errors(file: YamlFile, error: ValidationError, keys: dict[Location, list[str]]) -> list[RuleError]:
    """Pydantic's errors as sentences with file, line, key and cure; `keys` are the keys allowed at each location."""
    found: list[RuleError] = []
    details = error.errors()
    for detail in details:
        if _follows_from_another(detail, details):
            continue
        location = tuple(part for part in detail["loc"] if _is_real(part))
        found.append(file.error(location, _sentence(detail, keys)))
    return found


def _follows_from_another(detail: Any, details: Sequence[Any]) -> bool:
    """Whether an error is only the echo of another: a list that is empty because of a wrong item, a misspelt key."""
    location = detail["loc"]
    if detail["type"] == "too_short":
        return any(other["loc"][: len(location)] == location and other is not detail for other in details)
    if detail["type"] == "missing":
        misspelt = [
            str(other["loc"][-1])
            for other in details
            if other["type"] == "extra_forbidden" and other["loc"][:-1] == location[:-1]
        ]
        return bool(get_close_matches(str(location[-1]), misspelt))
    return False


def _is_real(part: str | int) -> bool:
    # Pydantic adds the names of union members and functions to the location; the file has no such keys.
    return isinstance(part, int) or (re.fullmatch(r"[A-Za-z0-9_]+", part) is not None and part not in ("Check", "str"))


def _sentence(detail: Any, keys: dict[Location, list[str]]) -> str:
    message = str(detail["msg"]).removeprefix("Value error, ")
    match detail["type"]:
        case "missing":
            return "is missing; add it"
        case "extra_forbidden":
            name = str(detail["loc"][-1])
            shape = tuple(part for part in detail["loc"][:-1] if not isinstance(part, int))
            return f"is not a key that is known here{suggestion(name, keys.get(shape, []))}"
        case "string_pattern_mismatch":
            return f"{detail['input']!r} is no valid name; use lower-case words joined by hyphens"
        case "enum" | "literal_error":
            return f"{detail['input']!r} is not one of {detail['ctx']['expected']}"
        case "too_short":
            least, has = detail["ctx"]["min_length"], detail["ctx"]["actual_length"]
            return f"needs at least {least} {'entry' if least == 1 else 'entries'}, and has {has}"
    return f"{message[:1].lower()}{message[1:]}"

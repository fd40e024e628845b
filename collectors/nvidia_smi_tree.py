"""The keys of `nvidia-smi -q`, text or XML, as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache


@dataclass(slots=True)
class Node:
    """One key with its value, or a section with the keys under it. Keys are in lower case, words apart by one blank."""

    key: str
    line: int
    value: str | None = None
    children: list[Node] = field(default_factory=list)

    def all(self, path: str) -> Iterator[Node]:
        """Nodes at a path such as `fb memory usage/total`; `a|b` in a step takes either name."""
        found = [self]
        for names in _steps(path):
            found = [child for node in found for child in node.children if child.key in names]
        yield from found

    def first(self, path: str) -> Node | None:
        """The first node at a path."""
        return next(self.all(path), None)

    def text(self, path: str) -> str | None:
        """The value of the first node at a path that has one."""
        return next((node.value for node in self.all(path) if node.value is not None), None)

    def walk(self) -> Iterator[Node]:
        """Every node below, without recursion: hostile files may nest deeply."""
        waiting = list(self.children)
        while waiting:
            node = waiting.pop()
            waiting.extend(node.children)
            yield node


@cache
def _steps(path: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(step.split("|")) for step in path.split("/"))

"""`kubectl get pods,nodes -o json`, as a file of its own or pasted below its command."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, FileCollector, OpenFile, Parsed
from collectors.json_text import load_object
from collectors.kubernetes_json import object_facts
from diagnose.facts import Source

_LARGEST = 512 << 20
_KIND = re.compile(rb'"kind":\s*"(?:Pod|Node|PodList|NodeList)"')
_TEXT_KIND = re.compile(r'"kind":\s*"(?:Pod|Node|PodList|NodeList)"')


class KubectlJsonFile(FileCollector):
    """A file that holds one list of objects, or one object."""

    kind: ClassVar[str] = "kubectl-json"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """An object of the API whose kind, or whose first item's, is a pod or a node."""
        return head.lstrip()[:1] == b"{" and b'"apiVersion"' in head[:200] and _KIND.search(head) is not None

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """Facts of every pod and node."""
        pieces: list[bytes] = []
        size = 0
        for piece in file.chunks():
            size += len(piece)
            if size > _LARGEST:
                return Parsed(
                    problems=[f"the list is larger than {_LARGEST >> 20} MB: ask for one namespace at a time"]
                )
            pieces.append(piece)
        try:
            content = json.loads(b"".join(pieces))
        except (ValueError, RecursionError):
            return Parsed(problems=["line 1: the JSON is damaged or incomplete"])
        return Parsed(list(object_facts(content, Source(path=file.name, line=1))))


class KubectlJson(BlockCollector):
    """The same within other text."""

    kind: ClassVar[str] = "kubectl-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'"kind": "Pod', b'"kind": "Node')
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bkubectl\b.*\bget\b.*\bjson\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """Never: the object begins with a lone brace."""
        return False

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """An object of the API."""
        text = "\n".join(lines)
        begins = text.lstrip().startswith("{") and '"apiVersion"' in text[:400]
        return 0.9 if begins and _TEXT_KIND.search(text) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of every pod and node."""
        content = load_object(block)
        if isinstance(content, Parsed):
            return content
        return Parsed(list(object_facts(content, block.source(), block.host)))

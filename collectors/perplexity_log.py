"""Logs of llama.cpp's perplexity tool: one endless line of values by chunk, in which nan may begin anywhere."""

from __future__ import annotations

import math
import re
from typing import ClassVar

from collectors.base import Line, LineCollector, Parsed
from collectors.json_text import real
from collectors.precision_words import precision_of, role_of
from diagnose.facts import Subject
from diagnose.facts.precision import PerplexityRun

_CHUNK = re.compile(r"\[(\d{1,7})\](-?(?:\d+(?:\.\d+)?|nan|inf))", re.IGNORECASE)
_CHUNKS_LINE = re.compile(r"^\s*(?:\[\d{1,7}\]-?(?:\d+\.\d+|nan|inf),)+", re.IGNORECASE)
_CALCULATING = re.compile(r"perplexity: calculating perplexity over (\d+) chunks, n_ctx ?= ?(\d+)")
_FINAL = re.compile(r"Final estimate: PPL(?: over \d+ chunks[^=]*)? = (-?[\d.]+|nan|inf)(?: \+/- ([\d.]+|nan))?")
_FILE_TYPE = re.compile(r"(?:model ftype\s*=|file type\s*=|ftype\s*=)\s*([A-Za-z0-9_ -]+?)(?:,|\s*$|\s\()")
_KV_TYPE = re.compile(r"type_k = '(\w+)'|K \((\w+)\):|c\^KV \((\w+)\):")
_MOST = 1024
_LOADER = (
    "perplexity: ", "llama_context", "llama_new_context", "llama_kv", "llama_model", "llama_init", "common_init",
    "print_info", "llm_load", "system_info: n_threads", "init: ", "Computed blk.", "============ Repacked",
)  # fmt: skip
"""How lines of the loader begin, which stand before the values."""


class PerplexityLog(LineCollector):
    """One run for each file; a run begins anew where the chunks count from 1 again."""

    kind: ClassVar[str] = "perplexity-log"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"[1]", b",[", b"calculating perplexity", b"Final estimate: PPL", b"ftype", b"file type", b"type_k = ",
        b"KV self size", b"perplexity: ", b"llama_", b"common_init", b"print_info", b"system_info: n_threads",
        b"llm_load", b"KV buffer size", b"Computed blk.", b" Repacked ",
    )  # fmt: skip

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._host: str | None = None
        self._line = 0
        self._chunks: dict[int, float] = {}
        self._expected: int | None = None
        self._context: int | None = None
        self._final: str | None = None
        self._stderr: float | None = None
        self._model: str | None = None
        self._kv: str | None = None

    def feed(self, line: Line, host: str | None) -> bool:
        """Lines with chunks are this collector's; lines of the loader are only looked at where they tell formats."""
        text = line.text
        # A very long line comes in parts, which may begin within a number.
        if _CHUNKS_LINE.match(text) or (self._chunks and len(_CHUNK.findall(text)) >= 3):
            self._line = self._line or line.number
            self._host = host
            for number, value in _CHUNK.findall(text):
                self._chunks.setdefault(int(number), float(value))
            return True
        if (match := _CALCULATING.search(text)) is not None:
            self._expected, self._context = int(match.group(1)), int(match.group(2))
            self._line = self._line or line.number
            return True
        if (match := _FINAL.search(text)) is not None:
            self._final, self._stderr = match.group(1), real(match.group(2)) if match.group(2) else None
            self._line = self._line or line.number
            return True
        if (match := _KV_TYPE.search(text)) is not None:
            self._kv = next(group for group in match.groups() if group)
            return True
        if (match := _FILE_TYPE.search(text)) is not None and text.startswith(("llm_load", "llama_", "print_info")):
            self._model = match.group(1).strip()[:60]
            return True
        return text.startswith(_LOADER)

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """The run, when there are values."""
        if not self._chunks and self._final is None:
            return Parsed()
        ordered = sorted(self._chunks.items())
        bad = [number for number, value in ordered if not math.isfinite(value)]
        finite = [value for _, value in ordered if math.isfinite(value)]
        final = real(self._final) if self._final is not None else finite[-1] if finite and not bad else None
        not_final = self._final is not None and final is None
        role = role_of(self.path, *([self._model] if self._model and precision_of(self._model) else []))
        return Parsed(
            [
                PerplexityRun(
                    subject=Subject(host=self._host),
                    sources=(self.source(self._line or 1),),
                    chunks=len(ordered),
                    chunks_expected=self._expected,
                    context_length=self._context,
                    final=final,
                    stderr=self._stderr,
                    not_a_number=len(bad) or int(not_final),
                    first_not_a_number=bad[0] if bad else None,
                    series=tuple(finite[:_MOST]) or None,
                    kv_cache_format=self._kv,
                    model_format=self._model,
                    role=role.role,
                    role_from=role.told_by,
                )
            ]
        )

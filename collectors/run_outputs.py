"""What a run was given and what it gave, prompt by prompt, as JSON lines: token ids, texts, log-probabilities."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.input_settings import sampling_settings
from collectors.json_text import items, mapping, real, whole
from collectors.precision_words import Role, precision_of, role_of
from diagnose.facts import Fact
from diagnose.facts.precision import GeneratedText, LogprobSequence, TokenSequence

_IDS = ("prompt_token_ids", "input_ids", "token_ids", "prompt_ids", "tokens")
_TEXTS = ("text", "output", "generated_text", "completion", "response", "generation", "answer", "output_text")
_PROMPTS = ("id", "prompt_id", "request_id", "custom_id", "doc_id", "index", "idx", "question_id")
_MOST_IDS = 4096
_MOST_PROMPTS = 512
_MOST_CHARACTERS = 4096
_MOST_POSITIONS = 2048
_MOST_CANDIDATES = 20
_LEAST_REPEATED = 8
_WORD = re.compile(r"\S+")
_OTHER = re.compile(r'"(?:results|timestamp|event|cat|ph|ttft|latency|gpu|rank|level|step|loss)"')
"""Keys of logs, traces and benchmarks, whose texts are no answers."""


class RunOutputs(BlockCollector):
    """JSON lines with one prompt each."""

    kind: ClassVar[str] = "run-outputs"
    literals: ClassVar[tuple[bytes, ...]] = tuple(
        f'"{name}"'.encode() for name in (*_IDS[:-1], *_TEXTS, "logprobs", "prompt_logprobs", "top_logprobs")
    )
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A flat object that holds ids, a text beside a prompt or its tokens, or log-probabilities."""
        record = _record(text)
        return record is not None and not _OTHER.search(text[:2000]) and _useful(record)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Ids and log-probabilities by prompt, and one summary of the texts."""
        parsed = Parsed()
        role = _role(block)
        texts: list[tuple[str, str, Line]] = []
        greedy: bool | None = None
        settings: Fact | None = None
        for at, line in enumerate(block.lines[:_MOST_PROMPTS]):
            record = _record(line.text)
            if record is None:
                if line.text.strip():
                    parsed.problems.append(f"line {line.number}: the JSON is damaged or incomplete")
                continue
            prompt = _prompt(record, at)
            parsed.facts += _sequences(block, line, record, prompt, role)
            text = _text(record)
            if text is not None:
                texts.append((prompt, text[:_MOST_CHARACTERS], line))
            options = mapping(record.get("sampling_params")) or record
            if settings is None:
                settings = sampling_settings(block, options)
            if (temperature := real(options.get("temperature"))) is not None:
                greedy = (greedy is None or greedy) and temperature == 0.0
        if settings is not None:
            parsed.facts.append(settings)
        if texts:
            parsed.facts.append(
                GeneratedText(
                    subject=block.subject(),
                    sources=(block.source(texts[0][2]),),
                    role=role.role,
                    role_from=role.told_by,
                    texts=tuple((prompt, text) for prompt, text, _ in texts),
                    outputs=len(texts),
                    degenerate=sum(degenerate(text) for _, text, _ in texts),
                    greedy=greedy,
                )
            )
        return parsed


def degenerate(text: str) -> bool:
    """Whether a text of some length says one character or one word over and over."""
    body = text.strip()
    if len(body) < _LEAST_REPEATED:
        return False
    words = _WORD.findall(body)
    if len(words) >= _LEAST_REPEATED:
        return len(set(words)) == 1
    return len(set(body.replace("\n", ""))) == 1


def _record(text: str) -> dict[str, Any] | None:
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _useful(record: Mapping[str, Any]) -> bool:
    if _ids(record) or _positions(record):
        return True
    beside = ("prompt", "prompt_tokens", "completion_tokens", "output_tokens", "question", "choices", "finish_reason")
    return _text(record) is not None and any(name in record for name in (*beside, *_PROMPTS))


def _role(block: Block) -> Role:
    """Told by a model or format that the first record names, else by the file's name."""
    record = _record(block.lines[0].text) or {}
    told = [
        str(record[name]) for name in ("model", "dtype", "quantization", "precision")
        if isinstance(record.get(name), str) and precision_of(str(record[name]))
    ]  # fmt: skip
    return role_of(block.path, *told)


def _prompt(record: Mapping[str, Any], at: int) -> str:
    name = next((record[key] for key in _PROMPTS if isinstance(record.get(key), str | int)), None)
    return str(at if name is None else name)[:80]


def _text(record: Mapping[str, Any]) -> str | None:
    found = next((record[name] for name in _TEXTS if isinstance(record.get(name), str)), None)
    if found is not None:
        return str(found)
    for choice in items(record.get("choices"), dict):
        message = mapping(choice.get("message"))
        text = choice.get("text", message.get("content"))
        return text if isinstance(text, str) else None
    return None


def _ids(record: Mapping[str, Any]) -> tuple[int, ...]:
    for name in _IDS:
        value = record.get(name)
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
            value = value[0]
        found = [whole(item) for item in value] if isinstance(value, list) else []
        if found and all(item is not None for item in found):
            return tuple(item for item in found if item is not None)
    return ()


def _sequences(block: Block, line: Line, record: Mapping[str, Any], prompt: str, role: Role) -> Iterator[Fact]:
    ids = _ids(record)
    if ids:
        yield TokenSequence(
            subject=block.subject(),
            sources=(block.source(line),),
            prompt=prompt,
            role=role.role,
            role_from=role.told_by,
            tokens=len(ids),
            ids=ids[:_MOST_IDS],
        )
    positions = _positions(record)
    if positions:
        yield LogprobSequence(
            subject=block.subject(),
            sources=(block.source(line),),
            prompt=prompt,
            role=role.role,
            role_from=role.told_by,
            top=tuple(positions[:_MOST_POSITIONS]),
        )


def _positions(record: Mapping[str, Any]) -> list[tuple[tuple[str, float], ...]]:
    """Candidates by position, from any of the layouts of the OpenAI interface and of vLLM."""
    source: object = record.get("prompt_logprobs") or record.get("top_logprobs") or record.get("logprobs")
    if source is None:
        choice = next(items(record.get("choices"), dict), {})
        source = choice.get("logprobs")
    if isinstance(source, dict):
        source = source.get("top_logprobs") or source.get("content") or source.get("token_logprobs")
    positions = [_candidates(place) for place in source] if isinstance(source, list) else []
    return [place for place in positions if place] if any(positions) else []


def _candidates(place: object) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    if isinstance(place, dict) and ("top_logprobs" in place or "logprob" in place):
        entries = list(items(place.get("top_logprobs"), dict)) or [place]
        for entry in entries:
            if (value := real(entry.get("logprob"))) is not None:
                found[str(entry.get("token"))[:80]] = value
    elif isinstance(place, dict):
        for token, entry in place.items():
            value = real(entry.get("logprob") if isinstance(entry, dict) else entry)
            if value is not None:
                found[token[:80]] = value
    return tuple(sorted(found.items(), key=lambda pair: -pair[1])[:_MOST_CANDIDATES])

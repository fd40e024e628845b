"""Results of lm-evaluation-harness: the table it prints, its JSON, and the small YAML files of expected scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.json_document import JsonDocument
from collectors.json_text import mapping, real, whole
from collectors.precision_words import about_kv_cache, is_low, precision_of, role_of
from diagnose.facts import Fact
from diagnose.facts.precision import EvaluationResult

_LOWER_IS_BETTER = re.compile(r"perplexity|(?:^|_)(?:ppl|loss|wer|cer|brier|mse|mae|bits_per_byte)", re.IGNORECASE)
_NO_SCORE = re.compile(r"stderr|^alias$|^name$|^samples?$|^sample_len$", re.IGNORECASE)


def score(
    block: Block, line: Line | None, task: str, metric: str, value: float, about: str, **more: Any
) -> EvaluationResult:
    """A result; `about` are the words that tell the run: file, model, arguments."""
    name = block.path.replace("\\", "/").rsplit("/", 1)[-1]
    words = f"{about} {name}"
    precision = precision_of(about) or precision_of(name)
    role = role_of(block.path, about)
    return EvaluationResult(
        subject=block.subject(),
        sources=(block.source(line),),
        task=task[:120],
        metric=metric[:120],
        value=value,
        higher_is_better=_LOWER_IS_BETTER.search(metric) is None,
        variant=(about or name)[:200],
        precision=precision,
        differs_in=None if not is_low(precision) else "kv-cache" if about_kv_cache(words) else "weights",
        role=role.role,
        role_from=role.told_by,
        **more,
    )


class LmEvalTable(BlockCollector):
    """The table at the end of a run: `|Tasks|Version|Filter|n-shot|Metric| |Value| |Stderr|`."""

    kind: ClassVar[str] = "lm-eval-table"
    literals: ClassVar[tuple[bytes, ...]] = (b"|Version|", b"|  Metric", b"|Metric")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The heading."""
        names = _cells(text)
        return "Metric" in names and "Value" in names and any(name in names for name in ("Tasks", "Task", "Groups"))

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each row; an empty name is that of the row above."""
        names = _cells(block.lines[0].text)
        columns = {name: at for at, name in enumerate(names) if name}
        parsed = Parsed()
        if not cls.opens(block.lines[0].text):
            return parsed
        task = ""
        for line in block.lines[1:]:
            row = _cells(line.text)
            if len(row) < len(names):
                continue
            task = row[columns.get("Tasks", columns.get("Task", columns.get("Groups", 0)))].strip(" -") or task
            value = real(row[columns["Value"]].replace("±", "").strip())
            if value is None or not task:
                continue
            kind = row[columns["Filter"]] if "Filter" in columns else ""
            metric = row[columns["Metric"]]
            stderr = real(row[columns["Stderr"]].strip("± ")) if "Stderr" in columns else None
            metric = metric if kind in ("", "none") else f"{metric},{kind}"
            parsed.facts.append(score(block, line, task, metric, value, "", stderr=stderr))
        return parsed


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip().strip("|").split("|")] if text.lstrip().startswith("|") else []


class LmEvalJson(JsonDocument):
    """`results_*.json`."""

    kind: ClassVar[str] = "lm-eval-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'"results"', b'"acc,none"', b'"exact_match,')

    @classmethod
    def told_by(cls, text: str) -> bool:
        """Results by task whose metrics carry their filter, or errors beside them."""
        return '"results"' in text and re.search(r'"[a-z_0-9]+(?:_stderr)?,[a-z-]+":|"acc_stderr"', text) is not None

    @classmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """One fact for each task and metric."""
        config = mapping(content.get("config"))
        words = [str(config.get(name) or "") for name in ("model", "model_args", "model_dtype")]
        about = " ".join(word for word in (*words, str(content.get("model_name") or "")) if word)[:400]
        facts: list[Fact] = []
        for task, metrics in mapping(content.get("results")).items():
            if isinstance(metrics, dict):
                items = whole(mapping(mapping(content.get("n-samples")).get(task)).get("effective"))
                facts += _task(block, task, metrics, about, items)
        return Parsed(facts)


def _task(block: Block, task: str, metrics: Mapping[str, Any], about: str, items: int | None) -> Iterator[Fact]:
    for name, value in metrics.items():
        number = real(value) if not isinstance(value, str) else None
        if number is None or _NO_SCORE.search(name):
            continue
        metric, _, kind = name.partition(",")
        error = real(metrics.get(f"{metric}_stderr,{kind}" if kind else f"{metric}_stderr"))
        label = metric if kind in ("", "none") else name
        yield score(block, None, task, label, number, about, stderr=error, items=items)


class LmEvalExpectation(BlockCollector):
    """YAML with the scores that a model is expected to have: `model_name`, `tasks`, `metrics`, `limit`."""

    kind: ClassVar[str] = "lm-eval-expectation"
    literals: ClassVar[tuple[bytes, ...]] = (b"model_name:",)
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The line with the model's name, when it stands alone."""
        return re.match(r'^model_name:\s*"?[\w./-]+"?\s*$', text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Never without its first line."""
        return 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each metric. Read by lines, since values are all that is wanted."""
        model = block.lines[0].text.partition(":")[2].strip().strip('"')
        items: int | None = None
        rows: list[tuple[Line, str, str, float]] = []
        task = metric = ""
        for line in block.lines[1:]:
            match = re.match(r'^(\s*)(?:-\s*)?(name|value|limit):\s*"?([^"#]+?)"?\s*$', line.text)
            if match is None:
                continue
            indent, key, value = match.groups()
            if key == "limit":
                items = whole(value)
            elif key == "name" and len(indent) <= 1:
                task = value
            elif key == "name":
                metric = value
            elif (number := real(value)) is not None and task and metric:
                rows.append((line, task, metric, number))
        return Parsed([score(block, line, task, name, value, model, items=items) for line, task, name, value in rows])

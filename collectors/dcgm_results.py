"""Results of DCGM's tests, whichever form lists them, and their facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.base import Block
from collectors.dcgm_messages import meaning_of
from diagnose.facts import Fact
from diagnose.facts.host import Driver
from diagnose.facts.validation import DiagnosticResult, DiagnosticRun

OUTCOMES = {"pass": "pass", "fail": "fail", "warn": "warn", "warning": "warn", "skip": "skip", "error": "error"}
_GPU = re.compile(r"\bGPU ?(\d{1,3})\b")
_MESSAGE_LENGTH = 400
_RANK = ("pass", "skip", "error", "warn", "fail")


@dataclass(slots=True)
class Test:
    """One test of a run."""

    name: str
    line: int
    overall: str | None = None
    """Outcome without a GPU: all of them, or the host."""
    by_gpu: dict[int, str] = field(default_factory=dict)
    messages: list[tuple[int | None, str]] = field(default_factory=list)
    """GPU where the message names one, and the text."""

    def note(self, text: str, gpu: int | None = None) -> None:
        """Take a message; the GPU that its text names counts where none is given."""
        cleaned = " ".join(text.split())[:_MESSAGE_LENGTH]
        if not cleaned:
            return
        if gpu is None and (match := _GPU.search(cleaned)):
            gpu = int(match[1])
        self.messages.append((gpu, cleaned))

    @property
    def worst(self) -> str | None:
        """The worst outcome on anything that it ran on."""
        outcomes = [*self.by_gpu.values(), *([self.overall] if self.overall else [])]
        return max(outcomes, key=_RANK.index, default=None)


@dataclass(slots=True)
class Run:
    """One run of a tool."""

    tool: str
    version: str | None = None
    driver_version: str | None = None
    tests: list[Test] = field(default_factory=list)


def run_facts(run: Run, block: Block) -> Iterator[Fact]:
    """Results, one for each test and GPU that the tool tells apart, and the sum of them."""
    if run.driver_version is not None:
        yield Driver(
            subject=block.subject(),
            sources=(block.source(),),
            version=run.driver_version,
            major=int(run.driver_version.partition(".")[0]),
        )
    for test in run.tests:
        yield from _test_facts(run.tool, test, block)
    tests = [test for test in run.tests if test.worst is not None]
    if tests:
        yield DiagnosticRun(
            subject=block.subject(),
            sources=(block.source(),),
            tool=run.tool,
            version=run.version,
            tests=len(tests),
            passed=sum(test.worst == "pass" for test in tests),
            failed=sum(test.worst == "fail" for test in tests),
            skipped=sum(test.worst == "skip" for test in tests),
        )


def _test_facts(tool: str, test: Test, block: Block) -> Iterator[Fact]:
    named = {gpu for gpu, _ in test.messages if gpu is not None}
    # Where every GPU passed and none has a word to say, one fact for the host says it all.
    gpus = [
        gpu for gpu in sorted({*test.by_gpu, *named}) if test.by_gpu.get(gpu, test.overall) != "pass" or gpu in named
    ]
    for gpu in gpus:
        outcome = test.by_gpu.get(gpu, test.overall)
        if outcome is not None:
            texts = [text for owner, text in test.messages if owner == gpu]
            yield _result(tool, test, block, outcome, texts, gpu)
    shared = [text for gpu, text in test.messages if gpu is None]
    outcome = test.overall or (test.worst if not gpus else None)
    if outcome is not None and (not gpus or shared):
        yield _result(tool, test, block, outcome, shared, None)


def _result(tool: str, test: Test, block: Block, outcome: str, texts: list[str], gpu: int | None) -> DiagnosticResult:
    meaning = next((found for text in texts if (found := meaning_of(text))), None)
    return DiagnosticResult(
        subject=block.subject().model_copy(update={"gpu_index": gpu}),
        sources=(block.source(test.line),),
        tool=tool,
        test=test.name.lower(),
        outcome=outcome,
        code=meaning.code if meaning else None,
        value=meaning.value if meaning else None,
        limit=meaning.limit if meaning else None,
        message="; ".join(texts)[:_MESSAGE_LENGTH] or None,
    )

"""Lines in which inference servers tell of what interrupts them, and what they say.

Sources: vllm-project/vllm (v0 scheduler, gpu_model_runner, gc_utils, jit_monitor), sgl-project/sglang (scheduler,
cuda_graph_runner, utils), pytorch/pytorch (inductor select_algorithm, dynamo), triton-lang/triton (autotuner),
CPython's gc module, huggingface/text-generation-inference (router).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_S = r"(?P<seconds>\d{1,9}(?:\.\d{1,9})?)"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A sort of line: the literal that it contains, and what of it counts."""

    literal: bytes
    event: str
    pattern: re.Pattern[str]
    scale: float = 1.0
    """Of the duration, to seconds."""
    starts: bool = False
    """Whether the server begins anew with it."""
    general: bool = False
    """Whether programs that serve nothing write it too."""


def _row(
    literal: str,
    event: str,
    pattern: str | None = None,
    scale: float = 1.0,
    *,
    starts: bool = False,
    general: bool = False,
) -> Pattern:
    return Pattern(literal.encode(), event, re.compile(pattern or re.escape(literal)), scale, starts, general)


_JIT, _TUNE, _GC, _CAPTURE = "jit-compile", "autotune", "garbage-collection", "graph-capture"
# Groups: `seconds` a duration, `count` how many, `total` a counter that only grows, `detail` what it was about.
PATTERNS: tuple[Pattern, ...] = (
    _row("is preempted by", "preemption", r"is preempted by .*?cumulative_preemption_cnt=(?P<total>\d{1,12})"),
    _row("#retracted_reqs: ", "retraction", r"#retracted_reqs: (?P<count>\d{1,9})"),
    _row("Graph capturing finished in", _CAPTURE, rf"Graph capturing finished in {_S} secs?"),
    _row("apture cuda graph end", _CAPTURE, rf"[Cc]apture cuda graph end\.?(?: Time elapsed: {_S} s)?"),
    _row("CUDA graph end.", _CAPTURE, rf"apture .{{0,40}}CUDA graph end\.(?:.*?elapsed[:=] ?{_S})?"),
    _row("JIT compilation during", _JIT, r"JIT compilation during inference:? ?(?P<detail>[\w$<>.-]{1,79}[\w$<>-])?"),
    _row("torch.compile takes", _JIT, rf"torch\.compile takes {_S} s"),
    _row("torch.compile and initial", _JIT, rf"torch\.compile and initial .{{1,60}} (?:takes|took) {_S} s"),
    _row("Compiling a graph for", _JIT, rf"Compiling a graph for (?P<detail>[\w ()\[\],]{{1,60}}?) takes {_S} s"),
    _row("torch._dynamo hit config", _JIT, r"hit config\.(?P<detail>\w{1,40}_limit)", general=True),
    _row("Recompiling function", _JIT, r"Recompiling function (?P<detail>[\w.<>]{1,80})", general=True),
    _row("DeepGEMM JIT Compiling", _JIT, r"DeepGEMM JIT Compiling for (?P<detail>.{1,60}?)(?: with|\.|$)"),
    _row("JIT Pre-Compile", _JIT, r"Entering (?P<detail>DeepGEMM) JIT .{0,20}Pre-Compile"),
    _row("oading JIT ops: ", _JIT, r"\bLoading JIT ops: (?P<detail>[\w.-]{1,100})"),
    _row("Compiling CuTe-DSL kernel", _JIT, r"Compiling CuTe-DSL kernel:? ?(?P<detail>[\w.-]{1,80})?"),
    _row("Building extension module", _JIT, r"Building extension module (?P<detail>[\w.-]{1,80}?)\.{3}", general=True),
    _row("AUTOTUNE benchmarking takes", _TUNE, rf"AUTOTUNE benchmarking takes {_S} seconds", general=True),
    _row("Triton autotuning for", _TUNE, r"Triton autotuning for function (?P<detail>[\w.]{1,80})", general=True),
    _row("utotuning process starts", _TUNE, r"[Aa]utotuning process starts"),
    _row("GC took ", _GC, rf"\bGC took {_S}ms to complete\..*?(?P<detail>generation \d)", 1e-3),
    _row("LONG GARBAGE", _GC, rf"LONG GARBAGE COLLECTION DETECTED \| (?P<detail>Generation \d) \| Duration: {_S}s"),
    _row("uncollectable, ", _GC, rf"\bdone, \d{{1,9}} unreachable, \d{{1,9}} uncollectable, {_S}s elapsed"),
    _row("Pause ", _GC, rf"\bGC\(\d{{1,9}}\) (?P<detail>Pause [A-Z]\w+).* {_S}ms$", 1e-3),
    _row("Aborted request", "request-abort", r"\bAborted request\(?s?\)? \S"),
    _row("Model is overloaded", "queue-full"),
    _row("request queue is full", "queue-full", r"(?i)\brequest queue is full"),
    _row("xceeds maximum queue size", "queue-full"),
    _row("Prefill out of memory", "out-of-memory"),
    _row("CUDA out of memory", "out-of-memory", general=True),
    _row("Loading model weights took", "weights-loading"),
    _row("Loading weights took", "weights-loading", rf"Loading weights took {_S} seconds"),
    _row("Load weight end", "weights-loading", rf"Load weight end\.(?:.*?elapsed[=:] ?{_S})?"),
    _row("LLM engine (", "start", r"Initializing an? (?:V[01] )?LLM engine \(v?(?P<detail>[^)]{1,60})\)", starts=True),
    _row("vLLM API server version", "start", r"vLLM API server version (?P<detail>\S{1,60})", starts=True),
    _row("server_args=", "start", r"\bserver_args=ServerArgs\(", starts=True),
    _row("tarting profiler", "profiling", r"\b[Ss]tarting profiler"),
    _row("rofiler started", "profiling", r"\b[Pp]rofiler started"),
    _row("Profiling starts", "profiling"),
    _row("reset prefix cache", "cache-reset", r"[Ss]uccessfully reset prefix cache"),
    _row("Cache flushed successfully", "cache-reset"),
    _row("block found in", "slow-peer", rf"\bNo available [\w ]{{1,60}} block found in {_S} seconds"),
    _row("watchdog timeout", "slow-peer", r"\b(?P<detail>\w{1,20}) watchdog timeout"),
)
EVENT_LITERALS: tuple[bytes, ...] = tuple(dict.fromkeys(row.literal for row in PATTERNS))
_TEXTS: tuple[tuple[str, Pattern], ...] = tuple((row.literal.decode(), row) for row in PATTERNS)


@dataclass(frozen=True, slots=True)
class Event:
    """What one line tells."""

    name: str
    count: int = 1
    total: int | None = None
    seconds: float | None = None
    detail: str | None = None
    starts: bool = False
    general: bool = False


def event_line(text: str) -> Event | None:
    """What a line tells; None where it tells of nothing."""
    for literal, row in _TEXTS:
        if literal in text and (match := row.pattern.search(text)) is not None:
            groups = match.groupdict()
            seconds, total = groups.get("seconds"), groups.get("total")
            return Event(
                row.event,
                count=int(groups.get("count") or 1),
                total=int(total) if total else None,
                seconds=float(seconds) * row.scale if seconds else None,
                detail=groups.get("detail"),
                starts=row.starts,
                general=row.general,
            )
    return None


@dataclass(slots=True)
class Tally:
    """All events of one sort."""

    line: int
    before: int = 0
    in_service: int = 0
    first_total: int | None = None
    last_total: int | None = None
    total_seconds: float = 0.0
    longest_seconds: float | None = None
    first_time: float | None = None
    last_time: float | None = None
    detail: str | None = None
    detail_in_service: bool = field(default=False)

    def add(self, event: Event, time: float | None, in_service: bool) -> None:
        """Count one more."""
        count = event.count
        if event.total is not None:
            self.first_total = event.total if self.first_total is None else self.first_total
            # A line tells of one and counts those since the line before, which are not all told.
            count = event.total - self.last_total if self.last_total and event.total > self.last_total else 1
            self.last_total = event.total
        if in_service:
            self.in_service += count
            if event.seconds is not None:
                self.total_seconds += event.seconds
        else:
            self.before += count
        if event.seconds is not None:
            self.longest_seconds = max(self.longest_seconds or 0.0, event.seconds)
        if time is not None:
            self.first_time = time if self.first_time is None else self.first_time
            self.last_time = time
        if event.detail and (self.detail is None or (in_service and not self.detail_in_service)):
            self.detail, self.detail_in_service = event.detail, in_service

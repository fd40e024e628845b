"""What the log of one inference server tells: vLLM, SGLang and TensorRT-LLM tell their load, and what interrupts it.

One pass; what is kept does not grow with the log but for samples, of which a bounded number is kept.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

from collectors.base import Line, Parsed
from collectors.serving_log_events import Event, Tally, event_line
from collectors.serving_log_lines import LoadLine, Stamp, stamp
from collectors.serving_samples import Sample, Samples, load_facts, series_of
from collectors.serving_settings import Settings, pairs
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.series import Clock
from diagnose.facts.serving import ServingEngine, ServingEvent, ServingSettings

_IDLE_SECONDS = 90.0
"""Longer without a sample, and the server may have had nothing to do in between."""
_STREAMS = 64
SETTING_LINES: tuple[tuple[str, str], ...] = (
    ("with config:", "vllm"), ("non-default args", "vllm"), ("args: Namespace(", "vllm"),
    ("GPU KV cache size: ", "vllm"), ("Maximum concurrency for ", "vllm"), ("Chunked prefill is enabled", "vllm"),
    ("server_args=", "sglang"),
    ("max_running_requests=", "sglang"), ("raph begin", "sglang"), ("uda graph bs [", "sglang"),
)  # fmt: skip
_KV_SIZE = re.compile(r"GPU KV cache size: ([\d,]{1,18}) tokens")
_CONCURRENCY = re.compile(r"Maximum concurrency for ([\d,]{1,15}) tokens per request: ([\d.]{1,12})x")
_CHUNKED = re.compile(r"Chunked prefill is enabled with max_num_batched_tokens=(\d{1,9})")
_GRAPH_BATCHES = re.compile(r"\bbs ?=? ?\[(\d[\d, ]{0,4000})\]")
_VERSION = re.compile(r"\(v?(\d[\w.+-]{0,50})\)|version (\d[\w.+-]{0,50})")
_SERVED = re.compile(r'"(?:POST|GET) (?P<path>\S{1,200}) HTTP/1\.1" (?P<status>\d{3})\b')
_ANSWERS = re.compile(r"/(?:completions|generate|chat|embeddings|responses|infer)\b")
_OWN = re.compile(
    r"^(?:\([\w =.,-]{1,60}\) ?)?(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w/.]+\.py:\d+"
)
_SGLANG_OWN = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: (?:DP|TP|EP|PP)\d[^\]]{0,20})?\] ")


class ServerLog:
    """What a log tells of one server, all its engines taken together."""

    def __init__(self, host: str | None, source: Callable[[int], Source]) -> None:
        self._host = host
        self.source = source
        self._engine: str | None = None
        self._version: str | None = None
        self._generation: str | None = None
        self._settings = Settings()
        self._settings_line = self._own_line = 0
        self._samples = Samples()
        self._samples_line = 0
        self._events: dict[str, Tally] = {}
        self._general: set[str] = set()
        self._last: dict[str, tuple[float, float]] = {}
        """By engine: time and running requests of its last sample."""
        self._prefill: dict[str, tuple[float, bool]] = defaultdict(lambda: (0.0, True))
        """By engine: prompt tokens since its last decode, and whether requests ran beside all of them."""
        self._started = self._in_service = False
        self._service_begin: float | None = None
        self._service_seconds = 0.0
        self._first: Stamp | None = None
        self._now: float | None = None

    @property
    def engine(self) -> str | None:
        """Which program it is, where that is known yet."""
        return self._engine

    def feed(self, line: Line, item: LoadLine | None) -> bool:
        """Take a line of load, an event, a setting, or any other line of a server that is known."""
        text = line.text
        if 'HTTP/1.1" ' in text:
            return self._request(line)
        if item is not None:
            self._load(item, line)
            return True
        setting = self._setting(line)
        if event := event_line(text):
            self._happen(event, line)
            return setting or self._engine is not None or not event.general
        if setting:
            return True
        if _OWN.match(text) is not None:
            self._known("vllm", line)
            return True
        return self._engine == "sglang" and _SGLANG_OWN.match(text) is not None

    def _known(self, engine: str, line: Line) -> None:
        self._engine = self._engine or engine
        self._own_line = self._own_line or line.number

    def _time(self, text: str) -> float | None:
        found = stamp(text)
        if found is None:
            return self._now
        if self._first is None:
            self._first = found
        if found.has_year != self._first.has_year:
            return self._now
        self._now = found.seconds - self._first.seconds
        return self._now

    def _load(self, item: LoadLine, line: Line) -> None:
        self._engine = item.engine
        self._own_line = self._own_line or line.number
        self._generation = item.generation or self._generation
        self._samples_line = self._samples_line or line.number
        time, sample = self._time(line.text), item.sample
        if sample.running > 0 or sample.generation_rate > 0:
            self._serve(time)
        if time is not None and self._in_service and self._service_begin is not None:
            self._service_seconds = max(self._service_seconds, time - self._service_begin)
        if sample.preempted > 0:
            self._happen(Event("preemption", count=int(sample.preempted)), line)
        if not item.decodes:
            tokens, beside = self._prefill[item.stream]
            self._prefill[item.stream] = (tokens + item.prompt_tokens, beside and sample.running > 0)
            return
        self._samples.add(self._completed(item, time))
        if len(self._last) < _STREAMS or item.stream in self._last:
            self._last[item.stream] = (float("nan") if time is None else time, sample.running)

    def _completed(self, item: LoadLine, time: float | None) -> Sample:
        """The sample with its time, whether there was work all along, and the prompts since the one before."""
        sample = item.sample
        before, ran = self._last.get(item.stream, (float("nan"), 0.0))
        now = float("nan") if time is None else time
        tokens, beside = self._prefill.pop(item.stream, (0.0, True))
        elapsed = now - before
        continuous = not elapsed > _IDLE_SECONDS and beside
        busy = sample.busy or (continuous and (sample.waiting > 0 or (ran >= 2 and sample.running >= 2)))
        prompt = sample.prompt_rate
        if prompt != prompt and item.engine == "sglang" and sample.running > 0 and elapsed > 0:
            prompt = tokens / elapsed
        return sample._replace(time=now, busy=float(bool(busy)), prompt_rate=prompt)

    def _serve(self, time: float | None) -> None:
        if not self._in_service:
            self._in_service = True
            self._service_begin = time if self._service_begin is None else self._service_begin

    def _happen(self, event: Event, line: Line) -> None:
        time = self._time(line.text)
        if event.name == "weights-loading" and not self._in_service:
            self._started = True
        if event.starts:
            self._started, self._in_service = True, False
            version = _VERSION.search(event.detail or "") or _VERSION.search(line.text)
            if version is not None:
                self._version = version.group(1) or version.group(2)
        # A log without the server's start begins in the midst of its service.
        in_service = self._in_service or not self._started
        tally = self._events.get(event.name)
        if tally is None:
            tally = self._events[event.name] = Tally(line.number)
        if event.general:
            self._general.add(event.name)
        else:
            self._general.discard(event.name)
        tally.add(event, time, in_service)

    def _request(self, line: Line) -> bool:
        """A line of the access log, of which there are many: one that tells nothing new is only taken."""
        if self._engine is None:
            return False
        if self._in_service and 'HTTP/1.1" 2' in line.text:
            return True
        match = _SERVED.search(line.text)
        if match is not None and _ANSWERS.search(match["path"]) is not None:
            status = match["status"]
            if status[0] == "2":
                self._serve(self._time(line.text))
            elif status in ("429", "503"):
                self._happen(Event("queue-full", detail=f"HTTP status {status}"), line)
        return True

    def _setting(self, line: Line) -> bool:
        text = line.text
        engine = next((engine for word, engine in SETTING_LINES if word in text), None)
        if engine is None:
            return False
        taken = (
            [self._settings.take(name, value) for name, value in pairs(text)] if "=" in text or "': " in text else []
        )
        if match := _KV_SIZE.search(text):
            taken.append(self._settings.take("max_total_num_tokens", match[1]))
        if match := _CONCURRENCY.search(text):
            self._fits(match[1], match[2])
            taken.append(True)
        if match := _CHUNKED.search(text):
            self._settings.values["chunked_prefill"] = True
            taken.append(self._settings.take("max_num_batched_tokens", match[1]))
        if match := _GRAPH_BATCHES.search(text):
            taken.append(self._settings.take("cuda_graph_bs", match[1]))
        if not any(taken):
            return False
        self._settings_line = self._settings_line or line.number
        self._known(engine, line)
        return True

    def _fits(self, tokens: str, times: str) -> None:
        try:
            length, count = int(tokens.replace(",", "")), float(times)
        except ValueError:
            return
        self._settings.values["full_length_requests"] = count
        self._settings.values.setdefault("max_model_tokens", length)
        self._settings.values.setdefault("kv_cache_tokens", int(length * count))

    def finish(self) -> Parsed:
        """The engine, its settings, its load, and each sort of event."""
        subject = Subject(host=self._host)
        facts: list[Fact] = []
        if self._engine is not None:
            facts.append(
                ServingEngine(
                    subject=subject,
                    sources=(self.source(self._own_line),),
                    name=self._engine,
                    version=self._version,
                    generation=self._generation,
                    model=self._settings.model,
                )
            )
        if self._settings.values:
            facts.append(
                ServingSettings(
                    subject=subject,
                    sources=(self.source(self._settings_line),),
                    engine=self._engine,
                    **self._settings.values,
                )
            )
        parsed = Parsed(facts)
        if self._samples:
            source = self.source(self._samples_line)
            largest = self._settings.values.get("cuda_graph_max_batch")
            facts += load_facts(self._samples, subject, source, self._engine, largest)
            parsed.series += series_of(self._samples, subject, source, *self._clock())
        facts += [self._event(name, tally, subject) for name, tally in self._events.items() if self._own(name)]
        return parsed

    def _clock(self) -> tuple[Clock, float]:
        """What the times count from, and what to add to them for that."""
        if self._first is None or not self._first.has_year:
            return Clock.RELATIVE, 0.0
        return (Clock.UTC if self._first.is_utc else Clock.LOCAL), self._first.seconds

    def _own(self, name: str) -> bool:
        return self._engine is not None or (name not in self._general and name == "garbage-collection")

    def _event(self, name: str, tally: Tally, subject: Subject) -> ServingEvent:
        seconds = self._service_seconds
        return ServingEvent(
            subject=subject,
            sources=(self.source(tally.line),),
            event=name,
            origin="log",
            engine=self._engine,
            count=tally.before + tally.in_service,
            counter_total=tally.last_total,
            in_service_count=tally.in_service,
            in_service_ratio=min(1.0, tally.total_seconds / seconds) if seconds and tally.total_seconds else None,
            per_second=tally.in_service / seconds if seconds else None,
            total_seconds=tally.total_seconds or None,
            longest_seconds=tally.longest_seconds,
            first_seconds=tally.first_time,
            last_seconds=tally.last_time,
            detail=tally.detail,
        )

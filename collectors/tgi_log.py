"""Logs of Text Generation Inference: a line for each request tells where its time went, others how it starts."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from typing import ClassVar

from collectors.base import Line, LineCollector, Parsed
from collectors.durations_text import DURATION, duration
from collectors.serving_log_lines import stamp
from collectors.serving_settings import Settings
from diagnose.facts import Subject
from diagnose.facts.series import Clock, Requests
from diagnose.facts.serving import ServingEngine, ServingEvent, ServingSettings

_MOST = 5_000_000
_TIME = re.compile(rf'\b(total|queue|inference|per_token)(?:_time)?="({DURATION})"|\btime_per_token="({DURATION})"')
_GRAPHS = re.compile(r"Cuda Graphs are enabled for sizes \[(\d[\d, ]{0,2000})\]")
_TOKENS = re.compile(r"Setting max batch total tokens to (\d{1,12})")
_CHUNKING = re.compile(r"Using prefill chunking = (true|false)")
_CACHING = re.compile(r"Using prefix caching = (true|false)")
_COLUMNS: Mapping[str, str] = {
    "total": "end_to_end_seconds",
    "queue": "queue_seconds",
    "per_token": "itl_seconds",
}
_ABSENT = float("nan")


class TgiLog(LineCollector):
    """One table of requests."""

    kind: ClassVar[str] = "tgi-log"
    literals: ClassVar[tuple[bytes, ...]] = (
        b'inference_time="', b"text_generation_router", b"text_generation_launcher", b"Model is overloaded",
    )  # fmt: skip

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._columns = {name: array("f") for name in _COLUMNS}
        self._ends = array("d")
        self._zoned = True
        self._settings = Settings()
        self._line = self._settings_line = self._overloaded_line = 0
        self._overloaded = self._left_out = 0
        self._host: str | None = None

    def feed(self, line: Line, host: str | None) -> bool:
        """Take the server's own lines."""
        text = line.text
        if 'inference_time="' in text:
            return self._request(line, host)
        if "text_generation_" not in text:
            return False
        self._line = self._line or line.number
        if "Model is overloaded" in text:
            self._overloaded += 1
            self._overloaded_line = self._overloaded_line or line.number
        elif match := _GRAPHS.search(text):
            self._set("cuda_graph_bs", match[1], line)
        elif match := _TOKENS.search(text):
            self._set("max_total_num_tokens", match[1], line)
        elif match := _CHUNKING.search(text):
            self._set("enable_chunked_prefill", match[1], line)
        elif match := _CACHING.search(text):
            self._set("enable_prefix_caching", match[1], line)
        return True

    def _set(self, name: str, value: str, line: Line) -> None:
        self._settings.take(name, value)
        self._settings_line = self._settings_line or line.number

    def _request(self, line: Line, host: str | None) -> bool:
        found = {name or "per_token": duration(value or token) for name, value, token in _TIME.findall(line.text)}
        if found.get("total") is None:
            return False
        self._line = self._line or line.number
        self._host = self._host or host
        if len(self._ends) >= _MOST:
            self._left_out += 1
            return True
        time = stamp(line.text)
        self._zoned &= time is not None and time.is_utc
        self._ends.append(time.seconds if time is not None and time.has_year else _ABSENT)
        for name, column in self._columns.items():
            value = found.get(name)
            column.append(_ABSENT if value is None else value)
        return True

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """The engine, its settings, refusals, and the requests."""
        import numpy as np

        subject, source = Subject(host=self._host), self.source(self._line)
        parsed = Parsed([ServingEngine(subject=subject, sources=(source,), name="tgi")])
        if self._settings.values:
            settings_source = self.source(self._settings_line)
            parsed.facts.append(
                ServingSettings(subject=subject, sources=(settings_source,), engine="tgi", **self._settings.values)
            )
        if self._overloaded:
            parsed.facts.append(
                ServingEvent(
                    subject=subject,
                    sources=(self.source(self._overloaded_line),),
                    event="queue-full",
                    origin="log",
                    engine="tgi",
                    count=self._overloaded,
                    in_service_count=self._overloaded,
                )
            )
        if self._ends:
            columns = {_COLUMNS[name]: np.array(column) for name, column in self._columns.items()}
            ends = np.array(self._ends)
            if not bool(np.isnan(ends).any()):
                columns["start_seconds"] = ends - columns["end_to_end_seconds"]
            known = {name: values for name, values in columns.items() if not bool(np.isnan(values).all())}
            clock = Clock.RELATIVE if "start_seconds" not in known else Clock.UTC if self._zoned else Clock.LOCAL
            parsed.series.append(Requests(subject, known, clock, (source,)))
        if self._left_out:
            parsed.problems.append(f"{self._left_out:,} requests of a very long log were not read")
        return parsed

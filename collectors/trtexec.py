"""Logs of trtexec, TensorRT's benchmark: the performance summary in its old and new layout."""

from __future__ import annotations

import re
from typing import ClassVar

from collectors.base import Line, LineCollector, Parsed
from collectors.benchmark_values import STATISTICS, Result
from diagnose.facts import Subject
from diagnose.facts.serving import ServingLatency

_OWN = re.compile(r"^\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[[IWEV]\] ?(?P<text>.*)$")
_NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"
_PARTS = {
    "latency": "e2e",
    "host latency": "e2e",
    "enqueue time": "enqueue",
    "h2d latency": "host-to-device",
    "d2h latency": "device-to-host",
    "gpu compute time": "gpu-compute",
    "gpu compute": "gpu-compute",
    "end-to-end host latency": "end-to-end",
}
_SUMMARY = re.compile(r"^(?P<part>[A-Za-z0-9 -]{3,30}): min = .*\bms")
_VALUE = re.compile(r"\b(min|max|mean|median|percentile\((\d{1,2}(?:\.\d)?)%\)) = " + _NUMBER + " ms")
_OLD_VALUE = re.compile(r"^(min|max|mean|median|percentile): " + _NUMBER + r" ms(?: at (\d{1,2}(?:\.\d)?)%)?")
_RATE = re.compile(r"^[Tt]hroughput: " + _NUMBER + " qps")
_MODEL = re.compile(r"^Model: (\S{1,200})")


class Trtexec(LineCollector):
    """One result, and where its time went."""

    kind: ClassVar[str] = "trtexec"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"] [I] ",
        b"] [W] ",
        b"] [E] ",
        b"] [V] ",
        b"] [I]\n",
        b"TensorRT.trtexec",
    )

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._parts: dict[str, dict[str, float]] = {}
        self._part: str | None = None
        self._rate: float | None = None
        self._model: str | None = None
        self._line = 0

    def feed(self, line: Line, host: str | None) -> bool:
        """Take every line of TensorRT's logger."""
        own = _OWN.match(line.text)
        if own is None:
            return line.text.startswith("&&&& ") and "TensorRT.trtexec" in line.text
        text = own["text"].strip()
        if match := _SUMMARY.match(text):
            part = _PARTS.get(match["part"].strip().lower())
            if part is not None:
                self._line = self._line or line.number
                for name, percentile, value in _VALUE.findall(text):
                    self._put(part, f"p{percentile}" if percentile else name, value)
        elif match := _OLD_VALUE.match(text):
            if self._part is not None:
                self._put(self._part, f"p{match[3]}" if match[3] else match[1], match[2])
        elif text.lower().rstrip(":") in _PARTS:
            self._part = _PARTS[text.lower().rstrip(":")]
            self._line = self._line or line.number
        elif match := _RATE.match(text):
            self._rate = float(match[1])
        elif match := _MODEL.match(text):
            self._model = match[1]
        return True

    def _put(self, part: str, statistic: str, value: str) -> None:
        self._parts.setdefault(part, {})[STATISTICS.get(statistic, statistic)] = float(value) / 1e3

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """Facts where there was a summary."""
        if "e2e" not in self._parts:
            return Parsed()
        subject, source = Subject(), self.source(self._line)
        result = Result("trtexec")
        result.set("model", self._model)
        result.set("requests_per_second", self._rate or None)
        for statistic, seconds in self._parts["e2e"].items():
            result.put("e2e", statistic, seconds)
        parsed = Parsed([result.fact(subject, source)])
        for part, values in self._parts.items():
            if part not in ("e2e", "end-to-end"):
                parsed.facts.append(
                    ServingLatency(
                        subject=subject,
                        sources=(source,),
                        metric=part,
                        origin="report",
                        mean_seconds=values.get("mean"),
                        p50_seconds=values.get("p50"),
                        p90_seconds=values.get("p90"),
                        p99_seconds=values.get("p99"),
                    )
                )
        return parsed

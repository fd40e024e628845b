"""Asks Prometheus by its HTTP API, in pieces that it can answer, and says in words why it does not.

Raw samples are read where possible (`metric[1h]` at one moment), with the times at which they were scraped. At a step
of one's own, and for sums over series, `query_range` is asked with `last_over_time`: a value counts only in the step
in which it was scraped, where a plain query would repeat it for five minutes after its exporter has gone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import httpx

from collectors.json_text import items, mapping
from collectors.prometheus.access import Access, PrometheusError
from collectors.prometheus.samples import Stream, join, stream_of

MOST_POINTS = 10_000
"""Points that one query may give for each series; the server refuses more than 11,000."""
_RAW_SECONDS = 6 * 3600.0
_SHORTEST_SECONDS = 60.0
_TRIES = 3
_TOO_MANY = ("too many samples", "too many points", "exceeded maximum resolution", "response too large")
_TRANSIENT = (429, 502, 503, 504)
_LARGEST_ANSWER = 128 << 20
"""Read as JSON an answer takes several times its size in memory."""


class _Answer(NamedTuple):
    status: int
    body: bytes


class _TooLargeError(Exception):
    """The piece was too large or took too long: half of it may do."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class PrometheusApi:
    """One server. Use as a context manager."""

    def __init__(self, access: Access, pause: Callable[[float], None] = time.sleep) -> None:
        self._access = access
        self._client = access.client()
        self._pause = pause

    def __enter__(self) -> PrometheusApi:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def last(self, selector: str, start: float, end: float) -> list[Stream]:
        """The last sample of every series that has one between the two times."""
        window = max(1, round(end - start))
        try:
            return self._query(f"last_over_time({selector}[{window}s])", end)
        except _TooLargeError as error:
            raise PrometheusError(f"{error.sentence}: ask for less with --match or a shorter --since") from None

    def raw(self, selector: str, start: float, end: float) -> list[Stream]:
        """Every sample between the two times, as scraped."""

        def piece(first: float, last: float) -> list[Stream]:
            return self._query(f"{selector}[{max(1, round((last - first) * 1000))}ms]", last)

        return self._pieces(start, end, _RAW_SECONDS, piece)

    def stepped(self, expression: Callable[[str], str], start: float, end: float, step: float) -> list[Stream]:
        """An expression over windows of one step; it is given the window, as in `[29999ms]`.

        Before version 3 both ends of a window belong to it: a millisecond less, and no sample counts twice.
        """
        text = expression(f"[{max(1, round(step * 1000) - 1)}ms]")

        def piece(first: float, last: float) -> list[Stream]:
            parameters = {"query": text, "start": f"{first:.3f}", "end": f"{last:.3f}", "step": f"{step:.3f}"}
            return _streams(self._ask("query_range", parameters))

        return self._pieces(start, end, step * MOST_POINTS, piece, gap=step)

    def label_values(self, label: str, start: float, end: float) -> list[str]:
        """Values that a label has."""
        answer = self._ask(f"label/{label}/values", {"start": f"{start:.3f}", "end": f"{end:.3f}"}, "GET")
        return list(items(answer.get("data"), str))

    def _query(self, text: str, at: float) -> list[Stream]:
        return _streams(self._ask("query", {"query": text, "time": f"{at:.3f}"}))

    def _pieces(
        self,
        start: float,
        end: float,
        longest: float,
        ask: Callable[[float, float], list[Stream]],
        gap: float = 0.0,
    ) -> list[Stream]:
        """Asks piece by piece; of a piece that is too much, for its halves."""
        found: list[list[Stream]] = []
        first = start
        while first < end:
            last = min(end, first + longest)
            try:
                found.append(ask(first, last))
            except _TooLargeError as error:
                if longest / 2 < _SHORTEST_SECONDS:
                    cure = "ask for less with --match, a shorter --since or a larger --step"
                    raise PrometheusError(f"{error.sentence}: {cure}") from None
                longest = (last - first) / 2
                continue
            # Both ends of a range count, so that the next one begins a step later.
            first = last + gap if last < end else end
        return join(found)

    def _ask(self, path: str, parameters: Mapping[str, str], method: str = "POST") -> dict[str, Any]:
        """One answer. Tries again where the server is busy for the moment."""
        for attempt in range(_TRIES):
            last_try = attempt == _TRIES - 1
            try:
                return self._answer(self._send(path, parameters, method), last_try)
            except httpx.TimeoutException:
                if last_try or path.startswith("query"):
                    sentence = f"no answer within {self._access.timeout_seconds:g} s"
                    raise _TooLargeError(f"{self._access.shown_url}: {sentence}") from None
            except (httpx.RequestError, UnicodeError) as error:
                why = _why_unreachable(error)
                if last_try or why is not None:
                    reason = why or "the connection broke off"
                    raise PrometheusError(f"{self._access.shown_url}: {reason}") from None
            except _BusyError:
                pass
            self._pause(0.5 * 2**attempt)
        raise AssertionError("the last try returns or raises")

    def _send(self, path: str, parameters: Mapping[str, str], method: str) -> _Answer:
        url = f"/api/v1/{path}"
        if method == "GET":
            return self._read("GET", url, params=dict(parameters))
        answer = self._read("POST", url, data=dict(parameters))
        # Some gateways let only reading methods through.
        return self._read("GET", url, params=dict(parameters)) if answer.status == 405 else answer

    def _read(self, method: str, url: str, **given: Any) -> _Answer:
        """The whole answer, unless it is larger or slower than can be waited for: what answers may be anything."""
        shown, longest = self._access.shown_url, 2 * self._access.timeout_seconds
        begin, body = time.monotonic(), bytearray()
        with self._client.stream(method, url, **given) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _LARGEST_ANSWER:
                    raise _TooLargeError(f"{shown}: the answer is larger than {_LARGEST_ANSWER >> 20} MB")
                if time.monotonic() - begin > longest:
                    raise _TooLargeError(f"{shown}: the answer was not complete after {longest:g} s")
            return _Answer(response.status_code, bytes(body))

    def _answer(self, answer: _Answer, last_try: bool) -> dict[str, Any]:
        shown = self._access.shown_url
        try:
            content = mapping(json.loads(answer.body))
        except (ValueError, RecursionError):
            content = {}
        if answer.status == 200 and content.get("status") == "success":
            return content
        words = content.get("error")
        error = words if isinstance(words, str) else ""
        kind = content.get("errorType")
        if any(phrase in error for phrase in _TOO_MANY):
            raise _TooLargeError(f"{shown}: the server finds the query too large ({_short(error)})")
        if kind == "timeout" or "timed out" in error or "deadline exceeded" in error:
            raise _TooLargeError(f"{shown}: the query took the server too long")
        if answer.status in _TRANSIENT and not last_try:
            raise _BusyError
        raise PrometheusError(f"{shown}: {_why_refused(answer, error)}")


class _BusyError(Exception):
    """The server may answer in a moment."""


def _streams(answer: Mapping[str, Any]) -> list[Stream]:
    result = mapping(answer.get("data")).get("result")
    return [stream for item in items(result, dict) if (stream := stream_of(item)) is not None]


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."


def _why_unreachable(error: httpx.RequestError | UnicodeError) -> str | None:
    """The sentence for what will not go away by itself; None where another try may help."""
    if isinstance(error, UnicodeError):
        return "there is no host of that name"
    if isinstance(error, httpx.DecodingError):
        return "what answers there is no Prometheus"
    words = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in words:
        if "self-signed" in words or "self signed" in words or "unable to get local issuer" in words:
            return "its certificate is of a CA that this machine does not know: name the CA's file with --ca-file"
        return (
            f"its certificate is not accepted ({_short(words)}): --ca-file names another CA, --insecure skips the check"
        )
    if "WRONG_VERSION_NUMBER" in words or "record layer failure" in words:
        return "it does not speak TLS: write http:// instead of https://"
    if "SSL" in words or "TLS" in words:
        return f"TLS failed ({_short(words)})"
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        if "refused" in words:
            return "nothing listens there (connection refused): is it the right port, and does Prometheus run?"
        if "Name or service not known" in words or "getaddrinfo" in words or "name resolution" in words:
            return "there is no host of that name"
        return f"it cannot be reached ({_short(words)})"
    if isinstance(error, httpx.ProxyError | httpx.UnsupportedProtocol):
        return _short(words)
    return None


def _why_refused(answer: _Answer, error: str) -> str:
    code = answer.status
    if code in (401, 403):
        return (
            f"it asks who you are and does not accept the answer ({code}): "
            "--bearer-token-file, or --user and --password-file"
        )
    if b"HTTP request to an HTTPS server" in answer.body[:300]:
        return "it speaks TLS: write https:// instead of http://"
    if 300 <= code < 400:
        return "it sends the reader to another address (a login page?): give the address of Prometheus itself"
    if code == 404:
        return "no Prometheus answers there (404): is there a path missing, as in https://host/prometheus?"
    if error:
        return f"it answers with an error ({code}): {_short(error)}"
    if code == 200:
        return "what answers there is no Prometheus"
    return f"it answers with status {code}"

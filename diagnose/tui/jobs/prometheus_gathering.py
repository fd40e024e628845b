"""Reads a running Prometheus server; one part, told of as it goes through the metrics."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from diagnose.tui.jobs.gathering import LEFT_OUT, RUNNING, Gathering
from diagnose.tui.jobs.readings import reading_of
from diagnose.tui.jobs.told import Gathered, Reading, Told
from diagnose.tui.model.events import PartState

if TYPE_CHECKING:
    from collectors.inputs import Readings
    from collectors.prometheus.access import Access

_TITLE = "metrics of GPUs, hosts and inference servers"


class _Left(BaseException):
    """Ends the reading; no handler of errors takes it for one."""


class PrometheusGathering(Gathering):
    """One range of time, up to now, of `seconds`."""

    def __init__(self, tell: Callable[[Told], None], access: Access, seconds: float) -> None:
        super().__init__(tell)
        self._access = access
        self._seconds = seconds

    def skip(self, name: str) -> None:
        """There is one part: skipping it ends the reading."""
        self.cancel()

    def again(self, name: str) -> None:
        """Read it again."""
        self._cancelled.clear()

    def _work(self) -> None:
        name = self._access.shown_url
        part = PartState(name=name, title=_TITLE, state=RUNNING)
        self._set(part)
        begin = time.monotonic()
        try:
            readings = self._read(lambda doing: self._go_on(part, doing))
        except _Left:
            self._set(part.model_copy(update={"state": LEFT_OUT, "seconds": time.monotonic() - begin}))
            self._tell(Gathered(Reading(), self.parts, complete=False))
            return
        reading = reading_of(readings, over=True)
        worst = next((item for item in reading.inputs if item.status != "parsed"), None)
        self._set(
            PartState(
                name=name,
                title=_TITLE,
                state="parsed" if worst is None else worst.status,
                seconds=time.monotonic() - begin,
                found=len(reading.facts),
                detail=None if worst is None else worst.detail,
            )
        )
        self._tell(Gathered(reading, self.parts, complete=worst is None))

    def _read(self, progress: Callable[[str], None]) -> Readings:
        from collectors.inputs import InputReport, Readings, Status
        from collectors.prometheus.access import PrometheusError
        from collectors.prometheus.api import PrometheusApi
        from collectors.prometheus.read import Range, read_prometheus

        shown, now = self._access.shown_url, time.time()
        try:
            with PrometheusApi(self._access) as api:
                return read_prometheus(api, Range(now - self._seconds, now), shown, progress)
        except PrometheusError as error:
            detail = str(error).removeprefix(f"{shown}: ")
            report = InputReport(path=shown, kind="prometheus", status=Status.UNREADABLE, detail=detail)
            return Readings(inputs=[report])

    def _go_on(self, part: PartState, doing: str) -> None:
        if self._cancelled.is_set():
            raise _Left
        self._set(part.model_copy(update={"detail": doing}))

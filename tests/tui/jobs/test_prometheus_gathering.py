from __future__ import annotations

from pathlib import Path

import pytest

from collectors.inputs import InputReport, Readings, Status
from collectors.prometheus.read import Range
from diagnose.tui.model.events import Origin, OriginKind
from diagnose.tui.origins import without_secrets
from tests.tui.driving import opened, until, until_shown

ADDRESS = "http://127.0.0.1:1"


async def test_a_server_that_does_not_answer_is_told_as_unreadable(tmp_path: Path) -> None:
    async with opened(tmp_path, origin=Origin(kind=OriginKind.PROMETHEUS, address=ADDRESS)) as (app, pilot):
        await until(pilot, lambda: app.conductor.walk.before is not None)
        assert [part.state for part in app.conductor.parts] == ["unreadable"]
        await pilot.press("3")
        await until_shown(pilot, "unreadable")


async def test_what_a_server_has_is_read_and_ranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def read(_api: object, wanted: Range, shown: str, _progress: object) -> Readings:
        asked.append(wanted.end - wanted.start)
        return Readings(inputs=[InputReport(path=shown, kind="prometheus", status=Status.PARSED, facts=3)])

    monkeypatch.setattr("collectors.prometheus.read.read_prometheus", read)
    async with opened(tmp_path, origin=Origin(kind=OriginKind.PROMETHEUS, address=ADDRESS)) as (app, pilot):
        await until(pilot, lambda: app.conductor.walk.report is not None)
        assert [part.state for part in app.conductor.parts] == ["parsed"]
        assert asked == [3600.0]


def test_passwords_in_addresses_are_not_kept() -> None:
    assert without_secrets("https://me:secret@prometheus.example:9090/") == "https://prometheus.example:9090"
    assert "secret" not in without_secrets("http://me:secret@[bad")

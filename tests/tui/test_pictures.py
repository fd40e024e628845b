"""Pictures open above the causes and are drawn in the background."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.facts import Source, Subject
from diagnose.facts.gpu import GpuTemperature
from diagnose.sessions.facts import facts_to_json
from diagnose.tui.model.events import Collected, Event, Place
from tests.tui.driving import until_shown
from tests.tui.made import events

HOT = GpuTemperature(
    subject=Subject(host="node-a", gpu_index=3), sources=(Source(path="q.txt"),), gpu_celsius=88, slowdown_celsius=90
)


def with_facts(*facts: Any) -> list[Event]:
    return [
        event.model_copy(update={"facts": tuple(facts_to_json(facts))}) if isinstance(event, Collected) else event
        for event in events()
    ]


async def test_pictures_of_the_cause_under_the_cursor_are_shown(at_place: Any) -> None:
    async with at_place(Place.CAUSES, with_facts(HOT), size=(80, 24)) as (_, pilot):
        await pilot.press("p")
        await until_shown(pilot, "GPUs of node-a, bars are shares of limits")
        await until_shown(pilot, "███████ 88 C")


async def test_a_cause_without_pictures_says_so(at_place: Any) -> None:
    async with at_place(Place.CAUSES, with_facts(), size=(80, 24)) as (_, pilot):
        await pilot.press("p")
        await until_shown(pilot, "There is no picture for this cause.")


async def test_a_picture_that_cannot_be_drawn_ends_in_a_sentence(
    at_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise ValueError("no ink")

    monkeypatch.setattr("diagnose.tui.pictures.pictures_for", fail)
    async with at_place(Place.CAUSES, with_facts(HOT), size=(80, 24)) as (_, pilot):
        await pilot.press("p")
        await until_shown(pilot, "The pictures cannot be drawn: ValueError: no ink")

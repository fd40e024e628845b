"""What the tests of the interface share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from diagnose.knowledge.base import KnowledgeBase
from diagnose.knowledge.loader import load_knowledge
from diagnose.tui.jobs.ranker import Ranker
from diagnose.tui.model.events import Event, Place
from tests.tui.driving import opened, take_to
from tests.tui.made import events


@pytest.fixture(autouse=True)
def plain_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the user's settings nor the terminal's colours count."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLORTERM", "truecolor")
    for name in ("NO_COLOR", "DIAGNOSE_THEME", "DIAGNOSE_CHARACTERS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def few_rules(rule_base: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    """A rule base of one cause, in place of the real one, and a ranker that is never asked."""
    knowledge = load_knowledge(rule_base())
    monkeypatch.setattr(Ranker, "start", lambda _: None)
    monkeypatch.setattr(Ranker, "knowledge", lambda _: knowledge)
    return knowledge


@pytest.fixture
def at_place(few_rules: KnowledgeBase, tmp_path: Path) -> Any:  # noqa: ARG001 - it must be there first
    """Opens the application at a step of a walk made by hand."""

    @asynccontextmanager
    async def open_at(place: Place, happened: list[Event] | None = None, **given: Any) -> Any:
        async with opened(tmp_path, **given) as (app, pilot):
            await take_to(app, pilot, place, events() if happened is None else happened)
            yield app, pilot

    return open_at

"""Drives the application in tests: made with a folder of its own, waited for by what it shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from collectors.live.base import Window
from diagnose.settings import Settings, load_settings
from diagnose.tui.app import DiagnoseApp
from diagnose.tui.conductor import Conductor
from diagnose.tui.jobs.gathering import Gathering
from diagnose.tui.jobs.machine_gathering import MachineGathering, Recorded
from diagnose.tui.jobs.told import Gathered, Reading, Told
from diagnose.tui.model.events import Event, Origin, OriginKind, PartState, Place
from diagnose.tui.origins import simulated_machine

LIMIT_SECONDS = 90.0
"""Only a failure takes that long; machines may be busy."""


def settings(folder: Path, **values: Any) -> Settings:
    """Settings that keep everything below a folder, whatever the user's are."""
    reports = folder / "reports"
    reports.mkdir(exist_ok=True)
    return Settings.model_construct(
        **{**load_settings().model_dump(), "sessions_folder": folder / "sessions", "report_folder": reports, **values}
    )


def simulated(scenario: str) -> Origin:
    """A simulated machine as origin."""
    return Origin(kind=OriginKind.SIMULATION, scenario=scenario)


def with_recorders(*names: str) -> Callable[[Conductor, Path], Gathering]:
    """Records only with some recorders, which is faster; the rest of the way is as always."""

    def gather(conductor: Conductor, folder: Path) -> Gathering:
        from diagnose.intake.recordings import machine_of

        def find() -> Recorded:
            scenario = simulated_machine(conductor.walk)
            return Recorded(machine_of(scenario), scenario.files)

        name = "live" if conductor.walk.runs == 0 else f"live-{conductor.walk.runs + 1}"
        return MachineGathering(conductor.tell, find, folder, name, Window(0.1, 0.1), recorders=names)

    return gather


class Scripted(Gathering):
    """A collection that does what a test says: parts as given; those that run go on until they are skipped."""

    def __init__(self, tell: Callable[[Told], None], parts: Sequence[PartState], reading: Reading) -> None:
        super().__init__(tell)
        self.given = parts
        self.reading = reading
        self.skipped: list[str] = []
        self.repeated: list[str] = []
        self.over = False

    @property
    def running(self) -> bool:
        """Until no part runs."""
        return not self.over

    def start(self) -> None:
        """Tell of the parts at once, in the thread of the test."""
        for part in self.given:
            self._set(part)
        self._end_if_over()

    def skip(self, name: str) -> None:
        """End a part."""
        self.skipped.append(name)
        self._set(self._parts[name].model_copy(update={"state": "skipped"}))
        self._end_if_over()

    def again(self, name: str) -> None:
        """Note it."""
        self.repeated.append(name)

    def cancel(self) -> None:
        """End all."""
        for part in self.parts:
            if part.state == "running":
                self._set(part.model_copy(update={"state": "partial", "detail": "Stopped before it was done"}))
        self._end_if_over()

    def _work(self) -> None:
        raise AssertionError("it works in the thread of the test")

    def _end_if_over(self) -> None:
        if not self.over and all(part.state != "running" for part in self.parts):
            self.over = True
            self._tell(Gathered(self.reading, self.parts, complete=not self.skipped))


def scripted(parts: Sequence[PartState], reading: Reading | None = None) -> Callable[[Conductor, Path], Gathering]:
    """Makes such a collection."""
    return lambda conductor, _: Scripted(conductor.tell, parts, reading or Reading())


@asynccontextmanager
async def opened(
    folder: Path,
    *,
    size: tuple[int, int] = (100, 30),
    gather: Callable[[Conductor, Path], Gathering] | None = None,
    **given: Any,
) -> Any:
    """The application and its pilot."""
    values = settings(folder)
    app = DiagnoseApp(values, **given)
    if gather is not None:
        app.conductor = Conductor(values, app.told, gather)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        yield app, pilot


async def take_to(app: DiagnoseApp, pilot: Pilot[None], place: Place, happened: list[Event]) -> None:
    """Show a step of a walk made by hand."""
    app.conductor.take_up(happened)
    app.show(place)
    await pilot.pause()
    await app.workers.wait_for_complete()
    await pilot.pause()


async def until(pilot: Pilot[None], holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + LIMIT_SECONDS
    while not holds():
        assert time.monotonic() < end, f"never came:\n{screen_text(pilot.app)}"
        await pilot.pause(0.02)
    await pilot.pause()


async def until_shown(pilot: Pilot[None], words: str) -> None:
    """Wait until words stand on the screen."""
    await until(pilot, lambda: words in " ".join(screen_text(pilot.app).split()))


def notices(app: Any) -> str:
    """What pops up at the side, which lines of text beside it would tear apart."""
    return "\n".join(str(notice.message) for notice in app._notifications)


def screen_lines(app: Any) -> Iterator[Any]:
    """What is on the screen, as Textual's strips; the one place that knows how to get at them."""
    yield from app.screen._compositor.render_strips()


def screen_text(app: Any) -> str:
    """What is on the screen, as text."""
    return "\n".join(strip.text.rstrip() for strip in screen_lines(app))

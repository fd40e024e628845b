"""From where a walk begins to the collection that reads it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.settings import Settings
from diagnose.tui.jobs.gathering import Gathering
from diagnose.tui.jobs.told import Told
from diagnose.tui.model.events import OriginKind, StepMarked, StepState
from diagnose.tui.model.walk import Walk

if TYPE_CHECKING:
    from diagnose.simulate.environment import Scenario
    from diagnose.tui.jobs.machine_gathering import Recorded

_SIMULATED_WATCH_SECONDS = 0.3
_HOUR_SECONDS = 3600.0
_SHORTEST_SECONDS = 120.0
"""Fewer scrapes than in this time show nothing."""


def gathering_of(
    walk: Walk, settings: Settings, tell: Callable[[Told], None], folder: Path, paths: Sequence[str] = ()
) -> Gathering:
    """The collection for a walk's origin. Raises ValueError, with a sentence, where it cannot be read.

    `paths` are files to read in place of those that the walk began with.
    """
    origin = walk.origin
    if origin is None:
        raise ValueError("nothing was chosen that could be read")
    if origin.kind is OriginKind.FILES or paths:
        from diagnose.tui.jobs.file_gathering import FileGathering

        return FileGathering(tell, [_from(origin.folder, path) for path in paths or origin.paths])
    if origin.kind is OriginKind.PROMETHEUS:
        return _prometheus(walk, settings, tell)
    from collectors.live.base import Window
    from collectors.live.record import Machine
    from diagnose.tui.jobs.machine_gathering import MachineGathering, Recorded

    name = "live" if walk.runs == 0 else f"live-{walk.runs + 1}"
    simulated = origin.kind is OriginKind.SIMULATION
    seconds = _SIMULATED_WATCH_SECONDS if simulated else settings.watch_seconds

    def find() -> Recorded:
        return _simulated(walk) if simulated else Recorded(Machine())

    return MachineGathering(tell, find, folder, name, Window(seconds, min(1.0, seconds)), walk.symptoms)


def _prometheus(walk: Walk, settings: Settings, tell: Callable[[Told], None]) -> Gathering:
    """The last hour; once something was done, only the time since, so that the fault itself is not read again."""
    from collectors.prometheus.access import Access
    from diagnose.tui.jobs.prometheus_gathering import PrometheusGathering

    assert walk.origin is not None
    done = [event.at for event in walk.past if isinstance(event, StepMarked) and event.state is StepState.DONE]
    since = (datetime.now(UTC) - done[-1]).total_seconds() if done else _HOUR_SECONDS
    seconds = min(max(since, _SHORTEST_SECONDS), _HOUR_SECONDS)
    access = Access(
        walk.origin.address or "",
        bearer_token_file=settings.prometheus_bearer_token_file,
        ca_file=settings.prometheus_ca_file,
    )
    return PrometheusGathering(tell, access, seconds)


def without_secrets(address: str) -> str:
    """The address as it is saved: user and password stay out of sessions."""
    from collectors.prometheus.access import Access

    try:
        return Access(address).shown_url
    except ValueError:
        return address.rpartition("@")[2]


def _simulated(walk: Walk) -> Recorded:
    from diagnose.intake.recordings import machine_of
    from diagnose.tui.jobs.machine_gathering import Recorded

    scenario = simulated_machine(walk)
    return Recorded(machine_of(scenario), scenario.files)


def simulated_machine(walk: Walk) -> Scenario:
    """The scenario of a walk, repaired where the steps of a fix of its cause were carried out. Raises ValueError."""
    from diagnose.simulate.build import BuildError
    from diagnose.simulate.environment import UnknownScenarioError, load_scenario

    name = (walk.origin.scenario if walk.origin is not None else None) or ""
    try:
        return load_scenario(name, repaired=repaired(walk))
    except (UnknownScenarioError, BuildError) as error:
        raise ValueError(str(error)) from error


def repaired(walk: Walk) -> bool:
    """Whether what is wrong with the simulated machine of a walk was cured."""
    from diagnose.simulate.story import load_story

    name = None if walk.origin is None else walk.origin.scenario
    cause = None if name is None else load_story(name).cause
    return cause is not None and walk.carried_out(cause)


def _from(folder: str, path: str) -> str:
    """A path as it was given, or absolute where the program was started in another folder."""
    here = os.getcwd()  # noqa: PTH109 - compared as text
    return path if folder in ("", here) else os.path.join(folder, path)  # noqa: PTH118 - `./x` stays as it was given

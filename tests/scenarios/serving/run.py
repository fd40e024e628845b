"""One simulated run, with all that printers need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.scenarios.serving.conditions import Conditions, conditions
from tests.scenarios.serving.engine import Served, serve
from tests.scenarios.serving.telemetry import Noted, Telemetry, noted, telemetry
from tests.scenarios.serving.world import World


@dataclass(frozen=True, slots=True)
class Run:
    """A world and what happened in it."""

    world: World
    made: Conditions
    served: Served
    seen: Noted
    told: Telemetry
    rng: np.random.Generator
    """For what printers round and add."""


def simulate(world: World) -> Run:
    """The same world gives the same run."""
    rng = np.random.default_rng(world.seed)
    made = conditions(world, rng)
    served = serve(world, made, rng)
    seen = noted(world, made, served, rng)
    return Run(world, made, served, seen, telemetry(world, made, served, seen, rng), rng)

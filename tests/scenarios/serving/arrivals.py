"""When requests come and how long they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.scenarios.serving.world import World

Numbers = NDArray[np.float64]


def arrivals(world: World, rng: np.random.Generator) -> Numbers:
    """Times of an open loop, ascending, by thinning."""
    load = world.load
    rate = load.rate or load.use * world.capacity()
    grid = np.arange(0.0, world.seconds, 1.0)
    level = np.ones(len(grid))
    if load.pattern == "bursty":
        level = _bursty(len(grid), rng)
    elif load.pattern == "sessions":
        level = _sessions(len(grid), rng)
    elif load.pattern == "diurnal":
        # A stretch of the day's wave: the whole of it in the run.
        level = 1 + 0.45 * np.sin(2 * np.pi * grid / world.seconds + rng.uniform(0, 6.28))
    level *= rate / level.mean()
    count = rng.poisson(level)
    times = np.repeat(grid, count) + rng.random(int(count.sum()))
    return np.sort(times)


def _bursty(seconds: int, rng: np.random.Generator) -> Numbers:
    """Levels that last some seconds to a minute each."""
    level = np.ones(seconds)
    at = 0
    while at < seconds:
        length = int(rng.uniform(8, 50))
        level[at : at + length] = rng.choice([0.6, 0.8, 1.0, 1.4])
        at += length
    return level


def _sessions(seconds: int, rng: np.random.Generator) -> Numbers:
    """Somebody works for a while, then nobody does."""
    level = np.zeros(seconds)
    at = 0
    while at < seconds:
        length = int(rng.uniform(8, 20))
        level[at : at + length] = 1.0
        at += length + int(rng.uniform(5, 14))
    return level


def lengths(world: World, count: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tokens of prompts and of answers: lognormal, with a share of long documents where the load has them."""
    load = world.load
    prompts = np.minimum(rng.lognormal(np.log(load.prompt_median), load.prompt_sigma, count), load.prompt_most)
    long = rng.random(count) < load.long_share
    prompts = np.where(long, rng.uniform(6000, 14000, count), prompts)
    answers = np.minimum(rng.lognormal(np.log(load.answer_median), load.answer_sigma, count), load.answer_most)
    return np.maximum(8, prompts).astype(np.int64), np.maximum(2, answers).astype(np.int64)

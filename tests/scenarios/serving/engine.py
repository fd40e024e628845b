"""The inference server as a queueing model: continuous batching by steps, KV cache, clocks, and what interrupts it.

A step takes the tokens of all requests that are being answered and as many prompt tokens as its budget leaves. It lasts
as long as the slower of arithmetic and memory traffic needs under the conditions of its moment, and the host's work
beside it.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.scenarios.serving.arrivals import arrivals, lengths
from tests.scenarios.serving.conditions import Conditions
from tests.scenarios.serving.world import World

Numbers = NDArray[np.float64]
_QUOTA_PERIOD = 0.1
_POLL_CPUS = 1.0
"""CPUs that the engine's loop keeps busy while it waits for the GPU."""


@dataclass(slots=True)
class Second:
    """What happened in one second."""

    busy: float = 0.0
    moved_bytes: float = 0.0
    prompt_tokens: int = 0
    generated: int = 0
    clock_time: float = 0.0
    """Time for which the clock is known, and that times the clock's share of the highest one."""
    clock: float = 0.0
    power_limited: float = 0.0
    heat_limited: float = 0.0
    waited: float = 0.0
    """Time that other GPUs of the group waited for the slowest."""
    periods: int = 0
    throttled: int = 0
    host_cpu: float = 0.0


@dataclass(slots=True)
class Served:
    """What the server did. Times in seconds since the run's begin; NaN where the run ended before."""

    arrived: Numbers
    scheduled: Numbers
    first: Numbers
    finished: Numbers
    prompts: NDArray[np.int64]
    answers: NDArray[np.int64]
    seconds: list[Second]
    samples: list[tuple[float, int, int, float]] = field(default_factory=list)
    """At each second: time, running, waiting, share of the KV cache in use."""
    outside: list[tuple[float, int, bool]] = field(default_factory=list)
    """At each second: time, decodes of the last step, whether a graph served it."""
    preempted: list[float] = field(default_factory=list)
    compiled: list[tuple[float, str, float]] = field(default_factory=list)
    collected: list[tuple[float, float]] = field(default_factory=list)
    steps: list[tuple[float, int]] = field(default_factory=list)
    """Length and tokens of some of the steps."""
    celsius: Numbers = field(default_factory=lambda: np.zeros(0))
    watts: Numbers = field(default_factory=lambda: np.zeros(0))


class _Clock:
    """Clock of the GPU: falls when idle, under heat, and under a limit of power."""

    def __init__(self, world: World, made: Conditions) -> None:
        self._gpu, self._knobs, self._made = world.gpu, world.clocks, made
        self.limit = world.clocks.power_limit or world.gpu.power_limit
        self.celsius = world.clocks.ambient_celsius + 0.5 * world.clocks.celsius_per_watt * world.gpu.power_limit
        self.hot = False
        self._woken = -1e9
        self.lowest = world.gpu.clock_idle / world.gpu.clock_max

    def ratio(self, now: float, idle: float, compute: float, bandwidth: float) -> tuple[float, bool, bool, float]:
        """Share of the highest clock, whether power and heat hold it down, and the power."""
        gpu = self._gpu
        wanted = gpu.power_idle + (gpu.power_limit - gpu.power_idle) * min(1.0, 0.22 + 0.3 * bandwidth + 0.62 * compute)
        ratio, by_power = 1.0, False
        if wanted > self.limit:
            ratio, by_power = max(0.35, (self.limit / wanted) ** (1 / 1.6)), True
            wanted = self.limit
        if self.hot:
            ratio = min(ratio, 0.5)
            wanted *= 0.62
        knobs = self._knobs
        if knobs.idles_after is not None:
            if idle > knobs.idles_after:
                self._woken = now
            awake = (now - self._woken) / knobs.ramp_seconds
            if awake < 1:
                ratio = min(ratio, max(self.lowest, awake))
        return ratio, by_power, self.hot, wanted

    def warm(self, watts: float, seconds: float) -> None:
        """Temperature follows power within some tens of seconds; the slowdown ends three degrees lower."""
        target = self._knobs.ambient_celsius + self._knobs.celsius_per_watt * watts
        self.celsius += (target - self.celsius) * min(1.0, seconds / 25.0)
        if self.celsius >= self._gpu.slowdown_celsius:
            self.hot = True
        elif self.celsius < self._gpu.slowdown_celsius - 3:
            self.hot = False


def serve(world: World, made: Conditions, rng: np.random.Generator) -> Served:
    """Simulate the run."""
    return _Engine(world, made, rng).run()


class _Engine:
    def __init__(self, world: World, made: Conditions, rng: np.random.Generator) -> None:
        self.world, self.made, self.rng = world, made, rng
        self.closed = world.load.pattern == "closed"
        times = np.zeros(40 * int(world.seconds)) if self.closed else arrivals(world, rng)
        count = len(times)
        prompts, answers = lengths(world, count, rng)
        blank = np.full(count, np.nan)
        self.out = Served(
            times, blank.copy(), blank.copy(), blank.copy(), prompts, answers,
            [Second() for _ in range(int(world.seconds) + 62)],
        )  # fmt: skip
        self.prompts, self.answers = prompts.tolist(), answers.tolist()
        self.next = 0
        self.coming: list[tuple[float, int]] = []
        if self.closed:
            # Clients begin within their first seconds; each sends again when it was answered.
            for _ in range(world.load.clients):
                self._send(float(rng.uniform(0, 3)))
        else:
            self.coming = list(zip(times.tolist(), range(count), strict=True))
        self.waiting: deque[int] = deque()
        self.done = [0] * count
        """Tokens of an answer so far: a request that was taken out goes on from there."""
        self.prefilling: deque[list[int]] = deque()
        """Request and prompt tokens left."""
        self.running: dict[int, int] = {}
        """Request to the step in which its answer ends."""
        self.ends: list[tuple[int, int]] = []
        self.kv_used = 0
        self.kv_of: dict[int, tuple[int, int]] = {}
        """Tokens that a request held when it was begun, and the step of that."""
        self.step = 0
        self.clock = _Clock(world, made)
        self.pauses = deque(made.pauses)
        self.shapes: set[tuple[str, int]] = set()
        self.since_collection = 0
        self.period, self.used_cpu = 0, 0.0

    def _send(self, at: float) -> None:
        if self.next < len(self.out.arrived) and at < self.world.seconds:
            self.out.arrived[self.next] = at
            heapq.heappush(self.coming, (at, self.next))
            self.next += 1

    def run(self) -> Served:
        world, out = self.world, self.out
        now, idle_since, second = 0.0, 0.0, 0
        watts = np.full(int(world.seconds) + 62, world.gpu.power_idle)
        celsius = np.full(len(watts), self.clock.celsius)
        self.coming.sort()
        if not self.closed:
            self.coming.reverse()
        noise = self.rng.lognormal(0, 0.03, 4096).tolist()
        end = world.seconds + 60
        while now < end:
            self._arrive(now)
            while second < int(now) and second < len(watts):
                self._tell(second)
                self.clock.warm(watts[second], 1.0)
                celsius[second] = self.clock.celsius
                second += 1
            if not self.waiting and not self.prefilling and not self.running:
                if not self.coming:
                    break
                now = max(now, self._next_arrival())
                continue
            now = self._paused(now)
            idle = now - idle_since
            began = now
            now = self._step(now, idle, noise[self.step & 4095], watts)
            idle_since = now
            self.step += 1
            if now <= began:
                raise RuntimeError("a step took no time")
        keep = np.arange(len(out.arrived)) < (self.next if self.closed else len(out.arrived))
        out.arrived, out.scheduled, out.first, out.finished = (
            column[keep] for column in (out.arrived, out.scheduled, out.first, out.finished)
        )
        out.prompts, out.answers = out.prompts[keep], out.answers[keep]
        out.watts, out.celsius = watts, celsius
        return out

    def _next_arrival(self) -> float:
        return self.coming[0][0] if self.closed else self.coming[-1][0]

    def _arrive(self, now: float) -> None:
        coming = self.coming
        while coming and self._next_arrival() <= now:
            _, request = heapq.heappop(coming) if self.closed else coming.pop()
            self.waiting.append(request)

    def _tell(self, second: int) -> None:
        use = min(1.0, self.kv_used / self.world.server.kv_tokens)
        self.out.samples.append((float(second), len(self.running) + len(self.prefilling), len(self.waiting), use))
        decodes = len(self.running)
        if decodes:
            self.out.outside.append((float(second), decodes, decodes <= self.world.server.graph_max))

    def _paused(self, now: float) -> float:
        """After halts that began before now, and the time that a quota takes."""
        while self.pauses and self.pauses[0][0] <= now:
            begin, length = self.pauses.popleft()
            now = max(now, begin + length)
        quota = self.world.server.quota_cpus
        if quota is None:
            return now
        period = int(now / _QUOTA_PERIOD)
        if period != self.period:
            self._periods(period)
        if self.used_cpu > quota * _QUOTA_PERIOD:
            self.out.seconds[min(len(self.out.seconds) - 1, int(now))].throttled += 1
            # What was used beyond the quota is owed to the periods that follow.
            owed = self.used_cpu / (quota * _QUOTA_PERIOD)
            now = (self.period + max(1, int(owed))) * _QUOTA_PERIOD + 1e-4
            self._periods(int(now / _QUOTA_PERIOD))
        return now

    def _periods(self, period: int) -> None:
        passed = period - self.period
        at = min(len(self.out.seconds) - 1, int(period * _QUOTA_PERIOD))
        self.out.seconds[at].periods += passed
        self.used_cpu = max(0.0, self.used_cpu - passed * (self.world.server.quota_cpus or 0) * _QUOTA_PERIOD)
        self.period = period

    def _admit(self, now: float) -> None:
        server, out = self.world.server, self.out
        while self.waiting and len(self.running) + len(self.prefilling) < server.max_running:
            request = self.waiting[0]
            needed = self.prompts[request] + self.done[request] + 1
            if self.kv_used + needed > server.kv_tokens:
                if not self.running and not self.prefilling:
                    self.waiting.popleft()
                    continue
                break
            self.waiting.popleft()
            self.kv_used += needed
            self.kv_of[request] = (needed, -1)
            self.prefilling.append([request, needed - 1])
            if np.isnan(out.scheduled[request]):
                out.scheduled[request] = now

    def _make_room(self, now: float) -> None:
        """Each running request needs room for its next token; without it the youngest is taken out."""
        while self.kv_used + len(self.running) > self.world.server.kv_tokens and len(self.running) > 1:
            request = next(reversed(self.running))
            self._forget(request)
            self.waiting.appendleft(request)
            self.out.preempted.append(now)

    def _forget(self, request: int) -> None:
        held, since = self.kv_of.pop(request)
        ends = self.running.pop(request)
        produced = self.step - since
        self.done[request] = self.answers[request] - (ends - self.step)
        self.kv_used -= held + produced

    def _step(self, now: float, idle: float, noise: float, watts: Numbers) -> float:
        world, server, gpu = self.world, self.world.server, self.world.gpu
        self._admit(now)
        self._make_room(now)
        decodes = len(self.running)
        whole = not server.chunked
        room = server.budget - decodes
        tokens, done = 0, []
        if whole and self.prefilling:
            # Without chunks a prompt has the step to itself, whatever its length.
            done = [self.prefilling.popleft()]
            tokens, decodes = done[0][1], 0
        while not whole and self.prefilling and room > 0:
            entry = self.prefilling[0]
            part = min(room, entry[1])
            entry[1] -= part
            room -= part
            tokens += part
            if entry[1] > 0:
                break
            done.append(self.prefilling.popleft())
        tick = self.made.at(now)
        bandwidth = gpu.bandwidth * max(0.1, 1 - self.made.bandwidth_taken[tick])
        moved = gpu.weights_bytes + self.kv_used * gpu.kv_bytes * (decodes > 0)
        arithmetic = (tokens + decodes) * gpu.weights_bytes / gpu.flops
        by_memory = moved / bandwidth
        ratio, by_power, by_heat, power = self.clock.ratio(
            now, idle, arithmetic / (arithmetic + by_memory), by_memory / (arithmetic + by_memory)
        )
        work = max(by_memory / min(1.0, 0.2 + 1.6 * ratio), arithmetic / ratio) + 0.2 * by_memory / ratio
        taken = self.made.compute_taken[tick]
        if taken:
            work = work / (1 - taken) + 0.004 * taken * self.rng.random()
        work *= noise
        waited = 0.0
        if self.made.slow_gpu[tick]:
            waited = work * server.straggler * (0.8 + 0.2 * self.rng.exponential())
        copies = tokens * 4e4 / (gpu.pcie_bytes * world.clocks.pcie_width / 16)
        taken_pcie = self.made.pcie_taken[tick]
        copies *= 1 / (1 - taken_pcie) / max(0.05, 1 - taken_pcie)
        host = server.host_seconds * self.made.host_factor[tick]
        if decodes > server.graph_max:
            host += 0.016 * self.made.host_factor[tick]
        if server.profiled is not None and server.profiled[0] < now / world.seconds < server.profiled[1]:
            host += 0.012 * self.rng.lognormal(0, 0.6)
        length = (
            work
            + waited
            + copies * (2 if world.host.crossing > 1 else 1)
            + host
            + self._interrupted(now, decodes, tokens)
        )
        after = float(now + length)
        self._book(now, length, work + waited, moved, tokens, decodes, ratio, by_power, by_heat, power, waited, watts)
        self._finish(after, done, decodes)
        if self.world.server.quota_cpus is not None:
            self.used_cpu += _POLL_CPUS * length + 0.0007 * decodes + 0.00012 * tokens + 0.012 * len(done)
        return after

    def _interrupted(self, now: float, decodes: int, tokens: int) -> float:
        server, extra = self.world.server, 0.0
        if server.compiles and now > 20:
            for sort, size in (("decode", decodes // 4), ("prefill", tokens // 160)):
                if size and (sort, size) not in self.shapes:
                    self.shapes.add((sort, size))
                    taken = float(self.rng.uniform(0.5, 2.2))
                    self.out.compiled.append((now, f"_{sort}_kernel_{size}", taken))
                    extra += taken
        if server.collects_every and self.since_collection >= server.collects_every:
            self.since_collection = 0
            taken = server.collection_seconds * float(self.rng.uniform(0.8, 1.3))
            self.out.collected.append((now, taken))
            extra += taken
        return extra

    def _book(
        self, now: float, length: float, busy: float, moved: float, tokens: int, decodes: int, ratio: float,
        by_power: bool, by_heat: bool, power: float, waited: float, watts: Numbers,
    ) -> None:  # fmt: skip
        at = int(now)
        seconds = self.out.seconds
        first = min(at, len(seconds) - 1)
        if self.step % 7 == 0:
            self.out.steps.append((length, tokens + decodes))
        left, begin = busy, now
        seconds[first].prompt_tokens += tokens
        seconds[first].generated += decodes
        idle_watts = self.world.gpu.power_idle
        while left > 1e-9:
            at = min(int(begin), len(seconds) - 1)
            part = min(left, int(begin) + 1 - begin)
            one = seconds[at]
            share = part / busy
            one.busy += part
            one.moved_bytes += moved * share
            one.clock_time += part
            one.clock += part * ratio
            one.power_limited += part * by_power
            one.heat_limited += part * by_heat
            one.waited += waited * share
            watts[at] += part * (power - idle_watts)
            left -= part
            begin += part
        seconds[first].host_cpu += length

    def _finish(self, after: float, done: list[list[int]], decodes: int) -> None:
        out = self.out
        self.kv_used += len(self.running) if decodes else 0
        if not decodes and self.running:
            # The step was a prompt's alone: what is being answered ends that much later.
            self.running = {request: ends + 1 for request, ends in self.running.items()}
            self.ends = [(ends + 1, request) for ends, request in self.ends]
            self.kv_of = {r: (held, since + 1 if since >= 0 else since) for r, (held, since) in self.kv_of.items()}
        while self.ends and self.ends[0][0] <= self.step:
            ends, request = heapq.heappop(self.ends)
            if self.running.get(request) != ends:
                continue
            held, since = self.kv_of.pop(request)
            del self.running[request]
            self.kv_used -= held + self.step - since
            out.finished[request] = after
            self.since_collection += 1
            if self.closed:
                self._send(after + 0.01)
        for request, _ in done:
            if np.isnan(out.first[request]):
                out.first[request] = after
            left = self.answers[request] - self.done[request] - 1
            ends = self.step + max(1, left)
            self.running[request] = ends
            held, _ = self.kv_of[request]
            self.kv_of[request] = (held, self.step)
            heapq.heappush(self.ends, (ends, request))

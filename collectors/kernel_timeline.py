"""Puts log lines of one host into the boots that they belong to.

A file can hold several logs of the same machine one after another (kern.log, then the journal of the last boot, then
that of the boot before), so the order of lines is not the order of events: where lines have a wall-clock time, that
decides.
"""

from __future__ import annotations

import bisect
import math
from typing import NamedTuple

from collectors.kernel_log_lines import LogLine

_SAME_BOOT_SECONDS = 30.0
"""Signs of one boot that are found twice (banner and clock restart, kern.log and journal) lie this close together."""
_RELOAD_SECONDS = 600.0
"""A driver load this soon after an unload is a reload, not a boot."""
_CLOCK_RESTART_SECONDS = 1.0
"""Lines of a kernel log may be out of order by less than this."""


class Moment(NamedTuple):
    """When a line was written, relative to the boots of its host."""

    boot: tuple[str, float]
    """Which boot: the clock that tells it and the boot's own beginning or number."""
    order: tuple[float, int]
    """Sorts events within a boot: wall-clock or monotonic seconds where known, then line number."""
    wall_seconds: float | None
    monotonic_seconds: float | None


class Timeline:
    """Boots that one host's lines show."""

    def __init__(self) -> None:
        self._wall_boots: list[float] = []
        self._counted_boots = 0
        self._restarts = 0
        self._last_wall: float | None = None
        self._last_monotonic: float | None = None
        self._last_unload: float | None = None
        self._first_driver_line: float | None = None
        self._banner_seen = False
        self._boot_announced = False
        self._moment: Moment | None = None
        self._first_wall = math.inf
        self._latest_wall = -math.inf
        self._monotonic_total = 0.0
        self.stamped_lines = 0

    def announce_boot(self) -> None:
        """The journal says that the next line is of another boot."""
        self._boot_announced = True

    def observe(self, line: LogLine, number: int) -> Moment:
        """Place a line; one without a stamp belongs to the moment of the line before."""
        if line.stamped:
            self.stamped_lines += 1
        if line.wall_seconds is not None:
            self._observe_wall(line, line.wall_seconds)
            boot = ("wall", self._wall_boot_before(line.wall_seconds))
            self._moment = Moment(boot, (line.wall_seconds, number), line.wall_seconds, line.monotonic_seconds)
        elif line.monotonic_seconds is not None:
            self._observe_monotonic(line, line.monotonic_seconds)
            boot = ("monotonic", float(self._restarts))
            self._moment = Moment(boot, (line.monotonic_seconds, number), None, line.monotonic_seconds)
        elif self._moment is not None:
            self._moment = self._moment._replace(order=(self._moment.order[0], number))
        else:
            return Moment(("none", 0.0), (0.0, number), None, None)
        return self._moment

    def is_before_last_boot(self, boot: tuple[str, float]) -> bool:
        """Whether a later boot is known than the boot, or the wall-clock time, that is given."""
        clock, seconds = boot
        if clock == "wall":
            return bool(self._wall_boots) and seconds < self._wall_boots[-1]
        return clock == "monotonic" and seconds < self._restarts

    @property
    def boots(self) -> int:
        """Boots that begin in the log."""
        return max(len(self._wall_boots), self._counted_boots)

    @property
    def span_seconds(self) -> float | None:
        """From the first to the last stamp."""
        if self._latest_wall >= self._first_wall:
            return round(self._latest_wall - self._first_wall, 6)
        if self._last_monotonic is not None:
            return round(self._monotonic_total, 6)
        return None

    def _observe_wall(self, line: LogLine, wall: float) -> None:
        forward = self._last_wall is None or wall >= self._last_wall
        begins = self._boot_announced or self._is_banner(line)
        monotonic = line.monotonic_seconds
        if monotonic is not None and self._last_monotonic is not None and self._last_wall is not None:
            begins = begins or (forward and monotonic < self._last_monotonic - _CLOCK_RESTART_SECONDS)
        if monotonic is None and not self._banner_seen:
            begins = begins or self._is_first_driver_load(line, wall)
        if begins:
            self._add_wall_boot(wall)
            self._boot_announced = False
        self._last_wall = wall
        self._last_monotonic = monotonic if monotonic is not None else self._last_monotonic
        self._first_wall = min(self._first_wall, wall)
        self._latest_wall = max(self._latest_wall, wall)

    def _observe_monotonic(self, line: LogLine, monotonic: float) -> None:
        banner = self._is_banner(line)
        # After wall-clock lines the file has gone over to another log of the same machine: no sign of a boot.
        continues = self._last_wall is None and self._last_monotonic is not None
        restarted = continues and monotonic < (self._last_monotonic or 0.0) - _CLOCK_RESTART_SECONDS
        if restarted or self._boot_announced or (banner and self._counted_boots == 0):
            self._counted_boots += 1
        if restarted or (self._boot_announced and continues):
            self._restarts += 1
        elif continues:
            self._monotonic_total += max(monotonic - (self._last_monotonic or 0.0), 0.0)
        self._boot_announced = False
        self._last_wall = None
        self._last_monotonic = monotonic

    def _is_banner(self, line: LogLine) -> bool:
        banner = line.message.startswith("Linux version ")
        self._banner_seen = self._banner_seen or banner
        return banner

    def _is_first_driver_load(self, line: LogLine, wall: float) -> bool:
        """Logs filtered for the driver show no banner, but each boot loads the driver once without unloading it."""
        if "Unregistered the Nvlink Core" in line.message or "NVIDIA kernel module is unloaded" in line.message:
            self._last_unload = wall
        if "NVRM: " in line.message and self._first_driver_line is None:
            self._first_driver_line = wall
        if "NVRM: loading NVIDIA" not in line.message or self._first_driver_line is None:
            return False
        reloaded = self._last_unload is not None and 0 <= wall - self._last_unload <= _RELOAD_SECONDS
        # The first load of a log tells nothing: the boot may have begun minutes before, and its lines be in the log.
        return not reloaded and wall - self._first_driver_line > _SAME_BOOT_SECONDS

    def _add_wall_boot(self, wall: float) -> None:
        index = bisect.bisect_left(self._wall_boots, wall)
        near = self._wall_boots[max(index - 1, 0) : index + 1]
        if all(abs(wall - known) > _SAME_BOOT_SECONDS for known in near):
            self._wall_boots.insert(index, wall)

    def _wall_boot_before(self, wall: float) -> float:
        index = bisect.bisect_right(self._wall_boots, wall)
        return self._wall_boots[index - 1] if index else -math.inf

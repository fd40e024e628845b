"""Checkpoints in training logs: when they were saved, and how long that took.

Megatron-LM says `saving checkpoint at iteration 5000 to ...` and times it as `save-checkpoint` (`time (ms) |
save-checkpoint: 41234.12`, or `save-checkpoint ......: (41234.12, 41236.55)`, least and most over the ranks);
torchtitan says `Finished saving the checkpoint in 12.34 seconds`.
"""

from __future__ import annotations

import re
from array import array
from itertools import pairwise
from statistics import median

from diagnose.facts import Source, Subject
from diagnose.facts.training import CheckpointSaves

LITERALS: tuple[bytes, ...] = (
    b"saving checkpoint at iteration",
    b"save-checkpoint",
    b"inished saving the checkpoint in",
    b"successfully saved checkpoint from iteration",
)
_STEP = re.compile(r"\bsaving checkpoint at iteration\s+(\d{1,12})\b")
_TIMER = re.compile(r"\bsave-checkpoint\b[ .]*:\s*\(?(?:[\d.]{1,20},\s*)?(\d{1,12}(?:\.\d{1,9})?)\)?")
_SECONDS = re.compile(r"inished saving the checkpoint in (\d{1,9}(?:\.\d{1,9})?) seconds")
_MOST = 100_000


class Checkpoints:
    """The saves of one file."""

    def __init__(self) -> None:
        self._steps = array("q")
        self._seconds = array("d")
        self._line = 0

    def take(self, text: str, number: int) -> bool:
        """Take what a line says of a checkpoint; false where it says nothing of one."""
        if step := _STEP.search(text):
            if len(self._steps) < _MOST and (not self._steps or int(step[1]) > self._steps[-1]):
                self._steps.append(int(step[1]))
        elif timer := _TIMER.search(text):
            self._add_seconds(float(timer[1]) / 1000)
        elif seconds := _SECONDS.search(text):
            self._add_seconds(float(seconds[1]))
        else:
            return "successfully saved checkpoint from iteration" in text
        self._line = self._line or number
        return True

    def _add_seconds(self, seconds: float) -> None:
        if len(self._seconds) < _MOST:
            self._seconds.append(seconds)

    def fact(self, path: str, step_seconds: float | None) -> CheckpointSaves | None:
        """The saves summed up; `step_seconds` is the median time of a step, where the log tells it."""
        if not self._line:
            return None
        gaps = [later - earlier for earlier, later in pairwise(self._steps)]
        interval = round(median(gaps)) if gaps else None
        seconds = median(self._seconds) if self._seconds else None
        between = interval * step_seconds if interval and step_seconds else None
        return CheckpointSaves(
            subject=Subject(),
            sources=(Source(path=path, line=self._line),),
            saves=max(len(self._steps), len(self._seconds)),
            interval_steps=interval,
            median_seconds=seconds,
            time_share_ratio=seconds / (seconds + between) if seconds is not None and between else None,
        )

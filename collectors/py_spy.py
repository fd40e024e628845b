"""Stack dumps of Python processes by `py-spy dump`: what each thread was in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from diagnose.facts import Fact, Subject
from diagnose.facts.hang import ProcessWait

_PREFIX = r"^\s*(?:\[?[\w.-]+\]?:\s+)?"
_PROCESS = re.compile(_PREFIX + r"Process (\d{1,10}): \S")
_THREAD = re.compile(
    _PREFIX + r'Thread (0x[0-9A-Fa-f]{1,16}|\d{1,20}) \((active|idle)(?:\+gil)?(?:, .*)?\)(?:: "(.*)")?\s*$'
)
_FRAME = re.compile(r"^\s{2,}(\S+) \((.+?):(\d{1,9})\)\s*$")

_PLACES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("data-loader", re.compile(r"^(?:_try_get_data|_get_data|_next_data) \(\S*(?:torch/utils/data|dataloader)")),
    (
        "pipeline",
        re.compile(
            r"^(?:send|recv|_communicate|p2p_\w+|send_\w+|recv_\w+|batch_isend_irecv)\b.*"
            r"(?:distributed|p2p_communication|pipe/p2p)"
        ),
    ),
    (
        "collective",
        re.compile(
            r"^(?:barrier|all_reduce|all_gather\w*|_all_gather_base|reduce_scatter\w*"
            r"|_reduce_scatter_base|broadcast\w*|all_to_all\w*|reduce|gather\w*|scatter\w*"
            r"|monitored_barrier|wait_for_everyone|all_reduce_\w+) \(\S*(?:distributed|accelerate)"
        ),
    ),
    ("gpu", re.compile(r"^(?:synchronize|_cuda_synchronize|current_stream) \(\S*torch/cuda")),
    (
        "file-system",
        re.compile(
            r"^(?:save|_save|load|_load|flush|write|emit|fsync|open_?\w*|read) "
            r"\(\S*(?:torch/serialization|logging/__init__|pathlib|shutil|json/|io\.py|numpy/lib)"
        ),
    ),
    (
        "lock",
        re.compile(
            r"^(?:acquire|__enter__|wait|_acquire\w*|lock) "
            r"\(\S*(?:threading|multiprocessing/synchronize|filelock|multiprocessing/connection)"
        ),
    ),
)
"""What a frame tells, the most telling first: a queue's lock inside the data loader is the data loader."""
_WORKER = re.compile(r"^_worker_loop \(\S*torch/utils/data/_utils/worker")
_WORKER_IDLE = re.compile(r"^(?:get|poll|_poll|wait) \(\S*(?:multiprocessing/(?:queues|connection)|queue)\.py")


@dataclass(slots=True)
class _Thread:
    line: Line
    process: int | None
    name: str | None
    active: bool
    frames: list[str] = field(default_factory=list)


class PySpy(BlockCollector):
    """One fact for each main thread."""

    kind: ClassVar[str] = "py-spy"
    literals: ClassVar[tuple[bytes, ...]] = (b"Thread ", b"Process ")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"^(?:\S*/)?py-spy\s+dump\b")
    reopens = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A thread's heading, or that of a process which runs Python."""
        return _THREAD.match(text) is not None or (_PROCESS.match(text) is not None and "python" in text)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Main threads; the helpers of a data loader and of the process group always wait and tell nothing."""
        return Parsed([_fact(block, thread) for thread in _threads(block.lines) if thread.frames and _main(thread)])


def _threads(lines: Sequence[Line]) -> list[_Thread]:
    process: int | None = None
    found: list[_Thread] = []
    for line in lines:
        if match := _PROCESS.match(line.text):
            process = int(match.group(1))
        elif match := _THREAD.match(line.text):
            identity = match.group(1)
            # Without a process's heading the main thread's number is the process's.
            own = int(identity) if process is None and identity.isdecimal() and len(identity) <= 10 else process
            found.append(_Thread(line, own, match.group(3), match.group(2) == "active"))
        elif found and (frame := _FRAME.match(line.text)):
            found[-1].frames.append(f"{frame.group(1)} ({frame.group(2)}:{frame.group(3)})")
    return found


def _main(thread: _Thread) -> bool:
    """Older versions name no threads; there the main one begins in the program's module."""
    return thread.name == "MainThread" or (thread.name is None and thread.frames[-1].startswith("<module> "))


def _fact(block: Block, thread: _Thread) -> Fact:
    worker = any(_WORKER.match(frame) for frame in thread.frames)
    place, call = _place(thread.frames, worker)
    return ProcessWait(
        subject=Subject(host=block.host, process_id=thread.process),
        sources=(block.source(thread.line),),
        main_thread=True,
        active=thread.active,
        waits_in=place,
        loader_worker=worker,
        call=call,
    )


def _place(frames: Sequence[str], worker: bool) -> tuple[str, str]:
    """Where the thread is. A worker that waits for its next order is idle, not stuck."""
    if worker and any(_WORKER_IDLE.match(frame) for frame in frames[:6]):
        return "other", frames[0]
    for place, pattern in _PLACES:
        for frame in frames:
            if pattern.match(frame):
                return place, frame
    return "other", frames[0]

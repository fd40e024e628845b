from __future__ import annotations

import pytest

from collectors.py_spy import PySpy
from diagnose.facts.hang import ProcessWait
from tests.collectors.helpers import block, damaged, opened

LOADER = """\
Process 901: /opt/py/bin/python -u train.py --epochs 3
Python v3.10.12 (/opt/py/bin/python3.10)

Thread 901 (idle): "MainThread"
    wait (threading.py:320)
    get (queue.py:180)
    _try_get_data (torch/utils/data/dataloader.py:1133)
    _get_data (torch/utils/data/dataloader.py:1285)
    __next__ (torch/utils/data/dataloader.py:630)
    train (train.py:88)
    <module> (train.py:140)
Thread 0x7F00AABBCCDD (active+gil): "pt_main_watchdog"
    run (threading.py:953)
Thread 1055 (idle): "Thread-4 (_pin_memory_loop)"
    select (selectors.py:416)
    get (multiprocessing/queues.py:113)
    do_one_step (torch/utils/data/_utils/pin_memory.py:31)
"""
WORKER = """\
Process 955: /opt/py/bin/python -u train.py --epochs 3
Python v3.10.12 (/opt/py/bin/python3.10)

Thread 955 (idle): "MainThread"
    {inner}
    _worker_loop (torch/utils/data/_utils/worker.py:308)
    run (multiprocessing/process.py:108)
    <module> (train.py:140)
"""
COLLECTIVE = """\
Thread 4711 (active): "MainThread"
    barrier (torch/distributed/distributed_c10d.py:3696)
    wait_for_everyone (accelerate/utils/other.py:81)
    <module> (finetune.py:12)
"""


def waits(text: str) -> list[ProcessWait]:
    return [fact for fact in PySpy.parse(block(text)).facts if isinstance(fact, ProcessWait)]


def test_main_thread_in_the_loader_is_told_and_helpers_are_not() -> None:
    (fact,) = waits(LOADER)
    assert (fact.waits_in, fact.active, fact.loader_worker) == ("data-loader", False, False)
    assert fact.call == "_try_get_data (torch/utils/data/dataloader.py:1133)"
    assert fact.subject.process_id == 901


@pytest.mark.parametrize(
    ("inner", "place"),
    [
        ("acquire (logging/__init__.py:917)", "other"),
        ("acquire (threading.py:168)", "lock"),
        ("get (multiprocessing/queues.py:113)", "other"),
        ("read (pathlib.py:1134)", "file-system"),
        ("decode (dataset.py:17)", "other"),
    ],
)
def test_worker_is_known_by_its_loop(inner: str, place: str) -> None:
    (fact,) = waits(WORKER.format(inner=inner))
    assert fact.loader_worker
    assert fact.waits_in == place


def test_worker_that_waits_for_orders_is_not_in_a_lock() -> None:
    text = WORKER.format(inner="wait (threading.py:320)\n    get (multiprocessing/queues.py:113)")
    assert waits(text)[0].waits_in == "other"


def test_collective_without_the_heading_of_a_process() -> None:
    (fact,) = waits(COLLECTIVE)
    assert (fact.waits_in, fact.active, fact.subject.process_id) == ("collective", True, 4711)


def test_several_dumps_in_one_file_keep_their_processes() -> None:
    found = waits(LOADER + "\n" + WORKER.format(inner="acquire (threading.py:168)"))
    assert [fact.subject.process_id for fact in found] == [901, 955]


def test_headings_open_and_prose_does_not() -> None:
    assert opened(PySpy, LOADER)[0].startswith("Process 901: ")
    assert opened(PySpy, "Thread 12 was idle\nProcess 33: done\nThread pool (active)\n") == []


@pytest.mark.parametrize("text", [LOADER, WORKER, COLLECTIVE])
def test_damaged_text_never_raises(text: str) -> None:
    for broken in damaged(text):
        PySpy.parse(block(broken))

from __future__ import annotations

from collectors.nvidia_smi_pmon import NvidiaSmiPmon
from diagnose.facts.gpu import GpuProcess
from tests.collectors.helpers import block, damaged, opened

TEXT = """\
# gpu         pid   type     fb     sm    mem    enc    dec    command
# Idx           #    C/G     MB      %      %      %      %    name
    0       20037     C     900      2      0     24      -    python -m serve
    0       20037     C     901      3      0     24      -    python -m serve
    1           -     -       -      -      -      -      -    -
    2       20038   C+G       -      5      0     34      -    ffmpeg
"""


def test_titles_open_a_block() -> None:
    assert opened(NvidiaSmiPmon, TEXT) == TEXT.splitlines()[:1]


def test_each_process_is_told_once() -> None:
    facts = NvidiaSmiPmon.parse(block(TEXT)).facts
    assert [(fact.subject.gpu_index, fact.subject.process_id, fact.sources[0].line) for fact in facts] == [
        (0, 20037, 3),
        (2, 20038, 6),
    ]
    assert facts[0].values() == {"name": "python -m serve", "type": "C", "used_memory_bytes": 900 << 20}
    assert facts[1].missing == {"used_memory_bytes": "not-applicable"}


def test_no_process_at_all_is_no_problem() -> None:
    parsed = NvidiaSmiPmon.parse(block("\n".join([*TEXT.splitlines()[:2], TEXT.splitlines()[4]])))
    assert (parsed.facts, parsed.problems) == ([], [])


def test_without_a_column_of_memory_none_is_told() -> None:
    text = "# gpu        pid  type    sm   command\n    0       1234     C     7   python\n"
    (process,) = NvidiaSmiPmon.parse(block(text)).facts
    assert isinstance(process, GpuProcess)
    assert (process.used_memory_bytes, dict(process.missing)) == (None, {})


def test_values_without_titles_are_a_problem() -> None:
    assert NvidiaSmiPmon.parse(block(TEXT.splitlines()[2])).problems == ["line 1: no titles of columns"]


def test_damaged_output_never_raises() -> None:
    for text in damaged(TEXT):
        NvidiaSmiPmon.parse(block(text))

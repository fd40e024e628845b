from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.df import Df
from tests.collectors.helpers import block, damaged, opened

HUMAN = """\
Filesystem      Size  Used Avail Use% Mounted on
/dev/nvme0n1p2  1.8T  1.7T   90G  95% /
shm              64M   12M   52M  19% /dev/shm
tmpfs           252G  3.1M  252G   1% /run
/dev/sdb1       3.6T  1.0T  2.6T  28% /data
nfs01:/export/long-name-of-a-share
                 10T   10T     0 100% /mnt/share
"""
BLOCKS = """\
Filesystem     Type  1K-blocks    Used Available Use% Mounted on
shm            tmpfs     65536   65536         0 100% /dev/shm
"""


def facts(text: str) -> list[Any]:
    return list(Df.parse(block(text)).facts)


def test_watched_and_full_file_systems_become_facts() -> None:
    assert [fact.mount for fact in facts(HUMAN)] == ["/", "/dev/shm", "/run"]
    shm = facts(HUMAN)[1]
    assert shm.values() == {
        "mount": "/dev/shm",
        "filesystem": "shm",
        "size_bytes": 64 << 20,
        "used_bytes": 12 << 20,
        "available_bytes": 52 << 20,
    }
    assert shm.sources[0].line == 3


def test_sizes_in_blocks_are_bytes_and_zero_is_zero() -> None:
    (shm,) = facts(BLOCKS)
    assert (shm.size_bytes, shm.available_bytes) == (64 << 20, 0)


def test_a_full_file_system_is_told_wherever_it_is_mounted() -> None:
    row = "/dev/sdb1       3.6T  3.5T   40G  99% /scratch\n"
    assert facts(HUMAN.splitlines()[0] + "\n" + row)[0].mount == "/scratch"


def test_numbers_on_the_next_line_belong_to_the_long_name_above() -> None:
    text = (
        HUMAN.splitlines()[0]
        + "\n/dev/mapper/a-very-long-volume-name\n                 64M   12M   52M  19% /dev/shm\n"
    )
    (fact,) = facts(text)
    assert (fact.filesystem, fact.mount) == ("/dev/mapper/a-very-long-volume-name", "/dev/shm")


def test_only_the_header_opens() -> None:
    assert opened(Df, HUMAN + BLOCKS) == [HUMAN.splitlines()[0], BLOCKS.splitlines()[0]]


@pytest.mark.parametrize(
    ("command", "known"),
    [("df -h", True), ("sudo df -h /dev/shm", True), ("docker exec c1 df -h", True), ("cat pdf", False)],
)
def test_the_command_is_known(command: str, known: bool) -> None:
    assert Df.command is not None
    assert bool(Df.command.search(command)) is known


def test_damaged_tables_do_not_raise() -> None:
    for text in damaged(HUMAN + BLOCKS):
        Df.parse(block(text))


def test_the_small_shared_memory_of_the_case_is_read(corpus: Path) -> None:
    (shm,) = facts((corpus / "cases" / "single-dev-shm-64mb" / "df_shm.txt").read_text())
    assert (shm.mount, shm.size_bytes, shm.available_bytes) == ("/dev/shm", 64 << 20, 0)

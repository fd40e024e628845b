"""The page of inputs names every kind, and commands that the collectors know."""

from __future__ import annotations

import pytest

from collectors.base import BlockCollector
from collectors.registry import BLOCK_COLLECTORS, FILE_COLLECTORS, LINE_COLLECTORS
from tools.reference_pages import COMMANDS, pages

KINDS = sorted(collector.kind for collector in (*BLOCK_COLLECTORS, *LINE_COLLECTORS, *FILE_COLLECTORS))


def test_the_page_of_inputs_has_a_row_for_every_kind() -> None:
    rows = [line.split("`")[1] for line in pages()["inputs.md"].splitlines() if line.startswith("| `")]
    assert rows == KINDS


def test_commands_are_given_for_kinds_that_exist() -> None:
    assert set(COMMANDS) <= set(KINDS)


@pytest.mark.parametrize("collector", [item for item in BLOCK_COLLECTORS if item.command], ids=lambda item: item.kind)
def test_the_command_is_one_whose_output_the_collector_takes_under_a_prompt(collector: type[BlockCollector]) -> None:
    assert collector.command
    assert collector.kind in COMMANDS, "name a command that prints it in tools/reference_pages.py, then `make docs`"
    assert any(collector.command.search(part) for part in COMMANDS[collector.kind].split("; "))

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnose.capture import CaptureError
from diagnose.capture.torch_module import torch
from diagnose.cli.capture import capture


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(CaptureError, match=r"gpu-diagnose\[capture\]"):
        torch()


def test_command_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    prompts = tmp_path / "ids.jsonl"
    prompts.write_text('{"prompt_token_ids": [1, 2]}\n')
    arguments = ["--role", "reference", "--factory", "json:loads", "--prompts", str(prompts), "-o", str(tmp_path / "o")]
    result = CliRunner().invoke(capture, arguments)
    assert result.exit_code == 2
    assert "gpu-diagnose[capture]" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["--role", "reference", "-o", "x", "--prompts", "p"],
        ["--role", "reference", "-o", "x", "--model", "m"],
        ["--role", "reference", "-o", "x", "--model", "m", "--factory", "a:b", "--prompts", "p"],
    ],
)
def test_contradicting_options_are_refused(arguments: list[str]) -> None:
    result = CliRunner().invoke(capture, arguments)
    assert result.exit_code == 2
    assert "give either" in result.output


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    arguments = ["--role", "low-bit", "-o", "x", "--model", "m", "--prompts", "p", "--computes-in", "fp3"]
    result = CliRunner().invoke(capture, arguments)
    assert result.exit_code == 2
    assert "'fp3' is unknown; there are: fp16" in result.output

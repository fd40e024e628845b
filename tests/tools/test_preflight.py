"""Each thing that a machine may lack is named, with its cure."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from pathlib import Path

import pytest

from tools.preflight import complaint


def test_nothing_is_said_where_everything_is_there() -> None:
    assert complaint() is None


def test_an_old_python_is_named_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))

    assert "Python 3.11 or newer is needed" in (complaint() or "")
    assert "is 3.10:" in (complaint() or "")


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_is_told_which_package_to_install(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else find_spec(name))

    assert f"apt install python{sys.version_info[0]}.{sys.version_info[1]}-venv" in (complaint() or "")


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O2")

    assert "`no-such-compiler` was not found" in (complaint() or "")


def test_missing_headers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"include": str(tmp_path)})

    assert f"{tmp_path / 'Python.h'} is missing" in (complaint() or "")

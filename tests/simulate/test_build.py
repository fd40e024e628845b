from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.simulate.build import LIBRARY, BuildError, library_folder
from tests.simulate.scenarios import NEEDS_LIBRARY


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@NEEDS_LIBRARY
def test_the_library_is_built_once_and_found_again(cache: Path) -> None:
    folder = library_folder()
    built = (folder / LIBRARY).stat().st_mtime_ns

    assert folder.is_relative_to(cache)
    assert library_folder() == folder
    assert (folder / LIBRARY).stat().st_mtime_ns == built


@NEEDS_LIBRARY
def test_a_build_leaves_nothing_but_the_library(cache: Path) -> None:
    library_folder()

    assert [path.name for path in cache.rglob("*") if path.is_file()] == [LIBRARY]


def test_without_a_compiler_it_says_what_to_install(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(cache))

    with pytest.raises(BuildError, match="needs a C compiler"):
        library_folder()


def test_a_compiler_that_fails_leaves_no_library(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho 'scenario.c:1: error: no such machine' >&2\nexit 1\n", encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))

    with pytest.raises(BuildError, match="no such machine"):
        library_folder()
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\n", encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    with pytest.raises(BuildError, match="cannot be written"):
        library_folder()

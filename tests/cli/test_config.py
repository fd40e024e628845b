from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnose.cli.main import cli


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_locate_prints_the_path_alone(home: Path) -> None:
    result = CliRunner().invoke(cli, ["config", "locate"])

    assert result.stdout == f"{home / 'diagnose' / 'config.toml'}\n"


def test_show_prints_what_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSE_THEME", "nord")

    assert tomllib.loads(CliRunner().invoke(cli, ["config", "show"]).stdout)["theme"] == "nord"


def test_settings_that_cannot_be_used_end_in_a_sentence(home: Path) -> None:
    (home / "diagnose").mkdir()
    (home / "diagnose" / "config.toml").write_text("theme = 3\n", encoding="utf-8")
    result = CliRunner().invoke(cli, ["config", "show"])

    assert result.exit_code == 2
    assert "theme: Input should be a valid string" in result.stderr

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from diagnose.settings import Settings, SettingsError, load_settings, settings_as_toml, settings_file


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in Settings.model_fields:
        monkeypatch.delenv(f"DIAGNOSE_{name.upper()}", raising=False)
    return tmp_path


def write(text: str) -> None:
    settings_file().parent.mkdir(parents=True, exist_ok=True)
    settings_file().write_text(text, encoding="utf-8")


def test_without_anything_there_are_defaults(home: Path) -> None:
    assert load_settings().theme == "diagnose-dark"
    assert load_settings().sessions_folder == home / "state" / "diagnose" / "sessions"


def test_flags_win_over_the_environment_and_that_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write('theme = "nord"\nwatch_seconds = 5\nanimation = true\n')
    monkeypatch.setenv("DIAGNOSE_THEME", "gruvbox")
    monkeypatch.setenv("DIAGNOSE_WATCH_SECONDS", "7")
    settings = load_settings(theme="dracula", watch_seconds=None)

    assert (settings.theme, settings.watch_seconds, settings.animation) == ("dracula", 7.0, True)


def test_keys_are_remapped_by_their_ids() -> None:
    write('[keymap]\n"fix.done" = "D,space"\n')

    assert load_settings().keymap == {"fix.done": "D,space"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("them = 1\n", "no setting is called them; there are: theme"),
        ("theme = \n", "config.toml: .*line 1"),
        ("watch_seconds = -1\n", "watch_seconds: Input should be greater than 0"),
        ("characters = 'runes'\n", "characters: Input should be"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(text: str, says: str) -> None:
    write(text)

    with pytest.raises(SettingsError, match=says) as error:
        load_settings()
    assert str(settings_file()) in str(error.value)


def test_what_is_shown_can_be_the_file() -> None:
    write('theme = "nord"\n[keymap]\n"app.quit" = "ctrl+x"\n')
    shown = settings_as_toml(load_settings())
    write(shown)

    assert tomllib.loads(shown)["keymap"] == {"app.quit": "ctrl+x"}
    assert settings_as_toml(load_settings()) == shown

"""Settings: a file, the environment, and flags of the command line, the later ones winning."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from diagnose.folders import settings_folder, state_folder

FILE_NAME = "config.toml"
PREFIX = "DIAGNOSE_"


class SettingsError(Exception):
    """Settings that cannot be used; the text says where they stand and what is wrong."""


class Settings(BaseModel):
    """Everything that can be set. Environment: the name in capitals after `DIAGNOSE_`, such as `DIAGNOSE_THEME`.

    Here are the settings and their defaults; `diagnose.settings.sources` reads file and environment, and is loaded only
    where there is one of them: the first screen comes sooner without.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    theme: str = "diagnose-dark"
    """Colours: `diagnose-dark`, `diagnose-light`, or any theme that the command palette lists."""
    characters: Literal["auto", "unicode", "ascii"] = "auto"
    """Which characters to draw with; `auto` asks the terminal's encoding."""
    animation: bool = False
    """Whether things slide and fade. Off, since every frame has to travel over slow links."""
    watch_seconds: float = Field(default=1.0, gt=0, le=3600)
    """How long this machine is watched in one collection."""
    sessions_folder: Path = Field(default_factory=lambda: state_folder() / "sessions")
    """Where sessions are saved."""
    report_folder: Path = Path()
    """Where reports are saved; relative to the folder that the program was started in."""
    prometheus_bearer_token_file: Path | None = None
    """File of the token that a Prometheus server asks for. Secrets stand in no session."""
    prometheus_ca_file: Path | None = None
    """File of the CA of that server's certificate."""
    keymap: dict[str, str] = Field(default_factory=dict)
    """Other keys for actions: id of the binding (help shows it) to keys, apart by commas."""


def settings_file() -> Path:
    """Path of the settings' file, which need not exist."""
    return settings_folder() / FILE_NAME


def load_settings(**flags: Any) -> Settings:
    """The settings; flags that are None were not given. Raises SettingsError."""
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        if not settings_file().exists() and not any(name.upper().startswith(PREFIX) for name in os.environ):
            return Settings(**given)
        from diagnose.settings.sources import from_file_and_environment

        return from_file_and_environment(given)
    except ValidationError as error:
        raise SettingsError(_sentence(error)) from error


def _sentence(error: ValidationError) -> str:
    lines = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()]
    return f"settings that cannot be used ({settings_file()}, or {PREFIX}... in the environment): {'; '.join(lines)}"


def settings_as_toml(settings: Settings) -> str:
    """The settings as the file would have them; TOML takes strings as JSON writes them."""
    values = settings.model_dump(mode="json")
    plain = {name: value for name, value in values.items() if value is not None and not isinstance(value, dict)}
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in plain.items())
    for name, table in values.items():
        if isinstance(table, dict):
            text += f"\n[{name}]\n" + "".join(
                f"{json.dumps(key)} = {json.dumps(item)}\n" for key, item in table.items()
            )
    return text

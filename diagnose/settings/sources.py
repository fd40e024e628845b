"""Where settings come from: flags, then the environment, then the file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from diagnose.settings import PREFIX, Settings, SettingsError, settings_file


class _Sourced(Settings, BaseSettings):
    """The settings with their sources."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, environment and file, the earlier ones winning."""
        return init_settings, env_settings, _FileSource(settings_cls)


class _FileSource(PydanticBaseSettingsSource):
    """The settings' file, where there is one."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        """Unused: the file gives all its values at once."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        return _file_values(settings_file())


def from_file_and_environment(flags: Mapping[str, Any]) -> Settings:
    """The settings of all sources. Raises ValidationError, and SettingsError for a file that cannot be used."""
    return _Sourced(**flags)


def _file_values(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error
    unknown = sorted(set(values) - set(Settings.model_fields))
    if unknown:
        raise SettingsError(
            f"{path}: no setting is called {', '.join(unknown)}; there are: {', '.join(Settings.model_fields)}"
        )
    return values

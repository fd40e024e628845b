"""Build hook: wheels carry the rules and the sample inside the package."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DATA = {"rules": "diagnose/_rules", "fixtures/demo": "diagnose/_fixtures/demo"}


class DataFiles(BuildHookInterface[Any]):
    """Adds the data folders to standard wheels only.

    A plain `force-include` would also copy them at an editable install, and the copy would go stale with the first
    rule that changes.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Extend the list of included files; `version` is `standard` or `editable`."""
        if version == "standard":
            build_data["force_include"].update(DATA)

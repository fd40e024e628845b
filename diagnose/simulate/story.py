"""What a scenario's machine is about: what its users say, what is wrong with it, and so what would repair it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from diagnose.simulate.environment import SCENARIOS

_FILE = "story.toml"


@dataclass(frozen=True)
class Story:
    """What a scenario's file `story.toml` says; all of it may be absent."""

    says: str | None = None
    """The complaint, in the words of whoever uses the machine."""
    symptom: str | None = None
    """Id of the symptom."""
    cause: str | None = None
    """Id of the cause. Once the steps of one of its fixes were carried out, the machine is as after a repair."""


def load_story(name: str) -> Story:
    """The story of a scenario, empty where it has none."""
    path = SCENARIOS / name / _FILE
    if not path.is_file():
        return Story()
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    return Story(values.get("says"), values.get("symptom"), values.get("cause"))

"""Facts as JSON and back, for sessions that outlive the files they were read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from diagnose.facts import Fact
from diagnose.facts.registry import fact_kinds


def facts_to_json(facts: Iterable[Fact]) -> list[dict[str, Any]]:
    """Objects with `kind` and the fields that are not at their defaults."""
    return [{"kind": fact.kind, **fact.model_dump(mode="json", exclude_defaults=True)} for fact in facts]


def facts_from_json(objects: Sequence[Mapping[str, Any]]) -> tuple[list[Fact], int]:
    """The facts, and how many there were of kinds or shapes that this version does not know."""
    kinds = fact_kinds()
    facts: list[Fact] = []
    for item in objects:
        model = kinds.get(str(item.get("kind")))
        if model is None:
            continue
        try:
            facts.append(model.model_validate({name: value for name, value in item.items() if name != "kind"}))
        except ValidationError:
            continue
    return facts, len(objects) - len(facts)

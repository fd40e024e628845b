"""The command palette: every action of the program and of the screen at hand, with its key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider


class Action(NamedTuple):
    """An action as the palette shows it."""

    name: str
    help: str
    call: str
    """What Textual runs."""
    where: object


class Actions(Provider):
    """Finds actions by words."""

    async def discover(self) -> Hits:
        """All of them."""
        for action in self._actions():
            yield DiscoveryHit(action.name, self._runs(action), help=action.help)

    async def search(self, query: str) -> Hits:
        """Those whose names hold the letters."""
        matcher = self.matcher(query)
        for action in self._actions():
            score = matcher.match(action.name)
            if score > 0:
                yield Hit(score, matcher.highlight(action.name), self._runs(action), help=action.help)

    def _runs(self, action: Action):  # type: ignore[no-untyped-def]
        async def run() -> None:
            await self.app.run_action(action.call, action.where)  # type: ignore[arg-type]

        return run

    def _actions(self) -> Iterator[Action]:
        seen: set[str] = set()
        for node, binding, enabled, _ in self.screen.active_bindings.values():
            if enabled and binding.description and _named(binding) and binding.action not in seen:
                seen.add(binding.action)
                key = self.app.get_key_display(binding)
                yield Action(binding.description, f"Key: {key}", binding.action, node)
        for theme in sorted(self.app.available_themes):
            yield Action(f"Theme: {theme}", "Change colours", f"app.use_theme('{theme}')", self.app)


def _named(binding: Binding) -> bool:
    """Whether it is one of ours: only they have ids."""
    return binding.id is not None

"""What a fault is: whether a world can have it, how it changes one, and what an operator brings for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.scenarios.world import World

_FAULTS: dict[str, tuple[str, Fault]] = {}


@dataclass(frozen=True)
class Fault:
    """One cause to inject."""

    cause: str
    inject: Callable[[World, Random], None]
    needs: Callable[[World], bool]
    all_of: tuple[str, ...]
    """Files without which nobody could tell."""
    any_of: tuple[str, ...]
    """Of these at least one is brought, beside those above; `a+b` only tells together."""
    often: tuple[str, ...]
    """Each is brought in two cases of three."""
    several: bool
    """Whether it needs more than one host."""

    @staticmethod
    def of(module: str) -> list[Fault]:
        """The faults that a module declares."""
        return [item for where, item in _FAULTS.values() if where == module]

    def files(self, rng: Random) -> list[str]:
        """What is brought this time."""
        chosen = list(self.all_of)
        if self.any_of:
            chosen += rng.sample(self.any_of, rng.randint(1, len(self.any_of)))
        chosen += [name for name in self.often if rng.random() < 0.67]
        return list(dict.fromkeys(part for name in chosen for part in name.split("+")))


def fault(
    cause: str,
    *,
    needs: Callable[[World], bool] = lambda _: True,
    all_of: tuple[str, ...] = (),
    any_of: tuple[str, ...] = (),
    often: tuple[str, ...] = (),
    several: bool = False,
) -> Callable[[Callable[[World, Random], None]], Callable[[World, Random], None]]:
    """Declare a function as the injector of a cause."""

    def declare(inject: Callable[[World, Random], None]) -> Callable[[World, Random], None]:
        _FAULTS[cause] = (inject.__module__, Fault(cause, inject, needs, all_of, any_of, often, several))
        return inject

    return declare

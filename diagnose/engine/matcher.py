"""The rule library (durable-rules 2.0.28) behind the few calls that are safe. Nothing else imports it.

Its C module is used directly. The Python layer around it, `durable.engine.Host`, starts two timer threads that also
run actions and walk over sessions: facts that are asserted meanwhile lose matches without a word (151,065 of 360,000
arrived in one run, all of them without the threads), and a deleted session may be read. With the C module matches are
fetched, not called back: there is no action whose exception could be swallowed, or which is cut off after ten seconds.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, cast

from diagnose.engine.errors import EngineError, EngineUnavailable
from diagnose.engine.properties import Names
from diagnose.engine.translate import Condition, Translation, library_alias

MAX_MATCHES = 200_000
"""Matches of one query. A rule that has more joins facts that have nothing to do with each other."""

_OBSERVED = 2
"""Answer to a fact whose id has the same 32-bit hash as an earlier one: it was not taken."""
_MATCHES_AT_ONCE = 65_535
"""Matches that the library hands over in one piece: the largest value of its counter."""
_OPENING = "open"
_CURE = (
    'CPPFLAGS="-DPyEval_CallObject=PyObject_CallObject" pip install --no-cache-dir --force-reinstall '
    "--no-binary durable-rules durable-rules==2.0.28"
)

Indices = tuple[int, ...]
"""Places of the facts of a match in the sequence that was given, in the order of the query."""


class Library(Protocol):
    """What is used of the library. Every call holds the interpreter's lock, so each is atomic among threads."""

    def create_ruleset(self, name: str, rules: str, /) -> int:
        """Compile rules; the handle counts from 1."""

    def delete_ruleset(self, handle: int, /) -> None:
        """Free what create_ruleset allocated."""

    def assert_fact(self, handle: int, fact: str, /) -> tuple[int, int]:
        """Answer (0 taken, 1 no rule wants it, 2 observed already) and place of the session."""

    def start_action_for_state(self, handle: int, session: int, /) -> tuple[str, str] | None:
        """State and the first matches."""

    def complete_and_start_action(self, handle: int, session: int, /) -> str | None:
        """Drop the matches that were fetched last; the next ones."""

    def delete_state(self, handle: int, session: str, /) -> None:
        """Free everything that belongs to a session."""


def load_library() -> Library:
    """The library. Raises EngineUnavailable with the cure."""
    try:
        import durable_rules_engine
    except ImportError as error:
        raise EngineUnavailable(
            f"The rule library durable-rules cannot be loaded ({error}); with a C compiler and the Python headers "
            f"installed, build it with: {_CURE}"
        ) from error
    return cast("Library", durable_rules_engine)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact as the library sees it."""

    index: int
    kind: str
    values: Mapping[str, int]
    """Property names to the numbers that stand for their values."""


class RuleSet:
    """Some queries, compiled. Sessions are independent of each other, also in several threads."""

    _sessions = count(1)

    def __init__(self, library: Library, translations: Sequence[Translation], names: Names) -> None:
        self._library = library
        self._translations = list(translations)
        self._properties: dict[str, set[str]] = {}
        for translation in translations:
            for kind, wanted in translation.properties.items():
                self._properties.setdefault(kind, set()).update(map(names.of, wanted))
        self._kind_names = {kind: f"k{place}" for place, kind in enumerate(self._properties)}
        try:
            self._handle = library.create_ruleset("rules", json.dumps(self._definition()))
        except Exception as error:
            ids = ", ".join(sorted({translation.query.rule for translation in translations}))
            raise EngineError(f"the rule library refuses one of the rules {ids}: {error}") from error
        weakref.finalize(self, library.delete_ruleset, self._handle)

    def _definition(self) -> dict[str, Any]:
        """The queries in the library's form."""
        definition: dict[str, Any] = {_OPENING: {"cap": 1, "all": [{library_alias(0): {"$and": [{_OPENING: 1}]}}]}}
        for number, translation in enumerate(self._translations):
            definition[str(number)] = {
                "cap": _MATCHES_AT_ONCE,
                "all": [
                    {library_alias(place): {"$and": self._conditions(translation, place)}}
                    for place in range(len(translation.conditions))
                ],
            }
        return definition

    def _conditions(self, translation: Translation, place: int) -> list[Condition]:
        """Conditions on one fact of a query. The one on its kind comes first, so facts of other kinds end there."""
        kinds = [self._kind_names[kind] for kind in translation.query.kinds.values()]
        conditions = [{kinds[place]: 1}, *translation.conditions[place]]
        if place > 0:
            # When the last of the conditions that join two facts is false, the library searches for their end from
            # behind it, in memory that was never written and beyond. So the last one is always true: 1 equals 1.
            conditions.append({kinds[place]: {library_alias(0): kinds[0]}})
        return conditions

    def matches(self, candidates: Iterable[Candidate], kinds: set[str]) -> dict[str, set[Indices]]:
        """Matches by id of the query; `kinds` are those of which there are facts.

        Raises EngineError when there are too many, or when the library refuses a fact.
        """
        possible = [item for item in self._translations if kinds.issuperset(item.query.kinds.values())]
        wanted = {kind for item in possible for kind in item.query.kinds.values()}
        found: dict[str, set[Indices]] = {item.query.id: set() for item in possible}
        if not wanted:
            return found
        session = self._open()
        try:
            for candidate in candidates:
                if candidate.kind in wanted:
                    self._match(session, candidate, found)
        finally:
            self._library.delete_state(self._handle, session)
        return found

    def _open(self) -> str:
        """A new session's id.

        A session must have handed over a match before it is deleted: until then the library has not written the
        pointers that it frees. So each begins with a fact and a rule of our own.
        """
        session = str(next(self._sessions))
        _, place = self._assert({"sid": session, "id": _OPENING, _OPENING: 1})
        if len(list(self._fetch(place))) != 1:
            raise EngineError("the rule library does not find the match that opens a session")
        return session

    def _match(self, session: str, candidate: Candidate, found: dict[str, set[Indices]]) -> None:
        properties = self._properties[candidate.kind]
        fact: dict[str, str | int] = {"sid": session, "id": str(candidate.index), self._kind_names[candidate.kind]: 1}
        fact.update((name, value) for name, value in candidate.values.items() if name in properties)
        answer, place = self._assert(fact)
        attempt = 0
        while answer == _OBSERVED:
            # Only ids are compared, and only by hash. Nothing was stored yet, so the same fact may come again.
            attempt += 1
            answer, place = self._assert({**fact, "id": f"{candidate.index}.{attempt}"})
        if answer == 0:
            # Fetched fact by fact, so that a join that explodes is noticed while it is small.
            for rule, rows in self._fetch(place):
                self._collect(int(rule), rows, found)

    def _collect(self, number: int, rows: list[dict[str, dict[str, Any]]], found: dict[str, set[Indices]]) -> None:
        query = self._translations[number].query
        places = [library_alias(place) for place in range(len(query.kinds))]
        matches = found[query.id]
        matches.update(tuple(int(row[place]["id"].partition(".")[0]) for place in places) for row in rows)
        if len(matches) > MAX_MATCHES:
            raise EngineError(
                f"rule {query.rule}: more than {MAX_MATCHES:,} matches; join its facts by a field that they share"
            )

    def _assert(self, fact: Mapping[str, str | int]) -> tuple[int, int]:
        try:
            return self._library.assert_fact(self._handle, json.dumps(fact))
        except Exception as error:
            raise EngineError(f"the rule library refuses the fact {dict(fact)}: {error}") from error

    def _fetch(self, place: int) -> Iterator[tuple[str, list[dict[str, dict[str, Any]]]]]:
        """Name of the rule and its matches, until there are none."""
        started = self._library.start_action_for_state(self._handle, place)
        text = started[1] if started else None
        while text:
            yield from json.loads(text).items()
            text = self._library.complete_and_start_action(self._handle, place)

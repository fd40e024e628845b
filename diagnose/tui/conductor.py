"""Runs a walk: asks jobs for facts and rankings, turns what they tell into events, and saves each as it happens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from diagnose.report.model import Report
from diagnose.sessions.store import SessionStore
from diagnose.settings import Settings
from diagnose.tui.jobs.gathering import CUT_SHORT, Gathering
from diagnose.tui.jobs.ranker import Ranker
from diagnose.tui.jobs.told import (
    AnswerRead,
    Failed,
    Gathered,
    RankedSoFar,
    RankingDone,
    Reading,
    ReadSoFar,
    Told,
)
from diagnose.tui.model.events import (
    EVENT,
    Answered,
    Collected,
    Event,
    Moved,
    Origin,
    Outcome,
    PartState,
    Place,
    Ranked,
    Started,
    SymptomsChosen,
    Verified,
)
from diagnose.tui.model.walk import Walk, apply, walk_of
from diagnose.tui.saving import Saving

Purpose = Literal["diagnose", "verify"]


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


class Conductor:
    """One walk at a time. Everything but the jobs happens in the thread that calls.

    Attributes:
        walk: where the walk stands.
        gathering: the collection that runs, or ran last.
        purpose: what it is for.
        so_far: causes of what was read until now, while a collection runs.
        problem: what went wrong last, as a sentence.
    """

    def __init__(
        self,
        settings: Settings,
        tell: Callable[[Told], None],
        gather: Callable[[Conductor, Path], Gathering] | None = None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self.settings = settings
        self.store = SessionStore(settings.sessions_folder)
        self.walk = Walk()
        self.gathering: Gathering | None = None
        self.purpose: Purpose = "diagnose"
        self.so_far: Report | None = None
        self.problem: str | None = None
        self.ranker = Ranker(tell, now)
        self.tell = tell
        self.now = now
        self._gather = gather or _gathering
        self._saving = Saving(self.store)
        self._ticket: tuple[Purpose, object] | None = None
        self._paths_after: tuple[str, ...] = ()

    @property
    def session_id(self) -> str | None:
        """Id of the session that the walk is saved in; None where it cannot be saved."""
        return self._saving.session_id

    @property
    def folder(self) -> Path | None:
        """Folder of the session, with its recordings and answers."""
        return self._saving.folder

    @property
    def paths_after(self) -> Sequence[str]:
        """Files to verify with, where they are others than those that were read before."""
        return self._paths_after if self.purpose == "verify" else ()

    @property
    def gathers(self) -> bool:
        """Whether a collection runs."""
        return self.gathering is not None and self.gathering.running

    @property
    def ranks(self) -> bool:
        """Whether the answer to the last question for a ranking is awaited."""
        return self._ticket is not None

    @property
    def verifies(self) -> bool:
        """Whether it is being read again or compared, to verify a fix."""
        return (self.gathers and self.purpose == "verify") or (self._ticket is not None and self._ticket[0] == "verify")

    @property
    def parts(self) -> Sequence[PartState]:
        """Parts of the collection that runs, else of the last one."""
        if self.gathering is not None:
            return self.gathering.parts
        run = self.walk.after or self.walk.before
        return () if run is None else run.parts

    def happened(self, event: Event) -> None:
        """Take an event into the walk and save it."""
        self.walk = apply(self.walk, event)
        self._saving.append(event)
        self._saving.summarise(self.walk)

    def begin(self, origin: Origin, symptoms: Sequence[str] = ()) -> None:
        """Begin a new walk, and read at once: that only reads, and the operator names the symptom meanwhile."""
        self.leave()
        self.problem = self._saving.create()
        self.happened(Started(at=self.now(), origin=origin))
        if symptoms:
            self.happened(SymptomsChosen(at=self.now(), symptoms=tuple(symptoms)))
        self.collect("diagnose")

    def resume(self, session_id: str) -> None:
        """Go on with a saved walk where it stood. Raises SessionError and OSError."""
        self.leave()
        events = [EVENT.validate_python(event) for event in self._saving.open(session_id)]
        self.take_up(events)

    def take_up(self, events: Sequence[Event]) -> None:
        """Continue from events: what a kill interrupted is done again."""
        self.walk = walk_of(events)
        if self.walk.origin is None:
            return
        if self.walk.before is None:
            self.collect("diagnose")
        elif self.walk.report is None:
            self.rank()

    def leave(self) -> None:
        """Let go of the walk; it stays saved."""
        self.cancel()
        self._saving.close()
        self.walk = Walk()
        self.gathering = None
        self.so_far = None
        self.problem = None

    def go(self, place: Place) -> None:
        """Note where the operator is."""
        if self.walk.origin is not None and place is not self.walk.place:
            self.happened(Moved(at=self.now(), place=place))

    def choose_symptoms(self, symptoms: Sequence[str]) -> None:
        """Take what the operator sees, and rank anew with it."""
        before = self.walk.symptoms
        self.happened(SymptomsChosen(at=self.now(), symptoms=tuple(symptoms)))
        if self.walk.before is not None and tuple(symptoms) != before:
            self.rank()

    def collect(self, purpose: Purpose) -> None:
        """Read the origin."""
        self.cancel()
        self.purpose = purpose
        self.problem = None
        self.so_far = None
        folder = self._saving.recording_folder(self.walk.runs + 1)
        try:
            self.gathering = self._gather(self, folder)
        except OSError as error:
            self.problem = f"{error.filename or 'collecting'}: {error.strerror}"
            return
        except ValueError as error:
            self.problem = str(error)
            return
        self.gathering.start()

    def again(self, name: str) -> None:
        """Read one part once more."""
        if self.gathering is not None:
            self.gathering.again(name)
            if not self.gathering.running:
                self.gathering.start()

    def cancel(self) -> None:
        """End what runs: a collection keeps what it read, and a ranking is not waited for any more."""
        if self.gathering is not None:
            self.gathering.cancel()
        self._ticket = None

    def rank(self, purpose: Purpose = "diagnose") -> None:
        """Rank what there is."""
        walk = self.walk
        facts, inputs = (walk.facts, walk.inputs) if purpose == "diagnose" else (walk.facts_after, walk.inputs_after)
        self._ticket = (purpose, object())
        self.ranker.ask(facts, inputs, walk.symptoms, self._ticket)

    def verify(self, paths: Sequence[str] = ()) -> None:
        """Read again and compare; `paths` are files that were made after the fix, in place of those read before."""
        self._paths_after = tuple(paths)
        self.collect("verify")

    def write_down(self) -> None:
        """Wait until all that happened is on disk."""
        self._saving.flush()

    def answer(self, check: str, text: str, purpose: Purpose = "diagnose") -> None:
        """Read the output of a check as a file is read."""
        number = len(self.walk.answers) + len(self.walk.answers_after) + 1
        path = f"answers/{number}-{check}.txt"
        folder = self._saving.recording_folder(0).parent
        threading.Thread(target=_read_answer, args=(check, purpose, path, folder, text, self.tell), daemon=True).start()

    def answer_in_a_word(self, check: str, answer: Literal["yes", "no", "unknown", "cannot"]) -> None:
        """Take an answer that is no output."""
        from diagnose.facts import Source, Subject
        from diagnose.facts.collection import OperatorAnswer
        from diagnose.sessions.facts import facts_to_json

        facts = []
        if answer in ("yes", "no"):
            hosts = self.walk.report.hosts if self.walk.report is not None else ()
            subject = Subject(host=hosts[0]) if len(hosts) == 1 else Subject()
            source = (Source(command="answer of the operator", time=self.now()),)
            facts = facts_to_json([OperatorAnswer(subject=subject, sources=source, check=check, answer=answer)])
        self.happened(Answered(at=self.now(), check=check, answer=answer, facts=tuple(facts)))
        if facts:
            self.rank()

    def heard(self, told: Told) -> None:
        """Take what a job tells."""
        match told:
            case ReadSoFar(reading):
                self.ranker.ask(reading.facts, reading.inputs, self.walk.symptoms, None)
            case RankedSoFar(report):
                self.so_far = report if self.gathers else self.so_far
            case Gathered(reading, parts, complete):
                self._gathered(reading, parts, complete)
            case RankingDone(report, ticket) if self._ticket is not None and ticket is self._ticket:
                purpose, _ = self._ticket
                self._ticket = None
                self._ranked(purpose, report)
            case AnswerRead():
                self._answered(told)
            case Failed(sentence):
                self.problem = sentence
                self._ticket = None

    def _gathered(self, reading: Reading, parts: Sequence[PartState], complete: bool) -> None:
        run = self.walk.runs + 1
        self.happened(
            Collected(
                at=self.now(),
                purpose=self.purpose,
                run=run,
                facts=tuple(reading.facts),
                inputs=tuple(reading.inputs),
                parts=tuple(parts),
                complete=complete,
                pictures=tuple(reading.pictures),
            )
        )
        self.rank(self.purpose)

    def _ranked(self, purpose: Purpose, report: Report) -> None:
        self.so_far = None
        self.happened(Ranked(at=self.now(), purpose=purpose, report=report))
        if purpose == "verify" and self.walk.chosen is not None:
            self._judge(self.walk.chosen.id, report)

    def _judge(self, cause_id: str, report: Report) -> None:
        from diagnose.tui.model.verdict import verdict

        before, knowledge = self.walk.report, self.ranker.knowledge()
        if before is None or knowledge is None:
            return
        found = verdict(cause_id, before, report, knowledge)
        outcome, why = Outcome(found.verdict.value), found.why
        cut = ", ".join(_cut(self.walk))
        if outcome is Outcome.GONE and cut:
            outcome, why = Outcome.NOT_SHOWN, f"It is not found, but parts were not read to their ends: {cut}"
        self.happened(Verified(at=self.now(), cause=cause_id, outcome=outcome, why=why))

    def _answered(self, told: AnswerRead) -> None:
        self.happened(
            Answered(
                at=self.now(),
                purpose=told.purpose,
                check=told.check,
                answer="output",
                path=told.path,
                facts=tuple(told.reading.facts),
                inputs=tuple(told.reading.inputs),
            )
        )
        self.rank(told.purpose)


def _cut(walk: Walk) -> list[str]:
    """Parts that were read to their ends before and not when it was verified."""
    if walk.before is None or walk.after is None:
        return []
    whole = {part.name for part in walk.before.parts if part.state not in CUT_SHORT}
    return [part.name for part in walk.after.parts if part.state in CUT_SHORT and part.name in whole]


def _read_answer(
    check: str, purpose: Purpose, path: str, folder: Path, text: str, tell: Callable[[Told], None]
) -> None:
    from collectors.scan import read_inputs
    from diagnose.intake.recordings import renamed
    from diagnose.tui.jobs.readings import reading_of

    file = folder / path
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        tell(Failed(f"{file}: {error.strerror}"))
        return
    readings = renamed(read_inputs([str(file)]), file.parent, "answers")
    tell(AnswerRead(check, purpose, path, reading_of(readings, over=True)))


def _gathering(conductor: Conductor, folder: Path) -> Gathering:
    """The collection that reads a walk's origin. Raises ValueError where there is nothing that could be read."""
    from diagnose.tui.origins import gathering_of

    return gathering_of(conductor.walk, conductor.settings, conductor.tell, folder, conductor.paths_after)

"""How the reading goes: every part with its state, its time, what it found and what it was not allowed to read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from diagnose.tui.model.events import PartState, Place
from diagnose.tui.say import cause_row, lines, part_state, text
from diagnose.tui.screens.base import StepScreen
from diagnose.tui.widgets.choices import Choices, Row

_SLOW_SECONDS = 5.0
"""From then on a part that has not ended is pointed out; most take less than one."""
_TICK_SECONDS = 0.5


class PartsList(Choices):
    """Parts of a collection."""

    HELP = (
        "Every part that is read. `no right` names what needs root. A part that hangs is ended at its limit; s ends it "
        "now and keeps what it wrote, a reads it again."
    )

    def __init__(self) -> None:
        super().__init__(enter_does="Go on", id="parts")
        self._begun: dict[str, float] = {}

    def show_parts(self, parts: Sequence[PartState]) -> None:
        """Show them as they are now."""
        now = time.monotonic()
        running = {part.name for part in parts if part.state == "running"}
        self._begun = {name: self._begun.get(name, now) for name in running}
        self.show([Row(part.name, self._row(part, now)) for part in parts])

    def _row(self, part: PartState, now: float) -> Content:
        seconds = now - self._begun[part.name] if part.name in self._begun else part.seconds
        facts = f"  {part.found} facts" if part.found else ""
        shown = f"{seconds:5.0f} s" if part.state == "running" else f"{seconds:5.1f} s"
        head = Content.assemble(part_state(part.state), shown, "  ", text(part.name, "bold"))
        if part.title != part.name:
            head = Content.assemble(head, ("  ", ""), text(part.title, "$text-muted"))
        head = Content.assemble(head, facts)
        remarks = [f"not allowed: {sentence}" for sentence in part.lacked]
        if part.detail and part.detail not in part.lacked:
            remarks.append(part.detail)
        if part.state == "running" and seconds >= _SLOW_SECONDS:
            remarks.append("takes long, it may hang: s skips it")
        return lines(head, *(text(f"    {remark}", "$text-warning") for remark in remarks))


class CollectionScreen(StepScreen):
    """Runs by itself; what it found until now is ranked while it runs."""

    place: ClassVar[Place] = Place.COLLECTION
    HELP: ClassVar[str] = (
        "Everything that is read, and the causes that it speaks for until now. You need not wait: Enter goes to the "
        "causes whenever you like. c ends the reading and keeps what there is."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "skip", "Skip part", id="collection.skip"),
        Binding("a", "again", "Again", id="collection.again"),
        Binding("c", "cancel", "Cancel all", id="collection.cancel"),
    ]

    def middle(self) -> ComposeResult:
        """Parts, and causes until now."""
        with Container(classes="split"):
            with Container(classes="first"):
                yield Static("What is read", classes="title")
                yield PartsList()
            with Container(classes="second"):
                yield Static("Causes so far", classes="title", id="so-far-title")
                yield Choices(enter_does="Go on", id="so-far")

    def on_mount(self) -> None:
        """Keep the clocks going."""
        self.refresh_all()
        self.query_one(PartsList).focus()
        self.set_interval(_TICK_SECONDS, self._tick)

    def update(self) -> None:
        """Parts and causes."""
        self.query_one(PartsList).show_parts(self.conductor.parts)
        report = self.conductor.so_far or self.walk.report
        self.query_one("#so-far-title", Static).update("Causes so far" if self.conductor.gathers else "Causes")
        if report is None:
            waiting = "Nothing yet" if self.conductor.gathers or self.conductor.ranks else "Nothing was read"
            rows = [Row("none", Content.styled(waiting, "$text-muted"), heading=True)]
        elif not report.causes:
            says = f"Nothing {'so far ' if self.conductor.gathers else ''}speaks for a known cause"
            rows = [Row("none", Content.styled(says, "$text-muted"), heading=True)]
        else:
            rows = [Row(cause.id, cause_row(cause, 0)) for cause in report.causes]
        self.query_one("#so-far", Choices).show(rows)

    def hint(self) -> str:
        """What to do."""
        if self.conductor.gathers:
            done = sum(part.state not in ("running", "waiting") for part in self.conductor.parts)
            count = len(self.conductor.parts)
            if done == count > 0:
                return f"All {count} parts are there and being looked through. Enter goes to the causes at any time."
            return f"Reading, {done} of {count} parts done. Enter goes to the causes at any time."
        if self.conductor.ranks:
            return "Everything is read; the causes are being ranked."
        if self.walk.before is None:
            return "Nothing was read. Press r to read again, or 1 to begin with something else."
        if self.walk.report is not None and not self.walk.report.causes:
            return "Done, and nothing says yet what causes it. Press Enter, and once more for what to look at next."
        return "Done. Press Enter for the causes."

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only keys that do something now."""
        if action in ("skip", "cancel"):
            return self.conductor.gathers
        if action == "again":
            return self.conductor.gathering is not None
        return True

    def on_option_list_option_selected(self) -> None:
        """Go on to the causes."""
        if self.walk.report is not None or self.conductor.so_far is not None or self.walk.before is not None:
            self.program.show(Place.CAUSES)

    def action_skip(self) -> None:
        """Skip the part under the cursor, else the one that takes longest."""
        name = self.query_one(PartsList).chosen
        running = [part.name for part in self.conductor.parts if part.state in ("running", "waiting")]
        if running and self.conductor.gathering is not None:
            self.conductor.gathering.skip(name if name in running else running[0])

    def action_again(self) -> None:
        """Read the part under the cursor again."""
        name = self.query_one(PartsList).chosen
        over = {part.name for part in self.conductor.parts if part.state not in ("running", "waiting")}
        if name in over:
            self.conductor.again(name)

    def action_cancel(self) -> None:
        """End the reading."""
        self.conductor.cancel()
        self.refresh_all()

    def _tick(self) -> None:
        if self.conductor.gathers:
            self.query_one(PartsList).show_parts(self.conductor.parts)

"""The frame of a step of the walk."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer

from diagnose.printable import printable
from diagnose.tui.model.events import Place
from diagnose.tui.model.path_taken import described
from diagnose.tui.widgets.choices import Choices
from diagnose.tui.widgets.filter_line import FilterLine
from diagnose.tui.widgets.frame import Heading, Hint, StepBar

if TYPE_CHECKING:
    from diagnose.tui.app import DiagnoseApp
    from diagnose.tui.conductor import Conductor
    from diagnose.tui.model.walk import Walk


class StepScreen(Screen[None]):
    """Shows a part of the walk and asks. Subclasses say what stands in the middle and what comes next."""

    place: ClassVar[Place]
    HELP: ClassVar[str] = ""
    """What can be done here, for `?`."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", show=False, key_display="/", id="screen.filter"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[str, tuple[str, bool]] = {}

    @property
    def program(self) -> DiagnoseApp:
        """The application, by its own type."""
        return cast("DiagnoseApp", self.app)

    @property
    def conductor(self) -> Conductor:
        """What runs the walk."""
        return self.program.conductor

    @property
    def walk(self) -> Walk:
        """Where the walk stands."""
        return self.program.conductor.walk

    def compose(self) -> ComposeResult:
        """Heading, steps, middle, what comes next, keys."""
        yield Heading(self._heading())
        yield StepBar(self.place, self.program.reachable())
        with Container(id="body"):
            yield from self.middle()
        yield FilterLine()
        yield Hint()
        yield Footer(compact=True, show_command_palette=False)

    def middle(self) -> ComposeResult:
        """What stands between the steps and the hint."""
        yield from ()

    def hint(self) -> str:
        """What to do next, naming the key."""
        return ""

    def update(self) -> None:
        """Show the walk as it is now. Called after every change; cheap where nothing changed."""

    def refresh_all(self) -> None:
        """Show the walk as it is now, with heading and hint."""
        if not self.children:
            return
        self.query_one(Heading).update(self._heading())
        self.update()
        problem = self.conductor.problem
        self.query_one(Hint).update(Content(printable(problem) if problem else self.hint()))
        self._refresh_keys()

    def on_mount(self) -> None:
        """Fill in."""
        self.refresh_all()

    def action_filter(self) -> None:
        """Filter the list that has the focus, else the first one."""
        focused = self.focused
        rows = focused if isinstance(focused, Choices) else next(iter(self.query(Choices)), None)
        if rows is not None:
            self.query_one(FilterLine).open_for(rows)

    def _refresh_keys(self) -> None:
        """Draw the footer anew where other keys work than before; it is made of many parts."""
        keys = {key: (item.binding.description, item.enabled) for key, item in self.active_bindings.items()}
        if keys != self._keys:
            self._keys = keys
            self.refresh_bindings()

    def _heading(self) -> Content:
        walk = self.walk
        if walk.origin is None:
            return Content("diagnose")
        parts = ["diagnose", described(walk.origin)]
        if walk.report is not None and walk.report.hosts:
            parts.append(", ".join(walk.report.hosts[:2]) + (" ..." if len(walk.report.hosts) > 2 else ""))
        if walk.symptoms:
            parts.append(", ".join(walk.symptoms))
        if self.conductor.gathers:
            parts.append("reading")
        elif self.conductor.ranks:
            parts.append("ranking")
        return Content(printable("  ·  ".join(parts)))

"""What the operator sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from diagnose.report.model import ReportSymptom
from diagnose.tui.model.events import OriginKind, Place
from diagnose.tui.say import lines, text
from diagnose.tui.screens.base import StepScreen
from diagnose.tui.widgets.choices import Choices, Row

UNSURE = "unsure"


class SymptomScreen(StepScreen):
    """Symptoms that show in what was read come first, with why; the others follow in plain words."""

    place: ClassVar[Place] = Place.SYMPTOM
    HELP: ClassVar[str] = (
        "Say what you notice, not what you think is wrong. A symptom raises the probability of its causes; it hides "
        "none. Space marks several. If you do not know, choose that: what was read is ranked all the same. Reading "
        "goes on in the background meanwhile."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "Mark", id="symptom.mark"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._marked: list[str] = []
        self._marks_changed = False
        self._put: str | None = None

    def middle(self) -> ComposeResult:
        """The question and its answers."""
        yield Static("What do you notice?", classes="question")
        yield Static("", classes="note", id="says")
        yield Choices(enter_does="Go on", id="symptoms")
        yield Static("", classes="box", id="question")

    def on_mount(self) -> None:
        """Begin with what was said before."""
        self._marked = list(self.walk.symptoms)
        self.refresh_all()
        self.query_one("#symptoms", Choices).focus()

    def update(self) -> None:
        """Detected symptoms first."""
        knowledge = self.conductor.ranker.knowledge()
        report = self.conductor.so_far or self.walk.report
        detected = {item.id: item for item in report.symptoms if item.detected} if report is not None else {}
        self.query_one("#says", Static).update(Content(self._says()))
        if knowledge is None:
            self.query_one("#symptoms", Choices).show([Row("wait", Content("Loading the rules ..."), heading=True)])
            return
        known = sorted(knowledge.symptoms.items(), key=lambda item: item[0] not in detected)
        rows = [self._row(name, item.symptom.title, detected.get(name)) for name, item in known]
        first = rows[0].id if detected else UNSURE
        self._show_rows([*rows, Row(UNSURE, Content.styled("  I don't know", "bold"))], first)
        self._show_question()

    def hint(self) -> str:
        """What to do."""
        takes = "the marked ones and the one" if self._marks_changed and self._marked else "the symptom"
        return f"Enter takes {takes} under the cursor and goes on. Not sure? `I don't know` is the last one."

    def action_mark(self) -> None:
        """Mark or unmark the symptom under the cursor."""
        rows = self.query_one("#symptoms", Choices)
        name = rows.chosen
        if name is None or name == UNSURE:
            return
        if name in self._marked:
            self._marked.remove(name)
        else:
            self._marked.append(name)
        self._marks_changed = True
        self.refresh_all()

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """Take the marked ones and the one under the cursor; another one in place of what was taken before."""
        name = event.option_id
        if name is None or name == UNSURE:
            symptoms: list[str] = []
        elif self._marks_changed or name in self._marked:
            symptoms = list(dict.fromkeys([*self._marked, name]))
        else:
            symptoms = [name]
        self.conductor.choose_symptoms(symptoms)
        self.program.show(Place.COLLECTION if self.conductor.gathers or self.walk.report is None else Place.CAUSES)

    def _says(self) -> str:
        """What the users of a simulated machine say."""
        origin = self.walk.origin
        if origin is None or origin.kind is not OriginKind.SIMULATION or origin.scenario is None:
            return ""
        from diagnose.simulate.story import load_story

        says = load_story(origin.scenario).says
        return f'The users of this machine say: "{says}"' if says else ""

    def on_option_list_option_highlighted(self) -> None:
        """Explain the symptom under the cursor."""
        self._show_question()

    def _show_rows(self, rows: Sequence[Row], first: str) -> None:
        """Show the rows. Until the operator moves it, the cursor stays on what was taken before, else on `first`."""
        choices = self.query_one("#symptoms", Choices)
        unmoved = choices.chosen in (None, self._put)
        choices.show(rows)
        if unmoved:
            self._put = self._marked[0] if self._marked and not self._marks_changed else first
            choices.put_cursor(self._put)

    def _show_question(self) -> None:
        name = self.query_one("#symptoms", Choices).chosen
        knowledge = self.conductor.ranker.knowledge()
        known = None if knowledge is None or name is None else knowledge.symptoms.get(name)
        question = known.symptom.question if known is not None else "All causes that show in what is read are ranked."
        self.query_one("#question", Static).update(Content(question))

    def _row(self, name: str, title: str, detected: ReportSymptom | None) -> Row:
        mark = "✓ " if name in self._marked else "  "
        head = Content.assemble((mark, "bold $text-success"), (title, "bold"))
        if detected is None:
            return Row(name, head)
        why = detected.signs[0] if detected.signs else "it shows in what was read"
        seen = Content.assemble(head, ("  ● SEEN HERE", "bold $text-warning"))
        return Row(name, lines(seen, text(f"    {why}", "$text-warning")))

"""Where a walk begins: this machine, files, a simulated machine, an earlier session."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from diagnose.tui.model.events import Origin, OriginKind, Place
from diagnose.tui.say import lines
from diagnose.tui.screens.base import StepScreen
from diagnose.tui.screens.dialog import LineDialog, PickDialog
from diagnose.tui.widgets.choices import Choices, Row

_CHOICES = (
    ("machine", "This machine", "Read GPUs, links, kernel log and settings. Takes a few seconds."),
    ("files", "Files, a folder, an archive or a bundle", "What somebody sent: logs, outputs of commands, tables."),
    ("prometheus", "A running Prometheus", "Read the metrics of a server by its address."),
    ("simulation", "A simulated machine", "Try it out: machines with known faults, no GPU needed."),
    ("session", "An earlier session", "Go on where you stopped, or open what a colleague sent."),
)


class StartScreen(StepScreen):
    """What is to be diagnosed?"""

    place: ClassVar[Place] = Place.START
    HELP: ClassVar[str] = (
        "Choose what is to be diagnosed. Nothing here changes a machine: the program only reads, and shows fixes "
        "for you to carry out. Every walk is saved as it goes; `An earlier session` brings it back."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        # There is no step before this one, so that the footer does not offer it.
        Binding("escape", "app.step_back", "Back", show=False),
    ]

    def middle(self) -> ComposeResult:
        """The question and its answers."""
        yield Static("", classes="question", id="asks")
        yield Choices(enter_does="Begin", id="origins")

    def update(self) -> None:
        """The choices."""
        rows = [
            Row(name, lines(Content.styled(title, "bold"), Content.styled(f"  {says}", "$text-muted")))
            for name, title, says in _CHOICES
        ]
        begins = self.program.begins
        self.query_one("#asks", Static).update("" if begins else "What do you want to diagnose?")
        self.query_one("#origins", Choices).show([] if begins else rows)

    def hint(self) -> str:
        """What to do."""
        if self.program.begins:
            return "Opening what was named ..."
        return "Move with the arrows, begin with Enter. ? explains, q quits."

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """Begin with the choice."""
        match event.option_id:
            case "machine":
                self.program.begin(Origin(kind=OriginKind.MACHINE))
            case "files":
                title = "Path of a file, folder, archive or bundle (Right completes, Enter begins)"
                self.program.open(LineDialog(title, completes_paths=True), self._begin_with_files)
            case "prometheus":
                title = "Address of the Prometheus server, such as http://prometheus:9090"
                self.program.open(LineDialog(title), self._begin_with_address)
            case "simulation":
                self._offer_scenarios()
            case "session":
                self.program.action_sessions()

    def _begin_with_files(self, path: str | None) -> None:
        if path and path.strip():
            self.program.begin_with_paths([path.strip()])

    def _begin_with_address(self, address: str | None) -> None:
        if address and address.strip():
            from diagnose.tui.origins import without_secrets

            self.program.begin(Origin(kind=OriginKind.PROMETHEUS, address=without_secrets(address.strip())))

    def _offer_scenarios(self) -> None:
        from diagnose.simulate.environment import scenario_names, scenario_title
        from diagnose.simulate.story import load_story

        rows = []
        for name in scenario_names():
            says = load_story(name).says
            told = f'  "{says}"' if says else f"  {scenario_title(name)}"
            rows.append(Row(name, lines(Content.styled(name, "bold"), Content.styled(told, "$text-muted"))))
        # Machines with a story can be repaired, so they come first.
        rows.sort(key=lambda row: '"' not in row.content.plain)
        self.program.open(PickDialog("Which simulated machine?", rows), self._begin_with_scenario)

    def _begin_with_scenario(self, name: str | None) -> None:
        if name is not None:
            self.program.begin(Origin(kind=OriginKind.SIMULATION, scenario=name))

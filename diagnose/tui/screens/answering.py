"""Taking what a check printed: pasted, from a file, or from a simulated machine. Shared by the steps that ask."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from diagnose.report.model import ReportCheck
from diagnose.tui.conductor import Purpose
from diagnose.tui.model.events import OriginKind
from diagnose.tui.screens.base import StepScreen
from diagnose.tui.screens.dialog import LineDialog, PasteDialog

_LIMIT_BYTES = 64 << 20


class AnsweringScreen(StepScreen):
    """A step that asks for the output of a check. Subclasses say which check, and what the answer is for."""

    purpose: ClassVar[Purpose] = "diagnose"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "Copy", id="check.copy"),
        Binding("p", "paste", "Paste", id="check.paste"),
        Binding("o", "file", "From file", id="check.file"),
        Binding("t", "simulated", "Simulated", show=False, id="check.simulated"),
    ]

    @property
    def asked(self) -> ReportCheck | None:
        """The check whose output is asked for."""
        return None

    def action_copy(self) -> None:
        """Copy the command."""
        check = self.asked
        if check is not None and check.command is not None:
            self.program.copy(check.command)

    def action_paste(self) -> None:
        """Take the output as text."""
        check = self.asked
        if check is not None:
            title = f"Paste what it printed, then Ctrl+D: {check.text}"
            self.program.open(PasteDialog(title), lambda output: self._take(check.id, output))

    def action_file(self) -> None:
        """Take the output from a file."""
        check = self.asked
        if check is not None:
            title = "File that holds the output (Right completes)"
            self.program.open(LineDialog(title, completes_paths=True), lambda path: self._take_file(check.id, path))

    def action_simulated(self) -> None:
        """Take what the check would print on the simulated machine."""
        check = self.asked
        if check is not None:
            self._take(check.id, self.simulated_answer())

    def simulated_answer(self) -> str | None:
        """What the check would print on the simulated machine as it is now, None where that is not known."""
        origin, check = self.walk.origin, self.asked
        if check is None or origin is None or origin.kind is not OriginKind.SIMULATION:
            return None
        from diagnose.simulate.environment import answer_of
        from diagnose.tui.origins import repaired

        return answer_of(origin.scenario or "", check.id, repaired=repaired(self.walk))

    def _take(self, check: str, output: str | None) -> None:
        if output and output.strip():
            self.conductor.answer(check, output, self.purpose)

    def _take_file(self, check: str, path: str | None) -> None:
        if not path or not path.strip():
            return
        file = Path(path.strip()).expanduser()
        try:
            size = file.stat().st_size
            output = file.read_text(encoding="utf-8", errors="surrogateescape") if size <= _LIMIT_BYTES else None
        except OSError as error:
            self.notify(f"{path}: {error.strerror}", severity="error", markup=False)
            return
        if output is None:
            self.notify(f"{file} is larger than {_LIMIT_BYTES >> 20} MiB; begin with it as a file", markup=False)
        else:
            self._take(check, output)

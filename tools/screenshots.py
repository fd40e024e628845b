"""Keeps the pictures of the terminal interface in the documents equal to what it shows: `make docs`.

Walks a simulated machine from symptom to verified fix, by the keys that the screens name, and writes what stands on the
terminal as docs/images/*.svg. With `--check` it says which pictures are out of date.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from diagnose.settings import Settings
from diagnose.simulate.build import BuildError, library_folder
from diagnose.tui.app import DiagnoseApp
from diagnose.tui.conductor import Conductor
from diagnose.tui.model.events import Origin, OriginKind

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "images"
SCENARIO = "degraded-link"
SYMPTOM = "Several GPUs in one machine scale badly"
SIZE = (110, 32)
LIMIT_SECONDS = 120.0
_NOW = datetime(2026, 1, 1, 3, 0, tzinfo=UTC)
_STEADY = (
    (re.compile(r"terminal-\d+"), "terminal"),  # an id made of the content
    (re.compile(r"(busy&#160;\()\d+(%\))"), r"\g<1>95\2"),  # the simulated load swings with the time
    (re.compile(r"(gpu-2\.jsonl:15,)\d+"), r"\g<1>60"),  # as does the reading with the highest load
    (re.compile(r"@font-face \{.*?\}\s*", re.DOTALL), ""),  # a font from the network: the reader's own does
)


async def _pictures() -> Mapping[str, str]:
    """File name to SVG."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder)
        given = {"sessions_folder": kept, "report_folder": kept, "characters": "unicode"}
        settings = Settings.model_construct(**{**Settings.model_construct().model_dump(), **given})
        app = DiagnoseApp(settings, origin=Origin(kind=OriginKind.SIMULATION, scenario=SCENARIO))
        app.conductor = Conductor(settings, app.told, now=lambda: _NOW)
        async with app.run_test(size=SIZE) as pilot:
            walk = _Walker(app, pilot)
            for name in await walk.shots():
                found[f"{name}.svg"] = _steady(walk.taken[name])
    return found


def _steady(picture: str) -> str:
    """The picture without what differs from one time to the next."""
    for pattern, instead in _STEADY:
        picture = pattern.sub(instead, picture)
    return picture


class _Walker:
    """Goes through the walk, and takes pictures on the way."""

    def __init__(self, app: DiagnoseApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot
        self.taken: dict[str, str] = {}

    async def shots(self) -> Iterator[str]:
        """Take them all; their names in order."""
        walk = self.app.conductor
        await self.until(lambda: walk.walk.report is not None and not walk.ranks and self.shows(SYMPTOM))
        while not self.cursor_on(SYMPTOM):
            await self.pilot.press("j")
        await self.take("symptom")
        await self.pilot.press("enter")
        await self.until(lambda: walk.walk.symptoms and not walk.ranks)
        await self.pilot.press("4")
        await self.until(lambda: self.shows("Causes, most probable first"))
        await self.take("causes")
        await self.pilot.press("c")
        await self.until(lambda: self.shows("What each answer would mean"))
        await self.take("check")
        await self.pilot.press("6")
        await self.until(lambda: self.shows("Risk:"))
        await self.pilot.press("d")
        await self.take("fix")
        for _ in walk.walk.chosen_fix.steps if walk.walk.chosen_fix is not None else ():
            await self.pilot.press("d")
        await self.pilot.press("7")
        await self.until(lambda: self.shows("How to see that it is gone"))
        await self.pilot.press("enter")
        await self.until(lambda: walk.walk.verdicts and not walk.verifies)
        await self.take("verify")
        return iter(self.taken)

    def shows(self, words: str) -> bool:
        """Whether words stand on the screen."""
        return words in " ".join("\n".join(strip.text for strip in self.app.screen._compositor.render_strips()).split())

    def cursor_on(self, words: str) -> bool:
        """Whether the cursor of the list of symptoms is on a row."""
        from diagnose.tui.widgets.choices import Choices

        option = self.app.screen.query_one("#symptoms", Choices).highlighted_option
        return option is not None and words in str(option.prompt)

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while not holds():
                await self.pilot.pause(0.05)
        await self.pilot.pause()

    async def take(self, name: str) -> None:
        """Take a picture, once nothing moves any more."""
        await self.pilot.pause(0.3)
        self.taken[name] = self.app.export_screenshot(title="diagnose")


def main() -> int:
    """Write the pictures, or with `--check` say which ones are out of date."""
    try:
        library_folder()
    except BuildError as error:
        sys.stderr.write(f"pictures of the interface are neither made nor checked here: {error}\n")
        return 0
    os.environ.pop("NO_COLOR", None)
    FOLDER.mkdir(exist_ok=True)
    stale = []
    for name, picture in asyncio.run(_pictures()).items():
        path = FOLDER / name
        if path.is_file() and path.read_text(encoding="utf-8") == picture:
            continue
        stale.append(path.relative_to(ROOT).as_posix())
        if "--check" not in sys.argv:
            path.write_text(picture, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.stderr.write(f"pictures that are out of date: {', '.join(stale)}; run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

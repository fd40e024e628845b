"""Pictures of what speaks for a cause, as lines of characters. One place to add more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from textual.content import Content

from diagnose.facts import UNNAMED_HOST, Fact
from diagnose.report.model import ReportCause
from diagnose.sessions.facts import facts_from_json
from diagnose.tui.model.walk import Walk
from diagnose.tui.say import lines, text
from diagnose.tui.screens.dialog import TextDialog


class Picture(NamedTuple):
    """A picture: title and lines."""

    title: str
    rows: Sequence[str]


Draw = Callable[[ReportCause, Sequence[Fact], int, str | None], Iterator[Picture]]
"""Takes the cause, the facts, the width, and an encoding that tells which characters there are."""


def pictures_for(cause: ReportCause, facts: Sequence[Fact], width: int, encoding: str | None) -> list[Picture]:
    """All pictures that help with a cause."""
    return [picture for draw in DRAWN for picture in draw(cause, facts, width, encoding)]


def picture_dialog(cause: ReportCause, walk: Walk, *, plain: bool, width: int) -> TextDialog | None:
    """What shows the pictures, None where there are none."""
    facts, _ = facts_from_json(walk.facts)
    pictures = pictures_for(cause, facts, max(40, width - 12), "ascii" if plain else "utf-8")
    if not pictures:
        return None
    parts: list[Content] = []
    for picture in pictures:
        parts += [Content.styled(picture.title, "bold"), *(text(row) for row in picture.rows), Content("")]
    return TextDialog(f"Pictures for: {cause.title}", lines(*parts))


def _topology(cause: ReportCause, facts: Sequence[Fact], width: int, encoding: str | None) -> Iterator[Picture]:
    from diagnose.analysis.topology_graph import topology_graph
    from diagnose.report.topology_drawing import topology_text

    if cause.component not in ("pcie", "nvlink", "topology", "network", "host", "gpu", "numa"):
        return
    hosts = dict.fromkeys(fact.subject.host or UNNAMED_HOST for fact in facts)
    for host in list(hosts)[:4]:
        graph = topology_graph([fact for fact in facts if (fact.subject.host or UNNAMED_HOST) == host])
        if graph.gpus:
            yield Picture(f"How the devices of {host} are connected", topology_text(graph, host, width, encoding)[1:])


DRAWN: tuple[Draw, ...] = (_topology,)
"""Every sort of picture, in the order in which they are shown."""

"""Logs of inference servers: a file may hold those of several hosts, or of two engines."""

from __future__ import annotations

from typing import ClassVar

from collectors.base import Line, LineCollector, Parsed
from collectors.server_log import SETTING_LINES, ServerLog
from collectors.serving_log_events import EVENT_LITERALS
from collectors.serving_log_lines import LOAD_LITERALS, load_line


class ServingLog(LineCollector):
    """Load, stalls and events of every server that a file is about."""

    kind: ClassVar[str] = "serving-log"
    literals: ClassVar[tuple[bytes, ...]] = (
        *LOAD_LITERALS, *EVENT_LITERALS, *(word.encode() for word, _ in SETTING_LINES),
        b".py:", b"\n[20", b'HTTP/1.1" ',
    )  # fmt: skip

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._servers: dict[str | None, list[ServerLog]] = {}
        """By host; the one whose lines come now is the last."""

    def feed(self, line: Line, host: str | None) -> bool:
        """Give the line to its server: that of its host, and of the engine that a line of load names."""
        item = None if 'HTTP/1.1" ' in line.text else load_line(line.text)
        servers = self._servers.setdefault(host, [])
        if not servers:
            servers.append(ServerLog(host, self.source))
        elif item is not None and servers[-1].engine not in (None, item.engine):
            same = next((one for one in servers if one.engine == item.engine), None)
            if same is not None:
                servers.remove(same)
            servers.append(same or ServerLog(host, self.source))
        return servers[-1].feed(line, item)

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """The engine of each server, its settings, its load, and each sort of event."""
        parsed = Parsed()
        for server in (one for servers in self._servers.values() for one in servers):
            found = server.finish()
            parsed.facts += found.facts
            parsed.series += found.series
        return parsed

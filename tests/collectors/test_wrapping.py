"""Text that something was put around tells the same as the text itself."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.scan import scan_file
from collectors.wrapping import unwrap

XID = (
    "[ 8123.110025] NVRM: Xid (PCI:0000:4b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.\n"
    "[ 8124.000000] NVRM: GPU 0000:4b:00.0: GPU has fallen off the bus.\n"
)
QUERY = """\
==============NVSMI LOG==============

Driver Version                            : 550.90.07
Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-6b1d7f02-93c5-4be1-a5d0-7c2f90e41ab3
    PCI
        GPU Link Info
            Link Width
                Max                       : 16x
                Current                   : 16x
    Temperature
        GPU Current Temp                  : 61 C
GPU 00000000:4B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-0c77e9d4-1f2b-4c63-8a90-52d17be0f6e8
    PCI
        GPU Link Info
            Link Width
                Max                       : 16x
                Current                   : 4x
    Temperature
        GPU Current Temp                  : 59 C
"""


def each(text: str, make: Callable[[int, str], str]) -> str:
    """A mark for every line."""
    return "".join(f"{make(number, line)}\n" for number, line in enumerate(text.splitlines(), start=1))


def narrow(text: str, width: int = 80) -> str:
    """As a terminal of that width breaks lines."""
    return each(text, lambda _, line: "\n".join(line[at : at + width] for at in range(0, len(line) or 1, width)))


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "mail": lambda text: each(text, lambda _, line: f"> {line}"),
    "second mail": lambda text: each(text, lambda _, line: f">> {line}"),
    "cat -n": lambda text: each(text, lambda number, line: f"{number:6}\t{line}"),
    "grep -n": lambda text: each(text, lambda number, line: f"{number}:{line}"),
    "grep of files": lambda text: each(text, lambda _, line: f"/var/log/node.log:{line}"),
    "pdsh": lambda text: each(text, lambda _, line: f"node17: {line}"),
    "srun -l": lambda text: each(text, lambda _, line: f"0: {line}"),
    "containers": lambda text: each(text, lambda _, line: f"worker-0  | {line}"),
    "log driver": lambda text: each(text, lambda number, line: f"2026-03-02T10:00:{number:02}.5Z stdout F {line}"),
    "ts": lambda text: each(text, lambda number, line: f"Mar 02 10:00:{number:02} {line}"),
    "quoted pdsh": lambda text: each(text, lambda _, line: f"> node17: {line}"),
    "indentation": lambda text: each(text, lambda _, line: f"    {line}"),
    "page": lambda text: f"<pre><code>{html.escape(text)}</code></pre>\n",
    "page with breaks": lambda text: html.escape(text).replace(" ", "&nbsp;").replace("\n", "<br>\n"),
    "blanks of a browser": lambda text: text.replace(" ", "\u00a0"),
    "narrow terminal": narrow,
}


def kinds(path: Path, text: str) -> list[str]:
    """Kinds of the facts that a text tells."""
    path.write_text(text)
    return sorted(fact.kind for fact in scan_file(path, path.name).facts if fact.kind != "kernel-log-span")


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("text", [XID, QUERY], ids=["kernel log", "nvidia-smi -q"])
def test_a_wrapped_text_tells_what_the_text_tells(tmp_path: Path, wrapping: str, text: str) -> None:
    plain = kinds(tmp_path / "plain", text)
    assert plain
    assert kinds(tmp_path / "wrapped", WRAPPINGS[wrapping](text)) == plain


def test_lines_of_two_hosts_are_told_apart_and_keep_their_numbers(tmp_path: Path) -> None:
    lines = [f"{host}: {line}" for line in QUERY.splitlines() for host in ("node17", "node18")]
    (tmp_path / "both").write_text("\n".join(lines))
    links = [fact for fact in scan_file(tmp_path / "both", "both").facts if fact.kind == "gpu-pcie-link"]
    assert sorted(str(fact.subject.host) for fact in links) == ["node17", "node17", "node18", "node18"]
    for fact in links:
        assert fact.sources[0].line is not None
        assert lines[fact.sources[0].line - 1].startswith(str(fact.subject.host))


@pytest.mark.parametrize("text", ["", "\n\n", "Architecture: x86_64\nCPU(s): 64\nModel name: a\n", XID, QUERY])
def test_text_that_nothing_was_put_around_is_left_alone(text: str) -> None:
    assert unwrap(text.encode()) == []


def test_a_level_of_a_log_is_no_host() -> None:
    assert [part.host for part in unwrap(b"INFO: a\nINFO: b\nERROR: c\nINFO: d\n")] == [None, None]

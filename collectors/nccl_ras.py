"""NCCL's RAS: what `ncclras` (NCCL 2.24 and later) prints, as text.

Layouts: NVIDIA/nccl, src/ras/client_support.cc. A query has a summary, then `Errors` and `Warnings`; either may be cut
out and saved alone. `UNKNOWN` became `NOCOMM`, and counts are told for each operation since 2.26.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.hang import RasMismatch, RasProcess, RasStatus

_OPENING = re.compile(
    r"^\s*(?:Communicators\.\.\. \(\d+\.\d+s\)|(?:INCOMPLETE|DEAD)"
    r"|Job summary|NCCL version [\d.]+ compiled with CUDA|#\d+-\d+ \([0-9a-f]{1,16}\) [A-Z]+)\s*$"
)
_MISSING = re.compile(r"Missing communicator data from (\d{1,9}) job process")
_DEAD = re.compile(r"(\d{1,9}) job process(?:es are| is) considered dead")
_TIMEOUT = re.compile(r"Encountered (\d{1,9}) communication timeout")
_PROCESS = re.compile(
    r"Process (\d{1,10}) on node (\S+) managing GPUs? (?P<gpus>\d{1,4}(?:[,-]\d{1,4})*)"
    r"(?: \(NVML (?P<nvml>[\d,-]{1,40})\))?"
)
_GROUP = re.compile(
    r"^\s*\d{1,6}\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})(?:-\d{1,9})?\s+(\d{1,9})\s+(\d{1,9})\s+"
    r"(?:INIT|RUNNING|FINALIZE|ABORT|NOCOMM|UNKNOWN)\s+([A-Z]+)\s*$"
)
_COMMUNICATOR = re.compile(r"^\s*#\d{1,6}-\d{1,6} \(([0-9a-f]{1,16})\) ([A-Z]+)")
_DIFFERENT = re.compile(r"Communicator ranks have different (?:(collective|\w+) operation counts|status)")
_STANDING = re.compile(
    r"^\s*(?:(?P<ranks>\d{1,9}) ranks|Rank (?P<rank>\d{1,9})) (?:have|has) "
    r"(?:launched up to operation (?P<count>\d{1,18})|(?P<none>not launched any operations)|status (?P<status>[A-Z]+))"
)
_RANK = re.compile(r"^\s*Rank (\d{1,9}) -- ")
_MISSING_RANK = re.compile(r"The missing ranks?: (\d{1,9})\s*$")
_MISSING_RANK_LINE = re.compile(r"^\s*Rank (\d{1,9}) -- GPU (\d{1,4})\b.* managed by process (\d{1,10}) on node (\S+)")
_RANKS_LISTED = 16


@dataclass(slots=True)
class Mismatch:
    """Where the ranks of one communicator stand."""

    communicator: str
    what: str
    source: Source
    standing: list[tuple[int, str, int | None, list[int]]] = field(default_factory=list)
    """Number of ranks, where in words, where as a number, and the ranks, where listed."""

    def fact(self) -> Fact | None:
        """The difference, where two groups were told."""
        if len(self.standing) < 2:
            return None
        fewest = min(self.standing, key=lambda group: group[0])
        counts = [count for _, _, count, _ in self.standing if count is not None]
        return RasMismatch(
            sources=(self.source,),
            communicator=self.communicator,
            what=self.what,
            groups=", ".join(f"{ranks} {where}" for ranks, where, *_ in self.standing),
            fewest_ranks=fewest[0],
            outlying_ranks=", ".join(map(str, fewest[3][:_RANKS_LISTED])) or None,
            furthest_behind=max(counts) - min(counts) if len(counts) > 1 else None,
        )


class NcclRas(BlockCollector):
    """One query, or the part of one that was saved."""

    kind: ClassVar[str] = "nccl-ras"
    literals: ClassVar[tuple[bytes, ...]] = (
        *(
            b"Communicators... (",
            b"INCOMPLETE",
            b"DEAD",
            b"Job summary",
            b"MISMATCH",
            b") ERROR",
            b" compiled with CUDA",
        ),
    )
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"^(?:\S*/)?ncclras\b|\bnc\b.* 28028\b")
    reopens = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A heading of the summary, of an error or of a communicator with one."""
        return _OPENING.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Summary, processes that do not answer, and communicators whose ranks differ, query by query."""
        return Parsed([fact for query in _queries(block.lines) for fact in _query(block, query)])


def _queries(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """A file may hold several queries, one after another."""
    starts = [at for at, line in enumerate(lines) if line.text.strip().startswith("Communicators... (")]
    cuts = [0, *starts[1:], len(lines)]
    for start, end in pairwise(cuts):
        yield lines[start:end]


def _query(block: Block, lines: Sequence[Line]) -> list[Fact]:
    totals: Counter[str] = Counter()
    processes = _processes(block, lines)
    mismatches = _mismatches(block, lines)
    sizes = []
    for line in lines:
        for name, pattern in (("missing", _MISSING), ("dead", _DEAD), ("timeouts", _TIMEOUT)):
            if match := pattern.search(line.text):
                totals[name] += int(match.group(1))
        if match := _GROUP.match(line.text):
            totals["communicators"] += int(match.group(1))
            totals["rows"] += 1
            sizes.append(int(match.group(4)))
            totals["mismatched"] += int(match.group(1)) if match.group(6) == "MISMATCH" else 0
            totals["failed"] += int(match.group(1)) if match.group(6) == "ERROR" else 0
    known = [fact for item in mismatches if (fact := item.fact()) is not None]
    told = totals["rows"] or totals["missing"] or totals["dead"] or totals["timeouts"] or known
    if not told:
        return []
    status = RasStatus(
        subject=block.subject(),
        sources=(block.source(lines[0]),),
        communicators=totals["communicators"] if totals["rows"] else None,
        ranks=max(sizes, default=None),
        processes_not_answering=totals["missing"],
        processes_dead=totals["dead"],
        mismatched_communicators=max(totals["mismatched"], len({item.communicator for item in mismatches})),
        failed_communicators=totals["failed"],
        timeouts=totals["timeouts"],
    )
    return [status, *processes, *known]


def _processes(block: Block, lines: Sequence[Line]) -> list[Fact]:
    """Processes with the rank that is missing, where it is the only one."""
    missing = [int(match.group(1)) for line in lines if (match := _MISSING_RANK.search(line.text))]
    ranks: dict[int, int] = {}
    state, incomplete = "not-answering", False
    found: list[tuple[Line, re.Match[str], str]] = []
    for line in lines:
        text = line.text.strip()
        if text in ("INCOMPLETE", "DEAD"):
            state = "dead" if text == "DEAD" else "not-answering"
        elif match := _PROCESS.search(text):
            found.append((line, match, state))
        elif match := _COMMUNICATOR.match(text):
            incomplete = match.group(2) == "INCOMPLETE"
        elif incomplete and (match := _MISSING_RANK_LINE.match(text)):
            ranks[int(match.group(3))] = int(match.group(1))
    facts: list[Fact] = []
    for line, match, how in found:
        process = int(match.group(1))
        gpus = match["nvml"] or match["gpus"]
        subject = Subject(
            host=match.group(2),
            process_id=process,
            gpu_index=int(gpus) if gpus.isdecimal() else None,
            rank=ranks.get(process, missing[0] if len(set(missing)) == 1 and len(found) == 1 else None),
        )
        facts.append(RasProcess(subject=subject, sources=(block.source(line),), state=how))
    return facts


def _mismatches(block: Block, lines: Sequence[Line]) -> list[Mismatch]:
    found: list[Mismatch] = []
    communicator = ""
    current: Mismatch | None = None
    for line in lines:
        if match := _COMMUNICATOR.match(line.text):
            communicator, current = match.group(1), None
        elif communicator and (match := _DIFFERENT.search(line.text)):
            current = Mismatch(communicator, match.group(1) or "status", block.source(line))
            found.append(current)
        elif current is not None and (match := _STANDING.match(line.text)):
            current.standing.append(_standing(match))
        elif current is not None and current.standing and (match := _RANK.match(line.text)):
            current.standing[-1][3].append(int(match.group(1)))
        elif not line.text.strip():
            current = None
    return found


def _standing(match: re.Match[str]) -> tuple[int, str, int | None, list[int]]:
    ranks = int(match["ranks"] or 1)
    listed = [int(match["rank"])] if match["rank"] else []
    if match["status"]:
        return ranks, f"in {match['status']}", None, listed
    count = 0 if match["none"] else int(match["count"])
    return ranks, f"at {count}", count, listed

"""Jobs as `squeue` and `sacct` list them: who runs where.

     JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
       812 inference vllm-70b    alice  R 2-03:04:05      1 gpu01

Both take any choice of columns, apart by blanks, `|` or commas; titles tell which. Of `sacct` the steps of a job are
left out. Only jobs that have, or had, nodes are told of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.host_lists import expand
from collectors.slurm_values import (
    RUNNING,
    cpu_count,
    gpu_count,
    gpu_indices,
    known,
    local_seconds,
    mig_slices,
    number,
)
from diagnose.facts import Fact
from diagnose.facts.sharing import Workload
from diagnose.facts.workload_roles import role_of

_NAMES: Mapping[str, str] = {
    "jobid": "job",
    "job_id": "job",
    "partition": "partition",
    "name": "name",
    "jobname": "name",
    "user": "user",
    "username": "user",
    "st": "state",
    "state": "state",
    "nodes": "node_count",
    "nnodes": "node_count",
    "nodelist": "nodes",
    "nodelist(reason)": "nodes",
    "exec_host": "first_node",
    "cpus": "cpus",
    "alloccpus": "cpus",
    "ncpus": "cpus",
    "tres_per_node": "per_node",
    "tres_per_job": "resources",
    "gres": "per_node",
    "alloctres": "resources",
    "tres_alloc": "resources",
    "tres-alloc": "resources",
    "reqtres": "asked",
    "qos": "qos",
    "priority": "priority",
    "start": "start",
    "start_time": "start",
    "end": "end",
    "end_time": "end",
    "over_subscribe": "sharing",
    "oversubscribe": "sharing",
    "submitline": "command",
    "command": "command",
    "comment": "comment",
    "reason": "reason",
}
_FREE = frozenset({"name", "command", "comment", "reason", "nodes"})
"""Columns whose cells may hold blanks."""
_DASHES = re.compile(r"^-+(?: -+)+\s*$")
_MOST_NODES = 4096
_RAN = frozenset(
    {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL"}
)


class SlurmJobs(BlockCollector):
    """Tables of jobs."""

    kind: ClassVar[str] = "slurm-jobs"
    literals: ClassVar[tuple[bytes, ...]] = (b"JOBID", b"JobID", b"JOB_ID")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\b(?:squeue|sacct)\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """Titles with the job's number and its nodes."""
        titles = _titles(text)
        return "job" in titles and bool({"nodes", "first_node"} & set(titles))

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each job and node."""
        position = next((at for at, line in enumerate(block.lines) if cls.opens(line.text)), None)
        if position is None:
            at = block.lines[0].number
            return Parsed(problems=[f"line {at}: no titles with JOBID and NODELIST: run squeue or sacct with a header"])
        header = block.lines[position].text
        rows = block.lines[position + 1 :]
        parsed = Parsed()
        for line, row in _rows(header, rows, parsed):
            parsed.facts += _workloads(block, line, row)
        return parsed


def _split(text: str, separator: str | None) -> list[str]:
    return [cell.strip() for cell in text.strip().split(separator)] if separator else text.split()


def _separator(header: str) -> str | None:
    return next((mark for mark in ("|", ",", "\t") if mark in header), None)


def _titles(header: str) -> list[str]:
    """Names of columns; a name for each, empty for those that are not used."""
    return [_NAMES.get(title.lower(), "") for title in _split(header, _separator(header)) if title or "|" in header]


def _rows(header: str, lines: Sequence[Line], parsed: Parsed) -> Iterator[tuple[Line, dict[str, str]]]:
    separator, titles = _separator(header), _titles(header)
    widths: list[tuple[int, int]] | None = None
    for line in lines:
        if not line.text.strip() or SlurmJobs.opens(line.text):
            continue
        if _DASHES.match(line.text):
            widths = [match.span() for match in re.finditer(r"-+", line.text)]
            continue
        if widths is not None and len(widths) == len(titles):
            cells = [line.text[first:last].strip() for first, last in widths]
        else:
            cells = _fitted(_split(line.text, separator), titles) if separator is None else _split(line.text, separator)
        if len(cells) == len(titles):
            yield line, {name: cell for name, cell in zip(titles, cells, strict=True) if name}
        elif len(cells) > 2:
            parsed.problems.append(f"line {line.number}: {len(cells)} values for {len(titles)} columns")


def _fitted(cells: list[str], titles: Sequence[str]) -> list[str]:
    """Cells of a row apart by blanks, with the one that holds blanks itself put together again.

    The reason of a waiting job may hold blanks too; it is in brackets at the end.
    """
    more = len(cells) - len(titles)
    free = [at for at, name in enumerate(titles) if name in _FREE - {"nodes"}]
    if more <= 0:
        return cells
    if titles[-1] == "nodes" and cells[len(titles) - 1].startswith("("):
        return [*cells[: len(titles) - 1], " ".join(cells[len(titles) - 1 :])]
    if len(free) == 1:
        at = free[0]
        return [*cells[:at], " ".join(cells[at : at + more + 1]), *cells[at + more + 1 :]]
    return cells


def _workloads(block: Block, line: Line, row: Mapping[str, str]) -> Iterator[Fact]:
    job, name = row.get("job", ""), known(row.get("name"))
    listed = known(row.get("nodes")) or known(row.get("first_node")) or ""
    state = row.get("state", "").split(" ")[0].rstrip("+").upper()
    if "." in job or listed.startswith("(") or not job[:1].isdigit():
        return
    if state and state not in RUNNING and state not in _RAN:
        return
    nodes = expand(listed)
    if len(nodes) > _MOST_NODES:
        return
    role = role_of({"command": known(row.get("command")), "name": name, "partition": row.get("partition")})
    start, end = local_seconds(row.get("start")), local_seconds(row.get("end"))
    resources, per_node = row.get("resources") or row.get("asked"), row.get("per_node")
    gpus, cpus = gpu_count(resources), cpu_count(resources) or number(row.get("cpus"))
    for node in nodes:
        yield Workload(
            subject=block.subject(),
            sources=(block.source(line),),
            name=name or job,
            role=role.role,
            role_from=role.told_by,
            role_words=role.words,
            system="slurm",
            job=job,
            node=node,
            nodes=len(nodes),
            running=state in RUNNING if state else None,
            gpus=gpu_indices(per_node) if len(nodes) == 1 else None,
            gpu_count=gpu_count(per_node) if gpus is None else -(-gpus // len(nodes)),
            mig_slices=mig_slices(per_node or resources),
            cpu_count=None if cpus is None else cpus / len(nodes),
            pool=known(row.get("partition")),
            user=known(row.get("user")),
            priority=number(row.get("priority")),
            qos=known(row.get("qos")),
            exclusive=_exclusive(row.get("sharing")),
            start_unix_seconds=start,
            end_unix_seconds=end,
            clock="local" if start is not None or end is not None else None,
        )


def _exclusive(text: str | None) -> bool | None:
    word = (known(text) or "").upper()
    return True if word in ("NO", "EXCLUSIVE") else False if word in ("OK", "YES", "USER", "MCS") else None

"""NCCL's RAS as JSON (`ncclras -f json`, NCCL 2.28 and later)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.nccl_ras import Mismatch
from diagnose.facts import Subject
from diagnose.facts.hang import RasProcess, RasStatus


class NcclRasJson(BlockCollector):
    """One query for each file."""

    kind: ClassVar[str] = "nccl-ras-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'"communicators_count"',)
    reopens = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The query is one line."""
        return text.lstrip().startswith("{") and '"communicators"' in text and '"nccl_version"' in text

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """The same laid out over many lines."""
        text = "\n".join(lines)
        return 0.9 if text.lstrip().startswith("{") and '"communicators_count"' in text else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Summary, processes that do not answer, and communicators whose ranks differ."""
        try:
            content = json.loads("\n".join(block.texts()))
        except (ValueError, RecursionError):
            return Parsed(problems=[f"line {block.lines[0].number}: the JSON is damaged or incomplete"])
        if not isinstance(content, dict) or "communicators" not in content:
            return Parsed()
        communicators = list(_objects(content.get("communicators")))
        mismatches = [item for one in communicators for item in _mismatches(block, one)]
        processes = _processes(block, communicators)
        gathering = content.get("ras")
        dead = sum(fact.state == "dead" for fact in processes)
        status = RasStatus(
            subject=block.subject(),
            sources=(block.source(),),
            communicators=len(communicators),
            ranks=max((_integer(one, "size") or 0 for one in communicators), default=0) or None,
            processes_not_answering=len(processes) - dead,
            processes_dead=dead,
            mismatched_communicators=len({item.communicator for item in mismatches}),
            failed_communicators=sum(map(_failed, communicators)),
            timeouts=(_integer(gathering, "timeouts_count") if isinstance(gathering, dict) else None) or 0,
        )
        known = [fact for item in mismatches if (fact := item.fact()) is not None]
        return Parsed([status, *processes, *known])


def _processes(block: Block, communicators: Sequence[Mapping[str, Any]]) -> list[RasProcess]:
    """One for each process, though it may be missing from several communicators."""
    found: dict[tuple[str, int], RasProcess] = {}
    for communicator in communicators:
        for rank in _objects(communicator.get("missing_ranks")):
            # The flags stand beside the rank in some versions and below `status` in others.
            status = rank.get("status")
            flags: Mapping[str, Any] = {**rank, **(status if isinstance(status, dict) else {})}
            host, process = rank.get("host"), _integer(rank, "pid")
            if not flags.get("unresponsive") and not flags.get("considered_dead"):
                continue
            subject = Subject(
                host=host if isinstance(host, str) else None,
                process_id=process,
                gpu_index=_integer(rank, "nvml_dev"),
                rank=_integer(rank, "rank"),
            )
            state = "dead" if flags.get("considered_dead") else "not-answering"
            key = (str(host), process if process is not None else -1 - len(found))
            found.setdefault(key, RasProcess(subject=subject, sources=(block.source(),), state=state))
    return list(found.values())


def _mismatches(block: Block, communicator: Mapping[str, Any]) -> list[Mismatch]:
    by_operation: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for rank in _objects(communicator.get("ranks")):
        number, counts = _integer(rank, "rank"), rank.get("collective_counts")
        if number is None or not isinstance(counts, dict):
            continue
        for operation, count in counts.items():
            if isinstance(count, int) and not isinstance(count, bool):
                by_operation[str(operation)][count].append(number)
    name = str(communicator.get("hash", "")).removeprefix("0x")
    found = []
    for operation, groups in by_operation.items():
        if len(groups) > 1:
            item = Mismatch(name, operation, block.source())
            for count, ranks in sorted(groups.items(), key=lambda group: -len(group[1])):
                item.standing.append((len(ranks), f"at {count}", count, ranks))
            found.append(item)
    return found


def _failed(communicator: Mapping[str, Any]) -> bool:
    """Whether a rank has an error; 0 is success and 7 still in progress (ncclResult_t)."""
    for rank in _objects(communicator.get("ranks")):
        status = rank.get("status")
        if isinstance(status, dict) and any(
            _integer(status, name) not in (None, 0, 7) for name in ("init_state", "async_error")
        ):
            return True
    return False


def _integer(value: Mapping[str, Any], name: str) -> int | None:
    number = value.get(name)
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 53 else None


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())

"""Calls of collectives in NCCL logs (NCCL_DEBUG_SUBSYS=COLL): how many of which size.

    node01:71:90 [0] NCCL INFO AllReduce: opCount 1a sendbuff 0x7f.. recvbuff 0x7f.. count 4096 datatype 7 op 0 root 0
    comm 0x55.. [nranks=16] stream 0x55..

Codes of types are those of `ncclDataType_t` in nccl.h. Every rank logs its own calls, so that counts are of all ranks
in the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from diagnose.facts import Fact, Source, Subject
from diagnose.facts.nccl import NcclCalls

MARK = ": opCount "
"""Every call's message has it."""
_CALL = re.compile(
    r"^(\w+): opCount [0-9a-f]+ .*?\bcount (\d{1,18}) datatype (\d{1,2}) .*?"
    r"\bcomm 0x[0-9a-f]+(?: \[nranks=(\d{1,7})\])?"
)
_TYPE_BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
_NAMES = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
    "Send": "send",
    "Recv": "recv",
    "AlltoAll": "alltoall",
}
_MOST_KEYS = 20_000

Key = tuple[str | None, str, int | None]


class Calls:
    """Counts calls by host, operation, ranks and size."""

    def __init__(self) -> None:
        self._sizes: dict[Key, Counter[int]] = {}
        self._lines: dict[Key, int] = {}
        self._keys = 0
        self.overflow = 0

    def take(self, host: str | None, message: str, number: int) -> bool:
        """Count the call of a message; false where it is none."""
        match = _CALL.match(message)
        if match is None or int(match[3]) >= len(_TYPE_BYTES):
            return False
        key = (host, _NAMES.get(match[1], match[1].lower()), int(match[4]) if match[4] else None)
        size = int(match[2]) * _TYPE_BYTES[int(match[3])]
        sizes = self._sizes.get(key)
        if sizes is None:
            sizes = self._sizes[key] = Counter()
            self._lines[key] = number
        if size not in sizes:
            if self._keys >= _MOST_KEYS:
                self.overflow += 1
                return True
            self._keys += 1
        sizes[size] += 1
        return True

    def facts(self, path: str) -> Iterator[Fact]:
        """One fact for each host, operation and number of ranks."""
        for key, sizes in self._sizes.items():
            host, operation, ranks = key
            ordered = sorted(sizes.items())
            yield NcclCalls(
                subject=Subject(host=host),
                sources=(Source(path=path, line=self._lines[key]),),
                operation=operation,
                ranks=ranks,
                calls=sizes.total(),
                total_bytes=sum(size * count for size, count in ordered),
                sizes_bytes=tuple(size for size, _ in ordered),
                calls_by_size=tuple(count for _, count in ordered),
            )

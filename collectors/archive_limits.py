"""How much of an archive is read: archives come from others and may be made to fill memory, disk or time."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.compression import ReadError


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Upper bounds for one input with all archives that lie in it."""

    members: int = 100_000
    """Entries of any kind, nested archives included. A sosreport has some 10,000, a tree of /sys of a large machine
    some 60,000."""
    depth: int = 3
    """Archives within archives: the outermost counts as 1."""
    total_bytes: int = 50_000_000_000
    """Expanded bytes of all levels together; what passes through two levels counts twice."""
    member_bytes: int = 20_000_000_000
    """Bytes of one member."""
    ratio: int = 1000
    """Most expanded bytes for one packed byte, beyond `ratio_free_bytes`. Logs that repeat reach some 300."""
    ratio_free_bytes: int = 64_000_000
    header_bytes: int = 1 << 20
    """Extended headers and long names of one tar member. Real ones stay below 10 KB."""
    index_bytes: int = 32 << 20
    """Central directory of a zip archive, which must fit in memory."""
    copied_bytes: int = 10_000_000_000
    """A zip archive that cannot be read back and forth (from a pipe, within another archive) is copied to a temporary
    file that has no name."""
    name_bytes: int = 4096
    """Path of a member: PATH_MAX of Linux."""


class Budget:
    """What is left of the limits while one input is read."""

    def __init__(self, limits: ArchiveLimits) -> None:
        self.limits = limits
        self._members = 0
        self._bytes = 0

    @property
    def spent(self) -> bool:
        """Whether nothing more may be read."""
        return self._bytes > self.limits.total_bytes or self._members > self.limits.members

    def take_member(self) -> None:
        """Count one more entry. Raises ReadError beyond the limit."""
        self._members += 1
        if self._members > self.limits.members:
            raise ReadError(f"The archive has more than {self.limits.members:,} members; the rest was not read")

    def take_bytes(self, count: int) -> None:
        """Count expanded bytes. Raises ReadError beyond the limit."""
        self._bytes += count
        if self._bytes > self.limits.total_bytes:
            raise ReadError(
                f"The archive expands to more than {self.limits.total_bytes:,} bytes in all; the rest was not read"
            )

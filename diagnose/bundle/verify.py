"""Checks that a bundle is whole: every file that its manifest lists is there and unchanged, and no other."""

from __future__ import annotations

from dataclasses import dataclass, field

from collectors.archive_names import shown
from collectors.compression import ReadError
from diagnose.bundle.read import Bundle
from diagnose.bundle.write import measure


@dataclass(slots=True)
class Verification:
    """What was found; no problems means that the bundle is as it was written."""

    files: int = 0
    bytes: int = 0
    problems: list[str] = field(default_factory=list)


def verify(bundle: Bundle) -> Verification:
    """Read all files of a bundle and compare them with its manifest."""
    found = Verification()
    listed = {member.path: member for member in bundle.manifest.members}
    missing = dict(listed)
    for file in bundle:
        try:
            size, digest = measure(file.content)
        except ReadError as error:
            found.problems.append(f"{shown(file.path)}: {error}")
            missing.pop(file.path, None)
            continue
        found.files += 1
        found.bytes += size
        member = missing.pop(file.path, None)
        if member is not None and (member.bytes, member.sha256) != (size, digest):
            found.problems.append(f"{shown(file.path)}: changed since the bundle was written")
        elif member is None and listed:
            again = "a second time" if file.path in listed else "not listed in the manifest"
            found.problems.append(f"{shown(file.path)}: {again}")
    if not listed:
        found.problems.append("The manifest lists no files: the recording was interrupted, nothing can be compared")
    found.problems += [f"{shown(path)}: missing" for path in missing]
    if bundle.problem is not None:
        found.problems.append(bundle.problem)
    return found

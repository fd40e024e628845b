"""The names that one host's GPUs go by: index, UUID, bus address."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from diagnose.facts import Subject

_NAMES = ("gpu_index", "gpu_uuid", "gpu_bus_id")
_FULL_UUID = re.compile(r"^GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)
_CUT_UUID = re.compile(r"^(GPU-[0-9a-f]{4}[0-9a-f-]*)[.…]*$", re.IGNORECASE)
_DOMAIN_ZERO = "0000:"


class GpuNames:
    """Knows which names belong together, from subjects that hold two or more of them.

    Args:
        subjects: all subjects of one host, each with the file that it comes from.
    """

    def __init__(self, subjects: Iterable[tuple[str, Subject]]) -> None:
        given = list(subjects)
        self._uuids = _whole_uuids({subject.gpu_uuid for _, subject in given if subject.gpu_uuid})
        self._bus_ids = _whole_bus_ids(given)
        self._linked: dict[tuple[str, str], dict[Any, set[Any]]] = defaultdict(lambda: defaultdict(set))
        self._gpu_bus_ids: set[str] = set()
        for subject in {self._spelt(subject) for _, subject in given}:
            self._learn(subject)

    def complete(self, subject: Subject) -> Subject:
        """The subject with the other names of its GPU filled in, where they are certain."""
        changed = self._spelt(subject)
        if changed.bus_id in self._gpu_bus_ids and _names_no_gpu(changed):
            changed = changed.model_copy(update={"gpu_bus_id": changed.bus_id})
        for _ in _NAMES:
            missing = {name: value for name in _NAMES if (value := self._other(changed, name)) is not None}
            if not missing:
                break
            changed = changed.model_copy(update=missing)
        return changed

    def _spelt(self, subject: Subject) -> Subject:
        """With cut UUIDs made whole and bus addresses in their full spelling."""
        update = {
            name: spellings[value]
            for name, spellings in (("gpu_uuid", self._uuids), ("gpu_bus_id", self._bus_ids), ("bus_id", self._bus_ids))
            if (value := getattr(subject, name)) is not None and spellings.get(value, value) != value
        }
        return subject.model_copy(update=update) if update else subject

    def _learn(self, subject: Subject) -> None:
        if subject.gpu_bus_id is not None:
            self._gpu_bus_ids.add(subject.gpu_bus_id)
        for one in _NAMES:
            for other in _NAMES:
                first, second = getattr(subject, one), getattr(subject, other)
                if one != other and first is not None and second is not None:
                    self._linked[one, other][first].add(second)

    def _other(self, subject: Subject, name: str) -> Any:
        """The value of an absent name, if all names present agree on it, and it on them."""
        if getattr(subject, name) is not None:
            return None
        found: set[Any] = set()
        for known in _NAMES:
            value = getattr(subject, known)
            if value is None:
                continue
            candidates = self._linked[known, name].get(value, set())
            if any(self._linked[name, known][candidate] != {value} for candidate in candidates):
                return None
            found |= candidates
        return found.pop() if len(found) == 1 else None


def _names_no_gpu(subject: Subject) -> bool:
    """A subject that names a GPU beside the PCI device is about the two of them, not about one thing."""
    return subject.gpu_index is None and subject.gpu_uuid is None and subject.gpu_bus_id is None


def _whole_uuids(uuids: set[str]) -> dict[str, str]:
    """Cut UUIDs (`GPU-455e672a-...`) to the one whole UUID that begins so."""
    whole = [uuid for uuid in uuids if _FULL_UUID.match(uuid)]
    spelt = {}
    for uuid in uuids:
        match = None if _FULL_UUID.match(uuid) else _CUT_UUID.match(uuid)
        if match is not None:
            begun = [full for full in whole if full.lower().startswith(match[1].lower())]
            if len(begun) == 1:
                spelt[uuid] = begun[0]
    return spelt


def _whole_bus_ids(subjects: Iterable[tuple[str, Subject]]) -> dict[str, str]:
    """Addresses whose domain was left out (0000) to the one full address with the same bus, device and function.

    Two addresses that occur in one file are two devices: a file spells its addresses one way. One of the two must be a
    GPU's.
    """
    files: dict[str, set[str]] = defaultdict(set)
    gpus = set()
    for file, subject in subjects:
        for address in (subject.gpu_bus_id, subject.bus_id):
            if address is not None:
                files[address].add(file)
        if subject.gpu_bus_id is not None:
            gpus.add(subject.gpu_bus_id)
    by_place: dict[str, list[str]] = defaultdict(list)
    for address in files:
        by_place[address.partition(":")[2]].append(address)
    spelt = {}
    for addresses in by_place.values():
        short, *others = sorted(addresses)
        if len(others) != 1 or not short.startswith(_DOMAIN_ZERO) or not gpus & {short, others[0]}:
            continue
        if not files[short] & files[others[0]]:
            spelt[short] = others[0]
    return spelt

"""PCIe Advanced Error Reporting lines of the kernel, counted for each device, severity and layer.

Names of the errors are decoded from the status word with the masked bits left out, as the kernel itself prints them
(PCI Express Base Specification, AER capability; Linux drivers/pci/pcie/aer.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collectors.kernel_events import MAX_KEYS, Context, Count, Heard, normalise_bus_id
from diagnose.facts import Fact
from diagnose.facts.kernel import PcieErrorEvent

CORRECTABLE_BITS: Mapping[int, str] = {
    0: "RxErr", 6: "BadTLP", 7: "BadDLLP", 8: "Rollover", 12: "Timeout", 13: "NonFatalErr", 14: "CorrIntErr",
    15: "HeaderOF",
}  # fmt: skip
UNCORRECTABLE_BITS: Mapping[int, str] = {
    4: "DLP", 5: "SDES", 12: "TLP", 13: "FCP", 14: "CmpltTO", 15: "CmpltAbrt", 16: "UnxCmplt", 17: "RxOF",
    18: "MalfTLP", 19: "ECRC", 20: "UnsupReq", 21: "ACSViol", 22: "UncorrIntErr", 23: "BlockedTLP",
    24: "AtomicOpBlocked", 25: "TLPBlockedErr", 26: "PoisonTLPBlocked",
}  # fmt: skip

_DEVICE = r"(?P<driver>[\w-]+) (?P<device>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]):"
_REPORT = re.compile(_DEVICE + r"\s*(?:AER: )?PCIe Bus Error: severity=([^,]+), type=([\w ]+)")
_STATUS = re.compile(_DEVICE + r"\s+device \[[^\]]*\] error status/mask=([0-9a-fA-F]{1,8})/([0-9a-fA-F]{1,8})")
_NOTICE = re.compile(
    r"AER: (?:Multiple )?(\w+(?: \([\w-]+\))?) error (?:message )?received(?:: | from )"
    r"([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])"
)

_LAYERS = {"Physical Layer": "physical", "Data Link Layer": "data-link", "Transaction Layer": "transaction"}

_Key = tuple[str | None, str, str, str | None]
"""Host, device, severity, layer."""


@dataclass(slots=True)
class _Reports:
    count: Count
    names: list[str]
    is_gpu: bool


def severity_of(text: str) -> str | None:
    """Our name of a severity as kernels of different ages write it."""
    lowered = text.lower()
    if lowered.startswith("correct"):
        return "correctable"
    if not lowered.startswith(("uncorrect", "fatal", "non-fatal", "nonfatal")):
        return None
    non_fatal = "non-fatal" in lowered or "nonfatal" in lowered
    return "uncorrectable-fatal" if "fatal" in lowered and not non_fatal else "uncorrectable-nonfatal"


class AerTally:
    """Counts AER reports."""

    def __init__(self) -> None:
        self._reports: dict[_Key, _Reports] = {}
        self._notices: dict[tuple[str | None, str, str], Count] = {}
        self._open: _Key | None = None

    def take(self, heard: Heard) -> bool:
        """Count a report; its status line adds the names of the errors."""
        text = heard.message
        if "PCIe Bus Error" in text:
            return self._take_report(heard)
        if "error status/mask=" in text:
            return self._take_status(text)
        return "AER: " in text and self._take_notice(heard)

    def _take_report(self, heard: Heard) -> bool:
        match = _REPORT.search(heard.message)
        device = normalise_bus_id(match["device"]) if match else None
        severity = severity_of(match[3]) if match else None
        if match is None or device is None or severity is None:
            return False
        key = (heard.host, device, severity, _LAYERS.get(match[4].strip()))
        known = self._reports.get(key)
        if known is not None:
            known.count.add(heard)
        elif len(self._reports) < MAX_KEYS:
            self._reports[key] = _Reports(Count.of(heard), [], match["driver"] == "nvidia")
        self._open = key
        return True

    def _take_status(self, text: str) -> bool:
        match = _STATUS.search(text)
        reports = self._reports.get(self._open) if self._open is not None else None
        if match is None:
            return False
        if reports is None or self._open is None or normalise_bus_id(match["device"]) != self._open[1]:
            return True
        bits = CORRECTABLE_BITS if self._open[2] == "correctable" else UNCORRECTABLE_BITS
        reported = int(match[3], 16) & ~int(match[4], 16)
        reports.names += [name for bit, name in bits.items() if reported >> bit & 1 and name not in reports.names]
        return True

    def _take_notice(self, heard: Heard) -> bool:
        match = _NOTICE.search(heard.message)
        severity = severity_of(match[1]) if match else None
        device = normalise_bus_id(match[2]) if match else None
        if severity is None or device is None:
            return False
        key = (heard.host, device, severity)
        known = self._notices.get(key)
        if known is not None:
            known.add(heard)
        elif len(self._notices) < MAX_KEYS:
            self._notices[key] = Count.of(heard)
        return True

    def facts(self, context: Context) -> Iterator[Fact]:
        """One fact for each device, severity and layer; notices count where the report itself was suppressed."""
        for (host, device, severity, layer), reports in self._reports.items():
            yield PcieErrorEvent(
                subject=context.identities.subject(host, device, certain=reports.is_gpu),
                sources=reports.count.sources(context.path),
                severity=severity,
                layer=layer,
                count=reports.count.total,
                names=" ".join(reports.names) or None,
                before_last_boot=context.is_past(reports.count),
            )
        reported = {key[:3] for key in self._reports}
        for (host, device, severity), count in self._notices.items():
            if (host, device, severity) not in reported:
                yield PcieErrorEvent(
                    subject=context.identities.subject(host, device),
                    sources=count.sources(context.path),
                    severity=severity,
                    count=count.total,
                    before_last_boot=context.is_past(count),
                )

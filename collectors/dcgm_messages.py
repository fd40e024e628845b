"""What DCGM's diagnostic and health messages mean, by the wording of its error table (dcgmlib/dcgm_errors.h)."""

from __future__ import annotations

import re
from typing import NamedTuple


class Meaning(NamedTuple):
    """A message understood."""

    code: str
    value: float | None
    """The number that it turns on, such as seconds of violation, GB/s measured, an Xid, a lane count."""
    limit: float | None
    """The limit that it names."""


_NUMBER = r"(-?\d{1,15}(?:\.\d{1,9})?)"
# What to do next is part of the printed text, so that a message's own words come before words of advice of another.
_MESSAGES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (code, re.compile(pattern, re.IGNORECASE))
    for code, pattern in (
        ("gpu-lost", r"fallen off the bus|GPU is lost|detached from the system"),
        ("cuda-not-initialised", r"system not (?:yet )?initialized|CUDA_ERROR_SYSTEM_NOT_READY"),
        ("thermal-violation", rf"thermal violations? totaling {_NUMBER}"),
        ("thermal-violation", rf"{_NUMBER} (?:seconds of )?thermal[ _]violation|thermal[ _]violation"),
        (
            "temperature-limit",
            rf"temperature {_NUMBER} of GPU \d+ exceeded .*?temperature {_NUMBER}|temperature .*?exceed",
        ),
        ("row-remap-failed", r"row[- ]remap(?:ping)? (?:failure|failed)|failed to remap"),
        ("row-remap-pending", r"row[- ]remap\w* (?:(?:is|are) )?pending"),
        ("rows-remapped", rf"{_NUMBER} rows were remapped"),
        ("page-retirement", r"page retirements?|retired pages?|pages? pending retirement"),
        (
            "memory-uncorrected",
            r"double[- ]bit|uncorrectable (?:ECC|memory)|volatile DBE|ecc_dbe|uncontained error",
        ),
        ("memory-single-bit", r"single[- ]bit|ecc_sbe|volatile SBE"),
        ("unrepairable-memory", r"unrepairable memory|memory unrepairable"),
        ("sram-threshold", r"SRAM (?:uncorrectable )?(?:ECC )?threshold"),
        ("memory-test-failed", r"faulty memory|memory mismatch|miscompare|NaN-value memory"),
        ("nvlink-down", rf"Only {_NUMBER} NvLinks are up out of the expected {_NUMBER}"),
        ("nvlink-down", r"NV ?Link(?: port| link)? \d+ is (?:currently )?down|NV ?Links? .*(?:inactive|are down)"),
        ("nvlink-errors", r"NV ?Link.*(?:error|CRC|replay|recovery)"),
        ("nvswitch-fatal", r"(?<!non)(?<!non-)\bfatal errors? on NvSwitch|fatal NvSwitch SXID"),
        ("pcie-generation", rf"PCI(?:e)? link generation {_NUMBER}.*?(?:below|minimum).*?{_NUMBER}"),
        ("pcie-width", rf"PCI(?:e)? link width {_NUMBER}.*?(?:below|minimum).*?{_NUMBER}"),
        ("pcie-replays", rf"PCIe[ _]replay.*?: ?{_NUMBER}|PCIe[ _]replay"),
        ("low-bandwidth", rf"bandwidth of GPU .*?(?:of|is) {_NUMBER}(?: GB/s)? did not exceed .*?{_NUMBER}"),
        ("xid", rf"XID(?: error)?s? ?:? ?{_NUMBER}"),
        ("inforom-corrupted", r"corrupt\w* info ?rom|info ?rom.*(?:corrupt|invalid|checksum)"),
        ("fabric-manager", r"FabricManager is running without errors|fabric manager .*(?:training|error)"),
        ("cuda-error", r"Error using CUDA API|unable to initialize CUDA|CUDA(?: API)? (?:call )?failed"),
        ("power-brake", r"power brake"),
        ("power-violation", rf"power[ _]violations? totaling {_NUMBER}|power[ _]violation"),
        ("clocks-throttled", r"clocks? (?:are|is) being (?:throttled|optimized)|clocks event|throttl"),
        (
            "rate-below-target",
            rf"(?:stress level|power|memory bandwidth) of {_NUMBER}.*?(?:did not reach|failing to meet).*? {_NUMBER}",
        ),
        ("rate-below-target", rf"Detected {_NUMBER} .*which is below the threshold {_NUMBER}"),
        ("gpu-busy", r"MCUTIL|in use by|is being used by|other (?:processes|workload)"),
        ("persistence-mode", r"persistence mode"),
        ("permission", r"insufficient permission|no permission|not permitted|does not have permissions"),
    )
)


def meaning_of(message: str) -> Meaning | None:
    """The first meaning that fits; None for a message that is not known."""
    for code, pattern in _MESSAGES:
        match = pattern.search(message)
        if match is not None:
            numbers = [float(group) for group in match.groups() if group is not None]
            return Meaning(code, numbers[0] if numbers else None, numbers[1] if len(numbers) > 1 else None)
    return None

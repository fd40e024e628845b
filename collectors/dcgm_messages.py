"""What DCGM's diagnostic and health messages mean, by the wording of its error table (dcgmlib/src/dcgm_errors.c)."""

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
_MESSAGES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (code, re.compile(pattern, re.IGNORECASE))
    for code, pattern in (
        (
            "gpu-lost",
            r"fallen off the bus|GPU is lost|could not be accessed because it is lost|detached from the system",
        ),
        ("cuda-not-initialised", r"system not (?:yet )?initialized|CUDA_ERROR_SYSTEM_NOT_READY"),
        (
            "fabric-manager",
            r"fabric manager (?:is not|not|did not|has not|failed)|fabric manager (?:returned|training) .*error"
            r"|not (?:been )?(?:initialized|started) by the fabric manager",
        ),
        ("cuda-error", r"Error using CUDA API|unable to initialize CUDA|CUDA(?: API)? (?:call )?failed"),
        ("thermal-violation", rf"thermal violations? totaling {_NUMBER}"),
        ("thermal-violation", rf"(?:detected )?{_NUMBER} ?seconds? of thermal violation|thermal violation"),
        (
            "temperature-limit",
            rf"temperature .*?{_NUMBER}.*? (?:exceed|above|over|is too high|higher).*?{_NUMBER}|temperature .*exceed",
        ),
        ("power-violation", rf"power violations? totaling {_NUMBER}|power violation"),
        ("clocks-throttled", r"clocks? (?:are|is) being (?:throttled|optimized)|throttl|clocks event"),
        ("power-brake", r"power brake"),
        ("low-bandwidth", rf"bandwidth of GPU .*?(?:of|is) {_NUMBER}(?: GB/s)? did not exceed .*?{_NUMBER}"),
        ("low-bandwidth", rf"bandwidth .*?{_NUMBER}.*? (?:below|lower than|less than) .*?{_NUMBER}"),
        ("pcie-generation", rf"PCI(?:e)? link generation {_NUMBER}.*?(?:below|minimum).*?{_NUMBER}"),
        ("pcie-width", rf"PCI(?:e)? link width {_NUMBER}.*?(?:below|minimum).*?{_NUMBER}"),
        ("pcie-replays", rf"PCIe replay.*?: ?{_NUMBER}|PCIe replay"),
        ("memory-uncorrected", r"double[- ]bit|uncorrectable (?:ECC|memory)|volatile DBE|ecc_dbe|contained ECC"),
        ("memory-single-bit", r"single[- ]bit|ecc_sbe|volatile SBE"),
        ("row-remap-pending", r"row[- ]remap\w* (?:is )?pending|pending (?:row remap|uncorrectable remapped)"),
        ("row-remap-failed", r"row[- ]remap(?:ping)? (?:failure|failed)|failed to remap"),
        ("page-retirement", r"pages? (?:pending retirement|retired)|retired page"),
        ("unrepairable-memory", r"unrepairable memory|memory unrepairable"),
        ("sram-threshold", r"SRAM (?:uncorrectable )?(?:ECC )?threshold"),
        (
            "memory-test-failed",
            r"memory (?:test|mismatch|error)s? .*(?:fail|mismatch|detected)|incorrect value|faulty memory",
        ),
        ("nvlink-down", r"NV ?Links? .*(?:down|inactive)|link \d+ .*is down"),
        ("nvlink-errors", r"NV ?Link.*(?:error|CRC|replay|recovery)"),
        ("nvswitch-fatal", r"NvSwitch.*(?<!non-)\bfatal"),
        ("xid", rf"XID(?: error)?s? ?:? ?{_NUMBER}"),
        ("inforom-corrupted", r"info ?rom.*(?:corrupt|invalid|checksum)"),
        ("wrong-results", r"miscompare|results? (?:do not|did not) match|verification (?:failed|error)"),
        (
            "rate-below-target",
            rf"(?:level|rate|performance|perf|power) (?:of )?.*?{_NUMBER}.*?(?:below|did not|lower than).*?{_NUMBER}",
        ),
        ("rate-below-target", r"stress level|did not reach|target (?:power|perf\w*) not"),
        ("gpu-busy", r"MCUTIL|in use by|is being used by|other (?:processes|workload)"),
        ("persistence-mode", r"persistence mode"),
        ("permission", r"insufficient permission|no permission|not permitted"),
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

"""Tells text from what is not text, by the first bytes. Nothing here ever loads a pickle."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from collectors.compression import compression_of

HEAD_BYTES = 1 << 13
"""How much of a file is looked at."""
_CONTROL_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class NotText:
    """Why a file is not read as text."""

    kind: str
    """`archive` or `binary`."""
    reason: str


_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x7fELF", "an ELF program or library"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xca\xfe\xba\xbe", "a Java class or Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PAR1", "a Parquet table"),
    (b"GGUF", "a GGUF model"),
    (b"LPKSHHRH", "a binary systemd journal: export it with `journalctl --file FILE`"),
)
_ARCHIVES: tuple[tuple[bytes, int, str], ...] = (
    (b"PK\x03\x04", 0, "zip"),
    (b"PK\x05\x06", 0, "zip"),
    (b"ustar", 257, "tar"),
    (b"7z\xbc\xaf\x27\x1c", 0, "7z"),
    (b"Rar!\x1a\x07", 0, "rar"),
    (b"070701", 0, "cpio"),
)
_PICKLE = re.compile(
    rb"\x80[\x02-\x05](?:\x95.{8}|[\]}(c\x8c\x58KJMG])"  # protocols 2 to 5
    rb"|\([dli]p\d+\n|c[a-z_]\w*(?:\.\w+)*\n\w+\n[(pq]",  # protocols 0 and 1, which are text
    re.DOTALL,
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v\b\a\x1b")) + b"\x7f"
_NULS = re.compile(rb"\0+")


def encoding_of(head: bytes) -> str | None:
    """`utf-16-le`, `utf-16-be` or `utf-32-...` where the text is in one of them; None for UTF-8 and other bytes."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    pairs = len(head) // 2
    if pairs >= 8:
        for encoding, zeros, letters in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
            if zeros.count(0) >= 0.8 * pairs and letters.count(0) <= 0.05 * pairs:
                return encoding
    return None


def not_text(head: bytes) -> NotText | None:
    """Why a file that begins with `head` is not text; None where it is.

    Logs of a machine that crashed can hold runs of NUL bytes: a run counts as one character here.
    """
    found = _archive(head) or _signature(head)
    if found is not None or not head or encoding_of(head) is not None:
        return found
    squeezed = _NULS.sub(b"\0", head)
    controls = len(squeezed) - len(squeezed.translate(None, delete=_CONTROLS))
    if controls > max(2, _CONTROL_SHARE * len(squeezed)):
        return NotText("binary", "The file holds binary data, not text")
    return None


def _archive(head: bytes) -> NotText | None:
    if head.startswith(b"PK\x03\x04") and b"/data.pkl" in head[:200]:
        return NotText("binary", "The file is a PyTorch checkpoint; checkpoints and pickles are never loaded")
    for magic, offset, name in _ARCHIVES:
        if head.startswith(magic, offset):
            return NotText("archive", f"This is a {name} archive: unpack it and name the folder instead")
    return None


def _instead(head: bytes) -> str:
    """What to bring in place of a flight recorder's dump, which is the pickle that people bring most."""
    if b"pg_config" not in head and b"nccl_version" not in head:
        return ""
    return (
        ". It looks like a flight recorder of PyTorch: have the job write JSON, as "
        "torch._C._distributed_c10d._dump_nccl_trace_json() returns it, or turn the file into JSON on the machine "
        "that wrote it, keeping the rank in the file's name"
    )


def _signature(head: bytes) -> NotText | None:
    if _PICKLE.match(head):
        return NotText("binary", "The file is a Python pickle; pickles are never loaded" + _instead(head))
    if compression_of(head) is not None:
        return NotText("binary", "The file is compressed more than once: expand it and name the result instead")
    if head.startswith(b"MZ") and b"\0" in head:
        return NotText("binary", "The file is a Windows program")
    for magic, words in _SIGNATURES:
        if head.startswith(magic):
            return NotText("binary", f"The file is {words}")
    return None

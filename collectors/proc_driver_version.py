"""`/proc/driver/nvidia/version`: the version of the kernel module that is loaded, and whether it is the open one."""

from __future__ import annotations

import re
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from diagnose.facts.host import KernelModule

_VERSION = re.compile(r"^NVRM version:\s+NVIDIA UNIX (Open )?.*?Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)")


class ProcDriverVersion(BlockCollector):
    """The NVRM line; the compiler's line below it says nothing that is used."""

    kind: ClassVar[str] = "proc-driver-version"
    literals: ClassVar[tuple[bytes, ...]] = (b"NVRM version:",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"/proc/driver/nvidia/version\b")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The line of the version."""
        return text.startswith("NVRM version:")

    @classmethod
    def closes(cls, text: str) -> bool:
        """The compiler's line is the last."""
        return text.startswith("GCC version:")

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for the loaded module."""
        parsed = Parsed()
        for line in block.lines:
            match = _VERSION.match(line.text)
            if match is not None:
                parsed.facts.append(
                    KernelModule(
                        subject=block.subject(),
                        sources=(block.source(line),),
                        name="nvidia",
                        version=match[2],
                        open_variant=match[1] is not None,
                        loaded=True,
                    )
                )
            elif line.text.startswith("NVRM version:"):
                parsed.problems.append(f"The driver's version in line {line.number} could not be read.")
        return parsed

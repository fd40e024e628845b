"""Lines in which nvidia-smi, NVML, CUDA or a framework says that it cannot work, wherever they stand.

They come before, after or instead of any output, and in what an application writes to standard error. Tables of
other tools that wrap words over rows (dcgmi) are left to their own collectors.
"""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from collectors.base import Line, LineCollector, Parsed
from diagnose.facts import Fact, Subject, normalise_bus_id
from diagnose.facts.gpu import GpuInforom, GpuUnreachable
from diagnose.facts.host import DriverFailure


class Message(NamedTuple):
    """A text and the code of `driver-failure` that it stands for."""

    code: str
    literal: str


MESSAGES = (
    # nvidia-smi and NVML. Wordings: nvmlErrorString and the text of nvidia-smi's manual.
    Message("library-mismatch", "Driver/library version mismatch"),
    Message("library-mismatch", "NVML_ERROR_LIB_RM_VERSION_MISMATCH"),
    Message("library-mismatch", "NVMLError_LibRmVersionMismatch"),
    Message("not-loaded", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"),
    Message("not-loaded", "Failed to initialize NVML: Driver Not Loaded"),
    Message("not-loaded", "NVML_ERROR_DRIVER_NOT_LOADED"),
    Message("not-loaded", "NVMLError_DriverNotLoaded"),
    Message("not-loaded", "Module nvidia not found in directory"),
    Message("library-missing", "NVIDIA-SMI couldn't find libnvidia-ml.so library"),
    Message("library-missing", "NVIDIA-SMI couldn't find NVML library"),
    Message("library-missing", "NVMLError_LibraryNotFound"),
    Message("library-missing", "NVML_ERROR_LIBRARY_NOT_FOUND"),
    Message("library-missing", "libnvidia-ml.so.1: cannot open shared object file"),
    Message("no-permission", "Failed to initialize NVML: Insufficient Permissions"),
    Message("no-permission", "Failed to initialize NVML: GPU access blocked by the operating system"),
    Message("unknown-error", "Failed to initialize NVML: Unknown Error"),
    Message("no-devices", "No devices were found"),
    Message("no-devices", "could not insert 'nvidia': No such device"),
    Message("key-rejected", "could not insert 'nvidia': Key was rejected by service"),
    Message("key-rejected", "could not insert 'nvidia': Required key not available"),
    # CUDA and frameworks. Wordings: cudaGetErrorString, cuda.h, PyTorch, llama.cpp.
    Message("cuda-not-initialised", "system not yet initialized"),
    Message("cuda-not-initialised", "CUDA_ERROR_SYSTEM_NOT_READY"),
    Message("cuda-not-initialised", "cudaErrorSystemNotReady"),
    Message("cuda-not-initialised", "CUDA error 802"),
    Message("library-mismatch", "unsupported display driver / cuda driver combination"),
    Message("cuda-no-device", "No CUDA GPUs are available"),
    Message("cuda-no-device", "no CUDA-capable device is detected"),
    Message("cuda-no-device", "CUDA_ERROR_NO_DEVICE"),
    Message("cuda-no-device", "cudaErrorNoDevice"),
    Message("cuda-driver-too-old", "CUDA driver version is insufficient for CUDA runtime version"),
    Message("cuda-driver-too-old", "NVIDIA driver on your system is too old"),
    Message("cuda-driver-too-old", "cudaErrorInsufficientDriver"),
    Message("cuda-ecc-error", "uncorrectable ECC error encountered"),
    Message("cuda-ecc-error", "CUDA_ERROR_ECC_UNCORRECTABLE"),
    Message("cuda-ecc-error", "cudaErrorECCUncorrectable"),
    Message("cuda-unknown-error", "failed to initialize CUDA: unknown error"),
    Message("cuda-unknown-error", "CUDA unknown error - this may be due to an incorrectly set up environment"),
    Message("cuda-unknown-error", "failed call to cuInit: UNKNOWN ERROR"),
    Message("cuda-unknown-error", "failed call to cuInit: CUDA_ERROR_UNKNOWN"),
)

# `GPU1: 0000:34:00.0`, `GPU0000:68:00.0`, `GPU 0000:02:00.0` and `gpu 0000:02:00.0`: index and address apart or not,
# glued to the word or not.
_HANDLE = re.compile(
    r"Unable to determine the device handle for gpu\s*(?:([0-9]{1,4}):\s+)?"
    r"((?:[0-9a-f]{1,8}:)?[0-9a-f]{1,2}:[0-9a-f]{1,2}\.[0-7])?\s*:?\s*(.*)",
    re.IGNORECASE,
)
_INFOROM = re.compile(r"infoROM is corrupted at gpu ([0-9a-f:.]+)", re.IGNORECASE)
_LIBRARY = re.compile(r"^\s*NVML library version:\s*([0-9][0-9.]{1,20})\s*$")
# This short sentence must be the whole line, but for a host in front: it also stands in scripts and prose.
_NO_DEVICES = re.compile(r"^\s*(?:[\w.-]+: )?No devices were found\.?\s*$")
_MENTION = re.compile(r"\b(?:grep|echo|printf|assert)\b")


class NvidiaSmiErrors(LineCollector):
    """Failures of driver, libraries and single GPUs; each code is told once for each host."""

    kind: ClassVar[str] = "nvidia-errors"
    literals: ClassVar[tuple[bytes, ...]] = (
        *dict.fromkeys(message.literal.encode() for message in MESSAGES),
        b"NVIDIA-SMI has failed because",
        b"Unable to determine the device handle for",
        b"infoROM is corrupted at gpu",
        b"NVML library version:",
    )

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._failures: dict[tuple[str | None, str], DriverFailure] = {}
        self._gpus: dict[tuple[type[Fact], Subject], Fact] = {}
        self._mismatch: tuple[str | None, str] | None = None

    def feed(self, line: Line, host: str | None) -> bool:
        """Take a line that states a failure; a command or a row of a table that only holds the words is refused."""
        text = line.text.replace("\u2019", "'")
        if text.lstrip().startswith("|") or _MENTION.search(text):
            return False
        if library := _LIBRARY.match(text):
            return self._take_library_version(library[1])
        return (
            self._take_handle(line, text, host) or self._take_inforom(line, text, host) or self._take(line, text, host)
        )

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """All failures, in their order."""
        return Parsed(facts=[*self._failures.values(), *self._gpus.values()])

    def _take(self, line: Line, text: str, host: str | None) -> bool:
        message = next((message for message in MESSAGES if message.literal in text), None)
        if message is None or (message.literal == "No devices were found" and not _NO_DEVICES.match(text)):
            return False
        key = (host, message.code)
        if message.code == "library-mismatch":
            self._mismatch = key
        if key not in self._failures:
            self._failures[key] = DriverFailure(
                subject=Subject(host=host),
                sources=(self.source(line.number),),
                code=message.code,
                message=text.strip(),
            )
        return True

    def _take_library_version(self, version: str) -> bool:
        """The line after a mismatch names the version of the library."""
        if self._mismatch is None:
            return False
        failure = self._failures[self._mismatch]
        if failure.library_version is None:
            self._failures[self._mismatch] = failure.model_copy(update={"library_version": version})
        self._mismatch = None
        return True

    def _take_handle(self, line: Line, text: str, host: str | None) -> bool:
        match = _HANDLE.search(text)
        if match is None:
            return False
        index, address, reason = match.groups()
        subject = Subject(
            host=host,
            gpu_index=int(index) if index else None,
            gpu_bus_id=normalise_bus_id(address) if address else None,
        )
        self._gpus.setdefault(
            (GpuUnreachable, subject),
            GpuUnreachable(
                subject=subject,
                sources=(self.source(line.number),),
                message=text.strip(),
                reason="lost" if "lost" in reason.lower() else "handle-error",
            ),
        )
        return True

    def _take_inforom(self, line: Line, text: str, host: str | None) -> bool:
        match = _INFOROM.search(text)
        bus_id = normalise_bus_id(match[1]) if match else None
        if bus_id is None:
            return False
        subject = Subject(host=host, gpu_bus_id=bus_id)
        self._gpus.setdefault(
            (GpuInforom, subject),
            GpuInforom(subject=subject, sources=(self.source(line.number),), valid=False),
        )
        return True

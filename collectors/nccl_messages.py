"""Lines of NCCL, its network plugins and PyTorch's process group whose meaning is known.

`MESSAGES` is the list of codes that facts of kind `nccl-warning` carry. Wordings: NVIDIA/nccl (transport, bootstrap,
os, misc, init and graph sources of 2.4 to 2.28), aws/aws-ofi-nccl, and PyTorch's ProcessGroupNCCL and TCPStore.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OTHER = "other"
"""Code of a WARN line that is none of the known ones."""


@dataclass(frozen=True, slots=True)
class Message:
    """One meaning."""

    code: str
    pattern: re.Pattern[str]
    meaning: str


def _message(code: str, pattern: str, meaning: str) -> Message:
    return Message(code, re.compile(pattern), meaning)


MESSAGES: tuple[Message, ...] = (
    # Peer access and shared memory within a host
    _message(
        "p2p-nvlink-disabled", r"P2P is disabled between NVLINK connected GPUs", "NVLink pair without peer access"
    ),
    _message("p2p-disabled", r"P2P is disabled between connected GPUs", "PCIe pair without peer access"),
    _message(
        "p2p-unavailable",
        r"Could not enable P2P between dev|peer access is not supported between these two devices",
        "the driver refused peer access",
    ),
    _message(
        "shared-memory-no-space",
        r"failed to extend /dev/shm|(?:posix_fallocate|ftruncate) failed\W+No space left|/dev/shm.*No space left",
        "/dev/shm is full or too small",
    ),
    _message(
        "shared-memory-segment-failed",
        r"Error while (?:creating|attaching to) shared memory segment|shm_open failed|Call to shm_open",
        "a shared memory segment could not be made or opened",
    ),
    _message(
        "cumem-host-fallback",
        r"cuMem host allocations do not appear to be working",
        "cuMem host memory is unusable, NCCL goes back to /dev/shm",
    ),
    _message(
        "nvls-multicast-failed",
        r"Failed to bind NVLink SHARP|NVLS.*[Mm]ulticast.*(?:fail|error)",
        "NVLink multicast could not be set up: fabric manager or NVSwitch",
    ),
    # RDMA
    _message("no-rdma-device", r"NET/IB ?: No device found", "no usable RDMA device"),
    _message("verbs-library-missing", r"Failed to open libibverbs\.so", "the verbs library is not installed"),
    _message(
        "rdma-cannot-allocate-memory",
        r"ibv_\w+ failed.*Cannot allocate memory",
        "registration or queue creation failed for lack of lockable memory",
    ),
    _message("rdma-registration-failed", r"ibv_reg_\w+ failed", "memory could not be registered with the NIC"),
    _message(
        "rdma-queue-pair-failed",
        r"ibv_modify_qp failed",
        "a queue pair could not be connected to its peer",
    ),
    _message(
        "rdma-retry-exceeded",
        r"[Gg]ot completion (?:from|with).*(?:error 12\b|status=12\b|\(12\)|RETRY_EXC)",
        "the peer did not acknowledge in time (work completion 12)",
    ),
    _message(
        "rdma-flushed",
        r"[Gg]ot completion (?:from|with).*(?:error 5\b|status=5\b|WR_FLUSH)",
        "work was flushed after an earlier error (work completion 5)",
    ),
    _message("rdma-completion-error", r"[Gg]ot completion (?:from|with)", "a work completion with an error"),
    _message(
        "rdma-port-event",
        r"NET/IB ?:.*(?:async fatal event|[Gg]ot async (?:error )?event)",
        "the NIC reported an event such as a port that went down",
    ),
    # Network plugins
    _message("network-not-found", r"Error: network .+ not found", "the network that NCCL_NET names does not exist"),
    _message("network-plugin-failed", r"Failed to initialize NET plugin", "a network plugin was found and failed"),
    _message(
        "ofi-no-provider",
        r"NET/OFI.*(?:No eligible providers|Unable to find a protocol that worked"
        r"|[Cc]ould(?:n't| not) find any.*provider)",
        "libfabric offers no usable provider",
    ),
    # Sockets
    _message(
        "no-socket-interface", r"[Nn]o (?:socket )?interface found", "no interface for sockets: filter or network"
    ),
    _message(
        "connect-retrying",
        r"(?:[Cc]onnect|connect to \S+) returned .*retrying|Call to connect .*retrying",
        "a connection attempt failed and is tried again",
    ),
    _message(
        "connect-refused",
        r"[Cc]onnect\b.*Connection refused|Connect: exceeded retries",
        "nothing listens at the peer's address",
    ),
    _message(
        "connect-timed-out",
        r"[Cc]onnect\b.*(?:Connection timed out|timed out)|Connect: exceeded timeouts",
        "the peer's address does not answer",
    ),
    _message(
        "connect-no-route",
        r"[Cc]onnect\b.*(?:No route to host|Network is unreachable|Host is unreachable|Host is down)",
        "no route to the peer's address",
    ),
    _message("connect-failed", r"[Cc]onnect to \S+<\d+> (?:failed|returned)", "a connection failed in another way"),
    _message(
        "peer-closed-connection",
        r"[Cc]onnection closed by remote peer|Connection reset by peer|Broken pipe|peer \S+ is closed",
        "the peer's process ended or dropped the connection",
    ),
    _message(
        "rendezvous-timed-out",
        r"client socket has timed out after .* while trying to connect to",
        "the rendezvous server did not answer",
    ),
    # Agreement between ranks
    _message(
        "version-mismatch",
        r"Mismatched NCCL version detected|Got wrong magic",
        "ranks run different NCCL versions",
    ),
    _message(
        "collective-mismatch",
        r"[Mm]ismatched collective|mismatch between collectives|collective mismatch error|"
        r"mismatch in collective|[Mm]essage truncated",
        "ranks call different collectives or sizes",
    ),
    _message(
        "rank-did-not-join",
        r"finished collective #\d+, but didn't join collective #\d+|didn't join collective",
        "a rank went past one collective and never entered the next",
    ),
    _message(
        "rank-did-not-finish",
        r"joined but didn't finish collective",
        "a rank entered a collective and never left it",
    ),
    _message(
        "desync-report",
        r"Timeout at collective: \w+|lagging/dead/mismatched ranks",
        "the process group lists the ranks that lag; they stand in the lines around",
    ),
    _message("duplicate-gpu", r"Duplicate GPU detected", "two ranks use one GPU"),
    # The process group's watchdog
    _message(
        "watchdog-timeout",
        r"Watchdog caught collective operation timeout",
        "a collective passed the watchdog's limit",
    ),
    _message(
        "watchdog-stuck",
        r"Heartbeat monitor timed out|watchdog got stuck",
        "the watchdog itself makes no progress: a CUDA or NCCL call hangs",
    ),
    _message(
        "watchdog-exception",
        r"[Ww]atchdog thread terminated with exception",
        "an asynchronous error ended the watchdog",
    ),
    # The driver
    _message(
        "driver-library-mismatch",
        r"Driver/library version mismatch",
        "user-space library and kernel module differ",
    ),
    _message(
        "cuda-driver-too-old",
        r"CUDA driver version is insufficient",
        "the CUDA runtime needs a newer driver",
    ),
    _message("cuda-out-of-memory", r"Cuda failure.*out of memory", "a CUDA allocation failed"),
    _message("cuda-memory-error", r"[Cc]uda failure.*uncorrectable ECC", "a CUDA call met an uncorrectable ECC error"),
    _message("cuda-error", r"Cuda failure", "another CUDA call failed"),
    # What applications print of NCCL's result; the cause stands in the lines before
    _message("unhandled-cuda-error", r"unhandled cuda error|ncclUnhandledCudaError", "a CUDA call inside NCCL failed"),
    _message("unhandled-system-error", r"unhandled system error|ncclSystemError", "a system call inside NCCL failed"),
    _message(
        "remote-error",
        r"ncclRemoteError|remote process exited or there was a network error",
        "a peer ended or the network failed",
    ),
    _message("invalid-usage", r"ncclInvalidUsage|invalid usage \(run with NCCL_DEBUG", "NCCL was used wrongly"),
    _message("internal-error", r"ncclInternalError|NCCL error.*internal error", "a check inside NCCL failed"),
)

PLUGIN_ABSENT = "network-plugin-absent"
"""No plugin library of the default name: the normal state of a host without a vendor plugin, and harmless."""

PLUGIN_NOT_FOUND = "network-plugin-not-found"
"""A plugin that the settings name was not found."""

_PLUGIN = re.compile(
    r"NET/Plugin ?:.*?(?:Could not find: (?P<names>.+?)\.? Using internal network plugin"
    r"|No plugin found \((?P<absent>[^)]+)\)"
    r"|[Pp]lugin load (?:\((?P<named>[^)]+)\) )?returned \d+ : (?P<error>.+))"
)
_LIBRARY = re.compile(r"lib\w*-net\b[\w.-]*\.so[\w.]*|lib[\w.-]+\.so[\w.]*")
_DEFAULT_LIBRARY = re.compile(r"^lib(?:n|r)ccl-net\.so(?:\.\d+)*$")
_NO_PLUGIN_ON_PURPOSE = re.compile(r"lib(?:n|r)ccl-net-none\.so")

_ADDRESS = re.compile(r"(?<![\w.])([\w.:\[\]%-]*[\w\]])<\d+>")


def classify(text: str) -> str | None:
    """Code of a message; None where its meaning is not known."""
    if "NET/Plugin" in text and (plugin := _plugin(text)):
        return plugin
    for message in MESSAGES:
        if message.pattern.search(text):
            return message.code
    return None


def remote_address(text: str) -> str | None:
    """`Connect to 10.0.0.7<4711> failed` names 10.0.0.7."""
    match = _ADDRESS.search(text)
    return match.group(1) if match else None


def _plugin(text: str) -> str | None:
    match = _PLUGIN.search(text)
    if match is None:
        return None
    libraries = _LIBRARY.findall(" ".join(part for part in match.groups() if part))
    named = [name for name in libraries if not _DEFAULT_LIBRARY.match(name) and not _NO_PLUGIN_ON_PURPOSE.match(name)]
    return PLUGIN_NOT_FOUND if named else PLUGIN_ABSENT

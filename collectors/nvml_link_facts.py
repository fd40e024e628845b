"""NVLinks of one GPU from a recording of its calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collectors.base import Block
from collectors.nvidia_smi_reading import Reading
from collectors.nvml_calls import Call, Calls
from collectors.nvml_fields import FIELD, number
from diagnose.facts import Fact, Missing, Subject, normalise_bus_id
from diagnose.facts.gpu import NvlinkErrors, NvlinkState, NvlinkSummary

_STATE = "nvmlDeviceGetNvLinkState"
_REMOTE = "nvmlDeviceGetNvLinkRemotePciInfo"
_ERRORS = "nvmlDeviceGetNvLinkErrorCounter"
_SPEED = 164
_COUNTERS = {
    "replay": "replay_count",
    "recovery": "recovery_count",
    "crc_flit": "crc_flit_count",
    "crc_data": "crc_data_count",
}
_FIELD_COUNTERS = {
    206: "malformed_packet_count",
    207: "buffer_overrun_count",
    215: "recovery_count",
    219: "effective_error_count",
    221: "symbol_error_count",
}


def link_facts(calls: Calls, subject: Subject, block: Block) -> Iterator[Fact]:
    """State and errors of every link, and their count."""
    states = [call for call in calls.named(_STATE) if call.error is None and number(call.value) is not None]
    for state in states:
        link = number(state.key[1]) if len(state.key) == 2 else None
        if link is not None:
            yield from _link(calls, link, state, subject.model_copy(update={"link": link}), block)
    if states:
        active = sum(state.value == 1 for state in states)
        yield NvlinkSummary(
            subject=subject,
            sources=(block.source(states[0].line),),
            links=len(states),
            active=active,
            inactive=len(states) - active,
        )


def remote_bus_id(info: Any) -> str | None:
    """The PCI address in an answer about a link's other end."""
    bus_id = info.get("busId") if isinstance(info, dict) else None
    return normalise_bus_id(bus_id) if isinstance(bus_id, str) else None


def _link(calls: Calls, link: int, state: Call, subject: Subject, block: Block) -> Iterator[Fact]:
    reading = Reading()
    reading.put(NvlinkState, "active", state.value == 1, state.line)
    megabytes = number(calls.value(FIELD, _SPEED, link))
    if megabytes:
        reading.put(NvlinkState, "bandwidth_bytes_per_second", megabytes * 1e6, state.line)
    reading.put(NvlinkState, "remote_bus_id", remote_bus_id(calls.value(_REMOTE, link)), state.line)
    for name, field in _COUNTERS.items():
        _count(reading, field, calls.of(_ERRORS, link, name))
    for identifier, field in _FIELD_COUNTERS.items():
        _count(reading, field, calls.of(FIELD, identifier, link))
    yield from reading.facts(subject, block)


def _count(reading: Reading, field: str, made: Any) -> None:
    for call in made:
        value: int | Missing | None = number(call.value) if call.error is None else call.reason
        reading.put(NvlinkErrors, field, value, call.line)

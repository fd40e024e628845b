"""What every fact has: a subject, at least one source, fields with units in their names, reasons for absences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field


class Missing(StrEnum):
    """Why a field has no value. The reasons mean different things and are kept apart."""

    NOT_APPLICABLE = "not-applicable"
    """`N/A`: the question makes no sense for this device or in this mode."""
    NOT_SUPPORTED = "not-supported"
    """`[Not Supported]`: the device or driver cannot answer."""
    UNKNOWN_ERROR = "unknown-error"
    """`[Unknown Error]`: the device was asked and failed to answer: itself a sign of trouble."""
    ERROR = "error"
    """`ERR!`: the sensor or the device answered with an error."""
    NO_PERMISSION = "no-permission"
    """`Insufficient Permissions`."""
    DEPRECATED = "deprecated"
    """`Requested functionality has been deprecated`."""
    LOST = "lost"
    """`GPU is lost`."""
    BLANK = "blank"
    """The tool's own 'no value' number, such as 9223372036854775794."""


class Model(BaseModel):
    """Frozen, and refuses what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


_BUS_ID = re.compile(r"^(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?$", re.IGNORECASE)


def normalise_bus_id(text: str) -> str | None:
    """`00000000:9B:00.0`, `9b:00.0` and `PCI:0000:9b:00` all become `0000:9b:00.0`; None where it is no bus id."""
    match = _BUS_ID.match(text.strip().removeprefix("PCI:"))
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function or '0'}"


class Subject(Model):
    """What a fact is about. A GPU may be known by index, UUID or bus id; one host's names are joined after reading."""

    host: str | None = Field(None, description="Host name as the input gives it")
    gpu_index: int | None = Field(None, description="Index of the GPU as nvidia-smi counts it")
    gpu_uuid: str | None = Field(None, description="UUID of the GPU, `GPU-...`")
    gpu_bus_id: str | None = Field(None, description="PCI address of the GPU, `dddd:bb:dd.f` in lower case")
    bus_id: str | None = Field(None, description="PCI address of any other device, `dddd:bb:dd.f` in lower case")
    nic: str | None = Field(None, description="Network interface or RDMA device, `eth0`, `mlx5_0`")
    port: int | None = Field(None, description="Port of the NIC or switch")
    process_id: int | None = Field(None, description="Process id")
    rank: int | None = Field(None, description="Rank in a distributed job")
    link: int | None = Field(None, description="Number of the NVLink on its GPU or switch")
    numa_node: int | None = Field(None, description="NUMA node")

    @property
    def gpu(self) -> str | None:
        """The GPU's name within its host: its index where known, else its bus id, else its UUID."""
        if self.gpu_index is not None:
            return str(self.gpu_index)
        return self.gpu_bus_id or self.gpu_uuid

    def path(self) -> str:
        """The subject as reports print it: `node01/gpu/3/link/2`."""
        parts = [self.host or UNNAMED_HOST]
        for word, value in (
            ("gpu", self.gpu),
            ("pci", self.bus_id),
            ("nic", self.nic),
            ("port", self.port),
            ("link", self.link),
            ("numa", self.numa_node),
            ("process", self.process_id),
            ("rank", self.rank),
        ):
            if value is not None:
                parts += [word, str(value)]
        return "/".join(parts)


UNNAMED_HOST = "unnamed"
"""Stands for a host that no input names."""

SUBJECT_FIELDS: Mapping[str, type] = {
    "host": str,
    "gpu": str,
    "gpu_index": int,
    "gpu_uuid": str,
    "gpu_bus_id": str,
    "bus_id": str,
    "nic": str,
    "port": int,
    "process_id": int,
    "rank": int,
    "link": int,
    "numa_node": int,
}
"""Fields of the subject that rules may use on every fact, with their types."""


class Source(Model):
    """Where a value came from, so that the reader can look at it."""

    path: str | None = Field(None, description="File as given, with `!member` for a part of an archive")
    line: int | None = Field(None, description="First line, counted from 1")
    command: str | None = Field(None, description="Command whose output it is, where known")
    api_call: str | None = Field(None, description="Library call, where the value was read live")
    time: datetime | None = Field(None, description="When it was observed, where known")

    def __str__(self) -> str:
        if self.path is not None:
            return self.path if self.line is None else f"{self.path}:{self.line}"
        return self.command or self.api_call or "?"


class Fact(Model):
    """One observation. Subclasses are the kinds; absent fields are None, with a reason where the source gave one."""

    kind: ClassVar[str]
    few_per_host: ClassVar[bool] = False
    """Whether a host has only a handful of such facts, so that rules may combine them without a join key."""
    seen_through: ClassVar[str | None] = None
    """Kind whose presence shows that this one was looked for: a log without an event still says that there was none."""

    subject: Subject = Field(default=Subject(), description="What the fact is about")
    sources: tuple[Source, ...] = Field(min_length=1, description="Where it was read")
    missing: Mapping[str, Missing] = Field(default_factory=dict, description="Why a field has no value")

    def values(self) -> dict[str, Any]:
        """The kind's own fields that have a value."""
        return {name: value for name in type(self).own_fields() if (value := getattr(self, name)) is not None}

    @classmethod
    def own_fields(cls) -> list[str]:
        """Names of the kind's own fields, without subject, sources and missing."""
        return [name for name in cls.model_fields if name not in Fact.model_fields]


def optional(description: str) -> Any:
    """A field that may be absent."""
    return Field(default=None, description=description)


def required(description: str) -> Any:
    """A field that every fact of the kind has."""
    return Field(description=description)

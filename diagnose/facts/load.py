"""Facts about what the host is busy with: processors, memory, stalls, quotas, and the network stack.

Rates and shares are differences of two readings; totals count since boot, or since the control group was made.
"""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class CpuLoad(Fact):
    """What the processors did between two readings, and what waits for them."""

    kind: ClassVar[str] = "cpu-load"
    few_per_host: ClassVar[bool] = True
    cpus_online: int | None = optional("CPUs that are online")
    cpus_offline: str | None = optional("CPUs that exist and are offline, as a list")
    interval_seconds: float | None = optional("Time between the readings")
    busy_ratio: float | None = optional("Share of time with work, 0 to 1")
    softirq_ratio: float | None = optional("Share of time in soft interrupts, 0 to 1")
    iowait_ratio: float | None = optional("Share of time idle with input or output outstanding, 0 to 1")
    steal_ratio: float | None = optional("Share of time that the hypervisor gave to others, 0 to 1")
    runnable_tasks: int | None = optional("Tasks that run or wait for a CPU: median of the readings")
    runnable_tasks_max: int | None = optional("Tasks that run or wait for a CPU: most of the readings")
    blocked_tasks_max: int | None = optional("Tasks that wait for a disk: most of the readings")
    load_1_minute: float | None = optional("Load average over a minute")
    load_15_minutes: float | None = optional("Load average over 15 minutes")


class HostMemory(Fact):
    """The host's memory."""

    kind: ClassVar[str] = "host-memory"
    few_per_host: ClassVar[bool] = True
    total_bytes: int | None = optional("Memory")
    available_bytes: int | None = optional("Memory that can be had without swapping")
    swap_total_bytes: int | None = optional("Swap space")
    swap_used_bytes: int | None = optional("Swap space in use")
    dirty_bytes: int | None = optional("Written to files and not yet on disk, being written included")
    hugepages_total_bytes: int | None = optional("Memory set aside for huge pages of the default size")
    hugepages_free_bytes: int | None = optional("Part of it that is free")
    hardware_corrupted_bytes: int | None = optional("Memory that the kernel took out of use after hardware errors")
    corrected_errors: int | None = optional("Corrected errors of the memory modules since boot")
    uncorrected_errors: int | None = optional("Uncorrected errors of the memory modules since boot")


class MemoryActivity(Fact):
    """What the memory manager did between two readings."""

    kind: ClassVar[str] = "memory-activity"
    few_per_host: ClassVar[bool] = True
    interval_seconds: float = required("Time between the readings")
    major_faults_per_second: float | None = optional("Page faults that waited for a disk")
    swap_in_pages_per_second: float | None = optional("Pages read from swap")
    swap_out_pages_per_second: float | None = optional("Pages written to swap")
    numa_hint_faults_per_second: float | None = optional("Faults that automatic NUMA balancing makes")
    numa_pages_migrated_per_second: float | None = optional("Pages that automatic NUMA balancing moved")
    compaction_stalls_per_second: float | None = optional("Allocations that waited for compaction")
    direct_reclaim_stalls_per_second: float | None = optional("Allocations that had to reclaim memory themselves")


class PressureStall(Fact):
    """Pressure stall information: how long tasks waited for a resource."""

    kind: ClassVar[str] = "pressure-stall"
    few_per_host: ClassVar[bool] = True
    resource: str = required("`cpu`, `memory` or `io`")
    control_group: str | None = optional("Control group; absent for the host as a whole")
    some_ratio: float | None = optional("Share of the last 10 seconds in which at least one task waited, 0 to 1")
    some_minute_ratio: float | None = optional("The same over the last minute")
    full_ratio: float | None = optional("Share of the last 10 seconds in which all tasks waited, 0 to 1")
    some_window_ratio: float | None = optional("Share of the time between two readings in which at least one waited")
    full_window_ratio: float | None = optional("Share of the time between two readings in which all waited")


class ControlGroup(Fact):
    """Limits of a control group (version 2), and how often they held it back. Subject: a process, if it is its own."""

    kind: ClassVar[str] = "control-group"
    few_per_host: ClassVar[bool] = True
    path: str = required("Path below the mount of the control groups")
    quota_cpus: float | None = optional("CPUs' worth of time that it may use; absent without a quota")
    cpus: str | None = optional("CPUs that it may run on")
    memory_nodes: str | None = optional("NUMA nodes that it may allocate on")
    throttled_ratio: float | None = optional("Share of periods in which it was held back, over its life, 0 to 1")
    throttled_window_ratio: float | None = optional("The same between two readings")
    throttled_seconds: float | None = optional("Time that its tasks were held back, over its life")
    memory_limit_bytes: int | None = optional("Memory that it may use; absent without a limit")
    memory_used_bytes: int | None = optional("Memory in use")
    memory_high_events: int | None = optional("Times that it was slowed down for passing memory.high")
    memory_max_events: int | None = optional("Times that it reached its limit")
    out_of_memory_kills: int | None = optional("Processes killed for lack of memory")
    tasks: int | None = optional("Tasks in it")
    tasks_limit: int | None = optional("Tasks that it may have; absent without a limit")


class TcpStatistics(Fact):
    """The host's TCP: counters since boot, and rates between two readings."""

    kind: ClassVar[str] = "tcp-statistics"
    few_per_host: ClassVar[bool] = True
    sent_segments: int | None = optional("Segments sent")
    retransmitted_segments: int | None = optional("Segments sent again")
    retransmitted_ratio: float | None = optional("Segments sent again over segments sent, since boot, 0 to 1")
    retransmitted_window_ratio: float | None = optional("The same between two readings; absent where nothing was sent")
    retransmission_timeouts: int | None = optional("Times that an acknowledgement did not come at all")
    checksum_errors: int | None = optional("Segments received with a wrong check sum")
    listen_overflows: int | None = optional("Connections refused because a program did not accept in time")
    receive_queue_drops: int | None = optional("Segments dropped because a socket's queue was full")
    sockets_in_use: int | None = optional("TCP sockets in use")
    memory_pages: int | None = optional("Pages that TCP buffers hold")


class PacketBacklog(Fact):
    """How the kernel kept up with received packets, all CPUs taken together."""

    kind: ClassVar[str] = "packet-backlog"
    few_per_host: ClassVar[bool] = True
    processed_packets: int | None = optional("Packets since boot")
    dropped_packets: int | None = optional("Packets dropped because a CPU's backlog was full, since boot")
    squeezed: int | None = optional("Times that a CPU ran out of budget with packets left, since boot")
    dropped_per_second: float | None = optional("Packets dropped between two readings")
    squeezed_per_second: float | None = optional("Budget shortages between two readings")
    busiest_cpu_ratio: float | None = optional("Share of the packets between two readings that one CPU handled, 0 to 1")

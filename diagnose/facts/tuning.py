"""Facts about the host's settings: processor clocks and idle states, memory policy, limits, services, interrupts."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class CpuFrequency(Fact):
    """Frequency scaling of the processors, all online ones taken together."""

    kind: ClassVar[str] = "cpu-frequency"
    few_per_host: ClassVar[bool] = True
    governor: str | None = optional("Governor of most CPUs, e.g. `performance`, `schedutil`, `powersave`")
    cpus: int | None = optional("CPUs with a governor")
    cpus_not_performance: int | None = optional("CPUs whose governor is not `performance`")
    driver: str | None = optional("Driver, e.g. `intel_pstate`, `amd-pstate-epp`, `acpi-cpufreq`")
    energy_preference: str | None = optional("Energy performance preference of most CPUs, e.g. `balance_performance`")
    limit_mhz: float | None = optional("Lowest limit that is set on any CPU, MHz")
    max_mhz: float | None = optional("Highest clock of the hardware, MHz")
    boost_enabled: bool | None = optional("Whether clocks above the base clock are allowed")


class CpuIdleState(Fact):
    """One idle state, all CPUs taken together."""

    kind: ClassVar[str] = "cpu-idle-state"
    few_per_host: ClassVar[bool] = True
    name: str = required("Name, e.g. `C1`, `C6`, `POLL`")
    exit_latency_seconds: float | None = optional("Time to wake up from it")
    disabled_cpus: int | None = optional("CPUs on which it is switched off")
    cpus: int = required("CPUs that have it")
    time_ratio: float | None = optional("Share of time that CPUs spent in it between two readings, 0 to 1")


class MemoryPolicy(Fact):
    """How the kernel places and reclaims memory."""

    kind: ClassVar[str] = "memory-policy"
    few_per_host: ClassVar[bool] = True
    numa_balancing: bool | None = optional("Whether pages are moved between nodes automatically")
    numa_balancing_mode: int | None = optional("Value as set: 1 moves pages, 2 is for memory tiers")
    transparent_hugepages: str | None = optional("`always`, `madvise` or `never`")
    transparent_hugepage_defrag: str | None = optional(
        "When an allocation waits for compaction: `always`, `defer`, ..."
    )
    swappiness: int | None = optional("Inclination to swap, 0 to 200")
    zone_reclaim_mode: int | None = optional("Whether a node reclaims its own memory before it takes another's")


class ClockSource(Fact):
    """What the kernel tells the time by."""

    kind: ClassVar[str] = "clock-source"
    few_per_host: ClassVar[bool] = True
    name: str = required("`tsc`, `kvm-clock`, `arch_sys_counter`, `hpet`, ...")


class ResourceLimit(Fact):
    """A limit on what processes may use. Subject: the process, where it is one's own."""

    kind: ClassVar[str] = "resource-limit"
    few_per_host: ClassVar[bool] = True
    resource: str = required("`locked-memory` (bytes), `open-files` or `processes`")
    of: str = required("Whose limit: `process`, `collector`, or the service that passes it on, e.g. `slurmd`")
    unlimited: bool = required("Whether there is no limit")
    soft: int | None = optional("Limit in force, bytes or a number; absent where unlimited")
    hard: int | None = optional("Limit up to which a process may lift its own")


class ServiceState(Fact):
    """A service as systemd has it."""

    kind: ClassVar[str] = "service-state"
    few_per_host: ClassVar[bool] = True
    name: str = required("Unit without its ending, e.g. `nvidia-fabricmanager`")
    installed: bool = required("Whether the unit exists")
    active: bool | None = optional("Whether it runs")
    state: str | None = optional("`active`, `inactive`, `failed`, `activating`, ...")
    enabled: bool | None = optional("Whether it starts at boot")
    restarts: int | None = optional("Times that systemd started it again")


class InterruptPlacement(Fact):
    """Where a device's interrupts are served. Subject: the device by bus id, and the NIC where it is one."""

    kind: ClassVar[str] = "interrupt-placement"
    vectors: int = required("Interrupts of the device")
    cpus: str | None = optional("CPUs that may serve them, as a list")
    cpu_count: int | None = optional("CPUs that may serve them")
    local_cpus: str | None = optional("CPUs near the device")
    vectors_remote: int | None = optional("Interrupts that no CPU near the device may serve")
    interrupts_per_second: float | None = optional("Interrupts served between two readings")
    remote_ratio: float | None = optional("Share of them served by CPUs that are not near the device, 0 to 1")
    busiest_cpu: int | None = optional("CPU that served most of them")
    busiest_cpu_ratio: float | None = optional("Its share, 0 to 1")


class SchedulerContext(Fact):
    """The batch system or container that the host, or the reading itself, is part of."""

    kind: ClassVar[str] = "scheduler-context"
    few_per_host: ClassVar[bool] = True
    system: str = required("`slurm`, `kubernetes`, `docker`, `podman`, `lxc`, ...")
    job: str | None = optional("Job or pod")
    detail: str | None = optional("Further words, such as the partition")

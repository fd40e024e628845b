"""Facts about one GPU. Subject: the GPU."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class GpuIdentity(Fact):
    """Which GPU it is."""

    kind: ClassVar[str] = "gpu-identity"
    product_name: str | None = optional("Product name, e.g. `NVIDIA H100 80GB HBM3`")
    architecture: str | None = optional("Architecture as the driver names it, e.g. `Hopper`")
    pci_device_id: str | None = optional("PCI vendor and device id, e.g. `0x233010DE`")
    vbios_version: str | None = optional("Version of the GPU's firmware")
    persistence_mode: bool | None = optional("Whether the driver keeps the GPU initialised without clients")
    display_active: bool | None = optional("Whether a display is initialised on the GPU")
    compute_mode: str | None = optional("`Default`, `Exclusive_Process` or `Prohibited`")
    virtualization_mode: str | None = optional("`None`, `Pass-Through`, `VGPU`, `Host VGPU`, ...")
    gsp_firmware_version: str | None = optional("Version of the GPU System Processor's firmware, absent when it is off")


class GpuUnreachable(Fact):
    """A GPU that the host has and that does not answer."""

    kind: ClassVar[str] = "gpu-unreachable"
    message: str = required("What was printed in place of the GPU's values")
    reason: str = required(
        "`handle-error`, `lost`, `pci-no-response` (config space reads ff), `init-failed` or `hang` (a call to it does "
        "not return)"
    )


class GpuPcieLink(Fact):
    """The GPU's own PCIe link, as the driver reports it."""

    kind: ClassVar[str] = "gpu-pcie-link"
    generation_current: int | None = optional("PCIe generation now; idle links go down to 1 to save power")
    generation_max: int | None = optional("Highest generation that GPU and slot support together")
    generation_device_max: int | None = optional("Highest generation that the GPU supports")
    generation_host_max: int | None = optional("Highest generation that the slot supports")
    generation_device_current: int | None = optional("Generation that the GPU side reports now")
    width_current: int | None = optional("Lanes now")
    width_max: int | None = optional("Lanes that GPU and slot support together")
    replay_count: int | None = optional("Packets sent again since the driver was loaded")
    replay_rollover_count: int | None = optional("Roll-overs of the replay number")
    transmit_bytes_per_second: float | None = optional("Traffic from the GPU at the time of reading")
    receive_bytes_per_second: float | None = optional("Traffic to the GPU at the time of reading")


class GpuLoad(Fact):
    """What the GPU was doing when it was read."""

    kind: ClassVar[str] = "gpu-load"
    performance_state: int | None = optional("0 (P0, fastest) to 15")
    gpu_utilization_ratio: float | None = optional("Share of time in which a kernel ran, 0 to 1")
    memory_utilization_ratio: float | None = optional("Share of time in which memory was read or written, 0 to 1")
    encoder_utilization_ratio: float | None = optional("Use of the encoder, 0 to 1")
    decoder_utilization_ratio: float | None = optional("Use of the decoder, 0 to 1")
    process_count: int | None = optional("Processes listed on the GPU; absent where the tool does not list them")


class GpuActivity(Fact):
    """How busy the GPU's parts were, by the profiling counters. Finer than gpu-load."""

    kind: ClassVar[str] = "gpu-activity"
    graphics_engine_ratio: float | None = optional("Share of time in which any graphics or compute engine was active")
    sm_ratio: float | None = optional("Share of cycles in which an SM had at least one warp, averaged over SMs")
    sm_occupancy_ratio: float | None = optional("Resident warps over those possible")
    tensor_ratio: float | None = optional("Share of cycles in which tensor cores were active")
    dram_ratio: float | None = optional("Share of cycles in which the memory interface was active")


class GpuClocks(Fact):
    """Clock rates now and at most."""

    kind: ClassVar[str] = "gpu-clocks"
    graphics_mhz: float | None = optional("Graphics clock now, MHz")
    sm_mhz: float | None = optional("SM clock now, MHz")
    memory_mhz: float | None = optional("Memory clock now, MHz")
    sm_max_mhz: float | None = optional("Highest SM clock, MHz")
    memory_max_mhz: float | None = optional("Highest memory clock, MHz")
    application_graphics_mhz: float | None = optional("Application clock that was set, MHz")
    application_default_graphics_mhz: float | None = optional("Default application clock, MHz")


class GpuClockReasons(Fact):
    """Why the clocks are what they are (throttle reasons, clock event reasons), with accumulated times."""

    kind: ClassVar[str] = "gpu-clock-reasons"
    idle: bool | None = optional("No work")
    applications_clocks_setting: bool | None = optional("Limited by the application clocks that were set")
    sw_power_cap: bool | None = optional("At the power limit: normal at full load")
    hw_slowdown: bool | None = optional("Cut to half or less by hardware: heat, power brake or fast power trigger")
    hw_thermal_slowdown: bool | None = optional("Cut to half or less because of temperature")
    hw_power_brake: bool | None = optional("Cut to half or less because the system asserted the power brake")
    sw_thermal_slowdown: bool | None = optional("Above the maximum operating temperature")
    sync_boost: bool | None = optional("Held back by another GPU of its boost group")
    sw_power_cap_seconds: float | None = optional("Time at the power limit since the driver was loaded")
    sw_thermal_slowdown_seconds: float | None = optional("Time in software thermal slowdown")
    hw_thermal_slowdown_seconds: float | None = optional("Time in hardware thermal slowdown")
    hw_power_brake_seconds: float | None = optional("Time in power brake")
    sync_boost_seconds: float | None = optional("Time held back by the boost group")


class GpuClockLimit(Fact):
    """How much of a time that was watched something held the clocks down. A feature of series. Subject: the GPU."""

    kind: ClassVar[str] = "gpu-clock-limit"
    reason: str = required("`power`: software power cap or power brake; `thermal`: software or hardware slowdown")
    time_ratio: float = required("Share of the time, 0 to 1")
    observed_seconds: float = required("Length of that time")
    readings: int = required("Readings in it")
    sm_held_mhz: float | None = optional("Clock of the multiprocessors while held down: median")
    sm_free_mhz: float | None = optional("The same otherwise")


class GpuPower(Fact):
    """Power drawn and allowed."""

    kind: ClassVar[str] = "gpu-power"
    draw_watts: float | None = optional("Power drawn (average where the tool gives both)")
    instant_draw_watts: float | None = optional("Power drawn at the instant of reading")
    limit_watts: float | None = optional("Limit in force (enforced or current)")
    default_limit_watts: float | None = optional("Limit as shipped")
    min_limit_watts: float | None = optional("Lowest limit that can be set")
    max_limit_watts: float | None = optional("Highest limit that can be set")


class GpuTemperature(Fact):
    """Temperatures and their thresholds."""

    kind: ClassVar[str] = "gpu-temperature"
    gpu_celsius: float | None = optional("Temperature of the GPU")
    memory_celsius: float | None = optional("Temperature of the memory")
    margin_celsius: float | None = optional("Degrees left before slowdown (T.Limit); 0 or less means slowing down")
    slowdown_celsius: float | None = optional("Temperature at which hardware slows down")
    shutdown_celsius: float | None = optional("Temperature at which the GPU shuts down")
    max_operating_celsius: float | None = optional("Highest operating temperature of the GPU")
    memory_max_operating_celsius: float | None = optional("Highest operating temperature of the memory")
    target_celsius: float | None = optional("Temperature that the fan control aims at")


class GpuFan(Fact):
    """The GPU's own fan."""

    kind: ClassVar[str] = "gpu-fan"
    speed_ratio: float | None = optional("Share of full speed that was asked for, 0 to 1 and above")


class GpuEcc(Fact):
    """ECC mode and error counts: volatile since the driver was loaded, aggregate over the GPU's life."""

    kind: ClassVar[str] = "gpu-ecc"
    enabled: bool | None = optional("Whether ECC is on")
    pending_enabled: bool | None = optional("Whether ECC is on after the next reset")
    volatile_corrected: int | None = optional("Corrected errors since the driver was loaded, all memories")
    volatile_uncorrected: int | None = optional("Uncorrected errors since the driver was loaded, all memories")
    volatile_dram_corrected: int | None = optional("Corrected errors in device memory since the driver was loaded")
    volatile_dram_uncorrected: int | None = optional("Uncorrected errors in device memory since the driver was loaded")
    volatile_sram_corrected: int | None = optional("Corrected errors in on-chip memory since the driver was loaded")
    volatile_sram_uncorrected: int | None = optional("Uncorrected errors in on-chip memory since the driver was loaded")
    aggregate_corrected: int | None = optional("Corrected errors in the GPU's life, all memories")
    aggregate_uncorrected: int | None = optional("Uncorrected errors in the GPU's life, all memories")
    aggregate_dram_corrected: int | None = optional("Corrected errors in device memory in the GPU's life")
    aggregate_dram_uncorrected: int | None = optional("Uncorrected errors in device memory in the GPU's life")
    aggregate_sram_corrected: int | None = optional("Corrected errors in on-chip memory in the GPU's life")
    aggregate_sram_uncorrected: int | None = optional("Uncorrected errors in on-chip memory in the GPU's life")
    sram_threshold_exceeded: bool | None = optional("The GPU's own limit for on-chip errors was passed")
    channel_repair_pending: bool | None = optional("A memory channel repair waits for a reset")
    unrepairable_memory: bool | None = optional("Memory that cannot be repaired")


class GpuRemappedRows(Fact):
    """Row remapping (Ampere and newer)."""

    kind: ClassVar[str] = "gpu-remapped-rows"
    correctable: int | None = optional("Rows remapped after corrected errors")
    uncorrectable: int | None = optional("Rows remapped after uncorrected errors")
    pending: bool | None = optional("A remapping waits for a reset")
    failure_occurred: bool | None = optional("A remapping has failed: spare rows used up")
    banks_none: int | None = optional("Banks without spare rows left")
    banks_low: int | None = optional("Banks with few spare rows left")


class GpuRetiredPages(Fact):
    """Page retirement (before Ampere)."""

    kind: ClassVar[str] = "gpu-retired-pages"
    single_bit: int | None = optional("Pages retired after repeated single-bit errors")
    double_bit: int | None = optional("Pages retired after a double-bit error")
    pending: bool | None = optional("A page waits for a reset to be retired")


class GpuRecovery(Fact):
    """What the driver itself asks for."""

    kind: ClassVar[str] = "gpu-recovery"
    action: str | None = optional(
        "Recovery action in lower case: `none`, `reset`, `reboot`, `drain p2p`, `drain and reset`"
    )
    reset_required: bool | None = optional("The driver says that a reset is required")
    drain_and_reset_recommended: bool | None = optional("The driver recommends to drain and reset")


class GpuMemory(Fact):
    """Device memory and BAR1."""

    kind: ClassVar[str] = "gpu-memory"
    total_bytes: int | None = optional("Device memory")
    used_bytes: int | None = optional("Device memory in use")
    reserved_bytes: int | None = optional("Device memory that driver and firmware keep")
    bar1_total_bytes: int | None = optional("Size of the BAR1 window")
    bar1_used_bytes: int | None = optional("Part of the BAR1 window in use")


class GpuMig(Fact):
    """Multi-instance mode."""

    kind: ClassVar[str] = "gpu-mig"
    enabled: bool | None = optional("Whether MIG is on")
    pending_enabled: bool | None = optional("Whether MIG is on after the next reset")
    instance_count: int | None = optional("MIG devices listed")


class GpuProcess(Fact):
    """One process on one GPU. Subject: GPU and process."""

    kind: ClassVar[str] = "gpu-process"
    name: str | None = optional("Process name as the tool prints it")
    type: str | None = optional("`C` compute, `G` graphics, `C+G`, `M+C` MPS")
    used_memory_bytes: int | None = optional("Device memory that it holds")


class GpuFabric(Fact):
    """Registration with the NVSwitch fabric."""

    kind: ClassVar[str] = "gpu-fabric"
    state: str | None = optional("`Completed`, `In Progress`, `Not Started`, `N/A`")
    status: str | None = optional("`Success` or an error")
    clique_id: int | None = optional("Clique in a multi-node fabric")
    health_degraded: bool | None = optional("Whether the fabric reports degraded bandwidth or health for this GPU")


class GpuInforom(Fact):
    """The GPU's stored configuration."""

    kind: ClassVar[str] = "gpu-inforom"
    valid: bool | None = optional("False when the tool warns that the infoROM is corrupted")
    image_version: str | None = optional("Version of the infoROM image")


class NvlinkState(Fact):
    """One NVLink of one GPU. Subject: GPU and link."""

    kind: ClassVar[str] = "nvlink-state"
    active: bool | None = optional("Whether the link is up")
    bandwidth_bytes_per_second: float | None = optional("Rate that the tool prints, per direction, raw")
    remote_bus_id: str | None = optional("PCI address of the device at the other end")


class NvlinkErrors(Fact):
    """Error counters of one NVLink. Subject: GPU and link."""

    kind: ClassVar[str] = "nvlink-errors"
    replay_count: int | None = optional("Packets sent again")
    recovery_count: int | None = optional("Link recoveries")
    crc_flit_count: int | None = optional("CRC errors in flits")
    crc_data_count: int | None = optional("CRC errors in data")
    malformed_packet_count: int | None = optional("Malformed packets (NVLink 5)")
    buffer_overrun_count: int | None = optional("Buffer overruns (NVLink 5)")
    symbol_error_count: int | None = optional("Symbol errors (NVLink 5)")
    effective_error_count: int | None = optional("Errors left after correction (NVLink 5)")
    link_down_count: int | None = optional("Times that the link went down (NVLink 5)")


class NvlinkSummary(Fact):
    """Links of one GPU, counted. A feature of its nvlink-state facts."""

    kind: ClassVar[str] = "nvlink-summary"
    links: int = required("Links listed")
    active: int = required("Links that are up")
    inactive: int = required("Links that are down")

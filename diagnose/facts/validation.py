"""Facts from diagnostic programs: what was tested, and how it came out."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class DiagnosticResult(Fact):
    """Outcome of one test on one GPU, or on the host where the tool does not tell GPUs apart."""

    kind: ClassVar[str] = "diagnostic-result"
    tool: str = required("`dcgmi-diag`, `dcgmi-health`, `dcgm-log`, `gpu-burn`")
    test: str = required("Test as the tool names it, in lower case")
    outcome: str = required("`pass`, `fail`, `warn`, `skip`, or `error` where the test itself could not be carried out")
    code: str | None = optional("Our name of the message; the list stands in collectors/dcgm_messages.py")
    message: str | None = optional("What the tool says about it")
    value: float | None = optional(
        "Number that the message turns on, in the unit of the message: seconds, GB/s, Xid, ..."
    )
    limit: float | None = optional("Limit that the message names")


class DiagnosticRun(Fact):
    """One run of a diagnostic program, summed up."""

    kind: ClassVar[str] = "diagnostic-run"
    few_per_host: ClassVar[bool] = True
    tool: str = required("As in diagnostic-result")
    version: str | None = optional("Version of the tool")
    tests: int = required("Tests listed")
    passed: int = required("Tests that passed on everything they ran on")
    failed: int = required("Tests that failed somewhere")
    skipped: int = required("Tests that were skipped")


class ComputeRate(Fact):
    """Arithmetic rate of one GPU in a stress test. Subject: the GPU."""

    kind: ClassVar[str] = "compute-rate"
    tool: str = required("`gpu-burn`")
    flops_per_second: float = required("Last rate printed")
    to_median_ratio: float | None = optional("Over the median of the GPUs of the run")
    errors: int | None = optional("Wrong results counted")


class TelemetryConfiguration(Fact):
    """Which groups of fields an exporter is set up to collect."""

    kind: ClassVar[str] = "telemetry-configuration"
    few_per_host: ClassVar[bool] = True
    exporter: str = required("`dcgm-exporter`")
    fields: int = required("Fields switched on")
    utilization: bool = required("Any field of utilisation")
    memory: bool = required("Any field of memory in use")
    memory_bandwidth: bool = required("Any field of activity of the memory interface")
    temperature: bool = required("Any field of temperature")
    power: bool = required("Any field of power or energy")
    clock_reasons: bool = required("Any field of throttle reasons or violations")
    errors: bool = required("Xid codes")
    memory_errors: bool = required("ECC, retired pages or remapped rows")
    nvlink: bool = required("Any field of NVLink")
    pcie: bool = required("Any field of PCIe")
    codec: bool = required("Encoder or decoder")

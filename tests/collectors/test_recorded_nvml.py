from __future__ import annotations

import json
from typing import Any, TypeVar

import pytest

from collectors.base import Parsed
from collectors.recorded_nvml import RecordedNvml
from diagnose.facts import Fact, Missing
from diagnose.facts.gpu import (
    GpuClockReasons,
    GpuClocks,
    GpuEcc,
    GpuFabric,
    GpuLoad,
    GpuMemory,
    GpuPcieLink,
    GpuPower,
    GpuProcess,
    GpuRecovery,
    GpuTemperature,
    GpuUnreachable,
    NvlinkErrors,
    NvlinkState,
    NvlinkSummary,
)
from diagnose.facts.host import Driver, DriverFailure, GpuInventory
from diagnose.facts.topology import GpuPath
from tests.collectors.helpers import block, damaged, opened

F = TypeVar("F", bound=Fact)


def head(index: int | None) -> str:
    return json.dumps(
        {"recording": "nvml", "schema": "diagnose.nvml/1", "index": index, "t": 1.0}, separators=(",", ":")
    )


def call(name: str, value: Any, *args: str | int, sample: int = 0) -> str:
    name = f"nvml{name}" if name.startswith(("Init", "System")) else f"nvmlDeviceGet{name}"
    begin = json.dumps({"begin": name, "args": list(args)})
    end = {"call": name, "args": list(args), "sample": sample, "t": 2.0}
    # A string that begins with an exclamation mark stands for a failure, as in scenarios.
    answer = {"error": value[1:], "code": 1} if isinstance(value, str) and value[:1] == "!" else {"value": value}
    return f"{begin}\n{json.dumps(end | answer)}"


def parse(*lines: str, index: int | None = 3) -> Parsed:
    return RecordedNvml.parse(block("\n".join([head(index), *lines]), path="nvml/gpu-3.jsonl"))


def only(parsed: Parsed, kind: type[F]) -> F:
    (fact,) = [fact for fact in parsed.facts if isinstance(fact, kind)]
    return fact


def samples(name: str, values: list[Any], *args: str) -> list[str]:
    return [call(name, value, *args, sample=number) for number, value in enumerate(values)]


def use(*shares: int) -> list[str]:
    return samples("UtilizationRates", [{"gpu": share, "memory": 0} for share in shares])


def test_the_head_opens_a_block() -> None:
    assert opened(RecordedNvml, f'{{"a":1}}\n{head(3)}\n{call("Name", "x")}') == [head(3)]


def test_facts_name_the_gpu_and_the_call() -> None:
    parsed = parse(
        call("UUID", "GPU-5a1b7c0d-1111-2222-3333-444455556666"),
        call("PciInfo", {"busId": "00000000:C3:00.0", "pciDeviceId": 0x233010DE}),
        call("MemoryInfo", {"total": 85520809984, "used": 1, "free": 3}, "v2"),
    )
    memory = only(parsed, GpuMemory)

    assert memory.subject.path() == "unnamed/gpu/3"
    assert memory.subject.gpu_bus_id == "0000:c3:00.0"
    assert memory.sources[0].path == "nvml/gpu-3.jsonl"
    assert memory.sources[0].api_call == "nvmlDeviceGetMemoryInfo"
    assert parsed.problems == []


def test_a_gpu_is_judged_where_it_was_busiest() -> None:
    parsed = parse(
        *use(0, 90, 95, 5),
        *samples("ClockInfo", [210, 1900, 1950, 300], "sm"),
        *samples("CurrentClocksEventReasons", [1, 0x40, 0x48, 1]),
        *samples("PowerUsage", [60000, 500000, 520000, 70000]),
    )

    assert only(parsed, GpuLoad).gpu_utilization_ratio == pytest.approx(0.925)
    assert only(parsed, GpuClocks).sm_mhz == 1925
    assert only(parsed, GpuPower).draw_watts == 510
    reasons = only(parsed, GpuClockReasons)
    assert (reasons.idle, reasons.hw_thermal_slowdown) == (False, True)


def test_an_idle_link_is_taken_at_its_best() -> None:
    parsed = parse(
        *use(0, 0, 0),
        *samples("CurrPcieLinkGeneration", [1, 1, 5]),
        *samples("CurrPcieLinkWidth", [8, 16, 16]),
        call("MaxPcieLinkGeneration", 5),
    )
    link = only(parsed, GpuPcieLink)

    assert (link.generation_current, link.generation_max, link.width_current) == (5, 5, 16)


def test_temperatures_are_taken_at_their_worst_also_outside_of_busy_readings() -> None:
    parsed = parse(
        *use(100, 0),
        *samples("Temperature", [70, 84], "gpu"),
        *samples("MarginTemperature", [12, -2]),
    )
    temperature = only(parsed, GpuTemperature)

    assert (temperature.gpu_celsius, temperature.margin_celsius) == (84, -2)


def test_counters_count_by_their_last_value() -> None:
    assert only(parse(*use(9, 9), *samples("PcieReplayCounter", [4, 7])), GpuPcieLink).replay_count == 7


def test_of_several_sources_of_a_field_the_first_with_a_value_counts() -> None:
    both = parse(call("FieldValues", 640000, 185), call("PowerUsage", 600000))
    one = parse(call("FieldValues", "!NOT_SUPPORTED", 185), call("PowerUsage", 600000))

    assert only(both, GpuPower).draw_watts == 640
    assert only(one, GpuPower).draw_watts == 600
    assert only(one, GpuPower).missing == {}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("NOT_SUPPORTED", Missing.NOT_SUPPORTED),
        ("FUNCTION_NOT_FOUND", Missing.NOT_SUPPORTED),
        ("NO_PERMISSION", Missing.NO_PERMISSION),
        ("UNKNOWN", Missing.UNKNOWN_ERROR),
        ("IRQ_ISSUE", Missing.ERROR),
        ("NO_DATA", Missing.BLANK),
    ],
)
def test_a_call_that_fails_gives_a_reason_and_no_value(error: str, reason: Missing) -> None:
    parsed = parse(call("EccMode", f"!{error}"), call("TotalEccErrors", 0, "volatile", "total", "corrected"))
    ecc = only(parsed, GpuEcc)

    assert ecc.enabled is None
    assert ecc.missing["enabled"] is reason
    assert ecc.volatile_corrected == 0


def test_a_gpu_that_wants_a_reset_says_so() -> None:
    assert only(parse(call("MemoryInfo", "!RESET_REQUIRED")), GpuRecovery).reset_required is True


def test_a_call_that_hangs_makes_the_gpu_unreachable_by_its_name() -> None:
    parsed = parse(call("Name", "NVIDIA H100"), '{"hang":"nvmlDeviceGetTemperature","args":["gpu"],"seconds":5.0}')
    fact = only(parsed, GpuUnreachable)

    assert (fact.reason, fact.message) == ("hang", "nvmlDeviceGetTemperature did not return within 5 s")
    assert fact.subject.gpu_index == 3


def test_a_call_that_was_cut_off_by_the_end_of_the_recording_is_no_hang() -> None:
    parsed = parse(call("Name", "NVIDIA H100"), '{"begin":"nvmlDeviceGetTemperature","args":["gpu"]}')

    assert [fact for fact in parsed.facts if isinstance(fact, GpuUnreachable)] == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [("GPU_IS_LOST", "lost"), ("UNKNOWN", "handle-error"), ("NO_PERMISSION", None), ("NOT_SUPPORTED", None)],
)
def test_a_handle_that_is_refused_tells_what_became_of_the_gpu(error: str, reason: str | None) -> None:
    parsed = parse(call("HandleByIndex", f"!{error}", 3))

    assert [fact.reason for fact in parsed.facts if isinstance(fact, GpuUnreachable)] == ([reason] if reason else [])


def test_a_gpu_that_is_lost_on_the_way_keeps_what_was_read_before() -> None:
    parsed = parse(call("UtilizationRates", {"gpu": 5, "memory": 1}), call("PowerUsage", "!GPU_IS_LOST"))

    assert only(parsed, GpuUnreachable).reason == "lost"
    assert only(parsed, GpuLoad).gpu_utilization_ratio == 0.05
    assert only(parsed, GpuPower).missing["draw_watts"] is Missing.LOST


def test_links_have_state_errors_and_a_sum() -> None:
    parsed = parse(
        call("NvLinkState", 1, 0),
        call("NvLinkRemotePciInfo", {"busId": "00000000:07:00.0"}, 0),
        call("FieldValues", 26562, 164, 0),
        call("NvLinkErrorCounter", 12, 0, "replay"),
        call("NvLinkErrorCounter", "!NOT_SUPPORTED", 0, "crc_data"),
        call("NvLinkState", 0, 1),
        call("NvLinkState", "!INVALID_ARGUMENT", 2),
    )
    states = [fact for fact in parsed.facts if isinstance(fact, NvlinkState)]

    assert [(fact.subject.link, fact.active) for fact in states] == [(0, True), (1, False)]
    assert states[0].remote_bus_id == "0000:07:00.0"
    assert states[0].bandwidth_bytes_per_second == pytest.approx(26.562e9)
    errors = only(parsed, NvlinkErrors)
    assert (errors.replay_count, errors.missing) == (12, {"crc_data_count": Missing.NOT_SUPPORTED})
    summary = only(parsed, NvlinkSummary)
    assert (summary.links, summary.active, summary.inactive) == (2, 1, 1)


def test_processes_are_counted_over_all_lists() -> None:
    parsed = parse(
        call("ComputeRunningProcesses_v3", "!FUNCTION_NOT_FOUND"),
        call("ComputeRunningProcesses_v2", [{"pid": 77, "usedGpuMemory": 1 << 30}]),
        call("SystemGetProcessName", "python3", 77),
        call("GraphicsRunningProcesses_v3", [{"pid": 9, "usedGpuMemory": None}]),
    )
    processes = [fact for fact in parsed.facts if isinstance(fact, GpuProcess)]

    assert only(parsed, GpuLoad).process_count == 2
    assert [(fact.subject.process_id, fact.type, fact.name, fact.used_memory_bytes) for fact in processes] == [
        (77, "C", "python3", 1 << 30),
        (9, "G", None, None),
    ]


@pytest.mark.parametrize(
    ("mask", "degraded"),
    [(0, None), (0b10, False), (0b01, True), (0b10_10_10_10, False), (0x100, False), (0x500, True)],
)
def test_the_fabric_s_health_mask_is_read_by_its_parts(mask: int, degraded: bool | None) -> None:
    value = {"state": 3, "status": 0, "cliqueId": 7, "healthMask": mask}
    fabric = only(parse(call("GpuFabricInfoV", value)), GpuFabric)

    assert (fabric.state, fabric.status, fabric.clique_id) == ("Completed", "Success", 7)
    assert fabric.health_degraded is degraded


@pytest.mark.parametrize(
    ("error", "on_bus", "code"),
    [
        ("LIB_RM_VERSION_MISMATCH", 8, "library-mismatch"),
        ("DRIVER_NOT_LOADED", 8, "not-loaded"),
        ("DRIVER_NOT_LOADED", 0, None),
        ("LIBRARY_NOT_FOUND", None, "library-missing"),
        ("LIBRARY_NOT_FOUND", 0, None),
        ("NO_PERMISSION", 0, "no-permission"),
        ("UNKNOWN", 8, "unknown-error"),
    ],
)
def test_a_driver_that_does_not_start_is_a_failure_unless_there_is_nothing_to_drive(
    error: str, on_bus: int | None, code: str | None
) -> None:
    parsed = parse(json.dumps({"on_bus": on_bus}), call("Init", f"!{error}"), index=None)

    assert [fact.code for fact in parsed.facts if isinstance(fact, DriverFailure)] == ([code] if code else [])


def system(*lines: str) -> Parsed:
    return parse(
        json.dumps({"on_bus": 3}),
        call("Init", None),
        call("SystemGetDriverVersion", "550.90.07"),
        call("SystemGetCudaDriverVersion_v2", 12040),
        call("Count", 3),
        *lines,
        index=None,
    )


def test_a_gpu_without_handle_is_missing_from_the_list() -> None:
    handles = [call("HandleByIndex", "!GPU_IS_LOST" if index == 1 else True, index) for index in range(3)]
    parsed = system(*handles)
    inventory = only(parsed, GpuInventory)

    assert (inventory.attached, inventory.listed, inventory.highest_index) == (3, 2, 2)
    assert only(parsed, Driver).cuda_version == "12.4"


def test_a_list_that_was_cut_off_is_no_inventory() -> None:
    parsed = system(call("HandleByIndex", True, 0))

    assert [fact for fact in parsed.facts if isinstance(fact, GpuInventory)] == []


def test_a_driver_without_gpus_that_the_bus_shows_is_a_failure() -> None:
    parsed = parse(json.dumps({"on_bus": 2}), call("Init", None), call("Count", 0), index=None)

    assert only(parsed, DriverFailure).code == "no-devices"


def test_links_between_two_gpus_count_where_they_end_at_each_other() -> None:
    parsed = system(
        *[call("HandleByIndex", True, index) for index in range(3)],
        *[call("PciInfo", {"busId": f"00000000:{index + 1}A:00.0"}, index) for index in range(3)],
        *[call("NvLinkRemotePciInfo", {"busId": "00000000:2A:00.0"}, 0, link) for link in range(4)],
        call("TopologyCommonAncestor", 40, 0, 2),
        call("TopologyCommonAncestor", "!NOT_SUPPORTED", 1, 2),
    )
    paths = {(fact.subject.gpu_index, fact.peer): fact.label for fact in parsed.facts if isinstance(fact, GpuPath)}

    assert paths == {(0, "1"): "NV4", (0, "2"): "NODE"}


def test_values_of_the_wrong_type_are_left_out() -> None:
    parsed = parse(
        call("MemoryInfo", [1, 2], "v2"),
        call("EccMode", {"a": 1}),
        call("PowerUsage", 10**400),
        call("Temperature", True, "gpu"),
        call("ComputeRunningProcesses_v3", [1, {"pid": "x"}]),
        call("Name", 7),
        call("NvLinkState", [1], "x"),
    )

    assert [fact for fact in parsed.facts if not isinstance(fact, GpuLoad)] == []


def test_lines_that_are_none_of_a_recording_are_told() -> None:
    parsed = parse("garbage", call("Name", "x"))

    assert parsed.problems == ["line 2: this is no line of a recording"]


def test_damage_anywhere_raises_nothing() -> None:
    gpu = "\n".join(
        [
            head(3),
            *use(3, 60),
            call("HandleByIndex", True, 3),
            call("PciInfo", {"busId": "00000000:C3:00.0", "pciDeviceId": 5}),
            call("NvLinkState", 1, 0),
            call("ComputeRunningProcesses_v3", [{"pid": 1, "usedGpuMemory": 2}]),
            '{"hang":"nvmlDeviceGetName","args":[],"seconds":5}',
        ]
    )
    whole = "\n".join(
        [
            head(None),
            call("Init", None),
            call("Count", 2),
            call("HandleByIndex", True, 0),
            call("HandleByIndex", True, 1),
            call("CpuAffinity", [3, 1 << 63], 0),
            call("TopologyCommonAncestor", 50, 0, 1),
            call("P2PStatus", 0, 0, 1, "read"),
        ]
    )

    for text in (gpu, whole):
        for piece in damaged(text):
            assert isinstance(RecordedNvml.parse(block(piece)), Parsed)

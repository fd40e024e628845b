from __future__ import annotations

from typing import TypeVar

import pytest

from collectors.nvidia_smi_query import NvidiaSmiQuery
from diagnose.facts import Fact, Missing, Subject
from diagnose.facts.gpu import (
    GpuClockReasons,
    GpuClocks,
    GpuEcc,
    GpuFabric,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuPcieLink,
    GpuPower,
    GpuProcess,
    GpuRecovery,
    GpuRemappedRows,
    GpuRetiredPages,
    GpuUnreachable,
)
from diagnose.facts.host import Driver, GpuInventory
from tests.collectors.helpers import block, damaged, opened

F = TypeVar("F", bound=Fact)
MIB = 1 << 20

UNITS = """\
timestamp, index, name, uuid, pci.bus_id, driver_version, pstate, pcie.link.gen.current, pcie.link.gen.hostmax, \
pcie.link.width.current, utilization.gpu [%], memory.total [MiB], memory.used [MiB], power.draw [W], \
enforced.power.limit [W], clocks.current.sm [MHz], clocks_event_reasons.hw_slowdown, \
clocks_event_reasons_counters.hw_power_brake_slowdown [us], ecc.errors.uncorrected.volatile.total, \
remapped_rows.pending, temperature.gpu
2025/03/04 08:15:16.123, 0, NVIDIA L40S, GPU-0f4e1c2d-1111-4222-8333-0123456789ab, 00000000:5A:00.0, 550.54.15, P0, \
4, [N/A], 16, 37 %, 46068 MiB, 100 MiB, 110.23 W, 350.00 W, 2520 MHz, Not Active, 1500000 us, 2, Yes, 54
2025/03/04 08:15:16.123, 1, NVIDIA L40S, GPU-0f4e1c2d-1111-4222-8333-0123456789ac, 00000000:5B:00.0, 550.54.15, \
[Unknown Error], 1, 4, 16, [Not Supported], 46068 MiB, 0 MiB, [Unknown Error], 350.00 W, 210 MHz, Active, 0 us, \
[N/A], No, 30
"""


def facts(text: str, kind: type[F], command: str | None = None) -> list[F]:
    return [fact for fact in NvidiaSmiQuery.parse(block(text, command=command)).facts if isinstance(fact, kind)]


def test_a_header_of_known_columns_opens_a_block() -> None:
    assert opened(NvidiaSmiQuery, UNITS) == UNITS.splitlines()[:1]
    assert opened(NvidiaSmiQuery, "index, utilization.gpu [%]\nutilization.gpu [%]\n") == [
        "index, utilization.gpu [%]",
        "utilization.gpu [%]",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "timestamp,name,value",
        "name, index, pid",
        "rank,step_time,power.limit is high",
        "utilization.gpu",
        "nvidia-smi --query-gpu=index,name,pstate,power.draw --format=csv",
        "uuid, color, weight, height, age",
    ],
)
def test_other_lines_open_none(text: str) -> None:
    assert opened(NvidiaSmiQuery, text) == []


def test_columns_fill_fields_in_their_units() -> None:
    by_kind = {fact.kind: fact for fact in NvidiaSmiQuery.parse(block(UNITS)).facts if fact.subject.gpu_index == 0}
    assert by_kind["gpu-identity"].values() == {"product_name": "NVIDIA L40S"}
    assert by_kind["gpu-load"].values() == {"performance_state": 0, "gpu_utilization_ratio": 0.37}
    assert by_kind["gpu-memory"].values() == {"total_bytes": 46068 * MIB, "used_bytes": 100 * MIB}
    assert by_kind["gpu-power"].values() == {"draw_watts": 110.23, "limit_watts": 350}
    assert by_kind["gpu-clocks"].values() == {"sm_mhz": 2520}
    assert by_kind["gpu-clock-reasons"].values() == {"hw_slowdown": False, "hw_power_brake_seconds": 1.5}
    assert by_kind["gpu-ecc"].values() == {"volatile_uncorrected": 2}
    assert by_kind["gpu-remapped-rows"].values() == {"pending": True}
    assert by_kind["gpu-temperature"].values() == {"gpu_celsius": 54}


def test_the_subject_has_every_name_that_is_printed() -> None:
    assert facts(UNITS, GpuPower)[0].subject == Subject(
        gpu_index=0, gpu_uuid="GPU-0f4e1c2d-1111-4222-8333-0123456789ab", gpu_bus_id="0000:5a:00.0"
    )
    assert facts(UNITS, GpuPower)[0].sources[0].line == 2


def test_absent_values_have_their_reasons() -> None:
    second = facts(UNITS, GpuLoad)[1]
    assert second.values() == {}
    assert second.missing == {
        "performance_state": Missing.UNKNOWN_ERROR,
        "gpu_utilization_ratio": Missing.NOT_SUPPORTED,
    }
    assert facts(UNITS, GpuPcieLink)[0].missing == {"generation_host_max": Missing.NOT_APPLICABLE}
    assert [fact.subject.gpu_index for fact in facts(UNITS, GpuEcc)] == [0]


def test_driver_and_inventory() -> None:
    assert [fact.values() for fact in facts(UNITS, Driver)] == [{"version": "550.54.15", "major": 550}]
    assert [fact.values() for fact in facts(UNITS, GpuInventory)] == [
        {"listed": 2, "highest_index": 1, "tool": "nvidia-smi"}
    ]


def test_one_row_alone_is_no_inventory_unless_the_count_is_there() -> None:
    assert facts("index, pstate\n3, P0\n", GpuInventory) == []
    (inventory,) = facts("count, index, pstate\n8, 3, P0\n", GpuInventory)
    assert (inventory.attached, inventory.listed) == (8, 1)


def test_numbers_without_units_are_read_by_their_header() -> None:
    text = "index, memory.used [MiB], utilization.gpu [%], power.draw [W]\n0, 512, 50, 99.5\n"
    assert facts(text, GpuMemory)[0].used_bytes == 512 * MIB
    assert facts(text, GpuLoad)[0].gpu_utilization_ratio == 0.5
    assert facts(text, GpuPower)[0].draw_watts == 99.5


def test_rows_of_a_loop_give_medians_and_last_counts() -> None:
    text = (
        "index, power.draw [W], clocks.sm [MHz], ecc.errors.uncorrected.volatile.total,"
        " clocks_throttle_reasons.hw_slowdown\n"
        "0, 100 W, 1000 MHz, 0, Active\n0, 300 W, 1400 MHz, 1, Not Active\n0, 110 W, 1200 MHz, 2, Not Active\n"
    )
    assert facts(text, GpuPower)[0].draw_watts == 110
    assert facts(text, GpuClocks)[0].sm_mhz == 1200
    assert facts(text, GpuEcc)[0].volatile_uncorrected == 2
    assert facts(text, GpuClockReasons)[0].hw_slowdown is False


def test_the_mask_of_reasons_is_taken_apart() -> None:
    (reasons,) = facts("index, clocks_throttle_reasons.active\n0, 0x0000000000000088\n", GpuClockReasons)
    assert (reasons.hw_slowdown, reasons.hw_power_brake, reasons.hw_thermal_slowdown, reasons.idle) == (
        True,
        True,
        False,
        False,
    )


def test_health_of_the_fabric() -> None:
    text = "index, fabric.state, fabric.cliqueId, fabric.health.bandwidth\n0, Completed, 2, Degraded\n"
    assert facts(text, GpuFabric)[0].values() == {"state": "Completed", "clique_id": 2, "health_degraded": True}


def test_lost_gpus_and_those_that_require_a_reset() -> None:
    text = "index, pci.bus_id, pstate\n0, 00000000:01:00.0, [GPU is lost]\n1, 00000000:02:00.0, [GPU requires reset]\n"
    (lost,) = facts(text, GpuUnreachable)
    assert (lost.subject.gpu_index, lost.subject.gpu_bus_id, lost.reason) == (0, "0000:01:00.0", "lost")
    (recovery,) = facts(text, GpuRecovery)
    assert (recovery.subject.gpu_index, recovery.reset_required) == (1, True)


def test_the_host_column_names_the_host() -> None:
    assert facts("hostname, index, pstate\nnode07, 0, P0\n", GpuLoad)[0].subject.host == "node07"


def test_processes() -> None:
    text = (
        "gpu_name, gpu_bus_id, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        "NVIDIA L4, 00000000:01:00.0, GPU-0f4e1c2d-1111-4222-8333-0123456789ab, 77, /bin/serve, 900 MiB\n"
        "NVIDIA L4, 00000000:01:00.0, GPU-0f4e1c2d-1111-4222-8333-0123456789ab, 78, /bin/serve, [N/A]\n"
    )
    first, second = facts(text, GpuProcess)
    assert (first.subject.process_id, first.subject.gpu_bus_id) == (77, "0000:01:00.0")
    assert first.values() == {"name": "/bin/serve", "type": "C", "used_memory_bytes": 900 * MIB}
    assert second.missing == {"used_memory_bytes": Missing.NOT_APPLICABLE}
    assert facts(text, GpuIdentity) == []


def test_an_empty_list_of_processes_is_no_problem() -> None:
    parsed = NvidiaSmiQuery.parse(block("gpu_uuid, pid, used_gpu_memory [MiB]\n"))
    assert (parsed.facts, parsed.problems) == ([], [])


def test_remapped_rows() -> None:
    text = (
        "gpu_bus_id, remapped_rows.correctable, remapped_rows.uncorrectable, remapped_rows.pending,"
        " remapped_rows.failure\n00000000:01:00.0, 1, 2, 1, No\n"
    )
    (rows,) = facts(text, GpuRemappedRows)
    assert rows.values() == {"correctable": 1, "uncorrectable": 2, "pending": True, "failure_occurred": False}


def test_retired_pages_are_counted_by_cause() -> None:
    text = (
        "gpu_bus_id, retired_pages.address, retired_pages.cause\n"
        "00000000:01:00.0, 0x0000000000012345, Single Bit ECC\n"
        "00000000:01:00.0, 0x0000000000012346, Double Bit ECC\n"
        "00000000:01:00.0, 0x0000000000012347, Double Bit ECC\n"
        "00000000:02:00.0, [N/A], Single Bit ECC\n"
    )
    (pages,) = facts(text, GpuRetiredPages)
    assert (pages.subject.gpu_bus_id, pages.values()) == ("0000:01:00.0", {"single_bit": 1, "double_bit": 2})


def test_a_command_names_the_columns_that_the_header_leaves_away() -> None:
    command = "nvidia-smi --query-gpu=index,temperature.gpu,utilization.memory --format=csv,noheader,nounits"
    (load,) = facts("0, 54, 20\n", GpuLoad, command)
    assert (load.subject.gpu_index, load.memory_utilization_ratio) == (0, 0.2)


@pytest.mark.parametrize(
    ("row", "kind", "values"),
    [
        ("3, P8, 0 %, 0 MiB, 22.69 W", GpuLoad, {"performance_state": 8, "gpu_utilization_ratio": 0}),
        ("3, P8, 0 %, 0 MiB, 22.69 W", GpuMemory, {"used_bytes": 0}),
        ("3, P8, 0 %, 0 MiB, 22.69 W", GpuPower, {"draw_watts": 22.69}),
        ("3, 570.86.15, NVIDIA L40S, 46068 MiB", GpuMemory, {"total_bytes": 46068 * MIB}),
        ("3, 570.86.15, NVIDIA L40S, 46068 MiB", GpuIdentity, {"product_name": "NVIDIA L40S"}),
        ("3, 10 MiB, 46068 MiB", GpuMemory, {"used_bytes": 10 * MIB, "total_bytes": 46068 * MIB}),
        ("3, 46068 MiB, 10 MiB", GpuMemory, {"total_bytes": 46068 * MIB}),
        ("3, 50 %, 20 %", GpuLoad, {"gpu_utilization_ratio": 0.5, "memory_utilization_ratio": 0.2}),
        ("3, 100 W, 300 W", GpuPower, {"draw_watts": 100, "limit_watts": 300}),
    ],
)
def test_rows_without_header_are_read_by_their_values(row: str, kind: type[Fact], values: dict[str, object]) -> None:
    assert NvidiaSmiQuery.resembles([row]) >= 0.5
    (fact,) = facts(row, kind)
    assert fact.subject.gpu_index == 3
    assert fact.values() == values


@pytest.mark.parametrize(
    "row",
    ["0, 54, 20", "1, 2, 3 %, 4 %, 5 %", "NVIDIA drivers failed, please check", "a, b", "P0, 0 %, 10 W", "10 W, 20 W"],
)
def test_values_that_could_mean_anything_are_left_alone(row: str) -> None:
    assert NvidiaSmiQuery.resembles([row]) < 0.5


def test_an_error_line_between_the_rows_does_not_matter() -> None:
    text = "Unable to determine the device handle for GPU1: 0000:02:00.0: Unknown Error\n0, P0, 9 %\n2, P0, 8 %\n"
    assert NvidiaSmiQuery.resembles(text.splitlines()) >= 0.5
    parsed = NvidiaSmiQuery.parse(block(text))
    assert parsed.problems == []
    assert [fact.highest_index for fact in facts(text, GpuInventory)] == [2]


def test_rows_that_do_not_name_their_gpus_are_not_mixed() -> None:
    text = "power.draw [W], utilization.gpu [%]\n67.97 W, 0 %\n87.12 W, 100 %\n"
    parsed = NvidiaSmiQuery.parse(block(text))
    assert parsed.facts == []
    assert parsed.problems == ["line 2: the rows do not say which GPUs they are of"]
    (power,) = facts("\n".join(text.splitlines()[:2]), GpuPower)
    assert (power.draw_watts, power.subject.gpu) == (67.97, None)


def test_a_row_that_was_cut_is_told() -> None:
    parsed = NvidiaSmiQuery.parse(block("index, pstate, power.draw [W]\n0, P0, 10 W\n1, P0\n"))
    assert parsed.problems == ["line 3: 2 values for 3 columns"]


def test_damaged_values_never_raise() -> None:
    for text in damaged(UNITS):
        NvidiaSmiQuery.parse(block(text))
        NvidiaSmiQuery.resembles(text.splitlines())
    for text in damaged("0, P8, 0 %, 0 MiB, 22.69 W\n1, P8, 5 %, 1 MiB, 29.69 W\n"):
        NvidiaSmiQuery.parse(block(text))
        NvidiaSmiQuery.resembles(text.splitlines())

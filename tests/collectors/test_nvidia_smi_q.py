from __future__ import annotations

from typing import TypeVar

import pytest

from collectors.base import Block, Line
from collectors.nvidia_smi_q import NvidiaSmiQ
from diagnose.facts import Fact, Missing, Subject
from diagnose.facts.gpu import (
    GpuClockReasons,
    GpuClocks,
    GpuEcc,
    GpuFabric,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuMig,
    GpuPcieLink,
    GpuPower,
    GpuProcess,
    GpuRecovery,
    GpuRemappedRows,
    GpuRetiredPages,
    GpuTemperature,
    GpuUnreachable,
)
from diagnose.facts.host import Driver, GpuInventory
from tests.collectors.helpers import block, damaged, opened
from tests.collectors.nvidia_smi_samples import OLD_TEXT, TEXT

F = TypeVar("F", bound=Fact)
MIB = 1 << 20


def facts(text: str, kind: type[F]) -> list[F]:
    return [fact for fact in NvidiaSmiQ.parse(block(text)).facts if isinstance(fact, kind)]


def only(text: str, kind: type[F]) -> F:
    (fact,) = facts(text, kind)
    return fact


def test_the_header_opens_a_block_and_nothing_else_does() -> None:
    assert opened(NvidiaSmiQ, TEXT) == ["==============NVSMI LOG=============="]


def test_a_gpu_is_named_by_bus_id_and_uuid_and_minor_number_is_not_its_index() -> None:
    first, second = facts(TEXT, GpuIdentity)
    assert first.subject == Subject(gpu_bus_id="0000:1a:00.0", gpu_uuid="GPU-0f4e1c2d-1111-4222-8333-0123456789ab")
    assert second.subject.gpu_bus_id == "0000:1b:00.0"
    assert second.subject.gpu_index is None


def test_a_uuid_masked_with_zeros_names_nothing() -> None:
    text = "GPU 00000000:1A:00.0\n    Product Name : X\n    GPU UUID : GPU-00000000-0000-0000-0000-000000000000\n"
    assert only(text, GpuIdentity).subject == Subject(gpu_bus_id="0000:1a:00.0")


def test_sources_name_file_line_and_command() -> None:
    parsed = NvidiaSmiQ.parse(block(TEXT, path="node/q.txt", command="nvidia-smi -q", host="node01"))
    memory = next(fact for fact in parsed.facts if isinstance(fact, GpuMemory))
    (source,) = memory.sources
    assert (source.path, source.command) == ("node/q.txt", "nvidia-smi -q")
    assert TEXT.splitlines()[(source.line or 0) - 1].split() == ["Total", ":", "81559", "MiB"]
    assert memory.subject.host == "node01"


def test_head_gives_driver_and_inventory() -> None:
    assert only(TEXT, Driver).values() == {"version": "580.65.06", "major": 580, "cuda_version": "13.0"}
    assert only(TEXT, GpuInventory).values() == {"attached": 2, "listed": 2, "tool": "nvidia-smi"}


def test_a_command_for_some_gpus_gives_no_inventory() -> None:
    parsed = NvidiaSmiQ.parse(block(TEXT, command="nvidia-smi -q -i 0"))
    assert not [fact for fact in parsed.facts if isinstance(fact, GpuInventory)]


def test_version_lines_of_610_are_read_past_their_remarks() -> None:
    text = (
        "Driver Version : 610.57.04 [Deprecated; will be removed. Use KMD Version instead]\n"
        "CUDA Version   : Deprecated\nKMD Version    : 610.57.04\nCUDA UMD Version : 13.3\n"
    )
    assert only(text, Driver).values() == {"version": "610.57.04", "major": 610, "cuda_version": "13.3"}


def test_values_take_the_units_of_the_fields() -> None:
    link, reasons = facts(TEXT, GpuPcieLink)[0], facts(TEXT, GpuClockReasons)[0]
    assert (link.generation_current, link.generation_max, link.width_current, link.width_max) == (4, 5, 8, 16)
    assert (link.replay_count, link.transmit_bytes_per_second) == (12, 376_000)
    assert link.missing == {"generation_host_max": Missing.NOT_APPLICABLE}
    assert (reasons.hw_slowdown, reasons.hw_power_brake, reasons.hw_thermal_slowdown) == (True, True, False)
    assert (reasons.sw_power_cap_seconds, reasons.hw_power_brake_seconds) == (2.5, 7.0)
    assert (reasons.sw_thermal_slowdown_seconds, reasons.sync_boost_seconds) == (0.0001, 0)
    load, memory = facts(TEXT, GpuLoad)[0], facts(TEXT, GpuMemory)[0]
    assert (load.performance_state, load.gpu_utilization_ratio, load.process_count) == (2, 0.37, 1)
    assert load.missing == {"decoder_utilization_ratio": Missing.NOT_APPLICABLE}
    assert (memory.total_bytes, memory.bar1_total_bytes) == (81559 * MIB, 131072 * MIB)
    assert facts(TEXT, GpuLoad)[1].process_count == 0


def test_power_is_the_gpus_not_the_modules() -> None:
    power = only(TEXT, GpuPower)
    assert (power.draw_watts, power.instant_draw_watts, power.limit_watts) == (412.5, 430.25, 700)


def test_a_draw_that_is_given_only_for_the_instant_counts() -> None:
    text = (
        "GPU Power Readings\n    Average Power Draw : N/A\n    Instantaneous Power Draw : 97.75 W\n"
        "    GPU Ceiling Power Limit\n        Current Power Limit : 250.00 W\n"
    )
    assert only(text, GpuPower).values() == {"draw_watts": 97.75, "instant_draw_watts": 97.75, "limit_watts": 250}


def test_the_enforced_limit_counts_before_the_requested_one() -> None:
    assert only(OLD_TEXT, GpuPower).limit_watts == 250


def test_margins_are_no_absolute_thresholds() -> None:
    assert only(TEXT, GpuTemperature).values() == {
        "gpu_celsius": 61,
        "memory_celsius": 70,
        "margin_celsius": 26,
    }


def test_ecc_sums_memories_and_sorts_of_errors() -> None:
    ecc = only(TEXT, GpuEcc)
    assert (ecc.volatile_corrected, ecc.volatile_uncorrected) == (5, 10)
    assert (ecc.volatile_sram_uncorrected, ecc.volatile_dram_uncorrected) == (5, 5)
    assert (ecc.aggregate_corrected, ecc.aggregate_uncorrected) == (50, 100)
    assert (ecc.sram_threshold_exceeded, ecc.channel_repair_pending) == (True, False)
    assert ecc.missing == {"unrepairable_memory": Missing.UNKNOWN_ERROR}


def test_ecc_of_old_drivers_counts_bits() -> None:
    ecc = only(OLD_TEXT, GpuEcc)
    assert (ecc.enabled, ecc.volatile_corrected, ecc.volatile_uncorrected) == (True, 4, 1)
    assert (ecc.volatile_dram_corrected, ecc.volatile_sram_corrected) == (3, 1)
    assert ecc.aggregate_corrected is None


def test_retired_pages_of_old_drivers() -> None:
    assert only(OLD_TEXT, GpuRetiredPages).values() == {"single_bit": 2, "double_bit": 1, "pending": True}


def test_a_section_that_does_not_apply_gives_no_fact_and_no_zero() -> None:
    assert facts(TEXT, GpuRetiredPages) == []


def test_a_section_that_could_not_be_read_is_told() -> None:
    text = "GPU 00000000:52:00.0\n    ECC Mode\n        Current : Unknown Error\n        Pending : Unknown Error\n"
    ecc = only(text, GpuEcc)
    assert ecc.values() == {}
    assert set(ecc.missing.values()) == {Missing.UNKNOWN_ERROR}


def test_remapped_rows_recovery_and_fabric() -> None:
    assert only(TEXT, GpuRemappedRows).values() == {
        "correctable": 0,
        "uncorrectable": 2,
        "pending": True,
        "failure_occurred": False,
        "banks_none": 0,
        "banks_low": 1,
    }
    assert only(TEXT, GpuRecovery).action == "drain and reset"
    fabric = only(TEXT, GpuFabric)
    assert (fabric.state, fabric.clique_id, fabric.health_degraded) == ("Completed", 3, True)


def test_mig_devices_are_counted_and_their_values_are_not_the_gpus() -> None:
    mig = only(TEXT, GpuMig)
    assert (mig.enabled, mig.pending_enabled, mig.instance_count) == (True, False, 2)


def test_a_process_is_told_with_its_gpu() -> None:
    process = only(TEXT, GpuProcess)
    assert (process.subject.process_id, process.subject.gpu_bus_id) == (4242, "0000:1a:00.0")
    assert (process.name, process.type, process.used_memory_bytes) == ("python train.py --rank 0", "C", 900 * MIB)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ECC Mode\n    Current                  : Enabled\nECC Errors\n    Volatile\n", GpuEcc),
        ("        Clocks Throttle Reasons\n            HW Slowdown  : Active\n", GpuClockReasons),
        ("    Clocks\n        SM                 : 382 MHz\n    Max Clocks\n        SM : 1530 MHz\n", GpuClocks),
    ],
)
def test_a_fragment_without_a_gpu_is_recognised_and_names_none(text: str, kind: type[Fact]) -> None:
    assert NvidiaSmiQ.resembles(text.splitlines()) >= 0.5
    assert only(text, kind).subject == Subject()


def test_a_fragment_that_begins_with_a_gpu_is_recognised() -> None:
    text = "GPU 00000000:52:00.0\n    Remapped Rows\n        Pending        : Yes\n"
    assert NvidiaSmiQ.resembles(text.splitlines()) >= 0.5
    assert only(text, GpuRemappedRows).subject.gpu_bus_id == "0000:52:00.0"


@pytest.mark.parametrize(
    "text",
    [
        "Name: X\nValue: 3",
        "Temperature\nMemory : 12 GB",
        "the GPU UUID was lost: sorry",
        "Manufacturer: A\nProduct Name: B",
    ],
)
def test_other_lists_of_keys_are_left_alone(text: str) -> None:
    assert NvidiaSmiQ.resembles(text.splitlines()) < 0.5


def test_the_second_of_two_readings_has_its_own_facts() -> None:
    assert [fact.version for fact in facts(OLD_TEXT + TEXT, Driver)] == ["384.111", "580.65.06"]
    assert [fact.listed for fact in facts(OLD_TEXT + TEXT, GpuInventory)] == [1, 2]


def test_a_lost_gpu_is_unreachable() -> None:
    text = "GPU 00000000:1A:00.0\n    Fan Speed : GPU is lost\n    Performance State : GPU is lost\n"
    lost = only(text, GpuUnreachable)
    assert (lost.reason, lost.subject.gpu_bus_id, lost.sources[0].line) == ("lost", "0000:1a:00.0", 3)


def test_a_gpu_that_asks_for_a_reset_in_place_of_values_requires_one() -> None:
    text = "GPU 00000000:1A:00.0\n    Performance State : [GPU requires reset]\n"
    assert only(text, GpuRecovery).reset_required is True


def test_a_bus_id_with_digits_blacked_out_still_begins_a_gpu() -> None:
    text = "GPU 00000000:XX:00.0\n    Product Name : A\nGPU 00000000:XX:00.0\n    Product Name : B\n"
    assert [fact.product_name for fact in facts(text, GpuIdentity)] == ["A", "B"]


def test_a_log_without_values_is_a_problem() -> None:
    parsed = NvidiaSmiQ.parse(block("==============NVSMI LOG==============\nTimestamp : now"))
    assert parsed.facts == []
    assert parsed.problems == ["line 1: no value of a GPU was found"]


def test_a_fragment_or_a_command_without_any_output_is_none() -> None:
    for empty in (block("Timestamp : now"), block("\n\n", command="nvidia-smi -q")):
        parsed = NvidiaSmiQ.parse(empty)
        assert (parsed.facts, parsed.problems) == ([], [])


def test_line_numbers_may_have_gaps() -> None:
    cut = Block(path="q", lines=[Line(7, "GPU 00000000:1A:00.0"), Line(40, "    Fan Speed : 30 %")])
    assert NvidiaSmiQ.parse(cut).facts[0].sources[0].line == 40


def test_damaged_text_never_raises() -> None:
    for sample in (TEXT, OLD_TEXT):
        for text in damaged(sample):
            NvidiaSmiQ.parse(block(text))
            NvidiaSmiQ.resembles(text.splitlines())


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    text = "\n".join(" " * depth + "a" for depth in range(3000))
    assert NvidiaSmiQ.parse(block(text)).facts == []

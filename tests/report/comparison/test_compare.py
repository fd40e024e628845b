from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from diagnose.facts import Fact
from diagnose.facts.bandwidth import GpuBandwidth
from diagnose.facts.gpu import GpuClocks, GpuIdentity, GpuPower
from diagnose.facts.host import Driver
from diagnose.facts.nccl import NcclEnvironment
from diagnose.facts.series import Requests
from diagnose.facts.tuning import ClockSource, CpuFrequency
from diagnose.report.comparison.causes import became
from diagnose.report.comparison.compare import Side, compare
from diagnose.report.comparison.model import CauseVerdict, Comparison
from diagnose.report.comparison.text import write_text
from diagnose.report.model import Report
from tests.report.comparison.sides import gpu, of, requests, runner, side

HOT = "thermal-throttling"


def compared(before: Side, after: Side) -> Comparison:
    return compare(before, after, runner().knowledge)


def verdicts(comparison: Comparison) -> dict[str, CauseVerdict]:
    return {one.id: one.verdict for one in comparison.causes}


def test_a_cause_that_was_looked_for_again_and_not_found_is_gone() -> None:
    found = compared(side("a", gpu(True)), side("b", gpu(False)))
    assert verdicts(found)[HOT] is CauseVerdict.GONE
    assert not found.worse


def test_a_cause_that_is_found_again_is_still_there() -> None:
    found = compared(side("a", gpu(True)), side("b", gpu(True)))
    (one,) = (cause for cause in found.causes if cause.id == HOT)
    assert (one.verdict, one.moved) == (CauseVerdict.STILL_THERE, False)
    assert not found.worse


def test_what_showed_a_cause_and_was_not_read_again_shows_nothing() -> None:
    only_clocks = [of(GpuClocks, gpu=0, sm_mhz=1980.0, sm_max_mhz=1980.0)]
    (one,) = compared(side("a", gpu(True)), side("b", only_clocks)).causes
    assert one.verdict is CauseVerdict.NOT_SHOWN
    assert "gpu-clock-reasons" in one.unobserved
    assert "was not read this time" in one.why


def test_another_host_says_nothing_of_this_one() -> None:
    other = [*gpu(True), *gpu(False, "n2")]
    after = [*gpu(False, "n2"), *gpu(False, "n3")]
    (one,) = compared(side("a", other), side("b", after)).causes
    assert one.verdict is CauseVerdict.NOT_SHOWN


def test_a_cause_on_another_gpu_has_moved() -> None:
    before = [*gpu(True, index=0), *gpu(False, index=1)]
    after = [*gpu(False, index=0), *gpu(True, index=1)]
    (one,) = (cause for cause in compared(side("a", before), side("b", after)).causes if cause.id == HOT)
    assert (one.verdict, one.moved) == (CauseVerdict.STILL_THERE, True)
    assert (one.subjects_before, one.subjects_after) == (("n1/gpu/0",), ("n1/gpu/1",))


def test_a_cause_that_came_is_worse_and_one_that_could_not_be_seen_before_says_so() -> None:
    came = compared(side("a", gpu(False)), side("b", gpu(True)))
    assert verdicts(came)[HOT] is CauseVerdict.CAME
    assert came.worse
    new = compared(side("a", [of(Driver, version="550.1", major=550)]), side("b", gpu(True)))
    assert verdicts(new)[HOT] is CauseVerdict.NEW
    assert new.worse


def test_a_host_that_is_called_otherwise_is_the_same_where_each_side_has_one() -> None:
    found = compared(side("a", gpu(True, "n1")), side("b", gpu(False, "host-1")))
    assert verdicts(found)[HOT] is CauseVerdict.GONE
    assert any("n1 is taken to be host-1" in note for note in found.notes)


def test_reports_alone_are_compared_by_their_causes() -> None:
    before, after = side("a.json", gpu(True), with_facts=False), side("b.json", gpu(False), with_facts=False)
    stored = Report.model_validate_json(before.report.model_dump_json(by_alias=True))
    found = compared(Side("a.json", stored), after)
    assert verdicts(found)[HOT] is CauseVerdict.GONE
    assert any("only causes can be compared" in note for note in found.notes)


def test_a_report_that_does_not_say_what_it_observed_proves_nothing_gone() -> None:
    after = side("b.json", gpu(False), with_facts=False)
    silent = Side("b.json", after.report.model_copy(update={"observed": {}}))
    found = compared(side("a", gpu(True)), silent)
    assert verdicts(found)[HOT] is CauseVerdict.NOT_SHOWN
    assert any("does not say what was observed" in note for note in found.notes)


def test_one_fix_is_verified_by_the_same_function() -> None:
    before, after = side("a", gpu(True)).report, side("b", gpu(False)).report
    (cause,) = (one for one in before.causes if one.id == HOT)
    assert became(cause, None, after, runner().knowledge).verdict is CauseVerdict.GONE
    assert became(cause, cause, before, runner().knowledge).verdict is CauseVerdict.STILL_THERE


def test_slower_requests_are_worse_and_equal_ones_are_not_told_apart() -> None:
    def latency(seed: int, scale: float) -> Side:
        return side(f"s{seed}", gpu(False), [requests(seed, scale)])

    worse = compared(latency(1, 1.0), latency(2, 1.4))
    assert {one.quantity: one.verdict for one in worse.measured} == dict.fromkeys(
        ("e2e p50", "e2e p90", "e2e p99"), "worse"
    )
    assert worse.worse
    better = compared(latency(2, 1.4), latency(1, 1.0))
    assert {one.verdict for one in better.measured} == {"better"}
    same = compared(latency(1, 1.0), latency(3, 1.0))
    assert {one.verdict for one in same.measured} == {"not-shown"}
    assert not same.worse
    for one in (*worse.measured, *same.measured):
        assert one.ratio_low is not None
        assert one.ratio_high is not None
        assert one.ratio_low < one.ratio < one.ratio_high


def test_another_load_is_told() -> None:
    before, after = side("a", gpu(False), [requests(1)]), side("b", gpu(False), [requests(2, rate=20.0)])
    assert any("requests per second" in note for note in compared(before, after).notes)
    assert not any("load" in note for note in compared(before, before).notes)
    assert any("holds no requests" in note for note in compared(before, side("c", gpu(False))).notes)


def bandwidth(*rates: float, direction: str = "host-to-device") -> list[Fact]:
    return [of(GpuBandwidth, gpu=0, tool="nvbandwidth", direction=direction, bytes_per_second=rate) for rate in rates]


@pytest.mark.parametrize(
    ("before", "after", "verdict", "why"),
    [
        ((50e9,), (25e9,), "not-shown", "one value each"),
        ((50e9, 51e9), (25e9,), "not-shown", "too few repetitions"),
        ((50e9, 51e9, 50.5e9), (25e9, 25.5e9, 25.2e9), "worse", "less by at least"),
        ((25e9, 25.5e9, 25.2e9), (50e9, 51e9, 50.5e9), "better", "more by at least"),
        ((50e9, 30e9, 40e9), (45e9, 31e9, 43e9), "not-shown", "holds no change"),
    ],
)
def test_bandwidth_needs_repetitions(
    before: tuple[float, ...], after: tuple[float, ...], verdict: str, why: str
) -> None:
    (one,) = compared(side("a", bandwidth(*before)), side("b", bandwidth(*after))).measured
    assert one.verdict == verdict
    assert why in one.why


def test_results_of_other_tests_are_not_compared() -> None:
    other = bandwidth(25e9, direction="device-to-host")
    two = compared(side("a", [*bandwidth(50e9), *other]), side("b", other))
    assert [one.quantity for one in two.measured] == ["gpu-bandwidth nvbandwidth device-to-host bytes_per_second"]


def changes(before: list[Fact], after: list[Fact]) -> dict[str, list[tuple[Any, ...]]]:
    found = compared(side("a", before), side("b", after))
    return {
        part: [(one.kind, one.name, one.field, one.before, one.after) for one in getattr(found, part)]
        for part in ("configuration", "others")
    }


def test_settings_versions_and_topology_are_configuration() -> None:
    before = [
        of(Driver, version="550.90", major=550),
        of(ClockSource, name="tsc"),
        of(NcclEnvironment, name="NCCL_IB_HCA", value="mlx5_0"),
        of(GpuPower, gpu=0, limit_watts=700.0, draw_watts=300.0),
        of(CpuFrequency, governor="powersave"),
    ]
    after = [
        of(Driver, version="570.10", major=570),
        of(ClockSource, name="hpet"),
        of(NcclEnvironment, name="NCCL_IB_HCA", value="mlx5_1"),
        of(NcclEnvironment, name="NCCL_DEBUG", value="INFO"),
        of(GpuPower, gpu=0, limit_watts=500.0, draw_watts=310.0),
        of(CpuFrequency, governor="performance"),
    ]
    found = changes(before, after)
    assert ("driver", None, "version", "550.90", "570.10") in found["configuration"]
    assert ("clock-source", "tsc", "name", "tsc", "hpet") in found["configuration"]
    assert ("nccl-environment", "NCCL_IB_HCA", "value", "mlx5_0", "mlx5_1") in found["configuration"]
    assert ("gpu-power", None, "limit_watts", "700", "500") in found["configuration"]
    assert ("cpu-frequency", None, "governor", "powersave", "performance") in found["configuration"]
    assert any(one[0] == "nccl-environment" and one[3] is None for one in found["configuration"])
    assert found["others"] == []


def test_what_one_side_did_not_read_has_not_changed() -> None:
    assert changes([of(Driver, version="1.2", major=1)], [of(GpuPower, gpu=0, draw_watts=1.0)]) == {
        "configuration": [],
        "others": [],
    }
    unread = [of(GpuIdentity, gpu=0, product_name="X", vbios_version="1")], [of(GpuIdentity, gpu=0, product_name="X")]
    assert changes(*map(list, unread))["configuration"] == []


def test_equal_sides_have_no_changes_and_the_text_says_so() -> None:
    one = side("a", gpu(True), [requests(1)])
    found = compared(one, one)
    assert (found.configuration, found.others) == ((), ())
    told = io.StringIO()
    write_text(found, told)
    assert "no change is seen" in told.getvalue()
    assert "still there" in told.getvalue()
    assert json.loads(found.model_dump_json(by_alias=True))["schema"] == "diagnose.comparison/1"


def test_requests_that_failed_are_told_of_each_side() -> None:
    before, drawn = requests(1), requests(2)
    succeeded = np.where(np.arange(len(drawn)) < 400, 0.0, 1.0)
    after = Requests(drawn.subject, {**drawn.columns, "succeeded": succeeded}, drawn.clock, drawn.sources)
    notes = compared(side("a", gpu(False), [before]), side("b", gpu(False), [after])).notes
    assert "b: 400 of 4,000 requests failed; latencies are those of the others" in notes
    assert not any(note.startswith("a:") for note in notes)

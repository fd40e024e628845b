from __future__ import annotations

from collectors.nvidia_smi_reading import Reading, typical
from diagnose.facts import Missing, Subject
from diagnose.facts.gpu import GpuEcc, GpuFan, GpuLoad, GpuPcieLink, GpuPower
from tests.collectors.helpers import block

ANY = block("a\nb\nc")


def test_flags_go_by_majority_gauges_by_the_median_and_the_rest_by_the_last() -> None:
    assert typical([True, False, True], gauge=True) is True
    assert typical([True, False], gauge=True) is False
    assert typical([1.0, 9.0, 2.0], gauge=True) == 2.0
    assert typical([8, 0, 8, 0], gauge=True) == 0
    assert typical([1, 9, 2], gauge=False) == 2
    assert typical(["a", "b"], gauge=True) == "b"


def test_counters_among_gauges_count_by_the_last() -> None:
    reading = Reading()
    for count in (1, 2, 9):
        reading.put(GpuPcieLink, "replay_count", count, 1)
    (link,) = reading.facts(Subject(), ANY)
    assert link.values() == {"replay_count": 9}


def test_a_field_is_missing_only_where_no_reading_has_it() -> None:
    reading = Reading()
    reading.put(GpuPower, "draw_watts", Missing.UNKNOWN_ERROR, 2)
    reading.put(GpuPower, "draw_watts", 5.0, 3)
    reading.put(GpuPower, "limit_watts", Missing.NOT_SUPPORTED, 3)
    (power,) = reading.facts(Subject(), ANY)
    assert power.values() == {"draw_watts": 5.0}
    assert power.missing == {"limit_watts": Missing.NOT_SUPPORTED}
    assert power.sources[0].line == 2


def test_a_kind_that_does_not_apply_gives_no_fact_but_trouble_does() -> None:
    reading = Reading()
    reading.put(GpuFan, "speed_ratio", Missing.NOT_APPLICABLE, 1)
    reading.put(GpuEcc, "enabled", Missing.ERROR, 1)
    reading.put(GpuLoad, "performance_state", None, 1)
    assert [fact.kind for fact in reading.facts(Subject(), ANY)] == ["gpu-ecc"]

from __future__ import annotations

import json
from typing import Any

from collectors.amd_smi import AmdSmiJson
from diagnose.facts import Missing
from tests.collectors.helpers import block, damaged, opened

METRIC: list[dict[str, Any]] = [
    {
        "gpu": 0,
        "usage": {"gfx_activity": {"value": 88, "unit": "%"}, "umc_activity": {"value": 20, "unit": "%"}},
        "power": {"socket_power": {"value": 612, "unit": "W"}},
        "temperature": {
            "edge": "N/A",
            "hotspot": {"value": 71, "unit": "C"},
            "mem": {"value": 55, "unit": "C"},
        },
        "clock": {"gfx_0": {"clk": {"value": 1900, "unit": "MHz"}, "max_clk": {"value": 2100, "unit": "MHz"}}},
        "pcie": {"width": 16, "speed": {"value": 32, "unit": "GT/s"}, "replay_count": "N/A"},
        "ecc": {"total_correctable_count": 3, "total_uncorrectable_count": 0},
        "mem_usage": {"total_vram": {"value": 1024, "unit": "MB"}, "used_vram": {"value": 1, "unit": "GB"}},
    }
]


def facts(content: object, **layout: Any) -> dict[str, Any]:
    return {fact.kind: fact for fact in AmdSmiJson.parse(block(json.dumps(content, **layout))).facts}


def test_values_with_units_become_the_units_of_the_facts() -> None:
    found = facts(METRIC, indent=4)
    assert found["gpu-load"].values() == {"gpu_utilization_ratio": 0.88, "memory_utilization_ratio": 0.2}
    assert found["gpu-power"].draw_watts == 612
    assert found["gpu-temperature"].values() == {"gpu_celsius": 71, "memory_celsius": 55}
    assert found["gpu-ecc"].values() == {"volatile_corrected": 3, "volatile_uncorrected": 0}
    assert found["gpu-memory"].values() == {"total_bytes": 1 << 30, "used_bytes": 1 << 30}


def test_what_is_not_applicable_is_absent() -> None:
    link = facts(METRIC)["gpu-pcie-link"]
    assert link.values() == {"width_current": 16, "generation_current": 5}
    assert link.missing == {"replay_count": Missing.NOT_APPLICABLE}


def test_newer_versions_wrap_the_list() -> None:
    assert set(facts({"gpu_data": METRIC})) == set(facts(METRIC))


def test_a_list_of_gpus_opens() -> None:
    compact = json.dumps(METRIC, separators=(",", ":"))
    assert opened(AmdSmiJson, compact) == [compact]
    assert AmdSmiJson.resembles(json.dumps(METRIC, indent=4).splitlines()) > 0.5
    assert AmdSmiJson.resembles(['[{"gpu": 0, "jobs": 3}]']) == 0


def test_damaged_json_does_not_raise() -> None:
    for text in damaged(json.dumps(METRIC)):
        AmdSmiJson.parse(block(text))

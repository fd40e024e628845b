from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from collectors.rocm_smi import RocmSmiJson, RocmSmiText
from diagnose.facts import Missing
from tests.collectors.helpers import block, damaged, opened

CARDS: dict[str, Any] = {
    "card0": {
        "Temperature (Sensor edge) (C)": "45.0",
        "Temperature (Sensor junction) (C)": "52.0",
        "Temperature (Sensor memory) (C)": "N/A",
        "sclk clock speed:": "(1502Mhz)",
        "mclk clock speed:": "(0Mhz)",
        "pcie clock level": "1 (16.0GT/s x8)",
        "Average Graphics Package Power (W)": "N/A (Secondary die)",
        "Max Graphics Package Power (W)": "290.0",
        "GPU use (%)": "97",
        "PCIe Replay Count": "4",
        "PCI Bus": "0000:83:00.0",
        "VRAM Total Memory (B)": "34342961152",
        "Card series": "0x1002",
        "Fan speed (%)": "13",
    },
    "system": {"Driver version": "6.3.6"},
}
TEXT = """\
========================= ROCm System Management Interface =========================
GPU[0]\t\t: Temperature (Sensor edge) (C): 61.0
GPU[0]\t\t: GPU use (%): 12
GPU[1]\t\t: GPU use (%): 99
"""


def facts(text: str) -> dict[str, Any]:
    return {fact.kind: fact for fact in RocmSmiJson.parse(block(text)).facts}


def test_what_both_vendors_have_in_common_is_taken() -> None:
    found = facts(json.dumps(CARDS))
    assert found["gpu-load"].subject.gpu_bus_id == "0000:83:00.0"
    assert found["gpu-temperature"].gpu_celsius == 52
    assert found["gpu-load"].gpu_utilization_ratio == 0.97
    assert found["gpu-pcie-link"].values() == {"generation_current": 4, "width_current": 8, "replay_count": 4}
    assert found["gpu-memory"].total_bytes == 34342961152
    assert found["gpu-fan"].speed_ratio == 0.13
    assert found["gpu-clocks"].values() == {"sm_mhz": 1502.0}
    assert found["kernel-module"].values() == {"name": "amdgpu", "version": "6.3.6", "loaded": True}


def test_what_has_no_value_is_absent_and_an_id_is_no_name() -> None:
    found = facts(json.dumps(CARDS))
    assert found["gpu-power"].values() == {"limit_watts": 290.0}
    assert found["gpu-power"].missing == {"draw_watts": Missing.NOT_APPLICABLE}
    assert "gpu-identity" not in found


def test_the_long_text_says_the_same() -> None:
    found = RocmSmiText.parse(block(TEXT)).facts
    assert [(fact.kind, fact.subject.gpu_index) for fact in found] == [
        ("gpu-temperature", 0),
        ("gpu-load", 0),
        ("gpu-load", 1),
    ]


def test_titles_open_and_laid_out_json_is_recognised() -> None:
    assert len(opened(RocmSmiText, TEXT)) == 3
    assert RocmSmiJson.resembles(json.dumps(CARDS, indent=4).splitlines()) > 0.5
    assert RocmSmiJson.resembles(['{"cards": [1]}']) == 0


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(json.dumps(CARDS)):
        RocmSmiJson.parse(block(text))
    for text in damaged(TEXT):
        RocmSmiText.parse(block(text))


def test_every_file_of_the_corpus_has_temperature_and_link(corpus: Path) -> None:
    paths = [*(corpus / "files" / "amd").glob("*.json")]
    assert len(paths) == 6
    for path in paths:
        text = path.read_text()
        assert RocmSmiJson.resembles([line for line in text.splitlines() if line.strip()][:400]) > 0.5, path.name
        assert {"gpu-temperature", "gpu-pcie-link", "gpu-power"} <= set(facts(text)), path.name

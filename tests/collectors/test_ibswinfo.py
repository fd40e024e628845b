from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.ibswinfo import Ibswinfo
from tests.collectors.helpers import block, damaged, opened

SWITCH = """\
=================================================
Quantum Mellanox Technologies
=================================================
part number        | MQM9700-NS2F
product name       | Gorilla
GUID               | 0x1111222233334444
firmware version   | 31.2010.4102
-------------------------------------------------
PSU0 status        | OK
     DC power      | OK
     fan status    | OK
PSU1 status        | OK
     DC power      | ERROR
     fan status    | OK
-------------------------------------------------
temperature (C)    | 61
-------------------------------------------------
fan status         | ERROR
fan#1 (rpm)        | 6125
-------------------------------------------------
"""


def switch(text: str) -> Any:
    (fact,) = Ibswinfo.parse(block(text)).facts
    return fact


def test_a_supply_fails_with_any_of_its_parts_and_fans_with_their_status() -> None:
    assert switch(SWITCH).values() == {
        "name": "0x1111222233334444",
        "product": "Gorilla",
        "firmware_version": "31.2010.4102",
        "temperature_celsius": 61.0,
        "fans_ok": False,
        "power_supplies": 2,
        "power_supplies_failed": 1,
    }


def test_a_value_that_is_no_number_is_absent() -> None:
    assert switch(SWITCH.replace("| 61", "| foo")).temperature_celsius is None


def test_the_title_opens() -> None:
    assert opened(Ibswinfo, SWITCH)[0] == "Quantum Mellanox Technologies"


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(SWITCH):
        Ibswinfo.parse(block(text))


def test_every_file_of_the_corpus_names_a_switch(corpus: Path) -> None:
    paths = [*(corpus / "files").glob("*/*ibswinfo*")]
    assert len(paths) > 5
    assert all(switch(path.read_text()).name.startswith("0x") for path in paths)

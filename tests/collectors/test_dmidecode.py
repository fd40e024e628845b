from __future__ import annotations

from pathlib import Path

from collectors.dmidecode import Dmidecode
from tests.collectors.helpers import block, damaged, opened

LISTING = """\
# dmidecode 3.3
Getting SMBIOS data from sysfs.
SMBIOS 3.3.0 present.

Handle 0x0000, DMI type 2, 8 bytes
Base Board Information
\tManufacturer: Board Maker
\tProduct Name: 0ABCDE

Handle 0x0100, DMI type 1, 27 bytes
System Information
\tManufacturer: Example Corp.
\tProduct Name: GPU Server 8000
\tSerial Number: X1
"""


def test_the_system_is_told_and_its_board_is_not() -> None:
    (fact,) = Dmidecode.parse(block(LISTING)).facts
    assert fact.values() == {"manufacturer": "Example Corp.", "product_name": "GPU Server 8000"}
    assert fact.sources[0].line == 12


def test_placeholders_of_the_firmware_are_no_names() -> None:
    text = LISTING.replace("Example Corp.", "To Be Filled By O.E.M.").replace("GPU Server 8000", "Not Specified")
    parsed = Dmidecode.parse(block(text))
    assert parsed.facts == []
    assert parsed.problems == ["line 12: the firmware does not name the machine"]


def test_title_and_entries_open() -> None:
    assert opened(Dmidecode, LISTING)[0] == "# dmidecode 3.3"


def test_damaged_listings_do_not_raise() -> None:
    for text in damaged(LISTING):
        Dmidecode.parse(block(text))


def test_the_machine_of_the_corpus_is_named(corpus: Path) -> None:
    (fact,) = Dmidecode.parse(block((corpus / "files" / "sysfs-proc" / "gpud-dmidecode.txt").read_text())).facts
    assert fact.values()["product_name"] == "PowerEdge XE9680"

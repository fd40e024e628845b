from __future__ import annotations

from pathlib import Path

import pytest

from collectors.package_history import PackageHistory
from tests.collectors.helpers import block, damaged, opened

APT = """\
Start-Date: 2026-01-12  06:12:01
Commandline: /usr/bin/unattended-upgrade
Upgrade: nvidia-driver-550:amd64 (550.90.07-0ubuntu1, 550.127.05-0ubuntu1), libnvidia-gl-550:amd64 (550.90.07)
End-Date: 2026-01-12  06:13:44

Start-Date: 2026-01-13  10:00:00
Commandline: apt-get install htop
Install: htop:amd64 (3.0.5-7build2)
End-Date: 2026-01-13  10:00:02

Start-Date: 2026-01-14  10:00:00
Commandline: apt-get install nvidia-driver-560
Install: nvidia-driver-560:amd64 (560.35.03-0ubuntu1)
End-Date: 2026-01-14  10:01:02
"""
YUM = """\
Jan 12 06:12:01 Updated: kmod-nvidia-latest-dkms-3:550.127.05-1.el8.x86_64
Jan 12 06:12:09 Updated: bash-4.4.20-5.el8.x86_64
"""


def test_records_that_touch_the_driver_become_facts() -> None:
    automatic, by_hand = PackageHistory.parse(block(APT)).facts
    assert automatic.values() == {
        "unattended": True,
        "to_version": "550.127.05",
        "command": "/usr/bin/unattended-upgrade",
    }
    assert [source.line for source in automatic.sources] == [1, 3]
    assert by_hand.values() == {
        "unattended": False,
        "to_version": "560.35.03",
        "command": "apt-get install nvidia-driver-560",
    }


def test_lines_of_yum_and_dnf_are_read() -> None:
    (update,) = PackageHistory.parse(block(YUM)).facts
    assert update.values() == {"to_version": "550.127.05"}


def test_records_open_a_block() -> None:
    assert len(opened(PackageHistory, APT)) == 3
    assert len(opened(PackageHistory, YUM)) == 2


@pytest.mark.parametrize(
    "text", ["Start-Date: 2026-01-12  06:12:01\nUpgrade: linux-generic:amd64 (5.15.0.177.162)\n", ""]
)
def test_other_packages_say_nothing(text: str) -> None:
    assert PackageHistory.parse(block(text)).facts == []


def test_damaged_logs_do_not_raise() -> None:
    for text in damaged(APT + YUM):
        PackageHistory.parse(block(text))


def test_the_unattended_upgrade_of_the_case_is_found(corpus: Path) -> None:
    text = (corpus / "cases" / "unattended-upgrade-driver-mismatch-580" / "apt-history.log").read_text()
    (update,) = PackageHistory.parse(block(text)).facts
    assert (update.values()["unattended"], update.values()["to_version"]) == (True, "580.159.03")

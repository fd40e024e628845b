from __future__ import annotations

from collectors.systemctl_show import SystemctlShow
from tests.collectors.helpers import block, damaged, opened

TEXT = """\
$ systemctl show nvidia-fabricmanager slurmd ghost
Restart=on-failure
NRestarts=3
Result=exit-code
LimitMEMLOCK=8388608
LimitMEMLOCKSoft=8388608
Id=nvidia-fabricmanager.service
LoadState=loaded
ActiveState=failed
SubState=failed
UnitFileState=enabled

NRestarts=0
LimitMEMLOCK=infinity
LimitMEMLOCKSoft=67108864
Id=slurmd.service
LoadState=loaded
ActiveState=active
UnitFileState=disabled

Id=ghost.service
LoadState=not-found
ActiveState=inactive
"""


def test_state_of_each_unit() -> None:
    facts = SystemctlShow.parse(block(TEXT)).facts
    assert [fact.values() for fact in facts if fact.kind == "service-state"] == [
        {
            "name": "nvidia-fabricmanager",
            "installed": True,
            "active": False,
            "state": "failed",
            "enabled": True,
            "restarts": 3,
        },
        {"name": "slurmd", "installed": True, "active": True, "state": "active", "enabled": False, "restarts": 0},
        {"name": "ghost", "installed": False, "active": False, "state": "inactive"},
    ]


def test_only_limits_that_jobs_inherit_are_told() -> None:
    (limit,) = [fact for fact in SystemctlShow.parse(block(TEXT)).facts if fact.kind == "resource-limit"]
    assert limit.values() == {"resource": "locked-memory", "of": "slurmd", "unlimited": False, "soft": 67108864}


def test_a_part_of_the_output_opens() -> None:
    assert opened(SystemctlShow, "LoadState=loaded\nActiveState=active\n")
    assert not opened(SystemctlShow, "The unit's ActiveState=active was seen\n")


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(TEXT):
        SystemctlShow.parse(block(text))

from __future__ import annotations

import pytest

from collectors.kernel_log import KernelLog
from diagnose.facts import Fact
from tests.collectors.helpers import feed

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4242, name=trainer, GPU has fallen off the bus."


def facts(text: str, kind: str | None = None, **fields: object) -> list[Fact]:
    found = [fact for fact in feed(KernelLog, text).facts if kind in (None, fact.kind)]
    return [fact for fact in found if all(getattr(fact, name) == value for name, value in fields.items())]


@pytest.mark.parametrize(
    ("line", "host"),
    [
        (XID, None),
        (f"[ 1234.567890] {XID}", None),
        (f"<3>[ 1234.567890] {XID}", None),
        (f"[Tue Mar  4 11:12:13 2025] {XID}", None),
        (f"[周二 3月  4 11:12:13 2025] {XID}", None),
        (f"2025-03-04T11:12:13,123456+00:00 {XID}", None),
        (f"kern  :err   : 2025-03-04T11:12:13,123456+00:00 {XID}", None),
        (f"2025-03-04T11:12:13.123456+01:00 node07 kernel: {XID}", "node07"),
        (f"2025-03-04T11:12:13+0100 node07 kernel: [   99.000001] {XID}", "node07"),
        (f"Mar  4 11:12:13 node07 kernel: [ 1234.567890] {XID}", "node07"),
        (f"3月 04 11:12:13 node07 kernel: {XID}", "node07"),
        (f"mars 04 11:12:13 node07 kernel: {XID}", "node07"),
        (f"6,812,1234567890,-;{XID}", None),
        (
            '{"__REALTIME_TIMESTAMP":"1741086733123456","_HOSTNAME":"node07","SYSLOG_IDENTIFIER":"kernel",'
            f'"MESSAGE":"{XID}"}}',
            "node07",
        ),
    ],
)
def test_an_xid_line_is_read_in_every_stamp_form(line: str, host: str | None) -> None:
    (xid,) = facts(line, "xid")
    assert xid.values() == {
        "code": 79,
        "count": 1,
        "position": 0,
        "before_last_boot": False,
        "process_name": "trainer",
        "process_names": 1,
        "detail": "GPU has fallen off the bus.",
    } | ({"span_seconds": 0.0} if "span_seconds" in xid.values() else {})
    assert xid.subject.gpu_bus_id == "0000:3b:00.0"
    assert xid.subject.host == host

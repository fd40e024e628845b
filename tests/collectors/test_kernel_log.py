from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.base import Line
from collectors.kernel_log import KernelLog
from diagnose.facts import Fact
from tests.collectors.helpers import damaged, feed

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4242, name=trainer, GPU has fallen off the bus."


def facts(text: str, kind: str, **fields: object) -> list[Any]:
    found = [fact for fact in feed(KernelLog, text).facts if fact.kind == kind]
    return [fact for fact in found if all(getattr(fact, name) == value for name, value in fields.items())]


def codes(text: str, kind: str) -> dict[str, int]:
    return {fact.code: fact.count for fact in facts(text, kind)}


@pytest.mark.parametrize(
    ("line", "host"),
    [
        (XID, None),
        (f"[ 1234.567890] {XID}", None),
        (f"[ 1234.567890][ T4242] {XID}", None),
        (f"<3>[ 1234.567890] {XID}", None),
        (f"[Tue Mar  4 11:12:13 2025] {XID}", None),
        (f"[周二 3月  4 11:12:13 2025] {XID}", None),
        (f"2025-03-04T11:12:13,123456+00:00 {XID}", None),
        (f"kern  :err   : 2025-03-04T11:12:13,123456+00:00 {XID}", None),
        (f"kern  :err   : [ 1234.567890] {XID}", None),
        (f"2025-03-04T11:12:13.123456+01:00 node07 kernel: {XID}", "node07"),
        (f"2025-03-04T11:12:13+0100 node07 kernel: [   99.000001] {XID}", "node07"),
        (f"Tue 2025-03-04 11:12:13 UTC node07 kernel: {XID}", "node07"),
        (f"Mar  4 11:12:13 node07 kernel: [ 1234.567890] {XID}", "node07"),
        (f"Mar 04 11:12:13.123456 node07 kernel: {XID}", "node07"),
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
    assert (xid.code, xid.count, xid.position, xid.before_last_boot) == (79, 1, 0, False)
    assert (xid.process_name, xid.process_names, xid.detail) == ("trainer", 1, "GPU has fallen off the bus.")
    assert (xid.subject.gpu_bus_id, xid.subject.host) == ("0000:3b:00.0", host)


def test_a_journal_message_that_is_a_list_of_bytes_is_read() -> None:
    line = f'{{"MESSAGE":{list(XID.encode())},"_HOSTNAME":"node07","__REALTIME_TIMESTAMP":"1741086733123456"}}'
    literal_free = KernelLog("x.json")
    assert literal_free.feed(Line(1, line), None)
    (xid,) = [fact for fact in literal_free.finish(1, claimed=True).facts if fact.kind == "xid"]
    assert xid.sources[0].time == datetime(2025, 3, 4, 11, 12, 13, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "code", "detail"),
    [
        ("31, Ch 00000010, intr 10000000. MMU Fault", 31, "Ch 00000010, intr 10000000. MMU Fault"),
        ("13, pid='<unknown>', name=<unknown>, Graphics Exception", 13, "Graphics Exception"),
        ("62, pid=3119, 0cb5(2d50) 00000000 00000000", 62, "0cb5(2d50) 00000000 00000000"),
        (
            "149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 07 (0x004505c6)",
            149,
            "NETIR_LINK_EVT Fatal XC0 i0 Link 07 (0x004505c6)",
        ),
        ("171, GDDR, Uncorrectable DRAM error in FBPA 1", 171, "GDDR, Uncorrectable DRAM error in FBPA 1"),
    ],
)
def test_every_form_of_the_text_after_the_code_is_kept_without_the_process(text: str, code: int, detail: str) -> None:
    (xid,) = facts(f"[  1.0] NVRM: Xid (PCI:0000:3b:00): {text}", "xid")
    assert (xid.code, xid.detail, xid.process_name) == (code, detail, None)


@pytest.mark.parametrize(
    "line",
    [
        "Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
        "Xid 79 (PCI:0000:3b:00): GPU has fallen off the bus.",
        "NVRM: Xid (0000:3b:00): 79, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 79, GPU has fallen off the bus.",
    ],
)
def test_old_partitioned_and_reordered_forms_are_read(line: str) -> None:
    (xid,) = facts(line, "xid")
    assert (xid.code, xid.subject.gpu_bus_id, xid.detail) == (79, "0000:3b:00.0", "GPU has fallen off the bus.")


def test_occurrences_are_counted_for_each_gpu_and_code_with_first_and_last_line() -> None:
    text = "\n".join(
        f"[{second:5}.000000] NVRM: Xid (PCI:0000:{bus}:00): {code}, pid=7, name={name}, Ch 1"
        for second, bus, code, name in [
            (10, "3b", 31, "a"),
            (11, "3b", 45, "a"),
            (12, "3b", 45, "b"),
            (19, "3b", 45, "b"),
            (12, "5e", 45, "c"),
        ]
    )
    first, second, other = facts(text, "xid")
    assert (first.code, first.count, first.position) == (31, 1, 0)
    assert (second.code, second.count, second.position, second.span_seconds) == (45, 3, 1, 8.0)
    assert (second.process_name, second.process_names) == ("a", 2)
    assert [source.line for source in second.sources] == [2, 4]
    assert (other.subject.gpu_bus_id, other.position) == ("0000:5e:00.0", 0)


def test_repetitions_that_syslog_folded_are_counted() -> None:
    text = f"Mar  4 11:12:13 n kernel: {XID}\nMar  4 11:12:14 n kernel: message repeated 3 times: [ {XID}]\n"
    assert facts(text, "xid")[0].count == 4


def test_what_happened_before_the_last_boot_is_marked() -> None:
    text = (
        f"Mar  4 11:12:13 n kernel: [99999.000000] {XID}\n"
        "Mar  4 12:00:00 n kernel: [    0.000000] Linux version 5.15.0-1-generic (build@host)\n"
        "Mar  4 12:00:09 n kernel: [    9.000000] NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=a, Ch 1\n"
    )
    lost, fault = facts(text, "xid")
    assert (lost.before_last_boot, fault.before_last_boot) == (True, False)
    assert (lost.position, fault.position) == (0, 0)
    assert facts(text, "kernel-log-span")[0].boots == 1


def test_a_clock_that_starts_over_is_a_boot_without_a_banner() -> None:
    assert facts(f"[ 500.0] {XID}\n[   3.0] NVRM: Xid (PCI:0000:3b:00): 31, Ch 1\n", "xid", code=79)[0].before_last_boot


def test_the_journal_of_the_boot_before_may_stand_after_that_of_the_last() -> None:
    load = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024"
    text = (
        f"Jul 07 18:00:00 n kernel: {load}\n"
        f"Jul 07 19:00:00 n kernel: {load}\n"
        "  journalctl -b -1:\n"
        f"Jul 07 18:00:00 n kernel: {load}\n"
        f"Jul 07 18:50:00 n kernel: {XID}\n"
    )
    assert facts(text, "xid")[0].before_last_boot is True


def test_a_reload_of_the_driver_is_no_boot() -> None:
    text = (
        f"Jul 07 18:00:00 n kernel: {XID}\n"
        "Jul 07 19:00:00 n kernel: nvidia-nvlink: Unregistered the Nvlink Core, major device number 235\n"
        "Jul 07 19:00:05 n kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri\n"
    )
    assert facts(text, "xid")[0].before_last_boot is False
    assert facts(text, "kernel-log-span")[0].boots == 0


def test_a_heading_of_the_journal_begins_a_boot() -> None:
    other = XID.replace("79", "31")
    text = f"Mar  4 11:12:13 n kernel: {XID}\n-- Boot {'0a' * 16} --\nMar  4 11:20:00 n kernel: {other}\n"
    assert [fact.before_last_boot for fact in facts(text, "xid")] == [True, False]


def test_a_new_year_keeps_the_order_of_stamps_without_a_year() -> None:
    text = (
        "Dec 31 23:59:50 n kernel: NVRM: Xid (PCI:0000:3b:00): 13, Graphics\n"
        "Jan  1 00:00:10 n kernel: NVRM: Xid (PCI:0000:3b:00): 13, Graphics\n"
    )
    assert facts(text, "xid")[0].span_seconds == 20.0


def test_the_drivers_own_line_joins_bus_id_and_uuid() -> None:
    uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef"
    (xid,) = facts(f"[ 1.0] NVRM: GPU at PCI:0000:3b:00: {uuid}\n[ 1.0] {XID}\n", "xid")
    assert (xid.subject.gpu_bus_id, xid.subject.gpu_uuid) == ("0000:3b:00.0", uuid)


def test_a_device_plugin_names_the_gpu_by_uuid() -> None:
    uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef"
    line = f"I0304 11:12:13.1 1 health.go:169] XidCriticalError: Xid=48 on Device={uuid}; marking device as unhealthy."
    (xid,) = facts(line, "xid")
    assert (xid.code, xid.subject.gpu_uuid) == (48, uuid)


def test_sxid_lines_are_counted_by_switch_link_and_code() -> None:
    switch = "[ 9.0] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028"
    text = (
        f"{switch}, Non-fatal, Link 32 egress non-posted PRIV error (First)\n"
        f"{switch}, Severity 0 Engine instance 32 Sub-engine instance 00\n"
        f"{switch}, Data {{0x00140004, 0x00100000}}\n"
        "[ 9.5] nvidia-nvswitch0: SXid (PCI:0000:be:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"
    )
    first, second = facts(text, "sxid")
    assert (first.code, first.count, first.fatal, first.switch) == (12028, 1, False, "nvidia-nvswitch3")
    assert (first.subject.bus_id, first.subject.link) == ("0000:c1:00.0", 32)
    assert (second.code, second.fatal, second.subject.link) == (20034, True, 30)
    assert facts(text, "xid") == []


def test_aer_reports_are_counted_with_the_names_of_unmasked_errors() -> None:
    report = (
        "[ 5.0] pcieport 0000:3a:00.0: AER: Corrected error received: 0000:3b:00.0\n"
        "[ 5.0] nvidia 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n"
        "[ 5.0] nvidia 0000:3b:00.0:   device [10de:2330] error status/mask=00002081/00002000\n"
        "[ 5.0] nvidia 0000:3b:00.0:    [ 0] RxErr                  (First)\n"
    )
    (event,) = facts(report * 3, "pcie-error-event")
    assert (event.severity, event.layer, event.count, event.names) == ("correctable", "physical", 3, "RxErr BadDLLP")
    assert (event.subject.gpu_bus_id, event.subject.bus_id) == ("0000:3b:00.0", "0000:3b:00.0")


@pytest.mark.parametrize(
    ("words", "severity", "names"),
    [
        ("Uncorrected (Non-Fatal)", "uncorrectable-nonfatal", "CmpltTO"),
        ("Uncorrected (Fatal)", "uncorrectable-fatal", "CmpltTO"),
        ("Uncorrectable (Fatal)", "uncorrectable-fatal", "CmpltTO"),
        ("Correctable", "correctable", None),
    ],
)
def test_severities_are_read_as_kernels_of_all_ages_write_them(words: str, severity: str, names: str | None) -> None:
    text = (
        f"[ 5.0] pcieport 0000:3a:00.0: PCIe Bus Error: severity={words}, type=Transaction Layer, (Requester ID)\n"
        "[ 5.0] pcieport 0000:3a:00.0:   device [8086:347a] error status/mask=00004000/00000000\n"
    )
    (event,) = facts(text, "pcie-error-event")
    assert (event.severity, event.layer, event.subject.gpu_bus_id) == (severity, "transaction", None)
    assert event.names == (names or "CorrIntErr")


def test_a_notice_counts_only_where_the_report_was_suppressed() -> None:
    notice = "[ 5.0] pcieport 0000:3a:00.0: AER: Multiple Correctable error message received from 0000:3b:00.0\n"
    (event,) = facts(notice * 4, "pcie-error-event")
    assert (event.count, event.severity, event.layer, event.names) == (4, "correctable", None, None)


@pytest.mark.parametrize(
    ("line", "code", "bus_id"),
    [
        ("NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x24:0x72:1568)", "adapter-init-failed", "0000:01:00.0"),
        ("NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)", "bar-unassigned", "0000:01:00.0"),
        (
            "NVRM: GPU 0000:01:00.0: GPU does not have the necessary power cables connected.",
            "power-cables-missing",
            "0000:01:00.0",
        ),
        ("NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.", "fallen-off-bus", "0000:01:00.0"),
        ("NVRM: GPU 0000:01:00.0 is already bound to nouveau.", "bound-by-other-driver", "0000:01:00.0"),
        ("NVRM: No NVIDIA GPU found.", "no-gpu-found", None),
        ("NVRM: The NVIDIA probe routine failed for 1 device(s).", "probe-failed", None),
        ("nvidia: probe of 0000:01:00.0 failed with error -1", "probe-failed", "0000:01:00.0"),
        ("nvidia 0000:01:00.0: probe with driver nvidia failed with error -1", "probe-failed", "0000:01:00.0"),
        (
            "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
            "gpu-unsupported-by-driver",
            None,
        ),
        ("nouveau 0000:01:00.0: NVIDIA GA102 (b72000a1)", "nouveau-bound", "0000:01:00.0"),
        ("nvidia: module verification failed: signature and/or required key missing", "module-signature-missing", None),
        ("Loading of unsigned module is rejected", "module-key-rejected", None),
        ("nvidia: version magic '6.8.0-1 SMP' should be '6.8.0-2 SMP'", "module-version-magic", None),
        (
            "nvidia-peermem free_callback:127 ERROR detected invalid context, skipping further processing",
            "peermem-invalid-context",
            None,
        ),
        (
            "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:01:00 (printing 1 of every 30).",
            "gsp-rpc-timeout",
            "0000:01:00.0",
        ),
    ],
)
def test_messages_of_the_driver_are_known(line: str, code: str, bus_id: str | None) -> None:
    (message,) = facts(f"[ 7.5] {line}", "driver-message")
    assert (message.code, message.count, message.subject.gpu_bus_id) == (code, 1, bus_id)


def test_both_versions_of_a_mismatch_are_told_although_they_stand_in_different_lines() -> None:
    text = (
        "[ 7.5] NVRM: API mismatch: the client has the version 550.90.07, but\n"
        "[ 7.5] NVRM: this kernel module has the version 550.54.15.  Please\n"
    )
    (message,) = facts(text, "driver-message")
    assert message.code == "api-mismatch"
    assert "550.90.07" in message.detail
    assert "550.54.15" in message.detail


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (
            "vfio-pci 0000:88:00.0: Unable to change power state from D3cold to D0, device inaccessible",
            "device-inaccessible",
        ),
        ("pcieport 0000:87:08.0: Data Link Layer Link Active not set in 100 msec", "pcie-link-not-active"),
        ("pcieport 0000:87:08.0: pciehp: Slot(12): Link Down", "pcie-link-down"),
        ("pcieport 0000:87:08.0: pciehp: Slot(12): Card not present", "pcie-card-removed"),
        ("pcieport 0000:87:08.0: DPC: containment event, status:0x1f01 source:0x0000", "pcie-containment"),
        (
            "mce: CPU12: Package temperature above threshold, cpu clock throttled (total events = 1)",
            "cpu-thermal-throttle",
        ),
        ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0", "host-memory-corrected"),
        ("EDAC MC0: 2 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0", "host-memory-uncorrected"),
        ("mce: [Hardware Error]: Machine check events logged", "machine-check"),
        ("{1}[Hardware Error]: event severity: fatal", "hardware-error"),
        (
            "mlx5_core 0000:1a:00.0: mlx5_pcie_event:299: Detected insufficient power on the PCIe slot (27W).",
            "nic-slot-power-low",
        ),
        (
            "mlx5_core 0000:1a:00.0: temp_warn:227:(pid 0): High temperature on sensors with bit set 0x1 0x0",
            "nic-high-temperature",
        ),
        (
            "mlx5_core 0000:1a:00.0: poll_health:835:(pid 0): device's health compromised - reached miss count",
            "nic-health",
        ),
        ("Out of memory: Killed process 4242 (python) total-vm:1kB", "out-of-memory"),
        ("Memory cgroup out of memory: Killed process 4242 (python) total-vm:1kB", "out-of-memory"),
        ("watchdog: BUG: soft lockup - CPU#3 stuck for 26s! [nvidia-smi:4242]", "soft-lockup"),
        ("INFO: task python:4242 blocked for more than 120 seconds.", "hung-task"),
        ("nfs: server filer01 not responding, still trying", "storage-not-responding"),
        ("nfs: server filer01 OK", "storage-responds-again"),
        (
            "Lustre: scratch-OST0003-osc-ff81: Connection to scratch-OST0003 (at 10.1.0.3@o2ib) was lost; in progress "
            "operations using this service will wait for recovery to complete",
            "storage-not-responding",
        ),
        ("Lustre: scratch-OST0003-osc-ffff8881: Connection restored to (at 10.1.0.3@o2ib)", "storage-responds-again"),
        ("Kernel panic - not syncing: Fatal exception", "kernel-panic"),
    ],
)
def test_messages_of_the_system_are_known(line: str, code: str) -> None:
    assert codes(f"[ 7.5] {line}", "system-message") == {code: 1}


@pytest.mark.parametrize(
    "line",
    [
        "nvidia-fabricmanager.service: Failed with result 'exit-code'.",
        "Failed to start NVIDIA fabric manager service.",
        "nvidia-fabricmanager.service: Main process exited, code=exited, status=1/FAILURE",
    ],
)
def test_a_fabric_manager_that_does_not_start_is_told_by_systemd(line: str) -> None:
    assert codes(f"Mar  4 11:12:13 n systemd[1]: {line}", "system-message") == {"fabric-manager-failed": 1}


@pytest.mark.parametrize(
    "line",
    [
        "[ 1.0] mce: CPU0 supports 20 MCE banks",
        "[ 1.0] EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0",
        "[ 1.0] pcieport 0000:00:1b.4: AER: enabled with IRQ 122",
        "[ 1.0] pcieport 0000:00:1c.0: pciehp: Slot #0 AttnBtn- PwrCtrl- MRL- HotPlug+ Surprise+ LLActRep+",
        "[ 1.0] pci 0000:00:1c.0: PME# supported from D0 D3hot D3cold",
        "[ 1.0] mlx5_core 0000:1a:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
        "[ 1.0] mlx5_core 0000:1b:00.1 enp27s0f1np1: Link down",
        "[ 1.0] OOM killer enabled.",
        "[ 1.0] ata1: SATA link down (SStatus 4 SControl 300)",
        "[   119.100] (II) NVIDIA(0): NVRM: Xid is not a kernel line here",
        "\tKernel modules: nvidiafb, nouveau",
        "nouveau 3100672 14 - Live 0xffffffffc0a01000",
        "$ dmesg | grep -iE 'NVRM|Xid'",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.09  Release Build",
    ],
)
def test_ordinary_lines_say_nothing(line: str) -> None:
    assert [fact for fact in feed(KernelLog, line).facts if fact.kind != "kernel-log-span"] == []


def test_carrier_that_comes_and_goes_is_counted() -> None:
    text = "".join(
        f"Mar  4 11:12:1{second} n systemd-networkd[9]: ib3: {word} carrier\n"
        for second, word in enumerate(("Lost", "Gained", "lost", "Gained"))
    )
    (flap,) = facts(text, "link-flap")
    assert (flap.subject.nic, flap.lost_count, flap.gained_count) == ("ib3", 2, 2)


def test_a_link_that_was_never_up_or_slept_has_lost_nothing() -> None:
    state = "[ 9.0] mlx5_core 0000:1b:00.0 eth0: Link {}\n"
    assert facts(state.format("down") + state.format("up"), "link-flap") == []
    assert facts(state.format("up") + state.format("down"), "link-flap")[0].lost_count == 1
    asleep = state.format("up") + "[ 9.5] PM: suspend entry (deep)\n" + state.format("down") + state.format("up")
    assert facts(asleep, "link-flap") == []


def test_a_link_that_comes_up_in_every_boot_has_lost_nothing() -> None:
    boot = (
        "[    0.000000] Linux version 6.8.0\n"
        "[    5.100000] mlx5_core 0000:5e:00.0 ens5np0: Link down\n"
        "[    9.200000] mlx5_core 0000:5e:00.0 ens5np0: Link up\n"
        "[ 9000.000000] nouveau 0000:01:00.0: idle\n"
    )
    assert facts(boot * 4, "link-flap") == []


def test_parameters_of_the_command_line_that_matter_are_kept_once() -> None:
    line = "Command line: BOOT_IMAGE=/vmlinuz ro quiet iommu=pt intel_iommu=on pci=realloc nouveau.modeset=0\n"
    parameters = facts(f"[ 0.0] {line}[ 0.1] Kernel c{line[1:]}", "kernel-parameter")
    assert {fact.name: fact.value for fact in parameters} == {
        "iommu": "pt",
        "intel_iommu": "on",
        "pci": "realloc",
        "nouveau.modeset": "0",
    }


@pytest.mark.parametrize(
    ("lines", "enabled", "domain"),
    [
        (["iommu: Default domain type: Translated"], None, "translated"),
        (
            ["DMAR: IOMMU enabled", "iommu: Default domain type: Passthrough (set via kernel command line)"],
            True,
            "passthrough",
        ),
        (["pci 0000:3b:00.0: Adding to iommu group 12"], True, None),
        (["AMD-Vi: Interrupt remapping enabled"], True, None),
    ],
)
def test_the_iommu_is_on_only_where_the_log_shows_it_at_work(
    lines: list[str], enabled: bool | None, domain: str | None
) -> None:
    (state,) = facts("".join(f"[ 1.0] {line}\n" for line in lines), "iommu-state")
    assert (state.enabled, state.default_domain) == (enabled, domain)


def test_the_boot_line_of_limited_bandwidth_is_read() -> None:
    line = (
        "[ 1.0] pci 0000:3b:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link "
        "at 0000:3a:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)"
    )
    (limit,) = facts(line, "pci-bandwidth-limit")
    assert limit.values() == {
        "available_gigabits_per_second": 126.016,
        "capable_gigabits_per_second": 504.112,
        "limiting_width": 8,
        "limiting_speed_gigatransfers_per_second": 16.0,
        "limiting_bus_id": "0000:3a:00.0",
    }


@pytest.mark.parametrize(
    ("text", "version", "is_open"),
    [
        ("NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31", "550.90.07", False),
        ("NVIDIA UNIX Open Kernel Module for x86_64  580.126.09  Release Build", "580.126.09", True),
    ],
)
def test_the_loaded_module_is_read(text: str, version: str, is_open: bool) -> None:
    (module,) = facts(f"[ 1.0] NVRM: loading {text}", "kernel-module")
    assert (module.name, module.version, module.open_variant) == ("nvidia", version, is_open)


def test_a_hypervisor_is_told_and_its_absence_is_not() -> None:
    assert facts("[ 0.0] Hypervisor detected: KVM", "virtualisation")[0].hypervisor == "KVM"
    assert facts("[ 0.0] systemd[1]: Detected virtualization none.", "virtualisation") == []


def test_a_log_without_any_known_line_still_says_what_it_covers() -> None:
    lines = [f"[ {second}.000000] usb 1-1: new device number {second}" for second in range(20)]
    assert KernelLog.resembles(lines) == 1.0
    collector = KernelLog("x.log")
    for number, text in enumerate(lines, start=1):
        collector.feed(Line(number, text), None)
    (span,) = collector.finish(20, claimed=True).facts
    assert span.values() == {"lines": 20, "boots": 0, "span_seconds": 19.0, "has_driver_lines": False}


def test_other_programs_logs_are_not_taken_for_kernel_logs() -> None:
    xorg = ["[   119.100] (==) Matched nvidia as autoconfigured driver 0"] * 5
    training = ["2025-03-04 11:12:13,123 INFO step 100 loss 2.31"] * 5
    kubelet = ["I0326 15:43:36.764785   12398 controller.go:116] failed to update lease"] * 5
    for lines in (xorg, training, kubelet):
        assert KernelLog.resembles(lines) < 0.5


SAMPLE = "\n".join(
    [
        "Mar  4 11:12:13 n kernel: [    0.000000] Linux version 5.15.0-1-generic",
        "Mar  4 11:12:13 n kernel: [    0.000000] Command line: BOOT_IMAGE=/vmlinuz iommu=pt",
        "2025-03-04T11:12:13.123456+01:00 n kernel: nvidia 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Data",
        "2025-03-04T11:12:13.1+01:00 n kernel: nvidia 0000:3b:00.0:   device [10de:2330] error status/mask=00000001/0",
        f"[Tue Mar  4 11:12:13 2025] {XID}",
        f"6,812,1234567890,-;{XID}",
        f'{{"__REALTIME_TIMESTAMP":"1741086733123456","_HOSTNAME":"n","MESSAGE":"{XID}"}}',
        "[ 9.0] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress error",
        "Mar  4 11:12:13 n systemd-networkd[9]: ib3: Lost carrier",
        "[ 1.0] pci 0000:3b:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link at (",
    ]
)


def test_damaged_logs_do_not_raise() -> None:
    for text in damaged(SAMPLE):
        feed(KernelLog, text)
        KernelLog.resembles(text.splitlines())


@given(st.lists(st.sampled_from(SAMPLE.split("\n")), max_size=12), st.text(max_size=30))
def test_no_order_of_lines_raises(rows: list[str], junk: str) -> None:
    feed(KernelLog, "\n".join([*rows, junk, *rows]))


@given(st.lists(st.tuples(st.sampled_from(["3b", "5e"]), st.sampled_from([13, 31, 45])), min_size=1, max_size=60))
def test_counts_and_positions_agree_with_a_plain_count(events: list[tuple[str, int]]) -> None:
    text = "\n".join(f"[{i:5}.0] NVRM: Xid (PCI:0000:{bus}:00): {code}, Ch 1" for i, (bus, code) in enumerate(events))
    found = {(fact.subject.gpu_bus_id, fact.code): (fact.count, fact.position) for fact in facts(text, "xid")}
    expected = {}
    for bus in ("3b", "5e"):
        order = list(dict.fromkeys(code for known, code in events if known == bus))
        for position, code in enumerate(order):
            expected[f"0000:{bus}:00.0", code] = (events.count((bus, code)), position)
    assert found == expected


def test_memory_does_not_grow_with_the_devices_that_a_file_names() -> None:
    collector = KernelLog("x.log")
    for number in range(10_000):
        bus = f"{number:04x}:3b:00"
        collector.feed(Line(number, f"[ 1.0] NVRM: Xid (PCI:{bus}): 45, Ch 1"), f"host{number}")
    assert len(collector.finish(10_000, claimed=False).facts) < 10_000


def read(corpus: Path, name: str) -> list[Fact]:
    return feed(KernelLog, (corpus / name).read_text(errors="replace")).facts


def test_field_logs_parse(corpus: Path) -> None:
    for folder in ("dmesg-journal", "sysfs-proc", "lspci", "fabricmanager"):
        for path in sorted((corpus / "files" / folder).iterdir()):
            feed(KernelLog, path.read_text(errors="replace").replace("\0", ""))


@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [
        (
            "bar1-0m-4080super-bios-update/kern.log",
            "driver-message",
            {"code": "bar-unassigned", "count": 4, "before_last_boot": False},
        ),
        ("bar1-0m-4080super-bios-update/kern.log", "driver-message", {"code": "adapter-init-failed", "count": 1}),
        ("gpu3-d3cold-rtx3080-vm/pve-journal.txt", "system-message", {"code": "device-inaccessible", "count": 3}),
        ("gpu3-d3cold-rtx3080-vm/pve-journal.txt", "system-message", {"code": "pcie-link-not-active", "count": 1}),
        ("m40-power-cable/journal.txt", "driver-message", {"code": "power-cables-missing", "count": 1}),
        (
            "xid119-gsp-rpc-timeout-h100/dmesg-T.txt",
            "xid",
            {"code": 119, "count": 5, "process_names": 3, "span_seconds": 355.0},
        ),
        ("xid13-illegal-instruction-2080ti/kern.log", "xid", {"code": 62, "position": 0}),
        ("xid31-display-server-1650ti/kern.log", "xid", {"code": 31, "count": 2}),
        ("xid48-171-63-154-rtxpro6000/journal-k.txt", "xid", {"code": 48, "position": 0}),
        ("xid48-171-63-154-rtxpro6000/journal-k.txt", "xid", {"code": 154, "position": 3}),
        ("xid62-109-45storm-rtxa6000/kern.log", "xid", {"code": 62, "position": 0, "before_last_boot": False}),
        ("xid62-109-45storm-rtxa6000/kern.log", "xid", {"code": 45, "count": 305, "position": 3}),
        ("xid79-3060ti-repeated-550/kern.log", "xid", {"code": 79, "count": 4, "position": 0}),
        ("nouveau-bound-a5000-no-driver/dmesg.txt", "driver-message", {"code": "nouveau-bound"}),
        ("ib6-carrier-flap-azure/syslog", "link-flap", {"lost_count": 6, "gained_count": 6}),
    ],
)
def test_the_evidence_of_the_cases_is_found(corpus: Path, name: str, kind: str, values: dict[str, object]) -> None:
    found = [fact.values() for fact in read(corpus, f"cases/{name}") if fact.kind == kind]
    assert any(values.items() <= fact.items() for fact in found)


@pytest.mark.parametrize("name", ["healthy-quadro-rtx5000x8-460", "sw-power-cap-flag-at-idle-1080ti-384"])
def test_a_healthy_boot_shows_no_fault(corpus: Path, name: str) -> None:
    found = read(corpus, f"cases/{name}/dmesg.txt")
    assert {fact.kind for fact in found} <= {"kernel-module", "kernel-log-span", "iommu-state", "driver-message"}
    assert [fact.values()["code"] for fact in found if fact.kind == "driver-message"] == ["module-signature-missing"]


def test_an_iommu_fault_of_a_gpu_is_told_from_that_of_another_device() -> None:
    text = (
        "[  812.112233] nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x11 address=0xd0 flags=0x20]\n"
        "[  812.112244] nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x11 address=0xd1 flags=0x20]\n"
        "[  813.000000] nvme 0000:02:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0003 address=0xd2 flags=0x20]\n"
    )
    (fault,) = facts(text, "system-message", code="iommu-fault-of-gpu")
    assert (fault.count, fault.subject.gpu_bus_id) == (2, "0000:41:00.0")

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.lspci import Lspci, LspciTree
from diagnose.facts import Fact
from tests.collectors.helpers import block, damaged, opened

VERBOSE = """\
00:00.0 Host bridge: Intel Corporation Ice Lake Memory Map/VT-d (rev 04)
17:02.0 PCI bridge: Intel Corporation Ice Lake PCI Express Root Port A (rev 04) (prog-if 00 [Normal decode])
\tNUMA node: 0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #5, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)
\tCapabilities: [148 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
18:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)
\tSubsystem: NVIDIA Corporation Device 1533
\tNUMA node: 0
\tRegion 0: Memory at c8000000 (32-bit, non-prefetchable) [size=16M]
\tRegion 1: Memory at 21e000000000 (64-bit, prefetchable) [size=128G]
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x8 (downgraded)
\t\tLnkCap2: Supported Link Speeds: 2.5-16GT/s, Crosslink- Retimer+ 2Retimers+ DRS-
\t\tLnkSta2: Current De-emphasis Level: -6dB, EqualizationComplete+ EqualizationPhase1+
\t\tUESta:\tDLP- SDES- TLP- UnsupReq+ ACSViol-
\t\tUEMsk:\tDLP- SDES- TLP- UnsupReq+ ACSViol-
\t\tCESta:\tRxErr+ BadTLP+ BadDLLP- Rollover- Timeout- AdvNonFatalErr+
\t\tCEMsk:\tRxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr+
\tKernel driver in use: nvidia
\tKernel modules: nvidiafb, nouveau, nvidia_drm, nvidia
18:00.1 Audio device: NVIDIA Corporation Device 10f7 (rev a1)
5e:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]
"""


def facts(text: str, kind: str, **options: str) -> list[Fact]:
    return [fact for fact in Lspci.parse(block(text, **options)).facts if fact.kind == kind]


def test_only_devices_that_rules_look_at_become_facts() -> None:
    assert [fact.subject.bus_id for fact in facts(VERBOSE, "pci-device")] == [
        "0000:17:02.0",
        "0000:18:00.0",
        "0000:5e:00.0",
    ]


def test_a_gpu_is_a_display_controller_and_its_audio_function_is_not() -> None:
    gpu = facts(VERBOSE, "pci-device")[1]
    assert gpu.subject.gpu_bus_id == "0000:18:00.0"
    assert gpu.values() == {
        "device_class": "3D controller",
        "description": "NVIDIA Corporation GA100 [A100 PCIe 80GB]",
        "vendor_id": "10de",
        "is_gpu": True,
        "is_bridge": False,
        "is_nic": False,
        "responds": True,
        "driver": "nvidia",
        "driver_modules": "nvidiafb nouveau nvidia_drm nvidia",
        "numa_node": 0,
        "large_bar_assigned": True,
    }


def test_the_bridge_above_a_device_is_known_where_bridges_tell_their_buses() -> None:
    text = VERBOSE.replace(
        "\tNUMA node: 0\n\tCapabilities", "\tBus: primary=17, secondary=18, subordinate=18\n\tCapabilities"
    )
    above = {fact.subject.bus_id: fact.values().get("upstream_bus_id") for fact in facts(text, "pci-device")}
    assert above == {"0000:17:02.0": None, "0000:18:00.0": "0000:17:02.0", "0000:5e:00.0": None}


def test_link_capability_and_state_are_read_with_lspci_marks() -> None:
    bridge, gpu = facts(VERBOSE, "pci-link")
    assert bridge.values() == {
        "speed_gigatransfers_per_second": 16.0,
        "speed_max_gigatransfers_per_second": 16.0,
        "width": 16,
        "width_max": 16,
        "speed_downgraded": False,
        "width_downgraded": False,
    }
    assert gpu.values() == {
        "speed_gigatransfers_per_second": 16.0,
        "speed_max_gigatransfers_per_second": 16.0,
        "speed_supported_max_gigatransfers_per_second": 16.0,
        "width": 8,
        "width_max": 16,
        "speed_downgraded": False,
        "width_downgraded": True,
        "equalization_complete": True,
    }
    assert gpu.sources[0].line == 16


def test_acs_is_what_is_switched_on_not_what_is_supported() -> None:
    (acs,) = facts(VERBOSE, "pci-acs")
    assert acs.subject.bus_id == "0000:17:02.0"
    assert set(acs.values().values()) == {False}


def test_masked_error_bits_are_left_out() -> None:
    (aer,) = facts(VERBOSE, "pci-aer")
    assert aer.values() == {"correctable": "RxErr BadTLP"}


def test_a_listing_of_the_whole_machine_counts_its_gpus() -> None:
    (inventory,) = facts(VERBOSE, "gpu-inventory")
    assert inventory.values() == {"listed": 1, "tool": "lspci"}


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (VERBOSE[VERBOSE.index("18:00.0") :], None),
        (VERBOSE.replace("00:00.0 Host bridge", "..."), None),
        (VERBOSE[VERBOSE.index("18:00.0") :] * 2, "lspci -s 18:00.0 -vvv"),
    ],
)
def test_a_listing_of_chosen_devices_counts_nothing(text: str, command: str | None) -> None:
    found = Lspci.parse(block(text, command=command)).facts
    assert [fact for fact in found if fact.kind == "gpu-inventory"] == []


def test_a_device_that_reads_ff_does_not_respond() -> None:
    text = (
        "65:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [10de:2204] (rev ff)\n"
        "66:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [10de:2204] (rev a1)\n"
        "67:00.0 3D controller [0302]: NVIDIA Corporation GA102 [10de:2235] (rev a1)\n"
        "\t!!! Unknown header type 7f\n"
    )
    assert [fact.values()["responds"] for fact in facts(text, "pci-device")] == [False, True, False]
    lost = facts(text, "gpu-unreachable")
    assert [(fact.subject.gpu_bus_id, fact.values()["reason"]) for fact in lost] == [
        ("0000:65:00.0", "pci-no-response"),
        ("0000:67:00.0", "pci-no-response"),
    ]
    assert facts(text, "gpu-inventory")[0].values()["listed"] == 3


def test_an_unassigned_window_is_told_from_a_disabled_one() -> None:
    head = "65:00.0 VGA compatible controller: NVIDIA Corporation GA102 (rev a1)\n"
    unassigned = head + "\tRegion 1: Memory at <unassigned> (64-bit, prefetchable)\n"
    disabled = head + "\tRegion 0: Memory at d7000000 (32-bit, non-prefetchable) [disabled] [size=16M]\n"
    assert facts(unassigned, "pci-device")[0].values()["large_bar_assigned"] is False
    assert "large_bar_assigned" not in facts(disabled, "pci-device")[0].values()


def test_details_without_a_device_line_belong_to_a_device_without_a_name() -> None:
    text = (
        "Subsystem: NVIDIA Corporation GA102\n"
        "\tLnkCap: Port #0, Speed 16GT/s, Width x16\n"
        "\tLnkSta: Speed 8GT/s, Width x4\n"
    )
    (link,) = Lspci.parse(block(text)).facts
    assert link.subject.path() == "unnamed"
    assert link.values() == {
        "speed_max_gigatransfers_per_second": 16.0,
        "width_max": 16,
        "speed_gigatransfers_per_second": 8.0,
        "width": 4,
    }
    assert Lspci.resembles(text.splitlines()) >= 0.5


def test_picked_acs_lines_of_many_devices_are_told_apart_and_not_repeated() -> None:
    on = "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
    off = on.replace("+", "-")
    redirects = [fact.values()["request_redirect"] for fact in facts(on + off + on + off, "pci-acs")]
    assert redirects == [True, False]


def test_numbers_only_and_machine_readable_listings_are_read() -> None:
    numeric = "0000:3b:00.0 0302: 10de:2330 (rev a1)\n"
    quoted = '3b:00.0 "3D controller" "NVIDIA Corporation" "GH100 [H100 SXM5 80GB]" -ra1 "NVIDIA Corporation" ""\n'
    record = (
        "Slot:\t3b:00.0\nClass:\t3D controller [0302]\nVendor:\tNVIDIA Corporation [10de]\n"
        "Device:\tGH100 [2330]\nNUMANode:\t1\n"
    )
    for text in (numeric, quoted, record):
        (device,) = facts(text, "pci-device")
        assert device.subject.gpu_bus_id == "0000:3b:00.0"
    assert device.values()["numa_node"] == 1


def test_an_nvswitch_is_no_gpu() -> None:
    (device,) = facts(
        "05:00.0 Bridge [0680]: NVIDIA Corporation GH100 [H100 NVSwitch] [10de:22a3] (rev a1)\n", "pci-device"
    )
    assert device.values()["is_gpu"] is False


def test_hex_dumps_and_log_lines_open_nothing() -> None:
    assert opened(Lspci, "00: de 10 04 22 07 00 10 00 a1 00 00 03 10 00 00 00\n") == []
    assert opened(Lspci, "[    1.2] pcieport 0000:00:01.0: PME: Signaling with IRQ 122, PCI bridge\n") == []
    assert opened(Lspci, "Physical Slot: 0-6\n") == []


def test_the_tree_is_recognised_and_says_nothing() -> None:
    text = "-+-[0000:d7]-+-00.0-[d8]--\n |           \\-01.0-[d9]----00.0\n \\-[0000:00]-+-00.0\n"
    assert opened(LspciTree, text) == ["-+-[0000:d7]-+-00.0-[d8]--"]
    assert LspciTree.resembles(text.splitlines()) == 1.0
    assert LspciTree.parse(block(text)).facts == []


def test_the_command_tells_the_tree_from_the_list() -> None:
    assert Lspci.command is not None
    assert LspciTree.command is not None
    for command, is_tree in (("lspci -tv", True), ("sudo lspci -nn -t", True), ("lspci -vvv", False), ("lspci", False)):
        assert bool(LspciTree.command.search(command)) is is_tree
        assert bool(Lspci.command.search(command)) is not is_tree


def test_damaged_listings_do_not_raise() -> None:
    for text in damaged(VERBOSE):
        Lspci.parse(block(text))
        Lspci.resembles(text.splitlines())


@given(st.text(alphabet="0123456789abcdef:. []()NVIDIAxLnkStaSpeedWidthGT/s\t\n", max_size=400))
def test_no_text_raises(text: str) -> None:
    Lspci.parse(block(text))
    LspciTree.resembles(text.splitlines())


def test_field_listings_parse(corpus: Path) -> None:
    for path in sorted((corpus / "files" / "lspci").iterdir()):
        Lspci.parse(block(path.read_text(errors="replace"), path.name))


def test_the_lost_gpu_of_a_virtual_machine_is_seen_on_the_bus(corpus: Path) -> None:
    text = (corpus / "cases" / "gpu3-d3cold-rtx3080-vm" / "lspci-nn.txt").read_text()
    assert [fact.subject.gpu_bus_id for fact in facts(text, "gpu-unreachable")] == ["0000:04:00.0"]
    assert facts(text, "gpu-inventory")[0].values()["listed"] == 8


def test_the_bifurcated_cards_show_their_width_and_bad_packets(corpus: Path) -> None:
    text = (corpus / "cases" / "pcie-bifurcation-riser-4090" / "lspci-vv-gpus.txt").read_text()
    assert [fact.values()["width"] for fact in facts(text, "pci-link")] == [8, 8]
    assert [fact.values()["correctable"] for fact in facts(text, "pci-aer")] == ["BadTLP", "BadTLP"]


def test_the_bridges_of_the_hung_job_redirect_requests(corpus: Path) -> None:
    text = (corpus / "cases" / "hang-acs-amd-bridges" / "lspci_acs.txt").read_text()
    assert [fact.values()["request_redirect"] for fact in facts(text, "pci-acs")] == [True] * 5


def test_the_workstation_without_driver_shows_nouveau(corpus: Path) -> None:
    text = (corpus / "cases" / "nouveau-bound-a5000-no-driver" / "lspci-vvv.txt").read_text()
    gpus = [fact for fact in facts(text, "pci-device") if fact.values()["is_gpu"]]
    assert [fact.values()["driver"] for fact in gpus] == ["nouveau"]
    assert facts(text, "gpu-unreachable") == []


def test_the_healthy_machine_shows_eight_answering_gpus_and_no_errors(corpus: Path) -> None:
    folder = corpus / "cases" / "healthy-quadro-rtx5000x8-460"
    text = (folder / "lspci-nvidia.txt").read_text()
    assert facts(text, "gpu-inventory")[0].values()["listed"] == 8
    assert facts(text, "pci-aer") + facts(text, "gpu-unreachable") == []
    assert opened(LspciTree, (folder / "lspci-tree.txt").read_text())


def test_virtual_functions_are_parts_of_a_gpu_and_not_counted() -> None:
    rows = ["00:00.0 Host bridge: Intel Corporation Device 09a2 (rev 04)"]
    rows += [f"41:00.{function} 3D controller: NVIDIA Corporation GA102GL [A40] (rev a1)" for function in (0, 4, 5)]
    rows += ["41:01.0 3D controller: NVIDIA Corporation GA102GL [A40] (rev a1)"]
    rows += ["81:00.0 3D controller: NVIDIA Corporation GA102GL [A40] (rev a1)"]
    assert [fact.values()["listed"] for fact in facts("\n".join(rows), "gpu-inventory")] == [2]

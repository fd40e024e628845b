from __future__ import annotations

from pathlib import Path

from collectors.kernel_modules import KernelModules
from tests.collectors.helpers import block, damaged, opened

HEADER = "Module                  Size  Used by\n"
OTHERS = "".join(f"filler{number}               16384  {number}\n" for number in range(25))
DRIVER = (
    "nvidia_uvm           1540096  2\n"
    "nvidia_drm             77824  3\n"
    "nvidia              56717312  82 nvidia_uvm,nvidia_modeset\n"
)
PROC = "nouveau 3100672 14 - Live 0xffffffffc0a01000\nttm 110592 2 nouveau,drm_ttm_helper, Live 0xffffffffc06ef000\n"


def loaded(text: str, command: str | None = None) -> dict[str, bool]:
    found = KernelModules.parse(block(text, command=command)).facts
    return {fact.values()["name"]: fact.values()["loaded"] for fact in found}


def test_a_whole_list_tells_what_is_loaded_and_what_is_not() -> None:
    assert loaded(HEADER + OTHERS + DRIVER) == {
        "nvidia": True,
        "nvidia_uvm": True,
        "nvidia_drm": True,
        "nvidia_peermem": False,
    }
    assert loaded(HEADER + OTHERS)["nvidia"] is False


def test_an_excerpt_says_nothing_of_what_it_lacks() -> None:
    assert loaded("nvidia_uvm           1540096  2\n") == {"nvidia_uvm": True}
    assert "nvidia" not in loaded(HEADER + OTHERS, command="lsmod | grep -v nvidia")


def test_the_kernels_own_list_is_read() -> None:
    assert loaded(PROC) == {"nouveau": True}
    assert opened(KernelModules, PROC) == PROC.splitlines()
    assert opened(KernelModules, HEADER + DRIVER) == [HEADER.strip()]


def test_excerpts_resemble_and_tables_of_numbers_do_not() -> None:
    assert KernelModules.resembles(DRIVER.splitlines()) == 1.0
    assert KernelModules.resembles(["0, 12, 34", "epoch 1 loss 2"]) == 0.0


def test_damaged_lists_do_not_raise() -> None:
    for text in damaged(HEADER + DRIVER + PROC):
        KernelModules.parse(block(text))


def test_the_workstation_of_the_case_has_nouveau_and_no_driver(corpus: Path) -> None:
    text = (corpus / "cases" / "nouveau-bound-a5000-no-driver" / "proc-modules.txt").read_text()
    assert loaded(text) == {"nvidia": False, "nvidia_peermem": False, "nouveau": True}


def test_field_lists_parse(corpus: Path) -> None:
    folder = corpus / "files" / "sysfs-proc"
    assert loaded((folder / "azhpc-lsmod-nvidia.txt").read_text())["nvidia"] is True
    assert loaded((folder / "jc-centos-7.7-lsmod.txt").read_text())["nvidia"] is False

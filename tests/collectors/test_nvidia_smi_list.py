from __future__ import annotations

from collectors.nvidia_smi_list import NvidiaSmiList, NvidiaSmiVersion
from diagnose.facts import Subject
from diagnose.facts.gpu import GpuIdentity, GpuMig, NvlinkSummary
from diagnose.facts.host import Driver, GpuInventory
from tests.collectors.helpers import block, damaged, opened

LIST = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5f4e1c2d-1111-4222-8333-0123456789ab)
  MIG 3g.20gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)
  MIG 1g.5gb      Device  1: (UUID: MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb)
GPU 3: NVIDIA A100-SXM4-40GB (UUID: GPU-5f4e1c2d-1111-4222-8333-0123456789ac)
"""
VERSION = """\
NVIDIA-SMI version  : 610.62
NVML version        : 610.62
DRIVER version      : Deprecated, see "KMD version" instead
CUDA version        : Deprecated, see "CUDA UMD version" instead
KMD version         : 610.62
CUDA UMD version    : 13.3
"""


def test_gpus_have_index_uuid_and_name() -> None:
    identities = [fact for fact in NvidiaSmiList.parse(block(LIST)).facts if isinstance(fact, GpuIdentity)]
    assert [fact.subject for fact in identities] == [
        Subject(gpu_index=0, gpu_uuid="GPU-5f4e1c2d-1111-4222-8333-0123456789ab"),
        Subject(gpu_index=3, gpu_uuid="GPU-5f4e1c2d-1111-4222-8333-0123456789ac"),
    ]
    assert identities[0].product_name == "NVIDIA A100-SXM4-40GB"
    assert identities[1].sources[0].line == 4


def test_mig_devices_are_counted() -> None:
    (mig,) = [fact for fact in NvidiaSmiList.parse(block(LIST)).facts if isinstance(fact, GpuMig)]
    assert (mig.subject.gpu_index, mig.enabled, mig.instance_count) == (0, True, 2)


def test_the_number_of_gpus_and_the_highest_index() -> None:
    (inventory,) = [fact for fact in NvidiaSmiList.parse(block(LIST)).facts if isinstance(fact, GpuInventory)]
    assert (inventory.listed, inventory.highest_index) == (2, 3)


def test_a_list_with_lines_left_out_has_no_number() -> None:
    text = LIST.replace("GPU 3", "...\nGPU 3")
    assert not [fact for fact in NvidiaSmiList.parse(block(text)).facts if isinstance(fact, GpuInventory)]


def test_links_below_a_gpu_make_it_the_output_of_nvlink() -> None:
    facts = NvidiaSmiList.parse(block(LIST + "\t Link 0: 25 GB/s\n")).facts
    assert [fact.links for fact in facts if isinstance(fact, NvlinkSummary)] == [1]
    assert not [fact for fact in facts if isinstance(fact, GpuInventory)]


def test_each_gpu_line_goes_on_with_the_block() -> None:
    assert len(opened(NvidiaSmiList, LIST)) == 2
    assert NvidiaSmiList.reopens is False


def test_text_without_a_gpu_is_a_problem() -> None:
    assert NvidiaSmiList.parse(block("nothing")).problems == ["line 1: no GPU is listed"]


def test_versions_take_the_new_names_where_the_old_are_deprecated() -> None:
    (driver,) = NvidiaSmiVersion.parse(block(VERSION)).facts
    assert isinstance(driver, Driver)
    assert driver.values() == {"version": "610.62", "major": 610, "cuda_version": "13.3"}
    assert opened(NvidiaSmiVersion, VERSION) == ["NVIDIA-SMI version  : 610.62"]


def test_versions_of_older_drivers() -> None:
    text = "NVIDIA-SMI version  : 570.1\nDRIVER version      : 570.124.06\nCUDA Version        : 12.8\n"
    (driver,) = NvidiaSmiVersion.parse(block(text)).facts
    assert driver.values() == {"version": "570.124.06", "major": 570, "cuda_version": "12.8"}


def test_text_without_a_version_is_a_problem() -> None:
    assert NvidiaSmiVersion.parse(block("DRIVER version : none")).problems == ["line 1: no version was found"]


def test_damaged_lists_never_raise() -> None:
    for text in damaged(LIST):
        NvidiaSmiList.parse(block(text))
    for text in damaged(VERSION):
        NvidiaSmiVersion.parse(block(text))
        NvidiaSmiVersion.resembles(text.splitlines())

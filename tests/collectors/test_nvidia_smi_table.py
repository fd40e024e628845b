from __future__ import annotations

from typing import TypeVar

import pytest

from collectors.nvidia_smi_table import NvidiaSmiTable
from diagnose.facts import Fact, Missing, Subject
from diagnose.facts.gpu import (
    GpuEcc,
    GpuFan,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuMig,
    GpuPower,
    GpuProcess,
    GpuTemperature,
    GpuUnreachable,
)
from diagnose.facts.host import Driver, GpuInventory
from tests.collectors.helpers import block, damaged, opened

F = TypeVar("F", bound=Fact)
MIB = 1 << 20

WIDE = """\
Tue Mar  4 08:15:16 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.86.15              Driver Version: 570.86.15      CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1A:00.0 Off |                   On |
| N/A   41C    P0            112W /  700W |    1102MiB /  81559MiB |     N/A      Default |
|                                         |                        |             Enabled* |
+-----------------------------------------+------------------------+----------------------+
|   2  NVIDIA H100 80GB HBM3          Off |   00000000:3D:00.0 Off |                    3 |
| 30%   87C    P1            698W /  700W |   80000MiB /  81559MiB |    100%   E. Process |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|==================+==================================+===========+=======================|
|  0    2   0   0  |           11091MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
|                  |               0MiB / 24739MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0   10   0   1  |               9MiB /  9984MiB    | 16      0 |  1   0    1    0    1 |
+------------------+----------------------------------+-----------+-----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0    2    0            21180      C   python train.py                         900MiB |
|    0   10    0            21198    C+G   ...long/path/to/name                      N/A  |
+-----------------------------------------------------------------------------------------+
"""

NARROW = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 390.46                 Driver Version: 390.46                    |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  GeForce GTX 108...  Off  | 00000000:05:00.0  On |                  N/A |
| 23%   38C    P8    N/A / 250W |    211MiB / 11178MiB |      3%      Default |
+-------------------------------+----------------------+----------------------+
|   1  GeForce GTX 108...  Off  | 00000000:06:00.0 N/A |                  N/A |
|ERR!   ERR!  ERR!    ERR! / ERR! |       GPU is lost    |     ERR!        ERR! |
+-------------------------------+----------------------+----------------------+
+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0      1213      G   /usr/lib/xorg/Xorg                           201MiB |
+-----------------------------------------------------------------------------+
"""

WINDOWS = """\
| NVIDIA-SMI 610.62                 KMD Version: 610.62        CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                  Driver-Model | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|   0  NVIDIA GeForce RTX 4070 ...  WDDM  |   00000000:0C:00.0  On |                  N/A |
| 38%   39C    P8             37W /  250W |     797MiB /   8192MiB |      0%      Default |
|                                         |                        |                  N/A |
| Processes:                                                                              |
|    0   N/A  N/A            2140    C+G   C:\\Program Files\\a b.exe              N/A      |
"""


def facts(text: str, kind: type[F], command: str | None = None) -> list[F]:
    return [fact for fact in NvidiaSmiTable.parse(block(text, command=command)).facts if isinstance(fact, kind)]


def test_versions_or_titles_open_a_block() -> None:
    assert len(opened(NvidiaSmiTable, WIDE)) == 2
    assert opened(NvidiaSmiTable, "NVIDIA-SMI has failed because it cannot\nNVIDIA-SMI version  : 590.48.01") == []


@pytest.mark.parametrize("command", ["nvidia-smi", "nvidia-smi -i 0", "/usr/bin/nvidia-smi -l 5", "sudo nvidia-smi"])
def test_the_bare_command_belongs_to_it(command: str) -> None:
    assert NvidiaSmiTable.command is not None
    assert NvidiaSmiTable.command.search(command)


@pytest.mark.parametrize("command", ["nvidia-smi -q", "nvidia-smi topo -m", "nvidia-smi nvlink -s", "nvidia-smi -L"])
def test_other_commands_do_not(command: str) -> None:
    assert NvidiaSmiTable.command is not None
    assert not NvidiaSmiTable.command.search(command)


def test_driver_of_all_layouts() -> None:
    assert [facts(text, Driver)[0].values() for text in (WIDE, NARROW, WINDOWS)] == [
        {"version": "570.86.15", "major": 570, "cuda_version": "12.8"},
        {"version": "390.46", "major": 390},
        {"version": "610.62", "major": 610, "cuda_version": "13.3"},
    ]


def test_a_gap_in_the_indices_is_visible() -> None:
    (inventory,) = facts(WIDE, GpuInventory)
    assert (inventory.listed, inventory.highest_index) == (2, 2)


def test_no_inventory_where_gpus_may_have_been_cut_off_or_left_out() -> None:
    assert facts(WIDE[: WIDE.index("| MIG devices")], GpuInventory) == []
    assert facts(WIDE, GpuInventory, command="nvidia-smi -i 0,2") == []


def test_gpus_have_index_and_bus_id() -> None:
    assert [fact.subject for fact in facts(WIDE, GpuIdentity)] == [
        Subject(gpu_index=0, gpu_bus_id="0000:1a:00.0"),
        Subject(gpu_index=2, gpu_bus_id="0000:3d:00.0"),
    ]
    assert facts(WIDE, GpuIdentity)[1].sources[0].line == 13


def test_cells_of_a_gpu() -> None:
    second = {fact.kind: fact for fact in NvidiaSmiTable.parse(block(WIDE)).facts if fact.subject.gpu_index == 2}
    assert second["gpu-identity"].values() == {
        "product_name": "NVIDIA H100 80GB HBM3",
        "persistence_mode": False,
        "display_active": False,
        "compute_mode": "Exclusive_Process",
    }
    assert second["gpu-fan"].values() == {"speed_ratio": 0.3}
    assert second["gpu-temperature"].values() == {"gpu_celsius": 87}
    assert second["gpu-power"].values() == {"draw_watts": 698, "limit_watts": 700}
    assert second["gpu-memory"].values() == {"used_bytes": 80000 * MIB, "total_bytes": 81559 * MIB}
    assert second["gpu-load"].values() == {"performance_state": 1, "gpu_utilization_ratio": 1, "process_count": 0}
    assert second["gpu-ecc"].values() == {"enabled": True, "volatile_uncorrected": 3}


def test_mig_hides_use_and_counts_its_devices() -> None:
    assert facts(WIDE, GpuLoad)[0].missing == {"gpu_utilization_ratio": Missing.NOT_APPLICABLE}
    assert facts(WIDE, GpuEcc)[0].values() == {"enabled": True}
    assert [fact.values() for fact in facts(WIDE, GpuMig)] == [
        {"enabled": True, "instance_count": 2},
        {"enabled": False, "instance_count": 0},
    ]


def test_processes_are_joined_to_their_gpus() -> None:
    first, second = facts(WIDE, GpuProcess)
    assert (first.subject.gpu_bus_id, first.subject.process_id) == ("0000:1a:00.0", 21180)
    assert first.values() == {"name": "python train.py", "type": "C", "used_memory_bytes": 900 * MIB}
    assert (second.type, second.missing) == ("C+G", {"used_memory_bytes": Missing.NOT_APPLICABLE})
    assert [fact.process_count for fact in facts(WIDE, GpuLoad)] == [2, 0]


def test_processes_that_are_not_listed_are_not_counted() -> None:
    assert facts(WIDE[: WIDE.index("| Processes")], GpuLoad)[1].process_count is None


def test_the_narrow_table_without_instances() -> None:
    first = facts(NARROW, GpuPower)[0]
    assert first.values() == {"limit_watts": 250}
    assert first.missing == {"draw_watts": Missing.NOT_APPLICABLE}
    assert facts(NARROW, GpuProcess)[0].name == "/usr/lib/xorg/Xorg"


def test_err_is_an_absent_value_with_a_reason() -> None:
    fan, temperature = facts(NARROW, GpuFan)[1], facts(NARROW, GpuTemperature)[1]
    assert (fan.speed_ratio, fan.missing) == (None, {"speed_ratio": Missing.ERROR})
    assert temperature.missing == {"gpu_celsius": Missing.ERROR}
    assert facts(NARROW, GpuMemory)[1].missing == {"used_bytes": Missing.LOST}


def test_a_lost_gpu_is_unreachable() -> None:
    (lost,) = facts(NARROW, GpuUnreachable)
    assert (lost.subject.gpu_index, lost.reason) == (1, "lost")


def test_windows_has_a_driver_model_in_place_of_persistence() -> None:
    (identity,) = facts(WINDOWS, GpuIdentity)
    assert (identity.persistence_mode, identity.display_active) == (None, True)
    assert facts(WINDOWS, GpuProcess)[0].name == "C:\\Program Files\\a b.exe"


def test_rows_alone_are_recognised() -> None:
    rows = WIDE.splitlines()[8:15]
    assert NvidiaSmiTable.resembles(rows) >= 0.5
    assert len(facts("\n".join(rows), GpuTemperature)) == 2


def test_other_tables_are_left_alone() -> None:
    assert NvidiaSmiTable.resembles(["+----+", "| GPU ID | Device |", "| 0      | Name: NVIDIA |", "+----+"]) == 0


def test_of_a_repeated_table_gauges_give_the_median_and_the_last_list_counts() -> None:
    later = WIDE.replace("698W", "100W").replace("|   0  NVIDIA", "|   1  NVIDIA").replace(":1A:", ":2B:")
    text = WIDE + WIDE.replace("698W", "500W") + later
    power = {fact.subject.gpu_index: fact.draw_watts for fact in facts(text, GpuPower)}
    assert power == {0: 112, 1: 112, 2: 500}
    assert [fact.values() for fact in facts(text, GpuInventory)] == [
        {"listed": 2, "highest_index": 2, "tool": "nvidia-smi"}
    ]
    assert len(facts(text, Driver)) == 1


def test_damaged_tables_never_raise() -> None:
    for sample in (WIDE, NARROW, WINDOWS):
        for text in damaged(sample):
            NvidiaSmiTable.parse(block(text))
            NvidiaSmiTable.resembles(text.splitlines())

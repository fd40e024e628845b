"""A recording of NVML and what `nvidia-smi -q` and `topo` print of the same machine give the same facts."""

from __future__ import annotations

import pytest

from collectors.nvidia_smi_q import NvidiaSmiQ
from collectors.nvidia_smi_topo import NvidiaSmiTopo
from collectors.recorded_nvml import RecordedNvml
from collectors.scan import read_inputs
from diagnose.facts import Fact
from diagnose.facts.topology import GpuPath, PeerAccess, TopologySummary
from tests.collectors.helpers import block
from tests.simulate.scenarios import NEEDS_LIBRARY, recorded

pytestmark = NEEDS_LIBRARY

PRINTED = """\
==============NVSMI LOG==============

Driver Version                            : 550.90.07
CUDA Version                              : 12.4

Attached GPUs                             : 8
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Product Architecture                  : Hopper
    Display Active                        : Disabled
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    GPU UUID                              : GPU-6f31000a-3b10-4c70-9e02-5d20c4e8f100
    VBIOS Version                         : 96.00.89.00.01
    Inforom Version
        Image Version                     : G520.0200.00.05
    GSP Firmware Version                  : 550.90.07
    GPU Virtualization Mode
        Virtualization Mode               : None
    GPU Recovery Action                   : None
    PCI
        Device Id                         : 0x233010DE
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
                Device Max                : 5
            Link Width
                Max                       : 16x
                Current                   : 16x
        Replays Since Reset               : 0
        Replay Number Rollovers           : 0
    Fan Speed                             : N/A
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        Applications Clocks Setting       : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        Sync Boost                        : Not Active
        SW Thermal Slowdown               : Not Active
    Clocks Event Reasons Counters
        SW Power Capping                  : 0 us
        Sync Boost                        : 0 us
        SW Thermal Slowdown               : 0 us
        HW Thermal Slowdown               : 0 us
        HW Power Braking                  : 0 us
    FB Memory Usage
        Total                             : 81559 MiB
        Reserved                          : 551 MiB
        Used                              : 64210 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 66 MiB
    Compute Mode                          : Default
    Utilization
        Encoder                           : 0 %
        Decoder                           : 0 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
        Aggregate
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
            SRAM Threshold Exceeded       : No
    Retired Pages
        Single Bit ECC                    : N/A
        Double Bit ECC                    : N/A
        Pending Page Blacklist            : N/A
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 0
        Pending                           : No
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            Max                           : 2560 bank(s)
            High                          : 0 bank(s)
            Partial                       : 0 bank(s)
            Low                           : 0 bank(s)
            None                          : 0 bank(s)
    GPU Power Readings
        Current Power Limit               : 700.00 W
        Default Power Limit               : 700.00 W
        Min Power Limit                   : 200.00 W
        Max Power Limit                   : 700.00 W
    Clocks
        Graphics                          : 1980 MHz
        SM                                : 1980 MHz
        Memory                            : 2619 MHz
    Max Clocks
        SM                                : 1980 MHz
        Memory                            : 2619 MHz
    Applications Clocks
        Graphics                          : 1980 MHz
    Default Applications Clocks
        Graphics                          : 1980 MHz
    Fabric
        State                             : Completed
        Status                            : Success
        CliqueId                          : 0
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 41200
            Type                          : C
            Name                          : python3
            Used GPU Memory               : 64200 MiB
"""
MATRIX = "\n".join(
    [
        "\t" + "\t".join(f"GPU{column}" for column in range(8)) + "\tCPU Affinity\tNUMA Affinity",
        *(
            f"GPU{row}\t"
            + "\t".join("X" if row == column else "NV18" for column in range(8))
            + ("\t0-47,96-143\t0" if row < 4 else "\t48-95,144-191\t1")
            for row in range(8)
        ),
    ]
)


def of_gpu(facts: list[Fact], name: str) -> list[Fact]:
    """Facts of the first GPU, by a name that either source uses."""
    return [fact for fact in facts if name in (fact.subject.gpu_bus_id, str(fact.subject.gpu_index))]


def live() -> list[Fact]:
    """Facts of the recording."""
    return read_inputs(
        [str(recorded("hgx-h100")[0] / "nvml")], block_collectors=(RecordedNvml,), line_collectors=()
    ).facts


def test_every_field_that_nvidia_smi_prints_has_the_same_value_in_a_recording() -> None:
    printed = of_gpu(NvidiaSmiQ.parse(block(PRINTED)).facts, "0000:1b:00.0")
    read = {(type(fact), fact.subject.process_id): fact.values() for fact in of_gpu(live(), "0")}

    assert len(printed) >= 14
    for fact in printed:
        found = read[type(fact), fact.subject.process_id]
        assert {name: found.get(name) for name in fact.values()} == fact.values(), type(fact).kind


def test_the_driver_and_the_list_of_gpus_are_the_same() -> None:
    printed = [fact for fact in NvidiaSmiQ.parse(block(PRINTED)).facts if fact.subject.gpu is None]
    read = {type(fact): fact.values() for fact in live() if fact.subject.gpu is None}

    assert [type(fact).kind for fact in printed] == ["driver", "gpu-inventory"]
    assert read[type(printed[0])] == printed[0].values()
    assert read[type(printed[1])] == {"attached": 8, "listed": 8, "highest_index": 7, "tool": "nvidia-smi"}


@pytest.mark.parametrize("kind", [GpuPath, TopologySummary])
def test_the_paths_between_gpus_are_the_same(kind: type[Fact]) -> None:
    def told(facts: list[Fact]) -> list[tuple[int | None, dict[str, object]]]:
        return [(fact.subject.gpu_index, fact.values()) for fact in facts if isinstance(fact, kind)]

    assert told(live()) == told(NvidiaSmiTopo.parse(block(MATRIX)).facts) != []


def test_peer_access_is_told_for_each_operation_and_pair() -> None:
    access = [fact for fact in live() if isinstance(fact, PeerAccess)]

    assert {fact.operation for fact in access} == {"read", "write", "nvlink", "atomics"}
    assert len(access) == 4 * 28
    assert {fact.status for fact in access} == {"OK"}


def test_what_an_old_driver_lacks_is_missing_and_what_it_answers_otherwise_is_read() -> None:
    folder = recorded("old-driver")[0] / "nvml"
    facts = of_gpu(read_inputs([str(folder)], block_collectors=(RecordedNvml,), line_collectors=()).facts, "0")
    by_kind = {type(fact).kind: fact for fact in facts}

    assert by_kind["gpu-clock-reasons"].values()["hw_slowdown"] is False
    assert by_kind["gpu-memory"].values()["total_bytes"] == 81559 << 20
    assert by_kind["gpu-power"].values()["draw_watts"] >= 612
    assert by_kind["gpu-temperature"].missing["margin_celsius"].value == "not-supported"
    assert by_kind["gpu-identity"].missing["architecture"].value == "not-supported"
    assert "gpu-fabric" not in by_kind

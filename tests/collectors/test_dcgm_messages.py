from __future__ import annotations

import pytest

from collectors.dcgm_messages import meaning_of


@pytest.mark.parametrize(
    ("message", "code", "value", "limit"),
    [
        ("GPU 0 Thermal violations totaling 13.3 seconds started at 9.7 seconds", "thermal-violation", 13.3, None),
        ("Detected 4.2 thermal_violation for GPU 1", "thermal-violation", 4.2, None),
        ("Temperature 93 of GPU 1 exceeded user-specified maximum allowed temperature 85", "temperature-limit", 93, 85),
        ("Unable to initialize CUDA library: 'system not yet initialized'.", "cuda-not-initialised", None, None),
        ("Error using CUDA API cuInit", "cuda-error", None, None),
        ("Ensure that the FabricManager is running without errors.", "fabric-manager", None, None),
        ("GPU 2 is running at PCI link generation 3, which is below the minimum allowed of 4", "pcie-generation", 3, 4),
        ("Detected more than 8 PCIe replays per minute for GPU 1: 99999", "pcie-replays", 99999, None),
        ("Detected 12 pcie_replay_counter for GPU 0", "pcie-replays", None, None),
        ("GPU 3's NvLink link 2 is currently down", "nvlink-down", None, None),
        (
            "Only 10 NvLinks are up out of the expected 12 Ensure Fabric Manager is running.",
            "nvlink-down",
            10,
            12,
        ),
        ("Detected fatal errors on NvSwitch 1 link 3", "nvswitch-fatal", None, None),
        ("Detected XID 79 for GPU 2", "xid", 79, None),
        ("GPU had an uncontained error (XID 95)", "memory-uncorrected", None, None),
        ("GPU 1 has fallen off the bus", "gpu-lost", None, None),
        ("Detected 2 ecc_dbe_volatile_total for GPU 0", "memory-uncorrected", None, None),
        ("GPU 1 had uncorrectable memory errors and row remapping failed.", "row-remap-failed", None, None),
        ("GPU 1 had memory errors and row remappings are pending", "row-remap-pending", None, None),
        ("GPU 1 had uncorrectable memory errors and 3 rows were remapped", "rows-remapped", 3, None),
        ("A corrupt InfoROM has been detected in GPU 0", "inforom-corrupted", None, None),
        ("Max stress level of 2000.0 did not reach desired stress level of 3000.0", "rate-below-target", 2000, 3000),
        ("MCUTIL > 10% for GPU 2", "gpu-busy", None, None),
    ],
)
def test_known_messages_have_a_code_and_their_numbers(
    message: str, code: str, value: float | None, limit: float | None
) -> None:
    assert meaning_of(message) == (code, value, limit)


def test_an_unknown_message_has_none() -> None:
    assert meaning_of("The weather is fine") is None

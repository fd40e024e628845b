from __future__ import annotations

import pytest

from collectors.dcgm_messages import meaning_of


@pytest.mark.parametrize(
    ("message", "code", "value", "limit"),
    [
        ("GPU 0 Thermal violations totaling 13.3 seconds started at 9.7 seconds", "thermal-violation", 13.3, None),
        ("Unable to initialize CUDA library: 'system not yet initialized'.", "cuda-not-initialised", None, None),
        ("Error using CUDA API cuInit", "cuda-error", None, None),
        ("GPU 2 is running at PCI link generation 3, which is below the minimum allowed of 4", "pcie-generation", 3, 4),
        ("Detected more than 8 PCIe replays per minute for GPU 1: 99999", "pcie-replays", 99999, None),
        ("GPU 3's NvLink link 2 is currently down", "nvlink-down", None, None),
        ("Detected XID error: 79", "xid", 79, None),
        ("GPU 1 has fallen off the bus", "gpu-lost", None, None),
        ("A double-bit ECC error was found", "memory-uncorrected", None, None),
        ("MCUTIL > 10% for GPU 2", "gpu-busy", None, None),
    ],
)
def test_known_messages_have_a_code_and_their_numbers(
    message: str, code: str, value: float | None, limit: float | None
) -> None:
    assert meaning_of(message) == (code, value, limit)


def test_an_unknown_message_has_none() -> None:
    assert meaning_of("The weather is fine") is None

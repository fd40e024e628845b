from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collectors.pci_configuration import acs, errors, parse_hexadecimal, responds, secondary_bus
from tests.live.trees import configuration_space


def test_access_control_is_found_behind_other_capabilities() -> None:
    assert acs(configuration_space(redirect=True))["request_redirect"]
    assert not acs(configuration_space(redirect=False))["request_redirect"]


def test_errors_that_are_masked_do_not_count() -> None:
    assert errors(configuration_space(redirect=False)) == {"correctable": "BadTLP"}


def test_what_an_ordinary_user_sees_says_nothing_of_either() -> None:
    data = configuration_space(redirect=True)[:64]
    assert (acs(data), errors(data), responds(data)) == ({}, {}, True)


def test_a_device_that_is_gone_reads_as_ones() -> None:
    assert responds(b"\xff" * 64) is False
    assert responds(b"") is None


def test_a_chain_of_capabilities_that_leads_back_ends() -> None:
    data = bytearray(4096)
    data[0x100:0x104] = (0x100 << 20 | 1 << 16 | 0x0002).to_bytes(4, "little")
    assert acs(bytes(data)) == {}


def test_a_bridge_names_the_bus_beneath_it_and_other_devices_name_none() -> None:
    bridge = bytearray(configuration_space(redirect=False)[:64])
    assert secondary_bus(bytes(bridge)) == 0x1B
    bridge[0x19] = 0
    assert secondary_bus(bytes(bridge)) is None
    assert secondary_bus(b"\xde\x10" + bytes(62)) is None
    assert secondary_bus(bytes(bridge[:20])) is None


@given(st.binary(max_size=600))
def test_any_bytes_are_survived(data: bytes) -> None:
    acs(data)
    errors(data)
    secondary_bus(data)


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    assert len(parse_hexadecimal(text)) <= len(text)

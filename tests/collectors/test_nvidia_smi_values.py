from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import nvidia_smi_values as values
from collectors.nvidia_smi_values import Convert, absence, read
from diagnose.facts import Missing

CONVERTERS: tuple[Convert, ...] = (
    values.real,
    values.integer,
    values.positive,
    values.ratio,
    values.size,
    values.seconds,
    values.kilobyte_rate,
    values.megabyte_rate,
    values.flag,
    values.words,
    values.lower_words,
    values.version,
    values.performance_state,
    values.device_id,
    values.uuid,
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("N/A", Missing.NOT_APPLICABLE),
        ("[N/A]", Missing.NOT_APPLICABLE),
        ("[Not Supported]", Missing.NOT_SUPPORTED),
        ("Not available in WDDM driver model", Missing.NOT_SUPPORTED),
        ("Unknown Error", Missing.UNKNOWN_ERROR),
        ("[Unknown Error]", Missing.UNKNOWN_ERROR),
        ("ERR!", Missing.ERROR),
        ("[GPU requires reset]", Missing.ERROR),
        ("Insufficient Permissions", Missing.NO_PERMISSION),
        ("[Requested functionality has been deprecated]", Missing.DEPRECATED),
        ("GPU is lost", Missing.LOST),
        ("9223372036854775794", Missing.BLANK),
    ],
)
def test_every_word_for_no_value_has_its_reason(text: str, reason: Missing) -> None:
    assert absence(text) is reason
    assert read(text, values.integer) is reason


@pytest.mark.parametrize("text", ["0", "0 %", "None", "Not Active", "Disabled", "", "9223372036854775791"])
def test_values_are_not_taken_for_absent(text: str) -> None:
    assert absence(text) is None


@pytest.mark.parametrize(
    ("convert", "text", "value"),
    [
        (values.real, "78.28 W", 78.28),
        (values.real, "-8 C", -8.0),
        (values.real, "0x10", None),
        (values.integer, "16x", 16),
        (values.integer, "2559 bank(s)", 2559),
        (values.positive, "0", None),
        (values.ratio, "36 %", 0.36),
        (values.size, "2 MiB", 2 << 20),
        (values.size, "2", 2 << 20),
        (values.size, "1 GiB", 1 << 30),
        (values.size, "2 apples", None),
        (values.seconds, "39595 us", 0.039595),
        (values.kilobyte_rate, "376 KB/s", 376_000.0),
        (values.flag, "Not Active", False),
        (values.flag, "Enabled", True),
        (values.flag, "maybe", None),
        (values.words, "[REDACTED]", None),
        (values.version, "610.57.04 [Deprecated]", "610.57.04"),
        (values.version, 'Deprecated, see "KMD version"', None),
        (values.performance_state, "P12", 12),
        (values.device_id, "233010de", "0x233010DE"),
        (values.uuid, "GPU-00000000-0000-0000-0000-000000000000", None),
    ],
)
def test_texts_are_read_in_the_units_of_the_fields(convert: Convert, text: str, value: object) -> None:
    assert convert(text) == value


@given(st.text(max_size=60))
def test_any_text_is_read_without_raising(text: str) -> None:
    for convert in CONVERTERS:
        read(text, convert)


@given(st.integers(min_value=0, max_value=10**25).map(str))
def test_any_number_is_read_without_raising(text: str) -> None:
    for convert in CONVERTERS:
        read(f"{text} MiB", convert)
        read(text, convert)

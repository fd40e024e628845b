"""Exit codes of finished analyses."""

from __future__ import annotations

import pytest

from diagnose.cli.exit_codes import ExitCode, exit_code


@pytest.mark.parametrize(
    ("unusable", "incomplete", "code"),
    [
        (True, True, ExitCode.UNUSABLE),
        (False, True, ExitCode.INCOMPLETE),
        (False, False, ExitCode.NOTHING_FOUND),
    ],
)
def test_a_finding_below_the_limit_does_not_hide_what_was_not_read(
    unusable: bool, incomplete: bool, code: ExitCode
) -> None:
    assert exit_code(["info"], "warning", unusable, incomplete) is code


def test_a_finding_at_the_limit_counts_whatever_else_was_not_read() -> None:
    assert exit_code(["info", "warning"], "warning", unusable=True, incomplete=True) is ExitCode.CAUSES_FOUND

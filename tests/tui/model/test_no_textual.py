from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["diagnose.tui.model.walk", "diagnose.tui.conductor", "diagnose.cli.main"])
def test_a_module_loads_without_textual(module: str) -> None:
    program = f"import sys, {module}; print('textual' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert output.strip() == "False"

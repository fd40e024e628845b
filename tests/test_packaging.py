"""What is pinned, what a wheel carries, and what a start of the program loads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"^(?P<name>[a-z0-9.-]+)==(?P<version>\S+)", re.MULTILINE)


def pins(path: Path) -> list[tuple[str, str, str]]:
    """Name, version and the rest of each requirement of a file, with continued lines joined."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    return [(match["name"], match["version"], text[match.end() :].split("\n", 1)[0]) for match in PIN.finditer(text)]


@pytest.mark.parametrize("path", [path for path in REQUIREMENTS if path.stem != "extras"], ids=lambda path: path.stem)
def test_every_requirement_is_pinned_with_hashes(path: Path) -> None:
    # Which build of PyTorch fits depends on the machine, so that the extras are pinned without hashes.
    lines = [line for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines() if line]

    assert len(pins(path)) == len(lines)
    assert [name for name, _, rest in pins(path) if "--hash=sha256:" not in rest] == []


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.stem)
def test_requirement_files_name_no_address(path: Path) -> None:
    assert re.findall(r"\S*(?:://|--index|--extra-index|find-links)\S*", path.read_text(encoding="utf-8")) == []


def test_tests_run_with_the_versions_that_users_get() -> None:
    runtime, dev = (
        {(name, version) for name, version, _ in pins(ROOT / "requirements" / f"{stem}.txt")}
        for stem in ("runtime", "dev")
    )

    assert runtime
    assert runtime <= dev


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        ".",
    ]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    (path,) = folder.glob("*.whl")
    return path


def members(wheel: Path) -> list[str]:
    """Names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_a_wheel_carries_every_rule_and_the_sample(wheel: Path) -> None:
    for folder, target in (("rules", "diagnose/_rules"), ("fixtures/demo", "diagnose/_fixtures/demo")):
        here = {path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()}
        there = {name.removeprefix(f"{target}/") for name in members(wheel) if name.startswith(f"{target}/")}

        assert here
        assert there == here


def test_a_wheel_carries_the_stand_in_with_all_its_scenarios(wheel: Path) -> None:
    folder = ROOT / "diagnose" / "simulate"
    here = {path.relative_to(ROOT).as_posix() for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}

    assert "diagnose/simulate/native/scenario.h" in here
    assert here <= set(members(wheel))


def test_a_wheel_carries_no_tests(wheel: Path) -> None:
    assert {name.split("/")[0] for name in members(wheel) if ".dist-info/" not in name} == {"diagnose", "collectors"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A small kernel log of a GPU that fell off the bus."""
    path = tmp_path / "dmesg.txt"
    path.write_text(
        "[   12.104522] nvidia 0000:3b:00.0: enabling device (0140 -> 0142)\n"
        "[86412.771034] NVRM: Xid (PCI:0000:3b:00): 79, pid=41220, name=train, GPU has fallen off the bus.\n",
        encoding="utf-8",
    )
    return path


class Run(NamedTuple):
    """How a run of the program ended."""

    code: int
    output: str
    errors: list[str]
    loaded: set[str]
    """Top-level packages and modules that it imported."""


def run(*arguments: str, path: Path | None = None) -> Run:
    """The program in a fresh interpreter, with a folder of modules that hide the installed ones."""
    program = (
        "import atexit, sys; from diagnose.cli.main import main; "
        "atexit.register(lambda: print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)); main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | ({} if path is None else {"PYTHONPATH": str(path)}),
        cwd=path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    *errors, loaded = result.stderr.splitlines()
    return Run(result.returncode, result.stdout, errors, set(loaded.split()))


def test_help_loads_nothing_that_only_a_diagnosis_needs() -> None:
    result = run("--help")

    assert result.code == 0
    assert "click" in result.loaded
    assert result.loaded & {"pydantic", "pandas", "numpy", "durable_rules_engine", "yaml", "rich"} == set()


def test_analyzing_a_log_loads_neither_the_tui_nor_the_libraries_of_live_collection_and_statistics(log: Path) -> None:
    result = run("analyze", str(log))

    assert result.code == 1, result.errors
    assert "durable_rules_engine" in result.loaded
    assert result.loaded & {"textual", "pandas", "pynvml", "torch"} == set()


def test_a_rule_library_that_cannot_be_loaded_ends_in_one_sentence_with_the_cure(log: Path, tmp_path: Path) -> None:
    shim = tmp_path / "shim"
    shim.mkdir()
    (shim / "durable_rules_engine.py").write_text("raise ImportError('undefined symbol: PyEval_CallObject')\n")

    result = run("analyze", str(log), path=shim)

    assert result.code == 2
    assert result.output == ""
    sentence = result.errors[-1]  # Lines about progress may come before it on a slow machine.
    assert sentence.startswith("diagnose: ")
    assert "undefined symbol: PyEval_CallObject" in sentence
    assert 'CPPFLAGS="-DPyEval_CallObject=PyObject_CallObject" pip install' in sentence


def test_the_rules_are_found_in_an_unpacked_wheel(wheel: Path, log: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)

    result = run("analyze", "--format", "json", str(log), path=site)

    assert result.code == 1, result.errors
    assert json.loads(result.output)["causes"][0]["id"] == "gpu-fell-off-bus"

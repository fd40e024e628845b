"""What is pinned, what a wheel carries, and what a start of the program loads."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"^(?P<name>[a-z0-9.-]+)==(?P<version>\S+)", re.MULTILINE)


def pins(path: Path) -> list[tuple[str, str, str]]:
    """Name, version and the rest of each requirement of a file, with continued lines joined."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    return [(match["name"], match["version"], text[match.end() :].split("\n", 1)[0]) for match in PIN.finditer(text)]


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.stem)
def test_every_requirement_is_pinned_with_hashes(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines() if line]

    assert len(pins(path)) == len(lines)
    assert [name for name, _, rest in pins(path) if "--hash=sha256:" not in rest] == []


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.stem)
def test_requirement_files_name_no_address(path: Path) -> None:
    assert re.findall(r"\S*(?:://|http|index|find-links)\S*", path.read_text(encoding="utf-8")) == []


def test_tests_run_with_the_versions_that_users_get() -> None:
    runtime, dev = (
        {(name, version) for name, version, _ in pins(ROOT / "requirements" / f"{stem}.txt")}
        for stem in ("runtime", "dev")
    )

    assert runtime
    assert runtime <= dev


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names of the files in a wheel built from this checkout."""
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
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_a_wheel_carries_every_rule_and_the_sample(wheel: list[str]) -> None:
    for folder, target in (("rules", "diagnose/_rules"), ("fixtures/demo", "diagnose/_fixtures/demo")):
        here = {path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()}
        there = {name.removeprefix(f"{target}/") for name in wheel if name.startswith(f"{target}/")}

        assert here
        assert there == here


def test_a_wheel_carries_no_tests(wheel: list[str]) -> None:
    assert {name.split("/")[0] for name in wheel if ".dist-info/" not in name} == {"diagnose", "collectors"}

"""Real files: each is read by its collector, gives what its text holds, and survives damage."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TypeVar

import pytest

from collectors.base import BlockCollector
from collectors.nvidia_smi_dmon import NvidiaSmiDmon
from collectors.nvidia_smi_errors import NvidiaSmiErrors
from collectors.nvidia_smi_list import NvidiaSmiList, NvidiaSmiVersion
from collectors.nvidia_smi_pmon import NvidiaSmiPmon
from collectors.nvidia_smi_q import NvidiaSmiQ
from collectors.nvidia_smi_query import NvidiaSmiQuery
from collectors.nvidia_smi_table import NvidiaSmiTable
from collectors.nvidia_smi_xml import NvidiaSmiXml
from diagnose.facts import Fact
from diagnose.facts.gpu import (
    GpuClockReasons,
    GpuEcc,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuPower,
    GpuRemappedRows,
    GpuUnreachable,
    NvlinkSummary,
)
from diagnose.facts.host import Driver, DriverFailure, GpuInventory
from tests.collectors.helpers import block, feed
from tests.conftest import corpus_path

F = TypeVar("F", bound=Fact)

FILES = corpus_path() / "files"
CASES = corpus_path() / "cases"
GPU_LINES = {
    NvidiaSmiQ: re.compile(r"^GPU [0-9A-F]{8}:", re.MULTILINE),
    NvidiaSmiXml: re.compile(r"<gpu id="),
    NvidiaSmiTable: re.compile(r"^\|\s+\d+\s+\S.*\| +[0-9A-F]{8}:", re.MULTILINE),
    NvidiaSmiList: re.compile(r"^GPU \d+: ", re.MULTILINE),
}


def files(collector: type[BlockCollector], *patterns: str) -> list[object]:
    """The files of one kind as parameters with readable names."""
    paths = [path for pattern in patterns for path in sorted(corpus_path().glob(pattern))]
    return [pytest.param(collector, path, id=f"{path.parent.name}/{path.name}") for path in paths]


Q_FILES = files(NvidiaSmiQ, "files/nvidia-smi-q-text/*", "files/hang/*gpu-query*", "cases/*/nvidia-smi-q*.txt")
XML_FILES = files(NvidiaSmiXml, "files/nvidia-smi-xml/*", "cases/*/*.xml")
TABLE_FILES = files(NvidiaSmiTable, "files/nvidia-smi-table/*", "cases/*/nvidia-smi.txt")
LIST_FILES = files(NvidiaSmiList, "files/nvidia-smi-list/*-L*", "files/nvidia-smi-nvlink/*", "cases/*/*nvlink-s.txt")
OTHER_FILES = [
    *files(NvidiaSmiVersion, "files/nvidia-smi-list/*version*"),
    *files(NvidiaSmiQuery, "files/nvidia-smi-query-csv/*", "cases/*/*query*.csv"),
    *files(NvidiaSmiDmon, "files/nvidia-smi-dmon-pmon/*dmon*", "cases/*/dmon*"),
    *files(NvidiaSmiPmon, "files/nvidia-smi-dmon-pmon/*pmon*"),
]
# Files that hold no GPU of their kind: an error in place of output, or nothing listed.
WITHOUT_FACTS = re.compile(r"compute-apps|retired-pages|pmon|xid62-|bar1-|m40-|nouveau-|capabilities")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(("collector", "path"), [*Q_FILES, *XML_FILES, *TABLE_FILES, *LIST_FILES, *OTHER_FILES])
def test_a_real_file_gives_facts(collector: type[BlockCollector], path: Path) -> None:
    parsed = collector.parse(block(read(path), path=path.name))
    assert parsed.facts or WITHOUT_FACTS.search(str(path))
    assert all(source.line for fact in parsed.facts for source in fact.sources)


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(("collector", "path"), [*Q_FILES, *XML_FILES, *TABLE_FILES, *LIST_FILES])
def test_a_real_file_gives_one_identity_for_each_gpu(collector: type[BlockCollector], path: Path) -> None:
    text = read(path)
    facts = collector.parse(block(text)).facts
    if re.search("Product Name|product_name|Persistence-M|Driver-Model|UUID: ", text):
        subjects = {fact.subject for fact in facts if isinstance(fact, GpuIdentity)}
        gpus = GPU_LINES[collector].findall(text)
        assert len(subjects) == (len(gpus) if collector is not NvidiaSmiList else len(set(gpus)))
        assert all(subject.gpu for subject in subjects)


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(("collector", "path"), [*Q_FILES, *XML_FILES])
def test_the_number_of_attached_gpus_is_that_of_the_file(collector: type[BlockCollector], path: Path) -> None:
    text = read(path)
    attached = re.findall(r"(?:Attached GPUs +: |<attached_gpus>)(\d+)", text)
    facts = [fact for fact in collector.parse(block(text)).facts if isinstance(fact, GpuInventory)]
    assert [str(fact.attached) for fact in facts] == attached
    assert [fact.listed for fact in facts] == [len(GPU_LINES[collector].findall(text))] * len(attached)


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(
    ("collector", "path"), [*Q_FILES[::5], *XML_FILES[::4], *TABLE_FILES[::5], *LIST_FILES[::5], *OTHER_FILES[::7]]
)
def test_a_real_file_survives_damage(collector: type[BlockCollector], path: Path) -> None:
    data = path.read_bytes()[:20_000]
    dice = random.Random(path.name)
    for _ in range(12):
        changed = bytearray(data[dice.randrange(len(data)) :] or data)
        for _ in range(8):
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        text = changed[: dice.randrange(len(changed)) + 1].decode(errors="replace")
        collector.parse(block(text))
        collector.resembles([line for line in text.splitlines() if line.strip()])


def facts_of(collector: type[BlockCollector], path: Path) -> list[Fact]:
    return collector.parse(block(read(path))).facts


def only(facts: list[Fact], kind: type[F]) -> F:
    (fact,) = [fact for fact in facts if isinstance(fact, kind)]
    return fact


@pytest.mark.usefixtures("corpus")
def test_the_values_that_show_the_faults_of_the_cases() -> None:
    remap = facts_of(NvidiaSmiQ, CASES / "ecc-unknown-error-remap-pending-550" / "nvidia-smi-q-ecc-row.txt")
    assert only(remap, GpuRemappedRows).pending is True
    assert only(remap, GpuEcc).missing["enabled"] == "unknown-error"
    brake = facts_of(NvidiaSmiQ, CASES / "power-brake-v100-c4130-bmc-table" / "nvidia-smi-q-performance.txt")
    assert only(brake, GpuClockReasons).hw_power_brake is True
    dram = facts_of(NvidiaSmiQ, CASES / "xid48-171-63-154-rtxpro6000" / "nvidia-smi-q-d-ecc.txt")
    assert only(dram, GpuEcc).volatile_dram_uncorrected == 2
    gap = facts_of(NvidiaSmiTable, CASES / "rtxpro6000-gpu1-missing-from-table-610" / "nvidia-smi.txt")
    assert (only(gap, GpuInventory).listed, only(gap, GpuInventory).highest_index) == (3, 3)
    assert only(gap, Driver).version == "610.57.04"


@pytest.mark.usefixtures("corpus")
def test_missing_links_are_counted() -> None:
    facts = facts_of(NvidiaSmiList, CASES / "v100-nvlink-missing-links-azure" / "nvidia-smi-nvlink-s.txt")
    counts = {fact.subject.gpu_index: fact.inactive for fact in facts if isinstance(fact, NvlinkSummary)}
    assert counts == {0: 0, 1: 0, 2: 0, 3: 2, 4: 1, 5: 2, 6: 1}


@pytest.mark.usefixtures("corpus")
def test_values_without_header_show_use_without_memory() -> None:
    facts = facts_of(NvidiaSmiQuery, CASES / "phantom-utilization-5090x8" / "query-gpu-node1.csv")
    busy = {fact.subject.gpu_index for fact in facts if isinstance(fact, GpuLoad) and fact.gpu_utilization_ratio == 1}
    empty = {fact.subject.gpu_index for fact in facts if isinstance(fact, GpuMemory) and fact.used_bytes == 0}
    assert busy == {1, 3, 4, 5, 7}
    assert empty == set(range(8))
    assert len([fact for fact in facts if isinstance(fact, GpuPower)]) == 8


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("bar1-0m-4080super-bios-update/nvidia-smi.txt", ["no-devices"]),
        ("container-lost-gpu-cgroup/app-stderr.txt", ["cuda-no-device"]),
        ("container-lost-gpu-cgroup/container-nvidia-smi.txt", ["unknown-error"]),
        ("fabricmanager-not-running-h100x8-802/app-stderr.txt", ["cuda-not-initialised"]),
        ("nouveau-bound-a5000-no-driver/nvidia-smi.txt", ["not-loaded"]),
        ("rtxpro6000-gpu1-missing-from-table-610/app-stderr.txt", ["cuda-unknown-error"]),
        ("secure-boot-key-rejected/shell-session.txt", ["key-rejected"]),
        ("unattended-upgrade-driver-mismatch-580/nvidia-smi-per-host.txt", ["library-mismatch"]),
        ("xid48-171-63-154-rtxpro6000/training-rank1.log", ["cuda-ecc-error"]),
        ("healthy-h100-mig-590/nvidia-smi.txt", []),
    ],
)
def test_failures_of_the_cases(name: str, codes: list[str]) -> None:
    facts = feed(NvidiaSmiErrors, read(CASES / name)).facts
    assert [fact.code for fact in facts if isinstance(fact, DriverFailure)] == codes


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("gpu3-d3cold-rtx3080-vm/nvidia-smi-query.csv", "3"),
        ("rtxpro6000-gpu1-missing-from-table-610/nvidia-smi.txt", "1"),
        ("xid62-109-45storm-rtxa6000/nvidia-smi-q.txt", "0000:68:00.0"),
    ],
)
def test_unreachable_gpus_of_the_cases(name: str, gpu: str) -> None:
    facts = feed(NvidiaSmiErrors, read(CASES / name)).facts
    assert [fact.subject.gpu for fact in facts if isinstance(fact, GpuUnreachable)] == [gpu]


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.name) for path in sorted(FILES.glob("nvidia-capture-bundle/*"))]
)
def test_every_reading_of_a_bundle_opens(path: Path) -> None:
    text = read(path)
    lines = text.splitlines()
    assert sum(NvidiaSmiQ.opens(line) for line in lines) == text.count("NVSMI LOG")
    assert sum(NvidiaSmiQuery.opens(line) for line in lines) >= 2
    assert sum(NvidiaSmiTable.opens(line) for line in lines) == 4
    assert sum(NvidiaSmiDmon.opens(line) for line in lines) == 2
    assert sum(NvidiaSmiPmon.opens(line) for line in lines) >= 2

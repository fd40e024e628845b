"""What names people and machines leaves no trace in a redacted bundle, and the diagnosis stays the same."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.resolve import resolve
from collectors.scan import read_inputs
from diagnose.bundle.errors import BundleError
from diagnose.bundle.identifiers import Identifiers, Learner
from diagnose.bundle.pseudonyms import Pseudonyms
from diagnose.bundle.read import Bundle
from diagnose.bundle.redact import NOT_REDACTED, redact
from diagnose.bundle.redactor import Redactor
from diagnose.bundle.verify import verify
from diagnose.bundle.write import write_bundle
from diagnose.engine.session import SessionRunner
from diagnose.facts import Fact
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from tests.bundle.identifying import FILES, KEPT, SERIALS, forbidden

KEY = b"a key of thirty-two bytes length"


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def contents(bundle: Path) -> dict[str, str]:
    data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(bundle.read_bytes())).read()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = {}
        for member in archive.getmembers():
            opened = archive.extractfile(member)
            assert opened is not None
            found[member.name] = opened.read().decode()
    return found


def unpacked(bundle: Path) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(bundle.read_bytes())).read()


@pytest.fixture(scope="module")
def redacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = put(tmp_path_factory.mktemp("recording"), FILES)
    output = tmp_path_factory.mktemp("out") / "x.tar.zst"
    redact(folder, output, KEY)
    return output


@pytest.mark.parametrize("word", sorted(forbidden()))
def test_no_identifier_or_secret_is_in_any_byte_of_the_bundle(redacted: Path, word: str) -> None:
    data = unpacked(redacted).lower()
    at = data.find(word.encode())
    assert at < 0, data[max(0, at - 80) : at + 80]


@pytest.mark.parametrize("text", KEPT)
def test_what_diagnosis_needs_stays(redacted: Path, text: str) -> None:
    assert text in unpacked(redacted).decode()


def test_files_of_the_bundle_are_all_there_and_whole(redacted: Path) -> None:
    assert len(contents(redacted)) == len(FILES)
    assert verify(Bundle(redacted)).problems == []
    assert Bundle(redacted).manifest.redacted


def test_equal_names_get_equal_stand_ins_in_all_files(redacted: Path) -> None:
    found = contents(redacted)
    host = Bundle(redacted).manifest.host
    assert host is not None
    assert host.startswith("host-")
    for name in ("terminal.txt", "nccl.log", "etc/hosts", "recorded/tree.txt"):
        assert host in found[name]
    uuid = found["query.csv"].split("\n")[1].split(", ")[1]
    assert uuid in found["nvidia-smi-q.txt"]
    assert uuid in found["terminal.txt"]
    assert f"CUDA_VISIBLE_DEVICES={uuid[:12]}" in found["terminal.txt"]
    guid = found["fabric.txt"].partition("Node GUID: 0x")[2][:16]
    assert f"H-{guid}" in found["fabric.txt"]
    assert ":".join(guid[at : at + 4] for at in (0, 4, 8, 12)) in found["recorded/tree.txt"]


def test_a_key_makes_bundles_alike_and_no_key_makes_them_differ(tmp_path: Path) -> None:
    folder = put(tmp_path / "in", FILES)
    outputs = [tmp_path / f"{number}.tar.zst" for number in range(4)]
    for output, key in zip(outputs, (KEY, KEY, None, None), strict=True):
        redact(folder, output, key)
    first, second, third, fourth = (contents(output) for output in outputs)
    assert first == second
    assert len({text["nccl.log"] for text in (first, third, fourth)}) == 3


def test_redacting_again_changes_nothing_whatever_the_key(redacted: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tar.zst"
    redact(redacted, again, b"another key that is quite long ok")
    assert contents(again) == contents(redacted)


def test_the_source_may_be_an_archive_a_file_or_compressed_files(tmp_path: Path) -> None:
    folder = put(tmp_path / "in", FILES)
    (folder / "old.log.gz").write_bytes(gzip.compress(FILES["nccl.log"].encode()))
    packed = tmp_path / "x.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(folder, "in")
    nested = tmp_path / "outer.tar"
    with tarfile.open(nested, "w") as archive:
        archive.add(packed, "gpu-a17.tar.gz")
    for source in (folder, packed, nested, folder / "nccl.log"):
        output = tmp_path / "out.tar.zst"
        redact(source, output, KEY)
        data = unpacked(output).lower()
        assert b"nccl info net/socket" in data
        assert not [word for word in ("gpu-a17", "10.21.33.17", "mzander") if word.encode() in data]
    redact(folder, output, KEY)
    assert "old.log" in contents(output)


def test_what_is_no_text_is_left_out_and_named(tmp_path: Path) -> None:
    folder = put(tmp_path / "in", {"x.txt": "hello\n"})
    (folder / "core-gpu-a17").write_bytes(b"\x7fELF" + bytes(100))
    (folder / "terminal.txt").write_text("mzander@gpu-a17:~$ ls\n")
    done = redact(folder, tmp_path / "o.tar.zst", KEY)
    ((path, why),) = done.left_out
    assert path.startswith("core-host-")
    assert "ELF" in why
    assert [item.path for item in Bundle(tmp_path / "o.tar.zst").manifest.left_out] == [path]


def test_a_source_without_any_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(BundleError, match="empty"):
        redact(tmp_path / "in", tmp_path / "o.tar.zst")
    assert not (tmp_path / "o.tar.zst").exists()


def test_the_sentence_for_no_redaction_names_every_kind() -> None:
    for word in ("host names", "IP", "GUID", "UUID", "serial", "account", "home", "command lines", "password"):
        assert word in NOT_REDACTED


def test_a_large_file_is_redacted_piece_by_piece() -> None:
    line = "Mar  1 10:00:05 gpu-a17 kernel: mlx5_core 0000:17:00.0 ens1f0np0: Link up, peer 10.21.33.17\n"
    given: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(1000):
            given.append(number)
            yield line * 50

    pieces = Redactor(Identifiers(hosts={"gpu-a17"}), Pseudonyms(KEY)).pieces(texts())
    assert "gpu-a17" not in next(pieces)
    assert given == [0]


def test_a_host_called_like_a_word_is_replaced_where_it_is_named(tmp_path: Path) -> None:
    folder = put(
        tmp_path / "in", {"manifest.json": '{"schema": "diagnose.bundle/1", "host": "vm"}', "x": "vm_stat 5\n"}
    )
    redact(folder, tmp_path / "o.tar.zst", KEY)
    assert (Bundle(tmp_path / "o.tar.zst").manifest.host or "").startswith("host-")
    assert "vm_stat 5" in contents(tmp_path / "o.tar.zst")["x"]


def shape(fact: Fact) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """A fact without names: kind, which parts of the subject are known, and values that are no text."""
    subject = fact.subject
    known = ",".join(name for name, value in subject if value is not None)
    numbers = {name: str(value) for name, value in fact.values().items() if not isinstance(value, str)}
    return (
        fact.kind,
        f"{known} {subject.gpu_index} {subject.gpu_bus_id} {subject.bus_id} {subject.rank}",
        tuple(sorted(numbers.items())),
    )


def outcome(runner: SessionRunner, path: Path) -> tuple[Counter[object], Counter[tuple[str, float]]]:
    facts = resolve(read_inputs([str(path)]).facts)
    causes = diagnose(runner, facts, []).causes
    return Counter(map(shape, facts)), Counter((cause.known.cause.id, round(cause.probability, 6)) for cause in causes)


@pytest.fixture(scope="module")
def runner() -> SessionRunner:
    return SessionRunner(load_knowledge())


CASES = (
    "bar1-0m-4080super-bios-update",
    "fabricmanager-not-running-h100x8-802",
    "hang-acs-amd-bridges",
    "hang-connection-refused-bad-node",
    "ib6-carrier-flap-azure",
    "multinode-nvlstree-chunk-regression",
    "multinode-routing-collision-pair",
    "multinode-stage-imbalance",
    "phantom-utilization-5090x8",
    "topo-nv18-8gpu-healthy",
    "unattended-upgrade-driver-mismatch-580",
    "xid79-3060ti-repeated-550",
)


@pytest.mark.parametrize("case", CASES)
def test_the_diagnosis_of_a_case_is_the_same_before_and_after(
    corpus: Path, runner: SessionRunner, tmp_path: Path, case: str
) -> None:
    output = tmp_path / "o.tar.zst"
    redact(corpus / "cases" / case, output, KEY)
    assert outcome(runner, output) == outcome(runner, corpus / "cases" / case)


def eight_gpus() -> dict[str, str]:
    """A recording of a machine with eight GPUs, one of which fell off the bus."""
    uuids = [f"GPU-{number:08x}-77b0-4d1e-9a55-0c6d1f2e3b4a" for number in range(0x3F1C2A90, 0x3F1C2A98)]
    buses = ("1B", "43", "52", "61", "9D", "C3", "D1", "DF")
    query = "index, name, uuid, serial, pci.bus_id, temperature.gpu, pcie.link.width.current, pcie.link.width.max\n"
    listing = "mzander@gpu-a17:~$ nvidia-smi -L\n"
    for index, (uuid, bus) in enumerate(zip(uuids, buses, strict=True)):
        query += f"{index}, NVIDIA H100 80GB HBM3, {uuid}, 165242101773{index}, 00000000:{bus}:00.0, 4{index}, 16, 16\n"
        listing += f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: {uuid})\n"
    line = "Mar  1 10:00:{:02d} gpu-a17 kernel: NVRM: Xid (PCI:0000:61:00): {}, pid=41220, name=python, {}\n"
    log = line.format(1, 79, "GPU has fallen off the bus.")
    log += line.format(2, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset)")
    return {
        "manifest.json": FILES["manifest.json"],
        "commands/nvidia-smi-query.txt": query,
        "commands/nvidia-smi-l.txt": listing,
        "logs/journal.txt": log,
        "nccl.log": FILES["nccl.log"],
    }


def test_the_diagnosis_of_eight_gpus_is_the_same_before_and_after(runner: SessionRunner, tmp_path: Path) -> None:
    folder = put(tmp_path / "in", eight_gpus())
    plain, output = tmp_path / "plain.tar.zst", tmp_path / "o.tar.zst"
    write_bundle(folder, plain)
    redact(plain, output, KEY)
    before = outcome(runner, folder)
    assert before[1]
    assert outcome(runner, plain) == before
    assert outcome(runner, output) == before
    assert not [serial for serial in SERIALS if serial.encode() in unpacked(output)]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_damaged_texts_never_raise(data: st.DataObject) -> None:
    text = bytearray("".join(FILES.values()).encode())
    for _ in range(20):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(1, 255))
    start = data.draw(st.integers(0, len(text)))
    damaged = bytes(text[start:]).decode("utf-8", "surrogateescape")
    identifiers = Identifiers()
    Learner(identifiers, "x").read(damaged)
    redactor = Redactor(identifiers, Pseudonyms(KEY))
    once = redactor.text(damaged)
    assert once.count("\n") == damaged.count("\n") or "PRIVATE" in damaged

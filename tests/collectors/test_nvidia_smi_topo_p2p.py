from __future__ import annotations

from pathlib import Path

import pytest

from collectors.nvidia_smi_topo_p2p import NvidiaSmiTopoP2p
from diagnose.facts.topology import GpuPath, PeerAccess
from tests.collectors.helpers import block, damaged, opened

MATRIX = """\
 \tGPU0\tGPU1\tGPU2
 GPU0\tX\tOK\tCNS
 GPU1\tOK\tX\tOK
 GPU2\tCNS\tTNS\tX

Legend:

  X    = Self
  OK   = Status Ok
"""


def access(text: str, command: str | None = None) -> list[PeerAccess]:
    parsed = NvidiaSmiTopoP2p.parse(block(text, command=command))
    return [fact for fact in parsed.facts if isinstance(fact, PeerAccess)]


def test_each_pair_appears_once_and_the_failing_direction_wins() -> None:
    assert {(fact.subject.gpu_index, fact.peer): fact.status for fact in access(MATRIX)} == {
        (0, "1"): "OK",
        (0, "2"): "CNS",
        (1, "2"): "TNS",
    }


@pytest.mark.parametrize(
    ("command", "operation"),
    [
        ("nvidia-smi topo -p2p r", "read"),
        ("nvidia-smi topo -p2p w", "write"),
        ("nvidia-smi topo -p2p n", "nvlink"),
        ("nvidia-smi topo -p2p a", "atomics"),
        ("nvidia-smi topo -p2p p", "pcie"),
        ("nvidia-smi topo -p2p", "unknown"),
        (None, "unknown"),
    ],
)
def test_operation_comes_from_the_command(command: str | None, operation: str) -> None:
    assert {fact.operation for fact in access(MATRIX, command)} == {operation}


def test_header_of_gpu_columns_opens() -> None:
    assert len(opened(NvidiaSmiTopoP2p, MATRIX)) == 1


def test_matrix_of_connections_without_its_other_columns_gives_paths() -> None:
    parsed = NvidiaSmiTopoP2p.parse(block("     GPU0  GPU1\nGPU0  X   PHB\nGPU1  PHB  X\n"))
    (path,) = [fact for fact in parsed.facts if isinstance(fact, GpuPath)]
    assert path.connection == "PHB"


def test_unknown_status_is_a_problem() -> None:
    parsed = NvidiaSmiTopoP2p.parse(block(" GPU0 GPU1\n GPU0 X OK\n GPU1 ?? X\n"))
    assert parsed.problems == ["line 3: GPU1 to GPU0 reads '??', which is no status"]


def test_damaged_text_never_raises() -> None:
    for text in damaged(MATRIX):
        NvidiaSmiTopoP2p.parse(block(text))


def test_pair_without_peer_access_is_seen_in_the_field_case(corpus: Path) -> None:
    (fact,) = access((corpus / "cases/single-l4-no-p2p-cns/topo_p2p.txt").read_text())
    assert (fact.subject.gpu_index, fact.peer, fact.status, fact.operation) == (0, "1", "CNS", "read")


def test_field_matrix_of_eight_gpus_has_every_pair(corpus: Path) -> None:
    facts = access((corpus / "files/topo/mleng-topo-p2p-h100.txt").read_text())
    assert len(facts) == 28
    assert {fact.status for fact in facts} == {"OK"}

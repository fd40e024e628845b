from __future__ import annotations

from typing import TypeVar

from collectors.nvidia_smi_nvlink import NvidiaSmiNvlink
from diagnose.facts import Fact
from diagnose.facts.gpu import GpuIdentity, NvlinkErrors, NvlinkState, NvlinkSummary
from tests.collectors.helpers import block, damaged

F = TypeVar("F", bound=Fact)

STATES = """\
GPU 3: Tesla V100-SXM2-32GB (UUID: GPU-0f4e1c2d-1111-4222-8333-0123456789ab)
\t Link 0: 25.781 GB/s
\t Link 1: <inactive>
\t Link 2: 25.781 GB/s
GPU 4: Tesla V100-SXM2-32GB (UUID: GPU-0f4e1c2d-1111-4222-8333-0123456789ac)
NVML: Unable to retrieve NVLink information as all links are inactive
GPU 5: NVIDIA L40S (UUID: GPU-0f4e1c2d-1111-4222-8333-0123456789ad)
Device does not have or support Nvlink
"""
ERRORS = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0f4e1c2d-1111-4222-8333-0123456789ab)
         Link 0: Replay Errors: 12
         Link 0: Recovery Errors: 1
         Link 0: CRC Errors: 3
         Link 1: Replay Errors: N/A
         Link 1: Recovery Errors: 0
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0f4e1c2d-1111-4222-8333-0123456789ab)
         Link 0: Remote Device 00000000:C4:00.0: Link 11
         Link 0: Data Tx: 1390774681 KiB
         Link 0, P2P is supported: true
"""


def facts(text: str, kind: type[F]) -> list[F]:
    return [fact for fact in NvidiaSmiNvlink.parse(block(text)).facts if isinstance(fact, kind)]


def test_states_of_links() -> None:
    first, second, _ = facts(STATES, NvlinkState)
    assert (first.subject.gpu_index, first.subject.link, first.sources[0].line) == (3, 0, 2)
    assert first.values() == {"active": True, "bandwidth_bytes_per_second": 25.781e9}
    assert second.values() == {"active": False}


def test_links_are_counted_for_each_gpu() -> None:
    assert [
        (fact.subject.gpu_index, fact.links, fact.active, fact.inactive) for fact in facts(STATES, NvlinkSummary)
    ] == [
        (3, 3, 2, 1),
        (4, 0, 0, 0),
    ]


def test_a_gpu_without_nvlink_has_no_summary() -> None:
    assert 5 not in [fact.subject.gpu_index for fact in facts(STATES, NvlinkSummary)]
    assert [fact.subject.gpu_index for fact in facts(STATES, GpuIdentity)] == [3, 4, 5]


def test_error_counters() -> None:
    first, second = facts(ERRORS, NvlinkErrors)
    assert first.values() == {"replay_count": 12, "recovery_count": 1, "crc_flit_count": 3}
    assert second.values() == {"recovery_count": 0}
    assert second.missing == {"replay_count": "not-applicable"}


def test_remote_ends_come_without_a_state() -> None:
    (state,) = facts(ERRORS, NvlinkState)
    assert state.values() == {"remote_bus_id": "0000:c4:00.0"}
    assert facts(ERRORS, NvlinkSummary) == []


def test_links_without_their_gpu_are_recognised() -> None:
    text = "\n".join(STATES.splitlines()[1:4])
    assert NvidiaSmiNvlink.resembles(text.splitlines()) >= 0.5
    (summary,) = facts(text, NvlinkSummary)
    assert (summary.subject.gpu, summary.active) == (None, 2)


def test_text_without_links_is_a_problem() -> None:
    assert NvidiaSmiNvlink.parse(block("none")).problems == ["line 1: no link is listed"]


def test_damaged_output_never_raises() -> None:
    for text in damaged(STATES + ERRORS):
        NvidiaSmiNvlink.parse(block(text))
        NvidiaSmiNvlink.resembles(text.splitlines())

"""Ranks compared by their traces: who is waited for, without trust in clocks, and nobody where nobody is late."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.synthetic_trace import Job, document, run
from diagnose.facts.trace import TraceRanks
from tests.analysis.traces import facts_of, job_facts, only, text
from tests.analysis.traces import kernel as gpu_kernel

JOB = Job(ranks=8, steps=4, kernels=60, kernel_us=200, buckets=3, exchange_us=400)


def varied(**changes: Any) -> Job:
    return Job(**{**vars(JOB), **changes})


def test_the_rank_with_slower_kernels_is_the_one_that_all_wait_for() -> None:
    found = only(TraceRanks, job_facts(varied(slower={5: 1.15})))
    assert (found.trace, found.subject.rank, found.lag_in) == ("rank 5", 5, "compute")
    assert found.same_kernels_ratio == pytest.approx(1.15)
    assert found.launched_kernels_ratio == pytest.approx(1)
    assert found.last_ratio == pytest.approx(1)
    assert found.p_value is not None
    assert found.p_value <= 0.01
    # Of a step of 60 kernels at 230 us and one exposed exchange the others compute 200 us for each kernel.
    assert found.lag_ratio == pytest.approx(60 * 30 / (60 * 230 + 400), rel=0.05)


def test_the_rank_with_more_kernels_is_late_with_kernels_as_fast() -> None:
    found = only(TraceRanks, job_facts(varied(more_kernels={2: 1.3})))
    assert (found.trace, found.lag_in) == ("rank 2", "compute")
    assert found.same_kernels_ratio == pytest.approx(1)
    assert found.launched_kernels_ratio == pytest.approx(1.3)


def test_a_rank_whose_loader_is_slow_loses_its_time_idle() -> None:
    found = only(TraceRanks, job_facts(varied(slow_loader_us={3: 3000})))
    assert (found.trace, found.lag_in) == ("rank 3", "idle")


def test_equal_ranks_have_no_straggler_and_do_not_wait() -> None:
    found = only(TraceRanks, job_facts(JOB))
    assert found.trace is None
    assert found.wait_ratio == pytest.approx(0, abs=1e-6)
    assert found.compute_balance_ratio == pytest.approx(1)


def test_noise_makes_no_straggler() -> None:
    generator = np.random.default_rng(4)
    accused = 0
    for _ in range(20):
        noise = {rank: float(1 + generator.normal(0, 0.01)) for rank in range(8)}
        accused += only(TraceRanks, job_facts(varied(steps=2, slower=noise))).trace is not None
    assert accused <= 3


def test_offsets_between_clocks_change_nothing() -> None:
    job = varied(slower={5: 1.15})
    offsets = {rank: float((rank * 7919) % 8 * 10_000_000) for rank in range(8)}
    plain = only(TraceRanks, job_facts(job)).values()
    shifted = only(TraceRanks, job_facts(varied(slower={5: 1.15}, clock_offset_us=offsets))).values()
    assert [shifted[name] for name in ("trace", "lag_in")] == ["rank 5", "compute"]
    numbers = [name for name, value in plain.items() if not isinstance(value, str)]
    assert [shifted[name] for name in numbers] == pytest.approx([plain[name] for name in numbers], rel=1e-3)


def test_time_in_collectives_splits_into_the_exchange_and_the_wait() -> None:
    found = only(TraceRanks, job_facts(varied(overlapped=False, slower={0: 1.5}, ranks=4)))
    window = 60 * 300 + 3 * 400
    assert found.exposed_transfer_ratio == pytest.approx(3 * 400 / window, rel=0.02)
    assert found.exposed_wait_ratio == pytest.approx(3 / 4 * 60 * 100 / window, rel=0.02)


def test_old_traces_without_arguments_are_matched_by_turn() -> None:
    found = only(TraceRanks, job_facts(varied(slower={5: 1.15}), old=True))
    assert found.trace == "rank 5"
    assert found.matched_collectives == 4 * 3


def test_traces_of_other_steps_are_not_compared() -> None:
    job = varied(ranks=2)
    first, second = (document(job, course) for course in run(job))
    for step in range(10, 14):
        second = second.replace(f"ProfilerStep#{step}", f"ProfilerStep#{step + 100}")
    assert not [fact for fact in facts_of(first, second) if isinstance(fact, TraceRanks)]


def test_two_traces_of_one_rank_are_not_two_ranks() -> None:
    job = varied(ranks=1)
    content = document(job, run(job)[0])
    assert not [fact for fact in facts_of(content, content) if isinstance(fact, TraceRanks)]


def test_ranks_with_unequal_numbers_of_collectives_are_not_matched() -> None:
    def rank(number: int, collectives: int) -> str:
        rows = [gpu_kernel(100 * at, 50, name="ncclDevKernel_AllReduce_Sum", stream=20) for at in range(collectives)]
        return text(rows, distributedInfo={"rank": number})

    assert not [fact for fact in facts_of(rank(0, 3), rank(1, 4)) if isinstance(fact, TraceRanks)]


def test_ranks_whose_traces_break_off_are_left_out_of_the_comparison() -> None:
    contents = [document(JOB, course) for course in run(JOB)]
    cut = [text[: len(text) * 3 // 4] if rank in (1, 6) else text for rank, text in enumerate(contents)]
    found = only(TraceRanks, facts_of(*cut))
    assert found.ranks == 6
    assert found.trace is None
    assert found.compute_balance_ratio == pytest.approx(1)

"""Breakdowns of traces whose times were chosen, so that the shares follow from them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.synthetic_trace import Job
from diagnose.facts.trace import TraceCollective, TraceDataLoader, TraceIdle, TraceLaunch, TraceSummary
from tests.analysis.traces import ALL_REDUCE, event, facts_of, job_facts, kernel, launch, only, text

work = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 60), st.sampled_from(["gemm", ALL_REDUCE, "copy"])), min_size=1
)


def placed(start: int, duration: int, what: str) -> dict[str, Any]:
    if what == "copy":
        return event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", start, duration, tid=24, device=0, stream=24)
    return kernel(start, duration, name=what, stream=7 if what == "gemm" else 20)


@given(work)
def test_shares_add_up_to_one_and_agree_with_counting_microseconds(rows: list[tuple[int, int, str]]) -> None:
    facts = facts_of(text([placed(*row) for row in rows]))
    cells = {
        what: {cell for start, duration, kind in rows if kind == what for cell in range(start, start + duration)}
        for what in ("gemm", ALL_REDUCE, "copy")
    }
    busy = set().union(*cells.values())
    if not busy:
        assert not [fact for fact in facts if isinstance(fact, TraceSummary)]
        return
    window = max(busy) + 1 - min(busy)
    found = only(TraceSummary, facts)
    assert found.window_seconds == pytest.approx(window * 1e-6)
    assert found.compute_ratio == pytest.approx(len(cells["gemm"]) / window)
    assert found.communication_ratio == pytest.approx(len(cells[ALL_REDUCE]) / window)
    assert found.exposed_communication_ratio == pytest.approx(len(cells[ALL_REDUCE] - cells["gemm"]) / window)
    assert found.exposed_copy_ratio == pytest.approx(len(cells["copy"] - cells["gemm"] - cells[ALL_REDUCE]) / window)
    parts = found.compute_ratio + found.exposed_communication_ratio + found.exposed_copy_ratio + found.idle_ratio
    assert parts == pytest.approx(1)
    idle = only(TraceIdle, facts)
    assert idle.idle_ratio == pytest.approx(found.idle_ratio, abs=1e-9)
    reasons = {name: value for name, value in idle.values().items() if name not in ("trace", "idle_ratio")}
    assert sum(reasons.values()) == pytest.approx(idle.idle_ratio, abs=1e-9)


def test_idle_time_is_given_to_what_the_host_did_until_it_launched_the_next_kernel() -> None:
    found = only(
        TraceIdle,
        facts_of(
            text(
                [
                    launch(0, 1), kernel(100, 100, launch=1),
                    # 200 to 500: the loader until 300, an operator until 350, elsewhere until the call at 400, then on
                    # its way or queued for 100.
                    event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 150, 150),
                    event("cpu_op", "aten::linear", 300, 50),
                    launch(400, 2, duration=1), kernel(500, 100, launch=2),
                    # 600 to 610: launched long before.
                    launch(450, 3, duration=1), kernel(610, 90, launch=3),
                    # 700 to 900: no call is known.
                    kernel(900, 100, launch=4),
                ]
            )
        ),
    )  # fmt: skip
    window = 900
    assert found.idle_ratio == pytest.approx(510 / window)
    assert found.data_loader_ratio == pytest.approx(100 / window)
    assert found.host_busy_ratio == pytest.approx(50 / window)
    assert found.host_other_ratio == pytest.approx(50 / window)
    assert found.queued_ratio == pytest.approx(100 / window)
    assert found.kernel_gap_ratio == pytest.approx(10 / window)
    assert found.unexplained_ratio == pytest.approx(200 / window)


def test_a_thread_that_loads_ahead_and_drives_no_gpu_holds_nobody_up() -> None:
    waits = [event("user_annotation", "enumerate(DataLoader)#_x.__next__", 0, 900, tid=99)]
    facts = facts_of(
        text([*waits, launch(0, 1), kernel(10, 100, launch=1), launch(700, 2), kernel(710, 100, launch=2)])
    )
    assert not [fact for fact in facts if isinstance(fact, TraceDataLoader)]
    assert only(TraceIdle, facts).data_loader_ratio == 0


def test_launches_are_counted_with_how_often_they_found_the_gpu_idle() -> None:
    rows = [
        launch(0, 1), launch(10, 2), launch(20, 3), launch(500, 4),
        event("cuda_runtime", "cudaGraphLaunch", 600, 5, correlation=5),
        event("cuda_runtime", "cudaStreamSynchronize", 300, 150, correlation=0),
        event("user_annotation", "ProfilerStep#3", 0, 1000),
        kernel(5, 100, launch=1), kernel(105, 100, launch=2), kernel(205, 5, launch=3), kernel(505, 200, launch=4),
        kernel(705, 50, launch=5), kernel(755, 50, launch=5),
    ]  # fmt: skip
    found = only(TraceLaunch, facts_of(text(rows)))
    assert (found.launches, found.graph_launches, found.synchronisations) == (5, 1, 1)
    assert found.kernels_per_launch == pytest.approx(6 / 5)
    assert found.queue_empty_ratio == pytest.approx(2 / 6)
    assert found.synchronisations_per_step == 1
    # The intervals are 10, 10, 480 and 100; one of six kernels is shorter than their median of 55, two of 50 are too.
    assert found.interval_seconds == pytest.approx(55e-6)
    assert found.short_kernels_ratio == pytest.approx(3 / 6)


def test_collectives_are_summed_up_by_sort_and_size_with_what_is_exposed() -> None:
    told = {"Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1 << 20}
    rows = [
        kernel(0, 100),
        kernel(50, 100, name=ALL_REDUCE, stream=20, told=told),
        kernel(200, 30, name=ALL_REDUCE, stream=20, told=told),
        kernel(300, 10, name="ncclDevKernel_AllGather_RING_LL", stream=20),
    ]
    first, second = [fact for fact in facts_of(text(rows)) if isinstance(fact, TraceCollective)]
    assert (first.collective, first.size, first.count) == ("all-reduce", "up to 16 MiB", 2)
    assert first.total_seconds == pytest.approx(130e-6)
    assert first.exposed_seconds == pytest.approx(80e-6)
    assert first.total_bytes == 2 * (2 << 20)
    assert first.fastest_bytes_per_second == pytest.approx((2 << 20) / 30e-6)
    assert (second.collective, second.size, second.total_bytes) == ("all-gather", "unknown", None)


def test_waits_for_batches_count_as_idle_only_while_the_gpu_is() -> None:
    job = Job(steps=6, loader_us=4000, worker_processes=False, kernels=100, kernel_us=100, buckets=0)
    found = only(TraceDataLoader, job_facts(job))
    assert (found.waits, found.worker_processes) == (6, False)
    assert found.median_wait_seconds == pytest.approx(0.004)
    # The first wait is before the first kernel; each of the others leaves the GPU idle throughout.
    window = 6 * (100 * 100 + 5) + 5 * 4000
    assert found.idle_ratio == pytest.approx(5 * 4000 / window, rel=0.01)
    assert found.waits_with_idle_ratio == 1


@pytest.mark.parametrize("old", [False, True])
def test_overlap_follows_from_when_the_buckets_go_out(old: bool) -> None:
    job = Job(ranks=1, steps=3, kernels=100, kernel_us=100, buckets=4, exchange_us=1000)
    hidden, exposed = (
        only(TraceSummary, job_facts(Job(**{**vars(job), "overlapped": overlapped}), old=old))
        for overlapped in (True, False)
    )
    assert hidden.overlap_ratio == pytest.approx(3 / 4)
    assert exposed.overlap_ratio == pytest.approx(0)
    assert exposed.exposed_communication_ratio == pytest.approx(4 / 14, rel=0.01)
    assert exposed.steps == 3

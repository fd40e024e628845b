"""PyTorch's traces of all ages become columns, and what is missing or cut is said."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

from benchmarks.synthetic_trace import Job, document, run, write_job
from collectors import kineto_trace
from collectors.base import Parsed
from collectors.inputs import Status
from collectors.kineto_names import collective_in, fetches_batch, launch_of, waits_for_gpu, work_of
from collectors.kineto_trace import KinetoTrace
from collectors.scan import read_inputs
from diagnose.facts.series import Requests, Series
from diagnose.facts.trace import TraceProfile
from diagnose.facts.trace_columns import Launch, Trace, Work
from tests.analysis.traces import event, kernel, launch, parsed, text

JOB = Job(ranks=2, steps=2, kernels=20, buckets=2)


def trace_of(content: str | bytes, name: str = "trace.json") -> Trace:
    (found,) = parsed(content, name).series
    assert not isinstance(found, Series | Requests)
    return found


def profile_of(content: str, name: str = "trace.json") -> TraceProfile:
    return told_profile(parsed(content, name))


def told_profile(read: Parsed) -> TraceProfile:
    (found,) = read.facts
    assert isinstance(found, TraceProfile)
    return found


def test_every_sort_of_event_goes_to_its_column() -> None:
    found = trace_of(document(JOB, run(JOB)[1]))
    assert (found.subject.rank, found.label) == (1, "rank 1")
    assert np.bincount(found.gpu.work).tolist() == [40, 4]
    assert [len(part) for part in (found.launches, found.waits_for_gpu, found.loader, found.steps)] == [44, 2, 2, 2]
    assert found.steps.code.tolist() == [10, 11]
    assert (found.gpu.launch >= 0).all()
    assert {found.names[kind] for kind in found.collectives.kind} == {"all-reduce"}
    assert set(found.collectives.size_bytes) == {JOB.bucket_elements * 2.0}
    assert len({found.names[code] for code in found.gpu.name}) == 21, "a kernel with another grid is another"


def test_names_and_categories_of_2021_give_the_same_times() -> None:
    course = run(JOB)[0]
    new, old = trace_of(document(JOB, course)), trace_of(document(JOB, course, old=True), "rank-0.json")
    assert old.gpu.start_seconds.tolist() == new.gpu.start_seconds.tolist()
    assert old.gpu.work.tolist() == new.gpu.work.tolist()
    assert old.loader.duration_seconds.tolist() == new.loader.duration_seconds.tolist()
    assert old.steps.code.tolist() == new.steps.code.tolist()
    assert np.isnan(old.collectives.size_bytes).all()
    assert (old.collectives.group == -1).all()


def test_nanoseconds_are_told_from_microseconds() -> None:
    rows = [kernel(at, 2000) for at in (1_700_000_000_000_000_007, 1_700_000_000_001_000_007)]
    found = trace_of(text(rows))
    assert found.gpu.start_seconds.tolist() == pytest.approx([0, 0.001])
    assert found.gpu.duration_seconds.tolist() == pytest.approx([2e-6, 2e-6])


@pytest.mark.parametrize(
    ("header", "name", "rank"),
    [
        ({"distributedInfo": {"rank": 34, "world_size": 300}}, "x/rank7.json", 34),
        ({}, "x/rank-7.json.gz", 7),
        ({}, "run3/worker12_step_9.169412.pt.trace.json", 12),
        ({}, "ranks.tar.gz!job/rank_3.json", 3),
        ({}, "resnet50-workers4.pt.trace.json", None),
        ({}, "gpu-a01_4711.1623143089861.pt.trace.json", None),
        ({"distributedInfo": {"rank": "x"}}, "trace.json", None),
    ],
)
def test_the_rank_is_told_by_the_trace_else_by_the_name(header: dict[str, object], name: str, rank: int | None) -> None:
    assert trace_of(text([kernel(0, 1)], **header), name).subject.rank == rank


def test_a_trace_of_the_host_alone_says_that_it_has_no_gpu_work() -> None:
    found = profile_of(text([event("cpu_op", "aten::mul", 0, 5), event("user_annotation", "gloo:all_reduce", 5, 50)]))
    assert (found.gpu_events, found.host_events, found.complete) == (0, 1, True)


def test_counters_of_cupti_are_passed_over() -> None:
    rows = [event("cuda_profiler_range", "kernel", 0, 10**9, **{"smsp__inst_executed.sum": 5}), kernel(5, 10)]
    found = trace_of(text(rows))
    assert len(found.gpu) == 1
    assert found.gpu.start_seconds.tolist() == [0]


def test_recorded_stacks_are_noticed() -> None:
    plain = [kernel(0, 1), event("cpu_op", "aten::mul", 0, 5)]
    assert not profile_of(text(plain)).python_stacks
    assert profile_of(text(plain, with_stack=1)).python_stacks
    assert profile_of(text([*plain, event("python_function", "train.py(3): main", 0, 9)])).python_stacks
    in_operators = event("Operator", "aten::mul", 0, 5, **{"Call stack": "a.py(1)"})
    assert profile_of(text([kernel(0, 1), in_operators])).python_stacks


def test_a_killed_profiler_leaves_what_was_written_and_a_sentence() -> None:
    content = document(JOB, run(JOB)[0])
    found = parsed(content[: len(content) * 9 // 10])
    assert len(found.series) == 1
    assert any("ends early" in problem and "events in" in problem for problem in found.problems)
    (profile,) = found.facts
    assert isinstance(profile, TraceProfile)
    assert not profile.complete


def test_a_trace_over_the_limit_is_read_that_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kineto_trace, "MOST_ROWS", 30)
    found = parsed(text([kernel(100 * at, 50) for at in range(100)]))
    assert "30 events" in found.problems[0]
    assert "larger than what is read at once" in found.problems[0]
    assert len(found.series[0]) == 30


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e400", '"x"', "null", "true", "9" * 5000, "[]"])
def test_times_that_are_no_numbers_leave_the_event_out(value: str) -> None:
    content = text([kernel(0, 1), kernel(10, 1)]).replace('"ts": 10', f'"ts": {value}')
    found = parsed(content)
    assert sum(len(series) for series in found.series) == 1
    assert any("left out (1)" in problem for problem in found.problems)


@pytest.mark.parametrize("row", [kernel(0, 10), kernel(1_700_000_000_000_000, -1), kernel(1_700_000_000_000_000, 1e15)])
def test_times_that_cannot_be_are_left_out_and_told(row: dict[str, object]) -> None:
    found = parsed(text([kernel(1_700_000_000_000_000, 10), row, kernel(1_700_000_000_000_050, 10)]))
    assert told_profile(found).span_seconds == pytest.approx(60e-6)
    assert any("without a possible time were left out (1)" in problem for problem in found.problems)


def test_numbers_that_fit_no_column_are_absent() -> None:
    rows = [kernel(0, 1, launch=1 << 70, name="ncclDevKernel_AllReduce")]
    rows[0]["args"] |= {"In msg nelems": 1 << 90, "dtype": "Float", "device": 1 << 40}
    found = trace_of(text(rows))
    assert found.gpu.launch.tolist() == [-1]
    assert found.gpu.device.tolist() == [-1]
    assert np.isnan(found.collectives.size_bytes).all()


def test_cuts_and_flips_never_raise() -> None:
    data = document(JOB, run(JOB)[0]).encode()
    generator = random.Random(2)
    for _ in range(120):
        parsed(data[: generator.randrange(len(data))])
        flipped = bytearray(data)
        for _ in range(5):
            flipped[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        parsed(bytes(flipped))


@pytest.mark.parametrize(
    ("head", "recognised"),
    [
        (b'\n{\n  "schemaVersion": 1,\n  "deviceProperties": [', True),
        (b'{"traceEvents": [', True),
        (b'[{"ph": "X", "name": "aten::add", "ts": 1', True),
        (b'[\r\n {"args": {"name": "x", "of": {}}, "ph": "M", "ts": 0', True),
        (b'[{"name": "x", "ts": 1, "phase": "X"}]', False),
        (b'["ph", {"ph": "X", "name": "x", "ts": 1}]', False),
        (b'{"entries": [{"collective_seq_id": 1', False),
        (b'{"schemaVersion": 2, "name": "a Dockerfile"', False),
        (b"traceEvents", False),
        (b'[{"name": "x"}]', False),
        (b"", False),
    ],
)
def test_traces_are_recognised_by_what_they_begin_with(head: bytes, recognised: bool) -> None:
    assert KinetoTrace.recognises(head, "x.json") == recognised


@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", Work.COMMUNICATION),
        ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", Work.COMMUNICATION),
        ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", Work.COMMUNICATION),
        ("void vllm::cross_device_reduce_1stage<__half, 2>(vllm::RankData*)", Work.COMMUNICATION),
        ("void at::native::reduce_kernel<512, 1>(at::native::ReduceOp)", Work.COMPUTE),
        ("void at::native::(anonymous namespace)::SyncBatchNormKernel", Work.COMPUTE),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", Work.COMPUTE),
    ],
)
def test_kernels_that_communicate_are_known_by_name(name: str, work: Work) -> None:
    assert work_of(name) is work


@pytest.mark.parametrize(
    ("name", "collective"),
    [
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce-scatter"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "send-receive"),
        ("_allgather_base", "all-gather"),
        ("all_to_allv", "all-to-all"),
        ("allreduce_coalesced", "all-reduce"),
        ("ncclDevKernel_Generic_4", "other"),
    ],
)
def test_collectives_are_named_alike(name: str, collective: str) -> None:
    assert collective_in(name) == collective


def test_calls_of_the_runtimes_are_told_apart() -> None:
    assert launch_of("cudaLaunchKernelExC") is Launch.KERNEL
    assert launch_of("hipExtModuleLaunchKernel") is Launch.KERNEL
    assert launch_of("cuLaunchKernel") is Launch.KERNEL
    assert launch_of("cudaGraphLaunch") is Launch.GRAPH
    assert launch_of("cudaMemcpyAsync") is Launch.COPY
    assert launch_of("cudaOccupancyMaxActiveBlocksPerMultiprocessor") is None
    assert waits_for_gpu("hipStreamSynchronize")
    assert waits_for_gpu("cudaMemcpy")
    assert not waits_for_gpu("cudaMemcpyAsync")
    assert fetches_batch("[pl][profile][_TrainingEpochLoop].train_dataloader_next")
    assert fetches_batch("torch/utils/data/dataloader.py(628): __next__")
    assert not fetches_batch("DataLoader.__init__")


def test_ranks_in_a_folder_are_read_compressed(tmp_path: Path) -> None:
    write_job(JOB, tmp_path)
    found = read_inputs([str(tmp_path)])
    assert [(item.kind, item.status) for item in found.inputs] == [("kineto-trace", Status.PARSED)] * 2
    assert [series.subject.rank for series in found.series] == [0, 1]


def test_a_compressed_file_that_breaks_off_is_partial(tmp_path: Path) -> None:
    path = tmp_path / "rank0.json.gz"
    data = gzip.compress(document(JOB, run(JOB)[0]).encode())
    path.write_bytes(data[: len(data) * 2 // 3])
    (report,) = read_inputs([str(path)]).inputs
    assert report.status is Status.PARTIAL
    assert "ends early" in (report.detail or "")


def test_another_programs_chrome_trace_is_reported_as_no_trace_of_pytorch() -> None:
    content = json.dumps({"traceEvents": [{"ph": "B", "cat": "v8", "name": "parse", "ts": 1, "pid": 1, "tid": 1}]})
    found = parsed(content)
    assert (found.facts, found.series) == ([], [])
    assert "no operators or kernels" in found.problems[0]


@pytest.mark.parametrize(
    ("name", "gpu_events", "collectives", "waits"),
    [
        ("hta-cpu-only-rank34.json.gz", 0, 0, 0),
        ("hta-cupti-profiler.json.gz", 0, 0, 0),
        ("hta-inference-rank1.json.gz", 4, 0, 0),
        ("hta-timeline-rank0.json.gz", 1204, 10, 0),
        ("kineto-tb-resnet50-workers0.pt.trace.json.gz", 9096, 0, 6),
        ("kineto-tb-resnet50-workers4.pt.trace.json.gz", 9258, 0, 6),
    ],
)
def test_traces_from_the_field_are_read_whole(
    corpus: Path, name: str, gpu_events: int, collectives: int, waits: int
) -> None:
    found = read_inputs([str(corpus / "files" / "pytorch-trace" / name)])
    assert [(item.kind, item.status, item.detail) for item in found.inputs] == [("kineto-trace", Status.PARSED, None)]
    (trace,) = found.series
    assert isinstance(trace, Trace)
    assert (len(trace.gpu), len(trace.collectives), len(trace.loader)) == (gpu_events, collectives, waits)
    assert (trace.gpu.launch >= 0).all()


def test_launches_are_joined_by_their_correlation() -> None:
    kernels = [kernel(20, 5, launch=3), kernel(30, 5, launch=5), kernel(40, 5, launch=9)]
    found = trace_of(text([launch(0, 5), launch(10, 3), *kernels]))
    assert found.gpu.launch.tolist() == [1, 0, -1]

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.nccl_tests import NcclTests
from diagnose.facts import Missing
from diagnose.facts.nccl import NcclTest
from tests.collectors.helpers import block, damaged, lines, opened

HEADER = """\
# nccl-tests version 2.17.6 nccl-headers=22803 nccl-library=22807
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1024 maxBytes 1073741824 step: 1024(factor) warmup iters: 1 iters: 20 validation: 1
#
# Using devices
#  Rank  0 Group  0 Pid  41001 on      gpu11 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  41002 on      gpu11 device  1 [0000:43:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid  52001 on      gpu12 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
#
"""
COLUMNS = """\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
ROWS = """\
        1024           256     float     sum      -1    25.00    0.04    0.07      0    24.00    0.04    0.07      0
     1048576        262144     float     sum      -1    60.00   17.48   30.58      0    61.00   17.19   30.08      2
  1073741824     268435456     float     sum      -1   6000.0  178.96  313.17      1   5900.0  181.99  318.48      0
"""
FOOTER = """\
# Out of bounds values : 3 FAILED
# Avg bus bandwidth    : 115.41
#
# Collective test concluded: all_reduce_perf
"""
NEW = HEADER + COLUMNS + ROWS + FOOTER

OLD = """\
# nThread 1 nGpus 8 minBytes 8 maxBytes 33554432 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
#   Rank  0 Pid   1001 on   localhost device  0 [0x1b] Tesla V100-SXM2-32GB
#
#                                                     out-of-place                       in-place
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           0             0   float     sum     1.10    0.00    0.00  0e+00     1.10    0.00    0.00  0e+00
    33554432       8388608   float     sum    500.0   67.11  117.44  1e-06    510.0   65.79  115.14  1e-06
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 58.72
"""


def runs(text: str, path: str = "x.txt", command: str | None = None) -> list[NcclTest]:
    parsed = NcclTests.parse(block(text, path=path, command=command))
    return [fact for fact in parsed.facts if isinstance(fact, NcclTest)]


def one(text: str, path: str = "x.txt", command: str | None = None) -> NcclTest:
    (fact,) = runs(text, path, command)
    return fact


def test_run_is_summed_up() -> None:
    fact = one(NEW)
    assert fact.subject.host == "gpu11"
    assert fact.values() == {
        "operation": "all_reduce",
        "ranks": 3,
        "hosts": 2,
        "gpu_name": "NVIDIA H100 80GB HBM3",
        "nccl_version": "2.28.7",
        "largest_size_bytes": 1 << 30,
        "largest_busbw_bytes_per_second": pytest.approx(318.48e9),
        "peak_busbw_bytes_per_second": pytest.approx(318.48e9),
        "peak_size_bytes": 1 << 30,
        "smallest_latency_seconds": pytest.approx(24e-6),
        "wrong_results": 3,
        "reported_average_busbw_bytes_per_second": pytest.approx(115.41e9),
        "sizes_bytes": (1024, 1 << 20, 1 << 30),
        "busbw_by_size_bytes_per_second": pytest.approx((0.07e9, 30.58e9, 318.48e9)),
    }


def test_old_layout_without_root_counts_wrong_results_from_the_footer() -> None:
    fact = one(OLD)
    assert (fact.ranks, fact.gpu_name, fact.subject.host) == (1, "Tesla V100-SXM2-32GB", None)
    assert fact.largest_busbw_bytes_per_second == pytest.approx(117.44e9)
    assert fact.wrong_results == 0
    assert fact.smallest_latency_seconds == pytest.approx(500e-6)


def test_unchecked_results_are_absent_and_not_zero() -> None:
    fact = one(
        COLUMNS
        + ROWS.replace("  0\n", "N/A\n")
        .replace("      0 ", "    N/A ")
        .replace("2\n", "N/A\n")
        .replace("      1 ", "    N/A ")
    )
    assert fact.wrong_results is None
    assert fact.missing == {"wrong_results": Missing.NOT_APPLICABLE}


def test_old_layout_without_validation_has_no_wrong_results() -> None:
    fact = one(OLD.replace("0e+00", "  N/A").replace("1e-06", "  N/A"))
    assert fact.wrong_results is None
    assert fact.missing == {"wrong_results": Missing.NOT_APPLICABLE}


def test_columns_in_place_that_do_not_apply_are_left_out() -> None:
    text = COLUMNS + ("  1048576  32768  float  none  -1  60.00  17.48  15.29  0  N/A  N/A  N/A  N/A\n")
    fact = one(text, command="mpirun -np 8 ./alltoall_perf -b 1M -e 1M")
    assert (fact.operation, fact.largest_busbw_bytes_per_second, fact.wrong_results) == ("alltoall", 15.29e9, 0)


def test_layout_with_one_group_of_columns() -> None:
    text = COLUMNS.replace("in-place", "").replace("     time   algbw   busbw #wrong\n", "\n")
    fact = one(text + "  1048576  262144  float  sum  -1  60.00  17.48  30.58  0\n")
    assert fact.largest_busbw_bytes_per_second == pytest.approx(30.58e9)


@pytest.mark.parametrize("row", ROWS.splitlines())
def test_rows_without_any_header_are_read(row: str) -> None:
    assert one(row).largest_size_bytes == int(row.split()[0])


def test_time_stamps_at_the_end_of_rows_are_passed_over() -> None:
    text = COLUMNS.replace("busbw #wrong\n", "busbw #wrong  timestamp\n")
    rows = "".join(line + "  2026-02-01 10:00:00\n" for line in ROWS.splitlines())
    assert one(text + rows).largest_busbw_bytes_per_second == pytest.approx(318.48e9)


def test_columns_of_each_iteration_are_passed_over() -> None:
    group = "time algbw busbw #wrong i_min i_max i_p99 i_cv%"
    text = f"#  size  count  type  redop  root  {group}  {group}\n"
    values = "60.00 17.48 30.58 0 55.0 70.0 69.0 3.1"
    assert one(f"{text} 1048576 262144 float sum -1 {values} {values}\n").wrong_results == 0


@pytest.mark.parametrize("prefix", ["0: ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "gpu11: "])
def test_prefixes_of_launchers_are_passed_over(prefix: str) -> None:
    text = "".join(prefix + line for line in NEW.splitlines(keepends=True))
    assert one(text).values() == one(NEW).values()
    assert opened(NcclTests, text)


def test_ranks_that_each_print_a_table_are_kept_apart() -> None:
    both = zip((COLUMNS + ROWS).splitlines(), (COLUMNS + ROWS).splitlines(), strict=True)
    text = "".join(f"0: {first}\n1: {second}\n" for first, second in both)
    assert len(runs(text)) == 2


def test_several_runs_of_a_file_are_told_apart() -> None:
    second = NEW.replace("all_reduce_perf", "reduce_scatter_perf").replace("gpu11", "gpu21")
    assert [(fact.operation, fact.subject.host) for fact in runs(NEW + second)] == [
        ("all_reduce", "gpu11"),
        ("reduce_scatter", "gpu21"),
    ]


def test_runs_without_their_first_header_lines_are_told_apart() -> None:
    assert len(runs(COLUMNS + ROWS + COLUMNS + ROWS)) == 2


@pytest.mark.parametrize(
    ("program", "operation"),
    [
        ("all_reduce_perf", "all_reduce"),
        ("all_gather_perf", "all_gather"),
        ("reduce_scatter_perf_mpi", "reduce_scatter"),
        ("alltoall_perf", "alltoall"),
        ("broadcast_perf", "broadcast"),
        ("reduce_perf", "reduce"),
        ("sendrecv_perf", "sendrecv"),
        ("gather_perf", "gather"),
        ("scatter_perf", "scatter"),
        ("hypercube_perf", "hypercube"),
    ],
)
def test_operation_comes_from_the_program(program: str, operation: str) -> None:
    assert one(COLUMNS + ROWS, command=f"srun -N2 /opt/scatter/{program} -b 8").operation == operation
    assert one(f"# Collective test starting: {program}\n" + COLUMNS + ROWS).operation == operation
    assert NcclTests.command is not None
    assert NcclTests.command.search(f"srun ./{program} -b 8")


def test_all_reduce_and_reduce_scatter_are_told_by_their_factor() -> None:
    scattered = "  1073741824  4194304  float  sum  -1  5000.0  214.75  187.91  0  5000.0  214.75  187.91  0\n"
    assert one(ROWS).operation == "all_reduce"
    assert one(scattered).operation == "reduce_scatter"


def test_operation_that_nothing_tells_is_unknown() -> None:
    row = "  1073741824  4194304  float  none  -1  5000.0  214.75  187.91  0  5000.0  214.75  187.91  0\n"
    assert one(row).operation == "unknown"
    assert one(row, path="run-all-gather-8.log").operation == "all_gather"


def test_version_comes_from_the_file_name() -> None:
    assert one(COLUMNS + ROWS, path="runs/nccl_2.19.3.txt").nccl_version == "2.19.3"
    assert one(COLUMNS + ROWS, path="runs/nccl-tests-2.17.1.txt").nccl_version is None


def test_old_version_codes_have_three_digits_after_the_first() -> None:
    assert one(NEW.replace("nccl-library=22807", "nccl-library=2708")).nccl_version == "2.7.8"


def test_row_with_cut_columns_is_a_problem_unless_it_ends_the_text() -> None:
    cut = "     1048576        262144     float     sum      -1    60.00   17.48\n"
    assert NcclTests.parse(block(COLUMNS + cut + ROWS)).problems == [
        "line 4: the row has not as many columns as the table"
    ]
    assert NcclTests.parse(block(COLUMNS + ROWS + cut)).problems == []


def test_header_alone_gives_no_fact() -> None:
    assert runs(HEADER + COLUMNS) == []


def test_last_line_closes_the_block() -> None:
    assert [line.text for line in lines(NEW) if NcclTests.closes(line.text)] == [NEW.splitlines()[-1]]


def test_rows_alone_resemble_the_format_and_other_tables_do_not() -> None:
    assert NcclTests.resembles(ROWS.splitlines()) == 1.0
    assert NcclTests.resembles(["rank,backward_ms", "0,293.0", "1 2 3 4"]) == 0.0


def test_damaged_text_never_raises() -> None:
    for text in [*damaged(NEW), *damaged(OLD)]:
        NcclTests.parse(block(text))


def test_field_files_are_read_without_problems(corpus: Path) -> None:
    for path in sorted(corpus.glob("files/nccl-tests/*")):
        if "torch" in path.name:
            continue
        text = path.read_text()
        parsed = NcclTests.parse(block(text, path=path.name))
        assert parsed.problems == [], path
        (fact,) = parsed.facts
        assert isinstance(fact, NcclTest)
        assert fact.operation != "unknown", path
        assert opened(NcclTests, text), path


def test_largest_size_counts_and_not_the_average(corpus: Path) -> None:
    fact = one((corpus / "files/nccl-tests/aws-batch-nccl.txt").read_text())
    assert fact.largest_busbw_bytes_per_second == pytest.approx(483.35e9)
    assert fact.reported_average_busbw_bytes_per_second == pytest.approx(156.742e9)


def test_regression_of_the_field_case_is_seen(corpus: Path) -> None:
    folder = corpus / "cases/multinode-nvlstree-chunk-regression"
    found = {}
    for path in folder.glob("nccl_*.txt"):
        fact = one(path.read_text(), path=path.name)
        found[fact.nccl_version] = fact.largest_busbw_bytes_per_second
    assert found == {"2.19.1": pytest.approx(280.03e9), "2.19.3": pytest.approx(104.20e9)}

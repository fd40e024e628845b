from __future__ import annotations

import pytest

from collectors.nvidia_smi_errors import MESSAGES, Message, NvidiaSmiErrors
from diagnose.facts import Subject
from diagnose.facts.gpu import GpuInforom, GpuUnreachable
from diagnose.facts.host import DriverFailure
from tests.collectors.helpers import damaged, feed, lines


def failures(text: str, host: str | None = None) -> list[DriverFailure]:
    return [fact for fact in feed(NvidiaSmiErrors, text, host=host).facts if isinstance(fact, DriverFailure)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "library-mismatch"),
        ("Failed to initialize NVML: Unknown Error", "unknown-error"),
        ("Failed to initialize NVML: Insufficient Permissions", "no-permission"),
        ("Failed to initialize NVML: Driver Not Loaded", "not-loaded"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest"
            " NVIDIA driver is installed and running.",
            "not-loaded",
        ),
        ("NVIDIA-SMI has failed because it couldn\u2019t communicate with the NVIDIA driver.", "not-loaded"),
        ("No devices were found", "no-devices"),
        ("node03: No devices were found", "no-devices"),
        ("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service", "key-rejected"),
        ("main: CUDA failure common.cu:100 'system not yet initialized'", "cuda-not-initialised"),
        ("RuntimeError: Unexpected error from cudaGetDeviceCount(). CUDA error 802", "cuda-not-initialised"),
        ("RuntimeError: No CUDA GPUs are available", "cuda-no-device"),
        ("cudaErrorNoDevice: no CUDA-capable device is detected", "cuda-no-device"),
        ("CUDA driver version is insufficient for CUDA runtime version", "cuda-driver-too-old"),
        ("CUDA error: uncorrectable ECC error encountered", "cuda-ecc-error"),
        ("init: failed to initialize CUDA: unknown error", "cuda-unknown-error"),
        ("system has unsupported display driver / cuda driver combination", "library-mismatch"),
    ],
)
def test_a_failure_has_its_code(line: str, code: str) -> None:
    (failure,) = failures(f"before\n{line}\nafter")
    assert (failure.code, failure.sources[0].line) == (code, 2)
    assert failure.message == line.replace("\u2019", "'")


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.literal[:40])
def test_every_row_of_the_table_is_found_by_its_text(message: Message) -> None:
    assert [failure.code for failure in failures(message.literal)] == [message.code]


@pytest.mark.parametrize(
    "line",
    [
        "if 'No devices were found' in output: raise",
        "grep 'Driver/library version mismatch' /var/log/syslog",
        "|                           | ze CUDA library: 'system not yet initialized'  |",
        "NVML library version: 580.159",
        "Failed to load the model: Unknown Error",
    ],
)
def test_lines_that_only_mention_the_words_are_left_to_others(line: str) -> None:
    collector = NvidiaSmiErrors("x")
    assert [collector.feed(row, None) for row in lines(line)] == [False]
    assert collector.finish(1, False).facts == []


def test_a_mismatch_takes_the_library_version_from_the_next_line() -> None:
    text = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.159\n"
    (failure,) = failures(text)
    assert failure.library_version == "580.159"


def test_each_code_is_told_once_for_each_host() -> None:
    collector = NvidiaSmiErrors("x")
    for host in ("node01", "node01", "node02"):
        for row in lines("No devices were found"):
            assert collector.feed(row, host)
    facts = collector.finish(3, False).facts
    assert [fact.subject.host for fact in facts] == ["node01", "node02"]


@pytest.mark.parametrize(
    ("line", "subject", "reason"),
    [
        (
            "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error",
            Subject(gpu_index=1, gpu_bus_id="0000:34:00.0"),
            "handle-error",
        ),
        (
            "Unable to determine the device handle for GPU0000:68:00.0: Unknown Error",
            Subject(gpu_bus_id="0000:68:00.0"),
            "handle-error",
        ),
        (
            "Unable to determine the device handle for GPU 0000:02:00.0: Not Found",
            Subject(gpu_bus_id="0000:02:00.0"),
            "handle-error",
        ),
        (
            "Unable to determine the device handle for gpu 0000:02:00.0: GPU is lost.  Reboot the system to recover",
            Subject(gpu_bus_id="0000:02:00.0"),
            "lost",
        ),
        (
            "Unable to determine the device handle for GPU00000001:0B:00.0: GPU is lost",
            Subject(gpu_bus_id="0001:0b:00.0"),
            "lost",
        ),
        ("Unable to determine the device handle for GPU3: Unknown Error", Subject(gpu_index=3), "handle-error"),
    ],
)
def test_a_gpu_without_handle_is_unreachable(line: str, subject: Subject, reason: str) -> None:
    (fact,) = feed(NvidiaSmiErrors, line).facts
    assert isinstance(fact, GpuUnreachable)
    assert (fact.subject, fact.reason, fact.message) == (subject, reason, line)


def test_the_same_gpu_is_told_once() -> None:
    line = "Unable to determine the device handle for GPU0000:68:00.0: Unknown Error\n"
    assert len(feed(NvidiaSmiErrors, line * 3).facts) == 1


def test_a_corrupted_inforom_is_told_with_its_gpu() -> None:
    (fact,) = feed(NvidiaSmiErrors, "WARNING: infoROM is corrupted at gpu 0008:00:00.0").facts
    assert isinstance(fact, GpuInforom)
    assert (fact.subject.gpu_bus_id, fact.valid) == ("0008:00:00.0", False)


def test_damaged_lines_never_raise() -> None:
    text = (
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.159\n"
        "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n"
        "WARNING: infoROM is corrupted at gpu 0008:00:00.0\n"
    )
    for sample in damaged(text):
        feed(NvidiaSmiErrors, sample)

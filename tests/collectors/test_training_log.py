from __future__ import annotations

from pathlib import Path

import pytest

from collectors.training_log import TrainingLog
from diagnose.facts.training import CheckpointSaves, TrainingRun
from tests.collectors.helpers import damaged, feed

ARGUMENTS = """\
------------------------ arguments ------------------------
  data_parallel_size .............................. 2
  global_batch_size ............................... 64
  hidden_size ..................................... 4096
  lr_decay_style .................................. cosine
  micro_batch_size ................................ 4
  num_layers ...................................... 24
  num_layers_per_virtual_pipeline_stage ........... None
  pipeline_model_parallel_size .................... 4
  tensor_model_parallel_size ...................... 2
  virtual_pipeline_model_parallel_size ............ None
  world_size ...................................... 16
"""


def megatron(step: int, time: str, tail: str = "", batch: int = 64, prefix: str = " ") -> str:
    return (
        f"{prefix}iteration {step:8d}/    5000 | consumed samples: {step * batch:12d} | "
        f"elapsed time per iteration {time} | learning rate: 1.0E-04 | "
        f"global batch size: {batch:5d} | lm loss: 2.1E+00 |{tail}\n"
    )


def runs(text: str) -> list[TrainingRun]:
    return [fact for fact in feed(TrainingLog, text).facts if isinstance(fact, TrainingRun)]


def one(text: str) -> TrainingRun:
    (run,) = runs(text)
    return run


def test_arguments_and_steps_make_one_run() -> None:
    run = one(ARGUMENTS + "".join(megatron(step, f"(ms): {500 + step}.0") for step in range(1, 6)))
    assert (run.framework, run.steps, run.first_step, run.last_step) == ("megatron", 5, 1, 5)
    assert run.median_step_seconds == pytest.approx(0.503)
    assert run.median_samples_per_second == pytest.approx(64 / 0.503)
    assert (run.world_size, run.pipeline_parallel_size, run.data_parallel_size) == (16, 4, 2)
    assert (run.micro_batch_size, run.layers, run.hidden_size) == (4, 24, 4096)
    assert run.virtual_pipeline_size is None
    assert [source.line for source in run.sources] == [13, 2]


def test_seconds_prefixes_and_rates_of_megatron_deepspeed() -> None:
    tail = " samples per second: 19.500 | TFLOPs: 149.10 |"
    run = one("".join(megatron(step, "(s): 105.2", tail, 2048, "[default7]: ") for step in range(40, 44)))
    assert run.median_step_seconds == pytest.approx(105.2)
    assert (run.median_samples_per_second, run.median_tflops_per_gpu, run.global_batch_size) == (19.5, 149.1, 2048)


@pytest.mark.parametrize("time", ["(ms): 13100.0", "(ms): 13100.0/13240.9", "(ms): 13,100.0"])
def test_throughput_of_newer_versions(time: str) -> None:
    tail = " throughput per GPU (TFLOP/s/GPU): 579.4"
    run = one(megatron(1, time, tail) + megatron(2, time, tail))
    assert run.median_step_seconds == pytest.approx(13.1)
    assert run.median_tflops_per_gpu == pytest.approx(579.4)


def test_records_that_wrap_are_put_together() -> None:
    text = (
        " iteration        7/     100 | consumed samples:          448 |\n"
        "   elapsed time per iteration (ms): 900.0 | learning rate: 1.0E-04 |\n"
        "   global batch size:    64 | lm loss: 2.0E+00 | samples per second: 71.1 | TFLOPs: 50.0 |\n"
    )
    run = one(text + text.replace("       7/", "       8/"))
    assert (run.steps, run.first_step, run.global_batch_size, run.median_tflops_per_gpu) == (2, 7, 64, 50.0)
    assert run.median_step_seconds == pytest.approx(0.9)


def test_event_in_json_is_read() -> None:
    run = one('[t] [#log] {"global_step": 9, "logs": {"elapsed time per iteration (ms)": 2500.0, "TFLOPS": 2.5}}\n')
    assert (run.first_step, run.median_step_seconds, run.median_tflops_per_gpu) == (9, 2.5, 2.5)


@pytest.mark.parametrize(
    ("line", "framework", "seconds", "samples"),
    [
        (
            "[2025-01-01 10:00:00,1] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step={n}, "
            "RunningAvgSamplesPerSec=25.0, CurrSamplesPerSec=25.5, MemAllocated=4.3GB, MaxMemAllocated=38.4GB",
            *("deepspeed", None, 25.5),
        ),
        ("steps: {n} loss: 2.5311 iter time (s): 0.750 samples/sec: 42.7", "deepspeed", 0.75, 42.7),
        (
            "Training epoch 0, iteration {n}/249 | lr: 1.9e-06 | global_batch_size: 8 | global_step: {n} | "
            "reduced_train_loss: 1.6 | train_step_timing in s: 2.5 | consumed_samples: 16",
            *("nemo", 2.5, 3.2),
        ),
        (
            "Epoch 0: : 100%|###| {n}/100 [10:48<00:00, reduced_train_loss=0.01, global_step={n}.00, "
            "train_step_timing in s=3.130]",
            *("nemo", 3.13, None),
        ),
        (
            "Epoch 2:  45%|####5     | {n}/1000 [02:30<03:03,  4.00it/s, v_num=0, train_loss=0.3]",
            *("lightning", 0.25, None),
        ),
        (
            "0: 2025-06-17 16:24:52 I [train.py:103] Batch {n} Loss: 11.6, Speed: 4.88 samples/sec, lr: 0.0001",
            "other",
            None,
            4.88,
        ),
    ],
)
def test_lines_of_other_frameworks(line: str, framework: str, seconds: float | None, samples: float | None) -> None:
    run = one("".join(line.replace("{n}", str(step)) + "\n" for step in (10, 20, 30)))
    assert (run.framework, run.steps, run.last_step) == (framework, 3, 30)
    assert run.median_step_seconds == (pytest.approx(seconds) if seconds else None)
    assert run.median_samples_per_second == (pytest.approx(samples) if samples else None)


def test_torchtitan_tells_tokens_and_its_ranks_repeat_one_another() -> None:
    lines = "".join(
        f"[rank{rank}]:[titan] 2025-01-01 12:00:00,123 - root - INFO - step: {step:2d}  loss:  8.2  grad_norm:  1.2  "
        f"memory: 39.0GiB(41.0%)  tps: 1,250  tflops: 48.30  mfu: 15.00%\n"
        for step in (1, 2, 3)
        for rank in (0, 1)
    )
    run = one(lines)
    assert (run.framework, run.steps, run.series_unit) == ("torchtitan", 3, "seconds-per-unit")
    assert run.series == pytest.approx([1 / 1250] * 3)
    assert run.median_tflops_per_gpu == pytest.approx(48.3)


def test_summary_of_the_hugging_face_trainer() -> None:
    run = one("{'train_runtime': 200.0, 'train_samples_per_second': 32.0, 'train_steps_per_second': 0.5}\n")
    assert (run.framework, run.median_step_seconds, run.global_batch_size) == ("hugging-face", 2.0, 64)


def test_warm_up_and_batches_that_ramp_are_left_out_of_the_series() -> None:
    ramp = [megatron(step, f"(ms): {100 * step}.0", batch=8 * step) for step in (1, 2, 3)]
    steady = [megatron(4, "(ms): 9000.0")] + [megatron(step, "(ms): 400.0") for step in range(5, 12)]
    run = one("".join(ramp + steady))
    assert run.series == pytest.approx([0.4] * 7)
    assert (run.steps, run.global_batch_size) == (11, 64)


def test_long_log_gives_a_short_series_and_restart_another_run() -> None:
    first, second = runs("".join(megatron(step, "(ms): 400.0") for step in [*range(1, 3001), *range(2000, 2010)]))
    assert len(first.series or ()) == 256
    assert (first.last_step, second.first_step) == (3000, 2000)


def test_arguments_alone_are_a_layout() -> None:
    run = one(ARGUMENTS)
    assert (run.steps, run.median_step_seconds, run.world_size) == (0, None, 16)


@pytest.mark.parametrize(
    "line",
    [
        "Downloading:  45%|####5     | 450/1000 [02:30<03:03,  4.00it/s]",
        "ninja .................. [OKAY]",
        "the iteration 4/5 of this plan",
        "Epoch 1: validation done | 3/4",
        "request served at 12 samples/sec",
    ],
)
def test_other_lines_are_left(line: str) -> None:
    assert feed(TrainingLog, line + "\n").facts == []


def test_damaged_text_never_raises() -> None:
    text = ARGUMENTS + megatron(1, "(ms): 500.0") + "steps: 3 loss: 2.5 iter time (s): 0.750 samples/sec: 42.7\n"
    for broken in damaged(text):
        feed(TrainingLog, broken)


def test_field_logs_are_read(corpus: Path) -> None:
    run = one((corpus / "files/training-steps/bigscience-gpt2-n8.out").read_text(errors="replace"))
    assert (run.steps, run.world_size, run.pipeline_parallel_size, run.micro_batch_size) == (20, 32, 8, 1)
    assert run.median_step_seconds == pytest.approx(1.6178, abs=1e-3)
    assert (run.hidden_size, run.sequence_length) == (7168, 1024)


def saves(text: str) -> list[CheckpointSaves]:
    return [fact for fact in feed(TrainingLog, text).facts if isinstance(fact, CheckpointSaves)]


@pytest.mark.parametrize(
    "timer",
    ["time (ms) | save-checkpoint: 41000.00\n", "    save-checkpoint ....................: (40100.12, 41000.00)\n"],
)
def test_checkpoints_and_the_time_that_they_take(timer: str) -> None:
    text = ""
    for step in range(1, 401):
        text += megatron(step, "(ms): 500.0")
        if step % 100 == 0:
            text += f"saving checkpoint at iteration {step:7d} to /ckpt in torch_dist format\n{timer}"
    (found,) = saves(text)
    assert (found.saves, found.interval_steps, found.median_seconds) == (4, 100, 41.0)
    assert found.time_share_ratio == pytest.approx(41 / (41 + 50))


def test_a_checkpoint_of_torchtitan() -> None:
    (found,) = saves("[titan] 2026-11-02 10:00:00 - root - INFO - Finished saving the checkpoint in 12.34 seconds.\n")
    assert (found.saves, found.median_seconds, found.interval_steps) == (1, 12.34, None)


def test_steps_that_stand_out_are_told_by_number() -> None:
    text = "".join(megatron(step, f"(ms): {2500 if step % 50 == 0 else 500}.0") for step in range(1, 251))
    run = one(text)
    assert run.slow_steps == (50, 100, 150, 200, 250)
    assert run.slow_steps_median_ratio == pytest.approx(5)
    assert run.slow_steps_time_share_ratio == pytest.approx(5 * 2.0 / (249 * 0.5 + 5 * 2.0))


def test_a_short_log_does_not_tell_which_steps_are_slow() -> None:
    assert one("".join(megatron(step, "(ms): 500.0") for step in range(1, 9))).slow_steps is None

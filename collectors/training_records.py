"""Lines in which training frameworks tell of their steps, and what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NUMBER = r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,3})?)"

_UNITS = {"ms": 1e-3, "s": 1.0, "sec": 1.0}


@dataclass(frozen=True, slots=True)
class Record:
    """What one line says of a step; a record that wraps comes in several."""

    framework: str
    step: int | None = None
    seconds: float | None = None
    tflops: float | None = None
    samples_per_second: float | None = None
    units_per_second: float | None = None
    """Throughput in other units: tokens, batches."""
    global_batch: int | None = None
    begins: bool = True
    """False for a line that goes on with a record."""


_MEGATRON_STEP = re.compile(r"\biteration:?\s+(\d{1,12})\s*/\s*\d{1,12}\b")
_MEGATRON_TIME = re.compile(r"elapsed time per iteration \((ms|s)\)\"?:\s*" + _NUMBER)
_MEGATRON_TFLOPS = re.compile(r"(?:\bTFLOPs|\bTFLOPS\"?|\bTFLOP/s/GPU\)|\btflops_per_gpu)\s*:\s*" + _NUMBER)
_MEGATRON_BATCH = re.compile(r"\bglobal batch size\"?:\s*(\d{1,9})\b")
_MEGATRON_SAMPLES = re.compile(r"\bsamples per second:\s*" + _NUMBER)
_GLOBAL_STEP = re.compile(r"\bglobal_step\"?[=:]\s*(\d{1,12})")
_NEMO_TIME = re.compile(r"\btrain_step_timing in s\"?[=:]\s*" + _NUMBER)
_NEMO_BATCH = re.compile(r"\bglobal_batch_size[=:]\s*(\d{1,9})\b")
_DEEPSPEED = re.compile(
    r"(?:global_step=|\b\d{1,6}/)(\d{1,12}), RunningAvgSamplesPerSec=.*?CurrSamplesPerSec=" + _NUMBER
)
_DEEPSPEED_PIPE = re.compile(r"\bsteps: (\d{1,12}) loss: \S+ iter time \(s\): " + _NUMBER + r" samples/sec: " + _NUMBER)
_TORCHTITAN = re.compile(r"\bstep:\s*(\d{1,12})\s+loss:.*?\btps:\s*" + _NUMBER)
_TORCHTITAN_TFLOPS = re.compile(r"\btflops:\s*" + _NUMBER)
_LIGHTNING = re.compile(
    r"\bEpoch \d{1,6}:.*?\|\s*(\d{1,9})/\d{1,9} \[(?:\d{1,4}:)*\d\d<[^,\]]*,\s*" + _NUMBER + r"(it/s|s/it)[^\]]*[=,]"
)
_PLAIN = re.compile(
    r"\b(?:Batch|Step|step|iter)[:= ]+(\d{1,12})\b.*\b(?:Speed|throughput):\s*" + _NUMBER + r" samples/sec"
)

LITERALS: tuple[bytes, ...] = (
    *(b"elapsed time per iteration", b" TFLOPs:", b"TFLOP/s/GPU", b"samples per second:", b"global batch size:"),
    *(
        b"train_step_timing in s",
        b"CurrSamplesPerSec=",
        b" iter time (s): ",
        b" tps: ",
        b"it/s",
        b"s/it",
        b" samples/sec",
    ),
    *(b" iteration ", b"time (ms) |"),
)
"""Each line that `record` understands, or that belongs to one, contains one of these."""


def number(text: str) -> float:
    """A number that may have thousands separators."""
    return float(text.replace(",", ""))


def record(text: str) -> Record | None:
    """What a line says; None where it is no record."""
    return _nemo(text) or _megatron(text) or _deepspeed(text) or _torchtitan(text) or _lightning(text) or _plain(text)


def _megatron(text: str) -> Record | None:
    step = _MEGATRON_STEP.search(text) if "|" in text else None
    time = _MEGATRON_TIME.search(text)
    if time is None and step is None and not ("|" in text and re.match(r"^\s*[|a-zA-Z]", text)):
        return None
    tflops, batch, samples = (
        pattern.search(text) for pattern in (_MEGATRON_TFLOPS, _MEGATRON_BATCH, _MEGATRON_SAMPLES)
    )
    if not (time or tflops or samples or (step and "consumed" in text) or (batch and "loss" in text)):
        return None
    in_json = _GLOBAL_STEP.search(text) if step is None else None
    return Record(
        "megatron",
        step=int((step or in_json).group(1)) if (step or in_json) else None,  # type: ignore[union-attr]
        seconds=number(time.group(2)) * _UNITS[time.group(1)] if time else None,
        tflops=number(tflops.group(1)) if tflops else None,
        samples_per_second=number(samples.group(1)) if samples else None,
        global_batch=int(batch.group(1)) if batch else None,
        begins=step is not None or in_json is not None,
    )


def _nemo(text: str) -> Record | None:
    time = _NEMO_TIME.search(text)
    if time is None:
        return None
    step, batch = _GLOBAL_STEP.search(text), _NEMO_BATCH.search(text)
    return Record(
        "nemo",
        step=int(step.group(1)) if step else None,
        seconds=number(time.group(1)),
        global_batch=int(batch.group(1)) if batch else None,
    )


def _deepspeed(text: str) -> Record | None:
    if match := _DEEPSPEED.search(text):
        return Record("deepspeed", step=int(match.group(1)), samples_per_second=number(match.group(2)))
    if match := _DEEPSPEED_PIPE.search(text):
        step, seconds, samples = match.groups()
        return Record("deepspeed", step=int(step), seconds=number(seconds), samples_per_second=number(samples))
    return None


def _torchtitan(text: str) -> Record | None:
    match = _TORCHTITAN.search(text)
    if match is None:
        return None
    tflops = _TORCHTITAN_TFLOPS.search(text)
    return Record(
        "torchtitan",
        step=int(match.group(1)),
        units_per_second=number(match.group(2)),
        tflops=number(tflops.group(1)) if tflops else None,
    )


def _lightning(text: str) -> Record | None:
    """A progress bar with metrics behind the speed; bars of downloads and validation have none."""
    match = _LIGHTNING.search(text)
    if match is None:
        return None
    speed = number(match.group(2))
    seconds = speed if match.group(3) == "s/it" else 1 / speed if speed else None
    return Record("lightning", step=int(match.group(1)), seconds=seconds)


def _plain(text: str) -> Record | None:
    match = _PLAIN.search(text)
    if match is None:
        return None
    return Record("other", step=int(match.group(1)), samples_per_second=number(match.group(2)))


_ARGUMENT = re.compile(r"^\s*(?:\[?[\w.,<>-]{1,40}\]?:\s*)?([a-z][a-z_]{3,60}) \.{2,} (\d{1,12})\s*$")
_SIZES = re.compile(r"\b(world size|data-parallel[- ]size|(?:tensor|pipeline)-model-parallel size): (\d{1,7})")
_ARGUMENTS = {
    "world_size": "world_size",
    "data_parallel_size": "data_parallel_size",
    "tensor_model_parallel_size": "tensor_parallel_size",
    "pipeline_model_parallel_size": "pipeline_parallel_size",
    "virtual_pipeline_model_parallel_size": "virtual_pipeline_size",
    "global_batch_size": "global_batch_size",
    "micro_batch_size": "micro_batch_size",
    "num_layers": "layers",
    "hidden_size": "hidden_size",
    "seq_length": "sequence_length",
}
_SAID = {
    "world size": "world_size",
    "data-parallel-size": "data_parallel_size",
    "data-parallel size": "data_parallel_size",
    "tensor-model-parallel size": "tensor_parallel_size",
    "pipeline-model-parallel size": "pipeline_parallel_size",
}

ARGUMENT_LITERALS: tuple[bytes, ...] = (b" ....", b"using world size: ", b" arguments ---")

_OTHER_ARGUMENT = re.compile(
    r"^\s*(?:\[?[\w.,<>-]{1,40}\]?:\s*)?(?:[A-Za-z]\w*_\w+ \.{2,} \S|-{5,} (?:end of )?arguments -{5,}\s*$)"
)


def is_argument(text: str) -> bool:
    """Whether a line is of the arguments block or frames it; other lists have dots too, so names need an underscore."""
    return _OTHER_ARGUMENT.match(text) is not None


def arguments(text: str) -> Iterator[tuple[str, int]]:
    """Fields of `training-run` that a line of the arguments block sets; a size of 0 is no size."""
    if (match := _ARGUMENT.match(text)) and (name := _ARGUMENTS.get(match.group(1))) and int(match.group(2)):
        yield name, int(match.group(2))
    elif "using world size" in text:
        for said in _SIZES.finditer(text):
            if int(said.group(2)):
                yield _SAID[said.group(1)], int(said.group(2))

"""`diagnose capture`: record a model's intermediate tensors, in high or in low precision."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from diagnose.cli.errors import UnusableInput
from diagnose.cli.exit_codes import ExitCode
from diagnose.cli.number_formats import check_format
from diagnose.cli.output import remark

_GIGA = 1 << 30


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--role", type=click.Choice(["reference", "low-bit", "second-reference"]), required=True,
              help="Which run it is.")  # fmt: skip
@click.option("--model", metavar="FOLDER", help="Model in Hugging Face's layout; needs transformers.")
@click.option("--factory", metavar="MODULE:FUNCTION", help="Function without arguments that returns the model.")
@click.option("--dtype", metavar="TYPE", help="Data type to load --model in, e.g. bfloat16.")
@click.option("--computes-in", metavar="FORMAT", help="What the model computes in: fp8-e4m3, int8, int4, nvfp4, ...")
@click.option("--device", metavar="DEVICE", help="Where to run, e.g. cuda:0; by default where the model is.")
@click.option("--prompts", type=click.Path(path_type=Path), metavar="FILE",
              help="JSON lines with token ids under `prompt_token_ids`.")  # fmt: skip
@click.option("--same-inputs-as", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Capture of the reference: its inputs are given again.")  # fmt: skip
@click.option("--layers", multiple=True, metavar="GLOB", help="Modules to record; may be given more than once.")
@click.option("--positions", default=64, show_default=True, type=click.IntRange(min=0),
              help="Tokens kept of each tensor; 0 keeps all.")  # fmt: skip
@click.option("--max-gigabytes", default=4.0, show_default=True, type=click.FloatRange(min=0.001),
              help="End cleanly at so much on disk.")  # fmt: skip
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where the capture goes; must not hold anything.")  # fmt: skip
def capture(
    role: str,
    model: str | None,
    factory: str | None,
    dtype: str | None,
    computes_in: str | None,
    device: str | None,
    prompts: Path | None,
    same_inputs_as: Path | None,
    layers: tuple[str, ...],
    positions: int,
    max_gigabytes: float,
    output: Path,
) -> ExitCode:
    """Record what the modules of a PyTorch model get and give.

    \b
    diagnose capture --role reference --model ORIGINAL --dtype bfloat16 --prompts ids.jsonl -o runs/bf16
    diagnose capture --role low-bit --model QUANTISED --computes-in fp8-e4m3 --same-inputs-as runs/bf16 -o runs/fp8
    diagnose lowbit compare runs/bf16 runs/fp8

    In a script of your own use `from diagnose.capture import Recorder`.
    """
    if (model is None) == (factory is None):
        raise click.UsageError("give either --model or --factory")
    if (prompts is None) == (same_inputs_as is None):
        raise click.UsageError("give either --prompts or --same-inputs-as")
    check_format(computes_in)
    from diagnose.capture import CaptureError, Limits, Recorder
    from diagnose.capture.recorder import DEFAULT_LAYERS
    from diagnose.capture.sources import model_from_folder, model_from_function, prompts_of
    from diagnose.capture.torch_module import torch

    try:
        network = model_from_function(factory) if factory else model_from_folder(model or "", dtype)
        network = _placed(network, device)
        recorder = Recorder(
            network,
            output,
            role,
            layers or DEFAULT_LAYERS,
            positions,
            same_inputs_as,
            Limits(disk_bytes=int(max_gigabytes * _GIGA)),
            _show if sys.stderr.isatty() else None,
            computes_in,
        )
        with recorder, torch().inference_mode():
            for call in recorder.inputs() if prompts is None else prompts_of(prompts):
                _call(network, call)
                if recorder.stopped is not None:
                    break
    except CaptureError as error:
        raise UnusableInput(str(error)) from error
    if recorder.stopped is not None:
        remark(f"the capture ended early: {recorder.stopped}")
        return ExitCode.INCOMPLETE
    remark(f"recorded into {output}")
    return ExitCode.NOTHING_FOUND


def _placed(network: Any, device: str | None) -> Any:
    from diagnose.capture import CaptureError

    try:
        return network.to(device) if device else network
    except (RuntimeError, AssertionError) as error:
        raise CaptureError(f"the model cannot be moved to {device}: {error}") from error


def _call(network: Any, call: dict[str, Any]) -> None:
    """Run the model; what it fails with is its own, out of memory above all."""
    from diagnose.capture import CaptureError

    try:
        network(**_moved(call, network))
    except CaptureError:
        raise
    except Exception as error:
        raise CaptureError(f"the model failed: {type(error).__name__}: {error}") from error


def _moved(call: dict[str, Any], network: Any) -> dict[str, Any]:
    place = next((parameter.device for parameter in network.parameters()), None)
    return call if place is None else {name: tensor.to(place) for name, tensor in call.items()}


def _show(tensors: int, size: int) -> None:
    if tensors % 50 == 0:
        remark(f"{tensors} tensors, {size / 1e6:.0f} MB")

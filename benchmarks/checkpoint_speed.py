"""How fast a quantised checkpoint is compared with its original, and in how much memory.

    python benchmarks/checkpoint_speed.py                 a pair of 0.4 billion parameters
    python benchmarks/checkpoint_speed.py --full          of 7 billion: 13 GB and 4 GB on disk, deleted afterwards

The pair has the shapes of a Llama of 7 billion parameters (--full) or of a smaller one, in shards, bfloat16 beside
GPTQ of four bits. Zero points of one projection are stored otherwise in all layers but the first three: the comparison
must find just that. Each step runs in a process of its own; its memory is the highest resident size, mapped pages of
the files included. Reading the bytes alone, one after the other, stands beside for the rate. The files are dropped from
the page cache before each step, where the system allows. Nothing is asserted but that the fault is found.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
_GROUP = 128
_FAULTY_FROM = 3


class Sizes(NamedTuple):
    """Of a Llama."""

    layers: int
    hidden: int
    inner: int
    vocabulary: int


SMALL, FULL = Sizes(8, 2048, 5504, 32000), Sizes(32, 4096, 11008, 32000)
_TYPES = {"bfloat16": "BF16", "int32": "I32", "float16": "F16"}


def _save(path: Path, tensors: Mapping[str, Array]) -> None:
    header, at = {}, 0
    for name, array in tensors.items():
        place = [at, at + array.nbytes]
        header[name] = {"dtype": _TYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": place}
        at += array.nbytes
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).view(np.uint8).data)


class _Quantised(NamedTuple):
    weight: Array
    qweight: Array
    qzeros: Array
    scales: Array


def _quantised(high: int, wide: int, seed: int) -> _Quantised:
    """A random weight and its GPTQ form, the zero points stored less one."""
    rng = np.random.default_rng(seed)
    weight = (rng.standard_normal((high, wide), np.float32) * np.float32(wide**-0.5)).astype(ml_dtypes.bfloat16)
    words = np.empty((wide // 8, high), np.uint32)
    scales = np.empty((wide // _GROUP, high), np.float16)
    zeros = np.empty((wide // _GROUP, high), np.uint32)
    for first in range(0, high, 256):
        part = weight[first : first + 256].astype(np.float32).reshape(-1, wide // _GROUP, _GROUP)
        step = ((part.max(2) - part.min(2)) / 15).astype(np.float16).astype(np.float32)
        zero = np.clip(np.rint(-part.min(2) / step), 1, 15)
        codes = np.clip(np.rint(part / step[..., None]) + zero[..., None], 0, 15).astype(np.uint32)
        packed = codes.reshape(len(part), wide // 8, 8) << np.arange(0, 32, 4, dtype=np.uint32)
        words[:, first : first + 256] = np.bitwise_or.reduce(packed, axis=2).T
        scales[:, first : first + 256], zeros[:, first : first + 256] = step.T, zero.T
    stored = np.bitwise_or.reduce(
        (zeros - 1).reshape(len(zeros), high // 8, 8) << np.arange(0, 32, 4, dtype=np.uint32), axis=2
    )
    return _Quantised(weight, words.view(np.int32), stored.view(np.int32), scales)


def generate(folder: Path, sizes: Sizes) -> None:
    """Write both checkpoints shard by shard. Layers hold one another's outputs in another order."""
    shapes = {f"self_attn.{name}_proj": (sizes.hidden, sizes.hidden) for name in "qkvo"}
    shapes |= {f"mlp.{name}_proj": (sizes.inner, sizes.hidden) for name in ("gate", "up")}
    shapes["mlp.down_proj"] = (sizes.hidden, sizes.inner)
    made = {name: _quantised(high, wide, at) for at, (name, (high, wide)) in enumerate(shapes.items())}
    original, low = folder / "original", folder / "gptq"
    places: dict[Path, dict[str, str]] = {original: {}, low: {}}
    for path in places:
        path.mkdir()

    def shard(path: Path, name: str, tensors: Mapping[str, Array]) -> None:
        _save(path / name, tensors)
        places[path].update(dict.fromkeys(tensors, name))

    table = (np.random.default_rng(9).standard_normal((sizes.vocabulary, sizes.hidden), np.float32) * 0.02).astype(
        ml_dtypes.bfloat16
    )
    ones = np.ones(sizes.hidden, ml_dtypes.bfloat16)
    for path in places:
        ends = {"model.embed_tokens.weight": table, "lm_head.weight": table, "model.norm.weight": ones}
        shard(path, "ends.safetensors", ends)
    for layer in range(sizes.layers):
        high: dict[str, Array] = {}
        packed: dict[str, Array] = {}
        for name, weight in made.items():
            base, turn = f"model.layers.{layer}.{name}", 8 * layer
            zeros = np.roll(weight.qzeros, layer, 1)
            if name == "self_attn.k_proj" and layer >= _FAULTY_FROM:
                zeros = zeros + 0x11111111
            high[f"{base}.weight"] = np.roll(weight.weight, turn, 0)
            packed[f"{base}.qweight"] = np.roll(weight.qweight, turn, 1)
            packed[f"{base}.qzeros"] = zeros
            packed[f"{base}.scales"] = np.roll(weight.scales, turn, 1)
        norms = {
            f"model.layers.{layer}.{name}.weight": ones for name in ("input_layernorm", "post_attention_layernorm")
        }
        shard(original, f"layer-{layer:02d}.safetensors", high | norms)
        shard(low, f"layer-{layer:02d}.safetensors", packed | norms)
    for path, weight_map in places.items():
        (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
        config = {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": _GROUP}}
        (path / "config.json").write_text(json.dumps(config if path is low else {}))


class Cost(NamedTuple):
    """What a step took."""

    seconds: float
    peak_bytes: int
    answer: object


def _child(step: Callable[..., object], arguments: tuple[object, ...], answers: Any) -> None:
    begin = time.perf_counter()
    answer = step(*arguments)
    seconds = time.perf_counter() - begin
    answers.put(Cost(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, answer))


def measured(step: Callable[..., object], *arguments: object) -> Cost:
    """Run a step in a process of its own."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=_child, args=(step, arguments, answers))
    child.start()
    cost: Cost = answers.get()
    child.join()
    return cost


def read_alone(folder: Path) -> int:
    """Bytes of all files, read one after the other."""
    total = 0
    for path in sorted(folder.rglob("*.safetensors")):
        with path.open("rb", buffering=0) as file:
            while part := file.read(8 << 20):
                total += len(part)
    return total


def compare(folder: Path, every_element: bool) -> list[str]:
    """The readings that the comparison names."""
    from diagnose.cli.progress import Progress
    from diagnose.facts.lowbit import WeightReading
    from diagnose.lowbit.compare import compare_inputs

    with Progress(sys.stderr) as progress:
        found = compare_inputs(folder / "original", folder / "gptq", every_element=every_element, progress=progress)
    return [f"{fact.pattern}: {fact.reading}" for fact in found.features if isinstance(fact, WeightReading)]


def _forget(folder: Path) -> None:
    """Drop the files from the page cache, as far as the system allows."""
    os.sync()
    for path in folder.rglob("*.safetensors"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    """Generate, read, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="7 billion parameters")
    parser.add_argument("--folder", type=Path, help="where to write the pair [default: the system's]")
    arguments = parser.parse_args()
    sizes = FULL if arguments.full else SMALL
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        made = measured(generate, folder, sizes)
        print(f"generated in {made.seconds:.0f} s", flush=True)
        _forget(folder)
        alone = measured(read_alone, folder)
        size = int(str(alone.answer))
        print(
            f"{size / 1e9:.1f} GB, read alone: {alone.seconds:.1f} s, {size / alone.seconds / 1e6:,.0f} MB/s",
            flush=True,
        )
        for every, words in ((False, "a sample of rows"), (True, "every element")):
            _forget(folder)
            cost = measured(compare, folder, every)
            print(
                f"{words}: {cost.seconds:.1f} s, {size / cost.seconds / 1e6:,.0f} MB/s of the files, "
                f"{cost.seconds / alone.seconds:.2f} times reading alone, peak {cost.peak_bytes / 1e6:,.0f} MB"
            )
            print(f"    found: {'; '.join(cost.answer) if isinstance(cost.answer, list) else cost.answer}", flush=True)
            expected = f"layers {_FAULTY_FROM}..{sizes.layers - 1} self_attn.k_proj: zero points are one less"
            if cost.answer != [expected]:
                sys.exit(f"expected: {expected}")


if __name__ == "__main__":
    main()

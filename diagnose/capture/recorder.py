"""The recorder: forward hooks on chosen modules, evenly spaced tokens of what goes in and comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import TracebackType
from typing import Any

from diagnose.capture.errors import CaptureError
from diagnose.capture.inputs import check_same, input_hash, stored_inputs, stored_name, tensors_of
from diagnose.capture.limits import Limits
from diagnose.capture.manifest import FILE, ROLES, Manifest, read_manifest
from diagnose.capture.store import Progress, Store
from diagnose.capture.torch_module import torch

DEFAULT_LAYERS = ("*proj*", "*linear*", "*fc*", "*dense*", "*embed*", "*norm*", "*lm_head*", "*mlp", "*attn*")
"""Projections, embeddings, normalisations, and the blocks of a layer, under the names of usual models."""
LOGITS = "logits"
"""What a model of Hugging Face calls its output, and comparisons any model's."""


class Recorder:
    """Records while it is entered. Hooks are gone afterwards, whatever happened.

    Args:
        model: a `torch.nn.Module`.
        folder: where the capture goes; must be empty or absent.
        role: `reference`, `low-bit` or `second-reference` (another run in high precision, for the noise floor).
        layers: glob patterns of module names; a module is recorded when any matches.
        positions: tokens kept of each tensor, evenly spaced over all of the call; 0 keeps all.
        same_inputs_as: folder of the reference, whose inputs must be given again: their hashes are checked.
        limits: bounds of memory, disk and calls.
        progress: called with the tensors and bytes so far.
        number_format: what the model computes in, such as `fp8-e4m3`; errors are judged by it.

    Raises CaptureError for a folder that is in use, an unknown role, no matching module, or other inputs than the
    reference's. A limit that is reached is no error: `stopped` says so, and the manifest too.
    """

    def __init__(
        self,
        model: Any,
        folder: str | Path,
        role: str,
        layers: Sequence[str] = DEFAULT_LAYERS,
        positions: int = 64,
        same_inputs_as: str | Path | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
        number_format: str | None = None,
    ) -> None:
        if role not in ROLES:
            raise CaptureError(f"the role {role!r} is none of {', '.join(ROLES)}")
        self._model = model
        self._folder = Path(folder)
        self._limits = limits or Limits()
        self._positions = positions
        self._modules = chosen_modules(model, layers)
        self._reference_folder = None if same_inputs_as is None else Path(same_inputs_as)
        self._reference = None if self._reference_folder is None else read_manifest(self._reference_folder)
        self._manifest = Manifest(
            role=role,
            model=type(model).__name__,
            dtype=_usual_type(model),
            format=number_format,
            device=_device(model),
            layers=list(layers),
            positions=positions,
            versions={"torch": str(torch().__version__)},
        )
        self._store = Store(self._folder, self._limits, progress)
        self._handles: list[Any] = []
        self._call = -1
        self.stopped: str | None = None

    def __enter__(self) -> Recorder:
        if (self._folder / FILE).exists() or (self._folder.is_dir() and any(self._folder.iterdir())):
            raise CaptureError(f"{self._folder} is not empty")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._handles.append(self._model.register_forward_pre_hook(self._begin, with_kwargs=True))
        for name, module in self._modules:
            self._handles.append(module.register_forward_pre_hook(self._input_of(name), with_kwargs=True))
            self._handles.append(module.register_forward_hook(self._output_of(name)))
        self._handles.append(self._model.register_forward_hook(self._end))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove_hooks()
        if kind is not None and self.stopped is None:
            self.stopped = str(error) if isinstance(error, CaptureError) else f"the model failed: {kind.__name__}"
        self._store.flush()
        self._manifest.order = self._store.order
        self._manifest.files = self._store.files
        self._manifest.stopped = self.stopped
        self._manifest.write(self._folder)

    def inputs(self) -> Iterator[dict[str, Any]]:
        """The reference's inputs, call by call, to be given to the model by name."""
        if self._reference_folder is None:
            raise CaptureError("only a capture with `same_inputs_as` has inputs to give")
        return stored_inputs(self._reference_folder)

    def _begin(self, module: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        self._call += 1
        if self._call >= self._limits.passes:
            self._stop(f"{self._limits.passes} calls were recorded")
            return
        found = tensors_of(arguments, named)
        hashes = {name: input_hash(tensor) for name, tensor in found.items()}
        if self._reference is not None:
            check_same(self._reference, self._call, hashes)
        self._manifest.inputs.append(hashes)
        for name, tensor in found.items():
            self._add(stored_name(name, self._call), tensor.detach().cpu().contiguous().clone())

    def _end(self, module: Any, arguments: tuple[Any, ...], output: Any) -> None:
        logits = getattr(output, LOGITS, None)
        tensor = logits if logits is not None else _first_tensor(output)
        if tensor is not None:
            self._keep(f"{LOGITS}.output", tensor)

    def _input_of(self, name: str) -> Any:
        def hook(_: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
            tensor = _first_tensor([*arguments, *named.values()])
            if tensor is not None and tensor.is_floating_point():
                self._keep(f"{name}.input", tensor)

        return hook

    def _output_of(self, name: str) -> Any:
        def hook(_: Any, __: tuple[Any, ...], output: Any) -> None:
            tensor = _first_tensor(output)
            if tensor is not None:
                self._keep(f"{name}.output", tensor)

        return hook

    def _keep(self, name: str, tensor: Any) -> None:
        if self.stopped is not None:
            return
        self._add(name if self._call == 0 else f"{name}.{self._call}", self._sampled(tensor))

    def _add(self, name: str, tensor: Any) -> None:
        if self.stopped is None and name not in self._store.order and not self._store.add(name, tensor):
            self._stop(f"the limit of {self._limits.disk_bytes:,} bytes on disk was reached")

    def _sampled(self, tensor: Any) -> Any:
        """Rows of tokens, evenly spaced, in the processor's memory. Equal shapes give equal places in every run."""
        rows = tensor.detach()
        rows = rows.reshape(-1, rows.shape[-1]) if rows.dim() > 1 else rows.reshape(1, -1)
        if 0 < self._positions < rows.shape[0]:
            places = [at * rows.shape[0] // self._positions for at in range(self._positions)]
            rows = rows[places]
        return rows.cpu().contiguous().clone()

    def _stop(self, why: str) -> None:
        self.stopped = why
        self._remove_hooks()

    def _remove_hooks(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []


def chosen_modules(model: Any, patterns: Sequence[str]) -> list[tuple[str, Any]]:
    """Modules whose names match, in the model's order. Raises CaptureError where none does."""
    everything = [(name, module) for name, module in model.named_modules() if name]
    found = [(name, module) for name, module in everything if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not found:
        some = ", ".join(name for name, _ in everything[:8])
        raise CaptureError(f"no module matches {', '.join(patterns)}; modules are called {some} ...")
    return found


def _first_tensor(value: Any) -> Any:
    if isinstance(value, torch().Tensor):
        return value
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return next((item for item in items if isinstance(item, torch().Tensor)), None)


def _usual_type(model: Any) -> str | None:
    types = Counter(str(parameter.dtype).removeprefix("torch.") for parameter in model.parameters())
    return types.most_common(1)[0][0] if types else None


def _device(model: Any) -> str | None:
    parameter = next(iter(model.parameters()), None)
    return None if parameter is None else str(parameter.device)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diagnose.capture import CaptureError, Limits, Recorder
from diagnose.capture.manifest import read_manifest
from diagnose.lowbit.readers.open import open_tensors

torch: Any = pytest.importorskip("torch", reason="needs the extra `capture`: make extras")
pytestmark = pytest.mark.extras


def transformer(seed: int = 0) -> Any:
    """Two layers of attention and feed-forward with random weights, as PyTorch's own modules make them."""
    torch.manual_seed(seed)

    class Block(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self, width: int) -> None:
            super().__init__()
            self.input_layernorm = torch.nn.LayerNorm(width)
            self.q_proj = torch.nn.Linear(width, width, bias=False)
            self.k_proj = torch.nn.Linear(width, width, bias=False)
            self.v_proj = torch.nn.Linear(width, width, bias=False)
            self.o_proj = torch.nn.Linear(width, width, bias=False)
            self.up_proj = torch.nn.Linear(width, 2 * width, bias=False)
            self.down_proj = torch.nn.Linear(2 * width, width, bias=False)

        def forward(self, x: Any) -> Any:
            h = self.input_layernorm(x)
            mixed = torch.nn.functional.scaled_dot_product_attention(self.q_proj(h), self.k_proj(h), self.v_proj(h))
            x = x + self.o_proj(mixed)
            return x + self.down_proj(torch.nn.functional.silu(self.up_proj(x)))

    class Model(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.embed_tokens = torch.nn.Embedding(100, 32)
            self.layers = torch.nn.ModuleList(Block(32) for _ in range(2))
            self.lm_head = torch.nn.Linear(32, 100, bias=False)

        def forward(self, input_ids: Any) -> Any:
            x = self.embed_tokens(input_ids)
            for layer in self.layers:
                x = layer(x)
            return self.lm_head(x)

    return Model().eval()


def record(model: Any, folder: Path, ids: Any, **more: Any) -> Recorder:
    recorder = Recorder(model, folder, **{"role": "reference", **more})
    with recorder, torch.inference_mode():
        for call in ids:
            model(call)
    return recorder


def ids(*shape: int, seed: int = 1) -> Any:
    return torch.randint(0, 100, shape, generator=torch.Generator().manual_seed(seed))


def test_recorded_tensors_are_those_of_the_model(tmp_path: Path) -> None:
    model = transformer()
    given = ids(2, 5)
    record(model, tmp_path / "a", [given], positions=0)
    found = open_tensors(tmp_path / "a")
    assert (found["inputs.input_ids"].load() == given.numpy()).all()
    with torch.inference_mode():
        logits = model(given).reshape(-1, 100).numpy()
    assert found["logits.output"].floats() == pytest.approx(logits, abs=1e-6)
    weight = model.layers[1].down_proj.weight.detach().numpy()
    product = found["layers.1.down_proj.input"].floats() @ weight.T
    assert found["layers.1.down_proj.output"].floats() == pytest.approx(product, abs=1e-5)


def test_order_is_that_of_the_computation(tmp_path: Path) -> None:
    record(transformer(), tmp_path / "a", [ids(1, 4)])
    order = read_manifest(tmp_path / "a").order
    places = [
        order.index(name) for name in ("embed_tokens.output", "layers.0.q_proj.input", "layers.1.down_proj.output")
    ]
    assert places == sorted(places)
    assert open_tensors(tmp_path / "a").order == order


def test_selected_layers_and_evenly_spaced_tokens_only(tmp_path: Path) -> None:
    record(transformer(), tmp_path / "a", [ids(4, 8)], layers=["layers.*.o_proj"], positions=8)
    found = open_tensors(tmp_path / "a")
    assert {name for name in found if name.endswith("proj.output")} == {
        "layers.0.o_proj.output",
        "layers.1.o_proj.output",
    }
    assert found["layers.0.o_proj.output"].shape == (8, 32)


def test_second_run_gets_the_same_inputs(tmp_path: Path) -> None:
    model = transformer()
    record(model, tmp_path / "a", [ids(1, 6), ids(2, 3, seed=2)])
    low = transformer().to(torch.bfloat16)
    recorder = Recorder(low, tmp_path / "b", role="low-bit", same_inputs_as=tmp_path / "a")
    with recorder, torch.inference_mode():
        for call in recorder.inputs():
            low(**call)
    first, second = read_manifest(tmp_path / "a"), read_manifest(tmp_path / "b")
    assert first.inputs == second.inputs
    assert (second.role, second.dtype) == ("low-bit", "bfloat16")
    assert set(open_tensors(tmp_path / "a")) == set(open_tensors(tmp_path / "b"))


def test_other_inputs_are_refused_and_said(tmp_path: Path) -> None:
    model = transformer()
    record(model, tmp_path / "a", [ids(1, 6)])
    with pytest.raises(CaptureError, match="not that of the reference"):
        record(model, tmp_path / "b", [ids(1, 6, seed=9)], role="low-bit", same_inputs_as=tmp_path / "a")
    assert "not that of the reference" in (read_manifest(tmp_path / "b").stopped or "")
    assert not model._forward_hooks
    assert not model._forward_pre_hooks


def test_disk_limit_ends_the_recording_and_not_the_model(tmp_path: Path) -> None:
    model = transformer()
    recorder = record(model, tmp_path / "a", [ids(1, 16)] * 3, limits=Limits(disk_bytes=20_000), positions=0)
    assert "20,000 bytes" in (recorder.stopped or "")
    assert sum(file.stat().st_size for file in (tmp_path / "a").glob("*.safetensors")) < 30_000
    assert read_manifest(tmp_path / "a").stopped == recorder.stopped
    assert len(open_tensors(tmp_path / "a")) == len(read_manifest(tmp_path / "a").order)


def test_memory_limit_makes_several_files(tmp_path: Path) -> None:
    record(transformer(), tmp_path / "a", [ids(1, 16)], limits=Limits(memory_bytes=8_000), positions=0)
    assert len(read_manifest(tmp_path / "a").files) > 3
    assert "layers.1.down_proj.output" in open_tensors(tmp_path / "a")


def test_calls_are_limited(tmp_path: Path) -> None:
    recorder = record(transformer(), tmp_path / "a", [ids(1, 4)] * 4, limits=Limits(passes=2))
    assert recorder.stopped == "2 calls were recorded"
    assert len(read_manifest(tmp_path / "a").inputs) == 2


def test_failing_model_leaves_a_manifest_that_says_so(tmp_path: Path) -> None:
    model = transformer()
    with pytest.raises(IndexError), Recorder(model, tmp_path / "a", role="reference"):
        model(torch.tensor([[5000]]))
    assert read_manifest(tmp_path / "a").stopped == "the model failed: IndexError"


@pytest.mark.parametrize(
    ("more", "words"), [({"role": "other"}, "none of"), ({"layers": ["nothing*"]}, "no module matches")]
)
def test_wrong_arguments_are_named(tmp_path: Path, more: dict[str, Any], words: str) -> None:
    with pytest.raises(CaptureError, match=words):
        record(transformer(), tmp_path / "a", [ids(1, 2)], **more)


def test_used_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("mine")
    with pytest.raises(CaptureError, match="not empty"):
        record(transformer(), tmp_path / "a", [ids(1, 2)])


def test_what_the_model_computes_in_stands_in_the_manifest(tmp_path: Path) -> None:
    record(transformer(), tmp_path / "a", ids(1, 4), number_format="fp8-e4m3")
    assert read_manifest(tmp_path / "a").format == "fp8-e4m3"


def test_manifest_is_plain_json(tmp_path: Path) -> None:
    record(transformer(), tmp_path / "a", [ids(1, 4)])
    content = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert content["schema"] == "diagnose.capture/1"
    assert content["model"] == "Model"

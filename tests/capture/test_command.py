from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnose.capture.manifest import read_manifest
from diagnose.cli.capture import capture

pytest.importorskip("torch", reason="needs the extra `capture`: make extras")
pytestmark = pytest.mark.extras

FACTORY = textwrap.dedent(
    """
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed_tokens = torch.nn.Embedding(50, 8)
            self.lm_head = torch.nn.Linear(8, 50)

        def forward(self, input_ids):
            return self.lm_head(self.embed_tokens(input_ids))

    def make():
        torch.manual_seed(0)
        return Model()

    def large():
        model = make()
        model.lm_head.register_forward_hook(lambda *_: 1 / 0)
        return model

    def text():
        return "no model"
    """
)


def test_two_runs_of_a_function_s_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "factory_of_test.py").write_text(FACTORY)
    (tmp_path / "ids.jsonl").write_text('{"id": 0, "prompt_token_ids": [1, 2, 3]}\n{"id": 1, "input_ids": [4]}\n')
    run = CliRunner()
    common = ["--factory", "factory_of_test:make"]
    first = run.invoke(capture, ["--role", "reference", *common, "--prompts", "ids.jsonl", "-o", "ref"])
    assert first.exit_code == 0, first.output
    second = run.invoke(capture, ["--role", "low-bit", *common, "--same-inputs-as", "ref", "-o", "low"])
    assert second.exit_code == 0, second.output
    assert read_manifest(tmp_path / "ref").inputs == read_manifest(tmp_path / "low").inputs
    assert len(read_manifest(tmp_path / "ref").inputs) == 2


@pytest.mark.parametrize(
    ("factory", "prompts", "words"),
    [
        ("factory_of_test:text", '{"input_ids": [1]}', "not a torch.nn.Module"),
        ("factory_of_test:absent", '{"input_ids": [1]}', "cannot be imported"),
        ("no-colon", '{"input_ids": [1]}', "module:function"),
        ("factory_of_test:make", '{"input_ids": "text"}', "no list of token ids"),
        ("factory_of_test:make", "", "holds no prompt"),
        ("factory_of_test:large", '{"input_ids": [1]}', "the model failed: ZeroDivisionError"),
        ("factory_of_test:make", '{"input_ids": [50]}', "the model failed: IndexError"),
        ("factory_of_test:make", "{", "no JSON"),
    ],
)
def test_wrong_inputs_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factory: str, prompts: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "factory_of_test.py").write_text(FACTORY)
    (tmp_path / "ids.jsonl").write_text(prompts + "\n")
    arguments = ["--role", "reference", "--factory", factory, "--prompts", "ids.jsonl", "-o", "ref"]
    result = CliRunner().invoke(capture, arguments)
    assert result.exit_code == 2
    assert words in result.output.replace("\n", " ")

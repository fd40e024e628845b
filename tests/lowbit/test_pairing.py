from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from diagnose.lowbit.pairing import pair, read_mapping
from diagnose.lowbit.tensors import TensorError


def pairs(
    reference: Mapping[str, tuple[int, ...]], low: Mapping[str, tuple[int, ...]]
) -> list[tuple[tuple[str, ...], str]]:
    return [(found.reference, found.low) for found in pair(reference, low).pairs]


def test_equal_names_are_pairs() -> None:
    assert pairs({"a": (2, 3), "b": (4,)}, {"b": (4,), "a": (2, 3)}) == [(("a",), "a"), (("b",), "b")]


def test_prefixes_and_other_projects_names_are_known() -> None:
    reference = {"model.layers.0.self_attn.q_proj.weight": (8, 8), "model.layers.0.mlp.down_proj.weight": (8, 16)}
    low = {"blk.0.attn_q.weight": (8, 8), "module.model.layers.0.mlp.down_proj.weight": (8, 16)}

    assert [low for _, low in pairs(reference, low)] == list(low)


def test_parts_are_laid_end_to_end_where_the_low_set_has_them_merged() -> None:
    base = "model.layers.2.self_attn"
    reference = {f"{base}.q_proj.weight": (8, 8), f"{base}.k_proj.weight": (2, 8), f"{base}.v_proj.weight": (2, 8)}

    assert pairs(reference, {f"{base}.qkv_proj.weight": (12, 8)}) == [(tuple(reference), f"{base}.qkv_proj.weight")]
    assert pairs(reference, {f"{base}.qkv_proj.weight": (13, 8)}) == []


def test_merged_activations_lie_along_the_channels() -> None:
    base = "model.layers.2.mlp"
    reference = {f"{base}.gate_proj.output": (4, 8), f"{base}.up_proj.output": (4, 8)}

    assert pairs(reference, {f"{base}.gate_up_proj.output": (4, 16)}) == [
        (tuple(reference), f"{base}.gate_up_proj.output")
    ]


def test_a_merged_reference_is_taken_in_parts() -> None:
    base = "model.layers.2.mlp"
    low = {f"{base}.gate_proj.weight": (8, 4), f"{base}.up_proj.weight": (8, 4)}

    found = pair({f"{base}.gate_up_proj.weight": (16, 4)}, low).pairs

    assert [(item.low, item.part) for item in found] == [
        (f"{base}.gate_proj.weight", (0, 8)), (f"{base}.up_proj.weight", (8, 16)),
    ]  # fmt: skip


def test_alike_names_of_one_layer_are_paired_only_if_no_other_is_alike() -> None:
    reference = {"layers.1.mixer.in_projection.output": (4, 8), "layers.1.mixer.other.output": (4, 8)}

    assert pairs(reference, {"layers.1.mixer.in_projection2.output": (4, 8)}) == [
        (("layers.1.mixer.in_projection.output",), "layers.1.mixer.in_projection2.output")
    ]
    twins = {"layers.1.expert_a.output": (4, 8), "layers.1.expert_b.output": (4, 8)}
    assert pairs(twins, {"layers.1.expert_c.output": (4, 8)}) == []


def test_other_shapes_are_no_pairs_and_are_said() -> None:
    found = pair({"a": (2, 3)}, {"a": (5, 7)})

    assert not found.pairs
    assert found.mismatched == ["a is 2x3 and a is 5x7"]


def test_what_has_no_partner_is_kept() -> None:
    found = pair({"a": (2,), "b": (3,)}, {"a": (2,), "c": (4,)})

    assert (list(found.unpaired_reference), list(found.unpaired_low)) == (["b"], ["c"])


def test_a_mapping_is_json_or_two_names_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": "b"}')
    (tmp_path / "a.txt").write_text("# reference  low\na b\nc -> d\n")

    assert read_mapping(tmp_path / "a.json") == {"a": "b"}
    assert read_mapping(tmp_path / "a.txt") == {"a": "b", "c": "d"}
    (tmp_path / "wrong.txt").write_text("a b c\n")
    with pytest.raises(TensorError, match="each line names"):
        read_mapping(tmp_path / "wrong.txt")


def test_a_mapping_to_names_that_do_not_exist_is_refused() -> None:
    assert [(item.low, item.how) for item in pair({"a": (2,)}, {"z": (2,)}, {"a": "z"}).pairs] == [("z", "mapping")]
    with pytest.raises(TensorError, match="'nowhere'"):
        pair({"a": (2,)}, {"z": (2,)}, {"a": "nowhere"})

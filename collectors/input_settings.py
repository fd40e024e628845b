"""Tokenizer, preprocessor and generation settings: what a run makes of its inputs and how it chooses its tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from collectors.base import Block, Parsed
from collectors.json_document import JsonDocument
from collectors.json_text import real, whole
from collectors.precision_words import role_of
from diagnose.facts.precision import InputSettings, SamplingSettings

_TOKENIZER = (
    "add_bos_token", "add_eos_token", "add_prefix_space", "bos_token", "eos_token", "pad_token", "unk_token",
    "chat_template", "clean_up_tokenization_spaces", "do_lower_case", "legacy", "padding_side", "truncation_side",
    "split_special_tokens", "use_default_system_prompt",
)  # fmt: skip
_PREPROCESSOR = (
    "crop_size", "data_format", "do_center_crop", "do_convert_rgb", "do_normalize", "do_rescale", "do_resize",
    "do_pad", "feature_size", "hop_length", "image_mean", "image_std", "input_data_format", "n_fft", "nb_max_frames",
    "patch_size", "max_pixels", "min_pixels", "resample", "rescale_factor", "sampling_rate", "size", "chunk_length",
)  # fmt: skip
_LONGEST = 120


class InputSettingsJson(JsonDocument):
    """`tokenizer_config.json` and `preprocessor_config.json`: one fact each."""

    kind: ClassVar[str] = "input-settings"
    literals: ClassVar[tuple[bytes, ...]] = (b'"tokenizer_class"', b'"image_mean"', b'"feature_extractor_type"')

    @classmethod
    def told_by(cls, text: str) -> bool:
        """Keys that no other file of a model has."""
        return any(
            word in text
            for word in (
                '"tokenizer_class"', '"add_bos_token"', '"added_tokens_decoder"', '"image_mean"', '"do_rescale"',
                '"image_processor_type"', '"feature_extractor_type"',
            )
        )  # fmt: skip

    @classmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """Settings that change the input; class names and paths do not."""
        for sort, names in (("tokenizer", _TOKENIZER), ("preprocessor", _PREPROCESSOR)):
            settings = tuple((name, _as_text(content[name])) for name in sorted(names) if name in content)
            if settings:
                role = role_of(block.path)
                fact = InputSettings(
                    subject=block.subject(),
                    sources=(block.source(),),
                    sort=sort,
                    role=role.role,
                    role_from=role.told_by,
                    settings=settings,
                )
                return Parsed([fact])
        return Parsed()


def _as_text(value: object) -> str:
    """The value as it stands; a long one, such as a chat template, by its beginning and its hash."""
    if isinstance(value, Mapping) and "content" in value:
        value = value["content"]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    if len(text) <= _LONGEST:
        return text
    return f"{text[:40]}... ({len(text)} characters, hash {hashlib.sha256(text.encode()).hexdigest()[:12]})"


class GenerationConfigJson(JsonDocument):
    """`generation_config.json`, or a request's sampling parameters: one fact."""

    kind: ClassVar[str] = "generation-config"
    literals: ClassVar[tuple[bytes, ...]] = (b'"temperature"', b'"do_sample"', b'"top_p"')

    @classmethod
    def told_by(cls, text: str) -> bool:
        """At least two settings of sampling, and nothing that a longer file of results would have."""
        names = ('"temperature"', '"top_p"', '"top_k"', '"do_sample"', '"repetition_penalty"', '"seed"', '"min_p"')
        return sum(name in text for name in names) >= 2 and not any(
            word in text for word in ('"results"', '"tasks"', '"choices"', '"text"', '"prompt"', '"messages"')
        )

    @classmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """The settings; what is not written stays absent."""
        fact = sampling_settings(block, content)
        return Parsed([fact] if fact is not None else [])


def sampling_settings(block: Block, content: Mapping[str, Any]) -> SamplingSettings | None:
    """Settings of sampling that an object holds; None where it holds none."""
    values: dict[str, Any] = {
        name: real(content.get(name))
        for name in (
            "temperature", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
        )
    }  # fmt: skip
    values |= {name: whole(content.get(name)) for name in ("top_k", "seed")}
    if isinstance(content.get("do_sample"), bool):
        values["do_sample"] = content["do_sample"]
    if all(value is None for value in values.values()):
        return None
    role = role_of(block.path)
    return SamplingSettings(
        subject=block.subject(), sources=(block.source(),), role=role.role, role_from=role.told_by, **values
    )

"""What the arguments of inference servers mean: `max_num_seqs` of vLLM is `max_running_requests` of SGLang.

Sources: vllm-project/vllm, vllm/engine/arg_utils.py; sgl-project/sglang, python/sglang/srt/server_args.py;
huggingface/text-generation-inference, launcher/src/main.rs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

_MOST = 10**12
_ABSENT = frozenset({"", "none", "null", "auto", "not set", "unset"})
_TRUE, _FALSE = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off"})
_PAIR = re.compile(
    r"""['"]?\b(?P<name>[A-Za-z][\w-]{1,48})['"]?\s*[=:]\s*"""
    r"""(?P<value>\[[^\[\]]{0,4000}\]|SpeculativeConfig\([^()]{0,400}\)|'[^']{0,200}'|"[^"]{0,200}"|[^\s,(){}\[\]'"]{1,120})"""
)


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """`name=value` and `'name': value` of a printed object, in order; lists keep their brackets."""
    for match in _PAIR.finditer(text):
        yield match["name"], match["value"].strip("'\"")


def _whole(text: str) -> int | None:
    text = text.replace(",", "").replace("_", "")
    return int(text) if text.isdecimal() and 0 < len(text) < 13 and 0 < int(text) < _MOST else None


def _ratio(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= 1 else None


def _flag(text: str) -> bool | None:
    lowered = text.lower()
    return True if lowered in _TRUE else False if lowered in _FALSE else None


def _inverse(text: str) -> bool | None:
    value = _flag(text)
    return None if value is None else not value


def _word(text: str) -> str | None:
    word = text.strip()
    return None if word.lower() in _ABSENT or "$" in word or len(word) > 120 else word


def _dtype(text: str) -> str | None:
    return _word(text.removeprefix("torch."))


def _batches(text: str) -> tuple[int, ...] | None:
    found = sorted({int(part) for part in re.findall(r"\d{1,6}", text)})
    return tuple(found) or None


def _speculative(text: str) -> str | None:
    """A configuration of vLLM names its method within."""
    method = re.search(r"['\"]?method['\"]?\s*[:=]\s*['\"]?([\w-]{2,30})", text)
    return method.group(1) if method else _word(text)


class _Setting(NamedTuple):
    field: str
    read: Callable[[str], Any]


_SETTINGS: Mapping[str, _Setting] = {
    "max_num_seqs": _Setting("max_running_requests", _whole),
    "max_running_requests": _Setting("max_running_requests", _whole),
    "max_concurrent_requests": _Setting("max_running_requests", _whole),
    "max_num_batched_tokens": _Setting("max_batched_tokens", _whole),
    "max_batch_prefill_tokens": _Setting("max_batched_tokens", _whole),
    "chunked_prefill_size": _Setting("prefill_chunk_tokens", _whole),
    "enable_chunked_prefill": _Setting("chunked_prefill", _flag),
    "chunked_prefill_enabled": _Setting("chunked_prefill", _flag),
    "enable_mixed_chunk": _Setting("mixed_chunk", _flag),
    "enable_prefix_caching": _Setting("prefix_caching", _flag),
    "disable_radix_cache": _Setting("prefix_caching", _inverse),
    "enforce_eager": _Setting("eager_mode", _flag),
    "disable_cuda_graph": _Setting("eager_mode", _flag),
    "cuda_graph_max_bs": _Setting("cuda_graph_max_batch", _whole),
    "max_capture_size": _Setting("cuda_graph_max_batch", _whole),
    "max_cudagraph_capture_size": _Setting("cuda_graph_max_batch", _whole),
    "cuda_graph_bs": _Setting("cuda_graph_batches", _batches),
    "cudagraph_capture_sizes": _Setting("cuda_graph_batches", _batches),
    "kv_cache_dtype": _Setting("kv_cache_dtype", _dtype),
    "max_total_num_tokens": _Setting("kv_cache_tokens", _whole),
    "gpu_memory_utilization": _Setting("memory_utilization_ratio", _ratio),
    "mem_fraction_static": _Setting("memory_utilization_ratio", _ratio),
    "cuda_memory_fraction": _Setting("memory_utilization_ratio", _ratio),
    "max_model_len": _Setting("max_model_tokens", _whole),
    "max_seq_len": _Setting("max_model_tokens", _whole),
    "context_len": _Setting("max_model_tokens", _whole),
    "context_length": _Setting("max_model_tokens", _whole),
    "max_total_tokens": _Setting("max_model_tokens", _whole),
    "tensor_parallel_size": _Setting("tensor_parallel_size", _whole),
    "tp_size": _Setting("tensor_parallel_size", _whole),
    "tp": _Setting("tensor_parallel_size", _whole),
    "pipeline_parallel_size": _Setting("pipeline_parallel_size", _whole),
    "pp_size": _Setting("pipeline_parallel_size", _whole),
    "data_parallel_size": _Setting("data_parallel_size", _whole),
    "dp_size": _Setting("data_parallel_size", _whole),
    "quantization": _Setting("quantization", _word),
    "dtype": _Setting("dtype", _dtype),
    "speculative_algorithm": _Setting("speculative_method", _word),
    "speculative_config": _Setting("speculative_method", _speculative),
    "disaggregation_mode": _Setting("disaggregation", _word),
}
_MODEL = ("model", "model_path", "model_tag", "model_id")
SERVING_ONLY = frozenset(
    {
        *(
            "max_num_seqs",
            "max_running_requests",
            "max_num_batched_tokens",
            "chunked_prefill_size",
            "cuda_graph_max_bs",
        ),
        *("enable_chunked_prefill", "enable_mixed_chunk", "enable_prefix_caching", "disable_radix_cache"),
        *("disable_cuda_graph", "gpu_memory_utilization", "mem_fraction_static", "max_model_len", "enforce_eager"),
        *("max_batch_prefill_tokens", "max_concurrent_requests"),
    }
)
"""Arguments that only inference servers have; the others are those of training and of libraries too."""
_SGLANG_ONLY = frozenset({"mem_fraction_static", "chunked_prefill_size", "cuda_graph_max_bs", "disable_radix_cache"})
_VLLM_ONLY = frozenset({"max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "enforce_eager"})


def normal(name: str) -> str:
    """`--Max-Num-Seqs` as `max_num_seqs`."""
    return name.lstrip("-").replace("-", "_").lower()


class Settings:
    """What was said of a server's settings so far; later words stand."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.model: str | None = None
        self.names: set[str] = set()

    def take(self, name: str, value: str) -> bool:
        """Whether the argument is understood. An argument without a value is given as `true`."""
        name = normal(name)
        positive = name.removeprefix("no_")
        if positive != name and positive in _SETTINGS and (inverse := _inverse(value)) is not None:
            name, value = positive, str(inverse)
        if name in _MODEL:
            self.model = _word(value) or self.model
            return True
        setting = _SETTINGS.get(name)
        if setting is None:
            return False
        self.names.add(name)
        if name == "chunked_prefill_size" and (value.startswith("-") or value == "0"):
            self.values["chunked_prefill"] = False
        elif (read := setting.read(value)) is not None:
            self.values[setting.field] = read
            if name == "chunked_prefill_size":
                self.values["chunked_prefill"] = True
        if setting.field == "cuda_graph_batches" and setting.field in self.values:
            self.values["cuda_graph_max_batch"] = self.values[setting.field][-1]
        return True

    def engine(self) -> str | None:
        """Whose arguments they are, where their names tell."""
        vllm, sglang = self.names & _VLLM_ONLY, self.names & _SGLANG_ONLY
        return "vllm" if vllm and not sglang else "sglang" if sglang and not vllm else None

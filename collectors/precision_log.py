"""What serving engines log about precision: fallbacks, KV-cache scales, emulation, mismatched scales."""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from collectors.base import Line, LineCollector, Parsed
from collectors.precision_words import precision_of
from diagnose.facts import Subject
from diagnose.facts.precision import PrecisionNotice

_LONGEST = 300


class _Saying(NamedTuple):
    code: str
    engine: str | None
    pattern: re.Pattern[str]


def _saying(code: str, engine: str | None, pattern: str) -> _Saying:
    return _Saying(code, engine, re.compile(pattern))


# Wordings of vLLM (model_executor/layers/quantization), SGLang (model_runner, model_config), TensorRT-LLM and PyTorch.
_SAYINGS = (
    _saying("weight-only-fallback", "vllm", r"does not have native support for FP\d computation"),
    _saying("weight-only-fallback", None, r"will be used leveraging the Marlin"),
    _saying("emulation", "vllm", r"[Ss]imulated weight dequantization"),
    _saying("emulation", None, r"[Ff]alling back to \S+ emulation|emulat(?:e|ed|ion) (?:of )?(?:FP8|FP4|MXFP\d|NVFP4)"),
    _saying("unsupported-format", "vllm", r"quantization method \S+ is not supported for the current GPU"),
    _saying("kv-cache-quantised", "vllm", r"Using fp8(?:_e[45]m[23])? data type to store kv cache"),
    _saying("kv-scales-default", "sglang", r"Using FP8 KV cache but no scaling factors provided"),
    _saying("kv-scales-default", "vllm", r"Defaulting to KV cache scaling factors? ?=? ?1\.0"),
    _saying("kv-scale-one", "vllm", r"Using KV cache scaling factor 1\.0 for fp8"),
    _saying("kv-scales-loaded", None, r"Loaded KV cache scaling factors"),
    _saying("kv-scales-computed", "vllm", r"calculate_kv_scales[\"']?[ =:]+True"),
    _saying("fnuz-conversion", None, r"normaliz\w+ e4m3fn to e4m3fnuz"),
    _saying("scale-format", "sglang", r"scale_fmt of checkpoint is not ue8m0"),
    _saying("scales-differ", "vllm", r"global scale for input or weight are different for"),
    _saying("scales-differ", "vllm", r"w1_weight_\w*scale\w* must match w3"),
    _saying("scales-negative", "vllm", r"assumes the scales to be >= ?0, but has encountered negative"),
    _saying("buggy-kernel", "vllm", r"kernel for GPTQ is buggy"),
    _saying("cast-to-fp16", "vllm", r"Casting torch\.bfloat16 to torch\.float16"),
    _saying("cast-to-fp16", "vllm", r"doesn't support torch\.bfloat16\. Falling back to torch\.float16"),
    _saying("overflow", None, r"probability tensor contains either `inf`, `nan`"),
    _saying(
        "overflow", None, r"(?:logits|hidden[_ ]states?|activations?) (?:contains?|have|has) (?:nan|NaN|inf|Inf)\b"
    ),
)


class PrecisionLog(LineCollector):
    """One fact for each thing that is said, with the number of lines."""

    kind: ClassVar[str] = "precision-log"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"native support for FP", b"alling back to", b"imulated weight", b"mulat", b"not supported for the current GPU",
        b"data type to store kv cache", b"KV cache", b"FP8 not supported", b"FP8 is not supported", b"e4m3fnuz",
        b"scale_fmt", b"global scale", b"must match w3", b"encountered negative", b"is buggy", b"orch.float16",
        b"calculate_kv_scales", b"leveraging the Marlin", b"probability tensor contains", b"ontains NaN",
        b"contains nan", b"contains inf", b"contains Inf", b"have NaN", b"have nan", b"has NaN", b"has nan",
    )  # fmt: skip

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._seen: dict[str, tuple[_Saying, Line, int, str | None]] = {}

    def feed(self, line: Line, host: str | None) -> bool:
        """A line that says one of the things."""
        saying = next((one for one in _SAYINGS if one.pattern.search(line.text)), None)
        if saying is None:
            return False
        first = self._seen.get(saying.code)
        if first is None:
            self._seen[saying.code] = (saying, line, 1, host)
        else:
            self._seen[saying.code] = (first[0], first[1], first[2] + 1, first[3])
        return True

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """What was said."""
        return Parsed(
            [
                PrecisionNotice(
                    subject=Subject(host=host),
                    sources=(self.source(line.number),),
                    code=code,
                    engine=saying.engine,
                    format=precision_of(line.text),
                    count=count,
                    text=line.text.strip()[:_LONGEST],
                )
                for code, (saying, line, count, host) in self._seen.items()
            ]
        )

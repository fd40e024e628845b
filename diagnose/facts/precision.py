"""Facts about a model in few bits and its original: settings, inputs, results, and what the hardware makes of them.

`role` is always `reference` (high precision, or known good), `low-bit` (or the one under suspicion), or absent where
neither content nor name tells; `role_from` says in words how it was told.
"""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required

_ROLE = "`reference`, `low-bit`, or absent where nothing tells"
_ROLE_FROM = "How the role was told, e.g. `named in the file name: bf16`"


class QuantisationConfig(Fact):
    """How a checkpoint says that it is quantised."""

    kind: ClassVar[str] = "quantisation-config"
    few_per_host: ClassVar[bool] = True
    method: str = required(
        "`gptq`, `awq`, `fp8`, `compressed-tensors`, `modelopt`, `bitsandbytes`, `mxfp4`, `onnx-qdq`"
    )
    weight_format: str | None = optional(
        "`int8`, `int4`, `int3`, `int2`, `fp8` (E4M3), `fp8-e5m2`, `fp6`, `mxfp8`, `mxfp4`, `nvfp4`"
    )
    activation_format: str | None = optional("The same for activations; absent where they stay in 16 bits")
    activation_scheme: str | None = optional("`static` (calibrated), `dynamic` (computed at run time) or `none`")
    bits: int | None = optional("Bits of a weight")
    group_size: int | None = optional("Weights that share a scale; absent for one scale each channel or tensor")
    granularity: str | None = optional("`tensor`, `channel`, `group`, `block` or `token`")
    symmetric: bool | None = optional("Whether there is no zero point")
    desc_act: bool | None = optional("GPTQ: whether columns are ordered by activation")
    checkpoint_format: str | None = optional("GPTQ: `gptq` (stored zero points are one less), `gptq_v2`, `marlin`, ...")
    stored_zero_point: int | None = optional("What the format stores as zero point of a symmetric weight")
    kv_cache_format: str | None = optional("Format of the KV cache that the checkpoint asks for")
    kv_cache_dynamic: bool | None = optional("Whether the KV cache's scales are computed at run time")
    ignored_layers: tuple[str, ...] | None = optional("Patterns of modules that stay in high precision, at most 512")
    ignored_count: int | None = optional("Number of such patterns")
    output_layer_quantised: bool | None = optional("Whether the output projection (lm_head) is quantised")
    router_quantised: bool | None = optional("Whether a mixture of experts has its router quantised; absent if none")
    producer: str | None = optional("Tool that wrote it, e.g. `llm-compressor`, `modelopt`, `gptqmodel`")
    producer_version: str | None = optional("Its version")


class InputSettings(Fact):
    """What becomes of text or images before the model: tokenizer and preprocessor files of a run."""

    kind: ClassVar[str] = "input-settings"
    few_per_host: ClassVar[bool] = True
    sort: str = required("`tokenizer` or `preprocessor`")
    role: str | None = optional(_ROLE)
    role_from: str | None = optional(_ROLE_FROM)
    settings: tuple[tuple[str, str], ...] = required("Name and value of what changes the input, in order of name")


class TokenSequence(Fact):
    """Token ids that a run fed to its model, for one prompt."""

    kind: ClassVar[str] = "token-sequence"
    prompt: str = required("Number or id of the prompt")
    role: str | None = optional(_ROLE)
    role_from: str | None = optional(_ROLE_FROM)
    tokens: int = required("Number of tokens")
    ids: tuple[int, ...] = required("The ids, at most 4096")


class PreprocessingDifference(Fact):
    """Where the inputs of two runs differ. A feature."""

    kind: ClassVar[str] = "preprocessing-difference"
    few_per_host: ClassVar[bool] = True
    what: str = required("`tokens` (the ids themselves), `tokenizer` or `preprocessor` (settings)")
    differs: bool = required("False: both were compared and are equal")
    compared: int = required("Prompts, or settings that both have")
    field: str | None = optional("Setting that differs")
    reference_value: str | None = optional("Its value, or token id, in the reference run")
    suspect_value: str | None = optional("In the other run")
    position: int | None = optional("First token that differs, counted from 0")
    prompts_differing: int | None = optional("Prompts whose tokens differ")
    only_first_token: bool | None = optional("Whether one run has a token in front (BOS) and the rest is equal")
    roles_known: bool = required("Whether it is known which run is the reference")


class SamplingSettings(Fact):
    """How a run chose its tokens."""

    kind: ClassVar[str] = "sampling-settings"
    few_per_host: ClassVar[bool] = True
    role: str | None = optional(_ROLE)
    role_from: str | None = optional(_ROLE_FROM)
    temperature: float | None = optional("Temperature; 0 is greedy")
    top_p: float | None = optional("Nucleus sampling")
    top_k: int | None = optional("Candidates kept")
    min_p: float | None = optional("Least probability relative to the best")
    repetition_penalty: float | None = optional("Repetition penalty; 1 is none")
    presence_penalty: float | None = optional("Presence penalty")
    frequency_penalty: float | None = optional("Frequency penalty")
    do_sample: bool | None = optional("Whether tokens are drawn at random")
    seed: int | None = optional("Seed")


class SamplingDifference(Fact):
    """How two runs differ in the choice of tokens. A feature."""

    kind: ClassVar[str] = "sampling-difference"
    few_per_host: ClassVar[bool] = True
    differs: bool = required("Whether any setting differs, counting defaults that are not written")
    field: str | None = optional("First setting that differs")
    reference_value: str | None = optional("Its value in the reference run")
    suspect_value: str | None = optional("In the other run")
    fields: int = required("Settings that differ")
    random: bool = required("Whether at least one run draws tokens at random")
    same_seed: bool = required("Whether both name the same seed")


class GeneratedText(Fact):
    """Texts that a run wrote, summed up."""

    kind: ClassVar[str] = "generated-text"
    few_per_host: ClassVar[bool] = True
    role: str | None = optional(_ROLE)
    role_from: str | None = optional(_ROLE_FROM)
    texts: tuple[tuple[str, str], ...] = required("Prompt's number or id, and text; at most 512 of 4096 characters")
    outputs: int = required("Texts read")
    degenerate: int = required("Texts of at least eight characters that repeat one character or one word throughout")
    greedy: bool | None = optional("Whether the file says that temperature was 0")


class TextDivergence(Fact):
    """Texts of two runs for the same prompts. A feature."""

    kind: ClassVar[str] = "text-divergence"
    few_per_host: ClassVar[bool] = True
    compared: int = required("Prompts that both runs answered")
    differing: int = required("Answers that differ")
    differing_ratio: float = required("Share of them")
    first_difference_characters: float | None = optional("Median place of the first differing character, from 0")
    common_ratio: float | None = optional("Median share of the shorter answer before the first difference")
    reference_degenerate: int = required("Answers of the reference that repeat one character or word")
    suspect_degenerate: int = required("Such answers of the other run")


class LogprobDifference(Fact):
    """Log-probabilities of two runs over the same tokens. A feature."""

    kind: ClassVar[str] = "logprob-difference"
    few_per_host: ClassVar[bool] = True
    positions: int = required("Positions compared")
    top1_agreement_ratio: float = required("Share of positions at which both prefer the same token")
    kl_mean_nats: float | None = optional("Mean Kullback-Leibler divergence over the tokens that both list, nats")
    mean_absolute_difference_nats: float = required("Mean absolute difference of the common tokens' log-probabilities")
    bias_nats: float = required("Mean difference, other run minus reference")


class LogprobSequence(Fact):
    """Log-probabilities that a run gave, position by position."""

    kind: ClassVar[str] = "logprob-sequence"
    role: str | None = optional(_ROLE)
    role_from: str | None = optional(_ROLE_FROM)
    prompt: str = required("Number or id of the prompt")
    top: tuple[tuple[tuple[str, float], ...], ...] = required(
        "At each position the candidates and their natural log-probabilities, best first; at most 2048 positions"
    )


class EvaluationResult(Fact):
    """One score of one model on one task."""

    kind: ClassVar[str] = "evaluation-result"
    task: str = required("Task, e.g. `gsm8k`, or `score` where none is named")
    metric: str = required("Metric and filter, e.g. `exact_match,strict-match`")
    value: float = required("Score: a share for accuracies, else as printed")
    stderr: float | None = optional("Standard error: as printed, or of a share of `items`")
    items: int | None = optional("Items scored")
    higher_is_better: bool = required("False for perplexities and losses")
    variant: str | None = optional("What distinguishes the run: model, file, or the cell of a table")
    precision: str | None = optional("Format that the names tell: `bf16`, `fp8`, `int4`, `nvfp4`, ...")
    differs_in: str | None = optional("What the low-bit format is of: `weights`, `kv-cache`; absent where not told")
    role: str | None = optional(_ROLE)
    role_from: str | None = optional(_ROLE_FROM)


class EvaluationDifference(Fact):
    """One score of two runs. A feature."""

    kind: ClassVar[str] = "evaluation-difference"
    few_per_host: ClassVar[bool] = True
    task: str = required("Task")
    metric: str = required("Metric")
    reference_value: float = required("Score of the reference, or of the better run where none is known")
    suspect_value: float = required("Score of the other run")
    loss_ratio: float = required("Loss of the other run relative to the reference; negative where it is better")
    standard_errors: float | None = optional("Difference in standard errors of a difference of two independent runs")
    items: int | None = optional("Items scored, the smaller number")
    differs_in: str | None = optional("`kv-cache` or `weights`, where names tell what is in low bits")
    reference_precision: str | None = optional("Format of the reference")
    suspect_precision: str | None = optional("Format of the other run")
    reference_known: bool = required("Whether one of them is a high-precision reference")


class EvaluationProgress(Fact):
    """A score that is known for the early and for the late part of one run."""

    kind: ClassVar[str] = "evaluation-progress"
    few_per_host: ClassVar[bool] = True
    measure: str = required("Column")
    early_value: float = required("Score of the early part, a share")
    late_value: float = required("Score at the end, a share")
    role: str | None = optional(_ROLE)


class KvScales(Fact):
    """Scales of a KV cache as a file has them."""

    kind: ClassVar[str] = "kv-scales"
    few_per_host: ClassVar[bool] = True
    layers: int = required("Layers that have one")
    scales: int = required("Scales read")
    ones: int = required("Scales that are exactly 1, the default")
    zeros: int = required("Scales that are 0 or no number")
    smallest: float = required("Smallest scale")
    largest: float = required("Largest scale")
    data_type: str | None = optional("Data type that the file names, e.g. `float8_e4m3fn`")


class ScaleComputation(Fact):
    """A scale that was set from a spread of data and that of the format's values, and what that should give."""

    kind: ClassVar[str] = "scale-computation"
    few_per_host: ClassVar[bool] = True
    format: str = required("Format, e.g. `fp8-e4m3`")
    scale: float = required("Scale that was used")
    data_spread: float = required("Standard deviation of the data")
    reference_spread: float | None = optional("Standard deviation of the format's values, as the file has it")
    reference_values: int | None = optional("Values of the format that went into it")
    finite_values: int = required("Finite values that the format has")
    expected_scale: float = required("Data's over the finite values' standard deviation")
    scale_ratio: float = required("Scale over the expected one")


class ZeroPoints(Fact):
    """Zero points of a tensor, unpacked."""

    kind: ClassVar[str] = "zero-points"
    few_per_host: ClassVar[bool] = True
    tensor: str = required("Tensor")
    count: int = required("Values read")
    most_common: int = required("Most common value")
    smallest: int = required("Smallest value")
    largest: int = required("Largest value")


class PrecisionNotice(Fact):
    """What a serving engine says about the precision that it really uses."""

    kind: ClassVar[str] = "precision-notice"
    few_per_host: ClassVar[bool] = True
    code: str = required(
        "`weight-only-fallback`, `emulation`, `kv-cache-quantised` (a general warning, says nothing of a model), "
        "`kv-scales-default` (the checkpoint has none), `kv-scale-one`, `kv-scales-loaded`, `kv-scales-computed`, "
        "`fnuz-conversion`, `scale-format`, `unsupported-format`, `scales-differ` (of fused layers), "
        "`scales-negative`, `buggy-kernel`, `cast-to-fp16`, `overflow`"
    )
    engine: str | None = optional("`vllm`, `sglang`, `tensorrt-llm`, `llama.cpp`, `transformers`")
    format: str | None = optional("Format that it names")
    count: int = required("Lines that say so")
    text: str = required("First such line, at most 300 characters")


class PrecisionThroughput(Fact):
    """A measured rate in one precision."""

    kind: ClassVar[str] = "precision-throughput"
    few_per_host: ClassVar[bool] = True
    precision: str = required("`fp16`, `bf16`, `fp8`, `int8`, `nvfp4`, ...")
    rate: float = required("Rate, in the unit")
    unit: str = required("Unit as the column is named")
    shape: str = required("Other columns of the row, which must agree for a comparison")
    largest_dimension: int | None = optional("Largest matrix dimension or batch of the row")


class PrecisionThroughputRatio(Fact):
    """How much faster a low-bit format is than 16 bits in the same measurement. A feature."""

    kind: ClassVar[str] = "precision-throughput-ratio"
    few_per_host: ClassVar[bool] = True
    low_format: str = required("Low-bit format")
    high_format: str = required("16-bit format")
    ratio: float = required("Rate in low bits over that in 16 bits, at the largest shape")
    unit: str = required("Unit of the rates")
    compute_bound: bool | None = optional("Whether the shape is large enough for the arithmetic to limit it")


class PerplexityRun(Fact):
    """A run of a perplexity tool."""

    kind: ClassVar[str] = "perplexity-run"
    few_per_host: ClassVar[bool] = True
    chunks: int = required("Chunks with a value")
    chunks_expected: int | None = optional("Chunks that the run was to have")
    context_length: int | None = optional("Tokens of a chunk's context")
    final: float | None = optional("Last finite value, or the final estimate where it is printed")
    stderr: float | None = optional("Its standard error, where printed")
    not_a_number: int = required("Chunks whose value is nan or inf")
    first_not_a_number: int | None = optional("First such chunk, counted from 1")
    series: tuple[float, ...] | None = optional("Finite values by chunk, at most 1024, from the first")
    kv_cache_format: str | None = optional("Data type of the KV cache")
    model_format: str | None = optional("Format of the weights, e.g. `Q4_K - Medium`")
    role: str | None = optional(_ROLE)
    role_from: str | None = optional(_ROLE_FROM)


class PerplexityDifference(Fact):
    """Perplexities of two runs over the same chunks. A feature."""

    kind: ClassVar[str] = "perplexity-difference"
    few_per_host: ClassVar[bool] = True
    reference: float = required("Perplexity of the reference over the chunks that both have")
    suspect: float | None = optional("Of the other run; absent where it is no number")
    ratio: float | None = optional("The second over the first")
    chunks: int = required("Chunks that both have")
    reference_not_a_number: int = required("Chunks of the reference that are no number")
    suspect_not_a_number: int = required("Such chunks of the other run")
    first_not_a_number: int | None = optional("First such chunk of the other run, counted from 1")


class KlDivergenceResult(Fact):
    """Divergence of a model's token distribution from a reference, as a tool printed it. Nats."""

    kind: ClassVar[str] = "kl-divergence-result"
    few_per_host: ClassVar[bool] = True
    model: str | None = optional("Model")
    precision: str | None = optional("Format that the name tells: `int4`, `nvfp4`, ...")
    bits: float | None = optional("Bits of a weight in that format")
    positions: int | None = optional("Tokens compared")
    mean_nats: float = required("Mean")
    median_nats: float | None = optional("Median")
    p99_nats: float | None = optional("99th percentile")
    max_nats: float | None = optional("Maximum")
    top1_agreement_ratio: float | None = optional("Share of positions with the same best token")
    perplexity_ratio: float | None = optional("Perplexity over that of the reference")


class NonFiniteOutput(Fact):
    """An intermediate tensor with Inf or NaN, as a tool found it."""

    kind: ClassVar[str] = "non-finite-output"
    few_per_host: ClassVar[bool] = True
    tensor: str = required("Tensor")
    runner: str | None = optional("Runner or run that has it")
    infinite: bool = required("Whether Inf was found")
    not_a_number: bool = required("Whether NaN was found")
    in_reference: bool | None = optional("Whether the reference has it too")
    order: int = required("Place among such tensors of the file, from 0: the first is where it began")


class AccuracyComparison(Fact):
    """A tool's verdict on one output of two runs."""

    kind: ClassVar[str] = "accuracy-comparison"
    few_per_host: ClassVar[bool] = True
    tool: str = required("`polygraphy`, `trtexec`, `msprobe`")
    output: str = required("Output")
    passed: bool = required("Whether the tool accepted it")
    max_absolute_error: float | None = optional("Largest absolute difference")
    max_relative_error: float | None = optional("Largest relative difference")
    mean_absolute_error: float | None = optional("Mean absolute difference")
    median_relative_error: float | None = optional("Median relative difference")
    cosine: float | None = optional("Cosine of the two")
    absolute_tolerance: float | None = optional("Tolerance that was set")
    relative_tolerance: float | None = optional("Tolerance that was set")
    default_tolerance: bool | None = optional("Whether they are the tool's own for float32 (1e-5)")
    low_precision: bool | None = optional("Whether a runner used fp16, bf16, int8 or fp8, as the output says")


class OperatorComparison(Fact):
    """One operator's input or output in two runs, from a comparison tool's table."""

    kind: ClassVar[str] = "operator-comparison"
    tool: str = required("`msprobe`, or `table`")
    operator: str = required("Operator, e.g. `Functional.linear.0.forward`")
    place: str = required("`input` or `output`")
    order: int = required("Row, from 0")
    cosine: float | None = optional("Cosine of the two tensors")
    max_absolute_error: float | None = optional("Largest absolute difference")
    max_relative_error: float | None = optional("Largest relative difference")
    one_thousandth_ratio: float | None = optional("Share of elements with a relative error below 0.1%")
    largest_magnitude: float | None = optional("Largest magnitude in the reference")
    same_shape: bool = required("Whether shapes agree")
    passed: bool | None = optional("The tool's verdict")


class OperatorDivergence(Fact):
    """The first operator that loses most of the agreement which its inputs still have. A feature."""

    kind: ClassVar[str] = "operator-divergence"
    few_per_host: ClassVar[bool] = True
    operators: int = required("Operators with input and output")
    rows: int = required("Rows of the table")
    passed: int = required("Rows that the tool accepted")
    failed: int = required("Rows that it did not")
    first_input_cosine: float | None = optional("Cosine of the first input: below 1 the runs did not see the same")
    worst_cosine: float | None = optional("Smallest cosine of all rows")
    operator: str | None = optional("The operator; absent where no output agrees less than its inputs")
    input_cosine: float | None = optional("Worst cosine of its inputs")
    output_cosine: float | None = optional("Worst cosine of its outputs")
    input_one_thousandth_ratio: float | None = optional("Smallest share of its inputs' elements within 0.1%")
    output_one_thousandth_ratio: float | None = optional("Smallest share of its outputs' elements within 0.1%")

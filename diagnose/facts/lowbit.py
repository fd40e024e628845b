"""Facts about a low-precision run or checkpoint beside its reference, tensor by tensor and over the depth of a model.

SQNR is 20 log10(|reference| / |reference - low|) in Euclidean norms; the relative L2 error is its inverse as a ratio.
What a format's theory predicts is found by quantising a sample of the reference itself
(`diagnose.lowbit.expected`), so that it holds for the distribution at hand.
"""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class LowbitComparison(Fact):
    """Two sets of tensors as a whole. One fact for each comparison; most rules begin here."""

    kind: ClassVar[str] = "lowbit-comparison"
    few_per_host: ClassVar[bool] = True
    contents: str = required("`activations`: recorded intermediate tensors; `weights`: checkpoints")
    format: str | None = optional("Most frequent low format: `int4`, `int8`, `fp8-e4m3`, `nvfp4`, `fp16`...")
    tensors: int = required("Pairs of tensors compared")
    layers: int = required("Layers that the names tell, 0 where they tell none")
    median_sqnr_db: float | None = optional("Median SQNR over the pairs; absent where nothing differs")
    median_gap_db: float | None = optional("Median of expected less measured SQNR; about 0 is what the format costs")
    worst_gap_db: float | None = optional("Largest of these")
    worst_tensor: str | None = optional("Where that is")
    over_gap: int = required("Pairs whose SQNR is 6 dB or more below what is expected")
    differing: int = required("Pairs that are not equal bit for bit")
    input_sqnr_db: float | None = optional("SQNR of the first activation: below 40 the runs did not see the same input")
    inputs_equal: bool | None = optional("Whether token ids or other integer inputs of both runs are equal")
    output_sqnr_db: float | None = optional("SQNR of the last activation")
    output_relative_l2_ratio: float | None = optional("Relative L2 error of the last activation")
    output_cosine: float | None = optional("Cosine of the last activation")
    top1_agreement_ratio: float | None = optional("Share of positions where both runs' logits have the same maximum")


class TensorError(Fact):
    """One tensor of both runs. Subject: none; `tensor` names it."""

    kind: ClassVar[str] = "tensor-error"
    tensor: str = required("Name in the reference")
    low_tensor: str | None = optional("Name in the low-precision set, where it differs")
    layer: int | None = optional("Index of the layer in the model, as its name says")
    module: str | None = optional("Module without the layer: `self_attn.k_proj`")
    position: int = required("Place in the order of computation, from 0")
    role: str = required("`weight`, `input`, `output` (of a module), `logits` or `tokens`")
    format: str | None = optional("Low format that is stored or that its values lie on")
    elements: int = required("Elements compared")
    sqnr_db: float | None = optional("SQNR over finite pairs; absent where both are equal")
    equal: bool = required("Whether both are equal bit for bit")
    cosine: float | None = optional("Cosine of both")
    relative_l2_ratio: float | None = optional("Relative L2 error")
    max_absolute_error: float | None = optional("Largest absolute difference")
    max_relative_error_ratio: float | None = optional(
        "Largest difference over the reference's value, of values above a thousandth of its RMS"
    )
    median_ulp: float | None = optional("Median difference in units of the last place of the coarser stored type")
    over_one_ulp_ratio: float | None = optional("Share of elements more than one such unit apart")
    gain_ratio: float | None = optional("Norm of the low tensor over that of the reference")
    slope: float | None = optional("Least-squares slope of low on reference: 1 where the error is mere noise")
    bias_sigma: float | None = optional("Mean difference over the reference's standard deviation")
    clipping_ratio: float | None = optional("Share of elements at the low tensor's limit whose reference is beyond it")
    zero_ratio: float | None = optional("Share of elements that are zero in the low tensor and not in the reference")
    nan_count: int = required("NaN in the low tensor")
    inf_count: int = required("Infinities in the low tensor")
    reference_nan_count: int = required("NaN in the reference")
    reference_inf_count: int = required("Infinities in the reference")
    reference_max: float | None = optional("Largest finite magnitude of the reference")
    reference_rms: float | None = optional("Root mean square of the reference")
    expected_sqnr_db: float | None = optional("SQNR that the format's theory gives for this reference")
    gap_db: float | None = optional("Expected less measured SQNR")
    error_signal_correlation: float | None = optional("Correlation of error and reference: about 0 for noise")
    channel_concentration_ratio: float | None = optional("Share of the squared error in the worst 1 % of channels")
    token_concentration_ratio: float | None = optional("Share of the squared error in the worst 1 % of tokens")
    token_trend: float | None = optional("Rank correlation of a token's error with its position")
    channels: int | None = optional("Channels: size of the last axis")
    outlier_channels: int | None = optional("Channels whose largest magnitude is over 20 times the median channel's")
    outlier_ratio: float | None = optional("Largest magnitude of a channel over the median channel's")
    normal_channels_sqnr_db: float | None = optional("SQNR of the channels that are no outliers")


class LayerLocalError(Fact):
    """A module whose input and output both runs recorded: does it add more error than it was given."""

    kind: ClassVar[str] = "layer-local-error"
    layer: int | None = optional("As in tensor-error")
    module: str | None = optional("As in tensor-error")
    position: int = required("Place in the order of computation, from 0")
    format: str | None = optional("As in tensor-error")
    input_sqnr_db: float | None = optional("SQNR of its input; absent where equal")
    output_sqnr_db: float | None = optional("SQNR of its output; absent where equal")
    local_sqnr_db: float | None = optional("SQNR of what the module adds: error powers subtract")
    expected_sqnr_db: float | None = optional("What the format gives such a product of quantised operands")
    gap_db: float | None = optional("Expected less local SQNR")
    error_share_ratio: float | None = optional("Its part of the squared errors that all modules add")
    origin: str = required("`local`: its input agrees and its output does not; `inherited`; `none`")
    weights_agree: bool | None = optional("Whether its weights are at the format's floor, where they were compared")


class ProductCheck(Fact):
    """A low-precision module's output against the exact product of its own input and its own weights."""

    kind: ClassVar[str] = "product-check"
    layer: int | None = optional("As in tensor-error")
    module: str | None = optional("As in tensor-error")
    inner_dimension: int = required("Length of the sums")
    rows: int = required("Rows that were multiplied anew")
    sqnr_db: float | None = optional("SQNR of the recorded output; absent where equal")
    output_floor_db: float | None = optional("SQNR that rounding the output to its stored type alone gives")
    with_quantised_input_sqnr_db: float | None = optional("The same with the input quantised as the format would")
    clip_limit_ratio: float | None = optional(
        "Limit over the largest input, where cutting the input off there explains the output far better"
    )
    with_clipped_input_sqnr_db: float | None = optional("SQNR with the input cut off there")


class AccumulationProfile(Fact):
    """How exactness of products falls with the length of their sums. A feature of product-check."""

    kind: ClassVar[str] = "accumulation-profile"
    few_per_host: ClassVar[bool] = True
    products: int = required("Modules that were multiplied anew")
    shortest: int = required("Shortest inner dimension")
    longest: int = required("Longest")
    shortest_sqnr_db: float = required("Median SQNR at the shortest")
    longest_sqnr_db: float = required("Median SQNR at the longest")
    median_sqnr_db: float = required("Median over all; below 50 the product itself is inexact")
    median_floor_db: float = required("Median of what rounding the outputs gives")
    db_per_quadrupling: float | None = optional("SQNR lost for each four times the length: about 6 for 16-bit sums")
    inexact: int = required("Modules 6 dB or more below their floor and below 50 dB")


class DepthProfile(Fact):
    """How the relative L2 error of the activations grows over the layers. A feature of tensor-error."""

    kind: ClassVar[str] = "depth-profile"
    few_per_host: ClassVar[bool] = True
    shape: str = required(
        "`flat`: no growth; `saturation`: growth that slows, as mere noise does; `steady`: growth to the end; `jump`: "
        "one step holds most of it; `late-blow-up`: exponential growth; `from-input`: high before the first layer; "
        "`at-output`: low until the head; `short`: too few layers"
    )
    layers: int = required("Layers with a measurement")
    first_relative_l2_ratio: float = required("At the first layer")
    middle_relative_l2_ratio: float | None = optional("Half-way")
    last_relative_l2_ratio: float = required("At the last")
    first_diverging_layer: int | None = optional("First layer 3 times over what precedes it and its format say")
    first_diverging_tensor: str | None = optional("Its tensor")
    step_ratio: float | None = optional("Largest growth from one layer to the next")
    step_layer: int | None = optional("Layer with it")
    step_share: float | None = optional("Its part of the logarithm of all growth")
    doublings_per_layer: float | None = optional("Slope of log2 of the error over the layers")


class ErrorConcentration(Fact):
    """Which modules add most of the error. A feature of layer-local-error, else of the weights."""

    kind: ClassVar[str] = "error-concentration"
    few_per_host: ClassVar[bool] = True
    pattern: str = required("Modules: `layers 0..1`, `all layers mlp.down_proj`, `lm_head`")
    category: str | None = optional("`head`, `embedding`, `router`, `norm`, `attention-output`, `down`, `ends`")
    modules: int = required("How many they are")
    modules_share_ratio: float = required("Their part of all modules")
    error_share_ratio: float = required("Their part of the squared errors that all modules add")
    median_sqnr_db: float = required("Their median local SQNR")
    others_median_sqnr_db: float = required("That of the rest")


class NanOnset(Fact):
    """Where NaN or infinities appear in the low-precision run that the reference does not have."""

    kind: ClassVar[str] = "nan-onset"
    few_per_host: ClassVar[bool] = True
    tensor: str = required("First tensor in the order of computation")
    layer: int | None = optional("Its layer")
    module: str | None = optional("Its module")
    value: str = required("`nan` or `inf`: which comes first")
    count: int = required("Elements in that tensor")
    tensors: int = required("Tensors with any")
    reference_finite: bool = required("Whether the reference is finite there")
    reference_max: float | None = optional("Largest finite magnitude of the reference there")
    format_max: float | None = optional("Largest value of the stored type, e.g. 65504 for fp16")


class NoiseFloor(Fact):
    """How far two high-precision runs of the same inputs are apart, beside the low-precision one."""

    kind: ClassVar[str] = "noise-floor"
    few_per_host: ClassVar[bool] = True
    tensors: int = required("Activations that all three runs have")
    differing: int = required("Of these, tensors that differ between the high-precision runs")
    noise_output_sqnr_db: float | None = optional("SQNR between the high-precision runs' last activations")
    low_output_sqnr_db: float | None = optional("SQNR of the low-precision one there")
    median_margin_db: float | None = optional("Median of noise less low SQNR: about 0 where low bits add none")
    within_noise_ratio: float = required("Share of tensors whose low-precision error is no more than twice the noise")


class TensorPairing(Fact):
    """How the names of both sets were matched."""

    kind: ClassVar[str] = "tensor-pairing"
    few_per_host: ClassVar[bool] = True
    paired: int = required("Pairs")
    by_name: int = required("Pairs of equal names")
    by_rule: int = required("Pairs by known renamings, prefixes and fused layers")
    by_mapping: int = required("Pairs by the mapping file")
    unpaired_reference: int = required("Names of the reference without a partner")
    unpaired_low: int = required("Names of the low-precision set without a partner")
    shape_mismatches: int = required("Pairs left out because their shapes do not fit")
    examples: str | None = optional("Some names without a partner")


class WeightCheck(Fact):
    """All weights of one scheme of a checkpoint as they are meant to be read, beside the original."""

    kind: ClassVar[str] = "weight-check"
    few_per_host: ClassVar[bool] = True
    scheme: str = required("`gptq`, `awq`, `compressed-tensors`, `fp8`, `bitsandbytes`, `mx`, `nvfp4`, `gguf`, `cast`")
    format: str = required("`int4`, `fp8-e4m3`...")
    granularity: str | None = optional("`tensor`, `channel`, `group-128`, `block-128x128`")
    tensors: int = required("Weights compared")
    at_floor: int = required("Weights within 3 dB of what the format's theory predicts, or better")
    explained: int = required("Weights that another reading brings there")
    unexplained: int = required("Weights that no reading brings there")
    median_sqnr_db: float | None = optional("Median SQNR as read")
    median_expected_sqnr_db: float | None = optional("Median of the theory's")
    finer_granularity: str | None = optional("A finer granularity that the format allows")
    finer_gain_db: float | None = optional("Median of what it would gain")
    worst_unexplained: str | None = optional("Name of the worst of the unexplained")


class WeightReading(Fact):
    """Weights that agree with the original when they are read otherwise than their checkpoint says."""

    kind: ClassVar[str] = "weight-reading"
    few_per_host: ClassVar[bool] = True
    pattern: str = required("Weights: `layers 3..31 self_attn.k_proj`")
    scheme: str = required("As in weight-check")
    format: str = required("As in weight-check")
    family: str = required(
        "`scale`, `group-size`, `parallel-scale`, `zero-point`, `packing`, `transposed`, `format`, `scale-type`, "
        "`other-layer` or `activation-order`"
    )
    hypothesis: str = required("Id of the reading, e.g. `scale-axis`, `zero-point-plus-one`, `nibbles-swapped`")
    reading: str = required("The reading as a clause: `scales lie along the input axis`")
    tensors: int = required("Weights of the pattern")
    tensors_total: int = required("Weights of the scheme in all")
    sqnr_before_db: float = required("Median SQNR as the checkpoint says")
    sqnr_after_db: float = required("Median SQNR by this reading")
    gain_db: float = required("Median gain")
    expected_sqnr_db: float = required("Median of the theory's")
    at_floor: bool = required("Whether the reading reaches the theory's within 3 dB")


class QuantisationScales(Fact):
    """Scales of one role in a checkpoint."""

    kind: ClassVar[str] = "quantisation-scales"
    few_per_host: ClassVar[bool] = True
    role: str = required("`weight`, `activation`, `kv-cache`")
    tensors: int = required("Tensors of scales")
    value_count: int = required("Values in them that were looked at")
    type: str | None = optional("Stored type: `float32`, `float16`, `e8m0`...")
    all_one: int = required("Tensors whose scales are all exactly 1")
    all_same: bool = required("Whether all tensors hold one and the same value")
    zero_count: int = required("Scales that are zero")
    nonfinite_count: int = required("Scales that are NaN or infinite")
    negative_count: int = required("Scales below zero")
    denormal_count: int = required("Scales below the smallest normal number of their type")
    minimum: float | None = optional("Least finite scale")
    maximum: float | None = optional("Largest")
    example: str | None = optional("Name of a tensor whose scales are all 1, zero or not finite")


class CalibrationCoverage(Fact):
    """Static activation scales of a checkpoint against the activations that were recorded."""

    kind: ClassVar[str] = "calibration-coverage"
    few_per_host: ClassVar[bool] = True
    modules: int = required("Modules with a static scale and a recorded input")
    exceeded: int = required("Of these, whose inputs go beyond the calibrated range by over 30 %")
    worst_ratio: float = required("Largest input over calibrated range")
    worst_module: str = required("Where")
    median_ratio: float = required("Median of largest input over calibrated range")
    median_clipped_ratio: float | None = optional("Median share of elements beyond the range, where scales are known")
    too_wide: int = required("Modules whose range is over eight times the largest input")
    all_default: bool = required("Whether every static scale is exactly 1")


class ClippingSummary(Fact):
    """Activations that stop at a limit which the reference goes beyond. A feature of tensor-error."""

    kind: ClassVar[str] = "clipping-summary"
    few_per_host: ClassVar[bool] = True
    tensors: int = required("Activations looked at")
    clipped: int = required("Of these, with over a thousandth of elements clipped")
    median_clipping_ratio: float = required("Median share over the clipped ones")
    median_gain_ratio: float = required("Median gain of the clipped ones: below 1 where ranges are too small")
    worst_tensor: str = required("Most clipped")
    worst_clipping_ratio: float = required("Its share")


class OutlierSummary(Fact):
    """Channels that dwarf the others, and what the others lose by them. A feature of tensor-error."""

    kind: ClassVar[str] = "outlier-summary"
    few_per_host: ClassVar[bool] = True
    tensors: int = required("Activations looked at")
    with_outliers: int = required("Of these, with outlier channels")
    largest_ratio: float = required("Largest magnitude of a channel over the median channel's")
    worst_tensor: str = required("Where")
    median_normal_sqnr_db: float | None = optional("Median SQNR of their other channels")
    median_normal_loss_db: float | None = optional("What the format would give these channels alone, less that")
    error_in_outliers_ratio: float | None = optional("Median share of the squared error in the outlier channels")


class TensorFile(Fact):
    """What the header of a file of tensors says; the values themselves are compared by `diagnose lowbit compare`."""

    kind: ClassVar[str] = "tensor-file"
    format: str = required("`safetensors`")
    tensors: int = required("Tensors")
    elements: int | None = optional("Elements in all; packed codes count as their words")
    types: tuple[str, ...] = required("Stored types, most frequent first")
    low_bit_tensors: int = required("Tensors of 8 bits or less an element, or of packed codes")
    weight_scales: int = required("Tensors that are scales of weights")
    input_scales: int = required("Tensors that are static scales of activations")
    kv_scales: int = required("Tensors that are scales of the KV cache")

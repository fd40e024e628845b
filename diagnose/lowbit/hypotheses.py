"""Ways in which a quantised weight may be misread, each as another reading to try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diagnose.lowbit.encoded import Encoded, Reading

_GROUPS = (16, 32, 64, 128, 256)
_HEADS = (64, 96, 128, 256)
_FLOATS = {
    "e4m3fn": "E4M3", "e4m3fnuz": "E4M3 of the FNUZ kind", "e5m2": "E5M2", "e5m2fnuz": "E5M2 of the FNUZ kind",
}  # fmt: skip
_ORDERS = {
    "linear": "codes stand in their words lowest bits first",
    "reversed": "codes stand in their words highest bits first",
    "nibbles-swapped": "the two codes of each byte are exchanged",
    "awq": "codes stand in AWQ's order (0, 2, 4, 6, 1, 3, 5, 7)",
    "awq-inverse": "codes stand in the inverse of AWQ's order",
    "halves": "the first half of each row stands in the low bits of all words, the second in the high ones",
    "halves-of-32": "of each 32 codes the first 16 stand in the low nibbles",
}


@dataclass(frozen=True)
class Hypothesis:
    """A reading with its name, what sort of mistake it would be, and how to say it."""

    id: str
    family: str
    """As `weight-reading` says."""
    says: str
    reading: Reading
    block: tuple[int, int] | None = None
    """Rows and columns that share a scale by this reading, where it says so."""


def hypotheses(encoded: Encoded, others: Sequence[Encoded] = (), head_rows: int = 0) -> Iterator[Hypothesis]:
    """All readings to try for a weight; simpler ones first. `others` are the same module's weights in other layers."""
    yield from _placed(encoded, head_rows)
    if encoded.extra is not None:
        return
    yield from _scales(encoded)
    yield from _zero_points(encoded)
    yield from _packing(encoded)
    yield from _elements(encoded)
    yield from _shards(encoded)
    for other in others:
        if encoded.scales is not None and other.scales is not None and other.scales().shape == encoded.scales().shape:
            yield Hypothesis(
                "scales-of-other-layer", "scale", f"its scales stand at {other.name}", Reading(scale_from=other)
            )


def _placed(encoded: Encoded, head_rows: int) -> Iterator[Hypothesis]:
    high, wide = encoded.shape
    if high == wide:
        yield Hypothesis("transposed", "transposed", "the matrix is stored transposed", Reading(transposed=True))
    if encoded.extra is None and high != wide:
        yield Hypothesis(
            "buffer-transposed", "transposed", "the buffer is that of the transposed matrix", Reading(reshaped=True)
        )
    for rows in dict.fromkeys((head_rows, *_HEADS)) if high % 2 == 0 else ():
        if rows and high % rows == 0:
            for name in ("rotary", "rotary-inverse"):
                way = "interleaved" if name == "rotary" else "split in halves"
                says = f"the outputs of each head ({rows}) are {way} for rotary embedding"
                yield Hypothesis(f"{name}-order", "packing", says, Reading(rows=name, head_rows=rows))
    if high % 2 == 0:
        yield Hypothesis(
            "halves-swapped", "packing", "the halves of a merged weight are exchanged", Reading(rows="halves-swapped")
        )


def _scales(encoded: Encoded) -> Iterator[Hypothesis]:
    if encoded.overall is not None:
        use = "divide" if encoded.overall_use == "multiply" else "multiply"
        yield Hypothesis("global-scale-inverted", "scale", f"the global scale is to {use}", Reading(overall_use=use))
        yield Hypothesis("global-scale-ignored", "scale", "the global scale is none", Reading(overall_use="ignore"))
    if encoded.scales is None:
        return
    grid = encoded.scale_matrix().shape
    high, wide = encoded.shape
    yield Hypothesis("scale-reciprocal", "scale", "the scales are reciprocals", Reading(scale_use="divide"))
    yield Hypothesis("scale-ignored", "scale", "the scales do not apply", Reading(scale_use="ignore"))
    if grid == (high, 1) and high == wide:
        yield Hypothesis(
            "scale-axis", "scale", "scales lie along the input axis", Reading(scale_index="other-axis"), (0, 1)
        )
    if grid[0] == high and grid[1] > 1 and wide % grid[1] == 0 and high % (wide // grid[1]) == 0:
        yield Hypothesis(
            "scale-axis", "scale", "groups run along the output axis", Reading(scale_index="other-axis"), (0, 1)
        )
    if grid[0] == grid[1] > 1:
        how = Reading(scale_index="other-axis-of-blocks")
        yield Hypothesis("scale-axis", "scale", "the grid of scales is transposed", how)
    if min(grid) > 1:
        order = Reading(scale_index="other-order")
        yield Hypothesis("scale-order", "scale", "the scales are stored in the order of the other axis", order)
    if grid[1] > 1:
        for size in _GROUPS:
            if -(-wide // size) != grid[1] and size < wide:
                yield Hypothesis(
                    "group-size", "group-size", f"groups are of {size}", Reading(scale_index=f"group-{size}")
                )
        if encoded.group:
            says = f"groups are of {wide // grid[1]}, as the number of scales says, not of {encoded.group}"
            yield Hypothesis("group-size", "group-size", says, Reading(scale_index="by-shape"))
        yield Hypothesis("group-next", "group-size", "groups use the scale of the next", Reading(scale_index="next"))
        previous = Reading(scale_index="previous")
        yield Hypothesis("group-previous", "group-size", "groups use the scale of the one before", previous)
        says = "groups are interleaved over the inputs"
        yield Hypothesis("group-strided", "group-size", says, Reading(scale_index="strided"))
    for factor, says in ((2.0, "twice"), (0.5, "half of")):
        if encoded.theory.scale == "e8m0":
            says = f"exponents of scales are {'one more' if factor > 1 else 'one less'}"
            yield Hypothesis("scale-exponent", "scale-type", says, Reading(scale_factor=factor))
    yield from _scale_types(encoded)


def _scale_types(encoded: Encoded) -> Iterator[Hypothesis]:
    stored = encoded.scales().dtype.name if encoded.scales is not None else ""
    others = {
        "float16": ("bfloat16",),
        "bfloat16": ("float16",),
        "uint8": ("e4m3",),
        "float8_e4m3fn": ("e8m0", "float8_e4m3fnuz", "float8_e5m2"),
        "float8_e8m0fnu": ("e4m3",),
    }
    for kind in others.get(stored, ()):
        says = f"the bits of the scales are {kind}, not {stored}"
        yield Hypothesis("scale-type", "scale-type", says, Reading(scale_type=kind))


def _zero_points(encoded: Encoded) -> Iterator[Hypothesis]:
    if not encoded.element.startswith(("uint", "int")):
        return
    yield Hypothesis("zero-point-plus-one", "zero-point", "zero points are one more", Reading(zero="plus-one"))
    yield Hypothesis("zero-point-minus-one", "zero-point", "zero points are one less", Reading(zero="minus-one"))
    if encoded.zeros is not None:
        yield Hypothesis(
            "zero-point-symmetric", "zero-point", "the zero point is the middle of the codes", Reading(zero="middle")
        )
        yield Hypothesis("zero-point-doubled", "zero-point", "zero points are doubled", Reading(zero="doubled"))
    if encoded.zeros is not None or encoded.zero_offset:
        yield Hypothesis("zero-point-none", "zero-point", "there are no zero points", Reading(zero="ignore"))
    bits = encoded.codes.bits
    if encoded.element == f"uint{bits}":
        signed = Reading(element=f"int{bits}", zero="ignore")
        yield Hypothesis("signed-codes", "zero-point", "codes are signed, in two's complement", signed)
    else:
        offset = Reading(element=f"uint{bits}", zero="middle")
        yield Hypothesis("offset-codes", "zero-point", f"codes are offset by {1 << bits - 1}", offset)


def _packing(encoded: Encoded) -> Iterator[Hypothesis]:
    codes = encoded.codes
    if codes.packed:
        word = codes.per
        for order, says in _ORDERS.items():
            fits = word == 8 if order.startswith("awq") else word == 2 if order == "nibbles-swapped" else True
            fits = fits and not (order == "reversed" and word == 2)
            wide = encoded.shape[0] if codes.along_outputs else encoded.shape[1]
            if order == codes.order or not fits or (order == "halves-of-32" and wide % 32):
                continue
            name = "nibbles-swapped" if order in ("nibbles-swapped", "reversed") and word == 2 else f"order-{order}"
            zeros = order if encoded.zeros is not None and encoded.zeros.packed else None
            yield Hypothesis(name, "packing", says, Reading(order=order, zero_order=zeros))
            if zeros is not None and zeros in ("linear", "reversed", "awq", "awq-inverse", "nibbles-swapped"):
                yield Hypothesis(f"{name}-codes", "packing", f"of the weights: {says}", Reading(order=order))
                yield Hypothesis(f"{name}-zeros", "packing", f"of the zero points: {says}", Reading(zero_order=order))
        if word == 8 and codes.order != "nibbles-swapped":
            zeros = "nibbles-swapped" if encoded.zeros is not None and encoded.zeros.packed else None
            swapped = Reading(order="nibbles-swapped", zero_order=zeros)
            yield Hypothesis("nibbles-swapped", "packing", _ORDERS["nibbles-swapped"], swapped)
            yield Hypothesis(
                "nibbles-swapped-codes", "packing", f"of the weights: {_ORDERS['nibbles-swapped']}",
                Reading(order="nibbles-swapped"),
            )  # fmt: skip
        if codes.can_turn():
            axis = "input" if codes.along_outputs else "output"
            yield Hypothesis("packed-axis", "packing", f"codes are packed along the {axis} axis", Reading(turned=True))
    if encoded.input_groups is not None:
        says = "groups are of consecutive inputs; the stored order of inputs does not apply"
        yield Hypothesis("activation-order-ignored", "activation-order", says, Reading(input_order=False))


def _elements(encoded: Encoded) -> Iterator[Hypothesis]:
    if encoded.element in _FLOATS:
        for other, name in _FLOATS.items():
            if other != encoded.element:
                says = f"values are {name}, not {_FLOATS[encoded.element]}"
                yield Hypothesis(f"element-{other}", "format", says, Reading(element=other))
        yield Hypothesis("element-int8", "format", "values are 8-bit integers", Reading(element="int8"))
    elif encoded.element == "int8":
        yield Hypothesis("element-e4m3fn", "format", "values are FP8 E4M3", Reading(element="e4m3fn", zero="ignore"))
    elif encoded.element in ("e2m1", "nf4", "bnb-fp4"):
        for other, name in (("e2m1", "FP4 E2M1"), ("nf4", "NF4"), ("bnb-fp4", "bitsandbytes' FP4"), ("int4", "INT4")):
            if other != encoded.element:
                yield Hypothesis(f"element-{other}", "format", f"values are {name}", Reading(element=other))


def _shards(encoded: Encoded) -> Iterator[Hypothesis]:
    if encoded.scales is None:
        return
    grid = encoded.scale_matrix().shape
    for axis, size in (("outputs", grid[0]), ("inputs", grid[1])):
        if size % 8 and size % 4 and size % 2:
            continue
        for eighths in (4, 2, 6, 1, 3, 5, 7):
            if size * eighths % 8 == 0 and size >= 8 // _common(eighths):
                says = f"scales are those of another shard along the {axis}, {eighths}/8 further on"
                name = Reading(scale_index=f"{axis}-rolled-{eighths}")
                yield Hypothesis("scales-of-other-shard", "parallel-scale", says, name)


def _common(eighths: int) -> int:
    return 4 if eighths % 4 == 0 else 2 if eighths % 2 == 0 else 1

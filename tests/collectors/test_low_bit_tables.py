from __future__ import annotations

from collectors.low_bit_tables import PrecisionThroughputTable, ZeroPointTable
from diagnose.facts.precision import PrecisionThroughput, ZeroPoints
from tests.collectors.helpers import block, damaged, opened

ZEROS = "tensor,unpacked_zero\nlayers.0.q.qzeros,8\nlayers.0.q.qzeros,8\nlayers.0.k.qzeros,7\nx,\n"
RATES = "dtype,m,n,k,tflops\nbf16,8192,8192,8192,640\nfp8,8192,8192,8192,1180\nfp8,512,512,512,40\nother,1,1,1,3\n"


def test_zero_points_by_tensor() -> None:
    facts = [fact for fact in ZeroPointTable.parse(block(ZEROS)).facts if isinstance(fact, ZeroPoints)]
    assert [(fact.tensor, fact.count, fact.most_common) for fact in facts] == [
        ("layers.0.q.qzeros", 2, 8),
        ("layers.0.k.qzeros", 1, 7),
    ]


def test_rates_by_format_and_shape() -> None:
    facts = PrecisionThroughputTable.parse(block(RATES)).facts
    rows = [fact for fact in facts if isinstance(fact, PrecisionThroughput)]
    assert [(fact.precision, fact.rate, fact.largest_dimension) for fact in rows] == [
        ("bf16", 640.0, 8192),
        ("fp8", 1180.0, 8192),
        ("fp8", 40.0, 512),
    ]
    assert rows[0].shape == rows[1].shape != rows[2].shape


def test_one_format_alone_gives_nothing() -> None:
    assert PrecisionThroughputTable.parse(block("dtype,tflops\nfp8,100\nfp8,101\n")).facts == []


def test_each_opens_its_own() -> None:
    assert opened(ZeroPointTable, ZEROS + RATES) == ["tensor,unpacked_zero"]
    assert opened(PrecisionThroughputTable, ZEROS + RATES) == ["dtype,m,n,k,tflops"]


def test_damage_is_survived() -> None:
    for text in damaged(ZEROS + RATES):
        ZeroPointTable.parse(block(text))
        PrecisionThroughputTable.parse(block(text))

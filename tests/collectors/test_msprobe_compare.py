from __future__ import annotations

from collectors.msprobe_compare import MsprobeCompare
from diagnose.facts.precision import OperatorComparison
from tests.collectors.helpers import block, damaged, opened

HEADING = (
    "NPU Name,Bench Name,NPU Tensor Dtype,Bench Tensor Dtype,NPU Tensor Shape,Bench Tensor Shape,Cosine,MaxAbsErr,"
    "MaxRelativeErr,One Thousandth Err Ratio,Bench max,Bench min,Accuracy Reached or Not,Err_message\n"
)
LINEAR = "Functional.linear.0"
TABLE = HEADING + (
    f'{LINEAR}.forward.input.0,{LINEAR}.forward.input.0,a,b,"[2, 8]","[2, 8]",1.0,0.0,0.0,1.0,2.5,-3.5,Yes,\n'
    f'{LINEAR}.forward.output.0,{LINEAR}.forward.output.0,a,b,"[2, 8]","[2, 4]",0.41,3.5,N/A,0.2,9.0,-1.0,No,bad\n'
    f'{LINEAR}.parameters.weight,{LINEAR}.parameters.weight,a,b,"[8, 8]","[8, 8]",1.0,0,0,1,1,1,Yes,\n'
)


def test_rows_become_operators_in_their_order() -> None:
    given, made = (fact for fact in MsprobeCompare.parse(block(TABLE)).facts if isinstance(fact, OperatorComparison))
    assert (given.operator, given.place, given.order) == ("Functional.linear.0.forward", "input", 0)
    assert (given.cosine, given.one_thousandth_ratio, given.largest_magnitude, given.passed) == (1.0, 1.0, 3.5, True)
    assert (made.place, made.cosine, made.max_relative_error, made.passed) == ("output", 0.41, None, False)
    assert (given.same_shape, made.same_shape) == (True, False)


def test_only_its_heading_opens() -> None:
    assert len(opened(MsprobeCompare, TABLE)) == 1


def test_damage_is_survived() -> None:
    for text in damaged(TABLE):
        MsprobeCompare.parse(block(text))

from __future__ import annotations

import pytest

from diagnose.analysis.communication import (
    Activations,
    Budget,
    Layout,
    Volume,
    all_reduce_bytes,
    features,
    one_way_bytes,
    transformer_parameters,
    volume,
)
from diagnose.facts import Source
from diagnose.facts.nccl import NcclTest
from diagnose.facts.scaling import CommunicationBudget
from diagnose.facts.training import TrainingRun

SOURCES = (Source(path="x.log", line=1),)


def test_gradients_in_16_bits_of_seven_billion_parameters_are_28_gb_for_large_groups() -> None:
    assert volume(7e9, 2, Layout(data=1024)).data_bytes == pytest.approx(28e9, rel=0.01)


def test_time_follows_from_the_bus_bandwidth_as_nccl_tests_defines_it() -> None:
    size, ranks, algorithm_bandwidth = 1e9, 8, 20e9
    bus_bandwidth = algorithm_bandwidth * 2 * (ranks - 1) / ranks
    assert all_reduce_bytes(size, ranks) / bus_bandwidth == pytest.approx(size / algorithm_bandwidth)


def test_a_group_of_one_sends_nothing() -> None:
    alone = Activations(tokens=4096, hidden=1024, layers=24, micro_batches=8, bytes_each=2, expert_layers=24)
    assert volume(1e9, 2, Layout(), alone) == volume(1e9, 2, Layout(), alone, sharded=True)
    assert volume(1e9, 2, Layout(), alone) == Volume()


def test_sharded_parameters_cost_half_as_much_again() -> None:
    layout = Layout(data=16)
    assert volume(1e9, 2, layout, sharded=True).data_bytes == pytest.approx(1.5 * volume(1e9, 2, layout).data_bytes)


def test_tensor_pipeline_and_expert_traffic_grow_with_the_micro_batches_and_gradients_do_not() -> None:
    layout = Layout(data=4, tensor=2, pipeline=4, expert=8)
    few, many = (
        volume(1e9, 2, layout, Activations(2048, 1024, 16, passes, 2, expert_layers=8, experts_per_token=2))
        for passes in (1, 4)
    )
    assert many.data_bytes == few.data_bytes == pytest.approx(all_reduce_bytes(1e9 * 2 / 8, 4))
    size = 2048 * 1024 * 2
    assert few.tensor_bytes == pytest.approx(4 * 4 * all_reduce_bytes(size, 2))
    assert few.pipeline_bytes == pytest.approx(2 * size / 2)
    assert few.expert_bytes == pytest.approx(4 * 2 * one_way_bytes(2 * size, 8))
    for name in ("tensor_bytes", "pipeline_bytes", "expert_bytes"):
        assert getattr(many, name) == pytest.approx(4 * getattr(few, name))


def test_what_the_backward_pass_hides_is_not_exposed() -> None:
    hidden = Budget(communication_seconds=0.6, compute_seconds=0.9)
    assert (hidden.exposed_seconds, hidden.batch_factor, hidden.accumulation) == (0.0, 1.0, 1)


def test_the_batch_and_the_accumulation_that_are_named_do_what_is_said() -> None:
    budget = Budget(communication_seconds=1.0, compute_seconds=0.3)
    grown = Budget(1.0, 0.3 * budget.batch_factor)
    assert grown.exposed_seconds == pytest.approx(0.0, abs=1e-12)
    assert budget.exposed_ratio(budget.accumulation) <= 0.1 + 1e-9 < budget.exposed_ratio(budget.accumulation - 1)


def test_parameters_of_a_known_model_are_about_right() -> None:
    assert transformer_parameters(96, 12288) == pytest.approx(175e9, rel=0.01)
    assert transformer_parameters(None, 12288) is None


def run(step_seconds: float = 2.0, world_size: int = 64, data: int = 64, micro: int | None = 1) -> TrainingRun:
    return TrainingRun(
        sources=SOURCES,
        framework="megatron",
        steps=100,
        median_step_seconds=step_seconds,
        world_size=world_size,
        data_parallel_size=data,
        global_batch_size=256,
        micro_batch_size=micro,
        layers=32,
        hidden_size=4096,
    )


def measured(busbw: float, ranks: int = 64, hosts: int | None = 8, size: int = 1 << 30) -> NcclTest:
    return NcclTest(
        sources=SOURCES,
        operation="all_reduce",
        ranks=ranks,
        hosts=hosts,
        largest_size_bytes=size,
        largest_busbw_bytes_per_second=busbw,
        peak_busbw_bytes_per_second=busbw,
        peak_size_bytes=size,
    )


def test_the_least_time_of_a_runs_gradients_is_set_against_its_step() -> None:
    (fact,) = features([run(), measured(40e9)])
    assert isinstance(fact, CommunicationBudget)
    assert fact.communication_seconds == pytest.approx(12 * 32 * 4096**2 * 2 * 2 * 63 / 64 / 40e9)
    assert fact.communication_ratio == pytest.approx(fact.communication_seconds / 2.0)
    assert fact.micro_batches == 4
    assert fact.global_batch_needed == (fact.micro_batches_needed or 0) * 64


def test_a_job_over_nodes_is_not_judged_by_the_bandwidth_within_one() -> None:
    assert features([run(), measured(400e9, ranks=8, hosts=1)]) == []
    (fact,) = features([run(), measured(400e9, ranks=8, hosts=1), measured(40e9, ranks=16, hosts=2)])
    assert isinstance(fact, CommunicationBudget)
    assert fact.busbw_bytes_per_second == 40e9


@pytest.mark.parametrize(
    ("training", "test"),
    [
        (run(data=1), measured(40e9)),
        (run(step_seconds=0.1), measured(40e9)),
        (run(), measured(40e9, ranks=128)),
        (run(), measured(4e9, size=1 << 20)),
    ],
    ids=["one replica", "more than the whole step", "a larger group", "small messages only"],
)
def test_what_does_not_fit_together_gives_nothing(training: TrainingRun, test: NcclTest) -> None:
    assert features([training, test]) == []


def test_without_the_micro_batch_no_number_of_them_is_made_up() -> None:
    (fact,) = features([run(micro=None), measured(40e9)])
    assert isinstance(fact, CommunicationBudget)
    assert (fact.micro_batches, fact.micro_batches_needed, fact.global_batch_needed) == (None, None, None)

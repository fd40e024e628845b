"""What a training step must send, how long that takes on a measured network, and what would hide it.

Volumes are bytes that each GPU puts on the wire in a step, for ring algorithms: 2 (n - 1) / n of the data for an
all-reduce, (n - 1) / n for an all-gather, reduce-scatter or all-to-all. The bus bandwidth of nccl-tests is defined so
that the time is that volume over it (NVIDIA/nccl-tests, doc/PERFORMANCE.md).

- Data parallel: gradients are all-reduced once a step; sharded parameters cost two all-gathers and a reduce-scatter
  (Rajbhandari et al., ZeRO, SC20, section 7), the gathers once for every micro-batch.
- Tensor parallel: four all-reduces of the activations for each layer and micro-batch, two of them backward (Shoeybi et
  al., Megatron-LM, 2019, section 3).
- Pipeline: activations forward and their gradients backward over one boundary, for each micro-batch (Narayanan et al.,
  Megatron-LM, SC21, section 3.2).
- Experts: two all-to-alls forward and two backward for each layer with experts (Lepikhin et al., GShard, 2021,
  section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from diagnose.facts import Fact
from diagnose.facts.nccl import NcclTest
from diagnose.facts.scaling import CommunicationBudget
from diagnose.facts.training import TrainingRun

BACKWARD_SHARE = 2 / 3
"""Of a step's computation, behind which gradients can be exchanged: backward takes twice the work of forward
(Narayanan et al., SC21, appendix)."""
EXPOSED_TARGET = 0.1
"""judgement: a tenth of the step in communication that is not hidden is what well-tuned jobs reach."""
_LEAST_BYTES = 2
"""Bytes of a gradient or activation where the log does not tell: 16 bits, the least that is usual."""
_LARGE_BYTES = 64 << 20
"""Below this a sweep has not reached the bandwidth that gradients in large buckets get."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a model is spread over GPUs; 1 where a dimension is not split."""

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1


@dataclass(frozen=True, slots=True)
class Activations:
    """What flows between layers in one micro-batch."""

    tokens: int
    """Tokens of a micro-batch on one replica."""
    hidden: int
    layers: int
    micro_batches: int
    bytes_each: float
    expert_layers: int = 0
    experts_per_token: int = 1

    @property
    def size_bytes(self) -> float:
        """Activations between two layers."""
        return self.tokens * self.hidden * self.bytes_each


@dataclass(frozen=True, slots=True)
class Volume:
    """Bytes that each GPU sends in a step, by what they are sent for."""

    data_bytes: float = 0.0
    tensor_bytes: float = 0.0
    pipeline_bytes: float = 0.0
    expert_bytes: float = 0.0


def all_reduce_bytes(size_bytes: float, ranks: int) -> float:
    """What a rank sends in a ring all-reduce."""
    return 2 * one_way_bytes(size_bytes, ranks)


def one_way_bytes(size_bytes: float, ranks: int) -> float:
    """What a rank sends in an all-gather, reduce-scatter or all-to-all of so much data in all."""
    return (ranks - 1) / ranks * size_bytes


def volume(
    parameters: float,
    gradient_bytes: float,
    layout: Layout,
    activations: Activations | None = None,
    sharded: bool = False,
) -> Volume:
    """Bytes of a step; without activations only those of data parallelism. `sharded` is ZeRO stage 3 or full FSDP."""
    held_bytes = parameters * gradient_bytes / (layout.tensor * layout.pipeline)
    passes = activations.micro_batches if activations else 1
    if sharded:
        data_bytes = (2 * passes + 1) * one_way_bytes(held_bytes, layout.data)
    else:
        data_bytes = all_reduce_bytes(held_bytes, layout.data)
    if activations is None:
        return Volume(data_bytes)
    size = activations.size_bytes
    held_layers = activations.layers / layout.pipeline
    return Volume(
        data_bytes=data_bytes,
        tensor_bytes=4 * held_layers * passes * all_reduce_bytes(size, layout.tensor),
        pipeline_bytes=2 * passes * size / layout.tensor if layout.pipeline > 1 else 0.0,
        expert_bytes=4
        * activations.expert_layers
        / layout.pipeline
        * passes
        * one_way_bytes(size * activations.experts_per_token, layout.expert),
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """Time of exchanging gradients against the time of computing them."""

    communication_seconds: float
    compute_seconds: float
    """Of one micro-batch, forward and backward."""

    @property
    def exposed_seconds(self) -> float:
        """What the backward pass of one micro-batch cannot hide, at best."""
        return max(0.0, self.communication_seconds - BACKWARD_SHARE * self.compute_seconds)

    def exposed_ratio(self, micro_batches: int = 1) -> float:
        """Share of a step, with gradients exchanged once for so many micro-batches."""
        step = micro_batches * self.compute_seconds + self.exposed_seconds
        return self.exposed_seconds / step if step > 0.0 else 0.0

    @property
    def batch_factor(self) -> float:
        """By how much the micro-batch must grow for its backward pass to hide all; 1 where it does."""
        return max(1.0, self.communication_seconds / (BACKWARD_SHARE * self.compute_seconds))

    @property
    def accumulation(self) -> int:
        """Fewest micro-batches for each exchange with which a tenth of the step at most is exposed."""
        allowed = EXPOSED_TARGET / (1 - EXPOSED_TARGET) * self.compute_seconds
        return max(1, ceil(round(self.exposed_seconds / allowed, 9)))


def features(facts: Sequence[Fact]) -> list[Fact]:
    """For each training run whose layout is logged: the least time of its gradients on the measured network."""
    tests = [fact for fact in facts if isinstance(fact, NcclTest) and fact.operation == "all_reduce"]
    runs = [fact for fact in facts if isinstance(fact, TrainingRun)]
    return [budget for run in runs if (test := _test_for(run, tests)) and (budget := _budget(run, test))]


def _test_for(run: TrainingRun, tests: Sequence[NcclTest]) -> NcclTest | None:
    """The measurement over the most ranks, not more than the run has, that crossed nodes if the run does."""
    size = run.world_size
    fitting = [
        test
        for test in tests
        if size is not None
        and test.ranks is not None
        and 1 < test.ranks <= size
        and test.largest_size_bytes >= _LARGE_BYTES
    ]
    within = max((test.ranks or 0 for test in tests if test.hosts == 1), default=0)
    if size is not None and size > within > 0:
        fitting = [test for test in fitting if (test.hosts or 1) > 1]
    return max(fitting, key=lambda test: (test.ranks or 0, test.peak_busbw_bytes_per_second), default=None)


def _budget(run: TrainingRun, test: NcclTest) -> CommunicationBudget | None:
    parameters = transformer_parameters(run.layers, run.hidden_size)
    data, step = run.data_parallel_size, run.median_step_seconds
    if parameters is None or data is None or data < 2 or not step:
        return None
    layout = Layout(data=data, tensor=run.tensor_parallel_size or 1, pipeline=run.pipeline_parallel_size or 1)
    sent_bytes = volume(parameters, _LEAST_BYTES, layout).data_bytes
    seconds = sent_bytes / test.peak_busbw_bytes_per_second
    if seconds >= step:
        # The run is not what was taken of it, or the network not the measured one.
        return None
    passes = _passes(run, data)
    best = Budget(seconds, (step - seconds) / (passes or 1))
    return CommunicationBudget(
        subject=run.subject,
        sources=(*run.sources, *test.sources),
        parameters=parameters,
        data_parallel_size=data,
        gradient_bytes_sent=sent_bytes,
        busbw_bytes_per_second=test.peak_busbw_bytes_per_second,
        communication_seconds=seconds,
        step_seconds=step,
        communication_ratio=seconds / step,
        micro_batches=passes,
        micro_batches_needed=best.accumulation if passes else None,
        global_batch_needed=best.accumulation * data * run.micro_batch_size
        if passes and run.micro_batch_size
        else None,
    )


def _passes(run: TrainingRun, data: int) -> int | None:
    if run.global_batch_size is None or run.micro_batch_size is None:
        return None
    passes, rest = divmod(run.global_batch_size, run.micro_batch_size * data)
    return passes if passes and not rest else None


def transformer_parameters(layers: int | None, hidden: int | None) -> float | None:
    """12 l h^2: attention and a fourfold feed-forward part, without embeddings (Narayanan et al., SC21, section 5)."""
    return 12.0 * layers * hidden**2 if layers and hidden else None

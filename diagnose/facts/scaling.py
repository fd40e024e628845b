"""Facts about throughput by number of GPUs."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class ScalingMeasurement(Fact):
    """One measured throughput at one number of GPUs. Subject: the host, where the input names one."""

    kind: ClassVar[str] = "scaling-measurement"
    curve: str = required("Which curve the point is on: the column that was read, and the row's labels")
    gpus: int = required("GPUs that worked together")
    throughput: float = required("Work done in a unit of time, in the unit of the curve")
    unit: str = required("`samples-per-second`, `tokens-per-second`, `steps-per-second`, `runs-per-second` or `work`")
    mode: str | None = optional("`strong`: the same work for any number of GPUs; `weak`: work in proportion to them")


class ScalingCurve(Fact):
    """How throughput grows with the GPUs. A feature of the scaling-measurement facts of one curve.

    Intervals are of 95 % (`diagnose.analysis.curve_fit`). Coefficients are those of the Universal Scalability Law,
    throughput = rate N / (1 + contention (N - 1) + coherency N (N - 1)).
    """

    kind: ClassVar[str] = "scaling-curve"
    few_per_host: ClassVar[bool] = True
    curve: str = required("As in scaling-measurement")
    unit: str = required("As in scaling-measurement")
    mode: str | None = optional("`strong` or `weak`, where known")
    measurements: int = required("Points, repeated ones counted each")
    from_gpus: int = required("Fewest GPUs measured: the base of the efficiency")
    to_gpus: int = required("Most GPUs measured")
    efficiency_ratio: float = required("Throughput per GPU at most GPUs over that at fewest")
    efficiency_low: float = required("Lower end of its interval")
    efficiency_high: float = required("Upper end")
    noise_ratio: float = required("Relative standard deviation of a measurement that the intervals go by")
    contention: float | None = optional("Share of work that is done one after the other; absent below three sizes")
    contention_low: float | None = optional("Lower end of its interval")
    contention_high: float | None = optional("Upper end")
    coherency: float | None = optional("Cost of keeping pairs of GPUs in step; absent below four sizes")
    coherency_low: float | None = optional("Lower end of its interval")
    coherency_high: float | None = optional("Upper end")
    peak_gpus: float | None = optional("GPUs at which throughput is highest; absent where the curve has no peak")
    peak_gpus_low: float | None = optional("Lower end of its interval; absent where no peak fits the points")
    peak_gpus_high: float | None = optional("Upper end; absent where the points do not exclude that there is no peak")
    explanation: str = required(
        "`linear`: no loss beyond the noise; `contention`, `coherency`, `contention-and-coherency`, or `step`: what "
        "every model that fits about as well as the best contains; `not-shown`: the points do not tell"
    )
    support: float = required("AICc of the best model without the explanation less that of the best: 4 is the limit")
    boundary_gpus: int | None = optional("For `step`: most GPUs before the cost rises")
    boundary_kind: str | None = optional(
        "For `step`: `node`, `numa-node` or `nvlink-island` where a part of the machine has that size, `given`, or "
        "`found` where it was looked for in the points"
    )
    step_ratio: float | None = optional("For `step`: cost of work just beyond the boundary over that before it")


class CommunicationBudget(Fact):
    """The least time that a run's gradients need on the measured network. A feature.

    It is a lower bound: 16-bit gradients, parameters of the layers alone, the highest bus bandwidth measured, and none
    of the traffic of tensor, pipeline or expert parallelism.
    """

    kind: ClassVar[str] = "communication-budget"
    few_per_host: ClassVar[bool] = True
    parameters: float = required("Parameters of the layers: 12 l h^2")
    data_parallel_size: int = required("Replicas of the model")
    gradient_bytes_sent: float = required("Bytes that each GPU sends for the gradients of a step")
    busbw_bytes_per_second: float = required("Highest bus bandwidth of an all-reduce measured for such a group")
    communication_seconds: float = required("The first over the second")
    step_seconds: float = required("Median step time of the run")
    communication_ratio: float = required("Communication over step time, as if nothing overlapped")
    micro_batches: int | None = optional("Micro-batches of a replica for each exchange")
    micro_batches_needed: int | None = optional(
        "Micro-batches for each exchange with which at most a tenth of a step would wait for it"
    )
    global_batch_needed: int | None = optional("Global batch of that many")

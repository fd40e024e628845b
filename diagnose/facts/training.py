"""Facts about training: step times of a run and of its ranks, and what follows from them."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class TrainingRun(Fact):
    """One run's log, summed up over its last stretch with a constant global batch."""

    kind: ClassVar[str] = "training-run"
    few_per_host: ClassVar[bool] = True
    framework: str = required("`megatron`, `deepspeed`, `lightning`, `hugging-face`, `nemo`, `torchtitan`, or `other`")
    steps: int = required("Records read")
    first_step: int | None = optional("Number of the first step")
    last_step: int | None = optional("Number of the last step")
    median_step_seconds: float | None = optional("Median time of a step")
    p95_step_seconds: float | None = optional("95th percentile")
    median_samples_per_second: float | None = optional("Median throughput of the job")
    median_tflops_per_gpu: float | None = optional("Median floating-point rate of a GPU, 10^12 per second")
    series_unit: str | None = optional("`seconds` of a step, or `seconds-per-unit`: inverse throughput")
    series: tuple[float, ...] | None = optional(
        "Cost of steps in order, at most 256 values, each a median of neighbours"
    )
    series_first_step: int | None = optional("Step of the first value")
    series_last_step: int | None = optional("Step of the last value")
    slow_steps: tuple[int, ...] | None = optional("Numbers of steps at twice the median cost or more, at most 256")
    slow_steps_median_ratio: float | None = optional("Median cost of those steps over the median of all")
    slow_steps_time_share_ratio: float | None = optional("Time that they took beyond the median, over the time of all")
    world_size: int | None = optional("GPUs")
    data_parallel_size: int | None = optional("Replicas of the model")
    tensor_parallel_size: int | None = optional("GPUs that share a layer")
    pipeline_parallel_size: int | None = optional("Stages of the pipeline")
    virtual_pipeline_size: int | None = optional("Model chunks that a stage holds when the schedule interleaves them")
    global_batch_size: int | None = optional("Samples of a step")
    micro_batch_size: int | None = optional("Samples that a GPU works on at once")
    layers: int | None = optional("Layers of the model")
    hidden_size: int | None = optional("Width of the model")
    sequence_length: int | None = optional("Tokens of a sample")


class CheckpointSaves(Fact):
    """Checkpoints that a training log tells of."""

    kind: ClassVar[str] = "checkpoint-saves"
    few_per_host: ClassVar[bool] = True
    saves: int = required("Checkpoints saved")
    interval_steps: int | None = optional("Steps from one to the next, median")
    median_seconds: float | None = optional("Time that training stood for one, median; most over the ranks where told")
    time_share_ratio: float | None = optional("That time over the time from one save to the next")


class PeriodicSlowSteps(Fact):
    """Steps that take far longer than the others and come at a fixed interval. A feature of one run's log."""

    kind: ClassVar[str] = "periodic-slow-steps"
    few_per_host: ClassVar[bool] = True
    interval_steps: int = required("Steps from one slow step to the next")
    slow_steps: int = required("Slow steps")
    on_beat_ratio: float = required("Share of the slow steps that lie on the beat of that interval")
    median_ratio: float = required("Median cost of a slow step over the median of all steps")
    time_share_ratio: float = required("Time beyond the median that they took, over the time of all steps")
    checkpoint_interval_steps: int | None = optional("Interval of the checkpoints that the log tells of")


class StepTimeChange(Fact):
    """A run that became slower at a point in time. A feature, absent where nothing speaks for a change."""

    kind: ClassVar[str] = "step-time-change"
    few_per_host: ClassVar[bool] = True
    ratio: float = required("Cost of a step after over before, medians")
    ratio_low: float = required("Lower end of a 95 % interval of the ratio")
    ratio_high: float = required("Upper end")
    p_value: float = required("Share of random orders of the steps that rise as clearly (permutation test)")
    at_step: int | None = optional("First step of the slower part")
    before_steps: int = required("Values before")
    after_steps: int = required("Values after")
    before_seconds: float | None = optional("Median step time before")
    after_seconds: float | None = optional("Median step time after")
    after_spread_ratio: float = required("Spread after the change: largest over smallest of the middle half, minus 1")


class PipelineSchedule(Fact):
    """What a run's layout makes of its pipeline. A feature."""

    kind: ClassVar[str] = "pipeline-schedule"
    few_per_host: ClassVar[bool] = True
    stages: int = required("Stages of the pipeline")
    micro_batches: int = required("Micro-batches that each replica works on in a step")
    virtual_stages: int = required("Model chunks for each stage; 1 without interleaving")
    bubble_ratio: float = required("Share of a step that a stage idles while the pipeline fills and drains")
    micro_batches_for_tenth: int = required("Micro-batches at which that share would be a tenth")
    global_batch_for_tenth: int = required("Global batch of that many micro-batches")
    global_batch_size: int = required("Samples of a step")
    world_size: int | None = optional("GPUs")
    step_seconds: float | None = optional("Median step time")


class ScalingEfficiency(Fact):
    """Two runs of one model with different numbers of GPUs. A feature."""

    kind: ClassVar[str] = "scaling-efficiency"
    few_per_host: ClassVar[bool] = True
    mode: str = required("`strong`: same global batch; `weak`: batch in proportion to the GPUs")
    from_gpus: int = required("GPUs of the smaller run")
    to_gpus: int = required("GPUs of the larger run")
    speedup: float = required("Throughput of the larger run over the smaller")
    efficiency_ratio: float = required("Speed-up over the ratio of GPUs")
    efficiency_low: float = required("Lower end of a 95 % interval")
    efficiency_high: float = required("Upper end")
    samples_per_gpu: float = required("Samples of a step for each GPU in the larger run")
    micro_batch_size: int | None = optional("Micro-batch of the larger run")
    pipeline_bubble_ratio: float | None = optional("Bubble of the larger run, 0 without a pipeline; absent if unknown")


class RankTimes(Fact):
    """Times of one worker in one phase. Subject: its rank, host and GPU, where named."""

    kind: ClassVar[str] = "rank-times"
    worker: str = required("Worker as reports name it: `rank 3`, `GPU 1`, `stage 2 of replica 0`")
    measure: str = required("Column that was read, e.g. `compute_s`")
    role: str = required(
        "`own-work`: no waiting in it; `synchronous`: holds waits for peers; `communication`: hardly anything else; "
        "`whole-step`: from one step to the next; `input`: waiting for the next batch"
    )
    median_seconds: float = required("Median")
    steps: int = required("Steps measured")
    series: tuple[float, ...] = required("Seconds by step, at most 256 steps evenly chosen")
    stage: int | None = optional("Stage of the pipeline")
    replica: int | None = optional("Data-parallel rank")


class RankSpread(Fact):
    """How the workers of a run differ in one phase. A feature. Subject: the worker that stands out."""

    kind: ClassVar[str] = "rank-spread"
    few_per_host: ClassVar[bool] = True
    measure: str = required("Phase, as in rank-times")
    role: str = required("As in rank-times")
    workers: int = required("Workers compared")
    steps: int = required("Steps that all have")
    load_balance_ratio: float = required("Mean over maximum of the workers' medians: POP's load balance")
    direction: str = required("`slower` or `shorter`: how the outlying worker differs; `none` where none stands out")
    worker: str | None = optional("The worker that stands out")
    ratio: float | None = optional("Its time over the median of the others")
    p_value: float | None = optional("Chance of such an outlier among equal workers")
    pattern: str = required("`persistent`, `periodic`, `wandering`, `steady` (nobody late), or `single` measurement")
    share_of_steps_ratio: float | None = optional("Share of steps in which it is the slowest")
    period_steps: float | None = optional("Steps between late ones, where periodic")
    late_steps_ratio: float | None = optional("Share of steps in which anybody is late")


class StageSpread(Fact):
    """How the stages of a pipeline differ in their own work. A feature."""

    kind: ClassVar[str] = "stage-spread"
    few_per_host: ClassVar[bool] = True
    measure: str = required("Phase, as in rank-times")
    stages: int = required("Stages")
    replicas: int = required("Data-parallel replicas seen")
    slowest_stage: int = required("Stage with the most work")
    slowest_ratio: float = required("Its time over the median of the other stages")
    slowest_ratio_low: float = required("Smallest such ratio over replicas and steps, the lowest twentieth left out")
    agreement_ratio: float = required("Share of steps and replicas in which it is the slowest")
    idle_ratio: float = required("Share of the pipeline's time in which the other stages wait for it")
    last_stage: bool = required("It is the last stage, which computes the loss")


class ParallelEfficiency(Fact):
    """POP metrics, from useful and elapsed times of all workers. A feature."""

    kind: ClassVar[str] = "parallel-efficiency"
    few_per_host: ClassVar[bool] = True
    workers: int = required("Workers")
    load_balance_ratio: float = required("Mean over maximum of the useful times")
    communication_efficiency_ratio: float = required("Largest useful time over elapsed time")
    parallel_efficiency_ratio: float = required("Product of the two: share of time that is useful")
    communication_share_ratio: float | None = optional("Median time in communication over elapsed time, where measured")

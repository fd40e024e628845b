"""Facts about inference servers: what they are set to, how busy they are, and what they and their clients measured.

Times of requests: time to first token (TTFT); time between output tokens, as gaps one by one (ITL) or as the mean of
a request (TPOT); end to end (E2E). Single requests are no facts: they travel as a table (diagnose.facts.series).
"""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class ServingEngine(Fact):
    """An inference server."""

    kind: ClassVar[str] = "serving-engine"
    few_per_host: ClassVar[bool] = True
    name: str = required("`vllm`, `sglang`, `tgi`, `triton`, `tensorrt-llm`")
    version: str | None = optional("Version")
    generation: str | None = optional("`v0` or `v1`: vLLM's engine before and after its rewrite")
    model: str | None = optional("Model served")


class ServingSettings(Fact):
    """How an inference server is set up: by its arguments, or by what it says when it starts."""

    kind: ClassVar[str] = "serving-settings"
    few_per_host: ClassVar[bool] = True
    engine: str | None = optional("As in serving-engine; absent where arguments do not tell")
    configuration: str | None = optional("Name of the configuration, where several are compared")
    max_running_requests: int | None = optional("Requests that run at once (max_num_seqs, max_running_requests)")
    max_batched_tokens: int | None = optional("Tokens of a step, prompts and decodes (max_num_batched_tokens)")
    prefill_chunk_tokens: int | None = optional("Prompt tokens of a step (chunked_prefill_size)")
    chunked_prefill: bool | None = optional("Whether long prompts are taken in pieces")
    mixed_chunk: bool | None = optional("SGLang: whether decodes share the step of a prompt's piece")
    prefix_caching: bool | None = optional("Whether beginnings that requests share are kept")
    eager_mode: bool | None = optional("True where CUDA graphs are switched off")
    cuda_graph_max_batch: int | None = optional("Largest batch with a CUDA graph")
    cuda_graph_batches: tuple[int, ...] | None = optional("Batches with a CUDA graph")
    kv_cache_dtype: str | None = optional("Number type of the KV cache")
    kv_cache_tokens: int | None = optional("Tokens that the KV cache holds")
    kv_cache_bytes: int | None = optional("Memory of the KV cache")
    full_length_requests: float | None = optional("Requests of the greatest length that fit into the KV cache at once")
    memory_utilization_ratio: float | None = optional("Share of a GPU's memory that the server takes, 0 to 1")
    max_model_tokens: int | None = optional("Longest request, prompt and answer")
    tensor_parallel_size: int | None = optional("GPUs that share a layer")
    pipeline_parallel_size: int | None = optional("Stages of the pipeline")
    data_parallel_size: int | None = optional("Replicas behind one address")
    speculative_method: str | None = optional("Speculative decoding: `eagle`, `ngram`, a draft model; absent without")
    quantization: str | None = optional("Number format of the weights where quantised")
    dtype: str | None = optional("Number type of the weights")
    disaggregation: str | None = optional("`prefill` or `decode` where the two run on different servers")
    jit_kernels: bool | None = optional("Whether kernels are compiled at first use (torch.compile and others)")


class ServingLoad(Fact):
    """How busy a server is: samples of its log, of scrapes of its metrics, or of a table."""

    kind: ClassVar[str] = "serving-load"
    few_per_host: ClassVar[bool] = True
    origin: str = required("`log`, `metrics`, `table`, or `report`: a benchmark that asked the server's metrics")
    engine: str | None = optional("As in serving-engine")
    configuration: str | None = optional("Name of the configuration or phase, where several are compared")
    samples: int = required("Samples summed up")
    seconds: float | None = optional("Time from the first sample to the last")
    running_median: float | None = optional("Requests that run: median")
    running_p95: float | None = optional("95th percentile")
    running_max: float | None = optional("Most")
    waiting_median: float | None = optional("Requests that wait to be scheduled: median")
    waiting_max: float | None = optional("Most")
    waiting_share_ratio: float | None = optional("Share of samples in which any waited, 0 to 1")
    waiting_growth_per_second: float | None = optional("Slope of the queue over the samples, requests per second")
    kv_cache_usage_median_ratio: float | None = optional("KV cache in use: median, 0 to 1")
    kv_cache_usage_max_ratio: float | None = optional("Most")
    generation_tokens_per_second_median: float | None = optional("Output tokens: median of samples with any running")
    generation_tokens_per_second_min: float | None = optional("Fewest")
    generation_tokens_per_second_max: float | None = optional("Most")
    prompt_tokens_per_second_median: float | None = optional("Prompt tokens: median of samples with any running")
    prompt_tokens_per_second_max: float | None = optional("Most")
    output_gap_median_seconds: float | None = optional(
        "Time between two tokens of a request: running requests over output tokens per second, median of the samples"
    )
    output_gap_max_seconds: float | None = optional("Longest of them")
    iteration_tokens_p50: float | None = optional("Tokens of an engine step: median, upper edge of its bucket")
    iteration_tokens_p99: float | None = optional("99th percentile, upper edge of its bucket")
    prefix_cache_hit_ratio: float | None = optional("Share of prompt tokens found in the prefix cache, last sample")
    swapped_max: float | None = optional("Requests moved out to host memory: most")
    requests_per_second: float | None = optional("Requests finished between the first and last sample, per second")


class ServingEvent(Fact):
    """Something that a server tells of, all of a sort taken together."""

    kind: ClassVar[str] = "serving-event"
    few_per_host: ClassVar[bool] = True
    seen_through: ClassVar[str | None] = "serving-load"
    event: str = required(
        "`preemption`, `retraction`, `swap`, `queue-full`, `request-abort`, `graph-capture`, `jit-compile`, "
        "`autotune`, `garbage-collection`, `weights-loading`, `start`, `profiling`, `slow-peer`, `cache-reset` or "
        "`out-of-memory`"
    )
    origin: str = required("`log`, `metrics`, or `table`: what somebody wrote down")
    engine: str | None = optional("As in serving-engine")
    count: int = required("Occurrences: lines, or growth of a counter; requests for preemption and retraction")
    counter_total: int | None = optional("Last value of the server's own counter, where it tells one")
    in_service_count: int | None = optional("Occurrences after the first request was served; absent if unknown")
    in_service_ratio: float | None = optional("Share of the time in service that they took, 0 to 1, where they tell it")
    per_second: float | None = optional("Occurrences in service per second")
    total_seconds: float | None = optional("Time that they took in service, where they tell it")
    longest_seconds: float | None = optional("Longest of them")
    first_seconds: float | None = optional("When the first occurred, from the beginning of the log")
    last_seconds: float | None = optional("When the last occurred")
    detail: str | None = optional("What the first in service, else the first, said: a kernel, a size, a reason")


class ServingDecodeOutsideGraph(Fact):
    """How often decoding ran without a CUDA graph although the server has some."""

    kind: ClassVar[str] = "serving-decode-outside-graph"
    few_per_host: ClassVar[bool] = True
    seen_through: ClassVar[str | None] = "serving-load"
    basis: str = required("`reported` by each batch, or `batch-size`: running requests against the largest graph")
    configuration: str | None = optional("Name of the configuration, where several are compared")
    batches: int = required("Batches seen")
    outside_ratio: float = required("Share of them outside the captured graphs, 0 to 1; a lower bound in tables")
    cuda_graph_max_batch: int | None = optional("Largest batch with a CUDA graph")
    running_median: float | None = optional("Running requests: median")
    running_max: float | None = optional("Most")


class ServingStall(Fact):
    """Intervals in which requests were running and hardly any token came out: 0.2 s and more for each.

    Only intervals count in which the server had work all the time: others waited, or several ran before and after.
    """

    kind: ClassVar[str] = "serving-stall"
    few_per_host: ClassVar[bool] = True
    seen_through: ClassVar[str | None] = "serving-load"
    intervals: int = required("Intervals with work all the time")
    stalled: int = required("Intervals among them in which decoding stood or crawled")
    stalled_ratio: float = required("The second over the first, 0 to 1")
    with_prefill_ratio: float = required(
        "Share of the stalled intervals with ten prompt tokens or more for each output token, 0 to 1"
    )
    longest_seconds: float | None = optional("Longest stretch of stalled intervals")
    prompt_tokens_per_second_median: float | None = optional("Prompt tokens per second in the stalled intervals")
    output_gap_stalled_seconds: float | None = optional("Time between two tokens of a request in them, median")
    output_gap_usual_seconds: float | None = optional("The same in the others")


class ServingLatency(Fact):
    """A latency as the server measured it, or a part of a latency as a client's report shows it."""

    kind: ClassVar[str] = "serving-latency"
    few_per_host: ClassVar[bool] = True
    metric: str = required(
        "`ttft`, `itl`, `tpot`, `e2e`, `queue`, `prefill`, `decode`, `inference`, `step`, `compute`, `compute-input`, "
        "`compute-output`, `gpu-compute`, `enqueue`, `host-to-device`, `device-to-host`, `client`, `network`"
    )
    origin: str = required("`metrics` of the server, or `report` of a benchmark")
    engine: str | None = optional("As in serving-engine")
    model: str | None = optional("Model, where named")
    count: int | None = optional("Requests, tokens or steps measured")
    window_seconds: float | None = optional("Time between two scrapes; absent where it is since the server's start")
    mean_seconds: float | None = optional("Mean")
    p50_seconds: float | None = optional("Median; of a histogram interpolated within its bucket")
    p90_seconds: float | None = optional("90th percentile")
    p99_seconds: float | None = optional("99th percentile; absent where it lies beyond the last finite bucket")
    p50_low_seconds: float | None = optional("Lower edge of the bucket of the median")
    p50_high_seconds: float | None = optional("Upper edge")
    p99_low_seconds: float | None = optional("Lower edge of the bucket of the 99th percentile")
    p99_high_seconds: float | None = optional("Upper edge; absent for the last bucket, which has none")
    beyond_buckets_ratio: float | None = optional("Share beyond the largest finite bucket, 0 to 1")


class BenchmarkResult(Fact):
    """What a client measured at one load."""

    kind: ClassVar[str] = "benchmark-result"
    few_per_host: ClassVar[bool] = True
    tool: str = required(
        "`vllm-bench`, `sglang-bench`, `inference-perf`, `llmperf`, `aiperf`, `genai-perf`, `perf-analyzer`, "
        "`trtexec`, `k6`, `wrk`, `wrk2`, `hdr-histogram` or `serving-bench` (the layout that vLLM and SGLang share)"
    )
    engine: str | None = optional("Server that was asked, where named")
    model: str | None = optional("Model")
    stage: int | None = optional("Number of the load stage, where there are several")
    label: str | None = optional("What the run is called")
    load_model: str | None = optional(
        "`open`: requests come at a rate; `closed`: a number of clients wait for answers; `burst`: all at once"
    )
    requested_rate_per_second: float | None = optional("Requests that should come")
    achieved_rate_per_second: float | None = optional("Requests that the client sent")
    max_concurrency: float | None = optional("Most requests that the client keeps open")
    mean_concurrency: float | None = optional("Requests open on average")
    duration_seconds: float | None = optional("Duration")
    completed: int | None = optional("Requests that succeeded")
    failed: int | None = optional("Requests that failed")
    input_tokens: int | None = optional("Prompt tokens")
    output_tokens: int | None = optional("Output tokens")
    requests_per_second: float | None = optional("Requests that were answered")
    output_tokens_per_second: float | None = optional("Output tokens of all requests")
    ttft_mean_seconds: float | None = optional("Time to first token: mean")
    ttft_p50_seconds: float | None = optional("Median")
    ttft_p90_seconds: float | None = optional("90th percentile")
    ttft_p99_seconds: float | None = optional("99th percentile")
    ttft_max_seconds: float | None = optional("Longest")
    tpot_mean_seconds: float | None = optional("Time per output token of a request: mean")
    tpot_p50_seconds: float | None = optional("Median")
    tpot_p90_seconds: float | None = optional("90th percentile")
    tpot_p99_seconds: float | None = optional("99th percentile")
    tpot_max_seconds: float | None = optional("Longest")
    itl_mean_seconds: float | None = optional("Gap between two tokens: mean")
    itl_p50_seconds: float | None = optional("Median")
    itl_p90_seconds: float | None = optional("90th percentile")
    itl_p99_seconds: float | None = optional("99th percentile")
    itl_max_seconds: float | None = optional("Longest")
    e2e_mean_seconds: float | None = optional("Whole request: mean")
    e2e_p50_seconds: float | None = optional("Median")
    e2e_p90_seconds: float | None = optional("90th percentile")
    e2e_p99_seconds: float | None = optional("99th percentile")
    e2e_p999_seconds: float | None = optional("99.9th percentile")
    e2e_max_seconds: float | None = optional("Longest")
    client_delay_p50_seconds: float | None = optional("How late the client sent requests: median")
    client_delay_p99_seconds: float | None = optional("99th percentile")
    client_delay_max_seconds: float | None = optional("Most")


class BenchmarkSaturation(Fact):
    """Stages of one benchmark by their load: where answers stop to keep up. A feature.

    Made of results of one tool and model with a requested rate each; the lowest load is what the server needs alone.
    """

    kind: ClassVar[str] = "benchmark-saturation"
    few_per_host: ClassVar[bool] = True
    tool: str = required("As in benchmark-result")
    stages: int = required("Results compared")
    lowest_rate_per_second: float = required("Lowest load: requested requests per second")
    highest_rate_per_second: float = required("Highest load")
    served_rate_max_per_second: float = required("Most requests that were answered per second, of all stages")
    saturated: bool = required("Whether any stage asked for more than was answered (below nine tenths)")
    saturated_from_rate_per_second: float | None = optional("Lowest requested rate of such a stage")
    ttft_p50_lowest_seconds: float | None = optional("Median time to first token at the lowest load")
    ttft_p50_highest_seconds: float | None = optional("The same at the highest load")
    ttft_p50_ratio: float | None = optional("The second over the first")
    tpot_p50_ratio: float | None = optional("Time per output token, median, at the highest load over the lowest")
    client_delay_p50_highest_seconds: float | None = optional("How late the client sent requests at the highest load")

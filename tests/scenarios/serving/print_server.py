"""Logs of vLLM and SGLang, and scrapes of vLLM's metrics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.scenarios.serving.print_client import stamp
from tests.scenarios.serving.run import Run

_EVERY = 10
_BUCKETS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0)
_GAPS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_TOKENS = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)


def server_log(run: Run) -> str:
    """From its start, which lies minutes before the run, to the run's end."""
    return _vllm(run) if run.world.server.engine == "vllm" else _sglang(run)


def _interval(run: Run, at: int) -> tuple[float, float, int, int, float]:
    """Prompt and output tokens a second of the last interval; running, waiting, cache."""
    rows = run.served.seconds[max(0, at - _EVERY) : at]
    _, running, waiting, cache = run.served.samples[min(at, len(run.served.samples) - 1)]
    prompts, answers = sum(row.prompt_tokens for row in rows), sum(row.generated for row in rows)
    return prompts / _EVERY, answers / _EVERY, running, waiting, cache


def _graph_sizes(largest: int) -> list[int]:
    return [1, 2, 4, *range(8, largest + 1, 8)]


def _events(run: Run) -> Iterator[tuple[float, str, str]]:
    """Time, sort and text of what happens in service."""
    served = run.served
    for moment, name, _ in served.compiled:
        yield moment, "jit", name
    for moment, taken in served.collected:
        yield moment, "gc", f"{taken}"
    profiled = run.world.server.profiled
    if profiled is not None:
        yield profiled[0] * run.world.seconds, "profile", ""
    if run.world.server.scale_out_at is not None:
        yield run.world.server.scale_out_at * run.world.seconds - 30, "scale", ""


def _vllm(run: Run) -> str:
    world, server = run.world, run.world.server
    core, api = "(EngineCore_0 pid=41200)", "(APIServer pid=41100)"

    def at(seconds: float) -> str:
        return stamp(run, seconds, "%m-%d %H:%M:%S")

    chunked = server.chunked
    config = (
        f"model='{world.gpu.model}', speculative_config=None, dtype=torch.bfloat16, max_seq_len=32768, "
        f"tensor_parallel_size={world.gpu.group}, quantization=None, enforce_eager=False, kv_cache_dtype=auto, "
        f'chunked_prefill_enabled={chunked}, compilation_config={{"level":3,'
        f'"cudagraph_capture_sizes":{_graph_sizes(server.graph_max)[::-1]},"max_capture_size":{server.graph_max}}}'
    ).replace(", ", ", ")
    arguments = {"model_tag": world.gpu.model, "max_num_seqs": server.max_running}
    if chunked:
        arguments["max_num_batched_tokens"] = server.budget
    lines = [
        (-240.0, f"{api} INFO {at(-240)} [api_server.py:1896] vLLM API server version 0.11.0"),
        (-240.0, f"{api} INFO {at(-240)} [utils.py:326] non-default args: {arguments}"),
        (-230.0, f"{core} INFO {at(-230)} [core.py:65] Initializing a V1 LLM engine (v0.11.0) with config: {config}"),
        (-150.0, f"{core} INFO {at(-150)} [default_loader.py:262] Loading weights took 61.20 seconds"),
        (-100.0, f"{core} INFO {at(-100)} [monitor.py:34] torch.compile takes 28.11 s in total"),
        (-80.0, f"{core} INFO {at(-80)} [kv_cache_utils.py:833] GPU KV cache size: {server.kv_tokens:,} tokens"),
        (-60.0, f"{core} INFO {at(-60)} [gpu_model_runner.py:2485] Graph capturing finished in 18 secs, took 0.74 GiB"),
    ]
    preempted = np.array(run.served.preempted)
    for moment in np.arange(_EVERY, world.seconds, _EVERY).tolist():
        prompts, answers, running, waiting, cache = _interval(run, int(moment))
        taken = int(((preempted >= moment - _EVERY) & (preempted < moment)).sum())
        told = f"Preemptions: {taken}, " if taken else ""
        lines.append(
            (moment, f"{api} INFO {at(moment)} [loggers.py:123] Engine 000: Avg prompt throughput: {prompts:.1f} "
             f"tokens/s, Avg generation throughput: {answers:.1f} tokens/s, Running: {running} reqs, Waiting: "
             f"{waiting} reqs, {told}GPU KV cache usage: {100 * cache:.1f}%, Prefix cache hit rate: 0.0%")
        )  # fmt: skip
    texts = {
        "jit": "{core} WARNING {at} [jit_monitor.py:103] Triton kernel JIT compilation during inference: {text}. "
               "This causes a latency spike",
        "gc": "{core} INFO {at} [gc_utils.py:40] GC took {text}ms to complete. Collected 41872 objects in GC "
              "generation 2.",
        "profile": "{api} INFO {at} [api_router.py:31] Starting profiler...",
    }  # fmt: skip
    for moment, sort, text in _events(run):
        if sort == "scale":
            lines += _replica(run, moment)
            continue
        text = f"{1e3 * float(text):.3f}" if sort == "gc" else text
        lines.append((moment, texts[sort].format(core=core, api=api, at=at(moment), text=text)))
    return "\n".join(text for _, text in sorted(lines)) + "\n"


def _replica(run: Run, moment: float) -> list[tuple[float, str]]:
    """Another replica writes into the same log: it is started, loads, captures, and serves meanwhile."""
    core = "(EngineCore_1 pid=66001)"

    def at(seconds: float) -> str:
        return stamp(run, moment + seconds, "%m-%d %H:%M:%S")

    return [
        (moment, f"{core} INFO {at(0)} [core.py:65] Initializing a V1 LLM engine (v0.11.0) with config: "
         f"model='{run.world.gpu.model}', max_seq_len=32768, enforce_eager=False"),
        (moment + 22, f"{core} INFO {at(22)} [default_loader.py:262] Loading weights took 20.90 seconds"),
        (moment + 40, f"{core} INFO {at(40)} [gpu_model_runner.py:2485] Graph capturing finished in 17 secs, took "
         "0.74 GiB"),
    ]  # fmt: skip


def _sglang(run: Run) -> str:
    world, server = run.world, run.world.server

    def at(seconds: float) -> str:
        return stamp(run, seconds, "%Y-%m-%d %H:%M:%S")

    chunk = server.budget if server.chunked else -1
    lines = [
        (-240.0, f"[{at(-240)}] server_args=ServerArgs(model_path='{world.gpu.model}', tp_size={world.gpu.group}, "
         f"chunked_prefill_size={chunk}, mem_fraction_static=0.88, max_running_requests={server.max_running}, "
         f"disable_radix_cache=False, disable_cuda_graph=False, cuda_graph_max_bs={server.graph_max})"),
        (-150.0, f"[{at(-150)} TP0] Load weight end. type=AcmeForCausalLM, dtype=torch.bfloat16, avail mem=11.20 GB"),
        (-100.0, f"[{at(-100)} TP0] Capture cuda graph bs {_graph_sizes(server.graph_max)}"),
        (-80.0, f"[{at(-80)} TP0] Capture cuda graph end. Time elapsed: 17.40 s"),
        (-70.0, f"[{at(-70)} TP0] max_total_num_tokens={server.kv_tokens}, chunked_prefill_size={chunk}, "
         f"max_prefill_tokens=16384, max_running_requests={server.max_running}, context_len=32768"),
    ]  # fmt: skip
    graphs = {int(moment): (decodes, inside) for moment, decodes, inside in run.served.outside}
    for moment in np.arange(5, world.seconds, 5).tolist():
        second = int(moment)
        rows = run.served.seconds[second - 5 : second]
        _, running, waiting, cache = run.served.samples[min(second, len(run.served.samples) - 1)]
        prompts, answers = sum(row.prompt_tokens for row in rows), sum(row.generated for row in rows)
        if prompts:
            lines.append(
                (moment - 2, f"[{at(moment - 2)} TP0] Prefill batch. #new-seq: 2, #new-token: {prompts}, "
                 f"#cached-token: 0, token usage: {cache:.2f}, #running-req: {running}, #queue-req: {waiting}")
            )  # fmt: skip
        decodes, inside = graphs.get(second, (running, True))
        if decodes:
            lines.append(
                (moment, f"[{at(moment)} TP0] Decode batch. #running-req: {decodes}, #token: "
                 f"{int(cache * server.kv_tokens)}, token usage: {cache:.2f}, cuda graph: {inside}, gen throughput "
                 f"(token/s): {answers / 5:.2f}, #queue-req: {waiting}")
            )  # fmt: skip
    for moment in run.served.preempted:
        lines.append((moment, f"[{at(moment)} TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1, "
                      "#new_token_ratio: 0.31 -> 0.72"))  # fmt: skip
    texts = {
        "jit": "[{at}] Loading JIT ops: {text}",
        "gc": "[{at}] LONG GARBAGE COLLECTION DETECTED | Generation 2 | Duration: {text}s | # Objects: gen0=1, gen1=2, "
              "gen2=3",
        "profile": "[{at}] Profiling starts. Traces will be saved to: /tmp/profile",
        "scale": "[{at}] server_args=ServerArgs(model_path='acme/again', tp_size=1, chunked_prefill_size=2048)",
    }  # fmt: skip
    for moment, sort, text in _events(run):
        text = f"{float(text):.4f}" if sort == "gc" else text
        lines.append((moment, texts[sort].format(at=at(moment), text=text)))
    return "\n".join(text for _, text in sorted(lines)) + "\n"


def _histogram(name: str, labels: str, values: np.ndarray, edges: tuple[float, ...]) -> list[str]:
    lines = [f"# TYPE {name} histogram"]
    lines += [f'{name}_bucket{{{labels},le="{float(edge)}"}} {int((values <= edge).sum())}.0' for edge in edges]
    lines += [f'{name}_bucket{{{labels},le="+Inf"}} {len(values)}.0', f"{name}_count{{{labels}}} {len(values)}.0"]
    return [*lines, f"{name}_sum{{{labels}}} {float(values.sum()):.4f}"]


def metrics(run: Run) -> str:
    """`curl :8000/metrics` at every twentieth of the run."""
    return "".join(scrape(run, moment) for moment in np.linspace(0.05, 0.999, 20) * run.world.seconds)


def scrape(run: Run, moment: float) -> str:
    """What the server tells at one moment; counters count from the run's begin."""
    served, seen = run.served, run.seen
    labels = f'engine="0",model_name="{run.world.gpu.model}"'
    _, running, waiting, cache = served.samples[min(int(moment), len(served.samples) - 1)]
    preempted = sum(1 for when in served.preempted if when < moment)
    lines = [
        "# HELP vllm:num_requests_running Number of requests in model execution batches.",
        "# TYPE vllm:num_requests_running gauge", f"vllm:num_requests_running{{{labels}}} {running}.0",
        "# TYPE vllm:num_requests_waiting gauge", f"vllm:num_requests_waiting{{{labels}}} {waiting}.0",
        "# TYPE vllm:kv_cache_usage_perc gauge", f"vllm:kv_cache_usage_perc{{{labels}}} {cache:.4f}",
        "# TYPE vllm:num_preemptions_total counter", f"vllm:num_preemptions_total{{{labels}}} {preempted}.0",
    ]  # fmt: skip
    rows = served.seconds[: int(moment)]
    for name, total in (
        ("vllm:prompt_tokens_total", sum(row.prompt_tokens for row in rows)),
        ("vllm:generation_tokens_total", sum(row.generated for row in rows)),
    ):
        lines += [f"# TYPE {name} counter", f"{name}{{{labels}}} {total}.0"]
    begun = seen.start + seen.server_ttft < moment
    ended = seen.start + seen.server_e2e < moment
    gaps = (seen.server_e2e - seen.server_ttft) / np.maximum(seen.answers - 1, 1)
    for name, values, edges in (
        ("vllm:time_to_first_token_seconds", seen.server_ttft[begun], _BUCKETS),
        ("vllm:time_per_output_token_seconds", gaps[ended], _GAPS),
        ("vllm:e2e_request_latency_seconds", seen.server_e2e[ended], _BUCKETS),
        ("vllm:request_queue_time_seconds", seen.queue[begun], _BUCKETS),
    ):
        lines += _histogram(name, labels, values, edges)
    share = moment / run.world.seconds
    tokens = np.array([count for _, count in served.steps[: int(len(served.steps) * share)]])
    lines += _histogram("vllm:iteration_tokens_total", labels, tokens, _TOKENS)
    return "\n".join(lines) + "\n"

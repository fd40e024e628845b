"""The client's table of requests, and what `vllm bench serve` writes."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from tests.scenarios.serving.run import Run


def stamp(run: Run, seconds: float, form: str) -> str:
    """A moment of the run in a form of strftime."""
    return datetime.fromtimestamp(run.world.start + seconds, UTC).strftime(form)


def requests(run: Run) -> str:
    """A row for each request; the server's own times stand beside the client's where the client asked for them."""
    seen, world = run.seen, run.world
    zone = "Z" if world.host.zone == "utc" else ""
    parts = "server-times" in world.brings
    titles = "start_time,ttft_ms,e2e_latency_ms,prompt_tokens,output_tokens"
    lines = [titles + (",queue_ms,prefill_ms,network_ms" if parts else "")]
    for row in range(len(seen.start)):
        begin = stamp(run, float(seen.start[row]), "%Y-%m-%dT%H:%M:%S.%f")[:-3] + zone
        text = f"{begin},{1e3 * seen.ttft[row]:.1f},{1e3 * seen.e2e[row]:.1f},{seen.prompts[row]},{seen.answers[row]}"
        if parts:
            prefill = seen.server_ttft[row] - seen.queue[row]
            network = seen.e2e[row] - seen.server_e2e[row]
            text += f",{1e3 * seen.queue[row]:.1f},{1e3 * prefill:.1f},{1e3 * network:.1f}"
        lines.append(text)
    return "\n".join(lines) + "\n"


def benchmark(run: Run) -> str:
    """The summary of `vllm bench serve`, as JSON."""
    seen, world = run.seen, run.world
    mean_gap = (seen.e2e - seen.ttft) / np.maximum(seen.answers - 1, 1)
    rate = len(seen.start) / world.seconds
    closed = world.load.pattern == "closed"
    values = {
        "date": stamp(run, 0, "%Y%m%d-%H%M%S"), "endpoint_type": "openai", "backend": "openai",
        "model_id": world.gpu.model, "tokenizer_id": world.gpu.model, "num_prompts": len(seen.start),
        "request_rate": "inf" if closed else round(rate, 3), "burstiness": 1.0,
        "max_concurrency": world.load.clients if closed else None, "duration": world.seconds,
        "completed": len(seen.start), "total_input_tokens": int(seen.prompts.sum()),
        "total_output_tokens": int(seen.answers.sum()), "request_throughput": rate,
        "output_throughput": float(seen.answers.sum()) / world.seconds,
    }  # fmt: skip
    for name, sample in (("ttft", seen.ttft), ("tpot", mean_gap), ("itl", mean_gap), ("e2el", seen.e2e)):
        values[f"mean_{name}_ms"] = 1e3 * float(sample.mean())
        values[f"median_{name}_ms"] = 1e3 * float(np.median(sample))
        values[f"std_{name}_ms"] = 1e3 * float(sample.std())
        values[f"p99_{name}_ms"] = 1e3 * float(np.quantile(sample, 0.99))
    import json

    return json.dumps(values)

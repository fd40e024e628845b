# ruff: noqa: ARG001 - All writers have one signature, used or not.
"""What training jobs print and leave behind: logs, tables of ranks, dumps of hangs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

from tests.scenarios.machine import Machine
from tests.scenarios.world import Job, World


def layout(job: Job, gpus: int) -> dict[str, object]:
    """Arguments that Megatron-LM prints at its start."""
    parallel = job.pipeline * job.tensor_parallel
    return {
        "data_parallel_size": max(1, gpus // parallel),
        "global_batch_size": job.global_batch,
        "hidden_size": job.hidden,
        "micro_batch_size": job.micro_batch,
        "num_layers": job.layers,
        "pipeline_model_parallel_size": job.pipeline,
        "seq_length": job.sequence,
        "tensor_model_parallel_size": job.tensor_parallel,
        "world_size": gpus,
    }


def megatron_log(job: Job, seconds: Sequence[float], gpus: int, first_step: int = 1) -> str:
    """Arguments, then a line for each step, and lines of checkpoints. `seconds` are step times."""
    lines = ["using world size: " + str(gpus), "------------------------ arguments ------------------------"]
    lines += [f"  {name} {'.' * (48 - len(name))} {value}" for name, value in layout(job, gpus).items()]
    lines += ["-------------------- end of arguments ---------------------"]
    batch = job.global_batch
    for step, value in enumerate(seconds, first_step):
        lines.append(
            f" iteration {step:8d}/   90000 | consumed samples: {batch * step:12d} | elapsed time per iteration (ms): "
            f"{1000 * value:.1f} | learning rate: 1.000E-04 | global batch size: {batch:5d} | "
            f"lm loss: {2 + 3 / (step + 5):.6E} | grad norm: 0.{step % 7 + 2}31 |"
        )
        if job.checkpoint_every and step % job.checkpoint_every == 0:
            milliseconds = 1000 * job.checkpoint_seconds * (1 + 0.04 * (step % 3))
            lines += [
                f"saving checkpoint at iteration {step:7d} to /shared/runs/base in torch_dist format",
                f"  successfully saved checkpoint from iteration {step:7d} to /shared/runs/base",
                f"time (ms) | save-checkpoint: {milliseconds:.2f}",
            ]
    return "\n".join(lines) + "\n"


def training_log(world: World, node: Machine, rng: Random) -> str:
    """The log of the whole job: a first step that compiles, steps with noise, rare slow ones."""
    job = world.job
    slowest = max(job.rank_factors.values(), default=1.0)
    bubble = (job.pipeline - 1) / micro_batches(world) if job.pipeline > 1 else 0.0
    base = world.compute_seconds() * slowest * (1 + bubble) + world.exposed_seconds()
    steps = rng.randrange(60, 140)
    seconds = [base * rng.gauss(1, 0.006) for _ in range(steps)]
    seconds[0] *= rng.uniform(3, 9)
    for _ in range(steps // 40):
        seconds[rng.randrange(5, steps)] *= rng.uniform(1.5, 3)
    if job.onset_step is not None:
        at = int(steps * rng.uniform(0.35, 0.65))
        seconds[at:] = [value * job.onset_factor for value in seconds[at:]]
    return megatron_log(job, seconds, world.world_size(), rng.randrange(1, 4000))


def micro_batches(world: World) -> int:
    """Micro-batches of a step in each pipeline."""
    job = world.job
    data = max(1, world.world_size() // (job.pipeline * job.tensor_parallel))
    return max(1, job.global_batch // (data * job.micro_batch))


def strong_scaling_logs(world: World, rng: Random) -> dict[str, str]:
    """One log for each size that the same batch ran at."""
    sizes = [world.world_size() // part for part in (8, 4, 2, 1) if world.world_size() % part == 0]
    return {
        f"n{gpus}.log": megatron_log(
            world.job,
            [(world.compute_seconds(gpus) + world.exposed_seconds(gpus)) * rng.gauss(1, 0.006) for _ in range(40)],
            gpus,
        )
        for gpus in sizes
    }


def scaling_table(world: World, node: Machine, rng: Random) -> str:
    """Throughput by number of GPUs with the same batch for each, as people note it."""
    job = world.job
    each = max(1, job.global_batch // world.world_size())
    local = len(node.visible)
    leaf = local * len(world.leaves[0].hosts)
    rows = ["gpus,global_batch,samples_per_second"]
    for nodes in sorted({1, 2, 3, 4, 6, 8, 12, 16, 24, 32}):
        gpus = nodes * local
        if nodes > len(world.nodes):
            break
        waits = world.compute_seconds() * job.wait_ratio * (1.0 if nodes > 1 else 0.3)
        if gpus > leaf:
            waits += world.exchange_seconds() * (job.leaf_slowdown - 1)
        seconds = (world.compute_seconds() + waits) * rng.gauss(1, 0.004)
        rows += [f"{gpus},{each * gpus},{each * gpus / seconds:.1f}"]
    return "\n".join(rows) + "\n"


def rank_table(world: World, node: Machine, rng: Random) -> str:
    """Times of each rank in each step: its own work and the whole step. One host is told by GPU, several by node."""
    job = world.job
    ranks = world.ranks[:64]
    single = len(world.nodes) == 1
    rows = ["step,gpu,compute_ms,step_ms" if single else "step,rank,node,compute_ms,step_ms"]
    steady = {rank: rng.gauss(1, 0.004) * job.rank_factors.get(rank, 1.0) for rank, _, _ in ranks}
    for step in range(rng.randrange(20, 50)):
        own = [
            world.compute_seconds() * 1000 * steady[rank] * rng.gauss(1, 0.005)
            * (rng.lognormvariate(0, job.step_variation) if job.step_variation else 1.0)
            for rank, _, _ in ranks
        ]  # fmt: skip
        whole = max(own) + world.exposed_seconds() * 1000 * rng.gauss(1, 0.02)
        for (rank, host, gpu), value in zip(ranks, own, strict=True):
            place = str(gpu.index) if single else f"{rank},{host.host}"
            rows += [f"{step},{place},{value:.2f},{whole:.2f}"]
    return "\n".join(rows) + "\n"


def stage_table(world: World, node: Machine, rng: Random) -> str:
    """Compute by pipeline stage and replica."""
    job = world.job
    replicas = max(2, min(4, world.world_size() // max(1, job.pipeline)))
    rows = ["step,dp_rank,stage,compute_s"]
    for step in range(rng.randrange(12, 30)):
        for replica in range(replicas):
            for stage in range(max(4, job.pipeline)):
                value = world.compute_seconds() / 4 * job.stage_factors.get(stage, 1.0) * rng.gauss(1, 0.01)
                rows += [f"{step},{replica},{stage},{value:.5f}"]
    return "\n".join(rows) + "\n"


def pair_table(world: World, node: Machine, rng: Random) -> str:
    """Bandwidth of pairs of nodes, as a bisection measures it."""
    job = world.job
    hosts = [machine.host for machine in world.nodes[:8]]
    usual = world.collective_gigabytes(world.nodes[:2])
    if job.slow_host is not None:
        usual = max(usual, world.nic_gigabytes(world.nodes[-1]) * 0.9)
    rows = ["node_a,node_b,allreduce_busbw_GBps"]
    for number, a in enumerate(hosts):
        for b in hosts[number + 1 :]:
            rate = usual * rng.gauss(1, 0.008)
            if job.bad_pair is not None and set(job.bad_pair) == {a, b}:
                rate *= rng.uniform(0.45, 0.65)
            if job.slow_host in (a, b):
                rate *= 0.62
            rows += [f"{a},{b},{rate:.1f}"]
    return "\n".join(rows) + "\n"


_OPERATIONS = ("all_gather", "reduce_scatter", "all_reduce")


def flight_recorders(world: World, rng: Random) -> dict[str, str]:
    """One JSON dump for each rank (up to 16): calls that are complete, and the one that is not."""
    hang = world.job.hang
    assert hang is not None
    ranks = [rank for rank, _, _ in world.ranks][:16]
    if hang.rank not in ranks:
        ranks[-1] = hang.rank
    size = world.world_size()
    files = {}
    for rank in ranks:
        if hang.sort == "died" and rank == hang.rank:
            continue
        late = rank == hang.rank
        entries = []
        for sequence in range(hang.sequence - 20, hang.sequence + 1):
            operation, shape, state = _OPERATIONS[sequence % 3], [[4096, 1024]], "completed"
            if sequence == hang.sequence:
                state = "started"
                if late and hang.sort == "mismatch":
                    operation, shape = _OPERATIONS[(sequence + 1) % 3], [[17]]
                elif late and hang.sort == "loader":
                    break
            entries.append(_entry(sequence, operation, shape, state))
        dump = {
            "version": "2.9",
            "nccl_version": world.job.nccl_version,
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(size)))}},
            "entries": entries,
        }
        files[f"nccl_trace_rank_{rank}.json"] = json.dumps(dump) + "\n"
    return files


def _entry(sequence: int, operation: str, shape: list[list[int]], state: str) -> dict[str, object]:
    return {
        "record_id": sequence,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": sequence,
        "p2p_seq_id": 0,
        "op_id": sequence,
        "profiling_name": f"nccl:{operation}",
        "time_created_ns": 1741667829000000000 + sequence * 210000000,
        "input_sizes": shape,
        "input_dtypes": ["BFloat16"],
        "output_sizes": shape,
        "output_dtypes": ["BFloat16"],
        "state": state,
        "is_p2p": False,
        "retired": state == "completed",
        "timeout_ms": 600000,
        "frames": [
            {"name": operation, "filename": "/opt/venv/lib/torch/distributed/distributed_c10d.py", "line": 2806},
            {"name": "train_step", "filename": "/workspace/train.py", "line": 188},
        ],
    }


def job_output(world: World, node: Machine, rng: Random) -> str:
    """What the job writes at its end when the watchdog stops it: PyTorch's lines, then the launcher's."""
    hang = world.job.hang
    assert hang is not None
    operation = _OPERATIONS[hang.sequence % 3].replace("_", "").upper()
    lines = []
    for rank, _, _ in world.ranks[:8]:
        if hang.sort == "died" and rank == hang.rank:
            continue
        lines += [
            f"[rank{rank}]:[E311 04:17:{rng.randrange(10, 59)}.{rng.randrange(10**8, 10**9)} ProcessGroupNCCL.cpp:616] "
            f"[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={hang.sequence}, "
            f"OpType={operation}, NumelIn=4194304, NumelOut=4194304, Timeout(ms)=600000) ran for "
            f"{rng.randrange(600010, 600090)} milliseconds before timing out."
        ]
    rng.shuffle(lines)
    return "\n".join(lines) + "\n"


def launcher_output(world: World, node: Machine, rng: Random) -> str:
    """What srun says of a rank that ended."""
    hang = world.job.hang
    assert hang is not None
    host = next(machine for rank, machine, _ in world.ranks if rank == hang.rank)
    how = hang.detail or "Killed"
    return "\n".join(
        [
            "slurmstepd: error: Detected 1 oom_kill event in StepId=48213.0. Some of the step tasks have been OOM "
            "Killed." if how == "Out Of Memory" else "slurmstepd: error: *** STEP 48213.0 ON "
            f"{host.host} CANCELLED AT 2025-03-11T04:17:33 ***",
            f"srun: error: {host.host}: task {hang.rank}: {how}",
            "",
        ]
    )  # fmt: skip


def py_spy(world: World, node: Machine, rng: Random) -> str:
    """`py-spy dump` of the rank that the others wait for, and of one that waits."""
    hang = world.job.hang
    assert hang is not None
    loader = [
        "    wait (threading.py:324)",
        "    get (queue.py:180)",
        "    _try_get_data (torch/utils/data/dataloader.py:1133)",
        "    _get_data (torch/utils/data/dataloader.py:1285)",
        "    _next_data (torch/utils/data/dataloader.py:1329)",
        "    __next__ (torch/utils/data/dataloader.py:631)",
        "    train (train.py:171)",
        "    main (train.py:260)",
        "    <module> (train.py:264)",
    ]
    waits = [
        "    synchronize (torch/cuda/__init__.py:792)",
        "    train_step (train.py:188)",
        "    train (train.py:175)",
        "    main (train.py:260)",
        "    <module> (train.py:264)",
    ]
    worker = [
        "    __enter__ (threading.py:235)",
        "    acquire (logging/__init__.py:927)",
        "    handle (logging/__init__.py:976)",
        "    _fetch (torch/utils/data/_utils/fetch.py:54)",
        "    _worker_loop (torch/utils/data/_utils/worker.py:309)",
    ]
    blocks = []
    for process, thread, stack in (
        (hang.rank, "idle", loader),
        (hang.rank + 500, "idle", worker),
        (0, "active", waits),
    ):
        pid = 30000 + 7 * process
        blocks += [
            f"Process {pid}: /opt/venv/bin/python3 train.py --config base.yaml",
            "Python v3.11.9 (/opt/venv/bin/python3.11)",
        ]
        blocks += ["", f'Thread {pid} ({thread}): "MainThread"', *stack, ""]
    return "\n".join(blocks) + "\n"

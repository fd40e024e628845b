"""A scenario: causes and a seed make a world; its run is simulated, and what an operator brings is written."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.scenarios.serving import print_client, print_cluster, print_gpu, print_host, print_server
from tests.scenarios.serving.bystanders import BYSTANDERS
from tests.scenarios.serving.faults import FAULTS
from tests.scenarios.serving.run import Run, simulate
from tests.scenarios.serving.world import World, draw_world


@dataclass(frozen=True, slots=True)
class ServingScenario:
    """What is the matter, and with what."""

    causes: tuple[str, ...]
    world: World
    bystander: str | None = None

    def run(self) -> Run:
        """The simulated run; the same each time."""
        return simulate(self.world)

    def files(self, run: Run) -> dict[str, str]:
        """Texts by file name."""
        world, brings = run.world, run.world.brings
        found = {"requests.csv": print_client.requests(run), "server.log": print_server.server_log(run)}
        if "recorded" in brings:
            found["manifest.json"] = print_host.manifest(run)
            found["host.txt"] = print_host.recorded_host(run)
            found["network.txt"] = print_host.recorded_network(run)
            found["processes.txt"] = print_host.recorded_processes(run)
            for row in run.told.gpus[:1]:
                found[f"nvml-{row.index}.jsonl"] = print_gpu.recorded_nvml(run, row)
        else:
            found["sar.txt"] = print_host.sar(run)
            found["gpu.csv"] = print_gpu.query_loop(run)
            if "dmon" in brings:
                found["dmon.txt"] = print_gpu.dmon(run)
        if "metrics" in brings and world.server.engine == "vllm":
            found["metrics.txt"] = print_server.metrics(run)
        for name, file, write in (
            ("pmon", "pmon.txt", print_gpu.pmon),
            ("topology", "topo.txt", print_gpu.topology),
            ("benchmark", "result.json", print_client.benchmark),
            ("switches", "switches.txt", print_cluster.switches),
        ):
            if name in brings:
                found[file] = write(run)
        if world.scheduler == "slurm":
            found["squeue.txt"] = print_cluster.squeue(run)
        elif world.scheduler == "kubernetes":
            found["pods.json"] = print_cluster.pods(run)
        return found


def scenario(causes: Sequence[str], seed: int, bystander: str | None = None, recorded: bool = False) -> ServingScenario:
    """A world with these causes; without any, one in which nothing is wrong. `recorded`: the host is, in any case."""
    rng = Random(zlib.crc32(f"serving/{seed}/{'+'.join(causes)}/{bystander or ''}".encode()))
    world = draw_world(rng.getrandbits(32), rng)
    if bystander is not None:
        BYSTANDERS[bystander](world, rng)
    for name in causes:
        FAULTS[name].inject(world, rng)
    if recorded:
        world.brings.add("recorded")
    if "recorded" in world.brings:
        # Recordings tell UTC, and who makes one notes requests in it too.
        world.host.zone = "utc"
    return ServingScenario(tuple(causes), world, bystander)

"""The JSON file that nccl-tests writes with `-J` (versions 1 and 2 of its layout)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.json_text import items
from collectors.nccl_test_run import GIGA, Run, number, operation_named, version_of_code


class NcclTestsJson(BlockCollector):
    """One run for each file."""

    kind: ClassVar[str] = "nccl-tests-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'"nccl_version"', b'"out_of_place"')
    reopens = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The file is one line as written."""
        return text.lstrip().startswith("{") and '"config"' in text and '"results"' in text

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """The same file laid out over many lines."""
        text = "\n".join(lines)
        return 0.9 if text.startswith("{") and '"bus_bw"' in text and '"redop"' in text else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The run, or a problem where the file is cut."""
        try:
            content = json.loads("\n".join(block.texts()))
        except (ValueError, RecursionError):
            return Parsed(problems=[f"line {block.lines[0].number}: the JSON is damaged or incomplete"])
        if not isinstance(content, dict):
            return Parsed()
        run = _run(block, content)
        fact = run.fact(block.path, block.host)
        return Parsed([fact] if fact else [])


def _run(block: Block, content: dict[str, Any]) -> Run:
    arguments = items(content.get("args"), str)
    run = Run(block.source(), operation_named(next(arguments, "").rsplit("/", 1)[-1]))
    code = content.get("nccl_version")
    if isinstance(code, int) and 1_000 <= code < 1_000_000:
        run.nccl_version = version_of_code(code)
    _devices(run, content.get("config"))
    for row in items(content.get("results"), dict):
        _row(run, row)
    average = content.get("average_bus_bandwidth")
    if isinstance(average, dict) and (value := number(str(average.get("bandwidth")))) is not None:
        run.average_bytes_per_second = value * GIGA
    return run


def _devices(run: Run, config: object) -> None:
    if not isinstance(config, dict):
        return
    devices = list(items(config.get("devices"), dict))
    for device in devices:
        host, gpu = device.get("hostname"), device.get("device_info")
        if isinstance(host, str) and host not in run.hosts:
            run.hosts.append(host)
        if isinstance(gpu, str):
            run.gpu_name = run.gpu_name or gpu
    threads, gpus = config.get("nthreads"), config.get("ngpus")
    # The list names the first device of each process only.
    if devices and isinstance(threads, int) and isinstance(gpus, int) and 0 < threads * gpus < 1_000_000:
        run.ranks = threads * gpus * len(devices)


def _row(run: Run, row: dict[str, Any]) -> None:
    size = row.get("size")
    if not isinstance(size, int) or size < 0:
        return
    run.reduces = str(row.get("redop", "")).strip() not in ("none", "")
    run.rooted = str(row.get("root", "")).strip().isdigit()
    for name in ("out_of_place", "in_place"):
        group = row.get(name)
        if isinstance(group, dict):
            time = group.get("time", group.get("cpu_time"))
            if run.add(size, str(time), str(group.get("alg_bw")), str(group.get("bus_bw"))):
                run.count_wrong(str(group.get("nwrong")))

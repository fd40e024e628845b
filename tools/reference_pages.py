"""Writes the reference pages that come from code and rules: `make docs`."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from collectors.base import Collector
from collectors.registry import BLOCK_COLLECTORS, FILE_COLLECTORS, LINE_COLLECTORS
from diagnose.facts import Fact, fact_kinds
from diagnose.facts.base import Missing, Subject
from diagnose.facts.registry import MODULES
from diagnose.knowledge.base import KnowledgeBase, KnownCause
from diagnose.knowledge.derived_kinds import Table
from diagnose.knowledge.loader import load_knowledge

FOLDER = Path(__file__).resolve().parent.parent / "docs"

COMMANDS = {
    "amd-smi-json": "amd-smi metric --json",
    "bandwidth-test": "bandwidthTest --memory=pinned",
    "dcgm-field-list": "cat /etc/dcgm-exporter/default-counters.csv",
    "dcgm-log": "cat /var/log/nvidia-dcgm/nvvs.log",
    "dcgmi-diag": "dcgmi diag -r 2",
    "dcgmi-diag-json": "dcgmi diag -r 2 -j",
    "dcgmi-discovery": "dcgmi discovery -l",
    "dcgmi-dmon": "dcgmi dmon -e 1011,1012 -c 10",
    "dcgmi-health": "dcgmi health -c",
    "dcgmi-nvlink": "dcgmi nvlink -s",
    "df": "df -h",
    "ethtool-driver": "ethtool -i eth0",
    "ethtool-module": "sudo ethtool -m eth0",
    "ethtool-pause": "ethtool -a eth0",
    "ethtool-rings": "ethtool -g eth0",
    "ethtool-settings": "ethtool eth0",
    "ethtool-statistics": "ethtool -S eth0",
    "fabric-manager-log": "sudo cat /var/log/fabricmanager.log",
    "gpu-burn": "gpu_burn 60",
    "ibnetdiscover": "sudo ibnetdiscover",
    "ibstat": "ibstat",
    "ibswinfo": "sudo ibswinfo -d lid-4",
    "ibv-devinfo": "ibv_devinfo -v",
    "ip-link": "ip -s link",
    "ip-link-json": "ip -j -s link",
    "kernel-log": "sudo dmesg -T; sudo journalctl -k -b -1 --no-pager",
    "kernel-modules": "lsmod",
    "lscpu": "lscpu",
    "lspci": "sudo lspci -vvv",
    "lspci-tree": "lspci -tv",
    "lstopo-xml": "lstopo --of xml topology.xml",
    "modprobe-errors": "sudo modprobe nvidia",
    "nccl-log": "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH,P2P <the job>",
    "nccl-tests": "all_reduce_perf -b 8 -e 8G -f 2 -g 8",
    "nccl-tests-json": "all_reduce_perf -b 8 -e 8G -f 2 -g 8 -J result.json",
    "nccl-topo-xml": "NCCL_TOPO_DUMP_FILE=topology.xml <the job>",
    "nccl-ras": "ncclras -v",
    "nccl-ras-json": "ncclras -f json",
    "numactl": "numactl --hardware",
    "nvbandwidth": "nvbandwidth",
    "nvbandwidth-json": "nvbandwidth --json",
    "nvidia-errors": "nvidia-smi 2>&1",
    "nvidia-smi-dmon": "nvidia-smi dmon -c 10",
    "nvidia-smi-list": "nvidia-smi -L; nvidia-smi nvlink -s",
    "nvidia-smi-nvlink": "nvidia-smi nvlink -s; nvidia-smi nvlink -e",
    "nvidia-smi-pmon": "nvidia-smi pmon -c 10",
    "nvidia-smi-q": "nvidia-smi -q",
    "nvidia-smi-query": "nvidia-smi --query-gpu=index,name,pci.bus_id,pstate,temperature.gpu,power.draw --format=csv",
    "nvidia-smi-table": "nvidia-smi",
    "nvidia-smi-topo": "nvidia-smi topo -m",
    "nvidia-smi-topo-p2p": "nvidia-smi topo -p2p r",
    "nvidia-smi-version": "nvidia-smi --version",
    "nvidia-smi-xml": "nvidia-smi -q -x",
    "p2p-bandwidth-matrix": "p2pBandwidthLatencyTest",
    "package-history": "cat /var/log/apt/history.log",
    "perfquery": "sudo perfquery -x",
    "perftest": "ib_write_bw -d mlx5_0 --report_gbits <server>",
    "proc-driver-version": "cat /proc/driver/nvidia/version",
    "prometheus-metrics": "curl -s localhost:9400/metrics",
    "py-spy": "py-spy dump --pid <pid>",
    "rdma-sysfs": "grep -rH . /sys/class/infiniband/*/ports/*/counters",
    "rocm-smi": "rocm-smi -a",
    "rocm-smi-json": "rocm-smi -a --json",
    "dmidecode": "sudo dmidecode",
    "kubectl-describe-node": "kubectl describe node gpu01",
    "kubectl-json": "kubectl get pods -A -o json",
    "kubectl-pods": "kubectl get pods -A -o wide",
    "slurm-job": "scontrol -d show job",
    "slurm-jobs": "squeue -o '%i|%P|%j|%u|%t|%D|%N|%b|%C|%o'",
    "slurm-node": "scontrol show node",
    "slurm-topology": "scontrol show topology",
    "sysstat": "sar -A 1 60; pidstat -u -d 1 60; sadf -d -- -A",
    "systemctl-show": "systemctl show nvidia-fabricmanager slurmd containerd",
    "serving-benchmark-table": "vllm bench serve --model acme/chat --request-rate 10",
    "wrk": "wrk2 -t4 -c64 -d60s -R200 --latency http://localhost:8000/v1/completions",
    "aiperf-json": "aiperf profile --model acme/chat --endpoint-type chat",
    "k6-summary": "k6 run load.js",
    "perf-analyzer-csv": "perf_analyzer -m resnet --concurrency-range 1:8 -f report.csv",
    "trtexec": "trtexec --onnx=model.onnx",
    "inference-perf": "inference-perf --config_file config.yml",
}
"""Kind of input to what prints it."""


def pages() -> dict[str, str]:
    """File name to text, for every generated page."""
    knowledge = load_knowledge()
    return {
        "facts.md": _page(_facts(knowledge)),
        "causes.md": _page(_causes(knowledge)),
        "inputs.md": _page(_inputs([*BLOCK_COLLECTORS, *LINE_COLLECTORS, *FILE_COLLECTORS])),
    }


def _page(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _inputs(collectors: Sequence[type[Collector]]) -> Iterator[str]:
    yield "# Inputs"
    yield ""
    yield "Generated from the collectors by `make docs`; do not edit."
    yield ""
    yield "A format is recognised by its content, never by the file's name. One file may hold several: a pasted"
    yield "terminal, a bug report, a job's output with everything in it. Files may be compressed with gzip, zstd, xz or"
    yield "bzip2, and may carry colours, carriage returns, a byte order mark or UTF-16. Folders are read with all files"
    yield "beneath them, `-` is standard input. What no collector knows stands in the report as `In no known format`."
    yield ""
    yield "Save the output of these commands as files with any name; the ones worth running next stand in the report."
    yield "Where no command stands, the input is what scripts, tables or a recording write."
    yield ""
    yield "| kind | reads | print it with |"
    yield "|---|---|---|"
    shared = Counter(collector.__module__ for collector in collectors)
    for collector in sorted(collectors, key=lambda item: item.kind):
        # A module with two collectors describes both; there each class speaks for itself.
        alone = shared[collector.__module__] == 1
        text = _first_paragraph(sys.modules[collector.__module__].__doc__ if alone else collector.__doc__)
        command = COMMANDS.get(collector.kind)
        printed = f"`{_cell(command)}`" if command else "-"
        yield f"| `{collector.kind}` | {_cell(text)} | {printed} |"


def _first_paragraph(docstring: str | None) -> str:
    return (docstring or "").strip().split("\n\n", 1)[0]


def _facts(knowledge: KnowledgeBase) -> Iterator[str]:
    yield "# Facts"
    yield ""
    yield "Generated from the models by `make docs`; do not edit."
    yield ""
    yield "A fact is one typed observation with a subject and its sources. Rules use the fields below and those of the"
    yield "subject. A field that has no value is absent, never 0; `missing(field)` gives the reason:"
    yield ""
    for reason in Missing:
        yield f"- `{reason.value}`"
    yield ""
    yield "## Subject"
    yield ""
    yield from _table((name, "", info.description or "") for name, info in Subject.model_fields.items())
    for module in MODULES:
        yield f"## {(module.__doc__ or '').strip().splitlines()[0]}"
        yield ""
        for model in fact_kinds().values():
            if model.__module__ == module.__name__:
                yield from _kind(model)
    yield "## Tables and derived facts, declared in the rules"
    yield ""
    for model in knowledge.vocabulary.values():
        if model.kind not in fact_kinds():
            yield from _kind(model)


def _kind(model: type[Fact]) -> Iterator[str]:
    yield f"### {model.kind}"
    yield ""
    yield " ".join((model.__doc__ or "").split())
    yield ""
    yield from _table(
        (name, type_name(model.model_fields[name].annotation), model.model_fields[name].description or "")
        for name in model.own_fields()
    )


def type_name(annotation: object) -> str:
    """The type as readers of the page know it."""
    text = str(annotation)
    for word, name in (("bool", "flag"), ("tuple", "list"), ("int", "whole number"), ("float", "number")):
        if word in text:
            return name
    return "text"


def _table(rows: Iterator[tuple[str, str, str]]) -> Iterator[str]:
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for name, kind, meaning in rows:
        yield f"| `{name}` | {kind} | {meaning.replace('|', chr(92) + '|')} |"
    yield ""


def _causes(knowledge: KnowledgeBase) -> Iterator[str]:
    yield "# Causes"
    yield ""
    yield "Generated from the rules by `make docs`; do not edit. `diagnose rules show ID` prints one in full."
    yield ""
    by_symptom: dict[str, list[KnownCause]] = defaultdict(list)
    for known in knowledge.causes.values():
        by_symptom[known.path.parent.name].append(known)
    for name, symptom in knowledge.symptoms.items():
        if not by_symptom[name]:
            continue
        yield f"## {symptom.symptom.title} (`{name}`)"
        yield ""
        yield symptom.symptom.question
        yield ""
        for known in by_symptom[name]:
            yield from _cause(known)
    yield "## Reference tables"
    yield ""
    for table in knowledge.tables:
        yield from _reference_table(table)


def _cause(known: KnownCause) -> Iterator[str]:
    cause = known.cause
    yield f"### {cause.id}"
    yield ""
    yield f"**{cause.title}.** {' '.join(cause.explanation.split())}"
    yield ""
    others = f"; also under {', '.join(cause.symptoms[1:])}" if len(cause.symptoms) > 1 else ""
    yield f"Severity {cause.severity.value}, one per {cause.subject}, prior {cause.prior.probability:.1%}{others}."
    yield ""
    yield "| evidence | ratio | what it says | source |"
    yield "|---|---|---|---|"
    for item in known.evidence:
        written = item.written
        ratio = f"x{written.weight:g}" if written.direction == "for" else f"/{1 / written.weight:g}"
        yield f"| `{written.id}` | {ratio} | {_cell(written.says)} | {_cell(written.source)} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _reference_table(table: Table) -> Iterator[str]:
    yield f"### {table.file.table}"
    yield ""
    yield f"{' '.join(table.file.description.split())} Source: {' '.join(table.file.source.split())}"
    yield ""
    yield f"{len(table.file.rows)} rows, looked up by `{table.file.key.field}` of `{table.file.key.fact}`."
    yield ""


def main() -> int:
    """Write the pages, or with `--check` say which ones are out of date."""
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.stderr.write(f"out of date: {', '.join(stale)}; run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`diagnose topology`: how the devices of a machine are connected, and what they share."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diagnose.cli.exit_codes import ExitCode
from diagnose.cli.output import standard_output

if TYPE_CHECKING:
    from diagnose.analysis.topology_graph import TopologyGraph


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option("--host", metavar="NAME", help="Only this host.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a drawing there.")
def topology(paths: tuple[str, ...], host: str | None, svg: Path | None) -> ExitCode:
    """Draw GPUs, NICs and the links that they share, from files that show them.

    Those are nvidia-smi topo -m, lspci -vv, NCCL's topology XML, lstopo's XML, or a recording of a machine.
    """
    from diagnose.report.paper import Paper
    from diagnose.report.topology_drawing import topology_svg, topology_text

    graphs = {name: graph for name, graph in _graphs(paths).items() if host in (None, name)}
    if not graphs:
        raise click.UsageError("no input shows how GPUs are connected" + (f" on host {host!r}" if host else ""))
    titles = {name: _title(name, graph) for name, graph in graphs.items()}
    if svg is not None:
        if len(graphs) > 1:
            raise click.UsageError(f"--svg draws one host; name it with --host: {', '.join(graphs)}")
        ((name, graph),) = graphs.items()
        svg.write_text(topology_svg(graph, titles[name]), encoding="utf-8")
    with standard_output() as stream:
        paper = Paper(stream)
        for at, (name, graph) in enumerate(graphs.items()):
            if at:
                paper.line()
            for row in topology_text(graph, titles[name], paper.width, getattr(stream, "encoding", None)):
                paper.line(row)
    return ExitCode.NOTHING_FOUND


def _graphs(paths: tuple[str, ...]) -> dict[str, TopologyGraph]:
    """Host to graph, for hosts with GPUs whose connections are known."""
    from collectors.inputs import Status
    from collectors.resolve import resolve
    from collectors.scan import read_inputs
    from diagnose.analysis.topology_graph import topology_graph
    from diagnose.facts import UNNAMED_HOST, Fact

    readings = read_inputs(paths)
    unreadable = next((item for item in readings.inputs if item.status is Status.UNREADABLE), None)
    if unreadable is not None:
        raise click.UsageError(f"{unreadable.path}: {unreadable.detail}")
    by_host: dict[str, list[Fact]] = defaultdict(list)
    for fact in resolve(readings.facts):
        by_host[fact.subject.host or UNNAMED_HOST].append(fact)
    graphs = {name: topology_graph(facts) for name, facts in sorted(by_host.items())}
    return {name: graph for name, graph in graphs.items() if graph.gpus}


def _title(name: str, graph: TopologyGraph) -> str:
    from diagnose.report.topology_drawing import count_of

    counts = [count_of(len(graph.gpus), "GPU"), count_of(len(graph.nics), "NIC")]
    return f"{name}: {', '.join(text for text in counts if text)}"

"""A run as files of a recording, and with its telemetry in a real Prometheus server: the same causes come out."""

from __future__ import annotations

from pathlib import Path

from collectors.inputs import Readings
from collectors.prometheus.access import Access
from collectors.prometheus.api import PrometheusApi
from collectors.prometheus.read import Range, read_prometheus
from collectors.resolve import resolve_readings
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import ESTABLISHED
from tests.collectors.prometheus.server import prometheus
from tests.scenarios.serving.exporters import exported
from tests.scenarios.serving.scenario import scenario

_BOTH = ("requests.csv", "server.log", "squeue.txt", "pods.json")
"""What no exporter tells."""


def _established(runner: SessionRunner, readings: Readings) -> set[str]:
    found = diagnose(runner, readings.facts, ["inference-jitter"], readings.series)
    return {item.cause_id for item in found.causes if item.probability >= ESTABLISHED}


def test_the_same_causes_come_from_the_server_as_from_the_files(tmp_path: Path) -> None:
    cause = "network-retransmission"
    case = scenario((cause,), 1, recorded=True)
    run = case.run()
    runner = SessionRunner(load_knowledge())
    texts = case.files(run)
    for folder, names in (("all", texts), ("some", [name for name in _BOTH if name in texts])):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_text(texts[name])
    span = Range(run.world.start - 1, run.world.start + run.world.seconds + 1)
    with prometheus(tmp_path, exported(run)) as url, PrometheusApi(Access(url)) as api:
        served = read_prometheus(api, span, url)
    files = resolve_readings(read_inputs([str(tmp_path / "all")]))
    some = read_inputs([str(tmp_path / "some")])
    both = Readings(
        facts=[*some.facts, *served.facts],
        inputs=[*some.inputs, *served.inputs],
        series=[*some.series, *served.series],
    )
    found = _established(runner, files)
    assert cause in found
    assert _established(runner, resolve_readings(both)) == found

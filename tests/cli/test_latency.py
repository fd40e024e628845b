from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner, Result

from diagnose.cli.main import cli
from tests.analysis.latency.simulated import BEGIN, arrival_times


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["latency", *arguments])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Requests of ten minutes with a stall at each full minute."""
    numbers = np.random.default_rng(1)
    times = arrival_times(numbers, 8.0, 600)
    ttft = 0.2 * numbers.lognormal(0, 0.2, len(times)) * np.where(times % 60 < 2, 4.0, 1.0)
    rows = [f"{BEGIN + time:.3f},{first * 1e3:.3f},{first * 1e3 + 900:.3f},64" for time, first in
            zip(times, ttft, strict=True)]  # fmt: skip
    path = tmp_path_factory.mktemp("latency") / "requests.csv"
    path.write_text("\n".join(["start_time,ttft_ms,e2e_ms,output_tokens", *rows]) + "\n", encoding="utf-8")
    return path


def test_text_tells_quantiles_load_and_period_and_draws(table: Path) -> None:
    result = run(str(table))
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    for said in ("open loop", "ttft: ", "p99 is ", "Slow every 60", "requests by latency"):
        assert said in words


def test_json_holds_the_facts(table: Path) -> None:
    result = run(str(table), "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["schema"] == "diagnose.latency/1"
    kinds = {fact["kind"] for fact in found["facts"]}
    assert {"latency-summary", "latency-period", "latency-load", "latency-association"} <= kinds
    period = next(
        fact["fields"]
        for fact in found["facts"]
        if fact["kind"] == "latency-period" and fact["fields"]["metric"] == "ttft"
    )
    assert (period["verdict"], period["on_the_minute"]) == ("found", True)


def test_svg_is_written(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    assert run(str(table), "--svg", str(path)).exit_code == 0
    assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_svg_draws_one_latency_and_says_so(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    result = run(str(table), "--svg", str(path), "--metric", "ttft", "--metric", "e2e")
    assert result.exit_code == 2
    assert "--svg draws one latency; there are 2" in result.output
    assert not path.exists()


def test_what_cannot_be_read_is_told_and_the_rest_analysed(table: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.csv"
    odd.write_text("start,latency\n" + "".join(f"{BEGIN + at},{30 + at % 7}\n" for at in range(200)), encoding="utf-8")
    arguments = ["latency", str(table), str(odd), str(tmp_path / "absent"), "--prometheus", "http://127.0.0.1:1"]
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert result.return_value == 3
    assert "p99" in result.stdout
    assert f"{odd} is only partly read: column 'latency' does not tell its unit" in result.stderr
    assert f"{tmp_path / 'absent'} cannot be read" in result.stderr
    assert "http://127.0.0.1:1 cannot be read: Nothing listens there" in result.stderr


def test_inputs_without_latencies_are_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing of this kind\n", encoding="utf-8")
    result = run(str(path))
    assert result.exit_code == 2
    assert "no input holds the latencies" in result.output
    assert run().exit_code == 2
    assert run(str(tmp_path / "absent")).exit_code == 2

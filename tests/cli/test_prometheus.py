from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from diagnose.cli.analyze import analyze
from diagnose.cli.prometheus_options import PrometheusQuestion, length, moment
from diagnose.cli.prometheus_source import read_source, shown_url
from tests.collectors.prometheus.server import Recorded, prometheus

COMMAND = (sys.executable, "-m", "diagnose.cli.main", "analyze")
NOW = datetime(2026, 2, 3, 12, 0, 0, tzinfo=UTC)
TOKEN = "s3cret-token-value"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_a_server_is_analysed_and_the_token_is_nowhere(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    data = Recorded()
    start = (NOW - timedelta(hours=1)).timestamp()
    labels = {"gpu": "0", "UUID": "GPU-11111111-2222-3333-4444-555555555555", "Hostname": "gpu01", "node": "gpu01"}
    data.put("DCGM_FI_DEV_GPU_TEMP", labels, [(start + 15 * at, 60.0) for at in range(240)])
    arguments = ["--since", "2h", "--until", "2026-02-03T12:00:00Z", "--match", "node=gpu01", "--format", "json"]
    with prometheus(tmp_path, data) as url:
        done = run("--prometheus", url, "--bearer-token-file", tmp_path / "token", *arguments)
        assert TOKEN not in done.stdout + done.stderr
        report = json.loads(done.stdout)
        assert report["hosts"] == ["gpu01"]
        inputs = {item["path"]: item["status"] for item in report["inputs"]}
        assert inputs[url] == "parsed"
        assert inputs[f"{url} (serving)"] == "skipped"
        assert done.returncode == 0
        other = run("--prometheus", url, "--since", "2h", "--until", "2026-02-03T12:00:00Z", "--match", "node=gpu09")
        assert "values of 'node' are: gpu01" in " ".join(other.stdout.split())
        assert other.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--since", "1h"], "--since is for reading a Prometheus server"),
        (["--prometheus", "http://x", "--since", "soon"], "neither a length of time"),
        (["--prometheus", "http://x", "--since", "2026-02-03", "--until", "2026-02-01"], "must be earlier"),
        (["--prometheus", "http://x", "--match", "gpu01"], "no condition on a label"),
        (["--prometheus", "http://x", "--step", "0s"], "no length of time"),
        (["--prometheus", "http://x", "--password-file", "f"], "needs --user"),
        (["--prometheus", "http://x", "--user", "u", "--bearer-token-file", "f"], "exclude each other"),
    ],
)
def test_wrong_usage_ends_in_a_sentence(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(analyze, arguments)
    assert done.exit_code == 2
    assert words in done.output


def test_an_interrupt_ends_the_reading() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        running = subprocess.Popen(
            [*COMMAND, "--prometheus", f"http://127.0.0.1:{silent.getsockname()[1]}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        connection, _ = silent.accept()
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=30)
        connection.close()
    assert running.returncode == 130
    assert b"Traceback" not in told


def test_times_are_ago_or_of_the_clock() -> None:
    now = NOW.timestamp()
    assert moment("6h", now, "--since") == now - 21600
    assert moment("1.5d", now, "--since") == now - 129600
    assert moment("2026-02-03T10:00:00+02:00", now, "--since") == now - 4 * 3600
    assert moment("2026-02-03T10:00:00", now, "--since") == now - 7200
    assert length("1m", "--step") == 60
    with pytest.raises(click.UsageError):
        length("x", "--step")


def test_user_and_password_in_the_address_are_not_shown() -> None:
    question = PrometheusQuestion("http://eve:secret@127.0.0.1:1/prom/")
    assert shown_url(question) == "http://127.0.0.1:1/prom"
    (report,) = read_source(question, lambda _: None).inputs
    assert "secret" not in report.model_dump_json()
    assert (report.detail or "").startswith("Nothing listens there")

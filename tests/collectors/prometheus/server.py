"""A real Prometheus on a free port of this machine, with series that were not scraped but written into its storage."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

Labels = Mapping[str, str]


@dataclass
class Recorded:
    """Series to load: metric to labels to samples of (seconds, value)."""

    series: dict[str, dict[tuple[tuple[str, str], ...], list[tuple[float, float]]]] = field(default_factory=dict)

    def put(self, name: str, labels: Labels, samples: Sequence[tuple[float, float]]) -> None:
        """Add samples of one series."""
        self.series.setdefault(name, {}).setdefault(tuple(labels.items()), []).extend(samples)

    def text(self) -> str:
        """OpenMetrics."""
        lines = []
        for name, by_labels in self.series.items():
            for labels, samples in by_labels.items():
                inside = ",".join(f'{label}="{value}"' for label, value in labels)
                lines += [f"{name}{{{inside}}} {value!r} {seconds:.3f}" for seconds, value in samples]
        return "\n".join([*lines, "# EOF", ""])


def programs() -> None:
    """Skips where the programs are not installed."""
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        pytest.skip("prometheus and promtool are not installed (apt-get install prometheus)")


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextlib.contextmanager
def prometheus(
    folder: Path,
    recorded: Recorded,
    web_config: str | None = None,
    arguments: Sequence[str] = (),
    scheme: str = "http",
    status_when_ready: int = 200,
) -> Iterator[str]:
    """Its address while it runs."""
    programs()
    (folder / "recorded.txt").write_text(recorded.text())
    storage = folder / "storage"
    made = subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(folder / "recorded.txt"), str(storage)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    (folder / "prometheus.yml").write_text("global: {scrape_interval: 1h}\n")
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={storage}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
        *arguments,
    ]
    if web_config is not None:
        (folder / "web.yml").write_text(web_config)
        command.append(f"--web.config.file={folder / 'web.yml'}")
    with (folder / "log.txt").open("w") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log)
    url = f"{scheme}://127.0.0.1:{port}"
    try:
        _wait(url, running, folder / "log.txt", status_when_ready)
        yield url
    finally:
        running.terminate()
        try:
            running.wait(10)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def _wait(url: str, running: subprocess.Popen[bytes], log: Path, status: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        assert running.poll() is None, log.read_text()[-2000:]
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/-/ready", verify=False).status_code == status:
                return
        time.sleep(0.1)
    raise AssertionError(f"not ready: {log.read_text()[-2000:]}")

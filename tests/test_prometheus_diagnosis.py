"""The same hour of a machine, once as files of its tools and once in a Prometheus server: the same is found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from collectors.inputs import Readings
from collectors.prometheus.access import Access
from collectors.prometheus.api import PrometheusApi
from collectors.prometheus.read import Range, read_prometheus
from collectors.resolve import resolve_readings
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.facts.series import Measurement, Series
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from tests.collectors.prometheus.server import Recorded, prometheus

START = datetime(2026, 2, 3, 10, 0, 0, tzinfo=UTC).timestamp()
UUID = "GPU-11111111-2222-3333-4444-55555555555{}"
TITLES = (
    "timestamp, index, uuid, name, temperature.gpu, power.draw [W], enforced.power.limit [W], "
    "clocks.current.sm [MHz], clocks.max.sm [MHz], utilization.gpu [%], "
    "clocks_event_reasons_counters.hw_thermal_slowdown [us]"
)


class Machine:
    """Two GPUs; the second one is too hot."""

    def __init__(self) -> None:
        random = np.random.default_rng(7)
        self.times = START + 15.0 * np.arange(240)
        noise = random.normal(0, 1, (2, 240)).round(1)
        self.celsius = np.array([[62.0], [91.0]]) + noise.round(0)
        self.watts = np.array([[640.0], [420.0]]) + noise
        self.mhz = np.array([[1965.0], [1110.0]]) + 15 * noise.round(0)
        self.slowed = np.vstack([np.zeros(240), 0.6 * (self.times - START)])

    def csv(self) -> str:
        """As `nvidia-smi --query-gpu` prints it."""
        rows = [TITLES]
        for at, second in enumerate(self.times):
            stamp = datetime.fromtimestamp(second, UTC).strftime("%Y/%m/%d %H:%M:%S.000")
            for gpu in (0, 1):
                rows.append(
                    f"{stamp}, {gpu}, {UUID.format(gpu)}, NVIDIA H100 80GB HBM3, {self.celsius[gpu, at]:.0f}, "
                    f"{self.watts[gpu, at]:.1f} W, 700.00 W, {self.mhz[gpu, at]:.0f} MHz, 1980 MHz, 99 %, "
                    f"{self.slowed[gpu, at] * 1e6:.0f} us"
                )
        return "\n".join(rows) + "\n"

    def recorded(self) -> Recorded:
        """As dcgm-exporter tells it."""
        data = Recorded()
        for gpu in (0, 1):
            labels = {"gpu": str(gpu), "UUID": UUID.format(gpu), "modelName": "NVIDIA H100 80GB HBM3"}
            for name, values in (
                ("DCGM_FI_DEV_GPU_TEMP", self.celsius[gpu]),
                ("DCGM_FI_DEV_POWER_USAGE", self.watts[gpu]),
                ("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", np.full(240, 700.0)),
                ("DCGM_FI_DEV_SM_CLOCK", self.mhz[gpu]),
                ("DCGM_FI_DEV_MAX_SM_CLOCK", np.full(240, 1980.0)),
                ("DCGM_FI_DEV_GPU_UTIL", np.full(240, 99.0)),
                ("DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS", self.slowed[gpu] * 1e9),
            ):
                data.put(name, labels, list(zip(self.times.tolist(), values.tolist(), strict=True)))
        return data


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Readings, Readings]:
    """From the file, and from the server."""
    folder = tmp_path_factory.mktemp("machine")
    machine = Machine()
    (folder / "gpu.csv").write_text(machine.csv())
    with prometheus(folder, machine.recorded()) as url, PrometheusApi(Access(url)) as api:
        served = read_prometheus(api, Range(START - 1, START + 3600), url)
    return resolve_readings(read_inputs([str(folder / "gpu.csv")])), resolve_readings(served)


def by_name(series: Sequence[Measurement]) -> dict[tuple[str, str | None], Series]:
    return {(item.metric, item.subject.gpu_uuid): item for item in series if isinstance(item, Series)}


def test_the_series_are_the_same(both: tuple[Readings, Readings]) -> None:
    from_file, from_server = (by_name(one.series) for one in both)
    assert set(from_file) == set(from_server)
    assert len(from_file) == 10
    for key, one in from_file.items():
        other = from_server[key]
        assert one.times_seconds.tolist() == other.times_seconds.tolist(), key
        assert one.values.tolist() == pytest.approx(other.values.tolist(), rel=1e-5, abs=1e-5), key


def test_the_same_causes_are_put_forward(both: tuple[Readings, Readings]) -> None:
    runner = SessionRunner(load_knowledge())
    found = [diagnose(runner, one.facts, ["inference-jitter"], one.series) for one in both]
    first, second = ({cause.cause_id: cause.probability for cause in one.causes} for one in found)
    assert "thermal-throttling" in first
    assert set(first) == set(second)
    assert first == pytest.approx(second, abs=0.02)

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from collectors.base import Parsed
from collectors.scan import read_inputs
from collectors.sysstat import Sysstat
from diagnose.facts.load import CpuLoad
from diagnose.facts.series import Clock, Series
from tests.collectors.helpers import block, damaged, opened

BANNER = "Linux 5.15.0-91-generic (gpu01) \t02/03/2026 \t_x86_64_\t(128 CPU)\n"


def sar(rows: int = 6) -> str:
    """Several tables of one day, in twelve hours, with the averages that sar puts below."""
    text = BANNER + "\n10:00:00 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    for second in range(1, rows):
        text += f"10:00:{second:02d} PM     all      5.00      0.00      3.00      2.00      1.00     89.00\n"
        text += f"10:00:{second:02d} PM       0     50.00      0.00      3.00      2.00      1.00     44.00\n"
    text += "Average:        all      5.00      0.00      3.00      2.00      1.00     89.00\n"
    text += "\n10:00:00 PM     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil\n"
    for second in range(1, rows):
        text += f"10:00:{second:02d} PM      eth0   1.0   1.0    100.00   2000.00   0.0   0.0   0.0   1.0\n"
        text += f"10:00:{second:02d} PM        lo   1.0   1.0    999.00    999.00   0.0   0.0   0.0   0.0\n"
    text += "\n10:00:00 PM   runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked\n"
    for second in range(1, rows):
        text += f"10:00:{second:02d} PM        {second}      1000      1.00      1.00      1.00         0\n"
    return text


PIDSTAT = (
    BANNER
    + "\n10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"
    + "".join(
        f"10:00:{second:02d}     1000      4242   90.00   10.00    0.00   12.00  100.00     3  VLLM::EngineCore\n"
        f"10:00:{second:02d}     1000      4243   90.00   10.00    0.00    7.00  100.00     3  python3 -u x\n"
        for second in range(1, 5)
    )
)
SADF = "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle[...]\n".replace(
    "[...]", ""
) + "".join(f"gpu02;1;2026-02-03 10:00:{second:02d} UTC;-1;5.00;0.00;3.00;2.00;0.00;90.00\n" for second in range(1, 5))


def series(parsed: Parsed) -> dict[str, Series]:
    return {item.metric: item for item in parsed.series if isinstance(item, Series)}


def test_tables_of_a_day_become_series_with_local_times() -> None:
    parsed = Sysstat.parse(block(sar()))
    found = series(parsed)
    assert found["cpu_busy_ratio"].values.tolist() == pytest.approx([0.09] * 5)
    assert found["cpu_steal_ratio"].values.tolist() == pytest.approx([0.01] * 5)
    assert found["cpu_runnable_tasks"].values.tolist() == [1, 2, 3, 4, 5]
    sent = found["nic_transmit_bytes_per_second"]
    assert (sent.subject.nic, sent.subject.host, sent.clock) == ("eth0", "gpu01", Clock.LOCAL)
    assert sent.values.tolist() == [2000 * 1024] * 5
    assert sent.times_seconds[0] == datetime(2026, 2, 3, 22, 0, 1, tzinfo=UTC).timestamp()
    (load,) = parsed.facts
    assert isinstance(load, CpuLoad)
    assert load.busy_ratio == pytest.approx(0.09)
    assert load.runnable_tasks_max == 5


def test_a_table_goes_on_after_midnight() -> None:
    rows = [f"23:59:{second}     all   5.0   0.0   3.0   2.0   0.0   90.0" for second in (57, 58, 59)]
    rows += [f"00:00:0{second}     all   5.0   0.0   3.0   2.0   0.0   90.0" for second in (0, 1)]
    titles = "23:59:56     CPU   %user   %nice   %system   %iowait   %steal   %idle"
    found = series(Sysstat.parse(block("\n".join([BANNER.strip(), "", titles, *rows[:3], "", titles, *rows[3:]]))))
    assert np.diff(found["cpu_busy_ratio"].times_seconds).tolist() == [1.0] * 4


def test_a_decimal_comma_is_read() -> None:
    text = BANNER + "\n10:00:00     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    text += "".join(f"10:00:0{second}     all      5,00  0,00  3,00  2,00  0,00  90,00\n" for second in (1, 2, 3))
    assert series(Sysstat.parse(block(text)))["cpu_busy_ratio"].values.tolist() == pytest.approx([0.08] * 3)


def test_a_serving_process_tells_how_long_it_waits() -> None:
    (waiting,) = Sysstat.parse(block(PIDSTAT)).series
    assert isinstance(waiting, Series)
    assert (waiting.metric, waiting.subject.process_id) == ("cpu_pressure_ratio", 4242)
    assert waiting.values.tolist() == pytest.approx([0.12] * 4)


def test_sadf_tells_utc() -> None:
    busy = series(Sysstat.parse(block(SADF)))["cpu_busy_ratio"]
    assert (busy.clock, busy.subject.host) == (Clock.UTC, "gpu02")
    assert busy.values.tolist() == pytest.approx([0.08] * 4)


def test_they_are_found_among_other_things(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(f"$ sar -A 1 5\n{sar()}\n$ pidstat 1 4\n{PIDSTAT}\n$ uptime\n")
    found = read_inputs([str(tmp_path / "x.txt")])
    assert {item.metric for item in found.series if isinstance(item, Series)} >= {
        "cpu_busy_ratio",
        "cpu_pressure_ratio",
        "nic_transmit_bytes_per_second",
    }
    assert len(opened(Sysstat, sar())) == 1


def test_titles_without_rows_are_a_problem() -> None:
    parsed = Sysstat.parse(block(BANNER))
    assert parsed.facts == []
    assert len(parsed.problems) == 1


def test_damaged_text_is_read_without_an_error() -> None:
    for text in (sar(3), PIDSTAT, SADF):
        for broken in islice(damaged(text), 0, None, 5):
            Sysstat.parse(block(broken))

"""The command line as a process of its own: exit codes, what stands on which stream, and hostile surroundings."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "fixtures" / "demo"
HEALTHY = DEMO / "nvidia-smi-q.txt.gz"
COMMAND = (sys.executable, "-m", "diagnose.cli.main")
XID = "[86412.771034] NVRM: Xid (PCI:0000:3b:00): 79, pid=41220, name=train, GPU has fallen off the bus.\n"
UNSET = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "PYTHONIOENCODING")


def environment(**values: str) -> dict[str, str]:
    """The surroundings of a run, without what changes width and colour."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    return kept | {"PYTHONPATH": str(ROOT)} | values


def run(*arguments: str | Path, text: str | None = None, **values: str) -> subprocess.CompletedProcess[str]:
    """A run with both streams in pipes."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=text,
        env=environment(**values),
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def report(*arguments: str | Path) -> dict[str, Any]:
    """The JSON report of a run."""
    loaded: dict[str, Any] = json.loads(run("analyze", "--format", "json", *arguments).stdout)
    return loaded


@pytest.fixture(scope="module")
def demo() -> subprocess.CompletedProcess[str]:
    return run("analyze", DEMO)


@pytest.fixture(scope="module")
def demo_report() -> dict[str, Any]:
    return report(DEMO)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "dmesg.txt"
    path.write_text(XID, encoding="utf-8")
    return path


def test_the_sample_is_diagnosed_in_the_first_line(demo: subprocess.CompletedProcess[str]) -> None:
    assert demo.returncode == 1
    assert demo.stdout.startswith("Most likely: An NVLink or an NVSwitch port failed on gpu-node-07 (>99%)")


def test_the_sample_has_its_consequences_beneath_the_root_and_accuses_nothing_else(demo_report: dict[str, Any]) -> None:
    causes = {cause["id"]: cause for cause in demo_report["causes"]}
    found = [name for name, cause in causes.items() if cause["probability"] >= 0.5]
    assert found == ["nvlink-fatal-error", "nvlink-inactive"]
    assert causes["nvlink-inactive"]["explained_by"] == "nvlink-fatal-error@gpu-node-07"
    assert causes["nvlink-inactive"]["subjects"] == ["gpu-node-07/gpu/5"]


def test_the_evidence_of_the_sample_comes_from_several_files(demo_report: dict[str, Any]) -> None:
    paths = {
        Path(source["path"]).name
        for cause in demo_report["causes"]
        for item in cause["evidence"]
        for source in item["sources"]
    }
    assert paths == {"dmesg.txt", "nvlink-status.txt", "nvidia-smi-q.txt.gz", "topo.txt", "nccl-tests.txt"}


def test_every_file_of_the_sample_is_read_whole(demo_report: dict[str, Any]) -> None:
    assert {item["status"] for item in demo_report["inputs"]} == {"parsed"}
    assert {Path(item["path"]).name for item in demo_report["inputs"]} == {path.name for path in DEMO.iterdir()}


def test_nothing_found_gives_0() -> None:
    result = run("analyze", HEALTHY)
    assert result.returncode == 0
    assert result.stdout.startswith("Nothing found")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyze"], "name files or folders to analyse"),
        (["analyze", "--no-such-option", str(HEALTHY)], "No such option"),
        (["analyze", "--top", "0", str(HEALTHY)], "--top"),
        (["analyze", "--fail-on", "panic", str(HEALTHY)], "--fail-on"),
        (["analyze", "--host", "no-such-host", str(DEMO)], "there are: gpu-node-07"),
        (["analyze", "--symptom", "slow", str(HEALTHY)], "there are: inference-jitter, low-bit-divergence"),
        (["analyze", "--explain", "nvlink-inactiv", str(HEALTHY)], "did you mean `nvlink-inactive`?"),
        (["no-such-command"], "No such command"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_wrong_usage_gives_2_and_a_sentence_on_standard_error(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_path_that_does_not_exist_gives_2(tmp_path: Path) -> None:
    result = run("analyze", tmp_path / "absent.txt", HEALTHY)
    assert result.returncode == 2
    assert "absent.txt: No such file or directory" in " ".join(result.stdout.split())


def test_a_path_that_does_not_exist_does_not_hide_a_cause_in_the_others(tmp_path: Path, log: Path) -> None:
    assert run("analyze", tmp_path / "absent.txt", log).returncode == 1


def test_inputs_of_no_known_format_give_2(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk, bread, a new fan\n", encoding="utf-8")
    result = run("analyze", tmp_path)
    assert result.returncode == 2
    assert result.stdout.startswith("Nothing was recognised")


def test_an_input_that_was_read_in_part_gives_3_when_the_rest_shows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(HEALTHY.read_bytes()[:2000])
    result = run("analyze", path)
    assert result.returncode == 3
    assert "Only partly read" in result.stdout


def test_an_input_that_was_read_in_part_gives_1_when_the_rest_shows_a_cause(tmp_path: Path) -> None:
    noise = "".join(f"[{n:5d}.000000] usb {n}-1: new device {n * 7919 % 104729}\n" for n in range(3000))
    path = tmp_path / "cut.log.gz"
    path.write_bytes(gzip.compress((XID + noise).encode())[:8000])
    assert run("analyze", path).returncode == 1


@pytest.mark.parametrize(("fail_on", "code"), [("info", 1), ("critical", 1), ("never", 0)])
def test_fail_on_decides_which_severity_gives_1(fail_on: str, code: int, log: Path) -> None:
    assert run("analyze", "--fail-on", fail_on, log).returncode == code


def test_a_warning_does_not_fail_on_critical() -> None:
    assert run("analyze", "--fail-on", "critical", DEMO / "nvlink-status.txt").returncode == 0


def test_standard_input_is_read_where_a_dash_stands() -> None:
    result = run("analyze", "--format", "json", "-", text=XID)
    data = json.loads(result.stdout)
    assert result.returncode == 1
    assert data["causes"][0]["id"] == "gpu-fell-off-bus"
    assert data["inputs"][0]["path"] == "-"


def test_json_stands_alone_on_standard_output_with_causes_sorted() -> None:
    result = run("analyze", "--format", "json", DEMO)
    data = json.loads(result.stdout)
    probabilities = [cause["probability"] for cause in data["causes"]]
    assert data["schema"] == "diagnose.report/1"
    assert len(probabilities) > 1
    assert probabilities == sorted(probabilities, reverse=True)
    progress = ("reading ", "ranking ")  # Shown on a slow machine.
    assert all(line.startswith(progress) for line in result.stderr.splitlines())


def test_top_limits_the_causes(demo_report: dict[str, Any]) -> None:
    assert len(demo_report["causes"]) > 1
    assert len(report("--top", "1", DEMO)["causes"]) == 1
    text = run("analyze", "--top", "1", DEMO).stdout
    assert "less probable: nvlink-inactive" in text


def test_host_takes_what_names_no_host_as_its_own(log: Path) -> None:
    assert report("--host", "node42", log)["causes"][0]["subjects"] == ["node42/gpu/0000:3b:00.0"]


def test_a_symptom_that_is_named_raises_its_causes() -> None:
    path = DEMO / "nvlink-status.txt"
    plain, named = report(path), report("--symptom", "multi-gpu-scaling", path)
    assert [item["id"] for item in named["symptoms"] if item["asserted"]] == ["multi-gpu-scaling"]
    assert named["causes"][0]["probability"] > plain["causes"][0]["probability"]


def test_an_explanation_adds_up_to_the_probability_that_it_states() -> None:
    result = run("analyze", "--explain", "nvlink-inactive", DEMO)
    stated = re.search(r"^gpu-node-07/gpu/5: (.+)$", result.stdout, re.MULTILINE)
    total = re.search(r"^ +([+-]\d+\.\d+)  sum, (.+)$", result.stdout, re.MULTILINE)
    terms = re.findall(r"^ +([+-]\d+\.\d+)  (?!sum)", result.stdout, re.MULTILINE)
    assert result.returncode == 1
    assert stated is not None
    assert total is not None
    assert len(terms) >= 3
    assert sum(map(float, terms)) == pytest.approx(float(total[1]), abs=0.02)
    assert stated[1] == total[2]


def test_explaining_a_cause_that_nothing_speaks_for_gives_0_and_what_would() -> None:
    result = run("explain", "gpu-fell-off-bus", HEALTHY)
    assert result.returncode == 0
    assert "Nothing in these inputs speaks for or against gpu-fell-off-bus" in result.stderr
    assert "Evidence" in result.stdout


def test_explain_has_the_exit_codes_of_analyze(tmp_path: Path, log: Path) -> None:
    assert run("explain", "gpu-fell-off-bus", log).returncode == 1
    assert run("explain", "--fail-on", "never", "gpu-fell-off-bus", log).returncode == 0
    absent = run("explain", "gpu-fell-off-bus", tmp_path / "absent.txt")
    assert absent.returncode == 2
    assert "absent.txt: No such file or directory" in absent.stderr


def test_an_explanation_as_json_is_json_whether_or_not_there_is_one(log: Path) -> None:
    arguments = ("explain", "--format", "json", "gpu-fell-off-bus")
    assert json.loads(run(*arguments, log).stdout)["id"] == "gpu-fell-off-bus"
    assert json.loads(run(*arguments, HEALTHY).stdout) is None


def test_an_interrupt_while_reading_ends_quietly_with_130() -> None:
    process = subprocess.Popen(
        [*COMMAND, "analyze", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=ROOT,
        # Workers of parallel tests ignore the signal, and a child inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    # Far more than a pipe holds: when this returns, the program is reading.
    stdin.write(XID.encode() * 20_000)
    stdin.flush()
    time.sleep(1)  # Python overhears a signal between two reads of one call: let it wait for more input first.
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert stdout.read() == b""
    assert stderr.read().decode().split() == ["Interrupted."]


@pytest.mark.parametrize("arguments", [["analyze", str(DEMO)], ["analyze", "--format", "json", str(HEALTHY)]])
def test_a_reader_that_leaves_early_changes_neither_exit_code_nor_standard_error(arguments: list[str]) -> None:
    expected = run(*arguments).returncode
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=ROOT
    )
    stdout, stderr = process.stdout, process.stderr
    assert stdout is not None
    assert stderr is not None
    stdout.close()
    errors = stderr.read().decode()
    assert process.wait(timeout=120) == expected
    assert [line for line in errors.splitlines() if "rror" in line or "Exception" in line] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("style", ["text", "json"])
def test_a_full_disk_ends_in_one_sentence(style: str) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [*COMMAND, "analyze", "--format", style, str(HEALTHY)],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            cwd=ROOT,
            encoding="utf-8",
            check=False,
            timeout=120,
        )
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == "diagnose: reading or writing failed: No space left on device"


ASCII = {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}


@pytest.mark.parametrize("name", [b"gr\xc3\xb6\xc3\x9fe.txt", b"not-utf-8-\xff.txt"], ids=["umlauts", "invalid"])
@pytest.mark.parametrize("surroundings", [{}, ASCII], ids=["utf-8", "ascii"])
def test_names_of_files_that_the_encoding_lacks_are_no_obstacle(
    tmp_path: Path, name: bytes, surroundings: dict[str, str]
) -> None:
    path = os.fsdecode(os.path.join(os.fsencode(tmp_path), name))  # noqa: PTH118 - a Path cannot join bytes
    try:
        Path(path).write_text(XID, encoding="utf-8")
    except OSError:
        pytest.skip("the file system refuses such names")
    text = run("analyze", path, **surroundings)
    data = run("analyze", "--format", "json", path, **surroundings)
    assert (text.returncode, data.returncode) == (1, 1)
    assert text.stdout.startswith("Most likely:")
    assert json.loads(data.stdout)["causes"][0]["id"] == "gpu-fell-off-bus"


def test_no_colours_in_a_pipe(demo: subprocess.CompletedProcess[str]) -> None:
    assert "\x1b" not in demo.stdout + demo.stderr


def in_terminal(columns: int, *arguments: str, **values: str) -> str:
    """What a terminal of some width gets."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=slave,
        stdout=slave,
        stderr=subprocess.DEVNULL,
        env=environment(TERM="xterm-256color", **values),
        cwd=ROOT,
    )
    os.close(slave)
    output = b""
    while select.select([master], [], [], 120)[0]:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # Linux's way to say that the other end is closed.
            break
        if not chunk:
            break
        output += chunk
    os.close(master)
    assert process.wait(timeout=120) == 1
    return output.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_unless_no_color_is_set() -> None:
    colour = re.compile(r"\x1b\[[\d;]*3[1-6]m")
    assert colour.search(in_terminal(100, "analyze", str(DEMO)))
    assert not colour.search(in_terminal(100, "analyze", str(DEMO), NO_COLOR="1"))


def test_a_terminal_of_40_columns_gets_wrapped_text_and_whole_commands(demo: subprocess.CompletedProcess[str]) -> None:
    narrow = re.sub(r"\x1b\[[\d;]*m", "", in_terminal(40, "analyze", "fixtures/demo"))
    too_long = [
        line
        for line in narrow.splitlines()
        # Commands and places must stay in one piece, to be copied.
        if len(line) > 40 and not line.lstrip().startswith(("$ ", "fixtures/")) and " " in line.strip()
    ]
    assert too_long == []
    commands = [line.strip() for line in demo.stdout.splitlines() if line.lstrip().startswith("$ ")]
    assert commands
    assert all(command in narrow for command in commands)


def test_neither_names_of_files_nor_arguments_command_the_terminal(tmp_path: Path) -> None:
    name = "\x1b]0;taken\x07\x1b[2J\n.txt"
    (tmp_path / name).write_text("in no format\n")
    (tmp_path / f"log{name}").write_text(XID)
    missing = tmp_path / f"missing{name}"
    for arguments in (
        ("analyze", tmp_path, missing),
        ("explain", "gpu-fell-off-bus", missing),
        ("analyze", f"--{name}"),
    ):
        done = run(*arguments)
        assert "\x1b" not in done.stdout + done.stderr
        assert "\x07" not in done.stdout + done.stderr
        assert "\\x1b]0;taken\\x07" in done.stdout + done.stderr


@pytest.mark.parametrize(("redirection", "code"), [(">&-", 1), ("2>&-", 1), ("<&-", 1), (">&- 2>&- <&-", 1)])
def test_closed_streams_are_no_defect_and_change_no_exit_code(tmp_path: Path, redirection: str, code: int) -> None:
    (tmp_path / "dmesg").write_text(XID)
    command = f"{' '.join(COMMAND)} analyze {tmp_path / 'dmesg'} {redirection}"
    done = subprocess.run(
        ["sh", "-c", command], env=environment(), cwd=ROOT, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == code
    assert b"internal error" not in done.stderr


def test_a_pipe_that_the_shell_hands_over_is_read(tmp_path: Path) -> None:
    (tmp_path / "dmesg").write_text(XID)
    command = f"{' '.join(COMMAND)} analyze <(cat {tmp_path / 'dmesg'})"
    done = subprocess.run(
        ["bash", "-c", command], env=environment(), cwd=ROOT, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert b"gpu-fell-off-bus" in done.stdout

"""Paths that the user names become files to read, in a fixed order, or reports that say why not."""

from __future__ import annotations

import io
import os
import socket
from pathlib import Path

import pytest

from collectors.inputs import InputReport, Status
from collectors.scan import read_inputs
from collectors.walk import Found, walk


def read(*paths: Path | str) -> list[str]:
    return [found.name for found in walk([str(path) for path in paths]) if isinstance(found, Found)]


def left_out(*paths: Path | str) -> list[tuple[str, Status, str]]:
    return [
        (Path(found.path).name, found.status, found.detail or "")
        for found in walk([str(path) for path in paths])
        if isinstance(found, InputReport)
    ]


def test_folders_are_walked_sorted_and_completely(tmp_path: Path) -> None:
    for name in ("b/2", "b/10", "a", "c/d/e", "expect.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
    expected = ["a", "b/10", "b/2", "c/d/e", "expect.json"]
    assert read(tmp_path) == [f"{tmp_path}/{name}" for name in expected]


def test_names_are_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "x").write_text("x\n")
    monkeypatch.chdir(tmp_path)
    assert read("logs") == read("logs/") == ["logs/x"]
    assert read(".") == ["./logs/x"]


def test_hidden_files_are_skipped_in_folders_and_read_when_named(tmp_path: Path) -> None:
    hidden = tmp_path / ".x"
    hidden.write_text("x\n")
    ((name, status, detail),) = left_out(tmp_path)
    assert (name, status) == (".x", Status.SKIPPED)
    assert "Hidden" in detail
    assert read(hidden) == [str(hidden)]


def test_links_that_leave_the_folder_are_skipped_and_followed_when_named(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.write_text("x\n")
    (inside / "link").symlink_to(outside)
    assert left_out(inside) == [("link", Status.SKIPPED, "The symbolic link leads out of the folder")]
    assert read(inside / "link") == [f"{inside}/link"]


def test_broken_links_and_links_in_a_circle_are_unreadable(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to("absent")
    (tmp_path / "circle").symlink_to("circle")
    found = left_out(tmp_path)
    assert [(name, status) for name, status, _ in found] == [
        ("broken", Status.UNREADABLE),
        ("circle", Status.UNREADABLE),
    ]
    assert "No such file" in found[0][2]
    assert "circle" in found[1][2] or "symbolic links" in found[1][2]
    assert [status for _, status, _ in left_out(tmp_path / "circle", tmp_path / "broken")] == [Status.UNREADABLE] * 2


def test_a_folder_that_links_to_itself_is_reported_as_a_loop(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "b").symlink_to("a")
    found = {name: (status, detail) for name, status, detail in left_out(tmp_path)}
    assert found["up"][0] is Status.UNREADABLE
    assert "loop" in found["up"][1]
    assert found["b"][0] is Status.SKIPPED


def test_a_file_reached_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("x\n")
    os.link(path, tmp_path / "y")
    assert read(path, tmp_path) == [str(path)]
    assert all("already" in detail for _, _, detail in left_out(path, tmp_path))


def test_pipes_sockets_and_devices_are_skipped(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket"))
        found = left_out(tmp_path, "/dev/null")
    assert [(name, status) for name, status, _ in found] == [
        ("pipe", Status.SKIPPED),
        ("socket", Status.SKIPPED),
        ("null", Status.SKIPPED),
    ]
    assert [detail for *_, detail in found] == [
        "This is a named pipe, not a file",
        "This is a socket, not a file",
        "This is a device, not a file",
    ]


@pytest.mark.parametrize("path", ["absent", "absent/x", "", "a\0b", "x" * 5000])
def test_paths_that_do_not_exist_are_unreadable(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ((_, status, detail),) = left_out(path)
    assert status is Status.UNREADABLE
    assert detail


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_files_without_permission_are_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("x\n")
    path.chmod(0)
    (report,) = read_inputs([str(path)]).inputs
    assert (report.status, report.detail) == (Status.UNREADABLE, "Permission denied")


def test_an_empty_folder_is_reported(tmp_path: Path) -> None:
    assert left_out(tmp_path) == [(tmp_path.name, Status.SKIPPED, "The folder is empty")]


def test_standard_input_is_read_where_a_dash_stands() -> None:
    (report,) = read_inputs(["-"], stdin=io.BytesIO(b"nothing known\n")).inputs
    assert (report.path, report.status) == ("-", Status.UNRECOGNISED)


def test_progress_hears_of_each_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x\n")
    heard: list[str] = []
    read_inputs([str(tmp_path)], progress=heard.append)
    assert heard == [f"reading {tmp_path}/x, line 1"]

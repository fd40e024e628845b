"""What an operator says of columns on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from diagnose.cli.analyze import analyze

TABLE = "when,lat,who\n10.0,12.5,a\n10.5,13.5,b\n11.0,14.5,c\n"


def test_a_table_with_names_of_its_own_is_read_once_they_are_told(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(TABLE)
    told = ["--column", "e2e=lat", "--column", "start=when", "--unit", "lat=ms", "--unit", "when=s"]
    for options, kind in (([], None), (told, "request-table")):
        answer = CliRunner().invoke(analyze, [str(path), "--format", "json", *options])
        assert [item["kind"] for item in json.loads(answer.stdout)["inputs"]] == [kind]


def test_a_hint_of_another_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(TABLE)
    answer = CliRunner().invoke(analyze, [str(path), "--unit", "lat=minutes"])
    assert answer.exit_code == 2
    assert "'lat=minutes' is not of the form NAME=UNIT with UNIT one of s, ms, us, ns" in answer.stderr

from __future__ import annotations

import pytest

from diagnose.simulate.environment import UnknownScenarioError, load_scenario, scenario_names, scenario_title
from tests.simulate.scenarios import NEEDS_LIBRARY


def test_every_scenario_says_what_it_is() -> None:
    titles = {scenario_title(name) for name in scenario_names()}

    assert len(titles) == len(scenario_names()) > 10
    assert all(title and "=" not in title for title in titles)


def test_a_scenario_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(UnknownScenarioError, match="hgx-h100"):
        load_scenario("../scenarios/hgx-h100")


@NEEDS_LIBRARY
def test_the_stand_in_comes_before_what_the_user_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/other")

    first, second = load_scenario("hgx-h100").environment["LD_LIBRARY_PATH"].split(":")

    assert first != second == "/opt/other"


def test_a_machine_without_driver_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")

    assert load_scenario("no-driver").name == "no-driver"

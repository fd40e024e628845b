"""Each main symptom from start to verified fix, on simulated machines, by the keys that the screens name."""

from __future__ import annotations

import json
from pathlib import Path

from textual.pilot import Pilot

from diagnose.tui.app import DiagnoseApp
from diagnose.tui.model.events import Outcome, Place
from diagnose.tui.screens.verify import VerifyScreen
from diagnose.tui.widgets.choices import Choices
from tests.simulate.scenarios import NEEDS_LIBRARY
from tests.tui.driving import opened, screen_text, simulated, until, until_shown, with_recorders

pytestmark = NEEDS_LIBRARY


async def choose_symptom(pilot: Pilot[None], title: str) -> None:
    """Move the cursor to a symptom and take it."""
    await until_shown(pilot, title)
    for _ in range(12):
        option = pilot.app.screen.query_one("#symptoms", Choices).highlighted_option
        if option is not None and title in str(option.prompt):
            break
        await pilot.press("j")
    await pilot.press("enter")


async def do_all_steps(app: DiagnoseApp, pilot: Pilot[None]) -> None:
    """Say of every step of the fix that it was done."""
    fix = app.conductor.walk.chosen_fix
    assert fix is not None
    for _ in fix.steps:
        await pilot.press("d")
    await until_shown(pilot, "All steps are dealt with")


async def verify(app: DiagnoseApp, pilot: Pilot[None]) -> None:
    """From the fix to the verdict."""
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, VerifyScreen))
    await until_shown(pilot, "How to see that it is gone")
    await pilot.press("enter")
    await until(pilot, lambda: app.conductor.walk.verdicts and not app.conductor.verifies)
    while isinstance(app.screen, VerifyScreen) and app.screen.asked is not None:
        # What a check printed before the fix counts until it is run again.
        await until_shown(pilot, "To be run again")
        check = app.screen.asked.id
        await pilot.press("t")
        await until(pilot, lambda: check not in app.conductor.walk.to_repeat and not app.conductor.verifies)  # noqa: B023


async def test_several_gpus_scale_badly_from_the_start_screen_to_a_saved_report(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pilot):
        await until_shown(pilot, "What do you want to diagnose?")
        await pilot.press("down", "down", "down", "enter")
        await until_shown(pilot, "Which simulated machine?")
        await pilot.press("enter")
        await until_shown(pilot, "hardly faster than on seven")
        await choose_symptom(pilot, "Several GPUs in one machine scale badly")
        await until(pilot, lambda: app.conductor.walk.report is not None and not app.conductor.ranks)
        await pilot.press("4")
        await until_shown(pilot, "A PCIe link runs below its width or generation")
        assert app.conductor.walk.report.causes[0].subjects == ("l40s-04/gpu/2",)
        before = app.conductor.walk.report.causes[0].probability

        await pilot.press("c")
        await until_shown(pilot, "What each answer would mean")
        await pilot.press("t")
        await until_shown(pilot, "What your answer moved")
        assert app.conductor.walk.report.causes[0].probability > before

        await pilot.press("6")
        await until_shown(pilot, "Risk: hardware must be touched")
        await do_all_steps(app, pilot)
        await verify(app, pilot)
        assert app.conductor.walk.verdicts["pcie-link-degraded"].outcome is Outcome.GONE
        await until_shown(pilot, "✓ GONE")

        await pilot.press("enter")
        await until(pilot, lambda: app.screen.place is Place.REPORT)
        await pilot.press("m", "s")
        await until(pilot, lambda: len(app.conductor.walk.saved) == 2)
    saved = sorted((tmp_path / "reports").iterdir())
    taken = [item["text"] for item in json.loads(saved[0].read_text(encoding="utf-8"))["path_taken"]]
    assert "Symptoms named: multi-gpu-scaling" in taken
    assert taken[-1].startswith("Verified pcie-link-degraded: gone")
    assert "## Path taken" in saved[1].read_text(encoding="utf-8")


async def test_a_fix_that_was_not_carried_out_leaves_the_cause_where_it_is(tmp_path: Path) -> None:
    recorders = with_recorders("commands")
    async with opened(tmp_path, gather=recorders, origin=simulated("slow-port")) as (app, pilot):
        await choose_symptom(pilot, "Training over many nodes scales badly")
        await until(pilot, lambda: app.conductor.walk.report is not None and not app.conductor.ranks)
        await pilot.press("6")
        await until_shown(pilot, "Find the slow hop")
        await pilot.press("s", "s", "s")
        await verify(app, pilot)
        assert app.conductor.walk.verdicts["nic-link-degraded"].outcome is Outcome.STILL_THERE
        await until_shown(pilot, "✗ STILL THERE")


async def test_many_nodes_scale_badly(tmp_path: Path) -> None:
    recorders = with_recorders("commands")
    async with opened(tmp_path, gather=recorders, origin=simulated("slow-port")) as (app, pilot):
        await choose_symptom(pilot, "Training over many nodes scales badly")
        await until(pilot, lambda: app.conductor.walk.report is not None and not app.conductor.ranks)
        await pilot.press("4")
        await until_shown(pilot, "mlx5_3 runs at 200 Gb/s")
        await pilot.press("enter")
        await until_shown(pilot, "Find the slow hop")
        await do_all_steps(app, pilot)
        await verify(app, pilot)
        assert app.conductor.walk.verdicts["nic-link-degraded"].outcome is Outcome.GONE


async def test_low_bit_output_differs(tmp_path: Path) -> None:
    recorders = with_recorders("commands")
    async with opened(tmp_path, gather=recorders, origin=simulated("low-bit-cache")) as (app, pilot):
        await choose_symptom(pilot, "Low-bit output differs")
        await until(pilot, lambda: app.conductor.walk.report is not None and not app.conductor.ranks)
        await pilot.press("4")
        await until_shown(pilot, "The KV cache is quantised without scales")
        await pilot.press("c")
        await until_shown(pilot, "Bring the log of the serving engine")
        await pilot.press("enter")
        await until_shown(pilot, "What your answer moved")
        await pilot.press("6")
        await until_shown(pilot, "Deliver scales")
        await do_all_steps(app, pilot)
        await verify(app, pilot)
        assert app.conductor.walk.verdicts["kv-cache-scales-missing"].outcome is Outcome.GONE
        assert "kv-cache-scales-missing" not in screen_text(app)


async def test_inference_got_jittery_after_the_nightly_training_moved_in(
    tmp_path: Path,
) -> None:
    recorders = with_recorders("commands")
    async with opened(tmp_path, size=(80, 24), gather=recorders, origin=simulated("jittery-inference")) as (app, pilot):
        await until_shown(pilot, "Inference on this machine got jittery after the nightly training moved in.")
        await choose_symptom(pilot, "Inference latency jitters")
        await until(pilot, lambda: app.conductor.walk.report is not None and not app.conductor.ranks)
        assert [item.id for item in app.conductor.walk.report.symptoms if item.detected] == ["inference-jitter"]
        await pilot.press("4")
        await until_shown(pilot, "Enter shows what to look at next")
        await pilot.press("enter")
        await until_shown(pilot, "List what the scheduler placed on this machine")
        await pilot.press("enter")
        await until_shown(pilot, "What your answer moved")
        await pilot.press("enter")
        await until_shown(pilot, "Training was placed on nodes of the low-latency pool")
        await pilot.press("enter")
        await until_shown(pilot, "Keep training out of the pool")
        await do_all_steps(app, pilot)
        await pilot.press("enter")
        await until_shown(pilot, "How to see that it is gone")
        await pilot.press("enter")
        await until_shown(pilot, "To be run again")
        await pilot.press("enter")
        await until_shown(pilot, "✓ GONE")
        assert app.conductor.walk.verdicts["training-intrudes-inference-pool"].outcome is Outcome.GONE

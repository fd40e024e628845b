"""Reports and walks made by hand, so that what the screens show depends on no rule."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from diagnose.report.model import (
    Report,
    ReportCause,
    ReportCheck,
    ReportEvidence,
    ReportFix,
    ReportInput,
    ReportInstance,
    ReportMissing,
    ReportSource,
    ReportStep,
    ReportSymptom,
)
from diagnose.tui.model.events import (
    CauseChosen,
    Collected,
    Event,
    Origin,
    OriginKind,
    PartState,
    Ranked,
    Started,
    SymptomsChosen,
)

NOW = datetime(2026, 3, 14, 3, 7, 0, tzinfo=UTC)
INPUTS = (
    ReportInput(path="q.txt", kind="nvidia-smi-q", status="parsed", facts=120, line=1),
    ReportInput(path="dmesg.txt", kind="kernel-log", status="parsed", facts=3, line=1),
    ReportInput(path="notes.txt", kind=None, status="unrecognised", facts=0, detail="No known format", line=1),
)
PARTS = (
    PartState(name="q.txt", title="nvidia-smi-q", state="parsed", seconds=0.4, found=120),
    PartState(name="dmesg.txt", title="kernel-log", state="parsed", seconds=0.1, found=3),
    PartState(name="notes.txt", title="notes.txt", state="unrecognised", seconds=0.1, detail="No known format"),
)


def evidence(rule: str, text: str, *, weight: float = 3.0, direction: Any = "for", line: int = 12) -> ReportEvidence:
    """A piece of evidence."""
    return ReportEvidence(
        rule=rule,
        direction=direction,
        weight=weight if direction == "for" else -weight,
        counted=True,
        group=rule.partition("/")[2],
        text=text,
        subject="node-a/gpu/3",
        weight_source="judgement: made for a test",
        sources=(ReportSource(path="q.txt", line=line), ReportSource(path="dmesg.txt", line=line + 30)),
    )


def cause(name: str, title: str, probability: float, **given: Any) -> ReportCause:
    """A cause with two pieces of evidence and a fix of three steps."""
    values: dict[str, Any] = {
        "id": name,
        "title": title,
        "explanation": "A link came up with fewer lanes than both ends support, so that copies take twice as long.",
        "symptoms": ("slow",),
        "component": "pcie",
        "subjects": ("node-a/gpu/3",),
        "probability": probability,
        "severity": "warning",
        "root_of": (),
        "explained_by": None,
        "prior": 0.02,
        "prior_source": "judgement: made for a test",
        "instances": (ReportInstance(subject="node-a/gpu/3", probability=probability, prior=0.02),),
        "evidence": (
            evidence(f"{name}/width", "GPU 3 has a link of x8 of x16, 7 other GPUs have all lanes"),
            evidence(f"{name}/busy", "GPU 3 is idle, and idle links may be narrow", direction="against", line=40),
        ),
        "looked_and_found_nothing": ("The kernel names no link that was narrowed",),
        "missing": (ReportMissing(rule=f"{name}/lspci", kinds=("pci-link",)),),
        "fixes": (fix("Restore the link"), fix("Move the card to another slot")),
        "references": ("vendor manual",),
    }
    return ReportCause(**{**values, **given})


def fix(title: str) -> ReportFix:
    """A fix of three steps."""
    return ReportFix(
        title=title,
        risk="drain",
        privilege="root",
        steps=(
            ReportStep(
                do="Compare both ends of the link under load",
                command="sudo lspci -vvv -s 0000:9b:00.0 | grep -E 'LnkCap:|LnkSta:'",
                expect="Width in LnkSta equals that in LnkCap",
            ),
            ReportStep(do="Drain the node and reseat the card"),
            ReportStep(do="Set the slot to 16 lanes in the firmware", setting="PCIe bifurcation: x16"),
        ),
        verify="The width is x16 on every GPU while a job runs",
        filled_for="node-a/gpu/3",
    )


CHECKS = (
    ReportCheck(
        id="look",
        text="Look at the link",
        command="nvidia-smi -q -d PERFORMANCE && lspci -vvv",
        separates=("narrow-link",),
        expected_gain_bits=0.3,
        cost_seconds=5,
        risk="none",
        privilege="user",
    ),
    ReportCheck(
        id="bring-log",
        text="Bring the log of the job",
        command=None,
        separates=("narrow-link", "late-gpu"),
        expected_gain_bits=0.1,
        cost_seconds=60,
        risk="restart-job",
        privilege="root",
    ),
)


def report(*causes: ReportCause, **given: Any) -> Report:
    """A report of three causes, one of them a consequence, unless others are given."""
    made = causes or (
        cause("narrow-link", "A PCIe link runs below its width", 0.93, root_of=("late-gpu",)),
        cause(
            "late-gpu",
            "One GPU is slower than its peers",
            0.55,
            severity="info",
            explained_by="narrow-link@node-a/gpu/3",
            fixes=(fix("Take the reason away"),),
        ),
        cause("memory-errors", "Memory errors are rising", 0.14, severity="critical"),
    )
    values: dict[str, Any] = {
        "generated_at": NOW,
        "tool_version": "0",
        "hosts": ("node-a",),
        "inputs": INPUTS,
        "symptoms": (ReportSymptom(id="slow", title="It is slow", detected=True, asserted=True, signs=("It crawls",)),),
        "causes": made,
        "checks": CHECKS,
    }
    return Report(**{**values, **given})


def events(ranked: Report | None = None, *, symptoms: tuple[str, ...] = ("slow",)) -> list[Event]:
    """A walk up to its causes."""
    return [
        Started(at=NOW, origin=Origin(kind=OriginKind.FILES, paths=("q.txt", "dmesg.txt"), folder="/data")),
        SymptomsChosen(at=NOW, symptoms=symptoms),
        Collected(at=NOW, purpose="diagnose", run=1, facts=(), inputs=INPUTS, parts=PARTS, complete=True),
        Ranked(at=NOW, purpose="diagnose", report=ranked or report()),
        CauseChosen(at=NOW, cause="narrow-link"),
    ]

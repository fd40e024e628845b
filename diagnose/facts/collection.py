"""Facts about the collection itself. A part of the machine that does not answer is a symptom."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class CollectorStatus(Fact):
    """How one recorder of a live collection ended."""

    kind: ClassVar[str] = "collector-status"
    few_per_host: ClassVar[bool] = True
    name: str = required("Name of the recorder")
    status: str = required(
        "`done`, `partial`, `timed-out`, `crashed`, `absent`, `skipped`, `no-privilege`; `running` where it was cut off"
    )
    seconds: float | None = optional("How long it took")
    detail: str | None = optional("Why, in one sentence")
    lacked: str | None = optional("What could not be read for want of privilege, separated by `; `")
    simulated: str | None = optional("Name of the scenario, where no real machine was read")


class ReportedSymptom(Fact):
    """A symptom that whoever made the recording sees."""

    kind: ClassVar[str] = "reported-symptom"
    few_per_host: ClassVar[bool] = True
    symptom: str = required("Symptom's id")


class OperatorAnswer(Fact):
    """What whoever runs the program answered to a question that no command answers."""

    kind: ClassVar[str] = "operator-answer"
    few_per_host: ClassVar[bool] = True
    check: str = required("Id of the check that asks")
    answer: str = required("`yes` or `no`; who does not know gives no fact")

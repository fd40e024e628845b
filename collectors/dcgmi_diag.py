"""The table of `dcgmi diag -r N`.

    | GPU Memory                | Fail - GPU: 0                                  |
    | Warning                   | GPU 0 Thermal violations totaling 13.3 second  |
    |                           | s started at 9.7 seconds into the test for GP  |
    |                           | U 0 Verify that ...                            |

Long cells are cut into rows of a fixed width, in the middle of words, and the tool cuts very long ones off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed, share
from collectors.dcgm_results import OUTCOMES, Run, Test, run_facts
from collectors.nvidia_smi_values import version

_ROW = re.compile(r"^\s*\|(?P<left>[^|]{20,40})\|(?P<right>.{20,120}?)\|?\s*$")
_RULER = re.compile(r"^\s*[+|][-=+|]*(?:\s+[\w /]+\s+[-=+|]+)?$")
_RESULT = re.compile(
    r"^(pass|fail|warn(?:ing)?|skip|error)\b(?:\s*-\s*(?:all|(?:gpus?|entit\w+|switch\w*|cpus?):?\s*([\d, ]*)))?",
    re.IGNORECASE,
)
_PER_GPU = re.compile(r"^(?:GPU ?(\d{1,3})): ?(pass|fail|warn(?:ing)?|skip|error)\b", re.IGNORECASE)
_NOTE = re.compile(r"^(warning|error|info|details?)\b:?\s*(?:GPU ?(\d{1,3}))?", re.IGNORECASE)
_TESTS = (
    r"(?:Deny|Black)list|NVML Library|CUDA Main Library|Permissions and OS|Persistence Mode|Environment Vari"
    r"|Page Retirement|Graphics Processes|Inforom|GPU Memory|Memory Bandwidth|PCIe|EUD Test|Diagnostic|SM Stress"
    r"|Targeted (?:Stress|Power)|Memtest|Pulse Test|nvbandwidth|NCCL"
)
_TEST_ROW = re.compile(rf"^\s*\|\s*(?:{_TESTS})[^|]*\|\s*(?:Pass|Fail|Warn|Skip)", re.IGNORECASE)
_ANY_ROW = re.compile(r"^\s*[|+]")


@dataclass(slots=True)
class _Entry:
    label: str
    rows: list[str]
    line: int

    @property
    def text(self) -> str:
        """Rows put together as they were cut apart: blanks at the cut belong to the text."""
        return "".join(self.rows).strip()


class DcgmiDiag(BlockCollector):
    """`dcgmi diag -r N` as text."""

    kind: ClassVar[str] = "dcgmi-diag"
    literals: ClassVar[tuple[bytes, ...]] = (b"ran diagnostic for group", b"| Diagnostic  ")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bdcgmi\s+diag\b(?!.*\s(?:-\w*j|--json))")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """What the tool prints first, or the table's header."""
        return text.startswith("Successfully ran diagnostic for group") or (
            "| Diagnostic " in text and "| Result " in text
        )

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """A piece of the table with at least one of its tests."""
        return share(lines, _ANY_ROW) if any(_TEST_ROW.match(line) for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Results of every test."""
        parsed = Parsed()
        run = Run("dcgmi-diag")
        for entry in _entries(block):
            _take(run, entry)
        parsed.facts += run_facts(run, block)
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no result of a test was found")
        return parsed


def _entries(block: Block) -> Iterator[_Entry]:
    entry: _Entry | None = None
    for line in block.lines:
        row = None if _RULER.match(line.text) else _ROW.match(line.text)
        if row is None:
            if entry is not None:
                yield entry
            entry = None
            continue
        label, cell = row["left"].strip(), row["right"].removeprefix(" ")
        cell = cell.removesuffix("  ")
        if label:
            if entry is not None:
                yield entry
            entry = _Entry(label, [cell], line.number)
        elif entry is not None:
            # Outcomes by GPU stand in rows of their own and are no rest of the row above.
            if _PER_GPU.match(cell.strip()) or _RESULT.match(cell.strip()):
                cell = f"\n{cell}"
            entry.rows.append(cell)
    if entry is not None:
        yield entry


def _take(run: Run, entry: _Entry) -> None:
    label = entry.label.lower()
    if label == "dcgm version":
        run.version = entry.text or None
    elif label.startswith("driver version"):
        run.driver_version = version(entry.text)
    elif (note := _NOTE.match(entry.label)) is not None:
        if run.tests:
            run.tests[-1].note(entry.text, int(note[2]) if note[2] else None)
    else:
        _take_test(run, entry)


def _take_test(run: Run, entry: _Entry) -> None:
    test = Test(entry.label, entry.line)
    for row in entry.text.split("\n"):
        if (by_gpu := _PER_GPU.match(row.strip())) is not None:
            test.by_gpu[int(by_gpu[1])] = OUTCOMES[by_gpu[2].lower()]
        elif (result := _RESULT.match(row.strip())) is not None:
            outcome = OUTCOMES[result[1].lower()]
            gpus = [int(number) for number in re.findall(r"\d{1,3}", result[2] or "")]
            test.by_gpu.update(dict.fromkeys(gpus, outcome))
            if not gpus:
                test.overall = outcome
    if test.worst is not None:
        run.tests.append(test)

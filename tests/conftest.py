"""Shared fixtures."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine makes any deadline flaky; CI fixes the random seed by Hypothesis's own profile, which this extends.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

CAUSE = textwrap.dedent(
    """\
    cause:
      id: narrow-link
      title: The link is narrow
      explanation: The link has fewer lanes than it could have.
      symptoms: [slow]
      component: pcie
      severity: warning
      subject: gpu
      prior: {probability: 0.05, source: "judgement: one machine in twenty"}
    evidence:
      - id: width
        group: width
        strength: strong
        source: "vendor manual, section on link width"
        when:
          - fact: gpu-pcie-link
            as: link
            where: width_current < width_max
          - fact: gpu-load
            as: load
            where: [gpu == link.gpu, gpu_utilization_ratio > 0.5]
        says: "GPU {link.gpu} has x{link.width_current}"
        otherwise: No link is narrow
    checks: [look]
    fixes:
      - title: Reseat the card
        risk: hardware
        privilege: root
        steps:
          - do: Reseat it
            command: "lspci -s {gpu_bus_id}"
        verify: The width is back
    references: [vendor manual]
    examples:
      - name: narrow
        expect: cause
        facts:
          - {kind: gpu-pcie-link, gpu_index: 0, width_current: 8, width_max: 16}
          - {kind: gpu-load, gpu_index: 0, gpu_utilization_ratio: 0.9}
      - name: full
        expect: nothing
        facts:
          - {kind: gpu-pcie-link, gpu_index: 0, width_current: 16, width_max: 16}
    """
)
CHECKS = "checks:\n  - {id: look, text: Look at the link, provides: [gpu-pcie-link]}\n"
SYMPTOMS = "symptoms:\n  - {id: slow, title: It is slow, question: 'Is it slow?'}\n"


def corpus_path() -> Path:
    """Where real files from the field lie: beside the repository, or where $DIAGNOSE_CORPUS says."""
    given = os.environ.get("DIAGNOSE_CORPUS")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "corpus"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The corpus; skips where it is absent."""
    path = corpus_path()
    if not path.is_dir():
        pytest.skip(f"no corpus of field files at {path}")
    return path


@pytest.fixture
def rule_base(tmp_path: Path) -> Callable[..., Path]:
    """Writes the rule base with parts of the cause file replaced; returns its folder."""

    def write(*replacements: tuple[str, str], **files: str) -> Path:
        text = CAUSE
        for old, new in replacements:
            assert text.count(old) >= 1, old
            text = text.replace(old, new, 1)
        contents = {"slow/narrow-link.yaml": text, "checks.yaml": CHECKS, "symptoms.yaml": SYMPTOMS, **files}
        for name, content in contents.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return tmp_path

    return write

"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine makes any deadline flaky; CI fixes the random seed by Hypothesis's own profile, which this extends.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


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

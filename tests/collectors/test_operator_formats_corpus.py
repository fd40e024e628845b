"""Field files of the formats that operators save beside nvidia-smi's: each is recognised and gives facts."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from collectors.inputs import Status
from collectors.scan import read_inputs

FOLDERS = (
    "amd",
    "dcgm-exporter-prom",
    "dcgmi",
    "eth-counters",
    "ethtool",
    "gpu-bw",
    "hwloc-xml",
    "ib-counters",
    "infiniband",
    "nccl-topo-xml",
    "nvbandwidth",
    "perftest",
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_is_recognised(corpus: Path, folder: str) -> None:
    readings = read_inputs([str(corpus / "files" / folder)])
    recognised: dict[str, bool] = defaultdict(bool)
    for report in readings.inputs:
        recognised[report.path] |= report.status in (Status.PARSED, Status.PARTIAL)
    unknown = {Path(path).name for path, known in recognised.items() if not known and Path(path).stat().st_size > 1}
    assert unknown == set()

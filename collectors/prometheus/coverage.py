"""What exporters do not tell: a cause that leaves its traces there cannot be seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

from collectors.dcgm_field_list import FIELD_GROUPS
from collectors.inputs import InputReport, Status
from collectors.prometheus.catalogue import EXPORTERS
from diagnose.facts import Fact, Source
from diagnose.facts.validation import TelemetryConfiguration


def left_out(present: Set[str], shown_url: str) -> Iterator[InputReport]:
    """A report for each exporter that is absent or leaves out what latency may depend on."""
    for exporter in EXPORTERS:
        detail = None
        if not any(name.startswith(exporter.prefixes) for name in present):
            detail = f"Nothing of {exporter.kind} is collected here: {exporter.cure}"
        elif missing := [words for words, metrics in exporter.wanted.items() if not present & set(metrics)]:
            detail = f"Not collected: {', '.join(missing)}; {exporter.cure}"
        if detail is not None:
            path = f"{shown_url} ({exporter.kind})"
            yield InputReport(path=path, kind=exporter.kind, status=Status.SKIPPED, detail=detail)


def telemetry_configuration(present: Iterable[str], source: Source) -> Iterator[Fact]:
    """Which groups of fields dcgm-exporter is set up to collect, where it is there at all."""
    fields = [name for name in present if name.startswith(("DCGM_FI_", "DCGM_EXP_"))]
    if fields:
        groups = {name: any(re.search(pattern, one) for one in fields) for name, pattern in FIELD_GROUPS.items()}
        yield TelemetryConfiguration(sources=(source,), exporter="dcgm-exporter", fields=len(fields), **groups)

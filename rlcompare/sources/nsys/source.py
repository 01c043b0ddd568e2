"""The source of Nsight Systems' SQLite exports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rlcompare.resources import resource_root
from rlcompare.sources.content import Content
from rlcompare.sources.nsys.capture import REPORTS, captures_in, captures_of_file, steps_of_export
from rlcompare.sources.nsys.fill import fill
from rlcompare.sources.source import Source
from rlcompare.sources.viewing import first_of

_TABLES = frozenset(
    {
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "NVTX_EVENTS",
    }
)
_STRINGS = "StringIds"
"""Tells exports from nvprof's databases, which have kernels too but another table of texts."""


def _recognise(content: Content) -> str | None:
    if content.tables is None:
        return "nsys_report" if content.path.suffix in REPORTS else None
    return "nsys" if _STRINGS in content.tables and content.tables & _TABLES else None


def _complaint(content: Content) -> str | None:
    tables = content.tables or frozenset()
    if _STRINGS in tables:
        return "it is an Nsight Systems export without CUDA and NVTX data (nsys profile --trace=cuda,nvtx)"
    if tables & _TABLES:
        return f"it is an Nsight Systems export without its table of strings, {_STRINGS}"
    return None


def _nsight(paths: Sequence[Path]) -> list[str]:
    reports = [report for path in paths for end in REPORTS if (report := path.with_suffix(end)).is_file()]
    if reports:
        return [f"Nsight Systems: open {first_of(reports)}"]
    return [f"Nsight Systems: open the report that {first_of(paths)} was exported from"]


EXPORT = Source(
    name="nsys",
    tool="nsys",
    sql=resource_root("sql") / "sources" / "nsys",
    recognise=_recognise,
    captures=captures_of_file,
    fill=fill,
    loose_files=captures_in,
    complaint=_complaint,
    steps=lambda capture: steps_of_export(capture.files["nsys"]),
    viewer=_nsight,
)

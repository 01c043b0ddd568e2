"""Classifies the files of an Ascend profile without reading them whole, and finds their rank, steps and range names."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from rlcompare.sources.content import Content, quietly

_PROFILE_TABLES = frozenset(
    {
        "TASK",
        "COMPUTE_TASK_INFO",
        "COMMUNICATION_OP",
        "COMMUNICATION_TASK_INFO",
        "CANN_API",
        "PYTORCH_API",
        "MSTX_EVENTS",
        "STEP_TIME",
        "MEMORY_RECORD",
        "OP_MEMORY",
        "NPU_MEM",
        "NPU_MODULE_MEM",
        "AICORE_FREQ",
        "GC_RECORD",
    }
)
_ANALYSIS_TABLES = frozenset({"StepTraceTime", "CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix"})

_DIGITS = 18
"""Of a step's number, at most: it must fit into a BIGINT."""

# Columns that identify a profile's file if its name does not. The first match counts.
_CSV_MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("kernel_details", frozenset({"Accelerator Core", "Duration(us)"})),
    ("op_statistic", frozenset({"OP Type", "Core Type", "Total Time(us)"})),
    ("operator_details", frozenset({"Host Self Duration(us)", "Name"})),
    ("step_trace_time", frozenset({"Computing", "Communication(Not Overlapped)"})),
    ("operator_memory", frozenset({"Size(KB)", "Allocation Time(us)"})),
    ("memory_record", frozenset({"Total Allocated(MB)", "Timestamp(us)"})),
    ("npu_module_mem", frozenset({"Component", "Total Reserved(MB)"})),
    ("api_statistic", frozenset({"API Name", "Level"})),
    ("l2_cache", frozenset({"Hit Rate", "Victim Rate"})),
)

TEXT_FILES: Mapping[str, str] = {
    "trace_view.json": "trace_view",
    "kernel_details.csv": "kernel_details",
    "op_statistic.csv": "op_statistic",
    "operator_details.csv": "operator_details",
    "step_trace_time.csv": "step_trace_time",
    "communication.json": "communication",
    "communication_matrix.json": "communication_matrix",
    "operator_memory.csv": "operator_memory",
    "memory_record.csv": "memory_record",
    "npu_module_mem.csv": "npu_module_mem",
    "api_statistic.csv": "api_statistic",
    "l2_cache.csv": "l2_cache",
    "data_preprocess.csv": "data_preprocess",
}
"""The text files of a profile, by name, with their keys in ``CaptureInput.files``."""


def recognise_database(content: Content) -> str | None:
    """``profile_db`` if the content is that of a profile's database."""
    if content.tables is None:
        return None
    # If there is no table, the schema may be in the write-ahead log: the source then reads a copy with the log.
    is_profile = content.tables & _PROFILE_TABLES or (not content.tables and content.has_log)
    return "profile_db" if is_profile else None


def recognise_text(content: Content) -> str | None:
    """The key of a text file: a value of ``TEXT_FILES``, or ``analysis_db``."""
    if content.tables is not None:
        return "analysis_db" if content.tables & _ANALYSIS_TABLES else None
    if content.is_compressed:
        return None
    if content.text[:1] == b"[":
        return "trace_view" if b'"ph"' in content.text or content.path.name == "trace_view.json" else None
    return _json_object(content) if content.text[:1] == b"{" else _table(content)


def _json_object(content: Content) -> str | None:
    by_name = TEXT_FILES.get(content.path.name)
    if by_name in ("communication", "communication_matrix"):
        return by_name
    if b'"Transport Type"' in content.text:
        return "communication_matrix"
    return "communication" if b'"Communication Time Info"' in content.text else None


def _table(content: Content) -> str | None:
    line = content.text.splitlines()[0].decode("utf-8", "replace") if content.text else ""
    try:
        columns = {name.strip() for name in next(csv.reader([line]), [])}
    except csv.Error:
        columns = set()
    for kind, marks in _CSV_MARKS:
        if marks <= columns:
            return kind
    return TEXT_FILES.get(content.path.name) if content.path.suffix == ".csv" else None


def rank_of_database(path: Path) -> int | None:
    """The rank that RANK_DEVICE_MAP states, if it states exactly one."""
    return _single(quietly(path, "SELECT DISTINCT rankId FROM RANK_DEVICE_MAP"))


def steps_of_database(path: Path) -> frozenset[int] | None:
    """The step numbers of STEP_TIME; None if the profile marks no steps or the table cannot be read."""
    steps = frozenset(value for (value,) in quietly(path, "SELECT id FROM STEP_TIME") if isinstance(value, int))
    return steps or None


def marks_of_database(path: Path) -> frozenset[str]:
    """The messages of the mstx ranges and marks; empty if the profile has none or they cannot be read."""
    query = "SELECT DISTINCT s.value FROM MSTX_EVENTS AS m JOIN STRING_IDS AS s ON s.id = m.message"
    return frozenset(value for (value,) in quietly(path, query) if isinstance(value, str))


def steps_of_step_trace_time(path: Path) -> frozenset[int] | None:
    """The step numbers of step_trace_time.csv; None if a row has none or the file cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as handle:
            values = [(row.get("Step") or "").strip() for row in csv.DictReader(handle)]
    except (OSError, csv.Error):
        return None
    if not values or not all(value.isdecimal() and len(value) <= _DIGITS for value in values):
        return None
    return frozenset(int(value) for value in values)


def _single(rows: Iterable[tuple[object, ...]]) -> int | None:
    values = {value for (value,) in rows if isinstance(value, int) and value >= 0}
    return values.pop() if len(values) == 1 else None

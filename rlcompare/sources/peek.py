"""Cheap looks at one file: what it is, by its first bytes and its schema, without reading it.

Nothing here reads more than 64 KiB of a file that may be large, and nothing is written: databases are opened with
``immutable=1``, which neither takes locks nor leaves ``-wal`` and ``-shm`` files behind.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

from rlcompare.sources.metrics import form, mlflow
from rlcompare.sources.torch.file import GZIP, head_of

HEAD_BYTES = 64 * 1024
"""How much of a file is looked at to tell what it is."""

JSON_LIMIT_BYTES = 64 * 1024 * 1024
"""Larger profiler_info.json and profiler_metadata.json files are not parsed: real ones have a few kilobytes."""

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
_NSYS_TABLES = frozenset(
    {
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "NVTX_EVENTS",
    }
)
_NSYS_STRINGS = "StringIds"
"""nvprof's databases have kernels too, but another table of texts."""
_NSYS_REPORTS = (".nsys-rep", ".qdrep")
_ANALYSIS_TABLES = frozenset({"StepTraceTime", "CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix"})

# Columns that name a file of a profile when its own name does not. The first match counts.
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

_METRICS = re.compile(rb'^[ \t]*\{\s*"step"\s*:\s*-?\d+[^{]{0,20}"data"\s*:\s*\{', re.MULTILINE)

_SNAPSHOT = re.compile(rb'\{\s*(?:"schema"\s*:\s*"rlcompare\.memory/|"(?:segments|device_traces)"\s*:\s*\[)')

_WANDB = b":W&B"

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
"""The text files of a profile that a source reads, by name, and the part that each plays in ``CaptureInput.files``."""


@dataclass(frozen=True)
class FileKind:
    """What a file turned out to be.

    Attributes:
        kind: ``profile_db``, ``analysis_db``, ``nsys`` (an export of Nsight Systems), ``nsys_report`` (one that was not
            exported), ``store``, a value of ``TEXT_FILES``, ``torch_trace``, ``torch_memory`` (a memory snapshot),
            one of ``metrics.form.FORMS``, ``other_db`` (a sound database of something else), or
            ``unknown``.
        problem: why it cannot be used, as a clause without a full stop; None where it can.
    """

    kind: str
    problem: str | None = None


def file_problem(path: Path) -> str | None:
    """Why a path is no file with something in it, as a clause; None: it is. A pipe is not opened: it would block."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return "the link leads to nothing" if path.is_symlink() else "there is no such file"
    except OSError as error:
        return f"it cannot be opened ({error.strerror})"
    if S_ISDIR(status.st_mode):
        return "it is a folder, and should be a file"
    if not S_ISREG(status.st_mode):
        return "it is a pipe or a device, and should be a file"
    return None if status.st_size else "the file is empty"


def file_kind(path: Path) -> FileKind:
    """Tells what one file is, by content; its name only settles what the content leaves open.

    Raises:
        OSError: it cannot be opened or read.
    """
    problem = file_problem(path)
    if problem:
        return FileKind("unknown", problem)
    with path.open("rb") as handle:
        head = handle.read(HEAD_BYTES)
    if head.startswith(b"SQLite format 3\0"):
        return _database_kind(path, head)
    if path.suffix in _NSYS_REPORTS:
        return FileKind("nsys_report", "it is a report of Nsight Systems, which only nsys reads")
    if head[8:12] == b"DUCK":
        return FileKind("store")
    if head.startswith(_WANDB):
        return FileKind("unknown", "it is wandb's own record of a run: export its history as CSV or as JSON lines")
    if path.suffix == ".db":
        return FileKind("unknown", "it is no SQLite database, though it is named like one")
    if head.startswith(GZIP):
        return _compressed_kind(path)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] == b"[":
        if b'"ph"' in text or path.name == "trace_view.json":
            return FileKind("trace_view")
        kind = FileKind("unknown", "it is a JSON list without trace events")
    else:
        kind = _json_object_kind(path, text) if text[:1] == b"{" else _csv_kind(path, text)
    # A log may begin with anything, a brace or a bracket too.
    metrics = form.form_of_text(path, head) if kind.kind == "unknown" else None
    if metrics is None and kind.kind == "unknown":
        return FileKind("unknown", form.why_unknown(head) or kind.problem)
    return kind if metrics is None else FileKind(metrics)


def _compressed_kind(path: Path) -> FileKind:
    text = head_of(path, HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    kind = _json_object_kind(path, text) if text[:1] == b"{" else None
    if kind is not None and kind.kind in ("torch_trace", "torch_memory"):
        return kind
    return FileKind("unknown", "it is compressed, and no trace of torch.profiler")


def _database_kind(path: Path, head: bytes) -> FileKind:
    problem = _truncation(path, head)
    if problem:
        return FileKind("unknown", problem)
    try:
        tables = frozenset(str(name) for (name,) in _rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'"))
    except sqlite3.Error as error:
        return FileKind("unknown", f"the database is damaged ({error})")
    if tables & _PROFILE_TABLES:
        return FileKind("profile_db")
    if tables & _ANALYSIS_TABLES:
        return FileKind("analysis_db")
    if _NSYS_STRINGS in tables and tables & _NSYS_TABLES:
        return FileKind("nsys")
    if not tables and _wal(path).is_file():
        # The schema may still lie in the write-ahead log, which is not looked at here; the source reads a copy of it.
        return FileKind("profile_db")
    if tables >= mlflow.TABLES:
        return FileKind(form.MLFLOW)
    if _NSYS_STRINGS in tables:
        return FileKind(
            "other_db", "it is an export of Nsight Systems without CUDA and NVTX (nsys profile --trace=cuda,nvtx)"
        )
    if tables & _NSYS_TABLES:
        return FileKind("other_db", f"it is an export of Nsight Systems without its table of texts, {_NSYS_STRINGS}")
    what = "none of the tables of an Ascend profile" if tables else "no tables"
    return FileKind("other_db", f"the database has {what}")


def _truncation(path: Path, head: bytes) -> str | None:
    """Compares the size that the header states with the file's; it counts only if the two change counters agree."""
    if len(head) < 100:
        return "the database is cut within its header"
    page_size = int.from_bytes(head[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    pages = int.from_bytes(head[28:32], "big")
    size = path.stat().st_size
    if head[24:28] == head[92:96] and size < page_size * pages and not _wal(path).is_file():
        return f"the database is truncated: {size} of {page_size * pages} bytes are there"
    return None


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        return connection.execute(query).fetchall()


def _json_object_kind(path: Path, text: bytes) -> FileKind:
    if _METRICS.search(text):
        return FileKind(form.FILE_LOGGER)
    if (lines := form.form_of_json_lines(text)) is not None:
        return FileKind(lines)
    if _SNAPSHOT.match(text):
        return FileKind("torch_memory")
    if b'"traceEvents"' in text or b'"deviceProperties"' in text or b'"distributedInfo"' in text:
        return FileKind("torch_trace")
    by_name = TEXT_FILES.get(path.name)
    if by_name in ("communication", "communication_matrix"):
        return FileKind(by_name)
    if b'"Transport Type"' in text:
        return FileKind("communication_matrix")
    if b'"Communication Time Info"' in text:
        return FileKind("communication")
    return FileKind("unknown", "it is a JSON object of an unknown kind")


def _csv_kind(path: Path, text: bytes) -> FileKind:
    line = text.splitlines()[0].decode("utf-8", "replace") if text else ""
    try:
        columns = {name.strip() for name in next(csv.reader([line]), [])}
    except csv.Error:
        columns = set()
    for kind, marks in _CSV_MARKS:
        if marks <= columns:
            return FileKind(kind)
    if path.name in TEXT_FILES and path.suffix == ".csv":
        return FileKind(TEXT_FILES[path.name])
    if path.suffix in (".csv", ".db", ".json"):
        return FileKind("unknown", "it is no file of a profile")
    return FileKind("unknown", "it is no file of a profile, and has no line `step:N - key:value`, so no metrics either")


def rank_of_database(path: Path) -> int | None:
    """The rank that RANK_DEVICE_MAP states, if it states exactly one."""
    return _single(quietly(path, "SELECT DISTINCT rankId FROM RANK_DEVICE_MAP"))


def steps_of_database(path: Path) -> frozenset[int] | None:
    """The step numbers of STEP_TIME; None where the profile marks no steps or the table cannot be read."""
    steps = frozenset(value for (value,) in quietly(path, "SELECT id FROM STEP_TIME") if isinstance(value, int))
    return steps or None


def marks_of_database(path: Path) -> frozenset[str]:
    """The messages of the mstx ranges and marks; none where the profile has none or they cannot be read."""
    query = "SELECT DISTINCT s.value FROM MSTX_EVENTS AS m JOIN STRING_IDS AS s ON s.id = m.message"
    return frozenset(value for (value,) in quietly(path, query) if isinstance(value, str))


def steps_of_step_trace_time(path: Path) -> frozenset[int] | None:
    """The step numbers of step_trace_time.csv; None where a row has none or the file cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as handle:
            values = [(row.get("Step") or "").strip() for row in csv.DictReader(handle)]
    except (OSError, csv.Error):
        return None
    if not values or not all(value.isdecimal() for value in values):
        return None
    return frozenset(int(value) for value in values)


def quietly(path: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query of ours; none where the table is not there or cannot be read."""
    try:
        return _rows(path, query)
    except sqlite3.Error:
        return []


def _single(rows: Iterable[tuple[object, ...]]) -> int | None:
    values = {value for (value,) in rows if isinstance(value, int) and value >= 0}
    return values.pop() if len(values) == 1 else None


def json_object(path: Path) -> tuple[dict[str, object], str | None]:
    """A small JSON file as a dictionary, and what was wrong with it (then the dictionary is empty)."""
    problem = file_problem(path)
    if problem:
        return {}, problem
    try:
        if path.stat().st_size > JSON_LIMIT_BYTES:
            return {}, f"it is larger than {JSON_LIMIT_BYTES // 2**20} MiB"
        value = json.loads(path.read_bytes())
    except OSError as error:
        return {}, error.strerror or "it cannot be opened"
    except RecursionError:
        return {}, "it is nested too deeply"
    except ValueError:
        return {}, "it is no valid JSON"
    if not isinstance(value, dict):
        return {}, "it holds no JSON object"
    return value, None

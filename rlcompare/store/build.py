"""Makes the store of one run: every capture is read, normalised and reduced, and the file appears whole or not at all.

The file holds the run tables and the rollups. Event tables (one row per kernel, operator, call) are kept in it for
``ingest`` and ``sql``; for ``diff`` they live in memory until the rollups are made: nothing reads them afterwards.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import duckdb

import rlcompare
from rlcompare import db, resources
from rlcompare.errors import InputError
from rlcompare.model.run import CaptureInput, Finding, RunInput
from rlcompare.sources import exports
from rlcompare.sources.described import is_sample, sampled_finding
from rlcompare.sources.registry import find
from rlcompare.sources.run_directory import fill_training
from rlcompare.store.fingerprint import InputFile, input_files

LEAST_MEMORY_BYTES = 128 * 2**20
MEMORY_SHARE = 1.0
"""Of the largest input file: two databases of 224 MB are read fast within as much each, and stay under 0.7 GB."""

UNPACKED = 8
"""How many times as large a compressed trace may well be."""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_ROOM_LEFT = re.compile(r"no space left|could not write|cannot write|quota|disk is full", re.IGNORECASE)

Progress = Callable[[int, int, str], None]
"""Called with captures done, captures in all, and what is being read now."""


def build_store(
    run: RunInput, target: Path, *, keep_events: bool, threads: int = 2, progress: Progress | None = None
) -> None:
    """Read a whole run into one DuckDB file.

    Args:
        run: what detection found.
        target: the file to make; an existing one is replaced when the new one is complete.
        keep_events: keep the event tables in the file.
        threads: worker threads.
        progress: told before each capture.

    Raises:
        InputError: neither a capture nor the metrics of the run could be read. Otherwise what can be read is used, and
            findings say what was left out.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.{id(run):x}.partial")
    files = input_files(run)
    spill = tempfile.TemporaryDirectory(prefix="rlcompare-")
    con = db.connect(threads, _memory_bytes(files), Path(spill.name), sqlite=True)
    try:
        db.attach(con, partial, read_only=False)
        _create_tables(con, keep_events)
        _fill(con, run, progress)
        _write_meta(con, run, files, keep_events)
        con.execute("USE memory")
        db.detach(con)
        partial.replace(target)
    finally:
        con.close()
        spill.cleanup()
        partial.unlink(missing_ok=True)
        partial.with_name(partial.name + ".wal").unlink(missing_ok=True)


def _create_tables(con: duckdb.DuckDBPyConnection, keep_events: bool) -> None:
    con.execute("USE store")
    _run_all(con, resources.sql_names("schema/run") + resources.sql_names("schema/rollup"))
    con.execute("USE store" if keep_events else "USE memory")
    _run_all(con, resources.sql_names("schema/events") + resources.sql_names("schema/views"))
    _run_all(con, resources.sql_names("schema/stage") + resources.sql_names("sources/macro"))
    con.execute("SET search_path = 'memory.main,store.main'")
    con.execute("SET VARIABLE keep_events = ?", [keep_events])


def _run_all(con: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    for name in names:
        db.run(con, resources.sql(name))


def _fill(con: duckdb.DuckDBPyConnection, run: RunInput, progress: Progress | None) -> None:
    for finding in run.findings:
        _report(con, finding)
    failures: list[InputError] = []
    if run.training is not None:
        try:
            fill_training(con, run, run.training, lambda finding: _report(con, finding))
        except InputError as error:
            failures.append(error)
            _report(con, Finding("warning", "unreadable_metrics", str(error)))
    for number, capture in enumerate(run.captures):
        if progress:
            progress(number, len(run.captures), capture.path.name)
        try:
            _fill_capture(con, run, number, capture)
        except Exception as error:
            failure = _failure_of(capture, error)
            if failure is None:
                raise
            failures.append(failure)
            _forget(con, number)
            _report(con, Finding("warning", "unreadable_capture", str(failure)))
    parts = len(run.captures) + (run.training is not None and bool(run.training.metrics))
    if failures and len(failures) == parts:
        raise failures[0]
    _run_all(con, resources.sql_order("rollup"))


def _failure_of(capture: CaptureInput, error: Exception) -> InputError | None:
    """What is wrong with a capture that could not be read; None where it is not the capture's fault."""
    if isinstance(error, InputError):
        return error
    if isinstance(error, duckdb.InterruptException | duckdb.OutOfMemoryException | duckdb.FatalException):
        return None
    if error.errno in _NO_ROOM if isinstance(error, OSError) else _NO_ROOM_LEFT.search(str(error)):
        return None
    reason = (str(error).strip().splitlines() or [""])[0][:200]
    return InputError(
        capture.path,
        f"it cannot be read ({type(error).__name__}: {reason})",
        "Copy it again, or parse or collect it again",
    )


def _forget(con: duckdb.DuckDBPyConnection, number: int) -> None:
    """Remove the rows of a capture that could not be read to its end."""
    con.execute(resources.sql("normalize/clear"))
    for (table,) in con.execute(resources.sql("normalize/tables_of_captures")).fetchall():
        # Only names of our own schema.
        con.execute(f'DELETE FROM "{table}" WHERE capture = ?', [number])  # noqa: S608


def _fill_capture(con: duckdb.DuckDBPyConnection, run: RunInput, number: int, capture: CaptureInput) -> None:
    con.execute("SET VARIABLE capture = ?", [number])
    con.execute("SET VARIABLE steps = CAST(? AS BIGINT[])", [None if run.steps is None else sorted(run.steps)])
    con.execute("SET VARIABLE is_sample = CAST(? AS BOOLEAN)", [is_sample(capture)])
    _insert_capture(con, run, number, capture)
    said: list[Finding] = []

    def report(finding: Finding) -> None:
        said.append(finding)
        _report(con, finding)

    find(capture.source).fill(con, capture, number, report)
    ((usable,),) = db.run(con, resources.sql("normalize/is_usable"))
    if not usable:
        left_out = "".join(
            f"; {finding.message}" for finding in (*run.findings, *said) if finding.severity == "warning"
        )
        raise InputError(
            capture.path,
            f"holds nothing that can be compared: no kernels, collectives, operators, calls or ranges{left_out}",
            "Parse or collect it again, or name another folder",
        )
    sample = sampled_finding(capture)
    if sample is not None:
        _report(con, sample)
    exports.fill(con, capture, number, lambda finding: _report(con, finding))
    _run_all(con, (*resources.sql_order("normalize"), "normalize/account"))
    for severity, key, message in db.run(con, resources.sql("normalize/findings")):
        _report(con, Finding(severity, key, f"{capture.path.name}: {message}", number))
    con.execute(resources.sql("normalize/clear"))


def _insert_capture(con: duckdb.DuckDBPyConnection, run: RunInput, number: int, capture: CaptureInput) -> None:
    source = find(capture.source)
    env = source.environment(capture)
    world_size = env.get("world_size", "")
    con.execute(
        "INSERT INTO capture BY NAME SELECT ? AS capture, ? AS role, ? AS phase, ? AS replica, ? AS rank, ? AS ordinal,"
        " ? AS step_hint, ? AS step_place, ? AS world_size, ? AS tool, ? AS level, ? AS source, ? AS path,"
        " ? AS host_start_ns, 'device' AS executor",
        [
            number, capture.role, capture.phase, capture.replica, capture.rank, capture.ordinal, capture.step_hint,
            capture.step_place,
            int(world_size) if world_size.isdecimal() else None,
            source.tool, env.get("profiler.level"), capture.source,
            os.path.relpath(capture.path, run.root), capture.started_ns,
        ],
    )  # fmt: skip
    for key, value in env.items():
        con.execute("INSERT INTO env VALUES (?, ?, ?)", [number, key, value])


def _report(con: duckdb.DuckDBPyConnection, finding: Finding) -> None:
    con.execute(
        "INSERT INTO finding VALUES (?, ?, ?, ?)", [finding.capture, finding.severity, finding.key, finding.message]
    )


def _memory_bytes(files: tuple[InputFile, ...]) -> int:
    """What DuckDB may hold in memory: less is faster, up to a point, for fresh pages cost more than spilled ones."""
    largest = max((file.size_bytes * (UNPACKED if file.path.endswith(".gz") else 1) for file in files), default=0)
    return max(LEAST_MEMORY_BYTES, int(largest * MEMORY_SHARE))


def _write_meta(con: duckdb.DuckDBPyConnection, run: RunInput, files: tuple[InputFile, ...], keep_events: bool) -> None:
    values = {
        "schema_version": str(db.SCHEMA_VERSION),
        "rlcompare_version": rlcompare.__version__,
        "name": run.name,
        "events": "kept" if keep_events else "dropped",
    }
    for key, value in values.items():
        con.execute("INSERT INTO meta VALUES (?, ?)", [key, value])
    for file in files:
        con.execute("INSERT INTO input VALUES (?, ?, ?, ?)", [file.path, file.size_bytes, file.mtime_ns, file.digest])

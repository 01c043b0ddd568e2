"""Reads a torch.profiler trace of any version, of a GPU or of the host alone, into the store's tables.

SQL over the bare list of events (``sql/sources/torch_trace``) does the work; ``torch.file`` makes the list. Times are
never floats: they are strings in the file, and integer nanoseconds in the store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb

from rlcompare import db, resources, temporary
from rlcompare.errors import NO_ROOM, InputError
from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.env import unset_switches
from rlcompare.sources.torch.file import EventFile, event_file
from rlcompare.sources.trace_slice import complete_events

Report = Callable[[Finding], None]

_USUAL_EVENT = 4 << 20
_LONGEST_EVENT = 64 << 20
_REMEDY = "Copy it again, or export the trace again"
_BY_HANDLER = re.compile(r"(?P<host>.+)_(?P<process>\d+)\.\d+\.pt\.trace\.json(\.gz)?", re.DOTALL)


def fill(con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Report) -> None:
    """Reads one trace into the stage and event tables.

    Args:
        con: has the schema's tables, the macros of ``sql/sources/macro`` and the variables ``capture`` (equal to
            ``capture_id``) and ``keep_events``.
        capture: its file ``trace`` is read.
        capture_id: its number in the store.
        report: called for each damage, with the lost data.

    Raises:
        InputError: it is not a trace, or none of its events can be read.
    """
    path = capture.files["trace"]
    with temporary.folder() as scratch:
        try:
            events = _read_events(con, path, Path(scratch))
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            raise InputError(path, error.strerror or str(error), _REMEDY) from error
        if events.damage:
            message = (
                f"{path.name}: {events.damage}; only the part before that was read; copy it again or export it again"
            )
            report(Finding("warning", "damaged_file", message, capture_id))
        _set_host(con, events.header, path.name, capture_id)
        db.set_variable(con, "trace_unset", [] if events.damage else unset_switches(events.header), "VARCHAR[]")
        for name in resources.sql_order("sources/torch_trace"):
            db.run(con, resources.sql(name))
        for severity, key, message in db.run(con, resources.sql("sources/torch_trace/findings")):
            said = message if key == "host_only" else f"{path.name}: {message}"  # applies to all captures of a run
            report(Finding(severity, key, said, capture_id))
        con.execute(resources.sql("sources/torch_trace/clear"))


def _read_events(con: duckdb.DuckDBPyConnection, path: Path, scratch: Path) -> EventFile:
    """Creates the table of events. If the list is broken somewhere, it holds the events before that place.

    DuckDB reserves memory for the longest possible event. It gets more only if that was too little.
    """
    for name in ("ascend_text/text_values", "torch_trace/trace_values"):
        con.execute(resources.sql(f"sources/{name}"))
    events = event_file(path, scratch)
    base, groups = events.header.get("baseTimeNanoseconds"), _groups(events.header)
    sound = isinstance(base, int) and not isinstance(base, bool) and 0 <= base < 2**62
    con.execute("SET VARIABLE trace_base_ns = CAST(? AS BIGINT)", [base if sound else 0])
    db.set_variable(con, "trace_groups", json.dumps(groups))
    db.run(con, resources.sql("sources/torch_trace/trace_group"))
    try:
        _run_events(con, events.path, _USUAL_EVENT)
        return events
    except db.NOT_THE_INPUT:
        raise
    except duckdb.Error:
        try:
            mended = complete_events(events.path, scratch)
        except InputError as error:
            raise InputError(path, error.problem, _REMEDY) from error  # name the input, not the private copy
    try:
        _run_events(con, mended.path, _LONGEST_EVENT)
    except db.NOT_THE_INPUT:
        raise
    except duckdb.Error as error:
        raise InputError(path, f"its events cannot be read ({db.first_line(error)})", _REMEDY) from error
    return EventFile(mended.path, events.header, events.damage or mended.damage)


def _run_events(con: duckdb.DuckDBPyConnection, path: Path, longest: int) -> None:
    db.set_variable(con, "trace_events", db.pattern_of(path))
    db.set_variable(con, "trace_event_bytes", longest)
    db.run(con, resources.sql("sources/torch_trace/trace_event"))


def _groups(header: Mapping[str, object]) -> list[dict[str, str]]:
    """The process groups of ``distributedInfo``: their names and their ranks, as text."""
    info = header.get("distributedInfo")
    listed = info.get("pg_config") if isinstance(info, dict) else None
    return [
        {"pg_name": str(group["pg_name"]), "ranks": json.dumps(group.get("ranks"))}
        for group in (listed if isinstance(listed, list) else [])
        if isinstance(group, dict) and isinstance(group.get("pg_name"), str | int)
    ]


def _set_host(con: duckdb.DuckDBPyConnection, header: Mapping[str, object], file: str, capture_id: int) -> None:
    host = header.get("host_name")
    if not isinstance(host, str) or not host:
        host = _host_in(con, file)
    if host:
        con.execute("UPDATE capture SET host = ? WHERE capture = ?", [host[:200], capture_id])


def _host_in(con: duckdb.DuckDBPyConnection, file: str) -> str:
    """The host in a file name of ``torch.profiler.tensorboard_trace_handler``; empty if it is another name.

    A user's own name may look alike, so the number after the host must be the process of the trace's operators.
    """
    named = _BY_HANDLER.fullmatch(file)
    if named is None:
        return ""
    found = con.execute("SELECT 1 FROM trace_event WHERE process = ? LIMIT 1", [named["process"]]).fetchone()
    return named["host"] if found else ""

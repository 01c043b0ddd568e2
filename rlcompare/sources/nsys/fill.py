"""Reads one process of an export of Nsight Systems (``nsys export --type sqlite``) into the store's tables.

Exports differ by the version of nsys: a table exists only if it has rows, texts are stored in their row or by id,
and columns vary. SQL over DuckDB's sqlite scanner (``sql/sources/nsys``) reads whatever exists. Source of the schema:
NVIDIA's SQLite Export Schema Reference, of 2020 to 2025.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb

from rlcompare import db, resources, temporary
from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.sqlite_input import (
    Failure,
    attempt,
    bind,
    damaged,
    decode_texts,
    fetch_or_note,
    has_undecodable,
    readable_copy,
    tables_of,
    undecodable,
)

SOURCE = "nsys"


def fill(
    con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Callable[[Finding], None]
) -> None:
    """Reads one process into the stage and event tables.

    Args:
        con: has the schema's tables, the macros of ``sql/sources/macro`` and the variable ``capture``, equal to
            ``capture_id``.
        capture: the process ``info["pid"]`` of its file ``nsys`` is read; without a pid all of the file. ``alone``: no
            other process runs kernels. ``all_ranges``: ranges of all processes count.
        capture_id: its number in the store.
        report: called for each damage, with the lost data.

    Raises:
        InputError: the database cannot be opened.
    """
    path = capture.files["nsys"]
    con.execute(resources.sql("sources/nsys/clear"))  # a failed capture may have left rows
    with temporary.folder() as scratch:
        copy = readable_copy(path, Path(scratch))
        present = tables_of(path, copy)
        con.execute("SET VARIABLE nsys_pid = CAST(? AS BIGINT)", [capture.info.get("pid")])
        con.execute("SET VARIABLE nsys_alone = CAST(? AS BOOLEAN)", [capture.info.get("alone", False)])
        con.execute("SET VARIABLE nsys_all_ranges = CAST(? AS BOOLEAN)", [capture.info.get("all_ranges", False)])
        con.execute("SET VARIABLE nsys_epoch_ns = CAST(0 AS BIGINT)")
        for name in ("torch_trace/trace_values", "nsys/values"):
            con.execute(resources.sql(f"sources/{name}"))
        failures, empty = bind(con, SOURCE, copy, present)
        for name in resources.sql_order("sources/nsys"):
            failure = attempt(con, name, empty)
            if name == "sources/nsys/text" and (failure or has_undecodable(con, "nsys_text")):
                failure = _decode_texts(con, path, copy, capture_id, report)
            failures += [failure] if failure else []
        found = fetch_or_note(con, "sources/nsys/findings", failures)
        if failures:
            report(damaged(path, failures, capture_id))
        for severity, key, message in found:
            report(Finding(severity, key, f"{path.name}: {message}", capture_id))
        db.run(con, resources.sql("sources/nsys/clear"))


def _decode_texts(
    con: duckdb.DuckDBPyConnection, path: Path, copy: Path, capture_id: int, report: Callable[[Finding], None]
) -> Failure | None:
    """Creates ``nsys_text`` again if a text is not valid UTF-8."""
    odd = decode_texts(con, copy, "StringIds", "sources/nsys/decoded_text")
    if not isinstance(odd, int):
        return odd
    report(undecodable(path, odd, capture_id))
    return None

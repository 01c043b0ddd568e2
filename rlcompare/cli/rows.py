"""Writes the result of a query as a table, CSV, JSON or Parquet, to standard output or atomically to a file."""

from __future__ import annotations

import codecs
import csv
import json
import math
import sys
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rlcompare.cli.one_file import into_file
from rlcompare.store.read import one_result

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BATCH = 10_000
_PARQUET_BATCH = 100_000


def write_result(con: DuckDBPyConnection, statement: str, form: str, output: Path | None) -> None:
    """Runs a query and writes its result.

    Args:
        form: ``table``, ``csv``, ``json`` (a list of objects; columns of one name are numbered) or ``parquet``.
        output: a file, written atomically; None: standard output.

    Raises:
        UsageError: the query is wrong, or the file cannot be written.
    """
    result = one_result(con, statement, lambda: _hint(con))
    write = {"table": _write_table, "csv": _write_csv, "json": _write_json, "parquet": _write_parquet}[form]
    if output is None:
        write(result, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        into_file(output, lambda stream: write(result, stream))


def _hint(con: DuckDBPyConnection) -> str:
    """A hint for the error message if the store does not contain the requested data."""
    row = con.execute("SELECT value FROM meta WHERE key = 'events'").fetchone()
    without = ". This store was made without events: name the profile, or see rlcompare ingest"
    return "" if row and row[0] == "kept" else without


def _columns(result: DuckDBPyConnection) -> list[str]:
    return [column[0] for column in result.description or ()]


def _batches(result: DuckDBPyConnection) -> Iterator[list[tuple[Any, ...]]]:
    while rows := result.fetchmany(_BATCH):
        yield rows


def _text(stream: BinaryIO) -> codecs.StreamWriter:
    """A text stream that leaves the binary stream open when it is closed, also after an error."""
    return codecs.getwriter("utf-8")(stream, "replace")


def _write_table(result: DuckDBPyConnection, stream: BinaryIO) -> None:
    from rlcompare.report.table import table_lines

    text = _text(stream)
    for line in table_lines(_columns(result), result.fetchall()):
        text.write(line + "\n")


def _write_csv(result: DuckDBPyConnection, stream: BinaryIO) -> None:
    from rlcompare.report.csv_files import mark_before
    from rlcompare.text import safe_text

    # On a terminal, control characters in names must have no effect; a file or a pipe gets the names unchanged.
    is_shown = stream.isatty()

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return mark_before(value) + (safe_text(value, 10_000) if is_shown else value)

    writer = csv.writer(_text(stream), lineterminator="\n")
    writer.writerow(map(cell, _columns(result)))
    for rows in _batches(result):
        writer.writerows(map(cell, row) for row in rows)


def _apart(columns: list[str]) -> list[str]:
    """The names, those that stand there again with a number: an object has one member of a name."""
    found: list[str] = []
    for column in columns:
        names = (column, *(f"{column}_{number}" for number in range(1, len(columns) + 1)))
        taken = {*found, *(other for other in columns if other != column)}
        found.append(next(name for name in names if name not in taken))
    return found


def _write_json(result: DuckDBPyConnection, stream: BinaryIO) -> None:
    columns = _apart(_columns(result))
    separator = b"[\n"
    for rows in _batches(result):
        for row in rows:
            record = {column: _plain(value) for column, value in zip(columns, row, strict=True)}
            stream.write(separator + json.dumps(record, allow_nan=False).encode())
            separator = b",\n"
    stream.write(b"\n]\n" if separator == b",\n" else b"[]\n")


def _plain(value: Any) -> Any:
    """A DuckDB value as a JSON value. NaN and infinity become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, date | datetime | time | timedelta):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _write_parquet(result: DuckDBPyConnection, stream: BinaryIO) -> None:
    import pyarrow
    import pyarrow.parquet

    batches = result.to_arrow_reader(_PARQUET_BATCH)
    sink = pyarrow.PythonFile(stream, mode="w")
    with pyarrow.parquet.ParquetWriter(sink, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)

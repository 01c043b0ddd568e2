"""Removes secrets from the texts of a store before anything is made of them.

Names of ranges, operators, modules, frames of call stacks, hosts: a program may write anything into them, for example
the command line or the URL with which it was started.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from rlcompare import db, resources
from rlcompare.secret import SUSPICIOUS, redacted

OF_TRAINING = ("metric", "finding", "env")
"""The tables that the run stage fills from training's own files."""

_CHANGES = """SELECT unnest(from_json($1, '[{"old": "VARCHAR", "new": "VARCHAR"}]'), recursive := TRUE)"""


def redact(con: duckdb.DuckDBPyConnection, tables: Sequence[str] | None = None) -> None:
    """Replaces secrets in all texts of the attached store and of the stage tables.

    Args:
        tables: only these; None: every table that has rows.
    """
    columns = _text_columns(con, tables)
    suspicious: dict[int, list[str]] = {}
    for number, text in _suspicious(con, columns):
        suspicious.setdefault(number, []).append(text)
    for number, texts in suspicious.items():
        database, table, column = columns[number]
        changes = [{"old": old, "new": new} for old in texts if (new := redacted(old)) != old]
        if changes:
            db.run(
                con,
                f'UPDATE "{database}".main."{table}" SET "{column}" = change.new FROM ({_CHANGES}) AS change'  # noqa: S608
                f' WHERE "{column}" = change.old',
                db.as_parameter(changes),
            )
            con.execute("SET VARIABLE is_redacted = TRUE")


def _text_columns(con: duckdb.DuckDBPyConnection, tables: Sequence[str] | None) -> list[tuple[str, str, str]]:
    """Columns of text of the tables that have rows: their databases, tables and names.

    A table tells its columns itself: ``duckdb_columns()`` goes through those of DuckDB too, which takes longer.
    """
    found = []
    for database, table in con.execute(resources.sql("store/tables_with_rows")).fetchall():
        if tables is None or table in tables:
            columns = con.execute(f'FROM "{database}".main."{table}" LIMIT 0').description or ()
            found += [(database, table, name) for name, kind, *_ in columns if str(kind) == "VARCHAR"]
    return found


def _suspicious(con: duckdb.DuckDBPyConnection, columns: Sequence[tuple[str, str, str]]) -> list[tuple[int, str]]:
    """Texts that may hold a secret, with the number of their column. One statement: planning takes most of the time."""
    if not columns:
        return []
    # Only names of our own schema. Materialized twice, so that each text is looked at once, however often it is there:
    # DuckDB moves a filter into the first one, in front of DISTINCT. It skips columns that are all NULL.
    texts = " UNION ALL ".join(
        f'SELECT DISTINCT {number} AS number, "{column}" AS text FROM "{database}".main."{table}"'  # noqa: S608
        f' WHERE "{column}" IS NOT NULL'
        for number, (database, table, column) in enumerate(columns)
    )
    query = (
        f"WITH texts AS MATERIALIZED ({texts}),"  # noqa: S608
        " judged AS MATERIALIZED (SELECT number, text, regexp_matches(text, ?) AS found FROM texts)"
        " SELECT number, text FROM judged WHERE found"
    )
    return db.run(con, query, [SUSPICIOUS])


def is_redacted(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether ``redact`` found a secret on this connection."""
    ((found,),) = con.execute("SELECT getvariable('is_redacted')").fetchall()
    return bool(found)

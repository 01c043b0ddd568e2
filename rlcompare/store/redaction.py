"""Removes secrets from the texts of a store before anything is made of them.

Names of ranges, operators, modules, frames of call stacks, hosts: a program may write anything into them, for example
the command line or the URL with which it was started.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
    found = con.execute(resources.sql("store/text_columns"), [None if tables is None else list(tables)]).fetchall()
    for database, table, column in found:
        # Only names of our own schema.
        place = f'"{database}".main."{table}"'
        suspicious = con.execute(
            f'WITH texts AS MATERIALIZED (SELECT DISTINCT "{column}" AS text FROM {place})'  # noqa: S608
            " SELECT text FROM texts WHERE regexp_matches(text, ?)",
            [SUSPICIOUS],
        ).fetchall()
        changes = [{"old": old, "new": new} for (old,) in suspicious if (new := redacted(old)) != old]
        if changes:
            con.execute(
                f'UPDATE {place} SET "{column}" = change.new FROM ({_CHANGES}) AS change'  # noqa: S608
                f' WHERE "{column}" = change.old',
                db.as_parameter(changes),
            )
            if database == "store":
                con.execute("SET VARIABLE is_redacted = TRUE")


def without_former(con: duckdb.DuckDBPyConnection, partial: Path) -> None:
    """Writes the store anew if it was redacted, because DuckDB leaves the former texts in unused blocks of the file.

    Args:
        con: has the file attached as ``store``, which is not its current database.
        partial: the file, which is still under a temporary name.
    """
    ((is_redacted,),) = con.execute("SELECT getvariable('is_redacted')").fetchall()
    if not is_redacted:
        return
    again = partial.with_name(f"{partial.name.removesuffix('.partial')}0.partial")
    try:
        db.attach(con, again, read_only=False, name="again")
        con.execute("COPY FROM DATABASE store TO again")
        db.detach(con, "again")
        db.detach(con)
        again.replace(partial)
        db.attach(con, partial, read_only=False)
    finally:
        again.unlink(missing_ok=True)

"""Queries that commands and notebooks share."""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from rlcompare import db
from rlcompare.errors import UsageError

_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
"""What a user's query may be. Others would change nothing but the connection, which a notebook uses again."""


def is_of_host_alone(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether there are captures, and none of them has a device, and so no kernels."""
    row = con.execute("SELECT bool_and(executor = 'host') FROM capture").fetchone()
    return bool(row and row[0])


def one_result(con: duckdb.DuckDBPyConnection, query: str, hint: Callable[[], str] = str) -> duckdb.DuckDBPyConnection:
    """The result of a user's query.

    Args:
        hint: called if the query fails; returns text to append to the message.

    Raises:
        UsageError: the query is invalid, or is not exactly one query.
        duckdb.Error: the query was interrupted, or the database is damaged.
    """
    try:
        statements = con.extract_statements(query)
        several = len(statements) > 1
        reads = all(statement.type in _READING for statement in statements)
        result = con.execute(query) if reads and not several else None
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        if db.is_damage(error):
            raise
        raise UsageError(f"the query failed: {' '.join(str(error).split())}{hint()}") from error
    if several:
        raise UsageError("the query contains several statements: run one at a time")
    if not reads:
        raise UsageError("the query failed: it is not a query of the run; use SELECT")
    # DuckDB gives no result at all for a query that is only a comment.
    if result is None or result.description is None:
        raise UsageError("the query returns no rows: use SELECT")
    return result

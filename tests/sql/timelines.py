"""Fills the stage tables with made-up timelines, and runs what every capture goes through."""

from __future__ import annotations

import duckdb

from rlcompare import resources
from rlcompare.store.new_file import run_all

Intervals = list[tuple[int, int]]


def reset(con: duckdb.DuckDBPyConnection) -> None:
    for (table,) in con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'temp'").fetchall():
        con.execute(f'DROP TABLE "{table}"')
    run_all(con, resources.sql_names("schema/stage"))
    for (table,) in con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'store'").fetchall():
        con.execute(f'DELETE FROM "{table}"')
    con.execute(
        "INSERT INTO capture BY NAME SELECT 0 AS capture, 0 AS ordinal, 'npu' AS tool, 'test' AS source, 'x' AS path,"
        " 'device' AS executor"
    )


def has_device_tasks(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("INSERT INTO device_window BY NAME SELECT 0 AS capture, 0 AS device_id")


def load(
    con: duckdb.DuckDBPyConnection, table: str, items: Intervals, launches: list[int] | None = None, device: int = 0
) -> None:
    """Adds intervals of one device to a stage table; ids go on from those that are there."""
    more = "'memcpy_async' AS kind" if table == "stage_copy" else "'x' AS name"
    con.execute(
        f"INSERT INTO {table} BY NAME SELECT (SELECT count(*) FROM {table}) + unnest(range(?)) AS id,"
        f" ? AS device_id, unnest(?::BIGINT[]) AS start_ns, unnest(?::BIGINT[]) AS end_ns,"
        f" unnest(?::BIGINT[]) AS launch_ns, {more}",
        [len(items), device, [start for start, _ in items], [end for _, end in items], launches or [None] * len(items)],
    )


def normalise(con: duckdb.DuckDBPyConnection) -> None:
    for folder in ("normalize", "rollup", "account"):
        run_all(con, resources.sql_order(folder))

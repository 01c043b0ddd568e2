"""``rlcompare sql``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

from rlcompare.app import messages
from rlcompare.app.stores import refuse_special, refuse_within
from rlcompare.cli.options import (
    OUTPUT,
    READING,
    Command,
    baselines_option,
    cache_options,
    common_options,
    layout_option,
    option,
    path_type,
    prefer_option,
)
from rlcompare.errors import UsageError
from rlcompare.interrupt import aside

FORMATS = ("table", "csv", "json", "parquet")
_KERNELS = re.compile(r"\b(r_)?kernel\b", re.IGNORECASE)
NO_KERNELS = (
    "no device was recorded, so there are no kernels; host operators are in host_op, and those that count as"
    " computation in host_compute"
)
SCHEMA_FOLDERS = ("schema/run", "schema/rollup", "schema/events", "schema/views")

QUERY_SECTION = "Query"


@click.command("sql", cls=Command)
@click.argument("path", metavar="RUN", required=False, type=path_type())
@click.argument("query", required=False)
@option("--list", "as_list", is_flag=True, section=QUERY_SECTION, help="List the tables and the named queries.")
@option("--table", "table", metavar="TABLE", section=QUERY_SECTION, help="Show the columns of a table.")
@option("--name", metavar="NAME", section=QUERY_SECTION, help="Run a named query instead of QUERY.")
@option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    section=OUTPUT,
    help="Format of the result. In JSON, columns of one name are numbered: name, name_1.",
)
@option("-o", "--output", type=path_type(dir_okay=False), metavar="FILE", section=OUTPUT, help="Write to a new file.")
@option("--force", is_flag=True, section=OUTPUT, help="Replace FILE if it exists.")
@layout_option
@prefer_option
@baselines_option(READING)
@cache_options
@common_options
def command(
    path: Path | None,
    query: str | None,
    as_list: bool,
    table: str | None,
    name: str | None,
    form: str,
    output: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """Query a run with SQL.

    RUN is a store, a run of a baseline (@NAME/RUN, without events), or a profile of any kind, which is first read into
    the cache with all its events. Queries use the SQL of DuckDB, are read-only and can only access RUN. If QUERY is -,
    it is read from standard input.

    \b
    rlcompare sql --list
    rlcompare sql RUN --name longest_kernels
    rlcompare sql RUN "select op_type, count(*) from kernel group by 1 order by 2 desc" --format csv
    """
    if as_list:
        return click.echo("\n".join(_listing()))
    if table is not None:
        return click.echo(_documented(table), nl=False)
    if path is None:
        raise UsageError("RUN is missing: name a profile or a store, or use --list")
    statement = _statement(query, name)
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("--format parquet is binary: write it to a file with -o")
    if output is not None:
        refuse_within(output, [path], "the result", "-o")
        refuse_special(output)
        if output.exists() and not force:
            raise UsageError(f"{output} exists: choose another name with -o, or use --force to replace it")

    from rlcompare.app.one_run import read_one_store
    from rlcompare.cli.rows import write_result
    from rlcompare.db import open_read_only
    from rlcompare.store.read import is_of_host_alone

    def read(store: Path) -> None:
        with open_read_only(store) as con:
            aside(lambda: write_result(con, statement, form, output))
            if _KERNELS.search(statement) and is_of_host_alone(con):
                messages.note(NO_KERNELS)

    return read_one_store(path, read, keep_events=True, **options)


def _statement(query: str | None, name: str | None) -> str:
    if (query is None) == (name is None):
        raise UsageError("pass one of QUERY, --name NAME and --list")
    if name is None:
        return _read_query() if query == "-" else _not_empty(str(query), "QUERY")
    from rlcompare.resources import sql, sql_names

    known = [path.removeprefix("named/") for path in sql_names("named")]
    if name not in known:
        raise UsageError(f"--name {name}: no such query; choose from {', '.join(known)}")
    return sql(f"named/{name}")


def _read_query() -> str:
    try:
        return _not_empty(sys.stdin.read(), "standard input")
    except ValueError as error:
        raise UsageError("the query on standard input is not UTF-8 text") from error


def _not_empty(query: str, where: str) -> str:
    if not query.strip():
        raise UsageError(f"{where} contains no query: write one, or use --name")
    return query


def _listing() -> list[str]:
    from rlcompare.resources import sql_names

    lines = []
    for title, folder in (
        ("Tables of the run", "schema/run"),
        ("Tables of sums (rollups)", "schema/rollup"),
        ("Tables of events", "schema/events"),
        ("Views of events", "schema/views"),
        ("Named queries", "named"),
    ):
        lines += [title, *(f"  {_short(path):<22}{_header(path)}" for path in sql_names(folder)), ""]
    return [*lines, "--table TABLE shows its columns, --name NAME runs a named query."]


def _short(path: str) -> str:
    return path.rsplit("/", 1)[1]


def _header(path: str) -> str:
    """One line on what a file of SQL makes."""
    from rlcompare.resources import sql
    from rlcompare.sql_header import read_header

    return read_header(sql(path)).prose


def _documented(table: str) -> str:
    from rlcompare.resources import sql, sql_names

    for folder in SCHEMA_FOLDERS:
        if f"{folder}/{table}" in sql_names(folder):
            return sql(f"{folder}/{table}")
    raise UsageError(f"--table {table}: there is no such table; see --list")

"""Merges several small profiler databases into one, so that every statement is planned once for all of them.

The copies hold the tables and columns that we read, with their declared types, and the capture's number in the column
``rlcompare_capture``. Only databases that every statement treats alike are merged. A database with any problem is read
alone, with ``sqlite_input``'s handling of damage.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from rlcompare import resources
from rlcompare.sources.content import DAMAGED, refuse_views

NUMBER = "rlcompare_capture"

_TYPES = frozenset({"INTEGER", "TEXT", "NUMERIC", "REAL"})
_PMU_NAMES = (
    "name IN (SELECT id FROM profile.STRING_IDS WHERE value IN ('aic_total_time', 'aic_mac_time')"
    " OR value GLOB '*m[at][ce]*_ratio' OR value GLOB '*_cache_*' OR value GLOB '*_local_l2_*')"
    " OR rowid = (SELECT min(rowid) FROM profile.TASK_PMU_INFO)"
)
"""At least the counters that ``sql/sources/macro/unit_of.sql`` knows, and one row, so that the table is not empty."""
_FRAMEWORK_ROWS = (
    "type IN (50001, 50004) OR type = 50003 AND name IN "
    "(SELECT id FROM profile.STRING_IDS WHERE value LIKE '%nn.Module: %')"
)
_WANTED = {"TASK_PMU_INFO": _PMU_NAMES, "PYTORCH_API": _FRAMEWORK_ROWS, "PYTORCH_CALLCHAINS": "FALSE"}
"""Conditions for the rows that are read if events are not kept, by table."""

Layout = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""The columns that we read, with their types, for each table that we read."""


class UnmergeableError(Exception):
    """A database must be read alone."""


def layout_of(path: Path, tables: Sequence[str]) -> tuple[Layout, object]:
    """The layout of a database. Only databases of the same layout can be merged.

    Raises:
        UnmergeableError: it must be read alone.
    """
    try:
        with closing(_open(path)) as con:
            present = {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            layout = tuple((table, _columns(con, table)) for table in tables if table in present)
            minor = None
            if "META_DATA" in present:
                minor = con.execute("SELECT value FROM META_DATA WHERE name = 'SCHEMA_VERSION_MINOR'").fetchall()
            has_pmu = "TASK_PMU_INFO" in present and con.execute("SELECT 1 FROM TASK_PMU_INFO LIMIT 1").fetchall() != []
            return layout, (repr(minor), has_pmu)
    except DAMAGED as error:
        raise UnmergeableError from error


def merge(databases: Mapping[int, Path], layout: Layout, target: Path, *, keep_events: bool) -> list[int]:
    """Merges databases of one layout into a new one.

    Args:
        databases: files that may be opened read-only, by the captures' numbers.
        layout: of all of them.
        target: the database to create, in a private folder.
        keep_events: whether all rows are needed.

    Returns:
        The captures that were merged.
    """
    merged = []
    with closing(sqlite3.connect(f"{target.resolve().as_uri()}", uri=True, isolation_level=None)) as con:
        refuse_views(con)
        con.execute("PRAGMA journal_mode = OFF")
        con.execute("PRAGMA synchronous = OFF")
        for table, columns in layout:
            declared = ", ".join(f'"{name}" {kind}' for name, kind in columns)
            con.execute(f'CREATE TABLE "{table}" ({NUMBER} INTEGER, {declared})')
        for number, path in databases.items():
            try:
                con.execute("ATTACH ? AS profile", [f"{path.resolve().as_uri()}?mode=ro"])
                con.execute("BEGIN")
                for table, columns in layout:
                    _copy(con, table, columns, number, keep_events)
                merged.append(number)
            except DAMAGED:
                for table, _ in layout:
                    con.execute(f'DELETE FROM "{table}" WHERE {NUMBER} = ?', [number])  # noqa: S608, our own words
            with suppress(sqlite3.Error):
                con.execute("COMMIT")
            with suppress(sqlite3.Error):
                con.execute("DETACH profile")
    return merged


def _copy(
    con: sqlite3.Connection, table: str, columns: Sequence[tuple[str, str]], number: int, keep_events: bool
) -> None:
    names = ", ".join(f'"{name}"' for name, _ in columns)
    wanted = "TRUE" if keep_events else _WANTED.get(table, "TRUE")
    # Tables and columns are those of our own stand-in; rows keep their order.
    con.execute(f'INSERT INTO main."{table}" SELECT ?, {names} FROM profile."{table}" WHERE {wanted}', [number])  # noqa: S608


def _columns(con: sqlite3.Connection, table: str) -> tuple[tuple[str, str], ...]:
    """The columns that we read. Their names come from our stand-in, not from the input."""
    declared = {name.lower(): str(kind).upper() for _, name, kind, *_ in con.execute(f'PRAGMA table_info("{table}")')}
    columns = tuple((name, declared[name.lower()]) for name in _known()[table] if name.lower() in declared)
    if not columns or any(kind not in _TYPES for _, kind in columns):
        raise UnmergeableError
    return columns


@cache
def _known() -> dict[str, tuple[str, ...]]:
    """The columns that we read, by table."""
    with closing(sqlite3.connect(":memory:")) as con:
        con.executescript(resources.sql("sources/ascend_db/stub"))
        tables = [name for (name,) in con.execute("SELECT name FROM sqlite_master")]
        return {
            table: tuple(name for _, name, *_ in con.execute(f'PRAGMA table_info("{table}")') if name != NUMBER)
            for table in tables
        }


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1.0)

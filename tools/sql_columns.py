"""The tables and views for users' queries, and the meaning of their columns: read from the SQL that makes them.

A column's comment is behind it, on the same line. For a view, the columns are those of its first SELECT.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import sqlglot
from sqlglot import exp

from rlcompare.sql_header import read_header

FOLDERS = ("schema/run", "schema/events", "schema/views", "schema/rollup", "history/table")


@dataclass(frozen=True)
class Column:
    """One column: its type as written ('' in a view), its comment ('' if there is none), and its line."""

    name: str
    type: str
    comment: str
    line: int


@dataclass(frozen=True)
class Table:
    """One table or view: its file (below sql/, without suffix), its description, and its columns."""

    name: str
    path: str
    prose: str
    columns: tuple[Column, ...]


def tables_in(root: Path, folder: str) -> list[Table]:
    """The tables and views of one folder below ``root``, in alphabetical order."""
    return [_table(root, path) for path in sorted((root / folder).glob("*.sql"))]


def _table(root: Path, path: Path) -> Table:
    text = path.read_text("utf-8")
    create = next(found for found in sqlglot.parse(text, read="duckdb") if isinstance(found, exp.Create))
    query = create.expression
    while isinstance(query, exp.SetOperation):
        query = query.this
    nodes = query.expressions if isinstance(query, exp.Select) else create.find_all(exp.ColumnDef)
    name = path.relative_to(root).with_suffix("").as_posix()
    columns = tuple(_column(node, text.split("\n")) for node in nodes)
    return Table(path.stem, name, read_header(text).prose, columns)


def _column(node: exp.Expr, lines: list[str]) -> Column:
    named = node.args["alias"] if isinstance(node, exp.Alias) else node.this
    line = next(part.meta["line"] for part in named.walk() if "line" in part.meta)
    definition, _, comment = lines[line - 1].partition("--")
    kind = definition.split()[1].rstrip(",") if isinstance(node, exp.ColumnDef) else ""
    return Column(node.alias_or_name, kind, comment.strip(), line)

"""Parses an SQL file to find what it reads and creates.

The parser is sqlglot, a development dependency. DuckDB's own ``json_serialize_sql`` and ``get_table_names`` accept only
SELECT, but most of our files are CREATE, INSERT and macros. sqlglot parses them all, with the line of each name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import sqlglot
from sqlglot import exp


@dataclass
class Facts:
    """The effects of one file's statements. Mappings lead from a name to the line of its first use.

    Attributes:
        creates: created objects with their kind: "TABLE", "VIEW" or "MACRO".
        fills: tables that it inserts into or updates.
        removes: tables that it drops, or deletes rows from.
        sets: DuckDB variables that it sets.
        tables: tables and views that it reads, but for the empty tables of a source (``stub``), which are always there.
        calls: functions that it calls, macros among them, in lower case.
        variables: DuckDB variables that it reads.
        null_keys: the lines of ASOF joins that compare keys with IS NOT DISTINCT FROM.
    """

    creates: dict[str, str] = field(default_factory=dict)
    fills: set[str] = field(default_factory=set)
    removes: set[str] = field(default_factory=set)
    sets: set[str] = field(default_factory=set)
    tables: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    variables: dict[str, int] = field(default_factory=dict)
    null_keys: list[int] = field(default_factory=list)

    @property
    def reads(self) -> Mapping[str, int]:
        """Tables, views and functions that it reads and does not create itself."""
        return {name: line for name, line in {**self.calls, **self.tables}.items() if name not in self.creates}


@cache
def facts_of(text: str) -> Facts:
    """The facts of one SQL file.

    Raises:
        sqlglot.errors.SqlglotError: sqlglot cannot parse it.
    """
    facts = Facts()
    for statement in sqlglot.parse(text, read="duckdb"):
        if isinstance(statement, exp.Drop):
            facts.removes.update(table.name for table in statement.find_all(exp.Table))
        elif isinstance(statement, exp.Expression):
            _add(facts, statement)
    facts.variables = {name: line for name, line in facts.variables.items() if name not in facts.sets}
    return facts


def _add(facts: Facts, statement: exp.Expression) -> None:
    written = statement.this if isinstance(statement, exp.Create | exp.Insert | exp.Update | exp.Delete) else None
    while isinstance(written, exp.Schema | exp.UserDefinedFunction):
        written = written.this
    if written is not None:
        if isinstance(statement, exp.Create):
            facts.creates[written.name] = statement.args["kind"]
        else:
            (facts.removes if isinstance(statement, exp.Delete) else facts.fills).add(written.name)
    if isinstance(statement, exp.Set):
        facts.sets.update(item.this.this.name for item in statement.expressions)
    for table in statement.find_all(exp.Table):
        is_read = table is not written or isinstance(statement, exp.Update | exp.Delete)
        if is_read and table.name and not _is_cte(table) and not table.db.startswith("stub_"):
            facts.tables.setdefault(table.name, _line(table))
    for function in statement.find_all(exp.Func):
        name = (function.name if isinstance(function, exp.Anonymous) else function.sql_name()).lower()
        facts.calls.setdefault(name, _line(function))
        if name == "getvariable":
            facts.variables.setdefault(function.expressions[0].name, _line(function))
    for join in statement.find_all(exp.Join):
        if join.method == "ASOF" and join.args.get("on") and join.args["on"].find(exp.NullSafeEQ):
            facts.null_keys.append(_line(join))


def _is_cte(table: exp.Table) -> bool:
    """Whether a name refers to a common table expression visible at its place (``recurring.x``: to all rows of x)."""
    if table.db not in ("", "recurring"):
        return False
    inner: exp.Expr = table
    outer = inner.parent
    while outer is not None:
        with_ = outer if isinstance(outer, exp.With) else outer.args.get("with_")
        if with_ is not None:
            names = [cte.alias for cte in with_.expressions]
            if inner in with_.expressions and not with_.args.get("recursive"):
                names = names[: [id(cte) for cte in with_.expressions].index(id(inner))]
            elif inner in with_.expressions:
                names = names[: [id(cte) for cte in with_.expressions].index(id(inner)) + 1]
            if inner is not with_ and table.name in names:
                return True
        inner, outer = outer, outer.parent
    return False


def _line(node: exp.Expr) -> int:
    """The line on which a node starts; 1 if the parser does not know it."""
    return min((found.meta["line"] for found in node.walk() if "line" in found.meta), default=1)

"""Derives from an SQL file which tables it needs rows of: if one is empty, the file inserts or returns nothing.

Most of the time of a statement on small tables is planning, so statements that cannot make rows are not run at all
(the clause "Nothing without" of a header, ``rlcompare/sql_header.py``). What is derived here is cautious: a form of
query that is not known here needs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, reduce

import duckdb
import sqlglot
from sqlglot import exp

Needs = frozenset[frozenset[str]]
"""Sets of tables. If all tables of one set are empty, there are no rows."""

NOTHING: Needs = frozenset()
MOST = 200
"""Products with more sets than this are given up."""


@cache
def needs_of(text: str) -> Needs:
    """The needs of all INSERT statements and queries of a file; nothing where other statements change tables.

    Sets of several tables are left out where a single table does.
    """
    found = []
    statements = sqlglot.parse(text, read="duckdb")
    for statement in statements:
        if isinstance(statement, exp.Insert):
            found.append(_of_query(statement.expression, _ctes(statement, {})))
        elif isinstance(statement, exp.Query):
            found.append(_of_query(statement, {}))
        elif isinstance(statement, exp.Delete | exp.Update | exp.Drop | exp.Set):
            return NOTHING
    made = {query.this.name for query in statements if isinstance(query, exp.Create)}
    needs = reduce(_all_empty, found) if found else NOTHING
    needs = frozenset(tables for tables in needs if not tables & made)
    return frozenset(tables for tables in needs if len(tables) == 1) or needs


def _any_empty(needs: Iterable[Needs]) -> Needs:
    """No rows if any of these makes none."""
    sets = sorted({tables for some in needs for tables in some}, key=lambda tables: (len(tables), sorted(tables)))
    kept: list[frozenset[str]] = []
    for tables in sets:
        if not any(smaller <= tables for smaller in kept):
            kept.append(tables)
    return frozenset(kept)


def _all_empty(first: Needs, second: Needs) -> Needs:
    """No rows if both of these make none."""
    if len(first) * len(second) > MOST:
        return NOTHING
    return _any_empty([frozenset(one | other for one in first for other in second)])


def _ctes(query: exp.Expr, outer: Mapping[str, Needs]) -> dict[str, Needs]:
    known = dict(outer)
    with_ = query.args.get("with_")
    if with_ is None:
        return known
    for cte in with_.expressions:
        body = cte.this
        if with_.args.get("recursive") and isinstance(body, exp.Union):
            known[cte.alias] = NOTHING
            body = body.this
        known[cte.alias] = _of_query(body, known)
    return known


def _of_query(query: exp.Expr | None, outer: Mapping[str, Needs]) -> Needs:
    if query is None:
        return NOTHING
    known = _ctes(query, outer)
    if isinstance(query, exp.Subquery | exp.Paren):
        return _of_query(query.this, known)
    if isinstance(query, exp.Union):
        return _all_empty(_of_query(query.left, known), _of_query(query.right, known))
    if isinstance(query, exp.Select):
        return _of_select(query, known)
    return NOTHING


def _of_select(query: exp.Select, known: Mapping[str, Needs]) -> Needs:
    source, group = query.args.get("from_"), query.args.get("group")
    if source is None or (group is None and any(_aggregates(item, query) for item in query.expressions)):
        return NOTHING
    if group is not None and any(group.args.get(key) for key in ("grouping_sets", "cube", "rollup")):
        return NOTHING
    if group is not None and group.args.get("all") and all(_aggregates(item, query) for item in query.expressions):
        return NOTHING
    return _joined(_of_source(source.this, known), query, known)


def _aggregates(item: exp.Expr, query: exp.Select) -> bool:
    """Whether an item of a query may aggregate. Without GROUP BY, a query that does has a row even if no table has."""
    return any(
        found.parent_select is query
        and not isinstance(found.parent, exp.Window)
        and not (isinstance(found, exp.Anonymous) and found.name.lower() in _of_one_row())
        for found in item.find_all(exp.AggFunc, exp.Anonymous)
    )


@cache
def _of_one_row() -> frozenset[str]:
    """DuckDB's functions of one row, which sqlglot does not tell from aggregates."""
    kinds = "SELECT function_name, list(DISTINCT function_type) FROM duckdb_functions() WHERE internal GROUP BY ALL"
    return frozenset(name for name, types in duckdb.connect().execute(kinds).fetchall() if types == ["scalar"])


def _joined(needs: Needs, source: exp.Expr, known: Mapping[str, Needs]) -> Needs:
    for join in source.args.get("joins") or ():
        other = _of_source(join.this, known)
        side, kind, method = ((join.args.get(key) or "").upper() for key in ("side", "kind", "method"))
        if side == "FULL" or method == "POSITIONAL":
            needs = _all_empty(needs, other)
        elif side == "RIGHT":
            needs = other
        elif side != "LEFT" and kind != "ANTI":
            needs = _any_empty([needs, other])
    return needs


def _of_source(source: exp.Expr, known: Mapping[str, Needs]) -> Needs:
    if any(not pivot.args.get("unpivot") for pivot in source.args.get("pivots") or ()):
        return NOTHING
    if isinstance(source, exp.Subquery):
        inner = source.this
        needs = _of_query(inner, known) if isinstance(inner, exp.Query) else _of_source(inner, known)
    elif isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
        is_cte = not source.args.get("db") and source.name in known
        needs = known[source.name] if is_cte else frozenset([frozenset([source.name])])
    else:
        return NOTHING
    return _joined(needs, source, known)

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


def needs_of(text: str, bodies: Mapping[str, exp.Create] | None = None) -> Needs:
    """The needs of all queries of a file, those that fill tables included. Other statements add no rows.

    Sets of several tables are left out where a single table does.

    Args:
        text: the file.
        bodies: views and macros of other files (``bodies_in``), by name.
    """
    found: list[Needs] = []
    filled: dict[str, Needs] = {}  # tables that the file makes of a query, which a later query may read
    made: set[str] = set()
    for parsed in filter(None, sqlglot.parse(text, read="duckdb")):
        statement = _inlined(parsed, bodies or {})
        table = statement.find(exp.Table) if isinstance(statement, exp.Create | exp.Insert) else None
        query = statement if isinstance(statement, exp.Query) else statement.args.get("expression")
        if isinstance(statement, exp.Create) and statement.kind == "TABLE" and table is not None:
            made.add(table.name)
            if isinstance(query, exp.Query):
                filled[table.name] = _of_query(query, filled)
                found.append(filled[table.name])
        elif isinstance(statement, exp.Insert) and table is not None:
            found.append(_of_query(query, _ctes(statement, filled)))
            if table.name in filled:
                filled[table.name] = _all_empty(filled[table.name], found[-1])
        elif isinstance(statement, exp.Query):
            found.append(_of_query(query, filled))
    needs = reduce(_all_empty, found) if found else NOTHING
    needs = frozenset(tables for tables in needs if not tables & made)
    return frozenset(tables for tables in needs if len(tables) == 1) or needs


def bodies_in(text: str) -> dict[str, exp.Create]:
    """The views and macros that a file creates, by name."""
    found = {}
    for statement in sqlglot.parse(text, read="duckdb"):
        if isinstance(statement, exp.Create) and statement.kind in ("VIEW", "MACRO"):
            name = statement.find(exp.Table)
            if name is not None and statement.expression is not None:
                found[name.name] = statement
    return found


def _inlined(tree: exp.Expr, bodies: Mapping[str, exp.Create]) -> exp.Expr:
    """A statement in which views and macros are replaced by their bodies."""

    def inline(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and (called := bodies.get(node.name)) is not None:
            body = called.expression
            return node if isinstance(body, exp.Query) else exp.Paren(this=body.copy().transform(inline))
        if not isinstance(node, exp.Table) or node.args.get("db"):
            return node
        made = bodies.get(node.name or node.this.name)
        if made is None or not isinstance(made.expression, exp.Query):
            return node
        arguments = (
            [argument.name for argument in node.this.expressions] if isinstance(node.this, exp.Anonymous) else []
        )
        names = dict(zip((parameter.name for parameter in made.this.expressions), arguments, strict=bool(arguments)))
        query = made.expression.transform(lambda inner: _given(inner, names)).transform(inline)
        return exp.Subquery(this=query, alias=node.args.get("alias"), joins=node.args.get("joins"))

    is_body = isinstance(tree, exp.Create) and tree.kind in ("VIEW", "MACRO")
    return tree if is_body or not bodies else tree.transform(inline)


def _given(node: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    """The table that ``query_table(parameter)`` stands for."""
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous) and node.this.name.lower() == "query_table":
        (argument,) = node.this.expressions
        if argument.name in names:
            return exp.to_table(names[argument.name], alias=node.alias or None)
    return node


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
        if _reads_itself(cte) and isinstance(body, exp.Union):
            known[cte.alias] = NOTHING
            body = body.this
        known[cte.alias] = _of_query(body, known)
    return known


def _reads_itself(cte: exp.Expr) -> bool:
    return any(table.name == cte.alias for table in cte.this.find_all(exp.Table))


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
    if isinstance(query, exp.Pivot) and query.args.get("unpivot"):
        return _of_source(query.this, known)
    return NOTHING


def _of_select(query: exp.Select, known: Mapping[str, Needs]) -> Needs:
    source, group = query.args.get("from_"), query.args.get("group")
    if source is None or (group is None and any(_aggregates(item, query) for item in query.expressions)):
        return NOTHING
    if group is None and query.args.get("having") is not None:
        return NOTHING
    if group is not None and group.find(exp.GroupingSets, exp.Cube, exp.Rollup) is not None:
        return NOTHING
    if group is not None and group.args.get("all") and all(_aggregates(item, query) for item in query.expressions):
        return NOTHING
    where = query.args.get("where")
    filters = [_of_filter(part, known) for part in _conjuncts(where.this)] if where is not None else []
    return _any_empty([_joined(_of_source(source.this, known), query, known), *filters])


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """The conditions that must all hold."""
    if isinstance(condition, exp.Paren):
        return _conjuncts(condition.this)
    if isinstance(condition, exp.And):
        return [*_conjuncts(condition.left), *_conjuncts(condition.right)]
    return [condition]


def _of_filter(condition: exp.Expr, known: Mapping[str, Needs]) -> Needs:
    """The needs of a row for which a condition holds: ``x IN (query)`` or ``EXISTS (query)``."""
    query = condition.args.get("query") if isinstance(condition, exp.In) else None
    if isinstance(condition, exp.Exists):
        query = condition.this
    return _of_query(query, known) if query is not None else NOTHING


def _aggregates(item: exp.Expr, query: exp.Select) -> bool:
    """Whether an item of a query may aggregate. Without GROUP BY, a query that does has a row even if no table has."""
    return any(
        found.parent_select is query
        and not isinstance(found.parent.parent if isinstance(found.parent, exp.Filter) else found.parent, exp.Window)
        and not (isinstance(found, exp.Anonymous) and found.name.lower() in _of_one_row())
        for found in item.find_all(exp.AggFunc, exp.Anonymous)
    )


@cache
def _of_one_row() -> frozenset[str]:
    """DuckDB's functions of one row, which sqlglot does not tell from aggregates; ``list_…`` aggregate a list."""
    kinds = "SELECT function_name, list(DISTINCT function_type) FROM duckdb_functions() WHERE internal GROUP BY ALL"
    return frozenset(
        name
        for name, types in duckdb.connect().execute(kinds).fetchall()
        if types == ["scalar"] or (name.startswith("list_") and types == ["macro"])
    )


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
        needs = _of_query(inner, known) if isinstance(inner, exp.Query | exp.Pivot) else _of_source(inner, known)
    elif isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
        is_cte = not source.args.get("db") and source.name in known
        needs = known[source.name] if is_cte else frozenset([frozenset([source.name])])
    else:
        return NOTHING
    return _joined(needs, source, known)

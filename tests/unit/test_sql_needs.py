"""Which tables a statement needs rows of: never one without which it makes rows."""

from __future__ import annotations

import pytest

from tools.sql_needs import needs_of


@pytest.mark.parametrize(
    ("query", "needed"),
    [
        ("SELECT a FROM x WHERE a IN (SELECT b FROM y) AND c", ["x", "y"]),
        ("SELECT a FROM x WHERE (EXISTS (FROM y WHERE y.a = x.a)) AND c", ["x", "y"]),
        ("SELECT a FROM x WHERE a IN (SELECT b FROM y) OR c", ["x"]),
        ("SELECT a FROM x WHERE a NOT IN (SELECT b FROM y)", ["x"]),
        ("SELECT a FROM x WHERE NOT EXISTS (FROM y)", ["x"]),
        ("SELECT a FROM x WHERE EXISTS (SELECT max(a) FROM y)", ["x"]),
        ("SELECT a FROM x WHERE EXISTS (SELECT 1 FROM y HAVING count(*) = 0)", ["x"]),
        ("SELECT a FROM (UNPIVOT x ON b, c INTO NAME n VALUE v)", ["x"]),
        ("SELECT a, count(*) FROM x GROUP BY GROUPING SETS ((a), ())", []),
        ("WITH RECURSIVE r AS (SELECT a FROM x UNION ALL SELECT 1) SELECT a FROM r", []),
        ("WITH RECURSIVE r AS (SELECT a FROM x UNION ALL SELECT a FROM r) SELECT a FROM r", ["x"]),
    ],
)
def test_a_query(query: str, needed: list[str]) -> None:
    assert sorted(table for tables in needs_of(query) for table in tables) == needed

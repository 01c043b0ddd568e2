"""A guard against a bug in the pinned DuckDB release."""

from __future__ import annotations

import re

import pytest

from rlcompare.resources import resource_root


def aggregates_over_everything(sql: str) -> set[str]:
    """Functions over a window with neither PARTITION BY nor ORDER BY, in lower case, unless they run row by row."""
    text = re.sub(r"--.*", "", sql)
    found = set()
    for window in re.finditer(r"\b(?:OVER|WINDOW\s+\w+\s+AS)\s*\(", text, re.IGNORECASE):
        inside = text[window.end() : _closing(text, window.end() - 1)]
        if not re.search(r"\b(PARTITION|ORDER)\s+BY\b|^ROWS UNBOUNDED PRECEDING$", inside, re.IGNORECASE):
            found.add(_function_before(text, window.start()))
    return found


def _closing(text: str, opening: int) -> int:
    """Where the parenthesis that opens there closes."""
    depth = 0
    for place in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise AssertionError(f"a parenthesis is not closed: {text[opening:]}")


def _function_before(text: str, end: int) -> str:
    """The name of the function whose call, perhaps with a FILTER behind it, ends there; "" for a named window."""
    head = text[:end].rstrip()
    if not head.endswith(")"):
        return ""
    opening = len(head) - 1 - _closing(head[::-1].translate(str.maketrans("()", ")(")), 0)
    name = re.search(r"(\w*)\s*$", head[:opening])
    word = name[1].lower() if name else ""
    return _function_before(text, opening - len(name[0])) if name and word == "filter" else word


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT min(x) OVER () FROM t", {"min"}),
        ("SELECT Max(abs(round(f(x)))) FILTER (WHERE (x) > (1)) over ( ) FROM t", {"max"}),
        ("SELECT sum(x) OVER (ROWS 1 PRECEDING), row_number() OVER () FROM t", {"sum", "row_number"}),
        ("SELECT count(x) OVER (ROWS UNBOUNDED PRECEDING) FROM (FROM t ORDER BY x)", set()),
        ("SELECT sum(x) OVER w FROM t WINDOW w AS ()", {""}),
        ("SELECT sum(x) OVER (ORDER BY y), sum(x) OVER (PARTITION BY (y)) FROM t -- min(x) OVER ()", set()),
    ],
)  # fmt: skip
def test_the_search_sees_windows_over_everything(sql: str, found: set[str]) -> None:
    assert aggregates_over_everything(sql) == found


def test_no_aggregate_over_everything() -> None:
    """DuckDB 1.5.5 may fail on ``min(x) OVER ()``: with two threads and a tiny input, once in a hundred runs.

    It then says "INTERNAL Error: Attempted to access index 0 within vector of size 0" (duckdb issues 22846, 25713). A
    scalar subquery gives the same. ``row_number()``, ``lead(x)`` and ``lag(x)`` and what runs from the first row to
    this one are computed otherwise, row by row; they did not fail in 16,000 runs over sorted rows with four threads,
    nor windows with PARTITION BY or ORDER BY in 25,000.
    """
    root = resource_root("sql")
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.sql")}
    assert len(files) > 300
    found = {name: aggregates_over_everything(path.read_text(encoding="utf-8")) for name, path in files.items()}
    assert {name: functions for name, functions in found.items() if functions - {"row_number", "lead", "lag"}} == {}

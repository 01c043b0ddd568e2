"""The order of SQL files follows from their headers; ``tools.check_sql`` sees that the headers are true."""

from __future__ import annotations

import pytest

from rlcompare import resources
from rlcompare.sql_header import HeaderError, read_header
from rlcompare.sql_order import in_order, last_uses, predecessors

SUMS = "-- Sums.\n-- Depends on raw.\nCREATE TEMP TABLE sums AS SELECT sum(x) AS x FROM raw;"
RAW = "-- Raw values.\nCREATE OR REPLACE TEMP TABLE raw AS SELECT 1 AS x;"


def order(**texts: str) -> list[str]:
    return in_order(predecessors(texts))


def test_a_file_runs_after_those_that_make_what_it_depends_on() -> None:
    assert order(a=SUMS, b=RAW) == ["b", "a"]


def test_every_file_that_fills_or_updates_a_table_runs_before_its_readers() -> None:
    fill = "-- More.\nINSERT INTO raw SELECT 2;"
    update = '-- Mended.\n-- Depends on raw.\n-- Runs after z.\nUPDATE "raw" SET x = 3;'
    assert order(a=SUMS, m=update, z=fill) == ["z", "m", "a"]


def test_a_file_that_adds_rows_runs_after_the_one_that_creates_the_table() -> None:
    assert order(a="-- More.\nINSERT INTO raw SELECT 2;", b=RAW, c=SUMS.replace("sums", "c")) == ["b", "a", "c"]


def test_files_that_need_nothing_of_each_other_run_in_alphabetical_order() -> None:
    assert order(c=SUMS, b=RAW, d="-- D.\nSET VARIABLE d = 1;", a="-- A.\nSET VARIABLE a = 1;") == ["a", "b", "c", "d"]


def test_a_variable_is_set_before_it_is_read() -> None:
    reads = "-- A.\n-- Variables: limit_ns (0: none).\nCREATE TEMP TABLE a AS SELECT getvariable('limit_ns');"
    assert order(a=reads, b="-- B.\nSET VARIABLE limit_ns = 1;") == ["b", "a"]


def test_runs_after_puts_a_file_behind_those_that_read_what_it_makes() -> None:
    empty = "-- Empties raw.\n-- Depends on raw.\n-- Runs after sums.\nCREATE OR REPLACE TABLE raw AS FROM raw LIMIT 0;"
    assert order(empty=empty, raw=RAW, sums=SUMS) == ["raw", "sums", "empty"]


def test_queries_and_files_that_are_run_by_name_are_not_in_the_order() -> None:
    query = "-- All.\n-- Depends on raw.\nSELECT * FROM raw;"
    by_name = "-- Frees raw.\n-- Run by name: at the end.\nDROP TABLE raw;"
    assert order(a=query, b=by_name, c=RAW) == ["c"]


def test_a_temporary_table_is_not_used_after_its_last_reader() -> None:
    other = "-- Other.\n-- Depends on raw.\nINSERT INTO kept SELECT * FROM raw;"
    assert last_uses({"raw": RAW, "sums": SUMS, "other": other, "end": "-- End.\nSELECT 1;"}, ()) == {
        "raw": (),
        "sums": ("sums",),
        "other": ("raw",),
        "end": (),
    }


def test_what_a_macro_reads_is_used_where_the_macro_is() -> None:
    macro = "-- M.\n-- Depends on raw.\nCREATE OR REPLACE TEMP MACRO m() AS TABLE FROM raw;"
    user = "-- Uses it.\n-- Depends on m.\nCREATE TEMP TABLE made AS FROM m();"
    assert last_uses({"raw": RAW, "macro": macro, "user": user}, ())["user"] == ("made", "raw")


def test_other_tables_are_dropped_only_if_they_are_given() -> None:
    reads = "-- Reads.\n-- Depends on event.\nSELECT * FROM event;"
    assert last_uses({"reads": reads}, ()) == {"reads": ()}
    assert last_uses({"reads": reads}, ("event", "unread")) == {"reads": ("event",)}


def test_a_circle_is_named() -> None:
    one = "-- One.\n-- Depends on two.\nCREATE TABLE one AS FROM two;"
    two = "-- Two.\n-- Depends on one.\nCREATE TABLE two AS FROM one;"
    with pytest.raises(ValueError, match="one, two"):
        order(one=one, two=two, three="-- Three.\nSET VARIABLE x = 1;")


def test_runs_after_must_name_a_file_of_the_order() -> None:
    with pytest.raises(ValueError, match=r"a\.sql runs after nowhere"):
        order(a="-- A.\n-- Runs after nowhere.\nSET VARIABLE x = 1;")


def test_a_clause_goes_on_over_lines_and_keeps_remarks() -> None:
    header = read_header(
        "-- Sums by step.\n-- Over all.\n-- Variables: a (NULL: all, else a list),\n-- b.\nSELECT 1;\n-- no"
    )
    assert header.prose == "Sums by step. Over all."
    assert header.variables == {"a": "NULL: all, else a list", "b": ""}
    assert header.depends_on == {}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("-- A.\n-- Depends on b\nSELECT 1;", 2),
        ("-- A.\n-- Depends on b.\n-- Variables: c.\nSELECT 1;", 3),
        ("-- A.\n-- More.\n-- Depends on b and c.\nSELECT 1;", 3),
        ("-- A.\n-- Depends on the registered table b.\nSELECT 1;", 2),
    ],
    ids=["no full stop", "wrong order", "and", "words"],
)
def test_a_header_that_does_not_follow_the_grammar_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(HeaderError) as caught:
        _ = read_header(text).depends_on
    assert caught.value.line == line


def test_no_folder_of_ours_holds_a_circle() -> None:
    root = resources.resource_root("sql")
    folders = {path.parent.relative_to(root).as_posix() for path in root.rglob("*.sql")}
    orders = {folder: resources.sql_order(folder) for folder in folders}
    assert {"normalize", "rollup", "compare", "compare/load"} <= {folder for folder, names in orders.items() if names}
    assert orders["named"] == ()

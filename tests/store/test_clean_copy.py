"""A store from which a secret was removed is written by a process that never read it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rlcompare import db
from rlcompare.store.clean_copy import write_again
from rlcompare.store.new_file import new_store
from rlcompare.store.redaction import redact

ROWS = 3000


def fill(con: duckdb.DuckDBPyConnection, secret: str) -> None:
    frame = f"md5(i::VARCHAR) || ' HF_TOKEN={secret}' || i"
    con.execute(f"INSERT INTO stack SELECT 1, i, 0, {frame} FROM range({ROWS}) AS r(i)")
    con.execute("INSERT INTO r_sequence VALUES (1, [3, 1], ['end'], [''], [NULL], [], 18446744073709551615)")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """For temporary files too, with a name that has to be quoted."""
    folder = tmp_path / 'it\'s; "here"'
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert not list(folder.glob(".*")) and not list(folder.glob("rlcompare-*"))


def made(target: Path, secret: str) -> None:
    with new_store(target, keep_events=True, threads=1) as con:
        fill(con, secret)
        redact(con)


def content(store: Path) -> list[Any]:
    with duckdb.connect(str(store), read_only=True) as con:
        columns = "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns()"
        objects = con.execute(f"{columns} WHERE NOT internal ORDER BY ALL").fetchall()
        views = con.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL").fetchall()
        rows = [con.execute(f'SELECT * FROM "{name}"').fetchall() for name in ("stack", "r_sequence")]
    return [objects, views, rows]


def test_the_copy_has_all_but_the_secret(folder: Path) -> None:
    made(folder / "secret.duckdb", "S3cr3t")
    made(folder / "without.duckdb", "***")
    assert b"S3cr3t" not in (folder / "secret.duckdb").read_bytes()
    [objects, views, [frames, sequences]] = content(folder / "secret.duckdb")
    [same_objects, same_views, [_, same_sequences]] = content(folder / "without.duckdb")
    assert (objects, views, sequences) == (same_objects, same_views, same_sequences) and views
    assert [row[1] for row in frames] == list(range(ROWS)) and all("***" in row[3] for row in frames)


def test_nothing_is_left_where_no_process_can_be_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(folder / "no-python"))
    with pytest.raises(db.WriteError, match="cannot be started"):
        made(folder / "secret.duckdb", "S3cr3t")
    assert list(folder.iterdir()) == []


def test_the_reason_of_the_other_process_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = folder / "python"
    script.write_text("#!/bin/sh\necho 'no space left' >&2; exit 1\n")
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(db.WriteError, match="no space left"):
        made(folder / "secret.duckdb", "S3cr3t")
    assert [path.name for path in folder.iterdir()] == ["python"]


def test_the_connection_has_no_store_any_more(folder: Path) -> None:
    con = db.connect(1)
    db.attach(con, folder / "run.duckdb", read_only=False)
    con.execute("CREATE TABLE store.t AS SELECT 1 AS x")
    write_again(con, folder / "run.duckdb")
    assert "store" not in {name for (name,) in con.execute("SELECT database_name FROM duckdb_databases()").fetchall()}

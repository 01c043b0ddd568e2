"""What the system and DuckDB report, and what is made of it."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from rlcompare import db, locking, resources
from rlcompare.errors import InputError, may_pass, says_it_may_pass
from rlcompare.sources.sqlite_input import tables_of


@pytest.mark.parametrize(("number", "locked"), [(errno.ENOSYS, None), (errno.ENOLCK, None), (errno.EACCES, False)])
def test_a_file_system_without_locks_is_no_lock_of_others(
    monkeypatch: pytest.MonkeyPatch, number: int, locked: bool | None
) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr("fcntl.flock", refused)
    assert locking.try_lock(0) is locked


def test_a_path_that_is_called_quota_is_no_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "quota_1" / "broken.json"
    path.parent.mkdir()
    path.write_text('{"a": ')
    with duckdb.connect() as con, pytest.raises(duckdb.Error) as found:
        db.run(con, f"FROM read_json({db.quoted(path)})")
    assert not isinstance(found.value, db.WriteError)


class TestMayPass:
    """Whether an input is read again the next time."""

    def test_a_database_that_another_process_locks(self, tmp_path: Path) -> None:
        path = tmp_path / "profile.db"
        with closing(sqlite3.connect(path)) as writer:
            writer.execute("CREATE TABLE t (a)")
            writer.commit()
            writer.execute("BEGIN EXCLUSIVE")
            with pytest.raises(InputError) as found:
                tables_of(path, path)
        assert may_pass(found.value)

    def test_a_file_that_cannot_be_opened(self, tmp_path: Path) -> None:
        with pytest.raises(InputError) as found:
            tables_of(tmp_path / "gone.db", tmp_path / "gone.db")
        assert may_pass(found.value)
        with duckdb.connect() as con, pytest.raises(duckdb.Error) as failed:
            con.execute(f"FROM read_csv({db.quoted(tmp_path / 'gone.csv')})")
        assert may_pass(failed.value)

    @pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EACCES])
    def test_what_duckdb_quotes_of_the_system(self, code: int) -> None:
        assert may_pass(duckdb.IOException(f'IO Error: Could not read from file "a": {os.strerror(code)}'))

    def test_a_reason_behind_a_long_path(self) -> None:
        said = f'Unable to open database "/{"long/" * 100}p.db": unable to open database file'
        assert len(line := db.first_line(duckdb.IOException(said))) <= 300
        assert says_it_may_pass(line)

    @pytest.mark.parametrize(
        ("error", "passes"),
        [
            (MemoryError(), True),
            (OSError(errno.EIO, "Input/output error"), True),
            (OSError(errno.EFBIG, "it is larger than 64 MiB"), False),
            (ValueError("no number"), False),
            (duckdb.InvalidInputException("Invalid unicode"), False),
            (InputError("locked/it is locked", "it is damaged", "Copy it again"), False),
        ],
        ids=str,
    )
    def test_errors(self, error: Exception, passes: bool) -> None:
        assert may_pass(error) is passes

    def test_a_damaged_database(self, tmp_path: Path) -> None:
        path = tmp_path / "profile.db"
        path.write_bytes(b"SQLite format 3\0" + b"\1" * 5000)
        with pytest.raises(InputError) as found:
            tables_of(path, path)
        assert not may_pass(found.value)


def test_an_acknowledgement_has_its_own_author() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE history_run (run VARCHAR, number BIGINT)")
        con.execute(
            "CREATE TABLE history_ack (run VARCHAR, reason VARCHAR, author VARCHAR, expires VARCHAR, made_ns BIGINT)"
        )
        con.execute("INSERT INTO history_run VALUES ('r', 7)")
        con.execute(
            "INSERT INTO history_ack VALUES ('r', 'old', 'someone', '2027-01-01', 1), ('r', 'new', NULL, NULL, 2)"
        )
        assert con.execute(resources.sql("history/acknowledged")).fetchall() == [(7, "new", None, None, 2)]

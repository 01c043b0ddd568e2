"""What the system and DuckDB report, and what is made of it."""

from __future__ import annotations

import errno
from pathlib import Path

import duckdb
import pytest

from rlcompare import db, locking, resources


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

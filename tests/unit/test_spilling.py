"""Where DuckDB writes what does not fit into its memory."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from rlcompare import db, temporary


@pytest.fixture
def tmp_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files; the current folder is another one."""
    for name in ("system", "current"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "system"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "system"))
    monkeypatch.chdir(tmp_path / "current")
    return tmp_path / "system"


def test_in_the_folder_for_temporary_files_and_not_in_the_current_one(tmp_folder: Path) -> None:
    with db.closed(db.connect_to_stores(1, [])) as locked, pytest.raises(Exception, match="locked"):
        locked.execute("SET temp_directory = '.tmp'")
    with db.closed(db.connect(1)) as con:
        con.execute("SET memory_limit = '60MB'")
        con.execute("CREATE TABLE large AS SELECT i, md5(i::VARCHAR) AS text FROM range(2_000_000) AS r(i)")
        private = max(tmp_folder.iterdir(), key=lambda path: len(list(path.iterdir())))
        assert any(private.iterdir())
        assert private.stat().st_mode & 0o777 == 0o700
        assert temporary.is_left(private.name, 0) is False, "a running process owns it"
    assert list(tmp_folder.iterdir()) == [], "also while somebody holds the connections"
    con = db.connect(1)
    assert list(tmp_folder.iterdir())
    del con
    assert list(tmp_folder.iterdir()) == []
    assert list(Path.cwd().iterdir()) == []


def test_without_such_a_folder_nothing_is_written(tmp_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise FileNotFoundError

    monkeypatch.setattr("tempfile.gettempdir", missing)
    with closing(db.connect(1)) as con:
        assert con.execute("SELECT current_setting('temp_directory')").fetchall() == [("",)]

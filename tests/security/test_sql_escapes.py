"""A query reaches nothing but the run: no other file, no network, no environment, no setting of the database."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import rlcompare as library
from rlcompare import db
from rlcompare.errors import InputError, UsageError
from tests.cli.conftest import Command, ranks_of, snapshot

SECRET = "a line of somebody's private file"
VARIABLE = "RLCOMPARE_TEST_VARIABLE"


def queries(private: Path, new: Path, port: int) -> list[str]:
    """Ways out, with a file that exists, one that does not, and a port that listens."""
    url, folder = f"http://127.0.0.1:{port}/x", private.parent
    return [
        # files, read
        f"SELECT * FROM read_csv('{private}')",
        f"SELECT * FROM read_csv_auto('{private}')",
        f"SELECT content FROM read_text('{private}')",
        f"SELECT content FROM read_blob('{private}')",
        f"SELECT * FROM read_json('{private}')",
        f"SELECT * FROM read_json_objects('{private}', format = 'unstructured')",
        f"SELECT * FROM read_ndjson('{private}')",
        f"SELECT * FROM read_parquet('{private}')",
        f"SELECT * FROM parquet_metadata('{private}')",
        f"SELECT * FROM parquet_scan('{private}')",
        f"SELECT * FROM sniff_csv('{private}')",
        f"SELECT * FROM glob('{folder}/*')",
        f"SELECT * FROM '{private}'",
        f'SELECT * FROM "{private}"',
        f"FROM '{folder}/*.csv'",
        f"SELECT * FROM '{folder}/other.duckdb'",
        f"SELECT * FROM sqlite_scan('{folder}/other.db', 't')",
        f"SELECT * FROM query_table('{private}')",
        f"SELECT * FROM query('SELECT content FROM read_text(''{private}'')')",
        f"WITH a AS (SELECT content FROM read_text('{private}')) SELECT * FROM a",
        f"SELECT (SELECT content FROM read_text('{private}')) FROM meta",
        f"SELECT * FROM duckdb_secrets() UNION ALL SELECT content FROM read_text('{private}')",
        f"EXPLAIN ANALYZE SELECT content FROM read_text('{private}')",
        f"SUMMARIZE SELECT content FROM read_text('{private}')",
        f"DESCRIBE SELECT * FROM read_csv('{private}')",
        # files, written
        f"COPY (SELECT 1) TO '{new}'",
        f"COPY meta TO '{new}' (FORMAT parquet)",
        f"COPY meta FROM '{private}'",
        f"EXPORT DATABASE '{new}'",
        f"IMPORT DATABASE '{folder}'",
        f"ATTACH '{new}' AS other",
        f"ATTACH '{folder}/other.duckdb' AS other (READ_ONLY)",
        f"ATTACH '{folder}/other.db' AS other (TYPE sqlite)",
        "ATTACH ':memory:' AS other",
        "CHECKPOINT",
        "CREATE TABLE other AS SELECT 1",
        "CREATE TEMP TABLE other AS SELECT 1",
        "INSERT INTO meta VALUES ('a', 'b')",
        "DELETE FROM meta",
        "UPDATE meta SET value = 'x'",
        "DROP TABLE meta",
        # the network, extensions
        f"SELECT * FROM read_csv('{url}')",
        f"SELECT * FROM '{url}.parquet'",
        f"ATTACH '{url}.duckdb' AS other",
        "INSTALL httpfs",
        f"INSTALL httpfs FROM '{url}'",
        "LOAD httpfs",
        "LOAD sqlite_scanner",
        f"LOAD '{private}'",
        "CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')",
        # the environment, settings
        f"SELECT getenv('{VARIABLE}')",
        "SET enable_external_access = true",
        "RESET enable_external_access",
        "SET lock_configuration = false",
        f"SET allowed_directories = ['{folder}']",
        f"SET allowed_paths = ['{private}']",
        f"SET temp_directory = '{new}'",
        f"SET log_query_path = '{new}'",
        f"SET profiling_output = '{new}'",
        f"SET file_search_path = '{folder}'",
        "SET autoinstall_known_extensions = true",
        "SET allow_unsigned_extensions = true",
        f"SET extension_directory = '{folder}'",
        f"SET home_directory = '{folder}'",
        "PRAGMA enable_profiling",
        f"PRAGMA profiling_output = '{new}'",
        f"PRAGMA import_database('{folder}')",
        f"CALL pragma_import_database('{folder}')",
        # several statements, prepared ones, macros
        f"SELECT 1; SELECT content FROM read_text('{private}')",
        f"SELECT 1;;COPY (SELECT 1) TO '{new}'",
        f"PREPARE a AS SELECT content FROM read_text('{private}')",
        "EXECUTE a",
        f"CREATE TEMP MACRO a() AS TABLE SELECT content FROM read_text('{private}')",
        f"CREATE TEMP VIEW a AS SELECT content FROM read_text('{private}')",
        "BEGIN; DELETE FROM meta; COMMIT",
        "USE memory",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        yield server


@pytest.fixture(scope="module")
def store(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, beside files that no query may reach."""
    folder = tmp_path_factory.mktemp("untrusted")
    from rlcompare.cli.main import run

    (folder / "private.csv").write_text(f"a\n{SECRET}\n")
    with duckdb.connect(str(folder / "other.duckdb")) as con:
        con.execute(f"CREATE TABLE t AS SELECT $${SECRET}$$ AS a")
    assert run(["ingest", str(ranks_of(samples / "base")[0]), "-o", str(folder / "run.duckdb"), "-q"]) == 0
    return folder / "run.duckdb"


def ways_out(store: Path, listener: socket.socket) -> list[str]:
    return queries(store.parent / "private.csv", store.parent / "written", listener.getsockname()[1])


def test_from_the_command_line(
    rlcompare: Command, store: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    before = snapshot(store.parent)
    assert len(ways_out(store, listener)) >= 38
    for query in ways_out(store, listener):
        result = rlcompare("sql", store, query, "--format", "json")
        assert result.code == 2, (query, result)
        assert SECRET not in result.out + result.err, query
        assert snapshot(store.parent) == before, query
        assert list(Path.cwd().iterdir()) == [], query
    with pytest.raises(TimeoutError):
        listener.accept()


def test_from_a_notebook(store: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """One connection for all: no query may open a way for the next."""
    monkeypatch.setenv(VARIABLE, SECRET)
    before = snapshot(store.parent)
    with library.load(store, quiet=True) as run:
        for query in ways_out(store, listener):
            try:
                shown = str(list(run.sql(query)))
            except (UsageError, InputError) as error:
                shown = str(error)
            assert SECRET not in shown, query
            assert snapshot(store.parent) == before, query
        assert len(run.sql("SELECT * FROM store.main.meta"))
    with pytest.raises(TimeoutError):
        listener.accept()


def test_from_a_view_or_a_default_of_the_store(rlcompare: Command, store: Path, tmp_path: Path) -> None:
    # GIVEN a store that brings its own ways: under names that rlcompare does not use, so that it is read
    private, foreign = store.parent / "private.csv", tmp_path / "foreign.duckdb"
    foreign.write_bytes(store.read_bytes())
    with duckdb.connect(str(foreign)) as con:
        con.execute(f"CREATE VIEW way AS SELECT content FROM read_text('{private}')")
        con.execute("CREATE SCHEMA memory")
        con.execute(f"CREATE VIEW memory.other AS SELECT content FROM read_text('{private}')")
        con.execute("CREATE TYPE number AS ENUM ('a', 'b')")
        con.execute("CREATE SEQUENCE one")
    for command in (
        ("sql", foreign, "SELECT * FROM way"), ("sql", foreign, "SELECT * FROM memory.other"), ("show", foreign),
        ("diff", "-d", foreign, "-bp", foreign), ("sql", foreign, "SELECT count(*) FROM kernel"),
        ("sql", foreign, "--name", "longest_kernels"),
        ("baseline", "add", "main", foreign, "--reason", "x", "--baselines", tmp_path / "baselines"),
        ("history", "add", foreign, "--history", tmp_path / "history.duckdb"),
    ):  # fmt: skip
        result = rlcompare(*command)
        assert SECRET not in result.out + result.err, command
        assert result.code in (0, 2, 4), result.err
        assert result.code == 0 or "SELECT *" in str(command[-1]), result.err


@pytest.mark.parametrize("table", ["meta", "capture", "env", "r_time", "r_kernel", "metric", "kernel"])
def test_no_table_of_ours_may_be_a_view(rlcompare: Command, store: Path, tmp_path: Path, table: str) -> None:
    foreign = tmp_path / "foreign.duckdb"
    foreign.write_bytes(store.read_bytes())
    private = store.parent / "private.csv"
    with duckdb.connect(str(foreign)) as con:
        con.execute(f"ALTER TABLE {table} RENAME TO former")
        con.execute(f"CREATE VIEW {table.upper()} AS SELECT former.* FROM former, read_text('{private}')")
    for command in (
        ("diff", "-d", foreign, "-bp", foreign), ("show", foreign), ("sql", foreign, f"SELECT * FROM {table}"),
        ("baseline", "add", "main", foreign, "--reason", "x", "--baselines", tmp_path / "baselines"),
        ("history", "add", foreign, "--history", tmp_path / "history.duckdb"),
    ):  # fmt: skip
        result = rlcompare(*command)
        assert (result.code, "not an rlcompare store" in result.err) == (4, True), (command, result.err)
        assert SECRET not in result.out + result.err


def test_a_store_is_never_taken_for_another_kind_of_database(rlcompare: Command, tmp_path: Path) -> None:
    """DuckDB tells a file's kind by its content, and would open SQLite files with an extension."""
    import sqlite3

    with sqlite3.connect(tmp_path / "run.duckdb") as con:
        con.execute("CREATE TABLE meta (key TEXT, value TEXT)")
        con.execute(f"INSERT INTO meta VALUES ('schema_version', '{db.SCHEMA_VERSION}')")
    assert rlcompare("show", tmp_path / "run.duckdb").code == 4
    con = db.connect(1, sqlite=True)
    with pytest.raises((duckdb.Error, InputError)):
        db.attach(con, tmp_path / "run.duckdb", read_only=True)
    assert list(Path.cwd().iterdir()) == []

"""Untrusted stores: they run no code, read no other file, and never hang a command."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import rlcompare as library
from rlcompare.errors import InputError

from .conftest import Command, ranks_of

SECRET = "a line of somebody's private file"
ENDLESS = "SELECT max(a.range + b.range + c.range) FROM range(1000000) a, range(1000000) b, range(1000000) c"


@pytest.fixture
def store(rlcompare: Command, samples: Path, tmp_path: Path) -> Path:
    """A sound store, to be changed."""
    assert rlcompare("ingest", ranks_of(samples / "base")[0], "-o", tmp_path / "run.duckdb").code == 0
    return tmp_path / "run.duckdb"


def replace_table(store: Path, table: str, *statements: str) -> None:
    with duckdb.connect(str(store)) as con:
        con.execute(f"ALTER TABLE {table} RENAME TO former_{table}")
        for statement in statements:
            con.execute(statement)


def changes(secret: Path) -> dict[str, tuple[str, str]]:
    read = f"(SELECT content FROM read_text('{secret}'))"
    return {
        "a view that reads a file": (
            "env",
            f"CREATE VIEW env AS SELECT NULL::INTEGER AS capture, 'chip' AS key, {read} AS value",
        ),
        "a view that never ends": (
            "meta",
            f"CREATE VIEW meta AS SELECT 'schema_version' AS key, ({ENDLESS})::VARCHAR AS value",
        ),
        "a computed column": (
            "meta",
            "CREATE TABLE meta (key VARCHAR, value VARCHAR GENERATED ALWAYS AS (md5(repeat(key, 1000000000))) VIRTUAL)",
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("change", changes(Path()))
def test_what_is_not_a_plain_table_is_refused(
    store: Path, tmp_path: Path, rlcompare: Command, samples: Path, change: str
) -> None:
    # GIVEN a store in which one of our tables is something that runs
    (tmp_path / "secret.txt").write_text(SECRET)
    replace_table(store, *changes(tmp_path / "secret.txt")[change])
    base = ranks_of(samples / "base")[0]
    # WHEN it is compared, shown or queried
    for command in (
        ("diff", "-d", store, "-bp", base),
        ("show", store),
        ("sql", store, "SELECT * FROM env"),
        ("ingest", base, "-o", store),
    ):
        result = rlcompare(*command)
        # THEN each command ends, says why, and tells nothing of the other file
        assert result.code == (2 if command[0] == "ingest" else 4), command
        assert command[0] == "ingest" or "not an rlcompare store" in result.err
        assert SECRET not in result.out + result.err
    with pytest.raises(InputError, match="not an rlcompare store"):
        library.load(store, quiet=True)


@pytest.mark.slow
def test_a_macro_never_takes_the_place_of_a_function(store: Path, rlcompare: Command) -> None:
    with duckdb.connect(str(store)) as con:
        con.execute("CREATE MACRO sum(x) AS 42")
    for command in (("show", store), ("sql", store, "SELECT sum(calls) FROM r_kernel")):
        result = rlcompare(*command)
        assert result.code == 4
        assert "the macro sum" in result.err


@pytest.mark.slow
def test_a_store_that_lacks_something_is_said_to(store: Path, rlcompare: Command, samples: Path) -> None:
    changes = (
        "DROP TABLE metric",
        "ALTER TABLE r_time DROP COLUMN compute_ns",
        "ALTER TABLE r_time ALTER compute_ns TYPE VARCHAR USING 'many'",
    )
    sound = store.read_bytes()
    for change in changes:
        store.write_bytes(sound)
        with duckdb.connect(str(store)) as con:
            con.execute(change)
        for command in (("show", store), ("diff", "-d", store, "-bp", ranks_of(samples / "base")[0])):
            result = rlcompare(*command)
            assert (result.code, "is damaged or" in result.error) == (4, True), (change, command, result)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["memory", "temp", "store"])
def test_its_name_does_not_matter(store: Path, rlcompare: Command, name: str) -> None:
    replace_table(store, "meta", "CREATE VIEW meta AS SELECT 'schema_version' AS key, '4' AS value")
    foreign = store.rename(store.with_name(f"{name}.duckdb"))
    assert rlcompare("show", foreign).code == 4


@pytest.mark.slow
def test_a_store_in_a_folder_that_looks_like_a_pattern(store: Path, tmp_path: Path, rlcompare: Command) -> None:
    folder = tmp_path / "q?x[1]*"
    folder.mkdir()
    moved = store.rename(folder / "run.duckdb")
    assert rlcompare("show", moved).code == 0
    assert rlcompare("diff", "-d", moved, "-bp", moved).code == 0
    with library.load(moved, quiet=True) as run:
        assert "kernel" in run.tables


@pytest.mark.slow
def test_a_view_of_the_users_own_is_left_alone(store: Path, tmp_path: Path, rlcompare: Command) -> None:
    # GIVEN views under names that rlcompare does not use, one of which reads a file
    (tmp_path / "secret.txt").write_text(SECRET)
    with duckdb.connect(str(store)) as con:
        con.execute("CREATE VIEW longest AS SELECT name FROM kernel ORDER BY end_ns - start_ns DESC LIMIT 1")
        con.execute(f"CREATE VIEW other AS SELECT content FROM read_text('{tmp_path / 'secret.txt'}')")
    # THEN the store is read, the first can be queried, and the second reaches nothing
    assert rlcompare("show", store).code == 0
    assert rlcompare("sql", store, "SELECT count(*) AS rows FROM longest").code == 0
    result = rlcompare("sql", store, "SELECT * FROM other")
    assert result.code == 2
    assert SECRET not in result.out + result.err

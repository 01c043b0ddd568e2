"""The journal beside a database belongs to whoever wrote it: SQLite would undo a write with it, and delete a file."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rlcompare.errors import InputError
from tests.cli.conftest import Command, ranks_of
from tests.sources.nsys_exports import training_step
from tests.stores import rows, store_of
from tests.verl_logs import mlflow_database

MAGIC = bytes.fromhex("d9d505f920a163d7")
SECTOR, PENDING_BYTE = 512, 0x40000000


def journal_that_names(victim: Path, pages: int, page_size: int) -> bytes:
    """A journal without pages, of a transaction over several databases: its end names the file that lists them.

    https://www.sqlite.org/fileformat.html#the_rollback_journal
    """
    numbers = (0, 1, pages, SECTOR, page_size)
    head = MAGIC + b"".join(number.to_bytes(4, "big") for number in numbers)
    name = os.fsencode(victim)
    last = (PENDING_BYTE // page_size + 1, name, len(name), sum(name), MAGIC)
    end = b"".join(part if isinstance(part, bytes) else part.to_bytes(4, "big") for part in last)
    return head.ljust(SECTOR, b"\0") + end


def put_beside(database: Path, victim: Path) -> None:
    """The journal, and the log of a database in WAL mode, because of which rlcompare opens its copy for writing."""
    with closing(sqlite3.connect(database)) as con:
        ((pages,),), ((size,),) = (con.execute(f"PRAGMA {name}").fetchall() for name in ("page_count", "page_size"))
        con.execute("PRAGMA journal_mode = WAL")
        con.execute("CREATE TABLE more (x)")
        log = database.with_name(database.name + "-wal").read_bytes()
    database.with_name(database.name + "-wal").write_bytes(log)
    database.with_name(database.name + "-journal").write_bytes(journal_that_names(victim, pages, size))


def database_of(profile: Path, rank: int) -> Path:
    return next(ranks_of(profile)[rank].rglob("ascend_pytorch_profiler_*.db"))


def copied(database: Path, folder: Path) -> Path:
    return Path(shutil.copyfile(database, folder / database.name))


def test_sqlite_itself_would_delete_the_file(tmp_path: Path) -> None:
    """Else the next test shows nothing."""
    database, victim = tmp_path / "a.db", tmp_path / "victim"
    victim.write_text("precious")
    with closing(sqlite3.connect(database)) as con:
        con.execute("CREATE TABLE a (x)")
    put_beside(database, victim)
    with closing(sqlite3.connect(database)) as con:
        con.execute("SELECT * FROM a").fetchall()
    assert not victim.exists()


@pytest.mark.parametrize("source", ["ascend", "nsys", "mlflow"])
def test_a_file_that_a_journal_names_is_left_alone(source: str, samples: Path, tmp_path: Path) -> None:
    # GIVEN a database whose journal names a file of the user
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place = tmp_path / "in"
    place.mkdir()
    if source == "ascend":
        database = copied(database_of(samples / "new", 0), place)
    elif source == "nsys":
        database = training_step(pids=(10,)).write(place / "x.sqlite")
    else:
        database = mlflow_database(place / "mlflow.db", {"grpo": [(1, "timing_s/step", 1.5, False)]})
    put_beside(database, victim)
    before = {path: path.read_bytes() for path in sorted(place.iterdir())}
    # WHEN it is read
    with pytest.raises(InputError, match=r"is unfinished: .*-journal") as caught:
        store_of(database, tmp_path / "a.duckdb")
    # THEN the file is there, all is as it was, and the message names the database
    assert database.name in str(caught.value)
    assert victim.read_text() == "precious"
    assert {path: path.read_bytes() for path in sorted(place.iterdir())} == before


@pytest.mark.parametrize("content", [b"", bytes(512)], ids=["empty", "zeroed"])
def test_a_journal_that_is_done_says_nothing(samples: Path, tmp_path: Path, content: bytes) -> None:
    """As SQLite leaves it with journal_mode TRUNCATE or PERSIST."""
    database = copied(database_of(samples / "new", 0), tmp_path)
    database.with_name(database.name + "-journal").write_bytes(content)
    assert rows(store_of(database, tmp_path / "a.duckdb"), "SELECT count(*) > 0 FROM r_kernel") == [(True,)]


def test_an_unfinished_run_takes_no_sound_one_with_it(rlcompare: Command, samples: Path, tmp_path: Path) -> None:
    # GIVEN two copies of a run, of which the first has an unfinished database
    side = tmp_path / "side"
    for name in ("a", "b"):
        shutil.copytree(samples / "new", side / name, copy_function=shutil.copy2)
    broken = database_of(side / "a", 1)
    broken.with_name(broken.name + "-journal").write_bytes(MAGIC + bytes(504))
    # WHEN they are a side
    outcome = rlcompare("diff", "-d", side, "-bp", samples / "base", "-o", tmp_path / "out", "--json")
    # THEN the sound one is used as a whole: it is no copy, and does not share what was made of the other
    document = json.loads(outcome.out)
    assert [(run["name"], run["ranks"]) for run in document["new"]["runs"]] == [("a", 1), ("b", 2)]
    (finding,) = [found for found in document["quality"] if found["key"] == "unreadable_capture"]
    assert f"{broken.name}-journal is beside it" in finding["message"] and str(broken) in finding["message"]

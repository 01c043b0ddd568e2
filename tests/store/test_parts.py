"""Parts: made once, side by side, whatever else is in the run, and the same however they are made."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rlcompare.errors import InputError
from rlcompare.model.run import RunInput
from rlcompare.sources.detect import find_runs
from rlcompare.store import parts
from rlcompare.store.build import build_stores
from rlcompare.store.cache import cached_stores
from rlcompare.store.engines import local
from rlcompare.store.engines.local import LocalEngine
from rlcompare.store.parts import Batch, BatchResult
from rlcompare.store.run_stage import RunParts, make_store
from rlcompare.writer import SampleRun, write_sample

RANKS = 4

KILLS_ITS_WORKER = """
import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer)
import os, signal
from rlcompare.store.engines import worker
make_batch = worker.make_batch
def deadly(batch, **options):
    for part in batch.parts:
        if part.capture.rank == 2 and not os.path.exists({spared!r}):
            {once}
            os.kill(os.getpid(), signal.SIGKILL)
    yield from make_batch(batch, **options)
worker.make_batch = deadly
worker.main()
"""


class Stopped(Exception):
    """The command ends in the middle."""


class Recorder:
    """An engine that remembers which ranks it was asked for, and may stop after some batches."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.workers = 1
        self.ranks: list[int | None] = []
        self._stop_after = stop_after

    def make_parts(self, batches: Sequence[Batch], **options: Any) -> Iterator[BatchResult]:
        self.ranks += [part.capture.rank for batch in batches for part in batch.parts]
        for number, result in enumerate(LocalEngine(workers=1).make_parts(batches, **options)):
            if number == self._stop_after:
                raise Stopped
            yield result


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four small ranks."""
    folder = tmp_path_factory.mktemp("profile") / "run"
    write_sample(SampleRun(ranks=tuple(range(RANKS)), layers=1, decode_steps=1), folder)
    return folder


@pytest.fixture(scope="module")
def whole(profile: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], Path]:
    """The store of that run, made at once, with or without events."""
    folder = tmp_path_factory.mktemp("whole")

    @cache
    def made(keep_events: bool) -> Path:
        return built(one_run(profile), folder / f"{keep_events}.duckdb", keep_events=keep_events)

    return made


def one_run(folder: Path) -> RunInput:
    (run,) = find_runs(folder)
    return run


def folder_of(profile: Path, rank: int) -> Path:
    (database,) = profile.glob(f"*/*/ascend_pytorch_profiler_{rank}.db")
    return database.parent.parent


def built(run: RunInput, target: Path, engine: LocalEngine | None = None, keep_events: bool = False) -> Path:
    build_stores({target: run}, keep_events=keep_events, engine=engine or LocalEngine(workers=1))
    return target


def differing(first: Path, second: Path) -> list[str]:
    """The tables in which two stores differ."""
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{first}' AS first (READ_ONLY)")
        con.execute(f"ATTACH '{second}' AS second (READ_ONLY)")
        names = [name for (name,) in con.execute("SELECT DISTINCT table_name FROM duckdb_tables()").fetchall()]
        assert "r_kernel" in names
        bag = '(SELECT (count(*), sum(hash(row)), bit_xor(hash(row))) FROM {0}."{1}" AS row)'
        compared = (
            f"SELECT '{name}' WHERE {bag.format('first', name)} IS DISTINCT FROM {bag.format('second', name)}"
            for name in names
        )
        return [name for (name,) in con.execute(" UNION ALL ".join(compared)).fetchall()]


def rows(store: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(store), read_only=True) as con:
        return con.execute(query).fetchall()


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.parametrize("keep_events", [False, True])
@pytest.mark.parametrize(("captures", "workers"), [(1, 1), (2, 1), (2, 2), (1, 2)])
def test_the_tables_are_the_same_however_they_are_made(
    profile: Path,
    whole: Callable[[bool], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    captures: int,
    workers: int,
    keep_events: bool,
) -> None:
    together = whole(keep_events)
    monkeypatch.setattr(parts, "BATCH_CAPTURES", captures)
    monkeypatch.setattr(local, "WORTH_PROCESSES", 2)
    apart = built(one_run(profile), tmp_path / "apart.duckdb", LocalEngine(workers), keep_events)
    assert differing(together, apart) == []


@pytest.mark.slow
def test_text_profiles_are_the_same_in_any_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sample(SampleRun(ranks=(0, 1), layers=1, decode_steps=1, export="text"), tmp_path / "run")
    together = built(one_run(tmp_path / "run"), tmp_path / "together.duckdb")
    monkeypatch.setattr(parts, "BATCH_CAPTURES", 1)
    assert differing(together, built(one_run(tmp_path / "run"), tmp_path / "apart.duckdb")) == []


class TestOnce:
    @pytest.mark.slow
    def test_one_more_rank_is_one_more_part(self, profile: Path, tmp_path: Path) -> None:
        run = tmp_path / "run"
        shutil.copytree(profile, run)
        last = folder_of(run, 3)
        shutil.move(last, tmp_path / last.name)
        cached_stores([one_run(run)], directory=tmp_path / "cache", engine=Recorder())
        shutil.move(tmp_path / last.name, last)

        engine = Recorder()
        (store,) = cached_stores([one_run(run)], directory=tmp_path / "cache", engine=engine)
        assert engine.ranks == [3]
        assert differing(store, built(one_run(run), tmp_path / "whole.duckdb")) == []

    @pytest.mark.slow
    def test_an_interrupted_command_leaves_what_it_made(
        self, profile: Path, whole: Callable[[bool], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(parts, "BATCH_CAPTURES", 1)
        with pytest.raises(Stopped):
            cached_stores([one_run(profile)], directory=tmp_path / "cache", engine=Recorder(stop_after=3))

        engine = Recorder()
        (store,) = cached_stores([one_run(profile)], directory=tmp_path / "cache", engine=engine)
        assert engine.ranks == [3]
        assert differing(store, whole(False)) == []
        # What the store holds now is not kept twice.
        assert list((tmp_path / "cache" / "parts").glob("*.duckdb")) == []

    @pytest.mark.slow
    def test_a_command_that_ends_when_a_pack_has_become_the_store(
        self, profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def end(*given: object, **options: Any) -> None:
            make_store(*given, **options)  # type: ignore[arg-type]
            raise Stopped

        with monkeypatch.context() as patched, pytest.raises(Stopped):
            patched.setattr("rlcompare.store.build.make_store", end)
            cached_stores([one_run(profile)], directory=tmp_path / "cache")
        (left,) = (tmp_path / "cache" / "parts").iterdir()  # the pack's list
        assert left.name.startswith("pack-")

        cached_stores([one_run(profile)], directory=tmp_path / "cache")
        assert not left.exists()

    @pytest.mark.slow
    def test_a_part_serves_wherever_its_capture_lies_and_tells_its_own_path(
        self, profile: Path, tmp_path: Path
    ) -> None:
        cached_stores([one_run(profile)], directory=tmp_path / "cache")
        engine = Recorder()
        alone = one_run(folder_of(profile, 1))
        (store,) = cached_stores([alone], directory=tmp_path / "cache", engine=engine)
        assert engine.ranks == []
        assert differing(store, built(alone, tmp_path / "alone.duckdb")) == []

    @pytest.mark.slow
    def test_a_pack_that_is_damaged_is_made_again(
        self, profile: Path, whole: Callable[[bool], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(parts, "BATCH_CAPTURES", 2)
        with pytest.raises(Stopped):
            cached_stores([one_run(profile)], directory=tmp_path / "cache", engine=Recorder(stop_after=1))
        (pack,) = (tmp_path / "cache" / "parts").glob("*.duckdb")
        pack.write_bytes(pack.read_bytes()[:20_000])

        engine = Recorder()
        (store,) = cached_stores([one_run(profile)], directory=tmp_path / "cache", engine=engine)
        assert sorted(rank for rank in engine.ranks if rank is not None) == [0, 1, 2, 3]
        assert differing(store, whole(False)) == []


class TestFailures:
    @pytest.fixture
    def damage(self, profile: Path, tmp_path: Path) -> Callable[[str], Path]:
        """A copy of the run in which an SQL statement was run on the database of rank 2."""

        def change(statement: str) -> Path:
            run = tmp_path / "run"
            shutil.copytree(profile, run)
            (database,) = run.glob("*/*/ascend_pytorch_profiler_2.db")
            with closing(sqlite3.connect(database)) as con:
                con.execute(statement)
                con.commit()
            return run

        return change

    @pytest.mark.slow
    @pytest.mark.one_in(2)
    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE TASK SET startNs = 'soon' WHERE rowid = 1",
            "UPDATE STRING_IDS SET value = CAST(X'61e282' AS TEXT) WHERE rowid = 5",
            "ALTER TABLE TASK RENAME COLUMN connectionId TO somethingElse",
            "DROP TABLE COMPUTE_TASK_INFO",
        ],
    )
    def test_what_is_odd_in_one_capture_changes_no_other(
        self, damage: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
    ) -> None:
        run = one_run(damage(statement))
        together = built(run, tmp_path / "together.duckdb")
        monkeypatch.setattr(parts, "BATCH_CAPTURES", 1)
        assert differing(together, built(run, tmp_path / "apart.duckdb")) == []
        assert rows(together, "SELECT count(*) FROM capture") == [(4,)]

    @pytest.mark.slow
    def test_a_capture_of_nothing_is_left_out(self, damage: Callable[[str], Path], tmp_path: Path) -> None:
        run = damage("SELECT 1")
        (database,) = run.glob("*/*/ascend_pytorch_profiler_2.db")
        found = one_run(run)
        database.write_bytes(database.read_bytes()[:4096])
        store = built(found, tmp_path / "store.duckdb")
        assert rows(store, "SELECT rank FROM capture ORDER BY rank") == [(0,), (1,), (3,)]
        ((message,),) = rows(store, "SELECT message FROM finding WHERE key = 'unreadable_capture'")
        assert database.name in message

    @pytest.mark.slow
    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
    @pytest.mark.parametrize("once", [False, True])
    def test_a_worker_that_is_killed(
        self,
        profile: Path,
        whole: Callable[[bool], Path],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        once: bool,
    ) -> None:
        spared = str(tmp_path / "spared")
        start = KILLS_ITS_WORKER.format(spared=spared, once=f"open({spared!r}, 'w').close()" if once else "pass")
        monkeypatch.setattr(local, "_START", start)
        monkeypatch.setattr(local, "WORTH_PROCESSES", 1)
        monkeypatch.setattr(parts, "BATCH_CAPTURES", 3)
        (tmp_path / "out").mkdir()
        store = built(one_run(profile), tmp_path / "out" / "store.duckdb", LocalEngine(workers=2))
        if once:
            assert differing(store, whole(False)) == []
        else:
            assert rows(store, "SELECT rank FROM capture ORDER BY rank") == [(0,), (1,), (3,)]
            ((message,),) = rows(store, "SELECT message FROM finding WHERE key = 'unreadable_capture'")
            assert folder_of(profile, 2).name in message
            assert "killed by signal 9" in message
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["store.duckdb"]

    def test_a_run_of_which_nothing_can_be_read(
        self, profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(local, "WORTH_PROCESSES", 1)
        shutil.copytree(profile, tmp_path / "run")
        run = one_run(tmp_path / "run")
        for capture in run.captures:
            os.truncate(capture.files["db"], 100)
        (tmp_path / "out").mkdir()
        with pytest.raises(InputError, match="ascend_pytorch_profiler"):
            built(run, tmp_path / "out" / "store.duckdb", LocalEngine(workers=2))
        assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.slow
def test_a_pack_with_captures_of_two_runs_never_becomes_a_store(
    profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN two runs whose captures were read together, and a process that ended when one store was made
    shutil.copytree(profile, tmp_path / "other")
    for database in (tmp_path / "other").rglob("*.db"):
        os.utime(database)

    def end(parts: RunParts, *given: object, **options: Any) -> Path:
        if parts.run.name == "other":
            raise Stopped
        return make_store(parts, *given, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patched, pytest.raises(Stopped):
        patched.setattr("rlcompare.store.build.make_store", end)
        cached_stores([one_run(tmp_path / "other"), one_run(profile)], directory=tmp_path / "cache")
    assert len(list((tmp_path / "cache" / "parts").glob("pack-*.duckdb"))) == 1
    # WHEN the other store is made
    (store,) = cached_stores([one_run(tmp_path / "other")], directory=tmp_path / "cache")
    # THEN it holds its own captures, and the pack is gone
    assert rows(store, "SELECT count(*) FROM capture") == [(RANKS,)]
    assert differing(store, built(one_run(tmp_path / "other"), tmp_path / "alone.duckdb")) == []
    assert not list((tmp_path / "cache" / "parts").glob("pack-*"))

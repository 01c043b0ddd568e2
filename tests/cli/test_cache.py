"""The cache of stores: when one is used again, when not, and what is removed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import pytest

from rlcompare.errors import InputError, UsageError
from rlcompare.model.run import CaptureInput, Finding, MetricsInput
from rlcompare.sources import sqlite_input
from rlcompare.sources.detect import find_runs
from rlcompare.sources.registry import find as find_source
from rlcompare.store import fingerprint
from rlcompare.store.cache import MARKER, cache_directory, cache_entries, cached_stores, open_stores, prune_cache
from rlcompare.store.engines.local import LocalEngine
from rlcompare.store.new_file import Cancelled
from rlcompare.store.parts import Batch, BatchResult, Part
from rlcompare.store.run_stage import RunParts, make_store
from tests.run_directories import description, write_metrics, write_run
from tests.stores import rows

from .conftest import Command, snapshot

KEY = "0123456789abcdef" * 2


def put(folder: Path, name: str, size: int, age: float) -> Path:
    """A file of that size and age, in a folder that is marked as a cache."""
    folder.mkdir(exist_ok=True)
    (folder / MARKER).touch()
    path = folder / name
    path.write_bytes(b"\0" * size)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def content(folder: Path) -> list[Path]:
    """What lies in a cache folder beside its marker and its lists of parts; packs are there only after a failure."""
    lists = [path for path in (folder / "parts").glob("*") if path.suffix == ".keys"]
    return sorted({*folder.iterdir(), *(folder / "parts").glob("*")} - {folder / MARKER, folder / "parts", *lists})


def flip_a_bit(store: Path, table: str) -> None:
    """Damages the first block that holds values of a table."""
    with duckdb.connect(str(store), read_only=True) as con:
        query = "SELECT min(block_id) FROM pragma_storage_info(?) WHERE block_id >= 0"
        ((block,),) = con.execute(query, [table]).fetchall()
        ((size,),) = con.execute("SELECT block_size FROM pragma_database_size()").fetchall()
    data = bytearray(store.read_bytes())
    headers = 3 * 4096
    data[headers + block * size + size // 3] ^= 1
    store.write_bytes(data)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs whose stores are built."""
    names: list[str] = []

    def count(parts: RunParts, *files: Path, **options: Any) -> Path:
        names.append(parts.run.name)
        return make_store(parts, *files, **options)

    monkeypatch.setattr("rlcompare.store.build.make_store", count)
    return names


class TestDirectory:
    @pytest.fixture(autouse=True)
    def _nothing_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("RLCOMPARE_CACHE_DIR", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)

    @pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="these have no XDG_CACHE_HOME")
    @pytest.mark.parametrize(
        ("environment", "expected"),
        [
            ({"XDG_CACHE_HOME": "/x"}, "/x/rlcompare"),
            ({"XDG_CACHE_HOME": "relative"}, "/h/.cache/rlcompare"),
            ({}, "/h/.cache/rlcompare"),
            ({"RLCOMPARE_CACHE_DIR": "/r", "XDG_CACHE_HOME": "/x"}, "/r"),
        ],
    )
    def test_by_environment(self, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str) -> None:
        for name, value in {"HOME": "/h", **environment}.items():
            monkeypatch.setenv(name, value)
        assert cache_directory() == Path(expected)

    def test_the_option_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RLCOMPARE_CACHE_DIR", "/r")
        assert cache_directory(Path("mine")) == Path("mine")

    def test_no_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def homeless(path: str) -> str:
            return path

        monkeypatch.setattr(os.path, "expanduser", homeless)
        with pytest.raises(UsageError, match="--cache-dir"):
            cache_directory()


class TestKeys:
    @pytest.mark.slow
    def test_used_again(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        runs = find_runs(samples / "new")
        first = cached_stores(runs, directory=tmp_path)
        assert cached_stores(find_runs(samples / "new"), directory=tmp_path) == first
        assert builds == ["new"]

    @pytest.mark.slow
    def test_wherever_the_input_lies(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        shutil.copytree(samples / "new", tmp_path / "elsewhere" / "new")
        for folder in (samples, tmp_path / "elsewhere"):
            cached_stores(find_runs(folder / "new"), directory=tmp_path / "cache")
        assert builds == ["new"]

    @pytest.mark.slow
    @pytest.mark.one_in(2)
    @pytest.mark.parametrize("change", ["content", "time", "metadata", "removed"])
    def test_not_after_a_change(self, samples: Path, tmp_path: Path, builds: list[str], change: str) -> None:
        shutil.copytree(samples / "new", tmp_path / "new")
        cached_stores(find_runs(tmp_path / "new"), directory=tmp_path / "cache")
        folder = next((tmp_path / "new").glob("*_ascend_pt"))
        database = next(folder.rglob("ascend_pytorch_profiler_*.db"))
        if change == "content":
            status = database.stat()
            content = bytearray(database.read_bytes())
            content[-10] ^= 1
            database.write_bytes(content)
            os.utime(database, ns=(status.st_atime_ns, status.st_mtime_ns))
        elif change == "time":
            os.utime(database)
        elif change == "metadata":
            (info,) = folder.glob("profiler_info_*.json")
            info.write_text(info.read_text().replace('"Level1"', '"Level2"'))
        else:
            shutil.rmtree(folder)
        cached_stores(find_runs(tmp_path / "new"), directory=tmp_path / "cache")
        assert len(builds) == 2

    @pytest.mark.slow
    @pytest.mark.parametrize("suffix", [".db", ".sqlite3"])
    def test_not_after_a_log_appeared(self, samples: Path, tmp_path: Path, builds: list[str], suffix: str) -> None:
        database = (tmp_path / "profile").with_suffix(suffix)
        shutil.copyfile(next((samples / "new").rglob("ascend_pytorch_profiler_*.db")), database)
        cached_stores(find_runs(database), directory=tmp_path / "cache")
        with closing(sqlite3.connect(database)) as con:
            con.execute("PRAGMA journal_mode = WAL")
            con.execute("PRAGMA wal_autocheckpoint = 0")
            before = database.read_bytes(), database.stat().st_mtime_ns
            cached_stores(find_runs(database), directory=tmp_path / "cache")
            con.execute("DELETE FROM STEP_TIME")
            con.commit()
            cached_stores(find_runs(database), directory=tmp_path / "cache")
            assert (database.read_bytes(), database.stat().st_mtime_ns) == before
        assert len(builds) == 3

    @pytest.mark.slow
    def test_a_rank_that_could_not_be_read_by_accident_is_read_again(
        self, samples: Path, tmp_path: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def disk_error(con: Any, capture: CaptureInput, number: int, report: Any) -> None:
            if capture.rank == 1:
                raise OSError(errno.EIO, "Input/output error")
            find_source(capture.source).fill(con, capture, number, report)

        runs = find_runs(samples / "new")
        flaky = partial(replace, fill=disk_error, fill_together=None)
        with monkeypatch.context() as patch:
            patch.setattr("rlcompare.store.capture_stage.find", lambda name: flaky(find_source(name)))
            stores = [cached_stores(runs, directory=tmp_path) for _ in range(2)]
        assert stores[0] == stores[1]  # it cannot be read yet
        assert rows(stores[0][0], "SELECT rank FROM capture") == [(0,)]
        (whole,) = cached_stores(runs, directory=tmp_path)
        assert rows(whole, "SELECT rank FROM capture ORDER BY rank") == [(0,), (1,)]
        assert cached_stores(runs, directory=tmp_path) == [whole]
        assert builds == ["new"] * 3
        assert {entry.path for entry in cache_entries(tmp_path)} == {whole, *stores[0]}

    @pytest.mark.slow
    def test_a_rank_of_which_a_file_could_not_be_read_by_accident_is_read_again(
        self, samples: Path, tmp_path: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def without_file(con: Any, capture: CaptureInput, number: int, report: Any) -> None:
            find_source(capture.source).fill(con, capture, number, report)
            report(Finding("warning", "unreadable_file", "analysis.db was left out", number, capture.rank == 1))

        runs = find_runs(samples / "new")
        flaky = partial(replace, fill=without_file, fill_together=None)
        with monkeypatch.context() as patch:
            patch.setattr("rlcompare.store.capture_stage.find", lambda name: flaky(find_source(name)))
            (lacking,) = cached_stores(runs, directory=tmp_path)
        assert rows(lacking, "SELECT rank FROM capture ORDER BY rank") == [(0,), (1,)]
        (whole,) = cached_stores(runs, directory=tmp_path)
        left_out = "SELECT capture FROM finding WHERE key = 'unreadable_file' ORDER BY ALL"
        assert rows(lacking, left_out) == [(0,), (1,)]
        assert rows(whole, left_out) == [(0,)], "rank 0 was read once"
        assert cached_stores(runs, directory=tmp_path) == [whole]
        assert builds == ["new"] * 2

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["metadata", "findings"])
    def test_a_table_that_could_not_be_read_by_accident_is_read_again(
        self, samples: Path, tmp_path: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        fetch = sqlite_input.fetch

        def disk_error(con: duckdb.DuckDBPyConnection, asked: str, *with_rows: Any) -> Any:
            if asked == f"sources/ascend_db/{name}":
                raise duckdb.Error("disk I/O error")
            return fetch(con, asked, *with_rows)

        runs = find_runs(samples / "new")
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_input, "fetch", disk_error)
            (lacking,) = cached_stores(runs, directory=tmp_path)
        ((message,), *_) = rows(lacking, "SELECT message FROM finding WHERE key = 'damaged_database'")
        assert message.endswith(f"is damaged (disk I/O error): the readable part is used, without {name}")
        (whole,) = cached_stores(runs, directory=tmp_path)
        assert rows(whole, "SELECT message FROM finding WHERE key = 'damaged_database'") == []
        assert cached_stores(runs, directory=tmp_path) == [whole]
        assert builds == ["new"] * 2

    def test_a_description_that_could_not_be_read_by_accident_is_read_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_run(tmp_path / "run", description())
        with monkeypatch.context() as patch:
            patch.setattr("rlcompare.sources.run_directory.json_object", lambda path: ({}, "Input/output error"))
            (refused,) = find_runs(tmp_path / "run")
        (known,) = find_runs(tmp_path / "run")
        assert fingerprint.fingerprint(refused).run != fingerprint.fingerprint(known).run

    @pytest.mark.slow
    def test_metrics_that_could_not_be_read_by_accident_are_read_again(
        self, samples: Path, tmp_path: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copytree(samples / "new", tmp_path / "new")
        write_metrics(tmp_path / "new" / "metrics.jsonl")
        runs = find_runs(tmp_path / "new")

        def disk_error(source: MetricsInput) -> NoReturn:
            raise InputError(source.files[0], "Input/output error", "Check it") from OSError(errno.EIO, "")

        with monkeypatch.context() as patch:
            patch.setattr("rlcompare.sources.metrics.load.read_metrics", disk_error)
            (lacking,) = cached_stores(runs, directory=tmp_path / "cache")
        (whole,) = cached_stores(runs, directory=tmp_path / "cache")
        assert [rows(store, "SELECT count(*) > 0 FROM metric") for store in (lacking, whole)] == [[(False,)], [(True,)]]
        assert cached_stores(runs, directory=tmp_path / "cache") == [whole]
        assert builds == ["metrics.jsonl"] * 2

    @pytest.mark.slow
    def test_selection_counts(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        cached_stores(find_runs(samples / "new"), directory=tmp_path)
        cached_stores(find_runs(samples / "new", ranks=frozenset({0})), directory=tmp_path)
        assert len(builds) == 2

    @pytest.mark.slow
    def test_one_with_events_serves_without(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        runs = find_runs(samples / "new")
        with_events = cached_stores(runs, directory=tmp_path, keep_events=True)
        assert cached_stores(runs, directory=tmp_path) == with_events
        assert builds == ["new"]

    @pytest.mark.slow
    def test_one_without_events_is_not_enough(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        runs = find_runs(samples / "new")
        assert cached_stores(runs, directory=tmp_path) != cached_stores(runs, directory=tmp_path, keep_events=True)
        assert builds == ["new", "new"]

    @pytest.mark.slow
    def test_changed_sql_outdates(
        self, samples: Path, tmp_path: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runs = find_runs(samples / "new")
        cached_stores(runs, directory=tmp_path)
        monkeypatch.setattr("rlcompare.store.fingerprint._filling_digest", lambda: "other")
        cached_stores(runs, directory=tmp_path)
        assert len(builds) == 2

    def test_the_key_covers_what_a_store_is_made_with(self, monkeypatch: pytest.MonkeyPatch) -> None:
        covered: list[Path] = []
        walk = fingerprint._walk

        def recorded(*arguments: Any) -> Any:
            for path in walk(*arguments):
                covered.append(Path(path))
                yield path

        monkeypatch.setattr(fingerprint, "_walk", recorded)
        fingerprint._filling_digest.__wrapped__()
        names = {"/".join(path.parts[-2:]) for path in covered}
        assert {"rlcompare/secret.py", "store/redaction.py", "sources/detect.py", "run/metric.sql"} <= names

    @pytest.mark.slow
    @pytest.mark.one_in(2)
    @pytest.mark.parametrize(
        ("command", "table"),
        [
            (["diff", "-d", "new", "-bp", "base"], "r_kernel"),
            (["show", "new"], "r_kernel"),
            (["sql", "new", "SELECT sum(start_ns), sum(end_ns), count(name) FROM kernel"], "kernel"),
        ],
    )
    def test_a_flipped_bit_is_noticed_when_it_is_read(
        self, rlcompare: Command, samples: Path, tmp_path: Path, builds: list[str], command: list[str], table: str
    ) -> None:
        for name in ("new", "base"):
            Path(name).symlink_to(samples / name)
        command = [*command, "--cache-dir", str(tmp_path / "cache")]
        first = rlcompare(*command)
        builds.clear()
        (store,) = (tmp_path / "cache").glob("new-*.duckdb")
        flip_a_bit(store, table)

        result = rlcompare(*command)

        assert (result.code, result.out) == (0, first.out)
        assert builds == ["new"]
        assert result.err == f"rlcompare: warning: {store} in the cache is damaged and is created again\n"
        assert rlcompare(*command).err == ""

    def test_an_input_in_the_cache_folder_is_never_removed(
        self, rlcompare: Command, samples: Path, tmp_path: Path
    ) -> None:
        good, bad = tmp_path / "cache" / "good.json", tmp_path / "cache" / "bad.json"
        good.parent.mkdir()
        kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10.0, "dur": 5.0}
        good.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [kernel | {"args": {"device": 0}}] * 9}))
        bad.write_bytes(good.read_bytes()[:60])

        result = rlcompare("diff", "-bp", good, "-d", bad, "--cache-dir", good.parent)

        assert result.code == 4
        assert "is damaged and is created again" not in result.err
        assert good.is_file() and bad.is_file()

    @pytest.mark.slow
    @pytest.mark.one_in(4)
    @pytest.mark.parametrize("damage", ["empty", "cut", "foreign"])
    @pytest.mark.parametrize(
        "command", [["diff", "-d", "new", "-bp", "base"], ["show", "new"], ["sql", "new", "FROM r_time ORDER BY ALL"]]
    )
    def test_damaged_stores_are_built_again(
        self, rlcompare: Command, samples: Path, tmp_path: Path, builds: list[str], command: list[str], damage: str
    ) -> None:
        for name in ("new", "base"):
            Path(name).symlink_to(samples / name)
        command = [*command, "--cache-dir", str(tmp_path / "cache")]
        first = rlcompare(*command)
        names = sorted(builds)
        builds.clear()
        stores = list((tmp_path / "cache").glob("*.duckdb"))
        for store in stores:
            if damage == "foreign":
                with duckdb.connect(str(store)) as con:
                    con.execute("DROP TABLE r_time; CREATE VIEW r_time AS SELECT 1 AS capture")
            else:
                store.write_bytes(store.read_bytes()[:5000] if damage == "cut" else b"")

        result = rlcompare(*command)

        assert (result.code, result.out) == (0, first.out)
        assert sorted(builds) == names
        for store in stores:
            assert f"rlcompare: warning: {store} in the cache is damaged and is created again\n" in result.err
        assert rlcompare(*command).err == ""

    @pytest.mark.slow
    def test_a_flipped_bit_in_a_store_that_was_named(self, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
        store = tmp_path / "run.duckdb"
        rlcompare("ingest", samples / "new", "-o", store)
        flip_a_bit(store, "r_kernel")

        for command in (["diff", "-d", store, "-bp", samples / "base"], ["show", store]):
            result = rlcompare(*command)
            assert result.code == 4
            assert f"{store}: the store is damaged" in result.error
            assert "rlcompare ingest" in result.error
        assert store.exists()

    @pytest.mark.slow
    def test_both_sides_the_same_are_built_once(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        runs = find_runs(samples / "new") * 2
        first, second = cached_stores(runs, directory=tmp_path)
        assert first == second
        assert builds == ["new"]


class TestBuilding:
    @pytest.mark.slow
    def test_progress_counts_all_captures(self, samples: Path, tmp_path: Path) -> None:
        seen: list[tuple[int, int]] = []
        runs = find_runs(samples / "new") + find_runs(samples / "base")
        cached_stores(runs, directory=tmp_path, progress=lambda done, total, _: seen.append((done, total)))
        assert seen == [(done, 4) for done in range(5)]

    @pytest.mark.slow
    def test_a_failure_leaves_nothing(self, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(parts: RunParts, *_files: Path, **_options: object) -> None:
            raise InputError(parts.run.root, "broken", "Mend it")

        monkeypatch.setattr("rlcompare.store.build.make_store", fail)
        with pytest.raises(InputError, match="broken"):
            cached_stores(find_runs(samples / "new") + find_runs(samples / "base"), directory=tmp_path)
        assert [path.name for path in content(tmp_path) if not path.name.startswith("pack-")] == []

    @pytest.mark.slow
    def test_two_at_once(self, samples: Path, tmp_path: Path) -> None:
        results: list[list[Path]] = []
        threads = [
            threading.Thread(
                target=lambda: results.append(cached_stores(find_runs(samples / "new"), directory=tmp_path))
            )
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 3
        assert len({tuple(result) for result in results}) == 1
        assert content(tmp_path) == [results[0][0]]

    @pytest.mark.slow
    def test_temporary_stores_go(self, samples: Path) -> None:
        with open_stores(find_runs(samples / "new"), directory=None) as (store,):
            assert store.is_file()
        assert not store.parent.exists()

    def test_a_folder_that_cannot_be_made(self, samples: Path, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match="--cache-dir or --no-cache"):
            cached_stores(find_runs(samples / "new"), directory=tmp_path / "file" / "cache")

    @pytest.mark.slow
    def test_private_to_the_user(self, samples: Path, tmp_path: Path) -> None:
        cached_stores(find_runs(samples / "new"), directory=tmp_path / "cache")
        assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


class TestPruning:
    def test_least_recently_used_go_first(self, tmp_path: Path) -> None:
        old, middle, fresh = (put(tmp_path, f"{age}-{KEY}.duckdb", 100, age) for age in (300, 200, 100))
        assert [entry.path for entry in cache_entries(tmp_path)] == [fresh, middle, old]
        assert [entry.path for entry in prune_cache(tmp_path, 250)] == [old]
        assert content(tmp_path) == sorted([fresh, middle])

    def test_what_is_in_use_stays(self, tmp_path: Path) -> None:
        old, fresh = (put(tmp_path, f"{age}-{KEY}.duckdb", 100, age) for age in (300, 100))
        prune_cache(tmp_path, 0, keep=[old])
        assert content(tmp_path) == [old]
        assert not fresh.exists()

    @pytest.mark.slow
    def test_use_makes_young(self, samples: Path, tmp_path: Path) -> None:
        (store,) = cached_stores(find_runs(samples / "new"), directory=tmp_path)
        os.utime(store, (1, 1))
        cached_stores(find_runs(samples / "new"), directory=tmp_path)
        assert time.time() - store.stat().st_mtime < 60

    @pytest.mark.slow
    def test_the_cap_holds_after_building(self, samples: Path, tmp_path: Path) -> None:
        old = put(tmp_path, f"old-{KEY}-events.duckdb", 1_000, 300)
        cached_stores(find_runs(samples / "new"), directory=tmp_path, max_bytes=1)
        assert not old.exists()
        assert len(content(tmp_path)) == 1

    def test_what_crashed_processes_left(self, tmp_path: Path) -> None:
        elsewhere = f"{os.getpid()}-1-{'5' * 12}"
        stale = put(tmp_path, f".a-{KEY}.duckdb.{elsewhere}-2f.partial", 10, 2 * 24 * 3600)
        young = put(tmp_path, f".b-{KEY}.duckdb.{elsewhere}-2f.partial", 10, 60)
        prune_cache(tmp_path, 10**9)
        assert (stale.exists(), young.exists()) == (False, True)

    @pytest.mark.parametrize(
        "name",
        [
            "notes.txt",
            "mine.duckdb",
            f"mine-{KEY[:-1]}.duckdb",
            f"{KEY}.duckdb.bak",
            ".x.partial",
            ".mine.duckdb.1.2.partial",
        ],
    )
    def test_nothing_else_is_touched(self, tmp_path: Path, name: str) -> None:
        other = put(tmp_path, name, 10, 10**6)
        prune_cache(tmp_path, 0)
        assert other.exists()

    @pytest.mark.slow
    def test_a_folder_that_is_not_ours_is_left_alone(self, samples: Path, tmp_path: Path) -> None:
        likewise = put(tmp_path, f"mine-{KEY}.duckdb", 10, 10**6)
        (tmp_path / MARKER).unlink()
        cached_stores(find_runs(samples / "new"), directory=tmp_path, max_bytes=1)
        assert likewise.exists()
        assert not (tmp_path / MARKER).exists()

    def test_a_link_is_not_a_store(self, tmp_path: Path) -> None:
        target = put(tmp_path / "elsewhere", "mine.duckdb", 10, 10**6)
        put(tmp_path, "notes.txt", 1, 1)
        (tmp_path / f"link-{KEY}.duckdb").symlink_to(target)
        prune_cache(tmp_path, 0)
        assert target.exists()


class TestCommand:
    @pytest.fixture
    def filled(self, rlcompare: Command, samples: Path, tmp_path: Path) -> Path:
        assert rlcompare("show", samples / "new", "--cache-dir", tmp_path / "cache").code == 0
        return tmp_path / "cache"

    def test_path(self, rlcompare: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RLCOMPARE_CACHE_DIR", "/somewhere")
        assert rlcompare("cache", "path").out == "/somewhere\n"

    @pytest.mark.slow
    def test_list(self, rlcompare: Command, filled: Path) -> None:
        (store,) = content(filled)
        lines = rlcompare("cache", "list", "--cache-dir", filled).out.splitlines()
        assert lines[0].endswith(store.name)
        assert "10,240.0 MiB" in lines[-1]

    @pytest.mark.slow
    def test_prune(self, rlcompare: Command, filled: Path) -> None:
        assert "removed 0 stores" in rlcompare("cache", "prune", "--max-size", "1G", "--cache-dir", filled).out
        assert "removed 0 stores" in rlcompare("cache", "prune", "--cache-dir", filled).out
        assert "removed 1 store," in rlcompare("cache", "prune", "--all", "--cache-dir", filled).out
        assert content(filled) == []

    def test_prune_of_a_folder_that_is_not_ours(self, rlcompare: Command, tmp_path: Path) -> None:
        mine = put(tmp_path / "mine", f"mine-{KEY}.duckdb", 10, 10)
        (tmp_path / "mine" / MARKER).unlink()
        result = rlcompare("cache", "prune", "--all", "--cache-dir", tmp_path / "mine")
        assert (result.code, mine.exists()) == (2, True)
        assert "nothing was removed" in result.error

    def test_all_or_a_size(self, rlcompare: Command) -> None:
        assert rlcompare("cache", "prune", "--all", "--max-size", "1G").code == 2

    @pytest.mark.slow
    def test_a_diff_deletes_nothing_of_others(self, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
        mine = put(tmp_path / "mine", "results.duckdb", 10, 10**6)
        (tmp_path / "mine" / MARKER).unlink()
        options = ("--cache-dir", tmp_path / "mine")
        assert rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", *options).code == 0
        assert mine.exists()

    @pytest.mark.parametrize("by", ["option", "variable"])
    def test_never_into_an_input(
        self, rlcompare: Command, samples: Path, monkeypatch: pytest.MonkeyPatch, by: str
    ) -> None:
        before = snapshot(samples)
        folder = samples / "new" / "cache"
        monkeypatch.setenv("RLCOMPARE_CACHE_DIR", str(folder))
        options = ("--cache-dir", folder) if by == "option" else ()
        for command in (("diff", "-d", samples / "new", "-bp", samples / "base"), ("show", samples / "new")):
            result = rlcompare(*command, *options)
            assert result.code == 2
            assert "into the input" in result.error
        assert snapshot(samples) == before

    @pytest.mark.slow
    def test_a_default_folder_that_cannot_be_made(
        self, rlcompare: Command, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.delenv("RLCOMPARE_CACHE_DIR")
        monkeypatch.setattr("rlcompare.store.cache.cache_directory", lambda _: tmp_path / "file" / "cache")
        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base")
        assert result.code == 0
        (line,) = result.err.splitlines()
        assert line.startswith("rlcompare: warning: the cache folder")

    def test_a_named_folder_that_cannot_be_made(
        self, rlcompare: Command, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("RLCOMPARE_CACHE_DIR", str(tmp_path / "file" / "cache"))
        result = rlcompare("show", samples / "new")
        assert result.code == 2
        assert "--cache-dir or --no-cache" in result.error

    @pytest.mark.slow
    def test_an_entry_that_is_a_folder(self, rlcompare: Command, samples: Path, filled: Path) -> None:
        (store,) = content(filled)
        store.unlink()
        store.mkdir()
        result = rlcompare("show", samples / "new", "--cache-dir", filled)
        assert result.code == 2
        assert store.name in result.error
        assert "--no-cache" in result.error

    @pytest.mark.parametrize("size", ["-1", "many", "1X"])
    def test_wrong_size(self, rlcompare: Command, size: str) -> None:
        assert rlcompare("cache", "prune", "--max-size", size).code == 2

    def test_a_folder_that_is_not_there(self, rlcompare: Command, tmp_path: Path) -> None:
        assert rlcompare("cache", "list", "--cache-dir", tmp_path / "none").code == 0
        assert not (tmp_path / "none").exists()


def test_a_failure_stops_the_other_workers(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, stopped = threading.Event(), threading.Event()

    def make_batch(batch: Batch, *, done: Callable[[Part], None], **_options: object) -> Iterator[BatchResult]:
        if started.is_set():
            raise InputError(batch.parts[0].capture.path, "broken", "Mend it")
        started.set()
        try:
            while True:
                done(batch.parts[0])
        except Cancelled:
            stopped.set()
            raise
        yield

    monkeypatch.setattr("rlcompare.store.engines.local.make_batch", make_batch)
    monkeypatch.setattr("rlcompare.store.parts.BATCH_CAPTURES", 2)
    runs = find_runs(samples / "base") + find_runs(samples / "new")
    with pytest.raises(InputError, match="broken"):
        cached_stores(runs, directory=tmp_path, engine=LocalEngine(workers=2))
    assert stopped.is_set()

"""The cache of stores: when one is used again, when not, and what is removed."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rlcompare.errors import InputError, UsageError
from rlcompare.sources.detect import find_runs
from rlcompare.store import cache
from rlcompare.store.cache import cache_directory, cache_entries, cached_stores, open_stores, prune_cache

from .conftest import Command


def put(folder: Path, name: str, size: int, age: float) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(b"\0" * size)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs whose stores are built."""
    names: list[str] = []
    build = cache.build_store

    def count(run, target, **options):  # type: ignore[no-untyped-def]
        names.append(run.name)
        build(run, target, **options)

    monkeypatch.setattr(cache, "build_store", count)
    return names


class TestDirectory:
    @pytest.mark.parametrize(
        ("environment", "platform", "expected"),
        [
            ({"XDG_CACHE_HOME": "/x"}, "linux", "/x/rlcompare"),
            ({"XDG_CACHE_HOME": "relative"}, "linux", "/h/.cache/rlcompare"),
            ({}, "linux", "/h/.cache/rlcompare"),
            ({"XDG_CACHE_HOME": "/x"}, "darwin", "/h/Library/Caches/rlcompare"),
            ({"LOCALAPPDATA": "/l"}, "win32", "/l/rlcompare/cache"),
            ({"RLCOMPARE_CACHE_DIR": "/r", "XDG_CACHE_HOME": "/x"}, "linux", "/r"),
        ],
    )
    def test_by_platform(
        self, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], platform: str, expected: str
    ) -> None:
        monkeypatch.setattr(Path, "home", lambda: Path("/h"))
        assert cache_directory(environment=environment, platform=platform) == Path(expected)

    def test_the_option_wins(self) -> None:
        assert cache_directory(Path("mine"), environment={"RLCOMPARE_CACHE_DIR": "/r"}) == Path("mine")

    def test_no_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def homeless() -> Path:
            raise RuntimeError

        monkeypatch.setattr(Path, "home", homeless)
        with pytest.raises(UsageError, match="--cache-dir"):
            cache_directory(environment={}, platform="linux")


class TestKeys:
    def test_used_again(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        runs = find_runs(samples / "new")
        first = cached_stores(runs, directory=tmp_path)
        assert cached_stores(find_runs(samples / "new"), directory=tmp_path) == first
        assert builds == ["new"]

    def test_wherever_the_input_lies(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        shutil.copytree(samples / "new", tmp_path / "elsewhere" / "new")
        for folder in (samples, tmp_path / "elsewhere"):
            cached_stores(find_runs(folder / "new"), directory=tmp_path / "cache")
        assert builds == ["new"]

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

    def test_selection_counts(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        cached_stores(find_runs(samples / "new"), directory=tmp_path)
        cached_stores(find_runs(samples / "new", ranks=frozenset({0})), directory=tmp_path)
        assert len(builds) == 2

    def test_one_with_events_serves_without(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        runs = find_runs(samples / "new")
        with_events = cached_stores(runs, directory=tmp_path, keep_events=True)
        assert cached_stores(runs, directory=tmp_path) == with_events
        assert builds == ["new"]

    def test_one_without_events_is_not_enough(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        runs = find_runs(samples / "new")
        assert cached_stores(runs, directory=tmp_path) != cached_stores(runs, directory=tmp_path, keep_events=True)
        assert builds == ["new", "new"]

    def test_changed_sql_outdates(
        self, samples: Path, tmp_path: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runs = find_runs(samples / "new")
        cached_stores(runs, directory=tmp_path)
        monkeypatch.setattr("rlcompare.store.fingerprint._filling_sql_digest", lambda: "other")
        cached_stores(runs, directory=tmp_path)
        assert len(builds) == 2

    def test_a_damaged_store_is_built_again(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        (store,) = cached_stores(find_runs(samples / "new"), directory=tmp_path)
        store.write_bytes(store.read_bytes()[:5000])
        cached_stores(find_runs(samples / "new"), directory=tmp_path)
        assert builds == ["new", "new"]

    def test_both_sides_the_same_are_built_once(self, samples: Path, tmp_path: Path, builds: list[str]) -> None:
        runs = find_runs(samples / "new") * 2
        first, second = cached_stores(runs, directory=tmp_path)
        assert first == second
        assert builds == ["new"]


class TestBuilding:
    def test_progress_counts_all_captures(self, samples: Path, tmp_path: Path) -> None:
        seen: list[tuple[int, int]] = []
        runs = find_runs(samples / "new") + find_runs(samples / "base")
        cached_stores(runs, directory=tmp_path, progress=lambda done, total, _: seen.append((done, total)))
        assert {total for _, total in seen} == {4}
        assert len(seen) == 4

    def test_a_failure_leaves_nothing(self, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(run, target, **_):  # type: ignore[no-untyped-def]
            raise InputError(run.root, "broken", "Mend it")

        monkeypatch.setattr(cache, "build_store", fail)
        with pytest.raises(InputError, match="broken"):
            cached_stores(find_runs(samples / "new") + find_runs(samples / "base"), directory=tmp_path)
        assert list(tmp_path.iterdir()) == []

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
        assert [path.name for path in tmp_path.iterdir()] == [results[0][0].name]

    def test_temporary_stores_go(self, samples: Path) -> None:
        with open_stores(find_runs(samples / "new"), directory=None) as (store,):
            assert store.is_file()
        assert not store.parent.exists()

    def test_a_folder_that_cannot_be_made(self, samples: Path, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match="--cache-dir or --no-cache"):
            cached_stores(find_runs(samples / "new"), directory=tmp_path / "file" / "cache")

    def test_private_to_the_user(self, samples: Path, tmp_path: Path) -> None:
        cached_stores(find_runs(samples / "new"), directory=tmp_path / "cache")
        assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


class TestPruning:
    def test_least_recently_used_go_first(self, tmp_path: Path) -> None:
        old, middle, fresh = (put(tmp_path, f"{age}.duckdb", 100, age) for age in (300, 200, 100))
        assert [entry.path for entry in cache_entries(tmp_path)] == [fresh, middle, old]
        assert [entry.path for entry in prune_cache(tmp_path, 250)] == [old]
        assert sorted(tmp_path.iterdir()) == sorted([fresh, middle])

    def test_what_is_in_use_stays(self, tmp_path: Path) -> None:
        old, fresh = (put(tmp_path, f"{age}.duckdb", 100, age) for age in (300, 100))
        prune_cache(tmp_path, 0, keep=[old])
        assert list(tmp_path.iterdir()) == [old]
        assert not fresh.exists()

    def test_use_makes_young(self, samples: Path, tmp_path: Path) -> None:
        (store,) = cached_stores(find_runs(samples / "new"), directory=tmp_path)
        os.utime(store, (1, 1))
        cached_stores(find_runs(samples / "new"), directory=tmp_path)
        assert time.time() - store.stat().st_mtime < 60

    def test_the_cap_holds_after_building(self, samples: Path, tmp_path: Path) -> None:
        old = put(tmp_path, "old.duckdb", 1_000, 300)
        cached_stores(find_runs(samples / "new"), directory=tmp_path, max_bytes=1)
        assert not old.exists()
        assert len(list(tmp_path.iterdir())) == 1

    def test_what_crashed_processes_left(self, tmp_path: Path) -> None:
        stale = put(tmp_path, ".a.duckdb.1.2.partial", 10, 2 * 24 * 3600)
        young = put(tmp_path, ".b.duckdb.1.2.partial", 10, 60)
        prune_cache(tmp_path, 10**9)
        assert (stale.exists(), young.exists()) == (False, True)

    def test_nothing_else_is_touched(self, tmp_path: Path) -> None:
        other = put(tmp_path, "notes.txt", 10, 10**6)
        prune_cache(tmp_path, 0)
        assert other.exists()


class TestCommand:
    @pytest.fixture
    def filled(self, rlcompare: Command, samples: Path, tmp_path: Path) -> Path:
        assert rlcompare("show", samples / "new", "--cache-dir", tmp_path / "cache").code == 0
        return tmp_path / "cache"

    def test_path(self, rlcompare: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RLCOMPARE_CACHE_DIR", "/somewhere")
        assert rlcompare("cache", "path").out == "/somewhere\n"

    def test_list(self, rlcompare: Command, filled: Path) -> None:
        (store,) = filled.iterdir()
        lines = rlcompare("cache", "list", "--cache-dir", filled).out.splitlines()
        assert lines[0].endswith(store.name)
        assert "10,240.0 MiB" in lines[-1]

    def test_prune(self, rlcompare: Command, filled: Path) -> None:
        assert "removed 0 stores" in rlcompare("cache", "prune", "--max-size", "1G", "--cache-dir", filled).out
        assert "removed 1 stores" in rlcompare("cache", "prune", "--cache-dir", filled).out
        assert list(filled.iterdir()) == []

    @pytest.mark.parametrize("size", ["-1", "many", "1X"])
    def test_wrong_size(self, rlcompare: Command, size: str) -> None:
        assert rlcompare("cache", "prune", "--max-size", size).code == 2

    def test_a_folder_that_is_not_there(self, rlcompare: Command, tmp_path: Path) -> None:
        assert rlcompare("cache", "list", "--cache-dir", tmp_path / "none").code == 0
        assert not (tmp_path / "none").exists()


def test_cancelled_builders_stop(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, stopped = threading.Event(), threading.Event()

    def build(run, target, *, progress: Callable[[int, int, str], None], **_: object) -> None:  # type: ignore[no-untyped-def]
        if run.name == "base":
            started.wait(10)
            raise InputError(run.root, "broken", "Mend it")
        started.set()
        for _ in range(1000):
            time.sleep(0.01)
            try:
                progress(0, 2, "rank")
            except Exception:
                stopped.set()
                raise

    monkeypatch.setattr(cache, "build_store", build)
    runs = find_runs(samples / "base") + find_runs(samples / "new")
    with pytest.raises(InputError, match="broken"):
        cached_stores(runs, directory=tmp_path)
    assert stopped.is_set()

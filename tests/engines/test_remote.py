"""Inputs that are named by URL, on a real object store of this machine."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rlcompare.cli.main import cli, run
from rlcompare.errors import InputError
from rlcompare.remote import copy, names_in, send, url_of
from rlcompare.store import capture_stage
from rlcompare.store.engines import local
from rlcompare.store.parts import Batch, BatchResult

pytestmark = pytest.mark.slow


def diff(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["diff", "-q", "--json", *arguments])
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


class TestUrls:
    @pytest.mark.parametrize(
        ("text", "url"),
        [
            ("s3://bucket/runs/new", "s3://bucket/runs/new"),
            ("gs://bucket/new", "gs://bucket/new"),
            ("file:///data/new", "file:///data/new"),
            ("runs/new", None),
            ("/runs/s3:new", None),
            ("C:/runs/new", None),
        ],
    )
    def test_recognised(self, text: str, url: str | None) -> None:
        assert url_of(Path(text)) == url

    def test_a_folder_of_that_name_is_a_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("s3:/bucket").mkdir(parents=True)
        assert url_of(Path("s3://bucket")) is None


class TestSend:
    def test_a_bucket_is_not_made(self, object_store: str, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("a")
        with pytest.raises(InputError, match="bucket"):
            send(tmp_path / "a", "s3://no-such-bucket/folder/a")
        assert names_in("s3://no-such-bucket") == []
        send(tmp_path / "a", f"{object_store}/new-folder/a")
        assert names_in(f"{object_store}/new-folder") == ["a"]

    def test_to_a_folder_of_this_machine(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("a")
        url = url_of(Path(f"file://{tmp_path}/new/folder/b"))
        assert url is not None
        send(tmp_path / "a", url)
        assert (tmp_path / "new" / "folder" / "b").read_text() == "a"


class TestSides:
    def test_the_same_diff(self, ranks: Path, object_store: str) -> None:
        here = diff("-bp", str(ranks / "baseline"), "-d", str(ranks / "new"), "--no-cache")
        there = diff("-bp", f"{object_store}/baseline", "-d", f"cann83={object_store}/new", "--no-cache")
        assert [side["runs"][0].pop("path") for side in (there["baseline"], there["new"])] == [
            f"{object_store}/baseline",
            f"{object_store}/new",
        ]
        assert [here[side]["runs"][0].pop("path") for side in ("baseline", "new")]
        assert (there["baseline"]["label"], there["new"]["label"]) == ("baseline", "cann83")
        there["new"]["label"] = "new"
        assert there == here

    def test_parts_in_the_cache_are_found_again(
        self, object_store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sides = ("-bp", f"{object_store}/baseline", "-d", f"{object_store}/new", "--cache-dir", str(tmp_path))
        first = diff(*sides)
        monkeypatch.setattr("rlcompare.store.engines.local.make_batch", lambda *_, **__: pytest.fail("read again"))
        assert diff(*sides) == first

    def test_one_run(self, object_store: str) -> None:
        result = CliRunner().invoke(cli, ["show", "-q", f"{object_store}/new", "--no-cache", "--json"])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["ranks"]

    def test_a_database_comes_with_its_log(self, tmp_path: Path) -> None:
        database = tmp_path / "run.sqlite3"
        with closing(sqlite3.connect(database)) as con:
            con.execute("PRAGMA journal_mode = WAL")
            con.execute("PRAGMA wal_autocheckpoint = 0")
            con.execute("CREATE TABLE kernel (name)")
            con.commit()
            copy(database.as_uri(), tmp_path / "copy" / "other.db")
        with closing(sqlite3.connect(tmp_path / "copy" / "other.db")) as con:
            assert con.execute("SELECT count(*) FROM kernel").fetchone() == (0,)


class TestSharedCache:
    @pytest.fixture(autouse=True)
    def machines(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
        """Goes to another machine: one with a cache folder of its own, which is returned."""

        def change(name: str) -> Path:
            monkeypatch.setenv("RLCOMPARE_CACHE_DIR", str(tmp_path / name))
            return tmp_path / name

        return change

    def test_what_one_machine_read_no_other_reads(
        self, ranks: Path, object_store: str, machines: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cache = f"{object_store}-cache"
        sides = ("-bp", str(ranks / "baseline"), "-d", str(ranks / "new"), "--cache-dir", cache)
        machines("first")
        first = diff(*sides)
        machines("second")
        monkeypatch.setattr("rlcompare.store.build.make_store", lambda *_, **__: pytest.fail("made again"))
        assert diff(*sides) == first

    def test_one_more_rank_is_read_alone(
        self, ranks: Path, object_store: str, machines: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cache = f"{object_store}-more"
        machines("first")
        few = ["show", "-q", "--json", str(ranks / "new"), "--cache-dir", cache, "--rank", "0-4"]
        assert CliRunner().invoke(cli, few).exit_code == 0
        machines("second")
        read: list[str] = []
        make_batch = capture_stage.make_batch

        def count(batch: Batch, **options: Any) -> Iterator[BatchResult]:
            read.extend(part.capture.path.name for part in batch.parts)
            yield from make_batch(batch, **options)

        monkeypatch.setattr(local, "make_batch", count)
        result = CliRunner().invoke(cli, [*few[:-2]])
        assert result.exit_code == 0, result.output
        assert len(read) == 1
        assert [row["rank"] for row in json.loads(result.stdout)["ranks"]] == [f"rank {rank}" for rank in range(6)]

    def test_a_damaged_store_is_made_and_sent_again(
        self, ranks: Path, object_store: str, machines: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        import s3fs

        cache = f"{object_store}-damaged"
        command = ["show", "-q", "--json", str(ranks / "new"), "--cache-dir", cache]
        machines("first")
        assert run(command) == 0
        made = capsys.readouterr().out
        storage = s3fs.S3FileSystem()
        (store,) = (name for name in storage.ls(cache) if name.endswith(".duckdb"))
        whole = storage.cat_file(store)
        storage.pipe(store, whole[: len(whole) // 2])
        machines("second")
        assert run(command) == 0
        out, err = capsys.readouterr()
        assert out == made
        assert err.count("is damaged and is created again") == 1
        machines("third")
        assert run(command) == 0
        assert capsys.readouterr() == (made, "")

    def test_a_damaged_store_on_both_sides(
        self,
        ranks: Path,
        object_store: str,
        machines: Callable[[str], Path],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """An earlier command fetched it, and ended before it read it."""
        import s3fs

        cache = f"{object_store}-both"
        command = ["show", "-q", "--json", str(ranks / "new"), "--cache-dir", cache]
        folder = machines("first")
        assert run(command) == 0
        made = capsys.readouterr().out
        (store,) = folder.glob("*.duckdb")
        whole = store.read_bytes()
        store.write_bytes(whole[: len(whole) // 2])
        s3fs.S3FileSystem().put_file(str(store), f"{cache}/{store.name}")
        assert run(command) == 0
        assert capsys.readouterr().out == made
        assert len(s3fs.S3FileSystem().cat_file(f"{cache}/{store.name}")) > len(whole) // 2

    def test_a_cache_that_cannot_be_reached(self, ranks: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["show", str(ranks / "new"), "--cache-dir", "nothing://bucket/cache"]) == 2
        assert "nothing://bucket/cache: Protocol not known: nothing" in capsys.readouterr().err


class TestWhatCannotBeRead:
    def test_nothing_there(self, object_store: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["show", f"{object_store}/nowhere"]) == 4
        assert f"{object_store}/nowhere: there is no such file or folder" in capsys.readouterr().err

    def test_messages_name_the_url(self, object_store: str, capsys: pytest.CaptureFixture[str]) -> None:
        import s3fs

        s3fs.S3FileSystem().pipe("profiles/odd/kernel_details.csv", b"not a profile")
        assert run(["show", "s3://profiles/odd", "--no-cache"]) == 4
        error = capsys.readouterr().err
        assert "s3://profiles/odd" in error
        assert "rlcompare-" not in error

    def test_the_report_folder_is_checked_before_anything_is_fetched(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "mine.txt").write_text("not a report")
        sides = ["-d", "s3://nowhere/new", "-bp", "s3://nowhere/base"]
        assert run(["diff", *sides, "-o", str(tmp_path)]) == 2
        assert "holds files that rlcompare did not write" in capsys.readouterr().err

    def test_an_unknown_storage(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["show", "nothing://bucket/x"]) == 2
        assert "nothing://bucket/x: Protocol not known: nothing" in capsys.readouterr().err

    def test_names_that_lead_out_of_the_copy_are_left(self, object_store: str, tmp_path: Path) -> None:
        import s3fs

        storage = s3fs.S3FileSystem()
        storage.pipe("profiles/evil/../../out.csv", b"x")
        storage.pipe("profiles/evil/in.csv", b"x")
        copy("s3://profiles/evil", tmp_path / "a" / "b")
        written = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert written == [tmp_path / "a" / "b" / "in.csv"]

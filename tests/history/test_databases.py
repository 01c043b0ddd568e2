"""A history in a DuckDB file and in PostgreSQL: the same answers, no lost runs, no passwords in messages."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

from rlcompare import db
from rlcompare.cli.main import run as rlcompare
from rlcompare.compare.estimate import Spread
from rlcompare.errors import InputError, RlcompareError
from rlcompare.history import database, store
from rlcompare.history.environment import environment_of
from rlcompare.history.place import Place, place_of
from rlcompare.history.records import UNSTABLE
from rlcompare.history.spread import series_of, spread_of
from tests.history.conftest import PASSWORD, QUOTED, Server
from tests.history.examples import HEADLINE, new_run, noisy

STEPS = noisy(random.Random(4), 50, 0.02, slow=0.1, at=35, change=0.1)


def fill(place: Place) -> None:
    """50 runs with a change at run 36 that came with another torch_npu, one unstable run, two environments."""
    runs = [
        new_run(
            number,
            {HEADLINE: value, "timing_s/gen": value / 3, "größe": number / 7},
            torch_npu="2.5.1" if number < 36 else "2.7.1",
        )
        for number, value in enumerate(STEPS, 1)
    ]
    store.add(place, runs[:20])
    store.add(place, [*runs[20:], new_run(90, status=UNSTABLE), new_run(91, chip="910C")])


@pytest.fixture
def file(tmp_path: Path) -> Place:
    return place_of(str(tmp_path / "history.duckdb"))


@pytest.fixture
def postgres(server: Server) -> Place:
    """An empty database of the server."""
    with duckdb.connect(config={"allow_unsigned_extensions": True}) as con:
        db._load(con, _extension(), db.POSTGRES_EXTENSION)
        con.execute(f"ATTACH '{server.url()}' AS pg (TYPE postgres)")
        con.execute("DROP SCHEMA IF EXISTS pg.rlcompare CASCADE")
    return place_of(server.url())


def _extension() -> str:
    import duckdb_extension_postgres_scanner

    return str(duckdb_extension_postgres_scanner.__file__)


def test_what_is_read_is_what_was_added(file: Place) -> None:
    added = [new_run(1), new_run(2, {"a": 0.1, "b": 1e-300, "c": -1e100}), new_run(3, status=UNSTABLE)]
    assert [one.number for one in store.add(file, added)] == [1, 2, 3]
    found = store.load(file)
    assert [(run.run, run.number, run.commit_id, run.status) for run in found.runs] == [
        (run.content, number, run.commit_id, run.status) for number, run in enumerate(added, 1)
    ]
    assert {one.metric: one.values for one in found.series} == {
        HEADLINE: [30.1], "timing_s/gen": [10.0], "a": [0.1], "b": [1e-300], "c": [-1e100],
    }  # fmt: skip
    assert {run.environment for run in found.runs} == {environment_of(added[0].settings)}


def test_a_run_is_stored_once(file: Place) -> None:
    (first,) = store.add(file, [new_run(1)])
    again, other = store.add(file, [new_run(1), new_run(2)])
    assert first.known_since_ns is None
    assert (again.number, again.known_since_ns is None) == (1, False)
    assert (other.number, other.known_since_ns) == (2, None)
    assert len(store.load(file).runs) == 2


def test_all_or_none_is_added(file: Place) -> None:
    store.add(file, [new_run(1)])
    with pytest.raises(RlcompareError, match="NOT NULL"):
        store.add(file, [new_run(2), new_run(3, chip=None)])  # type: ignore[arg-type]
    assert len(store.load(file).runs) == 1


@pytest.mark.parametrize("value", ["nan", "inf", "1e307"])
def test_values_that_no_job_has_do_not_count(file: Place, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill(file)
    with duckdb.connect(str(file.file)) as con:
        con.execute(f"UPDATE rlcompare.history_value SET value = '{value}' WHERE rowid % 7 = 3")
    for command in (["plot", HEADLINE], ["changes"]):
        assert rlcompare(["history", *command, "--history", str(file.file)]) in (0, 1), capsys.readouterr().err
    assert "nan" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    ["history_run ALTER started_ns TYPE VARCHAR", "history_value ALTER value TYPE VARCHAR",
     "history_run ALTER headline DROP NOT NULL", "history_run RENAME commit_id TO x"],
)  # fmt: skip
def test_tables_with_other_columns_are_refused(file: Place, change: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill(file)
    with duckdb.connect(str(file.file)) as con:
        con.execute(f"ALTER TABLE rlcompare.{change}")
    assert rlcompare(["history", "show", "--history", str(file.file)]) == 4
    with pytest.raises(InputError):
        store.add(file, [new_run(99)])


def test_environments_and_what_may_vary(file: Place) -> None:
    """GIVEN runs with another chip, configuration, version or seed, the first two are runs of other environments."""
    others = [{"chip": "910C"}, {"data.train_batch_size": "8"}, {"torch_npu": "2.9.0"}, {"data.seed": "7"}, {}]
    runs = [new_run(number, None, **settings) for number, settings in enumerate(others, 1)]
    store.add(file, runs)
    found = [run.environment for run in store.load(file).runs]
    assert found == [environment_of(run.settings) for run in runs]
    assert len(set(found)) == 3
    assert found[2] == found[3] == found[4]
    for varied in (("chip", "data"), ("ch*", "data.train_batch_size")):
        assert len({run.environment for run in store.load(file, varied).runs}) == 1


def test_an_upgrade_of_the_trainer_that_adds_settings_begins_no_environment(file: Place) -> None:
    """GIVEN runs before and after an upgrade of verl, which adds settings, they are of one environment.

    A run of the new release with another value of such a setting is of another one, and so is a run in which a user
    sets what other runs of the same release do not have.
    """
    old = {"verl": "0.6.0", "data.train_batch_size": "64"}
    new = {"verl": "0.7.0", "data.train_batch_size": "64", "actor_rollout_ref.new": "1", "critic.new": "x"}
    given = [
        old,
        new,
        {**new, "critic.new": "y"},  # of the new release, but not the same
        {**old, "data.extra": "1"},  # what the user added
        {**new, "verl": "0.8.0", "algorithm.newer": "2"},
        {**new, "verl": "0.8.0", "algorithm.newer": "3", "data.train_batch_size": "8"},
        {"data.train_batch_size": "64", "actor_rollout_ref.new": "1"},  # of an unknown release
        {**old, "env.HCCL_ALGO": "ring"},
        {**new, "env.HCCL_ALGO": "ring"},
    ]
    store.add(file, [new_run(number, None, **settings) for number, settings in enumerate(given, 1)])
    runs = store.load(file).runs
    first = [run.environment for run in runs].index
    assert [first(run.environment) for run in runs] == [0, 0, 2, 3, 0, 5, 6, 7, 7]
    assert runs[0].environment == environment_of(new_run(1, None, **old).settings)
    varied = store.load(file, ("critic",)).runs
    assert varied[0].environment == varied[1].environment == varied[2].environment
    coming = new_run(10, None, **{**new, "verl": "0.9.0", "reward.later": "3"}).settings
    assert [one.numbers for one in series_of(file, [HEADLINE], coming)] == [[1, 2, 5]]
    assert series_of(file, [HEADLINE], {**coming, "data.train_batch_size": "9"}) == []


def run_spread(place: Place, metric: str, settings: Mapping[str, str]) -> Spread | None:
    return next(map(spread_of, series_of(place, [metric], settings)), None)


def test_the_spread_of_an_environment(file: Place) -> None:
    fill(file)
    settings = new_run(1).settings
    found = run_spread(file, HEADLINE, settings)
    assert found is not None
    assert (found.source, found.freedom) == ("the history of 50 runs", 47)
    assert 0.02 < found.value < 0.09
    assert run_spread(file, HEADLINE, {**settings, "chip": "910C"}) is None
    assert run_spread(file, "timing_s/other", settings) is None


def outputs(place: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What each command prints, with its exit code."""
    made = []
    for command in (["show", HEADLINE, "g*"], ["plot", "größe"], ["changes", "--last", "5"]):
        for form in ([], ["--json"]):
            code = rlcompare(["history", *command, *form, "--history", place])
            made.append(f"{code}\n{capsys.readouterr().out}")
    return made


@pytest.mark.slow
def test_postgresql_gives_the_same_answers(file: Place, postgres: Place, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (file, postgres):
        fill(place)
        store.acknowledge(place, 36, "the new torch_npu is needed", "2199-12-31", "Ann")
    assert postgres.url is not None
    first, second = outputs(str(file.file), capsys), outputs(postgres.url, capsys)
    assert first == second
    (change,) = json.loads(first[-1].partition("\n")[2])["changes"]
    assert (change["since"]["run"], change["acknowledged"]["reason"]) == (36, "the new torch_npu is needed")
    settings = new_run(1).settings
    assert run_spread(file, HEADLINE, settings) == run_spread(postgres, HEADLINE, settings) is not None


WRITER = """
import sys
from rlcompare.history import database, store
from rlcompare.history.place import place_of
from tests.history.examples import new_run
place, first, kind = place_of(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if kind == "locked":
    database._AT_ONCE = ()
print("ready", flush=True)
sys.stdin.readline()
for number in range(first, first + 6):
    store.add(place, [new_run(number), new_run(1000)])
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "postgres", "locked"])
def test_writers_at_once_lose_nothing(kind: str, request: pytest.FixtureRequest) -> None:
    """Three processes add six runs each, one by one, to a history that none of them finds; all add one more.

    "locked": a server that says what is wrong in another language, so that only its lock keeps writers apart.
    """
    place: Place = request.getfixturevalue("file" if kind == "file" else "postgres")
    where = place.url or str(place.file)
    if kind == "locked":
        store.add(place, [new_run(1000)])
    command = [sys.executable, "-c", WRITER, where]
    processes = [
        subprocess.Popen([*command, str(first), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for first in (100, 200, 300)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    runs = store.load(place).runs
    assert len(runs) == 19
    assert sorted(run.number for run in runs) == list(range(1, 20))
    assert {run.name for run in runs} == {f"run{first + of}" for first in (100, 200, 300) for of in range(6)} | {
        "run1000"
    }


def test_a_new_file_appears_complete(file: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody finds a file that is no database yet; and whoever is second adds to what the first one made."""
    link, found = os.link, list[object]()

    def slow_link(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        found.append(target.exists())
        with duckdb.connect(str(source), read_only=True) as con:
            found.append(con.execute("SELECT count(*) FROM duckdb_tables()").fetchone())
        store.add(file, [new_run(2)])
        link(source, target)

    monkeypatch.setattr(os, "link", slow_link)
    store.add(file, [new_run(1)])
    assert found == [False, (0,)]
    assert file.file is not None
    assert {run.name: run.number for run in store.load(file).runs} == {"run2": 1, "run1": 2}
    assert list(file.file.parent.iterdir()) == [file.file]


@pytest.mark.parametrize("owner, name", [(os, "link"), (Path, "unlink")])
def test_a_disk_that_refuses_what_is_made_beside(
    file: Place, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    """No hard links; or a disk that can only be read, which refuses to remove even what is not there. What opening the
    history says then counts."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), ".history.partial")

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, refuse)
        store.add(file, [new_run(1)])
    assert [run.name for run in store.load(file).runs] == ["run1"]


def test_a_file_in_use_is_said(file: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process keeps the file open."""
    store.add(file, [new_run(1)])
    code = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(file.file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        monkeypatch.setattr(database, "WAIT_SECONDS", 0.1)
        for use in (lambda: store.load(file), lambda: store.add(file, [new_run(2)])):
            with pytest.raises(RlcompareError, match=rf"another process has used it.*PID {other.pid}"):
                use()
        other.communicate("")
    assert len(store.load(file).runs) == 1


@pytest.mark.parametrize("password", ["wr@ng-4711", "wr%40ng-4711"])
def test_passwords_are_in_no_message(server: Server, password: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither as written in the URL nor decoded, not even with --debug."""
    given = password.replace("@", "%40")
    assert rlcompare(["history", "show", "--debug", "--history", server.url(password=given)]) == 4
    closed = server.url(password=given).replace(f":{server.port}", ":1") + f"?sslpassword={given}"
    assert rlcompare(["history", "changes", "--debug", "--history", closed]) == 4
    assert rlcompare(["history", "changes", "--debug", "--history", f"postgresql://team:{given}@[::1/x"]) == 2
    found = "".join(capfd.readouterr())
    assert "password authentication failed" in found
    assert f"postgresql://team@127.0.0.1:{server.port}/postgres" in found
    for secret in ("wr@ng", "wr%40ng", PASSWORD, QUOTED):
        assert secret not in found


def test_what_is_no_history_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.duckdb").write_text("this is no database")
    with duckdb.connect(str(tmp_path / "other.duckdb")) as con:
        con.execute("CREATE TABLE kernel (name VARCHAR)")
    with duckdb.connect(str(tmp_path / "view.duckdb")) as con:
        con.execute("CREATE SCHEMA rlcompare; CREATE VIEW rlcompare.history_run AS SELECT 1 AS run")
    for name in ("text", "other", "view"):
        place = place_of(str(tmp_path / f"{name}.duckdb"))
        before = (tmp_path / f"{name}.duckdb").read_bytes()
        for use in (lambda place=place: store.load(place), lambda place=place: store.add(place, [new_run(1)])):
            with pytest.raises(InputError):
                use()
        assert (tmp_path / f"{name}.duckdb").read_bytes() == before
    with pytest.raises(InputError, match="there is no history yet"):
        store.load(place_of(str(tmp_path / "absent.duckdb")))
    assert not (tmp_path / "absent.duckdb").exists()

"""Captures with so many long names that they are cut: no name is mistaken for another, and both sides have the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import md5
from pathlib import Path

import pytest

from rlcompare.model.diff import Diff
from rlcompare.store import new_file
from rlcompare.writer import SampleRun, write_sample
from tests.sql.rollup_stores import compared
from tests.stores import rows, store_of

NAMES, LENGTH = 60, 1_000
LIMIT = NAMES * LENGTH * 3 // 4

SECRET = "api_key=sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"


def name_of(number: int) -> str:
    """They differ at the end only, and end with a running number."""
    return "void kernel<" + "Tensor, " * ((LENGTH - 40) // 8) + f"{number:06}x>_{number}"


def profile(folder: Path, names: int, secret: str | None = None) -> Path:
    """A sample whose kernels get these names, each one once."""
    spec = SampleRun(ranks=(0,), phases=("update_actor",), steps=(2,), contents=("npu",), layers=1, decode_steps=1)
    (capture,) = write_sample(spec, folder)
    (database,) = (capture / "ASCEND_PROFILER_OUTPUT").glob("ascend_pytorch_profiler*.db")
    with closing(sqlite3.connect(database)) as con:
        (first,) = con.execute("SELECT max(id) + 1 FROM STRING_IDS").fetchone()
        given = [name_of(number) for number in range(names)]
        if secret is not None:  # where a cut name ends
            given[-1] = f"kernel<{'x' * 80}{secret}{'x' * LENGTH}>"
        con.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", enumerate(given, first))
        task, end = con.execute("SELECT max(globalTaskId), max(endNs) FROM TASK").fetchone()
        columns = [row[1] for row in con.execute("PRAGMA table_info(TASK)")]
        (pattern,) = con.execute(
            "SELECT TASK.rowid FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId) ORDER BY startNs LIMIT 1"
        ).fetchone()
        for number in range(names):
            new = {"startNs": f"{end + 1000 * number}", "endNs": f"{end + 1000 * number + 100 + number}",
                   "globalTaskId": f"{task + 1 + number}"}  # fmt: skip
            values = ", ".join(new.get(column, column) for column in columns)
            con.execute(f"INSERT INTO TASK SELECT {values} FROM TASK WHERE rowid = {pattern}")
        columns = [row[1] for row in con.execute("PRAGMA table_info(COMPUTE_TASK_INFO)")]
        for number in range(names):
            new = {"globalTaskId": f"{task + 1 + number}", "name": f"{first + number}", "opType": f"{first + number}"}
            values = ", ".join(new.get(column, column) for column in columns)
            con.execute(f"INSERT INTO COMPUTE_TASK_INFO SELECT {values} FROM COMPUTE_TASK_INFO LIMIT 1")
        con.execute("UPDATE STEP_TIME SET endNs = ?", [end + 1000 * names + 5000])
        con.execute("UPDATE SESSION_TIME_INFO SET endTimeNs = ?", [end + 1000 * names + 5000])
        con.commit()
    return folder


@pytest.fixture(scope="module", autouse=True)
def limit() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(new_file, "MOST_LONG_TEXT", LIMIT)
        yield


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    return store_of(profile(folder / "run", NAMES, SECRET), folder / "run.duckdb")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same kernels, but for the second half of them: the texts are few enough."""
    folder = tmp_path_factory.mktemp("few")
    return store_of(profile(folder / "run", NAMES // 2), folder / "run.duckdb")


@pytest.mark.slow
def test_each_name_is_told_from_the_others(cut: Path) -> None:
    long = "starts_with(name, 'void kernel<')"
    found = rows(
        cut, f"SELECT count(DISTINCT name), count(DISTINCT op_type), max(length(name)) FROM kernel WHERE {long}"
    )
    assert found == [(NAMES - 1, NAMES - 1, 128)] or found == [(NAMES - 1, NAMES - 1, 127)]
    (finding,) = rows(cut, "SELECT severity, message FROM finding WHERE key = 'short_names'")
    assert finding[0] == "info"
    assert f"({NAMES - 1:d})" in finding[1]


def test_a_cut_name_has_its_start_and_its_hash(cut: Path) -> None:
    bare = name_of(7).rpartition("_")[0]
    name = f"{bare[:112]}…({md5(bare.encode()).hexdigest()[:12]})"
    assert rows(cut, "SELECT sum(sum_ns), sum(calls) FROM r_kernel WHERE name = ?", [name]) == [(107, 1)]


def test_times_are_those_of_whole_names(cut: Path) -> None:
    assert rows(cut, "SELECT sum(sum_ns) FROM r_kernel WHERE starts_with(name, 'void kernel<')") == [
        (sum(range(100, 100 + NAMES - 1)),)
    ]


def test_no_part_of_a_secret_is_left(cut: Path) -> None:
    content = cut.read_bytes()
    for length in (len(SECRET), 20, 14):
        assert SECRET[8 : 8 + length].encode() not in content


@pytest.mark.slow
def test_few_long_names_stay_whole(whole: Path) -> None:
    long = "SELECT max(length(name)) FROM kernel WHERE starts_with(name, 'void kernel<')"
    assert rows(whole, long) == [(len(name_of(NAMES // 2 - 1)),)]
    assert rows(whole, "SELECT count(*) FROM finding WHERE key = 'short_names'") == [(0,)]


@pytest.fixture(scope="module", params=["cut side first", "whole side first"])
def diff(request: pytest.FixtureRequest, cut: Path, whole: Path) -> Diff:
    return compared(cut, whole) if request.param == "cut side first" else compared(whole, cut)


@pytest.mark.parametrize("section", ["kernels", "kernel_types", "account", "msprof"])
def test_a_side_with_whole_names_meets_one_with_cut_names(diff: Diff, section: str) -> None:
    found = [row for row in diff.sections[section].rows if str(row["name"]).startswith("void kernel<")]
    both = [row for row in found if row["presence"] == "both"]
    assert both
    assert len({row["name"] for row in found}) == NAMES - 1
    assert len({row["name"] for row in both}) == NAMES // 2
    assert all(row["delta"] == 0 for row in both if row.get("kind") in (None, "compute"))

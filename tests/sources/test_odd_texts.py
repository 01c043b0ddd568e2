"""Settings, logs and tables that are legal and odd: they are read or refused, and large ones end."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from rlcompare.cli.main import run

HEX = f"0x{'f' * 4000}"


def log(folder: Path, head: str = "", day: str = "2025-01-01") -> None:
    folder.mkdir(exist_ok=True)
    lines = (f"{day} 00:00:{n:02}Z step:{n} - timing_s/step:1.5 - timing_s/gen:0.5\n" for n in range(1, 20))
    (folder / "job.log").write_text(head + "".join(lines))


@pytest.mark.parametrize(
    ("name", "text"),
    [("config.yaml", "5\n"), ("overrides.yaml", "true\n"), ("config.yaml", f"data: {{x: {HEX}}}\n"),
     ("config.yaml", "global_profiler: {tool: npu, steps: [100000000000000000000000]}\n")],
)  # fmt: skip
def test_settings_of_hydra(tmp_path: Path, name: str, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    log(tmp_path / "job")
    (tmp_path / "job/.hydra").mkdir()
    (tmp_path / "job/.hydra" / name).write_text(text)
    code = run(["ingest", "-q", str(tmp_path / "job"), "-o", str(tmp_path / "run.duckdb")])
    assert code == 0, capfd.readouterr().err


@pytest.mark.parametrize(
    "head",
    [f"{{'actor_rollout_ref': {{'x': {HEX}}}}}\n",
     "{'actor_rollout_ref': {'x': 1},\n 'global_profiler': {'tool': 'npu', 'steps': [100000000000000000000000]}}\n"],
    ids=["a number of 4,000 digits", "a step beyond all"],
)  # fmt: skip
def test_printed_settings(tmp_path: Path, head: str, capfd: pytest.CaptureFixture[str]) -> None:
    log(tmp_path / "job", head)
    code = run(["ingest", "-q", str(tmp_path / "job"), "-o", str(tmp_path / "run.duckdb")])
    assert code == 0, capfd.readouterr().err


@pytest.mark.parametrize("day", ["9999-01-01", "0001-01-01"])
def test_days_of_other_millennia(tmp_path: Path, day: str, capfd: pytest.CaptureFixture[str]) -> None:
    log(tmp_path / "job", day=day)
    samples = (f"2025-01-01T00:00:{n:02}Z\nvllm:num_requests_running {n}\n" for n in range(0, 30, 5))
    (tmp_path / "job/metrics.prom").write_text("".join(samples))
    code = run(["ingest", "-q", str(tmp_path / "job"), "-o", str(tmp_path / "run.duckdb")])
    assert code in (0, 4), capfd.readouterr().err


def _wide(path: Path) -> None:
    names = ",".join(f"a/{n}" for n in range(40_000))
    path.write_text(f"step,{names}\n" + f"1{',1' * 40_000}\n")


def _long_name(path: Path) -> None:
    name = "x" * 400_000
    path.write_text(f"step,timing_s/step,{name}/a_step,{name}/a_timestamp\n1,2,3,4\n2,2,3,4\n")


def _processes(path: Path) -> None:
    path.write_text("".join(f"(TaskRunner pid={n}) step:{n} - timing_s/step:1.5\n" for n in range(1, 15_000)))


def _runs(path: Path) -> None:
    with sqlite3.connect(path) as con:
        con.executescript(
            "CREATE TABLE experiments (experiment_id INTEGER, name TEXT);"
            "CREATE TABLE runs (run_uuid TEXT, name TEXT, experiment_id INTEGER, lifecycle_stage, start_time);"
            "CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER, is_nan);"
            "CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);"
        )
        con.executemany("INSERT INTO runs VALUES (?, 'a', 1, 'active', 1)", ([f"r{n}"] for n in range(20_000)))
        rows = ([f"m/{n % 10}", n // 10] for n in range(20_000))
        con.executemany("INSERT INTO metrics VALUES (?, 1.0, 1, 'r0', ?, FALSE)", rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "write"),
    [("wide.csv", _wide), ("long.csv", _long_name), ("job.log", _processes), ("mlflow.db", _runs)],
)
def test_large_ones_end(
    tmp_path: Path, name: str, write: Callable[[Path], None], capfd: pytest.CaptureFixture[str]
) -> None:
    """Each took 30 s to two minutes, as its time grew with the square of its size."""
    write(tmp_path / name)
    code = run(["ingest", "-q", str(tmp_path / name), "-o", str(tmp_path / "run.duckdb")])
    assert code in (0, 2, 4), capfd.readouterr().err


@pytest.mark.slow
def test_a_value_of_any_length(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A computed column takes no place in the file."""
    path = tmp_path / "trackio.db"
    with sqlite3.connect(path) as con:
        value = """AS ('{"timing_s/step":1.' || hex(zeroblob(240000000)) || '}')"""
        columns = f"id INTEGER PRIMARY KEY, step INTEGER, run_name TEXT, timestamp TEXT, metrics TEXT {value}"
        con.execute(f"CREATE TABLE metrics({columns})")
        con.execute("CREATE TABLE configs(id INTEGER PRIMARY KEY, run_name TEXT, config TEXT, created_at TEXT)")
        con.execute("INSERT INTO metrics(step, run_name, timestamp) VALUES (1, 'a', '2025-01-01T00:00:00')")
    assert run(["ingest", "-q", str(path), "-o", str(tmp_path / "run.duckdb")]) == 4

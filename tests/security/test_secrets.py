"""Secrets in every text of an input reach no output: they are planted, and then searched in all that is written."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rlcompare.cli.diff import FORMATS
from rlcompare.sources.detect import find_runs
from rlcompare.store.build import build_stores
from rlcompare.store.engines.local import LocalEngine
from rlcompare.writer import SampleRun, write_sample
from tests.cli.conftest import Command, ranks_of
from tests.run_directories import description, write_run
from tests.sources.nsys_exports import training_step as nsys_step
from tests.sources.test_tracker_exports import BEGIN, configuration, history, record_file
from tests.stores import rows
from tests.verl_logs import console_log, mlflow_database, training_step

S = "S3cr3tV9Qa"
"""Part of every planted secret."""

FORMS = (
    "HF_TOKEN=hf_{}", "--api-key {}", "https://user:{}@host/x", "Authorization: Bearer {}", "password='{}'",
    '{{"wandb_api_key": "{}"}}', "-H 'X-Api-Key: {}'", "mysql -p{} db", "hf_{}abcdefghijklmnop", "sk-proj-{}0123456789",
)  # fmt: skip


NAMES = ("name", "op name", "kernel name", "api name", "call stack", "component", "input shapes")
"""Columns of Ascend's tables that hold texts."""


class Planter:
    """Adds a secret to texts, each in another form."""

    def __init__(self) -> None:
        self._forms = (FORMS[number % len(FORMS)].format(f"{S}{number}") for number in count())
        self.planted = 0

    def text(self, text: str) -> str:
        self.planted += 1
        return f"{text} {next(self._forms)}"

    def json(self, value: Any) -> Any:
        """Every string of a document that is not a number, and a secret beside them."""
        if isinstance(value, dict):
            made = {key: inner if key in ("ph", "cat", "id") else self.json(inner) for key, inner in value.items()}
            return {**made, "note": self.text("note")} if len(value) > 2 else made
        if isinstance(value, list):
            return [self.json(inner) for inner in value]
        return self.text(value) if isinstance(value, str) and value[:1].isalpha() else value


def everything_in(folder: Path) -> Iterator[tuple[str, str]]:
    """The files below a folder with all their text: unpacked, and of a database all values."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.suffix == ".duckdb":
            yield path.name, _all_values(path)
            yield path.name, path.read_bytes().decode("utf-8", "replace")  # also what a changed value was before
        elif path.suffix == ".parquet":
            yield path.name, str(duckdb.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall())
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                yield path.name, "".join(packed.read(name).decode("utf-8", "replace") for name in packed.namelist())
        else:
            data = path.read_bytes()
            yield path.name, (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8", "replace")


def _all_values(path: Path) -> str:
    with duckdb.connect(str(path), read_only=True) as con:
        places = con.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL"
        ).fetchall()
        return str([con.execute(f'SELECT DISTINCT * FROM "{a}"."{b}"').fetchall() for a, b in places])


def assert_silent(folder: Path, *said: str) -> None:
    """No secret in what was written below a folder, nor in what was said."""
    for name, text in [*everything_in(folder), *(("the terminal", text) for text in said)]:
        place = text.find(S)
        assert place < 0, f"{name}: {text[max(place - 80, 0) : place + 40]!r}"


def ascend_text(folder: Path, planter: Planter) -> None:
    for database in folder.rglob("*.db"):
        database.unlink()
    for path in folder.rglob("*.json"):
        path.write_text(json.dumps(planter.json(json.loads(path.read_text()))))
    for path in folder.rglob("*.csv"):
        with path.open(newline="") as stream:
            header, *rows = list(csv.reader(stream))
        named = [name.lower() in NAMES for name in header]
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerow(header)
            for row in rows:
                pairs = zip(row, named, strict=True)
                csv.writer(stream).writerow(
                    [planter.text(cell) if is_name and cell else cell for cell, is_name in pairs]
                )


def ascend_database(folder: Path, planter: Planter) -> None:
    for path in (folder / "ASCEND_PROFILER_OUTPUT").iterdir():
        if path.suffix != ".db":
            path.unlink()
    for path in folder.glob("*.json"):
        path.write_text(json.dumps(planter.json(json.loads(path.read_text()))))
    for path in folder.rglob("ascend_pytorch_profiler_*.db"):
        with sqlite3.connect(path) as con:
            con.create_function("plant", 1, planter.text)
            con.execute("UPDATE STRING_IDS SET value = plant(value) WHERE value GLOB '[A-Za-z]*' AND length(value) > 9")
            tables = {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "META_DATA" in tables:
                con.execute("UPDATE META_DATA SET value = plant(value) WHERE value GLOB '[A-Za-z]*'")
            if "HOST_INFO" in tables:
                con.execute("UPDATE HOST_INFO SET hostName = plant(hostName)")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("plant", [ascend_database, ascend_text], ids=["database", "text"])
def test_of_an_ascend_profile(
    rlcompare: Command, samples: Path, tmp_path: Path, plant: Callable[[Path, Planter], None]
) -> None:
    # GIVEN two ranks on each side, with a secret in every text
    planter = Planter()
    sides = {}
    for name in ("base", "new"):
        sides[name] = tmp_path / name
        for rank in ranks_of(samples / name):
            shutil.copytree(rank, sides[name] / rank.name)
            plant(sides[name] / rank.name, planter)
    assert planter.planted > 100
    assert_nothing_is_told(rlcompare, sides["base"], sides["new"], tmp_path / "cwd")


def assert_nothing_is_told(rlcompare: Command, base: Path, new: Path, folder: Path) -> None:
    """Runs every command that writes; all of it goes into ``folder``, the cache too."""
    cache = ("--cache-dir", folder / "cache")
    said = []
    forms = ("--format", ",".join(FORMATS))
    for command in (
        ("diff", "-d", new, "-bp", base, *forms, "-o", folder / "out", *cache),
        ("diff", "-d", new, "-bp", base, "--json", *cache),
        ("explain", "1", folder / "out" / "diff.json"),
        ("show", new, "--html", folder / "run.html", *cache),
        ("ingest", new, "-o", folder / "run.duckdb"),
        ("baseline", "add", "main", base, "--reason", "first", "--baselines", folder / "baselines", *cache),
        ("history", "add", new, "--history", folder / "history.duckdb", *cache),
        ("history", "plot", "time.step", "--history", folder / "history.duckdb", "--html", folder / "history.html"),
        ("gate", folder / "out" / "diff.json", "-o", folder / "gate", "--format", "sarif", "--format", "junit"),
    ):
        outcome = rlcompare(*command)
        assert outcome.code in (0, 1, 2, 3, 5), outcome.err
        assert "unexpected" not in outcome.err and "no such option" not in outcome.err.lower(), outcome.err
        said += [outcome.out, outcome.err]
    assert (folder / "out" / "diff.json").is_file() and (folder / "run.duckdb").is_file(), said
    assert_silent(folder, *said)


def test_of_a_torch_trace(rlcompare: Command, profiles: Path, tmp_path: Path) -> None:
    # GIVEN a real trace of a GPU, with secrets in names, arguments, frames, process names and metadata
    source = profiles / "gpu-small-oddities-dev" / "triton_example.json.gz"
    for name in ("base", "new"):
        planter = Planter()
        document = planter.json(json.loads(gzip.decompress(source.read_bytes())))
        document["environment"] = document["cmdline"] = [planter.text("python"), planter.text("train.py")]
        (tmp_path / name).mkdir()
        (tmp_path / name / "trace.json.gz").write_bytes(gzip.compress(json.dumps(document).encode(), 1))
    assert_nothing_is_told(rlcompare, tmp_path / "base", tmp_path / "new", tmp_path / "cwd")


def test_of_an_nsys_export(rlcompare: Command, tmp_path: Path) -> None:
    for name, slower in (("base", 1.0), ("new", 1.3)):
        (tmp_path / name).mkdir()
        path = nsys_step(slower=slower).write(tmp_path / name / "report.sqlite")
        with sqlite3.connect(path) as con:
            con.create_function("plant", 1, Planter().text)
            con.execute("UPDATE StringIds SET value = plant(value)")
            con.execute("CREATE TABLE IF NOT EXISTS TARGET_INFO_SYSTEM_ENV (name TEXT, nameEnum INT, value TEXT)")
            con.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV (name, value) VALUES ('Hostname', plant('h'))")
    assert_nothing_is_told(rlcompare, tmp_path / "base", tmp_path / "new", tmp_path / "cwd")


def settings(planter: Planter) -> dict[str, Any]:
    """The configuration of a job, with secrets in it."""
    return {
        "trainer": {
            "logger": ["console", planter.text("wandb")],
            "wandb_api_key": f"{S}",
            "project": planter.text("p"),
        },
        "data": {"train_batch_size": 8, "proxy": planter.text("x"), "hf": {"token": S}},
        "actor_rollout_ref": {"model": {"path": f"https://u:{S}@host/model", "override": planter.text("o")}},
        "algorithm": {"adv_estimator": planter.text("grpo")},
    }


def test_of_a_run_directory_a_log_and_hydra(rlcompare: Command, tmp_path: Path) -> None:
    # GIVEN a run whose configuration, versions, command, error, metrics' names and paths hold secrets
    planter = Planter()
    config = settings(planter)
    for name, slower in (("base", 1.0), ("new", 1.3)):
        run = description(config=config) | {
            "status": "failed", "error": planter.text("it failed"), "command": [planter.text("python")],
            "versions": {"torch": planter.text("2.7")}, "device_name": planter.text("card"),
            "captures": [{"path": planter.text("gone")}],
        }  # fmt: skip
        folder = write_run(tmp_path / name / f"api_key={S}", run)
        steps = {step: training_step(step, slower=slower) | {f"x/HF_TOKEN={S}": 1.0} for step in range(1, 9)}
        log = console_log(steps, config)
        lines = [planter.text(line) if number % 7 == 3 and "step:" not in line else line
                 for number, line in enumerate(log.splitlines())]  # fmt: skip
        (folder / "job.log").write_text("\n".join(lines) + f"\nTraceback\nValueError: HF_TOKEN={S}\n")
        (folder / ".hydra").mkdir()
        (folder / ".hydra" / "config.yaml").write_text(json.dumps(config))
        (folder / ".hydra" / "overrides.yaml").write_text(json.dumps([f"+env_vars.WANDB_API_KEY={S}"]))
    base, new = (tmp_path / name / f"api_key={S}" for name in ("base", "new"))
    assert_nothing_is_told(rlcompare, base, new, tmp_path / "cwd")


Steps = dict[int, dict[str, Any]]
"""Metrics by step."""


def mlflow(folder: Path, steps: Steps, planter: Planter) -> None:
    rows = [(step, name, value, False) for step, data in steps.items() for name, value in data.items()]
    path = mlflow_database(folder / "mlflow.db", {planter.text("grpo"): rows})
    flat = {f"{section}/{key}": value for section, inner in settings(planter).items() for key, value in inner.items()}
    with sqlite3.connect(path) as con:
        con.execute("UPDATE experiments SET name = ?", [planter.text("verl")])
        con.executemany(
            "INSERT INTO params SELECT ?, ?, run_uuid FROM runs", [(key, str(value)) for key, value in flat.items()]
        )


def wandb(folder: Path, steps: Steps, planter: Planter) -> None:
    record_file(folder / "run-a1b2c3d4.wandb", [configuration(settings(planter)), *history(steps)])


def wandb_history(folder: Path, steps: Steps, planter: Planter) -> None:
    lines = [{"_step": step, "_timestamp": BEGIN + 10 * step, "note": planter.text("n"), **data}
             for step, data in steps.items()]  # fmt: skip
    (folder / "history.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def trackio(folder: Path, steps: Steps, planter: Planter) -> None:
    with sqlite3.connect(folder / "project.db") as con:
        con.execute("CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp, run_name, step INTEGER, metrics)")
        con.execute("CREATE TABLE configs (id INTEGER PRIMARY KEY, run_name, config, created_at)")
        run = planter.text("grpo")
        con.execute("INSERT INTO configs VALUES (NULL, ?, ?, '')", [run, json.dumps(settings(planter))])
        for step, data in steps.items():
            row = ["2026-11-23T03:36:40+00:00", run, step, json.dumps(data | {"note": planter.text("n")})]
            con.execute("INSERT INTO metrics VALUES (NULL, ?, ?, ?, ?)", row)


def swanlab(folder: Path, steps: Steps, planter: Planter) -> None:
    entries = [
        {"key": name, "metrics": [{"step": step, "value": data[name]} for step, data in steps.items()],
         "xAxis": {"type": "STEP"}, "note": planter.text("n")}
        for name in steps[1]
    ]  # fmt: skip
    document = {"ok": True, "errmsg": planter.text("none"), "data": {"list": entries}}
    (folder / "metrics.json").write_text(json.dumps(document))


def prometheus(folder: Path, steps: Steps, planter: Planter) -> None:
    """Scrapes every second, with secrets in comments and labels, beside the history of a job."""
    wandb_history(folder, steps, planter)
    name, lines = "vllm:num_preemptions_total", []
    for second in range(10 * len(steps) + 10):
        label = planter.text("model").replace('"', '\\"')
        lines += [f"{BEGIN + second}", f"# HELP {name} {planter.text('Preempted')}", f"# TYPE {name} counter"]
        lines += [f'{name}{{model_name="{label}",engine="0"}} {second}', ""]
    (folder / "vllm.prom").write_text("\n".join(lines))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("write", [mlflow, wandb, wandb_history, trackio, swanlab, prometheus])
def test_of_what_a_tracker_exports(
    rlcompare: Command, tmp_path: Path, write: Callable[[Path, Steps, Planter], None]
) -> None:
    # GIVEN a secret in the configuration, in names of runs and metrics, and in what stands beside the values
    for name, slower in (("base", 1.0), ("new", 1.3)):
        (tmp_path / name).mkdir()
        planter = Planter()
        steps = {step: training_step(step, slower=slower) | {f"x/HF_TOKEN={S}": 1.0} for step in range(1, 9)}
        write(tmp_path / name, steps, planter)
        assert planter.planted >= 5
    assert_nothing_is_told(rlcompare, tmp_path / "base", tmp_path / "new", tmp_path / "cwd")


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_of_a_path_in_a_message(rlcompare: Command, tmp_path: Path, debug: tuple[str, ...]) -> None:
    """Paths, URLs and options that are wrong are told without their secrets."""
    wrong = tmp_path / f"token={S}"
    wrong.mkdir()
    (wrong / "metrics.jsonl").write_text(f'{{"step": 1, "data": "HF_TOKEN={S}"')
    (wrong / "policy.toml").write_text(f'[gate]\napi_key = "{S}"\n')
    (wrong / "diff.json").write_text(f'{{"schema": "rlcompare.diff/1", "password": "{S}"')
    for command in (
        ("show", wrong), ("show", wrong / "metrics.jsonl"), ("show", tmp_path / f"gone?api_key={S}"),
        ("gate", wrong / "diff.json"), ("gate", "-d", wrong, "-bp", wrong, "--policy", wrong / "policy.toml"),
        ("show", f"https://user:{S}@localhost:1/run"), ("sql", wrong, f"SELECT 'HF_TOKEN={S}' FROM nothing"),
        ("history", "list", "--history", f"postgresql://u:{S}@localhost:1/db"), ("diff", f"--api-key={S}"),
        ("launch", "-o", wrong / "run", "--", "/nowhere/python3", "-m", "m", "--api-key", S, f"HF_TOKEN={S}"),
    ):  # fmt: skip
        outcome = rlcompare(*command, *(debug if "launch" not in command else ()))
        assert outcome.code != 0
        assert S not in outcome.out + outcome.err, (command[:2], (outcome.out + outcome.err)[-3000:])


def test_a_folder_of_captures_is_not_named_in_the_store(tmp_path: Path) -> None:
    """Also where the captures of several runs were read together, and copied from there."""
    runs = {}
    for name in ("a", "b"):
        folder = tmp_path / name / f"api_key={S}"
        write_sample(SampleRun(ranks=(0, 1), layers=1, decode_steps=1), folder)
        (run,) = find_runs(tmp_path / name)
        runs[tmp_path / f"{name}.duckdb"] = run
    build_stores(runs, keep_events=False, engine=LocalEngine(workers=1))
    for store in runs:
        paths = rows(store, "SELECT path FROM capture")
        assert len(paths) == 2
        assert S not in str(paths)

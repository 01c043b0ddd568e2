"""Files and exports of wandb, trackio, SwanLab and ClearML. Real files where the package is installed."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import struct
import subprocess
import sys
import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rlcompare.errors import InputError
from rlcompare.sources.detect import find_runs
from rlcompare.sources.metrics import form, prometheus, wandb_records
from rlcompare.sources.metrics.read import read_metrics
from rlcompare.sources.metrics.values import Metrics
from rlcompare.sources.peek import file_kind
from tests.stores import rows, store_of
from tests.verl_logs import console_log, training_step

STEPS = {step: {"timing_s/step": 1.5 + step, "actor/lr": 1e-06, "val-core/a b/acc@1": 0.25} for step in (1, 2, 3)}
EXPECTED = {(step, name): value for step, data in STEPS.items() for name, value in data.items()}
CONFIG = {"actor_rollout_ref": {"actor": {"x": 1}}, "trainer": {"profile_steps": [2]}, "api_key": "hf_abcdefgh"}
BEGIN = 1_795_405_000


def read(path: Path, kind: str) -> Metrics:
    (run,) = find_runs(path)
    assert run.training is not None and run.training.metrics[0].form == kind
    return read_metrics(run.training.metrics[0])


def values(metrics: Metrics) -> dict[tuple[int, str], float | None]:
    return {(step, name): value for _, step, name, value in metrics.rows()}


class TestWandb:
    """The run file: blocks of 32 KiB with checksums, in them protobuf messages."""

    def test_history_and_configuration(self, tmp_path: Path) -> None:
        path = record_file(tmp_path / "run-abc.wandb", [configuration(CONFIG), *history(), padding()])

        metrics = read(path, form.WANDB)

        assert values(metrics) == EXPECTED
        assert metrics.step_times() == {step: (BEGIN + step) * 10**9 for step in STEPS}
        store = store_of(tmp_path, tmp_path / "s.duckdb")
        assert rows(store, "SELECT key, value FROM env") == [("actor_rollout_ref.actor.x", "1")]
        assert rows(store, "SELECT DISTINCT step FROM metric WHERE profiled") == [(2,)]

    def test_damage_costs_a_block(self, tmp_path: Path) -> None:
        # GIVEN a record over several blocks between the steps, in which a byte is wrong
        first, second, third = history()
        path = record_file(tmp_path / "run-abc.wandb", [first, padding(), second, third])
        data = bytearray(path.read_bytes())
        data[40_000] ^= 0xFF
        path.write_bytes(data[:-3])

        metrics = read(path, form.WANDB)

        assert {step for step, _ in values(metrics)} == {1, 2}
        assert len(metrics.unreadable) == 1 and metrics.cut is not None

    def test_beside_the_log_of_the_same_job(self, tmp_path: Path) -> None:
        (tmp_path / "wandb").mkdir()
        steps = {step: training_step(step) for step in (1, 2, 3)}
        record_file(tmp_path / "wandb" / "run-abc.wandb", history(steps))
        (tmp_path / "job.log").write_text(console_log(steps))

        (run,) = find_runs(tmp_path)

        assert run.training is not None
        assert [source.form for source in run.training.metrics] == [form.CONSOLE, form.WANDB]

    @pytest.mark.slow
    def test_of_wandb_itself(self, tmp_path: Path) -> None:
        pytest.importorskip("wandb", reason="wandb is not installed")
        script = (
            "import json, sys, wandb\n"
            "run = wandb.init(mode='offline', dir=sys.argv[1], config=json.loads(sys.argv[2]))\n"
            "for step, data in json.loads(sys.argv[3]).items(): run.log(data, step=int(step))\n"
            "run.log({'big': 'x' * 200_000, 'bad': float('nan')}, step=4)\nrun.finish()\n"
        )
        command = [sys.executable, "-c", script, str(tmp_path), json.dumps(CONFIG), json.dumps(STEPS)]
        subprocess.run(command, check=True, timeout=120, env=os.environ | {"WANDB_SILENT": "true"})
        (path,) = tmp_path.rglob("*.wandb")

        metrics = wandb_records.read(path)

        found = values(metrics)
        assert math.isnan(found.pop((4, "bad")) or 0) and found == EXPECTED
        assert metrics.config["actor_rollout_ref"] == CONFIG["actor_rollout_ref"]
        assert (metrics.unreadable, metrics.cut, metrics.odd["text"]) == ([], None, 1)


def record_file(path: Path, records: list[bytes]) -> Path:
    """A run file of wandb with records."""
    data = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        begun = False
        while record or not begun:
            left = 32768 - len(data) % 32768
            if left < 7:
                data += bytes(left)
                continue
            part, record = record[: left - 7], record[left - 7 :]
            kind = (3 if record else 4) if begun else (2 if record else 1)
            data += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            begun = True
    path.write_bytes(data)
    return path


def history(steps: dict[int, Any] | None = None) -> list[bytes]:
    made = []
    for step, data in (steps or STEPS).items():
        given = {**data, "_step": step, "_timestamp": BEGIN + step, "_runtime": 1.5}
        made.append(
            message(
                2, b"".join(item(name, value) for name, value in given.items()) + message(2, b"\x08" + varint(step))
            )
        )
    return made


def configuration(config: dict[str, Any]) -> bytes:
    return message(17, message(4, b"".join(item(name, value) for name, value in config.items())))


def padding() -> bytes:
    return message(4, b"x" * 70_000)  # output


def item(name: str, value: object) -> bytes:
    return message(1, message(2, name.encode()) + message(16, json.dumps(value).encode()))


def message(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def varint(number: int) -> bytes:
    made = bytearray()
    while number >= 0x80:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


class TestTrackio:
    def test_runs_of_a_project(self, tmp_path: Path) -> None:
        path = tmp_path / "verl_example.db"
        with closing(sqlite3.connect(path)) as con:
            con.executescript(
                "CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INTEGER,"
                " metrics TEXT);"
                "CREATE TABLE configs (id INTEGER PRIMARY KEY, run_name TEXT, config TEXT, created_at TEXT);"
            )
            for run, factor in (("a", 1), ("b", 2)):
                con.execute("INSERT INTO configs VALUES (NULL, ?, ?, '')", [run, json.dumps(CONFIG)])
                for step, data in STEPS.items():
                    text = json.dumps({name: factor * value for name, value in data.items()} | {"bad": "NaN"})
                    row = [f"2026-11-23T03:36:4{step}+00:00", run, step, text.encode()]  # trackio stores bytes
                    con.execute("INSERT INTO metrics VALUES (NULL, ?, ?, ?, ?)", row)
            con.commit()

        metrics = read(path / "b", form.TRACKIO)

        found = {key: value for key, value in values(metrics).items() if key[1] != "bad"}
        assert found == {key: 2 * value for key, value in EXPECTED.items()}
        assert (metrics.config["trainer"], metrics.odd["NaN"]) == (CONFIG["trainer"], 3)
        assert metrics.step_times()[2] == 1_795_405_002 * 10**9
        with pytest.raises(InputError, match="it holds 2 runs: a, b"):
            find_runs(path)

    @pytest.mark.slow
    def test_of_trackio_itself(self, tmp_path: Path) -> None:
        pytest.importorskip("trackio", reason="trackio is not installed")
        script = (
            "import json, sys\nfrom trackio.sqlite_storage import SQLiteStorage\n"
            "steps = json.loads(sys.argv[1])\n"
            "SQLiteStorage.bulk_log(project='p', run='grpo', metrics_list=list(steps.values()), "
            "steps=list(map(int, steps)), config=json.loads(sys.argv[2]))\n"
        )
        command = [sys.executable, "-c", script, json.dumps(STEPS), json.dumps(CONFIG)]
        subprocess.run(command, check=True, timeout=120, env=os.environ | {"TRACKIO_DIR": str(tmp_path)})

        metrics = read(tmp_path / "p.db", form.TRACKIO)

        assert (values(metrics), metrics.config["trainer"]) == (EXPECTED, CONFIG["trainer"])


def clearml(members: Sequence[str] = ("name", "x", "y")) -> str:
    """What json.dump makes of Task.get_reported_scalars(), with the members of a series in this order."""
    titles: dict[str, dict[str, dict[str, Any]]] = {}
    for (step, name), value in EXPECTED.items():
        title, series = name.split("/", 1)
        made = {"name": series, "x": [], "y": []}
        axes = titles.setdefault(title, {}).setdefault(series, {member: made[member] for member in members})
        axes["x"].append(step)
        axes["y"].append(value)
    return json.dumps(titles)


def swanlab(step: str, value: str) -> str:
    """What ``swanlab api run metrics --save`` writes: sampled points have index and data, all points step and value."""
    entries: dict[str, Any] = {}
    for (number, name), given in EXPECTED.items():
        point = {step: number, value: given, "timestamp": (BEGIN + number) * 1000}
        entries.setdefault(name, {"key": name, "metrics": [], "xAxis": {"type": "STEP"}})["metrics"].append(point)
    entries["by time"] = {"key": "a/x", "metrics": [{"index": 17, "data": 1.5}], "xAxis": {"type": "TIME"}}
    return json.dumps({"ok": True, "errmsg": "", "data": {"list": list(entries.values())}})


def swanlab_table(value: str, time: str) -> str:
    names = list(STEPS[1])
    header = ",".join(["step", *(form.format(name) for name in names for form in (value, time))])
    lines = [",".join([str(step), *(f"{given},{(BEGIN + step) * 1000}" for given in data.values())])
             for step, data in STEPS.items()]  # fmt: skip
    return "\n".join([header, *lines, ""])


@pytest.mark.parametrize(
    ("name", "text", "kind", "timed"),
    [
        ("scalars.json", clearml(), form.SERIES, False),
        ("scalars.json", clearml(("y", "name", "x")), form.SERIES, False),
        ("metrics.json", swanlab("index", "data"), form.SERIES, True),
        ("metrics.json", swanlab("step", "value"), form.SERIES, True),
        ("frame.csv", swanlab_table("{}", "{}_timestamp"), form.TABLE, True),
        ("export.csv", swanlab_table("my-run-{}_step", "my-run-{}_timestamp"), form.TABLE, True),
    ],
)
def test_exports(tmp_path: Path, name: str, text: str, kind: str, timed: bool) -> None:
    (tmp_path / name).write_text(text)

    for place in (tmp_path, tmp_path / name):
        metrics = read(place, kind)

        assert values(metrics) == EXPECTED
        assert metrics.step_times() == ({step: (BEGIN + step) * 10**9 for step in STEPS} if timed else {})


@pytest.mark.parametrize(
    "text",
    [
        clearml()[:-20], '{"a": {"b": {"x": [1], "y": ["text"]}}}', '{"a": {"b": {"x": [1e999, null], "y": [1, 2]}}}',
        '{"data": {"list": [{"key": 3, "metrics": [{"step": 1, "value": 2}]}]}}', '{"a": {"b": {"x": [' + "[" * 100_000,
    ],
)  # fmt: skip
def test_damaged_exports(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)

    assert file_kind(path).kind == form.SERIES
    with pytest.raises(InputError):
        store_of(path, tmp_path / "s.duckdb")


@pytest.mark.parametrize("value", ["1" * 400, '"' + "9" * 5000 + '"', '"1e400"', "-1e300"])
def test_samples_beyond_any_number_in_an_answer_of_prometheus_are_left_out(tmp_path: Path, value: str) -> None:
    values = f'[[1700000000, "1"], [1700000001, {value}]]'
    result = f'{{"metric": {{"__name__": "vllm:num_requests_running"}}, "values": {values}}}'
    path = tmp_path / "answer.json"
    path.write_text(f'{{"status": "success", "data": {{"resultType": "matrix", "result": [{result}]}}}}')
    assert prometheus.read([path]).values == [1.0]

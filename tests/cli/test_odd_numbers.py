"""Numbers that no job writes: at the ends of their types, or equal where they usually differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import Command, ranks_of

Course = Sequence[float]

TINY = [1e-60] * 4 + [-1e-100, -1.0] * 3 + [1e-320, 1e-320, 5e-324] * 4 + [1e-320, 5e-324] + [1e-320] * 3 + [5e-324]
GAP = [*range(2, 16), *range(136, 156)]


def log(path: Path, courses: Mapping[str, Course], steps: Sequence[int] | None = None) -> Path:
    """A file of metrics; a step of 3 s unless the courses say otherwise."""
    length = len(next(iter(courses.values())))
    numbers = steps or range(1, length + 1)
    lines = (
        {"step": step, "data": {"timing_s/step": 3.0, **{name: values[place] for name, values in courses.items()}}}
        for place, step in enumerate(numbers)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("courses", "steps"),
    [
        ({"actor/entropy": [0.1 * step + 0.1 for step in GAP]}, GAP),  # exactly a line: correlation above 1 by rounding
        ({"critic/score/mean": TINY}, None),
        ({"actor/grad_norm": [1.0] * 3}, [10**15 - 2, 10**15 - 1, 10**15]),
        ({"timing_s/gen": [5e-324] * 30}, None),
        ({"actor/entropy": [5e-324, 1e-323] * 15}, None),
    ],
    ids=["a line with a gap", "next to 0", "large steps", "the smallest time", "neighbours"],
)
def test_metrics_are_compared(
    rlcompare: Command, tmp_path: Path, courses: dict[str, Course], steps: Sequence[int] | None
) -> None:
    new = log(tmp_path / "new.jsonl", courses, steps)
    base = log(tmp_path / "base.jsonl", {name: [1.0] * len(values) for name, values in courses.items()}, steps)
    assert rlcompare("diff", "-d", new, "-bp", base, "-o", tmp_path / "out").code == 0
    assert rlcompare("gate", tmp_path / "out/diff.json").code in (0, 1, 3)
    text = (tmp_path / "out/report.md").read_text() if (tmp_path / "out/report.md").exists() else ""
    assert "×inf" not in text


def test_a_run_without_a_number_beside_others(rlcompare: Command, tmp_path: Path) -> None:
    name = "response_length/clip_ratio"
    logs = {value: log(tmp_path / f"{value}.jsonl", {name: [value] * 40}) for value in (float("nan"), 0.02, 0.97)}
    nan, low, high = logs.values()
    found = rlcompare("diff", "-bp", low, "-d", nan, "-d", high, "-o", tmp_path / "out")
    assert found.code == 0, found.err


def test_a_threshold_of_0_is_no_limit(rlcompare: Command, tmp_path: Path) -> None:
    for side in ("base", "new"):
        (tmp_path / side).mkdir()
        config = {"algorithm": {"rollout_is_threshold": 0, "rollout_is_mode": "clip"}}
        document = {"schema": "rlcompare.run/1", "status": "completed", "config": config}
        (tmp_path / side / "run.json").write_text(json.dumps(document))
        courses = {"mismatch/mismatch_kl": [0.1] * 6, "mismatch/rollout_is_mean": [1.0] * 6}
        log(tmp_path / side / "metrics.jsonl", courses)
    found = rlcompare("diff", "-d", tmp_path / "new", "-bp", tmp_path / "base", "-o", tmp_path / "out")
    assert found.code == 0, found.err


SMALLEST = -(2**63)

EDITS = {
    "infinite levels": ("UPDATE r_level SET value = 'inf'::DOUBLE", 0),
    "levels that are no numbers": ("UPDATE r_level SET value = 'nan'::DOUBLE WHERE rowid % 2 = 0", 0),
    "two values in a step": (
        "INSERT INTO metric SELECT 2, 'timing_s/testing', 1.0, 'x', FALSE, FALSE FROM range(2)", 4,
    ),
    "collectives without end": (f"UPDATE r_collective SET start_ns = {SMALLEST}", 4),
    "times without end": (f"UPDATE r_time SET compute_ns = {SMALLEST}", 4),
    "no times of kernels": ("UPDATE r_kernel SET sum_ns = NULL, min_ns = NULL, max_ns = NULL", 0),
    "sizes of 5,000 digits": ("UPDATE r_kernel SET input_shapes = repeat('9', 5000) || ',32;32,32'", 0),
    "a number of steps of 5,000 digits": (
        "INSERT INTO env VALUES (NULL, 'trainer.total_training_steps', repeat('9', 5000))", 0,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
def test_edited_stores(rlcompare: Command, samples: Path, tmp_path: Path, edit: str) -> None:
    statement, code = EDITS[edit]
    sides = {name: tmp_path / f"{name}.duckdb" for name in ("base", "new")}
    for name, store in sides.items():
        assert rlcompare("ingest", ranks_of(samples / name)[0], "-o", store).code == 0
        with duckdb.connect(str(store)) as con:
            con.execute(statement)
    out = tmp_path / "out"
    found = rlcompare("diff", "-d", sides["new"], "-bp", sides["base"], "-o", out, "--format", "html,md,parquet")
    assert found.code == code, found.err
    assert code == 0 or "new.duckdb" in found.err or "base.duckdb" in found.err


def every(table: str, column: str, value: object) -> Callable[[Path], None]:
    def change(database: Path) -> None:
        import sqlite3

        with sqlite3.connect(database) as con:
            con.execute(f"UPDATE {table} SET {column} = ?", [value])

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [every("TASK", "deviceId", -(2**31)), every("AICORE_FREQ", "freq", float("inf")), every("AICORE_FREQ", "freq", 0)],
    ids=["the smallest device", "an infinite clock", "a clock of 0"],
)
def test_edited_profiles(rlcompare: Command, tmp_path: Path, change: Callable[[Path], None]) -> None:
    options = ("--steps", "2,3", "--layers", "1", "--decode-steps", "1")
    for name in ("base", "new"):
        assert rlcompare("sample", "-q", "-o", tmp_path / name, *options).code == 0
    for database in (tmp_path / "new").rglob("ascend_pytorch_profiler_*.db"):
        change(database)
    found = rlcompare("diff", "-d", tmp_path / "new", "-bp", tmp_path / "base", "-o", tmp_path / "out")
    assert found.code == 0, found.err


def test_a_cause_of_5000_digits(rlcompare: Command, compared: Path) -> None:
    assert rlcompare("explain", "1" * 5000, compared / "diff.json").code == 2

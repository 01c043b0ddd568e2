"""Allocations by step against what the profiles' databases say, read without our store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from rlcompare.model.diff import Diff
from rlcompare.writer import SampleRun, write_sample
from tests.sql.rollup_stores import compared
from tests.stores import store_of

COUNT = """
    SELECT count(*), sum(size) FROM OP_MEMORY JOIN STEP_TIME AS s ON allocationTime BETWEEN s.startNs AND s.endNs
    WHERE s.id = ?
"""


def allocated(diff: Diff, side: str) -> tuple[float, float]:
    """Allocations and bytes of all operators, per rank and step."""
    rows = [row for row in diff.sections["memory"].rows if row["what"] == "allocated"]
    return sum(row[f"{side}_calls"] or 0 for row in rows), sum(row[side] or 0 for row in rows)  # type: ignore[misc]


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, list[tuple[int, int]]]]:
    """The store of two ranks and three steps, and by step what each rank's database says: allocations, bytes."""
    folder = tmp_path_factory.mktemp("steps")
    write_sample(SampleRun(ranks=(0, 1), steps=(1, 2, 3), layers=2, decode_steps=2), folder / "run")
    said: dict[int, list[tuple[int, int]]] = {}
    for path in sorted(folder.rglob("ascend_pytorch_profiler_*.db")):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as con:
            for step in (1, 2, 3):
                said.setdefault(step, []).append(con.execute(COUNT, [step]).fetchone())
    return store_of(folder / "run", folder / "run.duckdb", keep_events=False), said


@pytest.mark.slow
@pytest.mark.parametrize("steps", [(2,), (1, 3), (1, 2, 3)])
def test_allocations_are_those_of_the_selected_steps(
    counted: tuple[Path, dict[int, list[tuple[int, int]]]], steps: tuple[int, ...]
) -> None:
    store, said = counted
    diff = compared(store, store, new_steps=steps)
    inside = [entry for step in steps for entry in said[step]]
    assert min(calls for calls, _ in inside) > 0
    expected = [sum(entry[place] for entry in inside) / (2 * len(steps)) for place in (0, 1)]
    assert allocated(diff, "new") == pytest.approx(expected)


@pytest.mark.slow
def test_a_rank_with_fewer_steps_weighs_as_much(tmp_path: Path) -> None:
    """Of rank 1 only step 2 is compared with all steps of rank 0: each rank is divided by its own steps."""
    write_sample(SampleRun(ranks=(0,), steps=(1, 2, 3), layers=2, decode_steps=2), tmp_path / "run")
    write_sample(SampleRun(ranks=(1,), steps=(2,), layers=2, decode_steps=2), tmp_path / "run2")
    (folder,) = (tmp_path / "run2").glob("*_ascend_pt")
    folder.rename(tmp_path / "run" / folder.name)
    expected = [0.0, 0.0]
    for path in (tmp_path / "run").rglob("ascend_pytorch_profiler_*.db"):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as con:
            steps = [step for (step,) in con.execute("SELECT id FROM STEP_TIME")]
            for step in steps:
                said = con.execute(COUNT, [step]).fetchone()
                expected = [expected[place] + said[place] / len(steps) / 2 for place in (0, 1)]
    store = store_of(tmp_path / "run", tmp_path / "run.duckdb", keep_events=False)
    assert allocated(compared(store, store), "new") == pytest.approx(tuple(expected))

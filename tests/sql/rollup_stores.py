"""Stores whose rollups are written by hand, so that what a comparison of them gives can be worked out on paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow

from rlcompare import resources
from rlcompare.compare import CompareOptions, RunStore, SideInput, compare_runs
from rlcompare.model.diff import Diff, Row

MS = 1_000_000


ACCOUNT = """
INSERT INTO r_account BY NAME
WITH known AS (
    SELECT t.*, coalesce(s.end_ns - s.start_ns, t.device_span_ns) AS whole_ns
    FROM r_time AS t JOIN step AS s USING (capture, step) WHERE t.device_span_ns IS NOT NULL
), kernel AS (
    SELECT k.capture, k.device_id, k.step, k.phase, k.name AS subject, k.op_type, k.core_type, k.input_dtypes,
           k.host_op, k.busy_ns, k.gap_ns, k.calls AS pieces
    FROM r_kernel AS k SEMI JOIN known USING (capture, device_id, step)
), named AS (
    SELECT * EXCLUDE (busy_ns, gap_ns), 'compute' AS kind, busy_ns AS ns FROM kernel
    UNION ALL BY NAME
    SELECT * EXCLUDE (busy_ns, gap_ns, core_type, input_dtypes, host_op), 'launch' AS kind, gap_ns AS ns FROM kernel
    UNION ALL BY NAME
    SELECT c.capture, c.device_id, c.step, c.phase, 'comm' AS kind, c.kind AS subject, c.exposed_ns AS ns, 1 AS pieces
    FROM r_collective AS c SEMI JOIN known USING (capture, device_id, step)
), whole AS (
    SELECT capture, device_id, step, unnest([
               {'kind': 'compute', 'filled': 'compute', 'ns': compute_ns},
               {'kind': 'comm', 'filled': 'comm', 'ns': exposed_comm_ns},
               {'kind': 'python', 'filled': 'launch', 'ns': whole_ns - compute_ns - exposed_comm_ns}
           ], recursive := TRUE)
    FROM known
), filled AS (
    FROM named
    UNION ALL BY NAME
    SELECT w.capture, w.device_id, w.step, w.kind, w.ns - coalesce(sum(n.ns), 0) AS ns, 1 AS pieces
    FROM whole AS w LEFT JOIN named AS n
      ON (n.capture, n.device_id, n.step, n.kind) = (w.capture, w.device_id, w.step, w.filled)
    GROUP BY w.capture, w.device_id, w.step, w.kind, w.ns
)
SELECT * FROM filled WHERE ns > 0
"""
"""What is not named by kernels and collectives is computation, communication or Python without a name."""


@cache
def empty_store() -> bytes:
    """The file of a store without rows. Making its tables takes as long as filling them."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.duckdb"
        with duckdb.connect(str(path)) as con:
            for name in resources.sql_names("schema/run") + resources.sql_names("schema/rollup"):
                con.execute(resources.sql(name))
        return path.read_bytes()


class RollupStore:
    """A store under construction; ``path`` is its file. Columns that are not given are NULL, or the defaults below."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(empty_store())
        self._rows: dict[str, list[Mapping[str, Any]]] = {}

    def add(self, table: str, **values: Any) -> RollupStore:
        return self.add_many(table, [values])

    def add_many(self, table: str, rows: Iterable[Mapping[str, Any]]) -> RollupStore:
        """Rows, which are written when the store is done: a statement for each of them takes a millisecond."""
        self._rows.setdefault(table, []).extend(rows)
        return self

    def capture(self, number: int = 0, rank: int | None = 0, **values: Any) -> RollupStore:
        """A capture of an NPU at Level1."""
        given = {
            "tool": "npu",
            "level": "Level1",
            "source": "ascend_db",
            "path": "p",
            "executor": "device",
            "ordinal": 0,
        }
        return self.add("capture", capture=number, rank=rank, **{**given, **values})

    def step(self, step: int, capture: int = 0, wall: int | None = None) -> RollupStore:
        """A step, marked if it has a wall time."""
        marks = {"start_ns": None, "end_ns": None} if wall is None else {"start_ns": 0, "end_ns": wall}
        return self.add("step", capture=capture, step=step, inferred=wall is None, **marks)

    def time(self, step: int, compute: int | None, capture: int = 0, *, comm: int = 0, exposed: int = 0, free: int = 0,
             device: int = 0, **values: Any) -> RollupStore:  # fmt: skip
        """Times of a device in a step; the span is the sum of its parts. Without computation only ``comm`` is known."""
        if compute is None:
            return self.add("r_time", capture=capture, device_id=device, step=step, comm_ns=comm, **values)
        parts = {
            "compute_ns": compute, "comm_ns": comm, "exposed_comm_ns": exposed, "overlapped_comm_ns": comm - exposed,
            "free_ns": free, "device_span_ns": compute + exposed + free,
        }  # fmt: skip
        return self.add("r_time", capture=capture, device_id=device, step=step, **{**parts, **values})

    def kernel(self, step: int, op: str | None, calls: int, total: int, capture: int = 0, *, shapes: str | None = "8,8",
               device: int = 0, **values: Any) -> RollupStore:  # fmt: skip
        given = {
            "name": op, "op_type": op, "core_type": "AI_CORE", "category": "cube", "input_shapes": shapes,
            "input_dtypes": "FLOAT16", "min_ns": total // calls, "max_ns": total // calls, "busy_ns": total,
            "gap_ns": 0,
        }  # fmt: skip
        return self.add(
            "r_kernel", capture=capture, device_id=device, step=step, calls=calls, sum_ns=total, **{**given, **values}
        )

    def collective(self, step: int, kind: str, ordinal: int, start: int, end: int, capture: int = 0, *,
                   group: str = "0,1", device: int = 0, **values: Any) -> RollupStore:  # fmt: skip
        given = {"group_key": group, "ordinal": ordinal, "start_ns": start, "end_ns": end, "exposed_ns": end - start}
        return self.add("r_collective", capture=capture, device_id=device, step=step, kind=kind, **{**given, **values})

    def phase(self, step: int, phase: str, compute: int, capture: int = 0, **values: Any) -> RollupStore:
        given = {
            "device_id": 0,
            "by_user": False,
            "comm_ns": 0,
            "exposed_comm_ns": 0,
            "free_ns": 0,
            "compute_ns": compute,
        }
        return self.add("r_phase", capture=capture, step=step, phase=phase, **{**given, **values})

    def done(self) -> Path:
        """Adds the account of each step, as far as the times and kernels above tell it, and closes the file."""
        with duckdb.connect(str(self.path)) as con:
            for table, rows in self._rows.items():
                columns = dict.fromkeys(column for row in rows for column in row)
                made = {column: [row.get(column) for row in rows] for column in columns}
                con.register("made", pyarrow.table(made))
                con.execute(f"INSERT INTO {table} BY NAME FROM made")
                con.unregister("made")
            con.execute(ACCOUNT)
        return self.path


def side(label: str, *stores: Path) -> SideInput:
    """A side of runs that are named after their files."""
    return SideInput(label, tuple(RunStore(path.stem, f"runs/{path.stem}", path) for path in stores))


def compared(baseline: Path | SideInput, new: Path | SideInput, **options: Any) -> Diff:
    """The diff of two stores or sides."""
    old, fresh = (given if isinstance(given, SideInput) else side(given.stem, given) for given in (baseline, new))
    return compare_runs(old, fresh, CompareOptions(**options))


def values(diff: Diff, metric: str) -> tuple[float | None, float | None]:
    """Baseline and new of an overall metric."""
    delta = diff.metric(metric)
    assert delta is not None, metric
    return delta.baseline, delta.new


def found(diff: Diff, section: str, name: str, **keys: Any) -> Row:
    """The one row of that name, and of these keys."""
    rows = [
        row for row in diff.sections[section].rows
        if row["name"] == name and all(row[key] == value for key, value in keys.items())
    ]  # fmt: skip
    assert len(rows) == 1, [row["name"] for row in diff.sections[section].rows]
    return rows[0]

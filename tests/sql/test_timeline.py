"""What the timeline of a report is made of (sql/account/r_timeline*.sql), against a painter and against real traces."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.stores import rows, store_of

from .timelines import load, normalise, reset

LENGTH = 3000
KINDS = {"stage_kernel": "compute", "stage_collective": "comm", "stage_copy": "copy"}
Intervals = list[tuple[int, int]]


def painted(items: Iterable[tuple[int, int]]) -> set[int]:
    return {point for start, end in items for point in range(start, end)}


def in_buckets(points: set[int], start: int, end: int, bucket: int) -> list[int]:
    """How many points lie in each bucket, the last of which ends with the window."""
    return [len(points & set(range(at, min(at + bucket, end)))) for at in range(start, end, bucket)]


@pytest.mark.parametrize("seed", range(4))
def test_busy_buckets_are_those_of_a_painter(con: duckdb.DuckDBPyConnection, seed: int) -> None:
    """GIVEN three steps of made-up tasks that overlap in every way, and two calls of a phase in each step."""
    draw = random.Random(seed)
    reset(con)
    items: dict[str, Intervals] = {}
    for table, longest in (("stage_kernel", 120), ("stage_collective", 300), ("stage_copy", 60)):
        starts = [draw.randrange(LENGTH) for _ in range(12)]
        items[table] = [(start, start + 1 + draw.randrange(longest)) for start in starts]
        load(con, table, items[table], [max(start - 9, 0) for start, _ in items[table]])
    steps = [(0, 900), (900, 1900), (1900, LENGTH)]
    for number, (start, end) in enumerate(steps):
        con.execute("INSERT INTO step VALUES (0, ?, ?, ?, FALSE)", [number, start, end])
        for at, length in ((start + 50, 150), (start + 400, 200)):
            con.execute(
                "INSERT INTO stage_phase (name, thread, start_ns, end_ns) VALUES ('update_actor', 1, ?, ?)",
                [at, at + length],
            )
    normalise(con)
    windows = con.execute(
        "SELECT phase, step, calls, from_ns, until_ns, bucket_ns FROM r_timeline ORDER BY 1"
    ).fetchall()
    # the step of 1000 is the median; of two calls alike, 25 from the median, the first one is shown
    assert [(phase, step, calls) for phase, step, calls, *_ in windows] == [("update_actor", 1, 2), (None, 1, None)]
    assert (windows[0][3], windows[1][3:5]) == (950, (900, 1900))
    assert windows[0][4] >= 1100
    for phase, _, _, start, end, bucket in windows:
        found = dict(
            con.execute(
                "SELECT kind, busy_ns FROM r_timeline_busy WHERE phase IS NOT DISTINCT FROM ?", [phase]
            ).fetchall()
        )
        for table, kind in KINDS.items():
            expected = in_buckets(painted(items[table]), start, end, bucket)
            assert found.get(kind, [0] * len(expected)) == expected, (phase, kind)
        # inside its step, a device that does nothing waits for the host or for its queue
        busy = set().union(*map(painted, items.values()))
        idle = in_buckets(set(range(start, min(end, 1900))) - busy, start, end, bucket)
        none = [0] * len(idle)
        assert [sum(ns) for ns in zip(found.get("host", none), found.get("queue", none), strict=True)] == idle, phase
        tasks = con.execute(
            "SELECT start_ns, end_ns FROM r_timeline_event WHERE phase IS NOT DISTINCT FROM ?", [phase]
        ).fetchall()
        met = [(a, b) for found_items in items.values() for a, b in found_items if a < end and b > start]
        assert len(tasks) == min(len(met), 24)
        assert sorted(b - a for a, b in tasks) == sorted(b - a for a, b in met)[-24:]


def test_the_call_of_a_phase_is_the_typical_one_of_all_steps(con: duckdb.DuckDBPyConnection) -> None:
    """The second step is typical, and its update is not: it takes 75, the others 95 and 96. One task ends late."""
    reset(con)
    steps, updates = [(0, 900), (900, 1900), (1900, 3000)], [(100, 195), (1000, 1075), (2000, 2096)]
    for number, (step, update) in enumerate(zip(steps, updates, strict=True)):
        con.execute("INSERT INTO step VALUES (0, ?, ?, ?, FALSE)", [number, *step])
        con.execute("INSERT INTO stage_phase (name, thread, start_ns, end_ns) VALUES ('update_actor', 1, ?, ?)", update)
    load(con, "stage_kernel", [(110, 220), (1010, 1060), (2010, 2060)], [105, 1005, 2005])
    normalise(con)
    found = con.execute("SELECT phase, step, steps, calls, from_ns, until_ns FROM r_timeline ORDER BY phase").fetchall()
    assert found == [("update_actor", 0, 3, 1, 100, 220), (None, 1, 3, None, 900, 1900)]


def test_real_traces(profiles: Path, tmp_path: Path) -> None:
    """The kernels of a rank of the DLRM trace, read from its JSON: their union in each bucket of the step."""
    file = next((profiles / "gpu-dlrm-8rank").glob("worker1_*.json"))
    store = store_of(file, tmp_path / "store.duckdb", keep_events=False)
    ((device, start, end, bucket),) = rows(
        store, "SELECT device_id, from_ns, until_ns, bucket_ns FROM r_timeline WHERE phase IS NULL"
    )
    busy = dict(rows(store, "SELECT kind, busy_ns FROM r_timeline_busy WHERE phase IS NULL"))
    events: list[dict[str, Any]] = json.loads(file.read_bytes())["traceEvents"]
    for kind, is_one in (("compute", False), ("comm", True)):
        spans = [
            (round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000))
            for event in events
            if event.get("cat") == "kernel"
            and event["args"].get("device") == device
            and event["name"].startswith("nccl") == is_one
        ]
        assert busy[kind] == united(spans, start, end, bucket), kind


def united(spans: Intervals, start: int, end: int, bucket: int) -> list[int]:
    """The length of the union of intervals in each bucket, one interval at a time."""
    found = [0] * -(-(end - start) // bucket)
    reached = start
    for first, last in sorted(spans):
        at, last = max(first, reached), min(last, end)
        while at < last:
            number = (at - start) // bucket
            piece = min(last, start + (number + 1) * bucket)
            found[number] += piece - at
            at = piece
        reached = max(reached, last)
    return found

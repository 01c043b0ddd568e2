"""Self and total times of framework operators: against painting, torch_npu's own table, and plain Python on a trace."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlcompare.compare.rows import number
from tests.sql.rollup_stores import compared
from tests.stores import rows, store_of

from .timelines import normalise, reset

LENGTH = 60


class Call(NamedTuple):
    thread: int | None
    name: str
    start: int
    end: int


@st.composite
def nested(draw: st.DrawFn) -> list[Call]:
    """Calls on two threads that nest as calls do, some of them without a length, in any order of their rows."""
    calls: list[Call] = []

    def fill(thread: int, start: int, end: int, depth: int) -> None:
        while start < end and draw(st.booleans()):
            first = draw(st.integers(start, end))
            last = draw(st.integers(first, end))
            calls.append(Call(thread, draw(st.sampled_from("abc")), first, last))
            if depth < 4:
                fill(thread, first, last, depth + 1)
            start = last

    for thread in (1, 2):
        fill(thread, 0, LENGTH, 0)
    return draw(st.permutations(calls))


def add(con: duckdb.DuckDBPyConnection, calls: list[Call]) -> None:
    for key, call in enumerate(calls):
        con.execute(
            "INSERT INTO stage_host_op BY NAME"
            " SELECT ? AS id, ? AS thread, ? AS name, CAST(? AS BIGINT) AS start_ns, CAST(? AS BIGINT) AS end_ns",
            [key, *call],
        )


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(calls=nested())
def test_times_equal_painting(con: duckdb.DuckDBPyConnection, calls: list[Call]) -> None:
    # GIVEN calls that nest, on two threads
    reset(con)
    add(con, calls)
    # WHEN
    normalise(con)
    # THEN at each point, the shortest call of a thread runs itself, and each name that is open counts once
    own: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for thread in (1, 2):
        for point in range(LENGTH):
            around = [call for call in calls if call.thread == thread and call.start <= point < call.end]
            shortest = min((call.end - call.start for call in around), default=None)
            # Calls with the same start and end may have been nested either way: any name of theirs will do.
            innermost = {call.name for call in around if call.end - call.start == shortest}
            own["/".join(sorted(innermost))] += 1
            whole.update({call.name for call in around})
    found = con.execute("SELECT name, host_self_ns, host_total_ns, host_ns FROM r_operator").fetchall()
    assert {name: total for name, _, total, _ in found} == {call.name: whole[call.name] for call in calls}
    assert sum(self_ns for _, self_ns, _, _ in found) == sum(own.values()) - own[""]
    for name, self_ns, _, all_ns in found:
        shared = sum(time for names, time in own.items() if "/" in names and name in names.split("/"))
        assert own[name] <= self_ns <= own[name] + shared
        assert all_ns == sum(call.end - call.start for call in calls if call.name == name)


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(spans=st.lists(st.tuples(st.integers(0, LENGTH), st.integers(0, LENGTH)).map(sorted), max_size=12))
def test_no_call_has_more_time_of_its_own_than_it_lasts(con: duckdb.DuckDBPyConnection, spans: list[list[int]]) -> None:
    """Calls that are nested sum to the time of the thread. Of others, one may have lost time to another."""
    reset(con)
    add(con, [Call(1, "x", start, end) for start, end in spans])
    normalise(con)
    found = con.execute("SELECT start_ns, end_ns, self_ns FROM host_op").fetchall()
    assert all(own <= end - start for start, end, own in found)
    union = len({point for start, end in spans for point in range(start, end)})
    crossing = any(one[0] < other[0] < one[1] < other[1] for one in spans for other in spans)
    total = sum(own for *_, own in found)
    assert total <= union if crossing else total == union


def test_an_operator_without_a_length_takes_nothing_from_the_one_around_it(con: duckdb.DuckDBPyConnection) -> None:
    """Profilers that count microseconds record many: one of them must not become the parent of what follows."""
    reset(con)
    add(con, [Call(1, "outer", 0, 100), Call(1, "none", 20, 20), Call(1, "first", 30, 40), Call(1, "last", 40, 40)])
    normalise(con)
    found = con.execute("SELECT name, parent_id, self_ns FROM host_op ORDER BY id").fetchall()
    assert found == [("outer", None, 90), ("none", 0, 0), ("first", 0, 10), ("last", 0, 0)]


def test_without_a_thread_the_nesting_is_unknown(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    add(con, [Call(None, "a", 0, 100), Call(None, "b", 20, 30), Call(1, "b", 20, 30)])
    normalise(con)
    found = con.execute("SELECT name, host_ns, host_self_ns, host_total_ns FROM r_operator ORDER BY name").fetchall()
    assert found == [("a", 100, None, None), ("b", 20, None, None)]


@pytest.mark.slow
@pytest.mark.parametrize(("level", "rank"), [("level0", 0), ("level1", 0), ("level1", 1)])
def test_self_times_equal_those_of_torch_npu(ascend_910b: Path, tmp_path: Path, level: str, rank: int) -> None:
    """operator_details.csv has the self time of each call; the trace beside it has the calls."""
    folder = ascend_910b / "text" / level / f"rank{rank}_ascend_pt"
    expected: defaultdict[str, list[Decimal]] = defaultdict(lambda: [Decimal(0)] * 3)
    with (folder / "ASCEND_PROFILER_OUTPUT" / "operator_details.csv").open(newline="") as lines:
        for line in csv.DictReader(lines):
            own, total = (Decimal(line[f"Host {kind} Duration(us)"]) * 1000 for kind in ("Self", "Total"))
            expected[line["Name"]] = [
                a + b for a, b in zip(expected[line["Name"]], (Decimal(1), own, total), strict=True)
            ]
    store = store_of(folder, tmp_path / "a.duckdb", prefer="text", keep_events=False)
    query = "SELECT name, sum(calls), sum(host_self_ns), sum(host_ns) FROM r_operator GROUP BY name"
    found = {name: [calls, own, total] for name, calls, own, total in rows(store, query)}
    assert found == expected


def events_of(path: Path) -> tuple[list[Call], list[Call]]:
    """Operators and marks of steps of a trace, in ns."""
    events: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)["traceEvents"]

    def calls(category: str) -> list[Call]:
        found = (event for event in events if event["ph"] == "X" and event["cat"] == category)
        spans = ((event, round(event["ts"] * 1000)) for event in found)
        return [Call(event["tid"], event["name"], at, at + round(event["dur"] * 1000)) for event, at in spans]

    return calls("cpu_op"), [mark for mark in calls("user_annotation") if mark.name.startswith("ProfilerStep#")]


def evaluated(folder: Path) -> dict[str, list[float]]:
    """Calls, self and total ms by name, per rank and step, with a stack of open calls."""
    times: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    count = 0
    for path in folder.iterdir():
        operators, steps = events_of(path)
        count += len(steps)
        for thread in {call.thread for call in operators}:
            stack: list[Call] = []
            for call in sorted((c for c in operators if c.thread == thread), key=lambda c: (c.start, -c.end)):
                while stack and stack[-1].end <= call.start:
                    stack.pop()
                if any(step.start <= call.start <= step.end for step in steps):
                    length = (call.end - call.start) / 1e6
                    times[call.name][0] += 1
                    times[call.name][1] += length
                    times[call.name][2] += length if call.name not in {outer.name for outer in stack} else 0
                    if stack:
                        times[stack[-1].name][1] -= length
                stack.append(call)
    return {name: [value / count for value in values] for name, values in times.items()}


@pytest.mark.slow
def test_the_section_equals_an_evaluation_of_the_traces(shared: Path, tmp_path: Path) -> None:
    folder = shared / "profiles" / "cpu-torch213-2rank"
    stores = [store_of(folder / side, tmp_path / f"{side}.duckdb", keep_events=False) for side in ("base", "changed")]
    diff = compared(*stores)
    expected = [evaluated(folder / side) for side in ("base", "changed")]
    section = {str(row["name"]): row for row in diff.sections["operators"].rows}
    assert section.keys() == expected[0].keys() | expected[1].keys()
    for side, wanted in zip(("baseline", "new"), expected, strict=True):
        for name, row in section.items():
            columns = (f"{side}_calls", side, f"{side}_host_total_ms")
            assert [row[key] for key in columns] == pytest.approx(wanted.get(name, [0, 0, 0]), abs=1e-6), (side, name)
        # THEN no self time exceeds the step, and together they stay within it
        step = next(delta for delta in diff.overall if delta.metric == "time.step")
        assert sum(number(row[side]) or 0 for row in section.values()) < getattr(step, side)

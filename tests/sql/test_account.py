"""The account of a step (sql/account) against a painter that asks for every single nanosecond what the device does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .timelines import normalise, reset

LENGTH = 90
UNIT = 10_000
"""Nanoseconds of a point of the painter's line."""
LATENCY = 5
"""Points that a device needs to start a task after its launch has returned: 50 us."""
KINDS = {"kernel": "compute", "collective": "comm", "copy": "copy"}
REASONS = {
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__": "data",
    "aten::item": "sync",
    "c10d::allreduce_": "collective call",
    "aclrtSynchronizeStream": "sync",
    "cudaMalloc": "alloc",
}
OPERATORS = (
    "aten::add",
    "aten::mm",
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    "aten::item",
    "c10d::allreduce_",
)
CALLS = ("aclrtSynchronizeStream", "cudaMalloc", "launch")


@dataclass(frozen=True, order=True)
class Task:
    """A kernel, collective or copy; ``launch`` is its start on the host, with the length of the call and its thread."""

    start: int
    end: int
    id: int
    what: str
    name: str
    launch: tuple[int, int, int] | None


@dataclass(frozen=True)
class Span:
    """An operator, call, collection or range on a thread of the host."""

    table: str
    name: str | None
    thread: int
    start: int
    end: int

    @property
    def kind(self) -> str:
        if self.table == "gc":
            return "gc"
        return REASONS.get(self.name or "", {"host_op": "operator", "host_api": "", "range": "python"}[self.table])


@dataclass(frozen=True)
class Timeline:
    """One process: the tasks of its devices, its host, and its steps; without steps it is one step."""

    devices: tuple[tuple[Task, ...], ...]
    spans: tuple[Span, ...]
    steps: tuple[tuple[int, int], ...]


@st.composite
def tasks(draw: st.DrawFn) -> tuple[Task, ...]:
    found = []
    for number in range(draw(st.integers(1, 9))):
        start = draw(st.integers(5, LENGTH))
        what = draw(st.sampled_from(["kernel", "kernel", "collective", "copy"]))
        name = {"kernel": f"k{draw(st.sampled_from('abc'))}", "collective": "hcom_send_", "copy": "memset"}[what]
        launch = draw(st.none() | st.tuples(st.integers(0, start), st.integers(0, 8), st.sampled_from([7, 8])))
        found.append(Task(start, min(start + draw(st.integers(0, 25)), LENGTH + 5), number, what, name, launch))
    return tuple(found)


@st.composite
def spans(draw: st.DrawFn) -> tuple[Span, ...]:
    """Spans that are nested on each thread."""
    found: list[Span] = []

    def nest(thread: int, start: int, end: int, depth: int) -> None:
        while start < end and len(found) < 24 and draw(st.booleans()):
            first = draw(st.integers(start, end - 1))
            last = draw(st.integers(first + 1, end))
            table = draw(st.sampled_from(["host_op", "host_op", "host_api", "gc", "range"]))
            name = {
                "host_op": st.sampled_from(OPERATORS),
                "host_api": st.sampled_from(CALLS),
                "gc": st.none(),
                "range": st.just("loop"),
            }
            found.append(Span(table, draw(name[table]), thread, first, last))
            if depth < 3:
                nest(thread, first, last, depth + 1)
            start = last

    for thread in (7, 8):
        nest(thread, 0, LENGTH, 0)
    return tuple(found)


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    cuts = sorted(draw(st.lists(st.integers(0, LENGTH), max_size=4, unique=True)))
    steps = tuple(zip(cuts[::2], cuts[1::2], strict=False))
    return Timeline(tuple(draw(st.lists(tasks(), min_size=1, max_size=2))), draw(spans()), steps)


def painted(line: Timeline) -> Counter[tuple[int, int, str, str | None]]:
    """Nanoseconds by (device, step, kind, subject)."""
    found: Counter[tuple[int, int, str, str | None]] = Counter()
    main = main_thread(line)
    has_kernels = any(task.what == "kernel" for device in line.devices for task in device)
    for device, listed in enumerate(line.devices):
        running = {
            what: [
                min((t for t in listed if t.what == what and t.start <= now < t.end), default=None)
                for now in range(2 * LENGTH)
            ]
            for what in KINDS
        }
        on_device = [next((running[w][now] for w in KINDS if running[w][now]), None) for now in range(2 * LENGTH)]
        both = [t for t in listed if t.what != "copy"]
        whole = [(min(t.start for t in both), max(t.end for t in both))] if both else []
        for step, (start, end) in enumerate(line.steps or whole):
            for now in range(start, end):
                task = on_device[now]
                if task is not None:
                    subject = "send" if task.what == "collective" else task.name
                    what: tuple[str, str | None] = (KINDS[task.what], subject)
                else:
                    what = of_gap(line, running, on_device, now, (start, end), main, has_kernels)
                key = (device, step, *what)
                found[key] += 1
    return found


def of_gap(
    line: Timeline,
    running: dict[str, list[Task | None]],
    on_device: list[Task | None],
    now: int,
    window: tuple[int, int],
    main: int | None,
    has_kernels: bool,
) -> tuple[str, str | None]:
    if not has_kernels:
        return "unknown", None
    begin = next((t + 1 for t in range(now, window[0] - 1, -1) if on_device[t]), window[0])
    end = next((t for t in range(now, window[1]) if on_device[t]), window[1])
    after = next(
        (t for t in range(end, 2 * LENGTH) if any(running[w][t] and running[w][t] != running[w][t - 1] for w in KINDS)),
        None,
    )
    following = None
    if after is not None:
        following = next(
            running[w][after]
            for w in ("kernel", "copy", "collective")
            if running[w][after] and running[w][after] != running[w][after - 1]
        )
    if following is not None:
        if following.launch is None:
            return "unknown", None
        call, length, thread = of_launch(line, following.launch[0])
        subject = following.name if following.what == "kernel" else None
        if call + length <= begin:
            return "queue", subject
        if end - begin <= min(length, LATENCY) or call <= now < call + length + LATENCY:
            return "launch", subject
        if now >= call:
            return "queue", subject
    else:
        thread = None
    what = of_host(line.spans, now, main if thread is None else thread, main)
    return ("unknown", None) if what == ("python", None) and not is_recorded(line, now) else what


def is_recorded(line: Timeline, now: int) -> bool:
    """Whether the host recorded anything before this time, and anything after it."""
    calls = [(t.launch[0], sum(t.launch[:2])) for device in line.devices for t in device if t.launch]
    found = [*calls, *line.steps, *((span.start, span.end) for span in line.spans)]
    return min(start for start, _ in found) <= now < max(end for _, end in found) if found else False


def of_launch(line: Timeline, start: int) -> tuple[int, int, int]:
    """The longest call that starts at this time, if it is no reason of its own: start, length and thread."""
    calls = [
        (s.end - s.start, -s.thread) for s in line.spans if s.table == "host_api" and not s.kind and s.start == start
    ]
    calls += [
        (t.launch[1], -t.launch[2]) for device in line.devices for t in device if t.launch and t.launch[0] == start
    ]
    length, thread = max(calls)
    return start, length, -thread


def of_host(listed: Sequence[Span], now: int, thread: int | None, main: int | None) -> tuple[str, str | None]:
    if main is None and thread is None:
        return "unknown", None
    labels = [innermost(listed, now, where) for where in (thread, main)]
    for label in sorted(filter(None, labels), key=lambda span: span.table == "range"):
        return kind_among(listed, label), label.name
    return ("unknown" if main is None else "python"), None


def innermost(listed: Sequence[Span], now: int, thread: int | None) -> Span | None:
    """The innermost reason on a thread, else the innermost operator or range."""
    active = [s for s in listed if s.kind and s.thread == thread and s.start <= now < s.end]
    reasons = [s for s in active if kind_among(listed, s) not in ("operator", "python")]
    return max(reasons or active, key=lambda s: (s.start, -s.end, s.kind, s.name or ""), default=None)


def kind_among(listed: Sequence[Span], span: Span) -> str:
    """The kind of a span: an operator synchronises only if it calls what waits, where such calls are recorded."""
    if span.table != "host_op" or span.kind != "sync":
        return span.kind
    calls = [s for s in listed if s.table == "host_api"]
    waits = [s for s in calls if s.kind == "sync" and s.thread == span.thread and span.start <= s.start < span.end]
    return "sync" if waits or not calls else "operator"


def main_thread(line: Timeline) -> int | None:
    firsts = []
    for start in [start for start, _ in line.steps] or [0]:
        operators = [(s.start, s.thread) for s in line.spans if s.table == "host_op" and s.start >= start]
        firsts += [min(operators)[1]] if operators else []
    return max(set(firsts), key=lambda thread: (firsts.count(thread), -thread)) if firsts else None


def fill(con: duckdb.DuckDBPyConnection, lines: Sequence[Timeline]) -> None:
    """One capture for each timeline."""
    reset(con)
    con.execute("DELETE FROM capture")
    rows: dict[str, list[dict[str, object]]] = {}
    for capture, line in enumerate(lines):
        whole = {"ordinal": 0, "tool": "npu", "source": "test", "path": "x", "executor": "device"}
        rows.setdefault("capture", []).append({"capture": capture, **whole})
        for table, row in rows_of(line):
            rows.setdefault(table, []).append({"capture": capture, **row})
    for table, found in rows.items():
        for row in found:
            columns, marks = ", ".join(row), ", ".join("?" * len(row))
            con.execute(f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', list(row.values()))


def rows_of(line: Timeline) -> Iterator[tuple[str, dict[str, object]]]:
    for step, (start, end) in enumerate(line.steps):
        yield "step", {"step": step, "start_ns": start * UNIT, "end_ns": end * UNIT, "inferred": False}
    for device, listed in enumerate(line.devices):
        for place, task in enumerate(listed):
            row: dict[str, object] = {"id": device * 100 + place, "device_id": device}
            row |= {
                "kind" if task.what == "copy" else "name": task.name,
                "start_ns": task.start * UNIT,
                "end_ns": task.end * UNIT,
            }
            yield f"stage_{task.what}", row | ({"launch_ns": task.launch[0] * UNIT} if task.launch else {})
            if task.launch:
                start, length, thread = task.launch
                call = {"layer": "node", "name": "launch", "thread": thread}
                yield "host_api", call | {"start_ns": start * UNIT, "end_ns": (start + length) * UNIT}
    for place, span in enumerate(line.spans):
        row = {"name": span.name, "thread": span.thread, "start_ns": span.start * UNIT, "end_ns": span.end * UNIT}
        if span.table == "gc":
            del row["name"]
        more: dict[str, dict[str, object]] = {
            "host_op": {"id": place},
            "host_api": {"layer": "runtime"},
            "range": {"kind": "range", "side": "host"},
        }
        yield "stage_host_op" if span.table == "host_op" else span.table, {**row, **more.get(span.table, {})}


# Each example is a batch of captures: what is planned for one of them serves them all.


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(lines=st.lists(timelines(), min_size=4, max_size=8))
def test_the_account_equals_painting(con: duckdb.DuckDBPyConnection, lines: list[Timeline]) -> None:
    fill(con, lines)
    normalise(con)
    found = con.execute(
        "SELECT capture, device_id, step, kind, subject, CAST(sum(ns) AS BIGINT) FROM r_account GROUP BY ALL"
    ).fetchall()
    expected = {(capture, *key): ns for capture, line in enumerate(lines) for key, ns in painted(line).items()}
    assert {tuple(key): ns / UNIT for *key, ns in found} == expected


def test_a_gap_is_cut_where_a_phase_begins(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 1, 0, 1000, FALSE)")
    con.execute(
        "INSERT INTO stage_phase (name, thread, start_ns, end_ns) VALUES ('gen', 7, 0, 100), ('adv', 7, 100, 1000)"
    )
    con.execute("INSERT INTO stage_host_op (id, thread, name, start_ns, end_ns) VALUES (0, 7, 'aten::add', 0, 980)")
    con.execute(
        "INSERT INTO stage_kernel (id, device_id, name, start_ns, end_ns, launch_ns) VALUES (0, 0, 'k', 990, 1000, 980)"
    )
    normalise(con)
    found = con.execute("SELECT phase, kind, CAST(ns AS BIGINT) FROM r_account ORDER BY ALL").fetchall()
    assert found == [
        ("adv", "compute", 10), ("adv", "launch", 10), ("adv", "operator", 880),
        ("generate_sequences", "operator", 100),
    ]  # fmt: skip


def test_a_copy_whose_launch_is_unknown_waits_for_its_operator(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 1, 0, 1000, FALSE)")
    con.execute("INSERT INTO stage_host_op (id, thread, name, start_ns, end_ns) VALUES (0, 7, 'aten::index', 90, 490)")
    con.execute(
        "INSERT INTO host_api (capture, thread, layer, name, start_ns, end_ns)"
        " VALUES (0, 7, 'runtime', 'cudaStreamSynchronize', 110, 480)"
    )
    con.execute(
        "INSERT INTO stage_kernel (id, device_id, name, start_ns, end_ns, launch_ns) VALUES (0, 0, 'k', 0, 100, 0)"
    )
    con.execute(
        "INSERT INTO stage_copy (id, device_id, kind, start_ns, end_ns, host_op_ns)"
        " VALUES (0, 0, 'memset', 500, 1000, 90)"
    )
    normalise(con)
    found = con.execute("SELECT kind, subject, CAST(ns AS BIGINT) FROM r_account ORDER BY ALL").fetchall()
    assert found == [
        ("compute", "k", 100), ("copy", "memset", 500), ("operator", "aten::index", 20), ("python", None, 10),
        ("sync", "cudaStreamSynchronize", 370),
    ]  # fmt: skip


def test_an_operator_that_could_synchronise_does_so_only_where_a_call_waits(con: duckdb.DuckDBPyConnection) -> None:
    """The optimizer reads its step counters, which are on the host. The device waits for both operators."""
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 1, 0, 1000, FALSE)")
    con.execute(
        "INSERT INTO stage_host_op (id, thread, name, start_ns, end_ns)"
        " VALUES (0, 7, 'aten::item', 100, 300), (1, 7, 'aten::is_nonzero', 400, 600)"
    )
    con.execute(
        "INSERT INTO host_api (capture, thread, layer, name, start_ns, end_ns)"
        " VALUES (0, 7, 'runtime', 'cudaStreamSynchronize', 450, 550), (0, 7, 'runtime', 'cudaLaunchKernel', 900, 910)"
    )
    con.execute(
        "INSERT INTO stage_kernel (id, device_id, name, start_ns, end_ns, launch_ns)"
        " VALUES (0, 0, 'k', 0, 100, 0), (1, 0, 'k', 950, 1000, 900)"
    )
    normalise(con)
    found = con.execute(
        "SELECT kind, subject, CAST(ns AS BIGINT) FROM r_account WHERE kind IN ('operator', 'sync') ORDER BY ALL"
    ).fetchall()
    assert found == [
        ("operator", "aten::item", 200), ("sync", "aten::is_nonzero", 100), ("sync", "cudaStreamSynchronize", 100),
    ]  # fmt: skip


def test_what_the_host_did_before_it_was_recorded_is_unknown(con: duckdb.DuckDBPyConnection) -> None:
    """The device waits from 100 to 500. The host was recorded from 300 on: add until 400, a launch at 450."""
    reset(con)
    con.execute("INSERT INTO stage_host_op (id, thread, name, start_ns, end_ns) VALUES (0, 7, 'aten::add', 300, 400)")
    con.execute(
        "INSERT INTO stage_kernel (id, device_id, name, start_ns, end_ns, launch_ns)"
        " VALUES (0, 0, 'k', 0, 100, NULL), (1, 0, 'k', 500, 600, 450)"
    )
    normalise(con)
    found = con.execute("SELECT kind, subject, CAST(ns AS BIGINT) FROM r_account ORDER BY ALL").fetchall()
    assert found == [
        ("compute", "k", 200), ("launch", "k", 50), ("operator", "aten::add", 100), ("python", None, 50),
        ("unknown", None, 200),
    ]  # fmt: skip


def test_what_the_host_did_before_a_call_that_blocks_is_no_launch(con: duckdb.DuckDBPyConnection) -> None:
    """A copy of pageable memory takes 25 ms, and so does its call. Before it, Python ran for 12 ms, the device idle."""
    reset(con)
    ms = 1_000_000
    con.execute("INSERT INTO step VALUES (0, 1, 0, 100000000, FALSE)")
    con.execute("INSERT INTO stage_host_op (id, thread, name, start_ns, end_ns) VALUES (0, 7, 'aten::add', 0, 1000)")
    con.execute(
        "INSERT INTO host_api (capture, thread, layer, name, start_ns, end_ns)"
        " VALUES (0, 7, 'runtime', 'cudaMemcpyAsync', 22000000, 47000000)"
    )
    con.execute(
        "INSERT INTO stage_kernel (id, device_id, name, start_ns, end_ns, launch_ns)"
        " VALUES (0, 0, 'k', 500, 10000000, 500)"
    )
    con.execute(
        "INSERT INTO stage_copy (id, device_id, kind, start_ns, end_ns, launch_ns)"
        " VALUES (0, 0, 'host_to_device', 23000000, 46000000, 22000000)"
    )
    normalise(con)
    found = dict(con.execute("SELECT kind, CAST(sum(ns) AS BIGINT) FROM r_account GROUP BY kind").fetchall())
    assert found["launch"] == ms and found["python"] >= 12 * ms

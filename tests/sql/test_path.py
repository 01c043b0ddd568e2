"""The critical path over ranks against a walker that goes back nanosecond by nanosecond."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlcompare import db, resources
from rlcompare.store.new_file import run_all
from rlcompare.store.run_stage import RUN_STAGE

from .timelines import normalise, reset

RANKS = "xyz"
"""A letter for each rank, because numbers in the names of kernels do not count."""

Account = Counter[tuple[int, int, str]]
"""Nanoseconds by (rank, step, kind); of a kernel its name."""


@dataclass(frozen=True)
class Rank:
    """What one rank does: (start, end) of its steps and collectives, and (start, end, name) of its kernels."""

    steps: tuple[tuple[int, int], ...]
    collectives: tuple[tuple[int, int], ...]
    kernels: tuple[tuple[int, int, str], ...]

    def later(self, by: int) -> Rank:
        """The same on a clock that is ahead."""
        return Rank(
            tuple((start + by, end + by) for start, end in self.steps),
            tuple((start + by, end + by) for start, end in self.collectives),
            tuple((start + by, end + by, name) for start, end, name in self.kernels),
        )


@dataclass(frozen=True)
class Job:
    """Ranks that call the same collectives in the same order.

    Attributes:
        world: the number of processes; more than ``ranks`` if not all were profiled.
    """

    ranks: tuple[Rank, ...]
    world: int
    hosts: tuple[str | None, ...]


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    ranks, length = draw(st.integers(2, 3)), draw(st.integers(1, 5))
    starts: list[list[int]] = [[] for _ in range(ranks)]
    ends: list[list[int]] = [[] for _ in range(ranks)]
    free = [draw(st.integers(0, 12)) for _ in range(ranks)]
    first = list(free)
    for _ in range(length):
        begun = [draw(st.integers(at, at + 12)) for at in free]
        is_met = draw(st.integers(0, 9)) > 0
        for rank in range(ranks):
            least = max(begun) + 1 if is_met else begun[rank] + 1
            starts[rank].append(begun[rank])
            ends[rank].append(least + draw(st.integers(0, 3)))
            free[rank] = ends[rank][-1]
    cut = draw(st.integers(0, length - 1))
    found = []
    for rank in range(ranks):
        end = free[rank] + draw(st.integers(0, 12))
        steps = [(first[rank], end)]
        if cut:  # between two collectives the second step begins
            at = draw(st.integers(ends[rank][cut - 1], starts[rank][cut]))
            after = draw(st.integers(at, starts[rank][cut]))
            steps = [(first[rank], at), (after, end)]
        kernels = []
        for name in "abc":
            start = draw(st.integers(first[rank], end))
            kernels.append((start, min(start + draw(st.integers(1, 15)), end), f"{name}{RANKS[rank]}"))
        found.append(
            Rank(
                tuple(step for step in steps if step[1] > step[0]),
                tuple(zip(starts[rank], ends[rank], strict=True)),
                tuple(kernel for kernel in kernels if kernel[1] > kernel[0]),
            )
        )
    return Job(tuple(found), ranks + draw(st.integers(0, 1)), (None,) * ranks)


def last_to_start(job: Job, call: int) -> tuple[int, int] | None:
    """When the last rank starts a collective, and which one; None if the ranks were not in it at one time.

    Collectives meet within a step.
    """
    places = {_place(rank, call) for rank in job.ranks}
    spans = [rank.collectives[call] for rank in job.ranks]
    if len(places) > 1 or max(start for start, _ in spans) > min(end for _, end in spans):
        return None
    last, rank = max((start, -rank) for rank, (start, _) in enumerate(spans))
    return last, -rank


def _place(rank: Rank, call: int) -> tuple[int, int]:
    """The step of a collective, and its position there."""
    steps = [_step(rank, start) for start, _ in rank.collectives]
    return steps[call], steps[:call].count(steps[call])


def _step(rank: Rank, now: int) -> int:
    return next((step for step, (start, end) in enumerate(rank.steps) if start <= now < end), -1)


def _does(job: Job, number: int, now: int) -> tuple[str, int | None]:
    """What a rank does in the nanosecond from ``now`` on, and the collective that it only waits in."""
    rank = job.ranks[number]
    kernels = [(start, end, name) for start, end, name in rank.kernels if start <= now < end]
    if kernels:
        covering = [(start, end, place) for place, (start, end, _) in enumerate(rank.kernels) if start <= now < end]
        return rank.kernels[min(covering)[2]][2], None
    call = next((call for call, (start, end) in enumerate(rank.collectives) if start <= now < end), None)
    if call is None:
        return "idle", None
    last = last_to_start(job, call)
    if last is None:
        return "comm", None
    if now < last[0]:
        return "wait", call
    return "transfer" if job.world == len(job.ranks) else "comm", None


def walks(job: Job) -> list[set[int]]:
    """Steps that are walked together, because a rank begins the later one before all have ended the earlier."""
    found: list[set[int]] = []
    latest = 0
    for step in sorted({step for rank in job.ranks for step in range(len(rank.steps))}):
        spans = [rank.steps[step] for rank in job.ranks if step < len(rank.steps)]
        if found and min(start for start, _ in spans) < latest:
            found[-1].add(step)
        else:
            found.append({step})
        latest = max(latest, *(end for _, end in spans))
    return found


def walked(job: Job) -> Account:
    found = Account()
    for steps in walks(job):
        spans = {
            number: [rank.steps[step] for step in sorted(steps) if step < len(rank.steps)]
            for number, rank in enumerate(job.ranks)
        }
        spans = {number: own for number, own in spans.items() if own}
        now, number = max((own[-1][1], -number) for number, own in spans.items())
        number, arrived = -number, None
        while now > spans[number][0][0]:
            inside = next((step for step in steps if _holds(job.ranks[number], step, now - 1)), None)
            if inside is None:
                following = min(step for step in steps if job.ranks[number].steps[step][0] >= now)
                found[number, following, "between steps"] += 1
                now -= 1
                continue
            kind, call = _does(job, number, now - 1)
            last = None if call is None else last_to_start(job, call)
            if (
                last is not None
                and last[0] == now != arrived
                and any(start <= now <= end for start, end in spans[last[1]])
            ):
                number, arrived = last[1], now
                continue
            found[number, inside, kind] += 1
            now -= 1
        begun = min(own[0][0] for own in spans.values())
        found[number, min(step for step in steps if job.ranks[number].steps[step][0] == now), "late start"] += (
            now - begun
        )
    return +found


def _holds(rank: Rank, step: int, now: int) -> bool:
    return step < len(rank.steps) and rank.steps[step][0] <= now < rank.steps[step][1]


def rows_of(job: Job, place: int) -> Iterator[tuple[str, dict[str, object]]]:
    members = ",".join(str(rank) for rank in range(job.world))
    for number, rank in enumerate(job.ranks):
        capture = place * 10 + number
        whole = {"ordinal": 0, "tool": "npu", "source": "test", "path": "x", "executor": "device"}
        of_job = {"role": f"job {place}", "rank": number, "world_size": job.world, "host": job.hosts[number]}
        yield "capture", {"capture": capture, **whole, **of_job}
        for step, (start, end) in enumerate(rank.steps):
            yield "step", {"capture": capture, "step": step, "start_ns": start, "end_ns": end, "inferred": False}
        for call, (start, end) in enumerate(rank.collectives):
            times = {"start_ns": start, "end_ns": end, "launch_ns": start}
            row = {
                "capture": capture,
                "id": call,
                "device_id": number,
                "name": "hcom_allReduce_",
                "op_type": "hcom_allReduce_",
            }
            yield "stage_collective", {**row, "group_name": "g", "group_ranks": members, **times}
        for kernel, (start, end, name) in enumerate(rank.kernels):
            times = {"start_ns": start, "end_ns": end, "launch_ns": start}
            yield "stage_kernel", {"capture": capture, "id": kernel, "device_id": number, "name": name, **times}


def fill(con: duckdb.DuckDBPyConnection, given: Sequence[Job]) -> None:
    reset(con)
    con.execute("DELETE FROM capture")
    for place, job in enumerate(given):
        for table, row in rows_of(job, place):
            columns, marks = ", ".join(row), ", ".join("?" * len(row))
            con.execute(f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', list(row.values()))
    normalise(con)
    run_all(con, RUN_STAGE)


def set_step(con: duckdb.DuckDBPyConnection, step: int, where: str) -> None:
    tables = con.execute(
        "SELECT table_name FROM duckdb_columns() WHERE column_name = 'step' AND starts_with(table_name, 'r_')"
    ).fetchall()
    for (table,) in [("step",), *tables]:
        con.execute(f"UPDATE {table} SET step = {step} WHERE {where}")


KINDS = (
    "CASE WHEN kind = 'compute' THEN subject WHEN kind IN ('launch', 'queue', 'unknown', 'python') THEN 'idle'"
    " ELSE kind END"
)


def paths(con: duckdb.DuckDBPyConnection) -> dict[int, Account]:
    """The path of each job."""
    found: dict[int, Account] = {}
    rows = con.execute(f"SELECT capture, step, {KINDS}, CAST(sum(ns) AS BIGINT) FROM r_path GROUP BY ALL").fetchall()
    for capture, step, kind, ns in rows:
        found.setdefault(capture // 10, Account())[capture % 10, step, kind] += ns
    return found


def starts(con: duckdb.DuckDBPyConnection) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    """What the path has of the kinds that occur on it alone, and what a comparison says that each rank has of them."""
    for name, value in (("side", "new"), ("run", 0), ("steps", []), ("ranks", [])):
        db.set_variable(con, name, value)
    for name in ("unmarked", "capture", "step", "step_start"):
        con.execute(f"DROP TABLE IF EXISTS c_{name}")
        con.execute(resources.sql(f"compare/load/{name}"))
    con.execute("RESET VARIABLE steps")  # normalize/ has another meaning for it
    of_path = "SELECT capture, step, kind, ns FROM r_path WHERE kind IN ('late start', 'between steps')"
    own = "SELECT capture, step, kind, ns FROM c_step_start"
    return {*con.execute(of_path).fetchall()}, {*con.execute(own).fetchall()}


@pytest.mark.slow
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(given=st.lists(jobs(), min_size=10, max_size=16))
def test_the_path_equals_walking_back(con: duckdb.DuckDBPyConnection, given: list[Job]) -> None:
    fill(con, given)
    found = paths(con)
    for place, job in enumerate(given):
        assert found.get(place, Account()) == walked(job), job
    of_path, own = starts(con)
    assert of_path <= own


ONE = Job(
    (
        Rank(((0, 100),), ((20, 50), (60, 90)), ((0, 20, "ax"),)),
        Rank(((0, 100),), ((40, 50), (60, 90)), ((0, 40, "ay"),)),
        Rank(((0, 100),), ((10, 50), (80, 90)), ((50, 80, "bz"),)),
    ),
    3,
    (None, None, None),
)
"""Rank 1 is late for the first collective, rank 2 for the second."""


def test_it_leads_over_the_ranks_that_are_waited_for(con: duckdb.DuckDBPyConnection) -> None:
    fill(con, [ONE])
    assert paths(con)[0] == {
        (1, 0, "ay"): 40, (2, 0, "bz"): 30, (0, 0, "transfer"): 10, (2, 0, "transfer"): 10, (0, 0, "idle"): 10
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [("a", "b", "a"), ("a", "b", "c")])
def test_clocks_of_several_machines_are_aligned(con: duckdb.DuckDBPyConnection, hosts: tuple[str, ...]) -> None:
    fill(con, [ONE])
    expected = paths(con)
    ranks = (ONE.ranks[0], ONE.ranks[1].later(1_000_000), ONE.ranks[2])
    fill(con, [replace(ONE, hosts=hosts, ranks=ranks)])
    assert paths(con) == expected


def test_ranks_that_never_met_have_no_path_unless_they_share_a_clock(con: duckdb.DuckDBPyConnection) -> None:
    late = Rank(((50, 200),), ((160, 170), (180, 190)), ())
    apart = replace(ONE, ranks=(ONE.ranks[0], late), world=2, hosts=("a", "a"))
    fill(con, [apart])
    assert sum(paths(con)[0].values()) == 200
    con.execute("UPDATE capture SET host = 'machine ' || rank")
    con.execute("UPDATE r_collective SET ordinal = ordinal + 5 WHERE capture = 1")
    run_all(con, RUN_STAGE)
    assert paths(con) == {}


@pytest.mark.parametrize(("hosts", "expected"), [(("a", "a", "b"), False), (("a", "b", "b"), True), (("a",) * 3, True)])
def test_machines_that_never_met_have_no_path(
    con: duckdb.DuckDBPyConnection, hosts: tuple[str, ...], expected: bool
) -> None:
    """Ranks 0 and 1 met, which says nothing about the clock of rank 2 if that has a machine of its own."""
    fill(con, [replace(ONE, hosts=hosts)])
    con.execute("UPDATE r_collective SET group_key = '2' WHERE capture = 2")
    run_all(con, RUN_STAGE)
    assert bool(paths(con)) == expected


@pytest.mark.slow
def test_captures_of_one_step_each_have_a_path(con: duckdb.DuckDBPyConnection) -> None:
    """Between them the clock of rank 1 lost 500."""
    first, second = (
        replace(
            ONE, hosts=("a", "b", "c"), ranks=tuple(rank.later(by) for rank, by in zip(ONE.ranks, ahead, strict=True))
        )
        for ahead in ((0, 900, 0), (1000, 1400, 1000))
    )
    fill(con, [first, second])
    expected = paths(con)
    assert expected[0] == expected[1] != {}
    con.execute("UPDATE capture SET role = 'job 0', ordinal = capture // 10")
    set_step(con, 7, "capture >= 10")
    run_all(con, RUN_STAGE)
    assert paths(con) == {0: expected[0], 1: {(rank, 7, kind): ns for (rank, _, kind), ns in expected[1].items()}}


UNKNOWN_CLOCKS = "INSERT INTO finding SELECT capture, 'info', 'unknown_epoch', '' FROM capture"


@pytest.mark.slow
def test_files_with_clocks_of_their_own_are_aligned_by_collectives(con: duckdb.DuckDBPyConnection) -> None:
    """The files of one machine do not say when their clocks began: that of rank 1 did so 60 later."""
    fill(con, [ONE])
    expected = paths(con)
    fill(con, [replace(ONE, hosts=("a",) * 3, ranks=(ONE.ranks[0], ONE.ranks[1].later(-60), ONE.ranks[2]))])
    assert paths(con)[0] != expected[0]
    con.execute("UPDATE capture SET path = 'file ' || rank")
    con.execute(UNKNOWN_CLOCKS)
    run_all(con, RUN_STAGE)
    assert paths(con) == expected
    # one file without it has another clock than the machine, known or not
    con.execute("DELETE FROM finding WHERE capture <> 1")
    for host in ("a", None):
        con.execute("UPDATE capture SET host = ?", [host])
        run_all(con, RUN_STAGE)
        assert paths(con) == expected
    con.execute("UPDATE r_collective SET ordinal = ordinal + 5 WHERE capture = 2")
    run_all(con, RUN_STAGE)
    assert paths(con) != {}, "rank 2 is in no collective with the others, but has the clock of rank 0"
    con.execute("DELETE FROM finding")
    con.execute(UNKNOWN_CLOCKS)
    run_all(con, RUN_STAGE)
    assert paths(con) == {}


def test_processes_of_one_file_share_its_clock(con: duckdb.DuckDBPyConnection) -> None:
    late = Rank(((50, 200),), ((160, 170), (180, 190)), ())
    fill(con, [replace(ONE, ranks=(ONE.ranks[0], late), world=2, hosts=("a", "a"))])
    con.execute(UNKNOWN_CLOCKS)
    run_all(con, RUN_STAGE)
    assert sum(paths(con)[0].values()) == 200
    con.execute("UPDATE capture SET path = 'file ' || rank")
    run_all(con, RUN_STAGE)
    assert sum(paths(con)[0].values()) < 200


def test_ranks_of_different_steps_have_no_path(con: duckdb.DuckDBPyConnection) -> None:
    """Two steps that overlap would count as one that takes as long as both."""
    fill(con, [ONE])
    assert paths(con)
    set_step(con, 7, "capture = 1")
    run_all(con, RUN_STAGE)
    assert paths(con) == {}


@pytest.mark.slow
def test_ranks_without_a_name_of_their_machine_are_on_several_if_their_devices_have_one_number(
    con: duckdb.DuckDBPyConnection,
) -> None:
    fill(con, [ONE])
    expected = paths(con)
    fill(con, [replace(ONE, ranks=(ONE.ranks[0], ONE.ranks[1].later(1_000_000), ONE.ranks[2]))])
    assert paths(con) == {}, "on one machine no rank can end a step before another one begins it"
    tables = "SELECT table_name FROM duckdb_columns() WHERE column_name = 'device_id' AND starts_with(table_name, 'r_')"
    for (table,) in con.execute(tables).fetchall():
        con.execute(f"UPDATE {table} SET device_id = 0 WHERE device_id IS NOT NULL")
    run_all(con, RUN_STAGE)
    assert paths(con) == expected


def test_running_it_again_gives_the_same_rows(con: duckdb.DuckDBPyConnection) -> None:
    fill(con, [ONE])
    before = paths(con)
    run_all(con, RUN_STAGE)
    assert paths(con) == before


def test_a_receive_waits_for_the_send_of_the_other_rank(con: duckdb.DuckDBPyConnection) -> None:
    """Rank 1 receives from 10 on, rank 0 computes until 40, and sends."""
    job = Job(
        (Rank(((0, 60),), ((40, 60),), ((0, 40, "ax"),)), Rank(((0, 80),), ((10, 60),), ((60, 80, "by"),))),
        2,
        (None, None),
    )
    reset(con)
    con.execute("DELETE FROM capture")
    for table, row in rows_of(job, 0):
        if table == "stage_collective":
            row["name"] = row["op_type"] = "hcom_send_" if row["capture"] == 0 else "hcom_receive_"
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        con.execute(f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', list(row.values()))
    normalise(con)
    run_all(con, RUN_STAGE)
    assert paths(con)[0] == {(0, 0, "ax"): 40, (1, 0, "transfer"): 20, (1, 0, "by"): 20}

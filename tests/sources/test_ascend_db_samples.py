"""What only sample databases show: groups with known members, several devices, marks on streams, schema 1.2."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rlcompare.sources.detect import find_runs
from rlcompare.store.build import build_store
from rlcompare.writer import SampleRun, write_sample
from tests.stores import rows, store_of


def database_of(folder: Path) -> Path:
    (path,) = (folder / "ASCEND_PROFILER_OUTPUT").glob("ascend_pytorch_profiler_*.db")
    return path


@pytest.mark.slow
def test_a_groups_members_are_its_key(tmp_path: Path) -> None:
    # GIVEN a database whose groups have names, and metadata that list their members
    (folder, _) = write_sample(
        SampleRun(schema="1.2", steps=(1,), layers=1, decode_steps=1, export="both"), tmp_path / "s"
    )
    # WHEN it is read as database, as text, and as a database that lies alone
    alone = tmp_path / "alone" / database_of(folder).name
    alone.parent.mkdir()
    alone.write_bytes(database_of(folder).read_bytes())
    stores = [
        store_of(folder, tmp_path / "db.duckdb"),
        store_of(folder, tmp_path / "text.duckdb", prefer="text"),
        store_of(alone, tmp_path / "alone.duckdb"),
    ]
    # THEN the members are the key
    for store in stores:
        assert rows(store, "SELECT DISTINCT group_key FROM r_collective") == [("0,1",)]


@pytest.mark.slow
def test_groups_that_take_turns_in_starting_keep_their_keys(tmp_path: Path) -> None:
    # GIVEN two groups without known members: one reduces and scatters, the other gathers
    (folder, _) = write_sample(SampleRun(steps=(1,), layers=1, decode_steps=1), tmp_path / "s")
    keys = []
    for shift in (-1_000_000, 1_000_000):
        path = database_of(folder)
        with closing(sqlite3.connect(path)) as con:
            con.execute("INSERT OR IGNORE INTO STRING_IDS VALUES (99999, 'another group')")
            gathers = "opType = (SELECT id FROM STRING_IDS WHERE value = 'hcom_allGather_')"
            con.execute(f"UPDATE COMMUNICATION_OP SET groupName = 99999 WHERE {gathers}")
            # WHEN the first of one kind starts before the first of the other, or after it
            con.execute(
                f"UPDATE COMMUNICATION_OP SET startNs = (SELECT min(startNs) FROM COMMUNICATION_OP) + {shift}"
                f" WHERE opId = (SELECT min(opId) FROM COMMUNICATION_OP WHERE {gathers})"
            )
            con.commit()
        store = store_of(folder, tmp_path / f"{shift}.duckdb")
        keys.append(rows(store, "SELECT DISTINCT kind, group_key FROM r_collective ORDER BY ALL"))
    # THEN each is called the same
    assert keys[0] == keys[1]
    assert len({key for _, key in keys[0]}) == 2


@pytest.mark.slow
def test_tasks_of_collectives_are_no_copies_even_if_their_table_is_lost(tmp_path: Path) -> None:
    (folder, _) = write_sample(SampleRun(steps=(1,), layers=1, decode_steps=1), tmp_path / "s")
    copies = rows(store_of(folder, tmp_path / "a.duckdb"), "SELECT count(*), sum(end_ns - start_ns) FROM copy")
    with closing(sqlite3.connect(database_of(folder))) as con:
        con.execute("DROP TABLE COMMUNICATION_TASK_INFO")
        con.commit()
    assert rows(store_of(folder, tmp_path / "b.duckdb"), "SELECT count(*), sum(end_ns - start_ns) FROM copy") == copies


def test_ranges_on_streams_are_the_collectives_of_a_profile_without_any(tmp_path: Path) -> None:
    # GIVEN a profile of marks only, one of which was put on a stream
    (folder, _) = write_sample(SampleRun(level="level_none", layers=1, decode_steps=1), tmp_path / "s")
    with closing(sqlite3.connect(database_of(folder))) as con:
        columns = ("startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "taskType", "streamId")
        con.execute(f"CREATE TABLE TASK ({', '.join(f'{column} INTEGER' for column in columns)})")
        con.execute("INSERT OR REPLACE INTO STRING_IDS VALUES (99998, 'comm:HcclAllreduce,dp,fp32,1024')")
        (start,) = con.execute("SELECT min(startNs) FROM MSTX_EVENTS").fetchone()
        con.execute(
            "INSERT INTO MSTX_EVENTS (startNs, endNs, eventType, message, globalTid, connectionId)"
            " VALUES (?, ?, 1, 99998, 1, 77777)",
            [start, start + 10],
        )
        con.execute("INSERT INTO TASK VALUES (?, ?, 0, 77777, 1, 1, 2)", [start + 100, start + 600])
        con.commit()
    # THEN its time on the device is a collective
    store = store_of(folder, tmp_path / "a.duckdb")
    assert rows(store, "SELECT kind, group_name, size_bytes, end_ns - start_ns FROM collective") == [
        ("all_reduce", "dp", 4096, 500)
    ]
    assert rows(store, "SELECT comm_ns, compute_ns FROM r_time") == [(500, None)]


@pytest.mark.slow
def test_tasks_outside_all_steps_are_said(tmp_path: Path) -> None:
    (folder, _) = write_sample(SampleRun(steps=(1, 2), layers=1, decode_steps=1), tmp_path / "s")
    with closing(sqlite3.connect(database_of(folder))) as con:
        con.execute("DELETE FROM STEP_TIME WHERE id = 2")
        con.commit()
    store = store_of(folder, tmp_path / "a.duckdb")
    ((message,),) = rows(store, "SELECT message FROM finding WHERE key = 'outside_steps'")
    tasks = "(SELECT step FROM kernel UNION ALL SELECT step FROM collective)"
    ((outside, total),) = rows(store, f"SELECT count(*) FILTER (step IS NULL), count(*) FROM {tasks}")
    assert 0 < outside < total
    assert f"{outside} device tasks" in message


@pytest.mark.slow
@pytest.mark.parametrize(("moving", "told"), [("Memcpy", (40, 60)), ("RDMASend", (None, None))])
def test_no_notification_is_transfer(tmp_path: Path, moving: str, told: tuple[int | None, int | None]) -> None:
    """An operator of 100 ns waits from 0 to 30, tells its peer from 40 to 60, and moves data from 50 to 90.

    RDMASend only posts a transfer, so that nothing is known.
    """
    # GIVEN a database in which only these are tasks of the first collective
    (folder, _) = write_sample(SampleRun(steps=(1,), layers=1, decode_steps=1), tmp_path / "s")
    parts = {"Notify_Wait": (0, 30), "Notify_Record": (40, 60), moving: (50, 80), "Reduce_Inline": (70, 90)}
    with closing(sqlite3.connect(database_of(folder))) as con:
        ((operator, start),) = con.execute("SELECT opId, startNs FROM COMMUNICATION_OP ORDER BY startNs LIMIT 1")
        con.execute("UPDATE COMMUNICATION_OP SET endNs = startNs + 100 WHERE opId = ?", [operator])
        tasks = "SELECT globalTaskId FROM COMMUNICATION_TASK_INFO WHERE opId = ?"
        idents = [ident for (ident,) in con.execute(tasks, [operator])]
        con.execute("INSERT INTO STRING_IDS SELECT max(id) + 1, ? FROM STRING_IDS", ["RDMASend"])
        for ident, (name, (begin, end)) in zip(idents, parts.items(), strict=False):
            con.execute(
                "UPDATE COMMUNICATION_TASK_INFO SET taskType = (SELECT id FROM STRING_IDS WHERE value = ?)"
                " WHERE globalTaskId = ?",
                [name, ident],
            )
            con.execute(
                "UPDATE TASK SET startNs = ?, endNs = ? WHERE globalTaskId = ?", [start + begin, start + end, ident]
            )
        for ident in idents[len(parts) :]:
            con.execute("DELETE FROM COMMUNICATION_TASK_INFO WHERE globalTaskId = ?", [ident])
        con.commit()
    # WHEN it is read
    store = store_of(folder, tmp_path / "a.duckdb")
    # THEN the union of the other tasks is its transfer, and the rest its waiting
    query = "SELECT transit_ns, wait_ns FROM collective ORDER BY start_ns LIMIT 1"
    assert rows(store, query) == [told]
    names = "SELECT DISTINCT t.name FROM collective_task AS t JOIN collective AS c ON c.id = t.collective_id"
    assert {name for (name,) in rows(store, f"{names} WHERE c.end_ns - c.start_ns = 100")} == set(parts)


@pytest.mark.slow
@pytest.mark.parametrize("prefer", ["db", "text"])
def test_steps_between_chosen_ones_do_not_count(tmp_path: Path, prefer: str) -> None:
    # GIVEN three steps, with much memory in the second
    (folder, _) = write_sample(SampleRun(steps=(1, 2, 3), layers=1, decode_steps=1, export="both"), tmp_path / "s")
    with closing(sqlite3.connect(database_of(folder))) as con:
        con.execute(
            "INSERT INTO MEMORY_RECORD (component, timestamp, totalAllocated, deviceId)"
            " SELECT m.component, (s.startNs + s.endNs) / 2, 1000000000000, m.deviceId"
            " FROM STEP_TIME AS s, (SELECT * FROM MEMORY_RECORD LIMIT 1) AS m WHERE s.id = 2"
        )
        con.commit()
    levels = folder / "ASCEND_PROFILER_OUTPUT" / "memory_record.csv"
    with levels.open(newline="") as file:
        level = list(csv.DictReader(file))[-1]
    marks = rows(store_of(folder, tmp_path / "marks.duckdb"), "SELECT (start_ns + end_ns) // 2 FROM step ORDER BY step")
    between = level | {"Timestamp(us)": f"{marks[1][0] / 1e3:.3f}", "Total Allocated(MB)": "900000"}
    with levels.open("a", newline="") as file:
        csv.writer(file).writerow(between.values())
    (run,) = find_runs(folder, prefer=prefer)

    def store_with(*steps: int) -> Path:
        store = tmp_path / f"{steps}.duckdb"
        build_store(replace(run, steps=frozenset(steps)), store, keep_events=False)
        return store

    def totals(*steps: int) -> dict[str, float]:
        overall = "sheet = 'OverallMetrics' AND name IN ('Computing Time', 'Free Time', 'E2E Time')"
        return dict(rows(store_with(*steps), f"SELECT name, total_ns FROM r_msprof WHERE {overall}"))

    # WHEN the others are chosen
    # THEN the totals of msprof-analyze are those of each together, and the peak is theirs
    first, last = totals(1), totals(3)
    assert totals(1, 3) == {name: pytest.approx(ns + last[name]) for name, ns in first.items()}
    assert totals(1, 2, 3)["E2E Time"] > totals(1, 3)["E2E Time"] > 0
    peak = "SELECT max(peak_allocated_bytes) FROM r_memory"
    assert rows(store_with(1, 3), peak)[0][0] < rows(store_with(1, 2, 3), peak)[0][0] > 9 * 10**11


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [("localhost.localdomain", 2**60 + 1, f"localhost.localdomain {2**60 + 1}"), ("node-7", 5, "node-7")],
)
def test_machines_called_localhost_are_told_by_their_numbers(
    tmp_path: Path, name: str, number: int, expected: str
) -> None:
    (folder, _) = write_sample(SampleRun(steps=(1,), layers=1, decode_steps=1), tmp_path / "s")
    with closing(sqlite3.connect(database_of(folder))) as con:
        con.execute("UPDATE HOST_INFO SET hostName = ?, hostUid = ?", (name, number))
        con.commit()
    assert rows(store_of(folder, tmp_path / "a.duckdb"), "SELECT DISTINCT host FROM capture") == [(expected,)]


@pytest.mark.slow
def test_levels_of_chosen_steps_without_times_are_said(tmp_path: Path) -> None:
    # GIVEN a text profile whose steps are only known by their kernels
    (folder, _) = write_sample(SampleRun(steps=(1, 2), layers=1, decode_steps=1, export="text"), tmp_path / "s")
    (folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").unlink()
    (run,) = find_runs(folder)
    # WHEN one is chosen
    store = tmp_path / "one.duckdb"
    build_store(replace(run, steps=frozenset((1,))), store, keep_events=False)
    # THEN the memory is that of all, which is said
    peak = "SELECT max(peak_allocated_bytes) FROM r_memory"
    assert rows(store, peak) == rows(store_of(folder, tmp_path / "all.duckdb"), peak)
    ((message,),) = rows(store, "SELECT message FROM finding WHERE key = 'levels_of_all_steps'")
    assert "memory and counters are those of the whole capture" in message

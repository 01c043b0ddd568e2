"""Interval arithmetic of sql/normalize and sql/rollup against painting the same intervals on a line, point by point."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlcompare import resources
from rlcompare.store.new_file import run_all

from .timelines import Intervals, has_device_tasks, load, normalise, reset

LENGTH = 120
MARKS = "INSERT INTO stage_phase (name, thread, start_ns, end_ns)"

interval = st.tuples(st.integers(0, LENGTH - 1), st.integers(0, 30)).map(lambda p: (p[0], min(p[0] + p[1], LENGTH)))
intervals = st.lists(interval, max_size=12)


@dataclass(frozen=True)
class Painted:
    """Lengths by painting points."""

    compute: int
    comm: int
    exposed: int
    exposed_copy: int
    span: int


def paint(items: list[tuple[int, int]]) -> np.ndarray:
    line = np.zeros(LENGTH + 1, dtype=bool)
    for start, end in items:
        line[start:end] = True
    return line


def painted(kernels: Intervals, collectives: Intervals, copies: Intervals) -> Painted:
    k, c, y = paint(kernels), paint(collectives), paint(copies)
    both = kernels + collectives
    first, last = min(s for s, _ in both), max(e for _, e in both)
    inside = np.zeros(LENGTH + 1, dtype=bool)
    inside[first:last] = True
    return Painted(int(k.sum()), int(c.sum()), int((c & ~k).sum()), int((y & ~k & ~c & inside).sum()), last - first)


# Each example is a batch of devices of one capture: what is planned for one of them serves them all.


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    devices=st.lists(
        st.tuples(st.lists(interval, min_size=1, max_size=12), intervals, intervals), min_size=6, max_size=12
    )
)
def test_unions_equal_painting(
    con: duckdb.DuckDBPyConnection, devices: list[tuple[Intervals, Intervals, Intervals]]
) -> None:
    # GIVEN any kernels, collectives and copies on each of several devices
    reset(con)
    for device, (kernels, collectives, copies) in enumerate(devices):
        load(con, "stage_kernel", kernels, device=device)
        load(con, "stage_collective", collectives, device=device)
        load(con, "stage_copy", copies, device=device)
    has_device_tasks(con)
    # WHEN they are normalised and reduced
    normalise(con)
    # THEN the unions are those of painting, device by device, and the parts close
    found = con.execute(
        "SELECT compute_ns, comm_ns, exposed_comm_ns, exposed_copy_ns, device_span_ns, free_ns FROM r_time"
        " ORDER BY device_id"
    ).fetchall()
    assert [Painted(*parts) for *parts, _ in found] == [painted(*device) for device in devices]
    assert all(compute + exposed + free == span for compute, _, exposed, _, span, free in found)


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    devices=st.lists(st.tuples(st.lists(interval, min_size=1, max_size=12), intervals), min_size=4, max_size=8),
    phases=st.lists(st.tuples(st.integers(0, LENGTH), st.integers(1, 40)), min_size=1, max_size=4),
)
def test_phases_close_the_sum(
    con: duckdb.DuckDBPyConnection, devices: list[tuple[Intervals, Intervals]], phases: list[tuple[int, int]]
) -> None:
    reset(con)
    for device, (kernels, collectives) in enumerate(devices):
        load(con, "stage_kernel", kernels, [start for start, _ in kernels], device)
        load(con, "stage_collective", collectives, [start for start, _ in collectives], device)
    for start, length in phases:
        con.execute(f"{MARKS} VALUES ('update_actor', 1, ?, ?)", [start, start + length])
    normalise(con)
    times = con.execute("SELECT device_id, compute_ns, exposed_comm_ns, free_ns FROM r_time ORDER BY ALL").fetchall()
    assert len(times) == len(devices)
    sums = "SELECT device_id, sum(compute_ns), sum(exposed_comm_ns), sum(free_ns) FROM r_phase GROUP BY 1 ORDER BY 1"
    assert times == con.execute(sums).fetchall()


def test_overlapping_phases_are_made_flat(con: duckdb.DuckDBPyConnection) -> None:
    # GIVEN a step, in it a reward on one thread that spans a log-prob of another, the latter marked by two tracks
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 7, 0, 100, FALSE)")
    con.execute(
        f"{MARKS} VALUES ('reward', 1, 10, 90), ('compute_log_prob', 2, 40, 60),"
        " ('compute_log_prob', 3, 41, 61), ('old_log_prob', 2, 45, 50), ('update_actor', 2, 90, 95)"
    )
    load(con, "stage_kernel", [(20, 30), (50, 58), (70, 80), (96, 98)], [15, 45, 65, 96])
    # WHEN
    normalise(con)
    # THEN the log-prob has its time, the reward the rest of its own, and the outside what is left
    found = con.execute("SELECT phase, wall_ns, calls, compute_ns FROM r_phase ORDER BY phase").fetchall()
    assert found == [
        ("(outside)", 15, None, 2),
        ("old_log_prob", 21, 1, 8),
        ("reward", 59, 1, 20),
        ("update_actor", 5, 1, 0),
    ]
    assert con.execute("SELECT name, call, start_ns, end_ns FROM phase ORDER BY id").fetchall() == [
        ("reward", 0, 10, 40),
        ("old_log_prob", 1, 40, 61),
        ("reward", 0, 61, 90),
        ("update_actor", 2, 90, 95),
    ]


def test_a_phase_lies_in_the_step_that_holds_most_of_it(con: duckdb.DuckDBPyConnection) -> None:
    # GIVEN steps that overlap on the host, and a phase that begins before the mark of its step
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 1, 0, 52, FALSE), (0, 2, 50, 100, FALSE)")
    con.execute(f"{MARKS} VALUES ('reward', 1, 45, 80), ('update_actor', 1, 5, 20)")
    normalise(con)
    assert con.execute("SELECT name, step FROM phase ORDER BY id").fetchall() == [("update_actor", 1), ("reward", 2)]


def test_a_task_belongs_to_the_step_of_its_launch(con: duckdb.DuckDBPyConnection) -> None:
    # GIVEN two steps, and a kernel that runs in the second step but was launched in the first
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 7, 0, 50, FALSE), (0, 8, 51, 100, FALSE)")
    load(con, "stage_kernel", [(10, 20), (55, 60), (70, 80)], [5, 45, 60])
    # and one without a launch, inside the first step's device range, which reaches to the end of its last task
    con.execute("INSERT INTO stage_kernel BY NAME SELECT 9 AS id, 0 AS device_id, 58 AS start_ns, 59 AS end_ns")
    # WHEN
    normalise(con)
    # THEN
    assert con.execute("SELECT id, step FROM kernel ORDER BY id").fetchall() == [(0, 7), (1, 7), (2, 8), (9, 7)]


def test_a_steps_last_nanosecond_is_its_own_and_the_next_one_is_not(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 7, 10, 50, FALSE), (0, 8, 60, 100, FALSE)")
    load(con, "stage_kernel", [(200, 201), (210, 211), (220, 221), (230, 231)], [9, 10, 50, 51])
    normalise(con)
    assert con.execute("SELECT id, step FROM kernel ORDER BY id").fetchall() == [(0, None), (1, 7), (2, 7), (3, None)]


def test_a_task_without_a_launch_belongs_to_the_range_that_its_step_has_on_the_device(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """Step 7 launches tasks from 20 to 90, longer than its mark; step 8 one that ends before its own mark does."""
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 7, 0, 50, FALSE), (0, 8, 51, 200, FALSE)")
    load(con, "stage_kernel", [(20, 30), (80, 90), (100, 110)], [5, 45, 60])
    for number, start in enumerate((19, 20, 89, 90, 100, 199, 200), 10):
        con.execute(
            "INSERT INTO stage_kernel BY NAME SELECT ? AS id, 0 AS device_id, ? AS start_ns, ? AS end_ns",
            [number, start, start + 1],
        )
    normalise(con)
    found = dict(con.execute("SELECT start_ns, step FROM kernel WHERE id >= 10").fetchall())
    assert found == {19: None, 20: 7, 89: 7, 90: None, 100: 8, 199: 8, 200: None}


def test_what_the_warm_up_of_a_torch_trace_spills_over_belongs_to_no_step(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    con.execute("UPDATE capture SET tool = 'torch'")
    con.execute("INSERT INTO step VALUES (0, 7, 0, 50, FALSE)")
    load(con, "stage_kernel", [(20, 30)], [5])
    con.execute("INSERT INTO stage_kernel BY NAME SELECT 9 AS id, 0 AS device_id, 25 AS start_ns, 28 AS end_ns")
    normalise(con)
    assert con.execute("SELECT id, step FROM kernel ORDER BY id").fetchall() == [(0, 7), (9, None)]


def test_a_phase_begins_with_its_first_nanosecond_and_its_end_is_what_follows(con: duckdb.DuckDBPyConnection) -> None:
    """Kernels and framework operators that start at 9, 10, 39 and 40 ns, beside a phase from 10 to 40."""
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 7, 0, 100, FALSE)")
    con.execute(f"{MARKS} VALUES ('update_actor', 1, 10, 40)")
    starts = [9, 10, 39, 40]
    load(con, "stage_kernel", [(start + 50, start + 51) for start in starts], starts)
    for number, start in enumerate(starts):
        con.execute(
            "INSERT INTO stage_host_op BY NAME"
            " SELECT ? AS id, 'aten::mm' AS name, ? AS thread, ? AS start_ns, ? AS end_ns",
            [100 + number, 10 + number, start, start + 1],
        )
    normalise(con)
    for table in ("kernel", "host_op"):
        found = con.execute(f"SELECT phase IS NOT NULL FROM {table} ORDER BY id").fetchall()
        assert found == [(False,), (True,), (True,), (False,)], table


def test_a_task_is_in_the_phase_of_its_operator_rather_than_of_its_launch(con: duckdb.DuckDBPyConnection) -> None:
    """The task queue launches at 45, when another phase runs, what an operator asked for at 15."""
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 7, 0, 100, FALSE)")
    con.execute(f"{MARKS} VALUES ('old_log_prob', 1, 10, 40), ('update_actor', 1, 40, 90)")
    con.execute(
        "INSERT INTO stage_kernel BY NAME"
        " SELECT 1 AS id, 0 AS device_id, 50 AS start_ns, 60 AS end_ns, 45 AS launch_ns, 15 AS host_op_ns"
    )
    normalise(con)
    assert con.execute("SELECT phase, kernels FROM r_phase WHERE kernels > 0").fetchall() == [("old_log_prob", 1)]


def test_only_receiving_is_a_bubble_and_sending_is_p2p_too(con: duckdb.DuckDBPyConnection) -> None:
    """A kernel of 40 ns; a send of 3, a receive of 5, both at once 7 and an all_reduce of 11."""
    reset(con)
    load(con, "stage_kernel", [(0, 40)])
    kinds = {"hcom_send_": 3, "hcom_receive_": 5, "hcom_batchSendRecv_": 7, "hcom_allReduce_": 11}
    for number, (kind, length) in enumerate(kinds.items()):
        con.execute(
            "INSERT INTO stage_collective BY NAME"
            " SELECT ? AS id, 0 AS device_id, ? AS op_type, ? AS start_ns, ? AS end_ns",
            [number, kind, 50 + 20 * number, 50 + 20 * number + length],
        )
    normalise(con)
    found = con.execute("SELECT comm_ns, p2p_ns, bubble_ns, device_span_ns, stage_ns FROM r_time").fetchall()
    assert found == [(26, 15, 5, 121, 116)]


def test_receives_that_overlap_are_one_bubble(con: duckdb.DuckDBPyConnection) -> None:
    """Receives of several groups from 0 to 30, 10 to 40, 20 to 25 and 90 to 95, and a send from 5 to 50."""
    reset(con)
    load(con, "stage_kernel", [(0, 100)])
    for number, (kind, start, end) in enumerate(
        [("receive", 0, 30), ("send", 5, 50), ("receive", 10, 40), ("receive", 20, 25), ("receive", 90, 95)]
    ):
        con.execute(
            "INSERT INTO stage_collective BY NAME SELECT ? AS id, 0 AS device_id, ? AS op_type, ? AS group_name,"
            " ? AS start_ns, ? AS end_ns",
            [number, f"hcom_{kind}_", f"group {number}", start, end],
        )
    normalise(con)
    found = con.execute("SELECT comm_ns, p2p_ns, bubble_ns, device_span_ns, stage_ns FROM r_time").fetchall()
    assert found == [(55, 55, 45, 100, 55)]


@pytest.mark.parametrize(("kind", "is_damaged"), [("receive", False), ("allReduce", True)])
def test_a_receive_may_contain_the_sends_of_its_group(
    con: duckdb.DuckDBPyConnection, kind: str, is_damaged: bool
) -> None:
    """NCCL has a stream for each pair of ranks, all of one group. Collectives of a group do not overlap."""
    reset(con)
    load(con, "stage_kernel", [(0, 1000)])
    sends = [("send", 100 + 50 * number, 140 + 50 * number) for number in range(8)]
    for number, (name, start, end) in enumerate([(kind, 10, 190), *sends]):
        con.execute(
            "INSERT INTO stage_collective BY NAME SELECT ? AS id, 0 AS device_id, ? AS op_type, 'pp' AS group_name,"
            " ? AS start_ns, ? AS end_ns",
            [number, f"hcom_{name if name == kind or kind == 'receive' else kind}_", start, end],
        )
    normalise(con)
    assert con.execute("SELECT count(*) FROM collective").fetchall() == [(8 if is_damaged else 9,)]


def test_a_step_is_what_comes_before_its_tasks_while_they_run_and_after_them(con: duckdb.DuckDBPyConnection) -> None:
    """Marked from 0 to 100; a kernel from 20 to 30, a copy from 25 to 45, an all_reduce from 60 to 70."""
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 7, 0, 100, FALSE)")
    load(con, "stage_kernel", [(20, 30)], [5])
    load(con, "stage_copy", [(25, 45)], [6])
    load(con, "stage_collective", [(60, 70)], [7])
    has_device_tasks(con)
    normalise(con)
    ((*parts, free, copy, idle),) = con.execute(
        "SELECT step_ns, preparing_ns, device_span_ns, tail_ns, compute_ns, exposed_comm_ns, free_ns, exposed_copy_ns,"
        " idle_ns FROM r_time"
    ).fetchall()
    assert parts == [100, 20, 50, 30, 10, 10]
    assert (free, copy, idle) == (30, 15, 15)


def test_without_step_marks_the_capture_is_one_step(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    con.execute("UPDATE capture SET ordinal = 3")
    load(con, "stage_kernel", [(10, 20)])
    normalise(con)
    found = con.execute("SELECT step, step_ns, preparing_ns, device_span_ns FROM r_time").fetchall()
    assert found == [(3, None, None, 10)]


def test_without_the_device_tasks_copies_are_unknown(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    load(con, "stage_kernel", [(10, 20), (30, 40)])
    normalise(con)
    assert con.execute("SELECT free_ns, exposed_copy_ns, idle_ns FROM r_time").fetchall() == [(10, None, None)]
    assert con.execute("SELECT count(*) FROM r_phase").fetchall() == [(0,)]


def test_communication_alone_leaves_the_rest_absent(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    load(con, "stage_collective", [(10, 20), (15, 30)])
    normalise(con)
    found = con.execute("SELECT comm_ns, compute_ns, exposed_comm_ns, free_ns, device_span_ns FROM r_time").fetchall()
    assert found == [(20, None, None, None, None)]


def test_nested_operators_have_parents_self_time_and_device_time(con: duckdb.DuckDBPyConnection) -> None:
    # GIVEN outer(0–100) { inner(10–40) { leaf(20–30) }, second(50–60) } on one thread, and another thread
    reset(con)
    for row in [(1, 1, 0, 100), (2, 1, 10, 40), (3, 1, 20, 30), (4, 1, 50, 60), (5, 2, 0, 10)]:
        con.execute(
            "INSERT INTO stage_host_op BY NAME SELECT ? AS id, ? AS thread, ? AS start_ns, ? AS end_ns", list(row)
        )
    for number, (operator, length) in enumerate([(3, 7), (4, 5), (1, 2)]):
        con.execute(
            "INSERT INTO stage_kernel BY NAME"
            " SELECT ? AS id, 0 AS device_id, 0 AS start_ns, ? AS end_ns, ? AS host_op_id, 0 AS host_op_ns",
            [number, length, operator],
        )
    # WHEN
    normalise(con)
    # THEN (id, parent, self, device, device of its own)
    found = con.execute("SELECT id, parent_id, self_ns, device_ns, device_self_ns FROM host_op ORDER BY id").fetchall()
    assert found == [
        (1, None, 60, 14, 2),
        (2, 1, 20, 7, 0),
        (3, 2, 10, 7, 7),
        (4, 1, 10, 5, 5),
        (5, None, 10, 0, 0),
    ]


@pytest.mark.slow
def test_a_capture_without_marks_is_the_step_of_its_folder_else_of_its_time_else_of_its_place(
    con: duckdb.DuckDBPyConnection,
) -> None:
    found = []
    for hint, place in ((5, 2), (None, 2), (None, None)):
        reset(con)
        con.execute("UPDATE capture SET ordinal = 1, step_hint = ?, step_place = ?", [hint, place])
        load(con, "stage_kernel", [(10, 20)])
        normalise(con)
        found += con.execute("SELECT step FROM r_time").fetchall()
    assert found == [(5,), (2,), (1,)]


def phases_of(con: duckdb.DuckDBPyConnection, *marks: tuple[str, int, int, int]) -> list[tuple[str, int, int, int]]:
    """(name, call, start, end) of the phases of these marks, which have a thread, a start and an end."""
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 7, 0, 100, FALSE)")
    con.executemany(f"{MARKS} VALUES (?, ?, ?, ?)", marks)
    normalise(con)
    return con.execute("SELECT name, call, start_ns, end_ns FROM phase ORDER BY id").fetchall()


def test_calls_that_touch_are_two_and_calls_that_overlap_are_one(con: duckdb.DuckDBPyConnection) -> None:
    touching = phases_of(con, ("reward", 1, 10, 20), ("reward", 1, 20, 30))
    assert touching == [("reward", 0, 10, 20), ("reward", 1, 20, 30)]
    assert phases_of(con, ("reward", 1, 10, 20), ("reward", 2, 19, 30)) == [("reward", 0, 10, 30)]


def test_of_marks_inside_marks_of_a_thread_the_outermost_counts_even_if_they_end_together(
    con: duckdb.DuckDBPyConnection,
) -> None:
    assert phases_of(con, ("reward", 1, 10, 40), ("old_log_prob", 1, 20, 40)) == [("reward", 0, 10, 40)]
    assert phases_of(con, ("reward", 1, 10, 40), ("old_log_prob", 1, 20, 41)) == [
        ("reward", 0, 10, 20),
        ("old_log_prob", 1, 20, 41),
    ]


def test_a_phase_is_not_cut_where_one_that_it_covers_ends(con: duckdb.DuckDBPyConnection) -> None:
    assert phases_of(con, ("reward", 1, 10, 50), ("old_log_prob", 2, 40, 60)) == [
        ("reward", 0, 10, 40),
        ("old_log_prob", 1, 40, 60),
    ]


def test_an_operator_that_starts_when_another_ends_is_beside_it(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    for row in [(1, 1, 0, 10), (2, 1, 10, 20), (3, 1, 10, 15)]:
        con.execute(
            "INSERT INTO stage_host_op BY NAME SELECT ? AS id, ? AS thread, ? AS start_ns, ? AS end_ns", list(row)
        )
    normalise(con)
    found = con.execute("SELECT id, parent_id FROM host_op ORDER BY id").fetchall()
    assert found == [(1, None), (2, None), (3, 2)]


def test_only_kernels_and_collectives_are_told_to_lie_outside_the_steps(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 7, 0, 50, FALSE)")
    load(con, "stage_kernel", [(10, 20), (2_000_060, 4_000_070)], [5, 60])
    load(con, "stage_copy", [(2_000_080, 2_000_090)], [70])
    run_all(con, resources.sql_order("normalize"))
    ((_, severity, key, message),) = con.execute(resources.sql("normalize/findings")).fetchall()
    assert (severity, key) == ("info", "outside_steps")
    assert message.startswith("1 device tasks (2.000 ms) ")


def test_rollups_sum_what_adds_up_and_keep_the_highest_of_what_does_not(con: duckdb.DuckDBPyConnection) -> None:
    """Three calls on inputs of 2 x 3 and 4 elements; copies of 5 and 7 bytes; memory that rises and falls."""
    reset(con)
    for number in range(3):
        con.execute(
            "INSERT INTO stage_kernel BY NAME SELECT ? AS id, 0 AS device_id, ? AS start_ns, ? AS end_ns,"
            " 'MatMul' AS name, '2,3;4' AS input_shapes",
            [number, 10 * number, 10 * number + 2],
        )
    for number, size in enumerate((5, 7)):
        con.execute(
            "INSERT INTO stage_copy BY NAME SELECT ? AS id, 0 AS device_id, 'memcpy' AS kind, ? AS start_ns,"
            " ? AS end_ns, ? AS size_bytes",
            [number, number, number + 1, size],
        )
    for at, size in enumerate((3, 9, 4)):
        con.execute(
            "INSERT INTO memory BY NAME SELECT 0 AS capture, 0 AS device_id, ? AS ts_ns, 'PTA' AS component,"
            " ? AS allocated_bytes, ? AS reserved_bytes",
            [at, size, size + 10],
        )
    normalise(con)
    assert con.execute("SELECT calls, sum_ns, elements FROM r_kernel").fetchall() == [(3, 6, 30.0)]
    assert con.execute("SELECT calls, sum_ns, size_bytes FROM r_copy").fetchall() == [(2, 2, 12)]
    peaks = "SELECT peak_allocated_bytes, peak_reserved_bytes FROM r_memory"
    assert con.execute(peaks).fetchall() == [(9, 19)]


@pytest.mark.parametrize(("steps", "step"), [((7,), 7), ((7, 8), None)])
def test_sums_that_the_profiler_wrote_belong_to_the_only_step(
    con: duckdb.DuckDBPyConnection, steps: tuple[int, ...], step: int | None
) -> None:
    reset(con)
    for number in steps:
        con.execute("INSERT INTO step VALUES (0, ?, ?, ?, FALSE)", [number, 100 * number, 100 * number + 50])
    con.execute(
        "INSERT INTO reported_kernel_type BY NAME"
        " SELECT 0 AS capture, 0 AS device_id, 'MatMul' AS op_type, 4 AS calls, 80 AS total_ns"
    )
    normalise(con)
    assert con.execute("SELECT op_type, step, calls, sum_ns FROM r_kernel").fetchall() == [("MatMul", step, 4, 80)]


@pytest.mark.parametrize(
    ("core_type", "name", "category"),
    [
        ("AI_CORE", "Add", "cube"),
        ("MIX_AIC", "Add", "cube"),
        ("AI_VECTOR_CORE", "Add", "vector_no_trans"),
        ("AI_VECTOR_CORE", "Transpose", "vector_trans"),
        ("AI_VECTOR_CORE", "Cast", "vector_trans"),
        (None, "Add", "other"),
    ],
)
def test_the_core_tells_cube_from_vector(
    con: duckdb.DuckDBPyConnection, core_type: str | None, name: str, category: str
) -> None:
    reset(con)
    con.execute(
        "INSERT INTO stage_kernel BY NAME"
        " SELECT 1 AS id, 0 AS device_id, 0 AS start_ns, 1 AS end_ns, ? AS name, ? AS core_type",
        [name, core_type],
    )
    normalise(con)
    assert con.execute("SELECT category FROM kernel").fetchall() == [(category,)]


@pytest.mark.parametrize(
    ("op_type", "name", "kind"),
    [
        ("hcom_allReduce_", "hcom_allReduce__210_0_1", "all_reduce"),
        (None, "hcom_reduceScatter__097_4_1", "reduce_scatter"),
        ("hcom_batchSendRecv_", None, "batch_send_recv"),
        (None, "hcom_receive__1_2", "recv"),
        ("N/A", "hcom_alltoallv__1_2", "all_to_all_v"),
        (None, None, "unknown"),
    ],
)
def test_kinds_of_collectives(con: duckdb.DuckDBPyConnection, op_type: str | None, name: str | None, kind: str) -> None:
    assert con.execute("SELECT collective_kind(nullif(?, 'N/A'), ?)", [op_type, name]).fetchall() == [(kind,)]


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("Conv2D4", "Conv2D"),
        ("MatMulV2", "MatMulV2"),
        ("trans_TransData_0", "trans_TransData"),
        ("MatMul@12", "MatMul"),
        ("aclnnMul_MulAiCore_Mul3", "aclnnMul_MulAiCore_Mul3"),
    ],
)
def test_names_lose_running_numbers(con: duckdb.DuckDBPyConnection, name: str, bare: str) -> None:
    reset(con)
    con.execute(
        "INSERT INTO stage_kernel BY NAME SELECT 1 AS id, 0 AS device_id, 0 AS start_ns, 1 AS end_ns, ? AS name", [name]
    )
    normalise(con)
    assert con.execute("SELECT name FROM r_kernel").fetchall() == [(bare,)]


def collectives_of(con: duckdb.DuckDBPyConnection, *found: tuple[str, str, int, str | None]) -> None:
    """Rows of ``collective``: name, kind, start and group name; their members are unknown."""
    reset(con)
    for number, (name, kind, start, group) in enumerate(found):
        con.execute(
            "INSERT INTO collective BY NAME SELECT ? AS id, 0 AS capture, 0 AS device_id, 1 AS step, ? AS name,"
            " ? AS kind, ? AS group_name, ? AS start_ns, ? AS end_ns",
            [number, name, kind, group, start, start + 1],
        )
    run_all(con, ["rollup/r_collective"])


def test_groups_are_numbered_by_their_kinds_whichever_starts_first(con: duckdb.DuckDBPyConnection) -> None:
    collectives_of(con, ("x", "all_reduce", 1, "late"), ("y", "all_gather", 5, "early"))
    keys = con.execute("SELECT group_name, group_key FROM r_collective ORDER BY group_key").fetchall()
    assert keys == [("early", "group 0"), ("late", "group 1")]


def test_tasks_that_move_nothing_make_no_link(con: duckdb.DuckDBPyConnection) -> None:
    collectives_of(con, ("x", "all_reduce", 1, "g"))
    con.execute(
        "INSERT INTO collective_task BY NAME SELECT 0 AS capture, 0 AS collective_id, 'Memcpy' AS name, 1 AS start_ns,"
        " 2 AS end_ns, unnest([0, 64]) AS size_bytes, 0 AS src_rank, unnest([1, 2]) AS dst_rank"
    )
    run_all(con, ["rollup/r_link"])
    assert con.execute("SELECT dst_rank, size_bytes FROM r_link").fetchall() == [(2, 64)]


def test_a_task_that_posts_a_transfer_has_no_rate(con: duckdb.DuckDBPyConnection) -> None:
    collectives_of(con, ("x", "all_reduce", 1, "g"))
    con.execute(
        "INSERT INTO collective_task BY NAME SELECT 0 AS capture, 0 AS collective_id, 1 AS start_ns, 5 AS end_ns,"
        " 64 AS size_bytes, 0 AS src_rank, unnest([1, 2]) AS dst_rank, unnest(['Memcpy', 'RDMASend']) AS name"
    )
    run_all(con, ["rollup/r_link"])
    assert con.execute("SELECT dst_rank, size_bytes, transit_ns FROM r_link ORDER BY ALL").fetchall() == [
        (1, 64, 4), (2, 64, None),
    ]  # fmt: skip


@pytest.mark.parametrize(("groups", "key"), [(("a", "a"), "group 0"), (("a", "b"), "unlisted group 0")])
def test_a_hash_is_the_group_of_its_digits_only_if_one_group_has_them(
    con: duckdb.DuckDBPyConnection, groups: tuple[str, str], key: str
) -> None:
    names = [f"hcom_allReduce__210_{number}_1" for number in range(2)]
    collectives_of(con, *((name, "all_reduce", number, groups[number]) for number, name in enumerate(names)))
    con.execute(
        "INSERT INTO link BY NAME SELECT 0 AS capture, 1 AS step, 'all_reduce' AS kind, '77210' AS group_name,"
        " 0 AS src_rank, 1 AS dst_rank, 64 AS size_bytes, 1 AS transit_ns"
    )
    run_all(con, ["rollup/r_link_reported"])
    assert con.execute("SELECT group_key FROM r_link").fetchall() == [(key,)]


Task = tuple[str, int, int | None, int | None, int, int]
"""What, id, device, step, start and end of a task."""


@pytest.mark.parametrize("seed", range(20))
def test_tasks_without_a_device_or_a_step_are_covered_too(seed: int) -> None:
    """GIVEN tasks of which some have no device or no step, these cover each other as the others do."""
    rng = random.Random(seed)
    tasks: list[Task] = []
    ends: dict[object, int] = {}
    for number in range(60):
        what, device, step = rng.choice(["kernel", "collective", "copy"]), rng.choice([None, 0]), rng.choice([None, 7])
        start = ends.get((what, device, step), 0) + rng.randrange(4)  # tasks of one kind do not overlap here
        ends[what, device, step] = end = start + rng.randrange(1, 9)
        tasks.append((what, number, device, step, start, end))
    with duckdb.connect() as con:
        con.execute("CREATE TABLE coverage (capture INTEGER, what VARCHAR, id BIGINT, device_id INTEGER, step BIGINT,"
                    " own_start_ns BIGINT, own_end_ns BIGINT, busy_ns BIGINT)")  # fmt: skip
        con.executemany(
            "INSERT INTO coverage VALUES (0, ?, ?, ?, ?, ?, ?, ?)", [(*task, task[5] - task[4]) for task in tasks]
        )
        run_all(con, ["sources/macro/same_key", "normalize/exposed"])
        found = dict(con.execute("SELECT id, exposed_ns FROM exposed").fetchall())
    assert found == {task[1]: exposed for task in tasks if (exposed := exposed_of(task, tasks)) is not None}


def exposed_of(task: Task, tasks: Sequence[Task]) -> int | None:
    """The nanoseconds of a task that nothing of its device and step covers; None for a kernel, and outside the step."""
    what, _, device, step, start, end = task
    beside = [other for other in tasks if other[2:4] == (device, step)]
    covering = [
        other for other in beside if other[0] in (("kernel",) if what == "collective" else ("kernel", "collective"))
    ]
    if what == "copy" and covering:
        start, end = max(start, min(other[4] for other in covering)), min(end, max(other[5] for other in covering))
    if what == "kernel" or end <= start:
        return None
    return sum(not any(other[4] <= at < other[5] for other in covering) for at in range(start, end))

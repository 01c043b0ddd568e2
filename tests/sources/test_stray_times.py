"""Times that lie so far from the rest of a profile that they are damage: the time between is not idle time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sources.nsys_exports import Export, global_id, training_step
from tests.stores import rows, store_of

DAY_NS = 86_400_000_000_000
TIMES = "SELECT step, device_span_ns, compute_ns, step_ns FROM r_time ORDER BY step"


@pytest.mark.slow
@pytest.mark.parametrize("days", [8, 12_000])
def test_a_kernel_and_a_step_weeks_away_are_left_out(tmp_path: Path, days: int) -> None:
    sound = rows(store_of(training_step().write(tmp_path / "sound.sqlite"), tmp_path / "sound.duckdb"), TIMES)
    export = training_step()
    export.kernel("void gemm<bf16>", 15_000_000 + days * DAY_NS, 1_000_000, launch=15_000_000)
    export.nvtx("ProfilerStep#7", days * DAY_NS, days * DAY_NS + 1_000_000)
    store = store_of(export.write(tmp_path / "stray.sqlite"), tmp_path / "stray.duckdb")
    assert rows(store, TIMES) == sound
    assert rows(store, "FROM step WHERE step = 7 OR start_ns IS NULL") == []
    step, others = said_of_times(store)
    assert "step 7 was left out: without a usable mark" in step
    assert "more than a week from the others were left out (" in others


def test_days_between_steps_are_kept(tmp_path: Path) -> None:
    """A clock of the device that is years off is no damage either: host and device are looked at apart."""
    export = training_step()
    export.nvtx("ProfilerStep#7", 5 * DAY_NS, 5 * DAY_NS + 1_000_000)
    kernels: list[Any] = export.rows["CUPTI_ACTIVITY_KIND_KERNEL"]
    years = 900 * DAY_NS
    export.rows["CUPTI_ACTIVITY_KIND_KERNEL"] = [(row[0] + years, row[1] + years, *row[2:]) for row in kernels]
    store = store_of(export.write(tmp_path / "a.sqlite"), tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(start_ns) FROM step") == [(3,)]
    assert rows(store, "SELECT sum(calls)::BIGINT FROM r_kernel") == [(4,)]
    assert rows(store, "SELECT DISTINCT preparing_ns, tail_ns, step_ns > 0 FROM r_time") == [(None, None, True)]


MS = 1_000_000


def said_of_times(store: Path) -> list[str]:
    return [
        message for (message,) in rows(store, "SELECT message FROM finding WHERE key = 'damaged_time' ORDER BY ALL")
    ]


def stored(export: Export, tmp_path: Path, name: str) -> Path:
    return store_of(export.write(tmp_path / f"{name}.sqlite"), tmp_path / f"{name}.duckdb")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "end"),
    [
        pytest.param(40, 49, id="after all steps"),
        pytest.param(12, 19, id="in the other step"),
        pytest.param(5, 30, id="over both"),
    ],
)
def test_a_step_that_is_marked_twice_has_the_time_of_one_mark(tmp_path: Path, start: int, end: int) -> None:
    """Taken from the first start to the last end, step 0 would be 39 ms long, of which step 1 takes 9."""
    sound = rows(stored(training_step(), tmp_path, "sound"), TIMES)
    export = training_step()
    export.nvtx("ProfilerStep#0", start * MS, end * MS)
    store = stored(export, tmp_path, "twice")
    if start == 5:  # it overlaps the first mark of its step: nothing tells where step 0 ends
        assert rows(store, TIMES) == sound[1:]
        assert any("step 0: the mark overlaps that of another step" in text for text in said_of_times(store))
    else:
        assert rows(store, TIMES) == sound
        assert "step 0 has several marks that are apart" in said_of_times(store)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("start", "end", "counts"), [(-1000, 30, False), (13, 500, False), (20, 500, True)])
def test_of_marks_that_overlap_the_longer_is_wrong(tmp_path: Path, start: int, end: int, counts: bool) -> None:
    # GIVEN a third step, whose mark begins a second too early, or within another step, or after it
    export = training_step()
    export.nvtx("ProfilerStep#2", start * MS, end * MS)
    store = stored(export, tmp_path, "third")
    # THEN the others keep their times
    assert rows(store, TIMES) == rows(stored(training_step(), tmp_path, "sound"), TIMES)
    steps = [(0, 9 * MS), (1, 9 * MS)] + [(2, (end - start) * MS)] * counts
    assert rows(store, "SELECT step, end_ns - start_ns FROM step ORDER BY step") == steps
    assert len(said_of_times(store)) == 2 * (not counts)


def test_steps_that_touch_are_two_and_pieces_that_touch_are_one(tmp_path: Path) -> None:
    export = training_step()
    export.nvtx("ProfilerStep#2", 20 * MS, 25 * MS)
    export.nvtx("ProfilerStep#2", 25 * MS, 30 * MS)
    store = stored(export, tmp_path, "pieces")
    assert rows(store, "SELECT step, end_ns - start_ns FROM step ORDER BY step") == [
        (0, 9 * MS),
        (1, 9 * MS),
        (2, 10 * MS),
    ]
    assert said_of_times(store) == []


@pytest.mark.slow
@pytest.mark.parametrize("hours", [1, 20])
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_task_that_outlasts_its_stream_or_the_recording_is_left_out(tmp_path: Path, place: str, hours: int) -> None:
    """It would be 18,000 s of computation in a step of 9 ms."""
    sound = rows(stored(training_step(), tmp_path, "sound"), TIMES)
    export = training_step()
    at = 2 * MS - 1000 if place == "first" else 19 * MS
    export.kernel("void broken<bf16>", at, hours * 3_600_000_000_000)
    store = stored(export, tmp_path, place)
    assert rows(store, TIMES) == sound
    (message,) = said_of_times(store)
    assert f"(1; the longest is void broken<bf16>, {hours * 3_600_000}.000 ms)" in message


def test_a_long_wait_is_kept(tmp_path: Path) -> None:
    # GIVEN an all-reduce that waits for ten minutes, as does the step
    export = training_step()
    minutes = 600_000 * MS
    export.nvtx("ProfilerStep#2", 20 * MS + MS // 2, 22 * MS + minutes)
    export.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(a)", 21 * MS, minutes)
    store = stored(export, tmp_path, "long")
    assert rows(store, "SELECT device_span_ns FROM r_time WHERE step = 2") == [(minutes,)]
    assert said_of_times(store) == []


def test_tasks_that_hold_their_parts_are_kept(tmp_path: Path) -> None:
    # GIVEN a stream on which every tenth task is one whose parts are listed too
    export = training_step()
    for number in range(10):
        at = 30 * MS + number * MS
        export.kernel("void whole<bf16>", at, 900_000)
        for part in range(3):
            export.kernel("void part<bf16>", at + 1000 + part * 200_000, 100_000)
    store = stored(export, tmp_path, "parts")
    assert rows(store, "SELECT count(*) FROM kernel WHERE name LIKE '%whole%'") == [(10,)]
    assert said_of_times(store) == []


@pytest.mark.slow
def test_a_long_kernel_after_little_work_on_the_host_is_kept(tmp_path: Path) -> None:
    # GIVEN a benchmark of one kernel: 20 µs on the host, 0.9 s on the device, as the call that waits for it says
    export = Export()
    export.process(100)
    export.kernel("void large<bf16>", MS, 900 * MS)
    store = stored(export, tmp_path, "benchmark")
    assert rows(store, "SELECT sum(calls)::BIGINT FROM r_kernel") == [(1,)]
    # AND one of an hour, for which a call waits
    export.kernel("void larger<bf16>", 1000 * MS, 3_600_000 * MS)
    export._add(
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        1000 * MS,
        3_601_000 * MS,
        0,
        global_id(100),
        99,
        export.text("cudaDeviceSynchronize"),
        0,
    )
    store = stored(export, tmp_path, "waiting")
    assert rows(store, "SELECT sum(calls)::BIGINT FROM r_kernel") == [(2,)]
    assert said_of_times(store) == []


LATER = 90_000_000 * MS
"""Where the steps of these tests lie: a day after the session began."""


def shifted(export: Export, table: str, offset: int) -> None:
    export.rows[table] = [(row[0] + offset, row[1] + offset, *row[2:]) for row in export.rows[table]]  # type: ignore[operator]


def day_later() -> Export:
    """Two steps of 9 ms, with six kernels and their launches."""
    export = training_step()
    for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"):
        shifted(export, table, LATER)
    return export


KERNELS = "SELECT count(*) FROM kernel"


@pytest.mark.slow
@pytest.mark.parametrize("unlaunched", [False, True])
@pytest.mark.parametrize(
    ("seconds", "words"), [(-3600, "3600.002 s before"), (-2, "2.002 s before"), (5, "4.982 s after")]
)
def test_a_kernel_long_before_or_after_all_else_is_left_out(
    tmp_path: Path, seconds: int, words: str, unlaunched: bool
) -> None:
    """The host recorded its launch in step 0, or none; the device would have waited for an hour."""
    sound = rows(stored(day_later(), tmp_path, "sound"), TIMES)
    export = day_later()
    export.kernel("void lone<bf16>", LATER + seconds * 1000 * MS, MS, launch=LATER + 6 * MS)
    if unlaunched:
        del export.rows["CUPTI_ACTIVITY_KIND_RUNTIME"][-1]
    store = stored(export, tmp_path, "lone")
    assert rows(store, TIMES) == sound
    assert rows(store, KERNELS) == [(4,)]
    (message,) = said_of_times(store)
    assert f"(1; the farthest is void lone<bf16>, {words} them)" in message


@pytest.mark.slow
def test_kernels_on_both_sides_are_left_out(tmp_path: Path) -> None:
    export = day_later()
    for hours in (-3, 2):
        at = LATER + hours * 3_600_000 * MS
        export.kernel("void lone<bf16>", at, MS, launch=LATER + 6 * MS)
    store = stored(export, tmp_path, "both")
    assert rows(store, TIMES) == rows(stored(day_later(), tmp_path, "sound"), TIMES)
    assert "(2; the farthest is void lone<bf16>, 10800.002 s before them)" in said_of_times(store)[0]


@pytest.mark.parametrize(
    "what", ["its launch is recorded then", "a range is", "no launches are recorded", "another clock", "many", "near"]
)
def test_a_kernel_alone_that_may_be_sound_is_kept(tmp_path: Path, what: str) -> None:
    # GIVEN the first kernel of a job, an hour before the others: it waited for a rollout
    export = day_later()
    hour = 3_600_000 * MS if what != "near" else 900 * MS
    launch = LATER - hour - 5000 if what == "its launch is recorded then" else LATER + 6 * MS
    for number in range(2 if what == "many" else 1):
        export.kernel("void first<bf16>", LATER - hour + number * MS, MS, launch=launch)
    if what == "a range is":
        export.nvtx("load", LATER - hour - MS, LATER - hour)
    if what == "another clock":
        shifted(export, "CUPTI_ACTIVITY_KIND_KERNEL", -20 * hour)
    if what == "no launches are recorded":
        del export.rows["CUPTI_ACTIVITY_KIND_RUNTIME"]
    store = stored(export, tmp_path, "kept")
    assert rows(store, KERNELS) == [(6 if what == "many" else 5,)]
    assert said_of_times(store) == []

"""What the pictures show beyond the sections: times by rank and phase, the path by rank, collectives by size."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from pathlib import Path

import duckdb
import pytest

from rlcompare.model.diff import Diff
from rlcompare.model.words import SIDES, SideName
from tests.sql.rollup_stores import MS, RollupStore, compared, side
from tests.stores import store_of

KINDS = {"compute": "compute", "wait": "wait", "transfer": "transfer", "comm": "comm"}


def times_of(diff: Diff, of: SideName) -> dict[tuple[str, str, str], float | None]:
    """The times of a side by rank, phase and kind."""
    return {
        (rank, phase, times.what): value
        for times in diff.pictures.ranks
        if times.side == of
        for rank, values in zip(times.ranks, times.values, strict=True)
        for phase, value in zip(diff.pictures.phases, values, strict=True)
    }


def account_of(store: Path) -> Counter[tuple[str, str, str]]:
    """The account of a store by rank, phase and kind, in ns per step; one device per capture."""
    with duckdb.connect(str(store), read_only=True) as con:
        rows = con.execute("SELECT rank, a.phase, kind, ns FROM r_account AS a JOIN capture USING (capture)").fetchall()
        steps = dict(
            con.execute("SELECT rank, count(*) FROM step JOIN capture USING (capture) GROUP BY rank").fetchall()
        )
    found: Counter[tuple[str, str, str]] = Counter()
    for rank, phase, kind, ns in rows:
        found[f"rank {rank}", phase or "(outside)", KINDS.get(kind, "idle")] += ns / steps[rank]
    return found


@pytest.mark.slow
def test_real_ranks_have_the_times_of_their_accounts(shared: Path, tmp_path: Path) -> None:
    store = store_of(shared / "profiles" / "gpu-dlrm-8rank", tmp_path / "dlrm.duckdb")
    diff = compared(store, store)
    expected = account_of(store)
    assert {rank for rank, *_ in expected} == {f"rank {rank}" for rank in range(8)}
    for of in SIDES:
        times = times_of(diff, of)
        assert {key for key, value in times.items() if value} == {key for key, ns in expected.items() if ns}
        for key, value in times.items():
            assert value == pytest.approx(expected[key] / MS, rel=1e-5)
        for row in diff.sections["ranks"].rows:
            own = sum(value or 0.0 for (rank, *_), value in times.items() if rank == row["name"])
            assert own == pytest.approx(row[of], rel=1e-4)
        path = sum(float(row[of] or 0) for row in diff.sections["path"].rows)
        assert sum(piece.ms for piece in diff.pictures.path if piece.side == of) == pytest.approx(path, rel=1e-5)


def test_means_over_steps_and_runs_and_a_rank_without_kernels(tmp_path: Path) -> None:
    """Rank 0 computes 10 and 20 ms in its steps, 30 in the second run; of rank 1 only its collective is known."""

    def run(name: str, computes: list[int]) -> Path:
        made = RollupStore(tmp_path / f"{name}.duckdb").capture(0, 0).capture(1, 1)
        for step, ms in enumerate(computes, 1):
            made.step(step, 0).time(step, ms * MS, 0, free=2 * MS).step(step, 1).time(step, None, 1, comm=4 * MS)
            made.add(
                "r_account", capture=1, device_id=0, step=step, kind="comm", subject="all_reduce", ns=4 * MS, pieces=1
            )
            made.add("r_account", capture=1, device_id=0, step=step, kind="unknown", ns=MS, pieces=1)
        return made.done()

    diff = compared(side("a", run("a", [10, 20]), run("b", [30])), side("c", run("c", [7])))
    assert diff.pictures.phases == ("(outside)",)
    assert times_of(diff, "baseline") == {
        ("rank 0", "(outside)", "compute"): 22.5,
        ("rank 1", "(outside)", "compute"): None,
        ("rank 0", "(outside)", "idle"): 2.0,
        ("rank 1", "(outside)", "idle"): None,
        ("rank 0", "(outside)", "comm"): 0.0,
        ("rank 1", "(outside)", "comm"): 4.0,
        ("rank 0", "(outside)", "unknown"): 0.0,
        ("rank 1", "(outside)", "unknown"): 1.0,
    }
    assert times_of(diff, "new")["rank 0", "(outside)", "compute"] == 7.0


def test_one_rank_a_side_has_no_times_by_rank(tmp_path: Path) -> None:
    stores = [
        RollupStore(tmp_path / f"{rank}.duckdb").capture(0, rank).step(1).time(1, MS).phase(1, "x", MS).done()
        for rank in (0, 1)
    ]
    assert compared(*stores).pictures.ranks == ()


def test_collectives_by_size_sum_to_their_section(shared: Path, tmp_path: Path) -> None:
    store = store_of(shared / "profiles" / "gpu-dlrm-8rank", tmp_path / "dlrm.duckdb")
    diff = compared(store, store)
    for of in SIDES:
        sums: dict[tuple[str, str], float] = defaultdict(float)
        for sized in diff.pictures.collectives:
            if sized.side == of:
                sums[sized.kind, "ms"] += sized.ms
                sums[sized.kind, "calls"] += sized.calls
                sums[sized.kind, "bytes"] += sized.bytes or 0
                if sized.power is not None:
                    assert sized.bytes is not None
                    assert 2**sized.power <= sized.bytes / sized.calls < 2 ** (sized.power + 1)
        expected: dict[tuple[str, str], float] = defaultdict(float)
        for row in diff.sections["collectives"].rows:
            if row["task"] is None:
                for what, column in (("ms", of), ("calls", f"{of}_calls"), ("bytes", f"{of}_bytes")):
                    expected[str(row["name"]), what] += row[column] or 0  # type: ignore[operator]
        assert len(expected) > 3 and dict(sums) == pytest.approx(dict(expected), rel=1e-4)


@pytest.mark.slow
def test_levels_of_memory_are_those_of_the_database_and_no_peak_is_lost(ascend_910b: Path, tmp_path: Path) -> None:
    profile = ascend_910b / "db" / "level1" / "rank0_ascend_pt"
    (database,) = profile.glob("*/ascend_pytorch_profiler_*.db")
    with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as con:
        ((start,),) = con.execute("SELECT startNs FROM STEP_TIME").fetchall()
        recorded = con.execute(
            "SELECT m.timestamp, m.totalAllocated, m.totalReserved FROM MEMORY_RECORD AS m"
            " JOIN STRING_IDS AS s ON s.id = m.component WHERE s.value = 'PTA'"
        ).fetchall()
    for keep in (True, False):
        store = store_of(profile, tmp_path / f"{keep}.duckdb", keep_events=keep)
        levels = {level.what: level for level in compared(store, store).pictures.levels if level.side == "new"}
        for what, place in (("allocated", 1), ("reserved", 2)):
            level = levels[what]
            assert (level.component, level.rank) == ("PTA", "rank 0")
            known = {(round((ns - start) / MS, 3), values[place - 1]) for ns, *values in recorded}
            assert set(zip(level.at_ms, level.values, strict=True)) <= known
            assert max(level.values) == max(row[place] for row in recorded)
            assert min(level.values) == min(row[place] for row in recorded)
            assert 3 < len(level.values) <= 120


def test_levels_are_of_the_fullest_device_and_of_the_lowest_clock(tmp_path: Path) -> None:
    def run(name: str, peaks: dict[int, int], clocks: dict[int, float]) -> Path:
        made = RollupStore(tmp_path / f"{name}.duckdb")
        for rank, peak in peaks.items():
            made.capture(rank, rank).step(1, rank, wall=None).time(1, MS, rank)
            made.add("r_memory", capture=rank, device_id=0, component="PTA", peak_allocated_bytes=peak)
            made.add("r_counter", capture=rank, device_id=0, name="aicore_freq_mhz", samples=2, mean=clocks[rank])
            for at, value in ((5, peak / 2), (7, peak)):
                made.add(
                    "r_level", capture=rank, device_id=0, what="allocated", component="PTA", ts_ns=at * MS, value=value
                )
            made.add("r_level", capture=rank, device_id=0, what="clock", ts_ns=6 * MS, value=clocks[rank])
        return made.done()

    old = side(
        "old", run("a", {0: 100, 1: 90}, {0: 1800.0, 1: 1700.0}), run("b", {0: 60, 1: 120}, {0: 1800.0, 1: 1800.0})
    )
    diff = compared(old, side("new", run("c", {0: 80, 1: 70}, {0: 1500.0, 1: 1650.0})))
    found = {(level.side, level.what): level for level in diff.pictures.levels}
    assert (found["baseline", "allocated"].run, found["baseline", "allocated"].rank) == (1, "rank 1")
    assert found["baseline", "allocated"].at_ms == (0.0, 2.0) and found["baseline", "allocated"].values == (60.0, 120.0)
    assert (found["baseline", "clock"].run, found["baseline", "clock"].rank) == (0, "rank 1")
    assert (found["new", "clock"].rank, found["new", "clock"].values) == ("rank 0", (1500.0,))


def test_levels_more_than_a_week_from_the_step_are_not_drawn(tmp_path: Path) -> None:
    made = RollupStore(tmp_path / "run.duckdb").capture().step(1, wall=10 * MS).time(1, MS)
    made.add("r_memory", capture=0, device_id=0, component="PTA", peak_allocated_bytes=9)
    for at, value in ((2, 7), (604_800_001, 9)):
        made.add("r_level", capture=0, device_id=0, what="allocated", component="PTA", ts_ns=at * MS, value=value)
    path = made.done()
    assert [(level.at_ms, level.values) for level in compared(path, path).pictures.levels] == [((2.0,), (7.0,))] * 2

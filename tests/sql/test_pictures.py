"""What the pictures show beyond the sections: times by rank and phase, the path by rank, collectives by size."""

from __future__ import annotations

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

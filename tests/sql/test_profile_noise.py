"""How far the mean of profiled steps may be off by luck, as these steps show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path

import pytest

from rlcompare.gate import built_in_policy, judge
from rlcompare.model.diff import Diff
from rlcompare.model.words import Status
from rlcompare.report.answer import answer_of
from tests.sql.rollup_stores import MS, RollupStore, compared
from tests.sql.test_step_noise import error, noise

BASE, UNEVEN = (52.0, 55.0, 55.0), (61.0, 57.0, 80.0)


def profile(
    path: Path,
    *ranks: Mapping[int, float],
    phase: Mapping[int, float] | None = None,
    logs: Mapping[str, float] | None = None,
    path_of: int | None = None,
) -> Path:
    """Each rank has these steps, of so many ms, of which the device computes 20; and `update_actor` may run in some.

    Args:
        logs: what training logged in each of five other steps.
        path_of: the rank of the critical path.
    """
    store = RollupStore(path)
    for step in range(10, 15) if logs else ():
        for name, value in (logs or {}).items():
            store.add("metric", step=step, name=name, value=value, source="file", profiled=False)
    for rank, steps in enumerate(ranks):
        store.capture(rank, rank=rank)
        for step, ms in steps.items():
            wall = round(ms * MS)
            store.step(step, rank, wall=wall)
            store.time(step, 20 * MS, rank, free=wall - 20 * MS, step_ns=wall, preparing_ns=0, tail_ns=0)
            if rank == path_of:
                of_path = {"capture": rank, "device_id": 0, "step": step, "pieces": 1}
                store.add("r_path", **of_path, kind="compute", subject="MatMul", ns=wall)
            if phase and step in phase:
                store.phase(step, "update_actor", 5 * MS, rank, wall_ns=round(phase[step] * MS))
            if phase:
                store.phase(step, "(outside)", 15 * MS, rank, wall_ns=wall - round(phase.get(step, 0) * MS))
    return store.done()


def between(folder: Path, *sides: Sequence[float]) -> Diff:
    paths = [profile(folder / f"{side}.duckdb", dict(enumerate(values, 2))) for side, values in enumerate(sides)]
    return compared(*paths)


def of_both(first: Sequence[float], second: Sequence[float]) -> float:
    return sqrt((error(first) ** 2 + error(second) ** 2) / 2)


def test_it_is_the_standard_error_over_profiled_steps(tmp_path: Path) -> None:
    diff = between(tmp_path, BASE, UNEVEN)
    free = [[value - 20 for value in side] for side in (BASE, UNEVEN)]
    assert noise(diff, "time.step") == (pytest.approx(of_both(BASE, UNEVEN)), 4)
    for metric in ("time.step_free", "time.free"):
        assert noise(diff, metric) == (pytest.approx(of_both(*free)), 4)
    assert noise(diff, "time.compute")[0] == 0, "all steps compute as long"


def test_ranks_are_no_repetitions(tmp_path: Path) -> None:
    """The mean over ranks is one value a step; a step that a rank lacks does not count."""
    apart = {step: value + 10 for step, value in enumerate(BASE)}
    sides = [profile(tmp_path / "0", dict(enumerate(BASE)), {**apart, 3: 500.0})]
    sides.append(profile(tmp_path / "1", dict(enumerate(UNEVEN))))
    assert noise(compared(*sides), "time.step") == (pytest.approx(of_both([v + 5 for v in BASE], UNEVEN)), 4)


def test_a_phase_that_a_step_lacks_counts_as_nothing_there(tmp_path: Path) -> None:
    sides = []
    for side, phase in enumerate(((10.0, 12.0, 11.0), (10.0, 12.0))):
        steps = dict(enumerate(BASE))
        sides.append(profile(tmp_path / str(side), steps, phase=dict(enumerate(phase))))
    expected = of_both((10.0, 12.0, 11.0), (10.0, 12.0, 0.0))
    assert noise(compared(*sides), "phase.update_actor.wall") == (pytest.approx(expected), 4)


def test_one_step_does_not_tell(tmp_path: Path) -> None:
    diff = between(tmp_path, BASE[:1], UNEVEN[:1])
    assert noise(diff, "time.step") == (None, None)
    assert "if runs differ by 3 % (assumed)" in answer_of(diff, "").rest


@pytest.mark.slow
def test_timers_of_a_log_tell_of_a_phase_and_not_its_profiled_steps(tmp_path: Path) -> None:
    sides = []
    for side, values in enumerate((BASE, UNEVEN)):
        steps = dict(enumerate(values))
        logs = {"timing_s/step": 1.0, "timing_s/update_actor": 0.5}
        sides.append(
            profile(tmp_path / str(side), steps, phase={step: ms - 40 for step, ms in steps.items()}, logs=logs)
        )
    assert noise(compared(*sides), "phase.update_actor.wall")[0] == 0
    assert noise(compared(*sides), "time.step")[0] == pytest.approx(of_both(BASE, UNEVEN))


def test_the_critical_path_of_each_step(tmp_path: Path) -> None:
    sides = []
    for side, values in enumerate((BASE, UNEVEN)):
        steps = dict(enumerate(values))
        sides.append(profile(tmp_path / str(side), steps, steps, path_of=1))
    diff = compared(*sides)
    assert diff.headline == "time.path"
    assert noise(diff, "time.path") == (pytest.approx(of_both(BASE, UNEVEN)), 4)


@pytest.mark.parametrize(("new", "sure"), [(UNEVEN, False), ((65.0, 68.0, 66.0), True)])
def test_few_uneven_steps_of_a_profile_decide_nothing(tmp_path: Path, new: Sequence[float], sure: bool) -> None:
    """Both new sides take 22 % longer; one of them because of one step."""
    diff = between(tmp_path, BASE, new)
    answer, verdict = answer_of(diff, ""), judge(diff, built_in_policy()).verdicts[0]
    assert answer.text.startswith("22") and verdict.metric == "time.step"
    assert answer.rest.startswith(", likely" if sure else ", not certain")
    assert verdict.status == (Status.REGRESSED if sure else Status.INCONCLUSIVE)
    assert (
        (", estimated from their steps" in answer.rest)
        == (", estimated from their steps" in verdict.text)
        == (not sure)
    )

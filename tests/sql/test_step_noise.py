"""How far the mean of a run may be off by luck, as its steps show."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import duckdb
import pytest

from rlcompare import resources
from rlcompare.compare.timers import TELLING_NAMES
from rlcompare.gate import built_in_policy, judge
from rlcompare.model.diff import STEP_FREEDOM, STEP_NOISE, Diff, Value
from rlcompare.model.words import Status
from rlcompare.report.answer import answer_of
from tests.sql.rollup_stores import compared
from tests.sql.test_compare_limits import logged

UNEVEN = (19.0, 10.0, 8.5, 12.5, 9.0, 11.5, 8.0, 12.0)
OTHERS = (19.0, 11.0, 14.0, 10.5, 15.0, 13.5, 11.0, 14.5)


def between(folder: Path, *sides: Sequence[float], tests: Sequence[int] = ()) -> Diff:
    """Both sides log these times of steps. In some steps both test, which takes 30 s and 10 s."""
    paths = []
    for side, (values, testing) in enumerate(zip(sides, (30.0, 10.0), strict=True)):
        steps = [
            {"timing_s/gen": value / 2, "timing_s/step": value}
            if step not in tests
            else {"timing_s/gen": value / 2, "timing_s/step": value + testing, "timing_s/testing": testing}
            for step, value in enumerate(values, 1)
        ]
        paths.append(logged(folder / f"{side}.duckdb", *steps))
    return compared(*paths)


def noise(diff: Diff, metric: str = "timing_s/step") -> tuple[Value, Value]:
    delta = diff.metric(metric)
    assert delta is not None
    return delta.evidence.get(STEP_NOISE), delta.evidence.get(STEP_FREEDOM)


def error(values: Sequence[float]) -> float:
    return stdev(values) / fmean(values) / sqrt(len(values))


def test_it_is_the_standard_error_over_the_steps_that_count(tmp_path: Path) -> None:
    diff = between(tmp_path, UNEVEN, OTHERS)
    expected = sqrt((error(UNEVEN[1:]) ** 2 + error(OTHERS[1:]) ** 2) / 2)  # the first step is warm-up
    for metric in ("timing_s/step", "timing_s/gen", "phase.generate_sequences.wall"):
        assert noise(diff, metric) == (pytest.approx(expected), 12)


def test_what_the_sides_have_in_common_is_no_luck(tmp_path: Path) -> None:
    """The steps of both sides go up and down together."""
    chance = [0.02, -0.01, 0.03, 0.0, -0.02, 0.01, -0.03, 0.02]
    diff = between(tmp_path, UNEVEN, [1.3 * value * (1 + off) for value, off in zip(UNEVEN, chance, strict=True)])
    found, freedom = noise(diff)
    assert freedom == 6 and isinstance(found, float) and found < 0.01 < error(UNEVEN[1:])


def test_steps_that_test_are_no_luck(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    tested = between(tmp_path, UNEVEN, OTHERS, tests=(5, 8))
    rest = [[value for step, value in enumerate(side, 1) if step not in (1, 5, 8)] for side in (UNEVEN, OTHERS)]
    expected = sqrt((error(rest[0]) ** 2 + error(rest[1]) ** 2) / 2)
    assert noise(tested) == (pytest.approx(expected), 8)
    assert noise(between(tmp_path / "plain", UNEVEN, OTHERS, tests=range(1, 9)))[1] == 12, "all of them test"


def test_what_follows_from_the_step_is_known_no_better(tmp_path: Path) -> None:
    """The tokens of a step vary more than the throughput, which is then as uncertain as the step."""
    paths = []
    for side, values in enumerate((UNEVEN, OTHERS)):
        steps = [{"timing_s/step": value, "perf/throughput": 1000.0} for value in values]
        paths.append(logged(tmp_path / f"{side}.duckdb", *steps))
    diff = compared(*paths)
    assert noise(diff, "perf/throughput") == noise(diff) != (None, None)


def test_two_steps_do_not_tell(tmp_path: Path) -> None:
    assert noise(between(tmp_path, (10.0, 11.0), (12.0, 10.0))) == (None, None)


@pytest.mark.parametrize(("steps", "sure"), [(8, False), (100, True)])
def test_few_uneven_steps_decide_nothing(tmp_path: Path, steps: int, sure: bool) -> None:
    """Steps differ by 25 %, and the new side takes 14 % longer: by 8 of them, that may well be chance."""
    chance = random.Random(6)
    sides = [[level * chance.lognormvariate(0, 0.25) for _ in range(steps)] for level in (10.0, 10.0)]
    first = fmean(sides[1][1:]) / fmean(sides[0][1:])
    diff = between(tmp_path, sides[0], [1.14 / first * value for value in sides[1]])
    answer = answer_of(diff, "")
    verdict = judge(diff, built_in_policy()).verdicts[0]
    assert answer.rest.startswith(", likely" if sure else ", not certain")
    assert verdict.status == (Status.REGRESSED if sure else Status.INCONCLUSIVE)
    assert (
        (", estimated from their steps" in answer.rest)
        == (", estimated from their steps" in verdict.text)
        == (not sure)
    )


def test_sql_and_python_agree_on_which_metrics_may_tell_of_a_time() -> None:
    names = [*(f"{begin}x" for begin in TELLING_NAMES), "timing_s", "my/timing_s/x", "actor/lr", "workloads", ""]
    with duckdb.connect() as con:
        con.execute(resources.sql("compare/macro"))
        told = con.execute("SELECT may_tell(name) FROM (SELECT unnest(?) AS name)", [names]).fetchall()
    assert [found for (found,) in told] == [name.startswith(TELLING_NAMES) for name in names]

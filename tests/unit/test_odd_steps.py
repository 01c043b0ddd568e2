"""One profiled step that makes the mean of its side is named in the answer."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rlcompare.compare.odd_steps import odd_steps
from rlcompare.model.diff import Delta, Diff, Row, Section
from rlcompare.model.words import SIDES, Polarity
from rlcompare.report.answer import answer_of
from tests.unit import diff_examples

BASE = (51.9, 55.2, 55.2)


def steps(baseline: Sequence[float], new: Sequence[float]) -> Section:
    rows: tuple[Row, ...] = tuple(
        {"name": str(step), "baseline": old, "new": value, "baseline_step": step, "new_step": step}
        for step, (old, value) in enumerate(zip(baseline, new, strict=True), 2)
    )
    return Section("steps", "ms", ("position",), None, "", rows)


def diff(baseline: Sequence[float], new: Sequence[float], headline: str = "time.step") -> Diff:
    base = diff_examples.identical()
    old, fresh = (sum(values) / len(values) for values in (baseline, new))
    samples = {"baseline": (old,), "new": (fresh,)}
    delta = Delta(headline, "ms", Polarity.LOWER, old, fresh, fresh - old, fresh / old, dict(samples))  # type: ignore[arg-type]
    return replace(base, headline=headline, overall=(delta,), sections={**base.sections, "steps": steps(baseline, new)})


@pytest.mark.parametrize(
    ("baseline", "new", "said"),
    [
        (BASE, (58.6, 114.3, 64.7), "step 3 of the new side (114.3 ms, its others 61.65 ms): +14.0 %"),
        (  # shorter ones, too, where enough steps tell
            (50.0, 51.0, 50.5, 50.0, 51.0),
            (57.5, 45.4, 45.6, 45.5, 45.4),
            "step 2 of the new side (57.50 ms, its others 45.48 ms): -10.0 %",
        ),
        ((58.6, 114.3, 64.7), BASE, "step 3 of the baseline (114.3 ms, its others 61.65 ms): -12.2 %"),
        (
            (90.0, 50.0, 51.0),
            (50.0, 110.0, 51.0),
            "step 2 of the baseline (90.00 ms, its others 50.50 ms)"
            " and step 3 of the new side (110.0 ms, its others 50.50 ms): 0.0 %",
        ),
    ],
)
def test_the_change_without_a_step_that_makes_the_mean(
    baseline: Sequence[float], new: Sequence[float], said: str
) -> None:
    assert answer_of(diff(baseline, new), "").rest.endswith(f"; without {said}")


@pytest.mark.parametrize(
    ("baseline", "new"),
    [
        (BASE, (61.0, 62.0, 70.0)),  # less than a fifth longer
        (BASE, (212.0, 273.0, 327.0)),  # each is as odd
        (BASE, (60.0, 120.0)),  # of two, neither is
        ((100.0, 50.0, 50.0), (110.0, 55.0, 55.0)),  # on both sides, as a first step is
        (BASE, (200.0, 201.0, 260.0)),  # the change is much the same without it
        (BASE, (61.0, 57.1, 79.2)),  # two others do not tell by how much steps differ
        (BASE, (57.5, 45.4, 45.6)),
    ],
)
def test_other_steps_are_not_named(baseline: Sequence[float], new: Sequence[float]) -> None:
    assert odd_steps(steps(baseline[: len(new)], new), SIDES) is None


@pytest.mark.parametrize("count", [3, 4, 5, 10])
@pytest.mark.parametrize("spread", [0.05, 0.1, 0.2])
def test_steps_that_differ_by_luck_are_not_odd(count: int, spread: float) -> None:
    """Without the rule that luck allows more where few steps tell, up to 40 of 100 were."""
    luck = random.Random(count)
    sides = [[luck.gauss(100.0, 100.0 * spread) for _ in range(count)] for _ in range(1_000)]
    named = [odd_steps(steps([100.0] * count, side), SIDES) for side in sides]
    assert sum(found is not None for found in named) <= 20


def test_without_a_step_of_the_ranks_the_change_is_that_of_their_mean() -> None:
    found = answer_of(diff(BASE, (58.6, 114.3, 64.7), "time.path"), "").rest
    step = "step 3 of the new side (114.3 ms, its others 61.65 ms)"
    assert found.endswith(f"; without {step}: +14.0 % as a mean over ranks")


def test_steps_of_a_profile_tell_nothing_of_the_time_that_training_logged() -> None:
    assert "step 3" not in answer_of(diff(BASE, (58.6, 114.3, 64.7), "timing_s/step"), "").rest


def test_no_change_is_a_part_of_steps_without_time() -> None:
    new = (58.0, 600.0, 59.0)
    given = diff(BASE, new)
    given = replace(given, sections={**given.sections, "steps": steps((0.0, 0.0, 0.0), new)})
    assert "step 3" not in answer_of(given, "").rest


def test_a_mean_over_runs_is_no_step() -> None:
    """Of two runs, one may have an odd step, of another number and a longer time."""
    given = diff(BASE, (58.6, 114.3, 64.7))
    two = replace(given, new=replace(given.new, runs=given.new.runs * 2))
    assert "step 3" not in answer_of(two, "").rest
    assert "step 3" in answer_of(replace(given, baseline=two.new), "").rest, "the odd step is of the other side"

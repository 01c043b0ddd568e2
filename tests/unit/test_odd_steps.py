"""One profiled step that makes the mean of its side is named in the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rlcompare.compare.odd_steps import odd_steps
from rlcompare.model.diff import Delta, Diff, Row, Section
from rlcompare.model.words import Polarity
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
        (BASE, (61.0, 57.1, 79.2), "step 4 of the new side (79.20 ms, its others 59.05 ms): +9.1 %"),
        (BASE, (57.5, 45.4, 45.6), "step 2 of the new side (57.50 ms, its others 45.50 ms): -15.9 %"),
        ((58.6, 114.3, 64.7), BASE, "step 3 of the baseline (114.3 ms, its others 61.65 ms): -12.2 %"),
        (
            (90.0, 50.0, 51.0),
            (60.0, 61.0, 30.0),
            "step 2 of the baseline (90.00 ms, its others 50.50 ms)"
            " and step 4 of the new side (30.00 ms, its others 60.50 ms): +19.8 %",
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
    ],
)
def test_other_steps_are_not_named(baseline: Sequence[float], new: Sequence[float]) -> None:
    assert odd_steps(steps(baseline[: len(new)], new)) is None


def test_the_critical_path_has_no_value_without_a_step_of_the_ranks() -> None:
    found = answer_of(diff(BASE, (58.6, 114.3, 64.7), "time.path"), "").rest
    assert found.endswith("; the mean over ranks is made by step 3 of the new side (114.3 ms, its others 61.65 ms)")


def test_steps_of_a_profile_tell_nothing_of_the_time_that_training_logged() -> None:
    assert "step 3" not in answer_of(diff(BASE, (58.6, 114.3, 64.7), "timing_s/step"), "").rest

"""Parts of a change in whole percents, which sum to 100."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.model.diff import Cause, Diff, Unexplained
from rlcompare.report.shares import Part, parts_of
from rlcompare.report.summary.change import cause_item
from tests.unit import diff_examples


def changed(*shares: float) -> Diff:
    """A diff whose causes have these shares but the last, which is unexplained."""
    *causes, left = shares
    found = tuple(Cause("operator_time", share, share * 8, "", "", "") for share in causes)
    return replace(diff_examples.regression(), causes=found, unexplained=Unexplained(left, left * 8))


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=12))
def test_percents_sum_to_all_and_none_is_off_by_one(causes: list[float]) -> None:
    shares = [*causes, 1 - math.fsum(causes)]
    parts = parts_of(changed(*shares))
    assert parts.unexplained is not None
    percents = [part.percent for part in (*parts.causes, parts.unexplained)]
    assert sum(percents) == 100
    assert all(abs(percent - 100 * share) < 1 for percent, share in zip(percents, shares, strict=True))
    assert sum(part.percent for part in (*parts.others(0), parts.unexplained)) == 100


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        ((0.5, 0.3, 0.1, 0.1), "Other causes 40 %, unexplained 10 %."),
        ((0.5, 0.3, 0.7, -0.6, 0.1), "Other causes +100 % and -60 %, unexplained 10 %."),
        ((0.5, 1.2, 0.7, -1.6, 0.2), "Other causes +15.20 ms and -12.80 ms, unexplained +1.60 ms."),
    ],
)
def test_other_causes_that_offset_each_other_are_summed_apart(shares: tuple[float, ...], told: str) -> None:
    diff = changed(*shares)
    shorter = cause_item(diff, diff.metric(diff.headline)).shorter
    assert shorter[0][-1] == told


@pytest.mark.parametrize(
    ("shares", "percents"),
    [
        ((0.573, 0.473, -0.046), (57, 47, -4)),
        ((1 / 3, 1 / 3, 1 / 3), (33, 33, 34)),
        ((0.125, 0.125, 0.75), (12, 13, 75)),
        ((1.0, 0.0), (100, 0)),
    ],
)
def test_the_part_farthest_from_its_percent_gives_way(shares: tuple[float, ...], percents: tuple[int, ...]) -> None:
    parts = parts_of(changed(*shares))
    assert tuple(part.percent for part in parts.causes) == percents[:-1]
    assert parts.unexplained == Part(percents[-1], shares[-1] * 8)

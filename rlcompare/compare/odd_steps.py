"""Profiled steps that make the mean: one step of a side takes far longer than its others, or far less."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from statistics import fmean, median, stdev
from typing import NamedTuple

from rlcompare.compare.evidence import number
from rlcompare.compare.within_run import LONGER
from rlcompare.model.diff import Section
from rlcompare.model.words import SIDES, SideName

LEAST_STEPS, DEVIATIONS = 3, 4.0
"""A step is odd among at least so many, if it is so many standard deviations of the others, and ``LONGER``, from them.
"""

OF_CHANGE, OF_LEVEL = 0.5, 0.02
"""It makes the mean if the change without it is another one by these parts of the change, and of the baseline."""


class OddStep(NamedTuple):
    """A step that makes the mean of its side; ``value`` and ``others``, the mean of the other steps, are in ms."""

    side: SideName
    step: str
    value: float
    others: float


class OddSteps(NamedTuple):
    """The odd steps, at most one of each side, and the means of the sides without them."""

    found: tuple[OddStep, ...]
    baseline: float
    new: float


def odd_steps(steps: Section) -> OddSteps | None:
    """The odd steps, if the change is another one without them. Odd steps that both sides have make no change."""
    values = {
        side: [(str(row.get(f"{side}_step", row["name"])), number(row[side])) for row in steps.rows] for side in SIDES
    }
    known = {side: [(step, value) for step, value in values[side] if value is not None] for side in SIDES}
    if not all(known.values()):
        return None
    found = [odd for side in SIDES if (odd := _odd(side, known[side]))]
    means = {side: fmean(value for _, value in known[side]) for side in SIDES}
    without = means | {odd.side: odd.others for odd in found}
    change, other = (each["new"] - each["baseline"] for each in (means, without))
    if not found or abs(other - change) <= max(OF_CHANGE * abs(change), OF_LEVEL * means["baseline"]):
        return None
    return OddSteps(tuple(found), without["baseline"], without["new"])


def _odd(side: SideName, values: Sequence[tuple[str, float]]) -> OddStep | None:
    if len(values) < LEAST_STEPS:
        return None
    usual = median(value for _, value in values)
    place = max(range(len(values)), key=lambda place: abs(values[place][1] - usual))
    step, value = values[place]
    others = [amount for _, amount in (*values[:place], *values[place + 1 :])]
    mean = fsum(others) / len(others)
    apart = abs(value - mean)
    is_odd = mean > 0 and apart > LONGER * mean and apart > DEVIATIONS * stdev(others)
    return OddStep(side, step, value, mean) if is_odd else None

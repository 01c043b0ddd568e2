"""Profiled steps that make the mean: one step of a side takes far longer than its others, or far less."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import fsum, sqrt
from statistics import fmean, median, stdev
from typing import NamedTuple

from rlcompare.compare.estimate import student_quantile
from rlcompare.compare.rows import number
from rlcompare.compare.within_run import LONGER
from rlcompare.model.diff import Section
from rlcompare.model.words import SIDES, SideName

LEAST_STEPS, ERROR = 3, 0.01
"""A step is odd among at least so many if it is ``LONGER``, and further than Student's t allows, from the others.

``ERROR`` is how often the furthest of steps that differ by luck alone is odd."""

FAR = 1.75
"""So is one that takes so many times as long as each other, if these differ by less than ``LONGER``.

Student's t of two other steps allows nearly all, although steps hardly differ by so much by luck."""

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


def odd_steps(steps: Section, lone: Collection[SideName]) -> OddSteps | None:
    """The odd steps, if the change is another one without them. Odd steps that both sides have make no change.

    Args:
        lone: the sides of one run. The rows of others are means over runs, whose steps they do not name.
    """
    values = {
        side: [(str(row.get(f"{side}_step", row["name"])), number(row[side])) for row in steps.rows] for side in SIDES
    }
    known = {side: [(step, value) for step, value in values[side] if value is not None] for side in SIDES}
    if not all(known.values()):
        return None
    found = [odd for side in SIDES if side in lone and (odd := _odd(side, known[side]))]
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
    far = value >= FAR * max(others) and max(others) < (1 + LONGER) * min(others)
    is_odd = mean > 0 and abs(value - mean) > LONGER * mean and (far or abs(value - mean) > _by_luck(others))
    return OddStep(side, step, value, mean) if is_odd else None


def _by_luck(others: Sequence[float]) -> float:
    """How far from the mean of its others the furthest step is by luck; any of them may be it, on both ends."""
    tail = ERROR / (2 * (len(others) + 1))
    return student_quantile(1 - tail, len(others) - 1) * sqrt(1 + 1 / len(others)) * stdev(others)

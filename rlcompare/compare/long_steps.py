"""The few steps of a log in which a timer takes far longer than in the others, and what they make of its mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import fsum, sqrt
from statistics import fmean
from typing import NamedTuple

from rlcompare.compare.drift import period_of
from rlcompare.compare.records import LongStep
from rlcompare.model.words import SIDES, SideName

MOST = 0.3
"""Part of the steps up to which they are few."""

HELD = 0.9
"""The steps that are named hold this part of what all long steps add."""

ALIKE = 3.0
"""Steps are alike if what the longest adds is at most so many times what the shortest adds: one mean tells them."""


class LongSteps(NamedTuple):
    """Steps that take longer on one side, in words, and what they make of the change of the mean.

    Attributes:
        side: the side that has them.
        where: which steps they are.
        at: the mean of these steps, in s.
        others: the mean of the other steps of that side, in s; None if some of them are as long, on both sides.
        delta: by how much the means of the sides differ because of long steps, in s.
        error: the standard error of the change of the others, in s.
    """

    side: SideName
    where: str
    at: float
    others: float | None
    delta: float
    error: float


class _Long(NamedTuple):
    """A long step.

    Attributes:
        row: the run that it is in.
        added: s that it adds to the mean of its side.
        more: s that it adds beside what the same step adds on the other side.
    """

    row: LongStep
    step: int
    seconds: float
    added: float
    more: float


def long_steps(rows: Sequence[LongStep]) -> dict[str, LongSteps]:
    """For each timer the steps that make up what long steps change, if they are alike."""
    by_timer: dict[str, dict[SideName, list[LongStep]]] = {}
    for row in rows:
        by_timer.setdefault(row.name, {side: [] for side in SIDES})[row.side].append(row)
    found = {name: _of_timer(sides) for name, sides in by_timer.items() if all(sides.values())}
    return {name: steps for name, steps in found.items() if steps is not None}


def _of_timer(sides: Mapping[SideName, Sequence[LongStep]]) -> LongSteps | None:
    means = {side: fmean(row.mean - row.other_mean for row in rows) for side, rows in sides.items()}
    delta = means["new"] - means["baseline"]
    side, other = SIDES[::-1] if delta > 0 else SIDES
    rows = sides[side]
    known: dict[int, float] = defaultdict(float)
    for one in _long(sides[other], {}):
        known[one.step] += one.added
    long = sorted(_long(rows, known), key=lambda one: (-one.more, one.row.run, one.step))
    named = [one for one in long if one.more * ALIKE >= long[0].more]
    of_steps = sum(row.of_steps for row in rows)
    if not named or fsum(one.more for one in named) < HELD * abs(delta) or len(named) > MOST * of_steps:
        return None
    are_all = all(one.added * ALIKE < named[0].added for one in long[len(named) :])
    if not are_all:  # the fewest, as the other side may have long steps elsewhere
        before = accumulate((one.more for one in named), initial=0.0)
        named = [one for one, held in zip(named, before, strict=False) if held < HELD * abs(delta)]
    seconds = fsum(one.seconds for one in named)
    whole = fsum(row.mean * row.of_steps for row in rows)
    errors = [fsum(row.error**2 for row in rows) / len(rows) ** 2 for rows in sides.values()]
    return LongSteps(
        side,
        _where(sorted(one.step for one in named), named[0].row, of_steps, len(rows)),
        seconds / len(named),
        (whole - seconds) / (of_steps - len(named)) if are_all else None,
        delta,
        sqrt(fsum(errors)),
    )


def _long(rows: Sequence[LongStep], known: Mapping[int, float]) -> Iterator[_Long]:
    """The long steps of a side, with what they add to its mean.

    Args:
        known: s that steps add to the mean of the other side.
    """
    for row in rows:
        for step, seconds in zip(row.steps or (), row.amounts or (), strict=True):
            added = (seconds - row.other_mean) / row.of_steps / len(rows)
            yield _Long(row, step, seconds, added, added - known.get(step, 0.0) / len(rows))


def _where(steps: Sequence[int], row: LongStep, of_steps: int, runs: int) -> str:
    """The one step, those in a row, or how often they come.

    Args:
        row: the run, if it is the only one of its side.
        of_steps: the number of steps of all runs.
    """
    first, last = steps[0], steps[-1]
    if runs == 1 and len(steps) == 1:
        return f"step {first}"
    if runs == 1 and last - first == len(steps) - 1:
        if first <= row.first + 1:  # the first step is warm-up
            return f"the steps up to {last}"
        return f"the steps from {first} {'on' if last == row.last else f'to {last}'}"
    period = period_of(steps, row.first, row.last) if runs == 1 else None
    return f"one step of every {period}" if period else f"{len(steps)} of {of_steps} steps"

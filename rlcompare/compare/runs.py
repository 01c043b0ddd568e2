"""Whether luck alone may have put the runs of two sides in the order in which they are.

The run, not the step, is the sample, because the steps of one run share its luck (docs/design.md §8). Counted are the
pairs of runs, one of each side, that lie the other way round than the sides do (Mann and Whitney's U): that assumes
nothing of how the times of runs are distributed, and one late run among many does not hide what all others say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

ALPHA = 1 / 70
"""Error probability per tail: that of four runs a side which do not overlap by chance alone."""


def known(values: Sequence[float | None]) -> list[float]:
    """The runs in which the metric was measured."""
    return [value for value in values if value is not None and math.isfinite(value)]


def overlap(baseline: Sequence[float | None], new: Sequence[float | None]) -> bool | None:
    """Whether more pairs lie the wrong way round than luck allows; None unless a side has several runs.

    With fewer runs than can rule luck out, those overlap of which any pair lies the wrong way.
    """
    old, fresh = known(baseline), known(new)
    if not old or not fresh or max(len(old), len(fresh)) < 2:
        return None
    higher = sum((there > here) + 0.5 * (there == here) for here in old for there in fresh)
    wrong = min(higher, len(old) * len(fresh) - higher)
    return wrong > allowed(*sorted((len(old), len(fresh))))


@lru_cache(maxsize=256)
def allowed(few: int, many: int) -> int:
    """How many pairs of runs may be in the wrong order at error probability ``ALPHA`` per tail."""
    # Coefficients of the Gaussian binomial: of how many orders of all runs so many pairs lie the wrong way.
    ways = [1] + [0] * (few * many)
    for step in range(1, few + 1):
        for place in range(len(ways) - 1, many + step - 1, -1):
            ways[place] -= ways[place - many - step]
        for place in range(step, len(ways)):
            ways[place] += ways[place - step]
    total, found, rarer = math.comb(few + many, few), 0, 0
    for pairs, number in enumerate(ways):
        rarer += number
        if rarer > total * ALPHA:
            break
        found = pairs
    return found

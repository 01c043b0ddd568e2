"""Exact odds of the Mann-Whitney U test, and the rank sums of all stretches of a series.

The test counts the pairs, one value inside a stretch and one outside, whose order contradicts the other pairs. If all
orders of the values are equally likely, its odds are known exactly, whatever the distribution of the values is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

EXACT = 12
"""If the smaller group has more values, the odds are those of a normal distribution: in its tails, they are larger."""


def odds(few: int, many: int, wrong: float) -> float:
    """The chance, in either direction, that at most so many pairs of two groups are in the wrong order.

    Args:
        few, many: sizes of the groups.
        wrong: pairs in the wrong order, ties counted half; at most half of all.
    """
    few, many = sorted((few, many))
    if few <= EXACT:
        return min(1.0, 2 * _tails(few, many)[math.ceil(wrong)])
    spread = math.sqrt(few * many * (few + many + 1) / 12)
    return min(1.0, math.erfc((few * many / 2 - wrong - 0.5) / spread / math.sqrt(2)))


def least_odds(few: int, many: int) -> float:
    """The smallest odds that two groups of these sizes can have."""
    return min(1.0, 2 / math.comb(few + many, few))


@lru_cache(maxsize=4096)
def _tails(few: int, many: int) -> tuple[float, ...]:
    """For each number of pairs, the chance that at most so many are in the wrong order; one direction."""
    # The coefficients of the Gaussian binomial count the orders with 0, 1, 2, … pairs in the wrong order.
    ways = [1] + [0] * (few * many)
    for step in range(1, few + 1):
        for place in range(len(ways) - 1, many + step - 1, -1):
            ways[place] -= ways[place - many - step]
        for place in range(step, len(ways)):
            ways[place] += ways[place - step]
    total = math.comb(few + many, few)
    return tuple(rarer / total for rarer in accumulate(ways))


class RankSums:
    """The ranks of a series, and how far stretches of it stand out from the rest."""

    def __init__(self, values: Sequence[float]) -> None:
        self.count = len(values)
        self._sums = list(accumulate(_ranks(values), initial=0.0))

    def wrong(self, start: int, stop: int) -> float:
        """Of the pairs of a value in the stretch and one outside, those in the wrong order; ties count half."""
        inside = stop - start
        pairs = inside * (self.count - inside)
        above = self._sums[stop] - self._sums[start] - inside * (inside + 1) / 2
        return min(above, pairs - above)

    def odds(self, start: int, stop: int) -> float:
        """The odds of ``wrong`` if all orders of the series are equally likely."""
        return odds(stop - start, self.count - (stop - start), self.wrong(start, stop))


def _ranks(values: Sequence[float]) -> list[float]:
    """The ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for place in range(first, last + 1):
            ranks[order[place]] = (first + last) / 2 + 1
        first = last + 1
    return ranks

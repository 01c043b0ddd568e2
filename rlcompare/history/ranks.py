"""Exact odds of the Mann-Whitney U test, and the rank sums of all stretches of a series.

The test counts the pairs, one value inside a stretch and one outside, whose order contradicts the other pairs. If all
orders of the values are equally likely, its odds are known exactly, whatever the distribution of the values is.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from rlcompare.compare import estimate


def odds(few: int, many: int, wrong: float) -> float:
    """The chance, in either direction, that at most so many pairs of two groups are in the wrong order.

    Args:
        few, many: sizes of the groups.
        wrong: pairs in the wrong order, ties counted half; at most half of all.
    """
    few, many = sorted((few, many))
    tails = _tails(few + many)[few]
    return min(1.0, 2 * tails[min(math.ceil(wrong), len(tails) - 1)])


def least_odds(few: int, many: int) -> float:
    """The smallest odds that two groups of these sizes can have."""
    return min(1.0, 2 * estimate.least_odds(few, many))


@lru_cache(maxsize=64)
def _tails(count: int) -> tuple[array[float], ...]:
    """By the size of the smaller of two groups: the chance that at most 0, 1, 2, … pairs are in the wrong order.

    In one direction, up to half of all pairs. The coefficients of the Gaussian binomial count the orders with so many
    pairs in the wrong order; each polynomial follows from that of the smaller size.
    """
    ways, tables = [1], [array("d", [1.0])]
    for few in range(1, count // 2 + 1):
        pairs = few * (count - few)
        ways += [0] * (pairs + 1 - len(ways))
        for place in range(pairs, count - few, -1):
            ways[place] -= ways[place - (count - few + 1)]
        for place in range(few, pairs + 1):
            ways[place] += ways[place - few]
        total = math.comb(count, few)
        tables.append(array("d", (rarer / total for rarer in accumulate(ways[: pairs // 2 + 1]))))
    return tuple(tables)


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

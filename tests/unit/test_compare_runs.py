"""Whether chance alone may explain the order of the runs of two sides."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from rlcompare.compare.estimate import allowed
from rlcompare.compare.runs import ALPHA, overlap

# Critical values of the two-tailed test, as tables print them: by runs a side, for 2 % and for 5 %.
TABLES = {5: (1, 2), 6: (3, 5), 7: (6, 8), 8: (9, 13), 9: (14, 17), 10: (19, 23), 20: (114, 127)}


@pytest.mark.parametrize("runs", TABLES)
def test_lies_between_the_tables(runs: int) -> None:
    """2 in 70 is 2.9 %."""
    strict, lenient = TABLES[runs]
    assert strict <= (allowed(runs, runs, ALPHA) or 0) <= lenient


@pytest.mark.parametrize(("old", "new"), [(4, 4), (4, 5), (5, 5), (4, 6), (3, 8), (6, 6)])
def test_luck_is_as_rare_as_promised(old: int, new: int) -> None:
    """Of all orders in which runs that differ in nothing may come."""
    orders = list(combinations(range(old + new), old))
    sides = [(chosen, [place for place in range(old + new) if place not in chosen]) for chosen in orders]
    told_apart = sum(not overlap(*side) for side in sides)
    assert 2 <= told_apart <= len(orders) * 2 / 70
    worse = [sum(there < here for here, there in product(*side)) for side in sides]
    most = allowed(old, new, ALPHA)
    assert most is not None
    more = sum(min(wrong, old * new - wrong) <= most + 1 for wrong in worse)
    assert more > len(orders) * 2 / 70, "as many as luck allows"


@pytest.mark.parametrize(
    ("baseline", "new", "expected"),
    [
        ([1.0], [2.0], None),
        ([], [1.0, 2.0], None),
        ([None, 1.0], [2.0, None], None),
        ([1.0, 2.0], [3.0, 4.0], False),
        ([3.0, 4.0], [1.0, 2.0], False),
        ([1.0, 3.0], [2.0, 4.0], True),
        ([1.0, 3.0], [2.0], True),
        ([1.0, 3.0], [4.0, None], False),
        ([1.0, 1.0], [1.0, 1.0], True),
        ([1.0, 2.0], [2.0, 3.0], True),
        ([0.434, 0.453, 0.529, 0.373, 0.282], [0.400, 0.571, 0.419, 0.301, 0.780], True),
        ([10.0, 11, 12, 13, 30], [20.0, 21, 22, 23, 24], True),
        ([10.0, 11, 12, 13, 14, 30], [20.0, 21, 22, 23, 24, 25], True),
        ([10.0, 11, 12, 13, 14, 15, 22.5], [20.0, 21, 22, 23, 24, 25, 26], False),
    ],
)
def test_overlap(baseline: list[float | None], new: list[float | None], expected: bool | None) -> None:
    assert overlap(baseline, new) is expected

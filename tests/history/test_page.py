"""The axis of a plot holds its values, whatever they are."""

from __future__ import annotations

import pytest

from rlcompare.history.levels import levels_of
from rlcompare.history.page import HEIGHT, history_view
from rlcompare.history.records import Series


@pytest.mark.parametrize(
    "values",
    [
        [10.0, 12.0, 11.0],
        [0.0, 0.0],
        [7.0],
        [5e-324, 1e-323],
        [1.0, 1.0000000000000002],
        [1e15, 1e15 + 0.125],
        [-1e100, 1e100],
    ],
    ids=str,
)
def test_values_are_on_the_axis(values: list[float]) -> None:
    numbers = [*range(1, len(values) + 1)]
    series = Series("abc", "time.step", "ms", numbers, values)
    (plot,) = history_view([(series, numbers, values, levels_of(values, 0.001))], ()).plots
    assert all(0 <= point.y <= HEIGHT for point in plot.points)
    assert 2 <= len(plot.ticks) <= 12
    assert all(one.y > other.y for one, other in zip(plot.ticks, plot.ticks[1:], strict=False))

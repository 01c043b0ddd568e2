"""Whether chance alone may explain the difference between the runs of two sides.

The sample is the run, not the step, because the steps of one run are not independent (docs/design.md §8). The test is
the Mann-Whitney U: it counts the pairs of runs, one per side, whose order contradicts that of the sides. It assumes no
distribution of run times, and one outlier among many runs does not hide a difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rlcompare.compare.estimate import allowed

ALPHA = 1 / 70
"""Error probability per tail: the chance that four runs per side do not overlap although nothing differs."""


def known(values: Sequence[float | None]) -> list[float]:
    """The values of the runs that measured the metric."""
    return [value for value in values if value is not None and math.isfinite(value)]


def overlap(baseline: Sequence[float | None], new: Sequence[float | None]) -> bool | None:
    """Whether more pairs are in the wrong order than chance allows; None unless a side has several runs.

    With too few runs to rule chance out, a single pair in the wrong order counts as overlap.
    """
    old, fresh = known(baseline), known(new)
    if not old or not fresh or max(len(old), len(fresh)) < 2:
        return None
    higher = sum((there > here) + 0.5 * (there == here) for here in old for there in fresh)
    wrong = min(higher, len(old) * len(fresh) - higher)
    return wrong > (allowed(len(old), len(fresh), ALPHA) or 0)

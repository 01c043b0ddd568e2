"""How many runs a verdict rests on.

The run, not the step, is the sample, because the steps of one run share its luck (DESIGN §7).
"""

from __future__ import annotations

from collections.abc import Sequence

RUNS_NEEDED = 4
"""Runs a side from which a difference can be told from luck: that all of one side lie beyond all of the other although
nothing changed has a chance of 2 in 70 with four against four, and still of 2 in 20 with three against three."""


def is_exact(metric: str) -> bool:
    """Whether one run decides: what was asked for does not vary by luck."""
    return metric.startswith("workload.")


def enough_runs(baseline: Sequence[float | None], new: Sequence[float | None]) -> bool:
    """Whether both sides have the runs that a decision takes."""
    return min(len(known(baseline)), len(known(new))) >= RUNS_NEEDED


def are_separate(baseline: Sequence[float | None], new: Sequence[float | None]) -> bool:
    """Whether all runs of one side lie beyond all runs of the other."""
    old, fresh = known(baseline), known(new)
    return max(old) < min(fresh) or max(fresh) < min(old)


def known(values: Sequence[float | None]) -> list[float]:
    """The runs in which the metric was measured."""
    return [value for value in values if value is not None]

"""How many runs a verdict rests on; whether they tell the sides apart is ``compare.runs``'s to say."""

from __future__ import annotations

from collections.abc import Sequence

from rlcompare.compare.runs import known
from rlcompare.model.verdict import RUNS_NEEDED


def is_exact(metric: str) -> bool:
    """Whether one run decides: what was asked for does not vary by luck."""
    return metric.startswith("workload.")


def enough_runs(*sides: Sequence[float | None]) -> bool:
    """Whether each side has the runs that a decision takes."""
    return min(len(known(values)) for values in sides) >= RUNS_NEEDED

"""Whether there are enough runs for a verdict; ``compare.runs`` decides whether they overlap."""

from __future__ import annotations

from collections.abc import Sequence

from rlcompare.compare.runs import known
from rlcompare.model.verdict import RUNS_NEEDED


def is_exact(metric: str) -> bool:
    """Whether one run is enough. This holds for the requested workload, which does not vary by chance."""
    return metric.startswith("workload.")


def enough_runs(*sides: Sequence[float | None]) -> bool:
    """Whether each side has enough runs to decide."""
    return min(len(known(values)) for values in sides) >= RUNS_NEEDED

"""A phase that only the new side has: it took no time on the baseline, if the baseline has phases at all."""

from __future__ import annotations

import math
from dataclasses import replace
from fnmatch import fnmatchcase

from rlcompare.model.diff import Delta, Diff, Samples


def is_measured(value: float | None) -> bool:
    """Whether a value is known."""
    return value is not None and math.isfinite(value)


def with_new_phase(delta: Delta, diff: Diff) -> Delta:
    """Sets the baseline to 0 for a phase that only the new side has, if the baseline has phases at all.

    But not if the baseline alone does not know what lies outside of its phases: it may have had this one.
    """
    part = delta.metric.rpartition(".")[2]
    if not delta.metric.startswith("phase.") or is_measured(delta.baseline) or not is_measured(delta.new):
        return delta
    alike = (other for other in diff.overall if fnmatchcase(other.metric, f"phase.*.{part}"))
    if not any(is_measured(other.baseline) for other in alike):
        return delta
    outside = diff.metric(f"phase.(outside).{part}")
    if outside is not None and not is_measured(outside.baseline):
        return delta
    runs: Samples = {
        "baseline": tuple(0.0 for _ in delta.samples.get("baseline", ())),
        "new": delta.samples.get("new", ()),
    }
    return replace(delta, baseline=0.0, delta=delta.new, ratio=None, samples=runs)

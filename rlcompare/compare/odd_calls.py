"""Computation that takes longer in a few calls only: they were interrupted, and kernels are as fast as before."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum

from rlcompare.compare.evidence import Evidence
from rlcompare.compare.phrases import count
from rlcompare.compare.rows import NS_PER_MS
from rlcompare.model.words import SIDES

MOST_OF = 0.8
"""Part of the change of the kernels' time that such calls must make up to be told, and not more than its inverse."""

MOST_BEFORE = 0.2
"""Part of such calls that the other side may have: calls that take long on both sides are no interruption."""

FEW = 0.02
"""Part of the calls that they are at most, if that is more than one of at least four."""


def odd_calls(evidence: Evidence, names: Iterable[str]) -> str:
    """The clause on the few calls that make up the change of these operators; empty if there are none.

    The calls must be as many as before, and their inputs known: else the longer ones may be other work.
    """
    names = set(names)
    changes = [change for change in evidence.operators if change.name in names]
    odd = [row for name, row in evidence.odd_calls.items() if name in names]
    delta = fsum(change.new - change.baseline for change in changes)
    longer = fsum(row.new_ns - row.baseline_ns for row in odd) / NS_PER_MS
    if not delta or any(change.baseline_calls != change.new_calls for change in changes):
        return ""
    if not all(change.has_shapes for change in changes if change.name in evidence.odd_calls):
        return ""
    before, after = (fsum(getattr(row, f"{side}_calls") for row in odd) for side in SIDES)
    if min(before, after) > MOST_BEFORE * max(before, after):
        return ""
    calls, of_all = after if delta > 0 else before, fsum(change.new_calls for change in changes)
    if not MOST_OF <= longer / delta <= 1 / MOST_OF or calls > min(max(FEW * of_all, 1.0), of_all / 4):
        return ""
    return (
        f", and nearly all of it is in {count(calls)} of {count(of_all)} calls per step,"
        " at least 5 times as long as the others of their kind, as if interrupted"
    )

"""The one module, such as one decoder layer of many, in which the kernels changed that a cause is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rlcompare.compare.evidence import Evidence, ms, number, short
from rlcompare.compare.parts import COMPUTE, Basis, Candidate, by_name, total, whole
from rlcompare.model.diff import Row
from rlcompare.model.words import SIDES

MOST_OF = 0.8
"""How near the change of a module's kernels must be to that of the cause: this part of it, or its inverse."""

PART_OF_ALL = 0.5
"""Part of the largest module's time that it may have had: else most of the step is in it, and nothing is odd."""


def odd_module(evidence: Evidence, delta: float) -> Row | None:
    """The innermost module whose kernels changed by about as much as a cause, and the others of its class hardly did.

    None if there is none, or it is unknown.

    Args:
        delta: the cause's change, in ms per step.
    """
    other_time = "baseline_host_ms" if evidence.on_device else "baseline_device_ms"
    rows = [row for row in evidence.sections["modules"].rows if other_time in row]
    times = {str(row["name"]): number(row["baseline"]) or 0.0 for row in rows}
    largest = max(times.values(), default=0.0)
    in_class: dict[str, float] = defaultdict(float)
    for row in rows:
        in_class[_class(row)] += abs(number(row["delta"]) or 0.0)

    def is_odd(row: Row) -> bool:
        change = number(row["delta"]) or 0.0
        is_small = 0 < times[str(row["name"])] <= PART_OF_ALL * largest
        return is_small and abs(change) >= MOST_OF * in_class[_class(row)] and MOST_OF <= change / delta <= 1 / MOST_OF

    able = [row for row in rows if is_odd(row)] if delta else []
    return min(able, key=lambda row: (times[str(row["name"])], str(row["name"])), default=None)


def _class(row: Row) -> str:
    """The class of a module: ``Conv2d`` for ``Conv2d_3``."""
    return str(row["name"]).rpartition("_")[0]


def in_odd_module(evidence: Evidence, delta: float) -> tuple[str, tuple[Row, ...]]:
    """A clause on that module, and its times as a fact; both empty if there is none."""
    row = odd_module(evidence, delta)
    if row is None:
        return "", ()
    grown = number(row["delta"]) or 0.0
    fact: Row = {"name": f"module {row['name']}", "baseline": row["baseline"], "new": row["new"]}
    return f"; module {short(row['name'])} takes {ms(grown)} {'more' if grown > 0 else 'less'}", (fact,)


def module_alone(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """One module whose kernels changed by what all computation did, over several operators."""
    parts = basis.of_kind(COMPUTE)
    delta = total(parts.values())
    row = odd_module(evidence, delta)
    before, after = (number(row[side]) for side in SIDES) if row else (None, None)
    if row is None or before is None or after is None:
        return
    if any(total(own.values()) / delta >= MOST_OF for own in by_name(parts).values()):
        return
    text = (
        f"Module {short(row['name'])} takes {ms(after - before)} {'more' if after > before else 'less'} of computation"
        f" per step ({ms(before)} → {ms(after)}), over several operators."
    )
    yield Candidate("module", whole(parts), text, "modules", str(row["name"]))

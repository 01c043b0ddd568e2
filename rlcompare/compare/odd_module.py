"""The one module, such as one decoder layer of many, in which the kernels changed that a cause is about."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

from rlcompare.compare.evidence import Evidence
from rlcompare.compare.parts import COMPUTE, Basis, Candidate, by_name, total, whole
from rlcompare.compare.phrases import ms, short
from rlcompare.compare.rows import number
from rlcompare.model.diff import Row
from rlcompare.model.words import SIDES

MOST_OF = 0.8
"""How near the change of a module's kernels must be to that of the cause: this part of it, or its inverse."""


def odd_module(evidence: Evidence, delta: float) -> Row | None:
    """The innermost module whose kernels changed by about as much as a cause, and the others of its class hardly did.

    None if there is none, or it is unknown.

    Args:
        delta: the cause's change, in ms per step.
    """
    able = [
        row for row in evidence.odd_modules if delta and MOST_OF <= (number(row["delta"]) or 0.0) / delta <= 1 / MOST_OF
    ]
    return min(able, key=lambda row: (number(row["baseline"]) or 0.0, str(row["name"])), default=None)


def in_odd_module(evidence: Evidence, basis: Basis, delta: float) -> tuple[str, tuple[Row, ...]]:
    """A clause on that module, and its times as a fact; both empty if there is none.

    A module's kernels are known by their sum alone. If other computation changed too, the change may be that of others.
    """
    row = odd_module(evidence, delta)
    changes = [abs(total(own.values())) for own in basis.operators.values()]
    if fsum(changes) - abs(delta) > (1 - MOST_OF) * abs(delta):
        return "", ()
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

"""Candidates for causes in data types: operators that work on other ones than before, as in another precision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from rlcompare.compare.changed_with import SAME_CALLS
from rlcompare.compare.evidence import Evidence
from rlcompare.compare.parts import Basis, Candidate
from rlcompare.compare.phrases import ms, short, signed
from rlcompare.compare.records import Retyped
from rlcompare.compare.rows import number
from rlcompare.model.words import SIDES

MOST_LOST = 0.02
"""Part of the change of such calls that may not be in that of their kernels."""

_NO_TYPES = frozenset({"Scalar", "ScalarList", "GenericList", "TensorList", "Device"})
"""What torch records for inputs that are no tensors."""

_Types = tuple[frozenset[str], frozenset[str]]
"""The types that inputs have no more, and those that they have now."""


def data_types(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """The operators that are called as often as before, with inputs of the same shapes and of other data types.

    Their kernels often have other names, too. Those that went from the same types to the same ones are one candidate.
    """
    for group in retyped(evidence, basis):
        delta, by_launcher = fsum(group.amounts.values()), group.by_launcher
        largest = max(by_launcher, key=lambda name: (abs(by_launcher[name]), name))
        text = f"{group.text}: {ms(delta)} {'more' if delta > 0 else 'less'}"
        if len(by_launcher) > 1:
            text += f" in all; the largest is {short(largest)} ({signed(by_launcher[largest])})"
        yield Candidate("data_types", group.amounts, f"{text}.", "account", largest)


class Group(NamedTuple):
    """Operators whose inputs went from some types to others.

    Attributes:
        text: which operators, and which types.
        amounts: the change of each part of the step, in ms.
        by_launcher: the same of each operator that launches kernels.
    """

    text: str
    amounts: Mapping[int, float]
    by_launcher: Mapping[str, float]


def retyped(evidence: Evidence, basis: Basis) -> Iterator[Group]:
    """The operators of ``data_types``, by the types. One kernel alone is told with its inputs (``computation``)."""
    groups: dict[_Types, list[Retyped]] = defaultdict(list)
    for row in evidence.retyped:
        types = _change_of_types(row)
        if all(types) and (row.as_often or _is_called_as_often(evidence, row.launcher)):
            groups[types].append(row)
    for (old, new), rows in groups.items():
        amounts, by_launcher = _amounts(basis, rows)
        if amounts and len({row.name for row in rows}) > 1:
            other = f"on {short(';'.join(sorted(new)))} instead of {short(';'.join(sorted(old)))}"
            one, *others = by_launcher
            of = f"{len(by_launcher)} operators now work" if others else f"{short(one)} now works"
            yield Group(f"{of} {other}", amounts, by_launcher)


def _change_of_types(row: Retyped) -> _Types:
    old, new = (frozenset(types.split(";")) - _NO_TYPES for types in (row.baseline_types, row.new_types))
    return old - new, new - old


def _is_called_as_often(evidence: Evidence, launcher: str) -> bool:
    """Whether a framework operator has as many calls as before; the number of its kernels may depend on the types."""
    row = evidence.host_operators.get(launcher, {})
    before, after = (number(row.get(f"{side}_calls")) for side in SIDES)
    return bool(before and after) and abs((after or 0.0) - (before or 0.0)) <= SAME_CALLS * (before or 0.0)


def _amounts(basis: Basis, rows: Sequence[Retyped]) -> tuple[dict[int, float], dict[str, float]]:
    """The change of each part of the step, and of the kernels of each launching operator, in ms.

    None at all if the parts changed by less, as other calls of the same kernels made up for it.
    """
    amounts: dict[int, float] = defaultdict(float)
    by_launcher: dict[str, float] = defaultdict(float)
    for row in rows:
        for place, part in basis.operators.get(row.name, {}).items():
            own = part.new * row.new_part - part.baseline * row.baseline_part
            amounts[place] += own
            by_launcher[row.launcher] += own
    deltas = {place: basis.parts[place].delta for place in amounts}
    found = {place: sorted((0.0, amounts[place], delta))[1] for place, delta in deltas.items()}
    lost = fsum(abs(amounts[place] - amount) for place, amount in found.items())
    if lost > MOST_LOST * fsum(map(abs, amounts.values())):
        return {}, {}
    return {place: amount for place, amount in found.items() if amount}, by_launcher

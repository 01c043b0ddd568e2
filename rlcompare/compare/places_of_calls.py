"""Where calls of operators came or went, for a sentence or a column (docs/design.md §5)."""

from __future__ import annotations

from collections.abc import Collection

from rlcompare.compare.operator_tree import Instance
from rlcompare.compare.phrases import count, short
from rlcompare.compare.sequences import Place

ALL = 0.99
"""Part of an operator's calls from which a place is the only one."""

NAMED_MODULES, LISTED_INSTANCES = 3, 3
"""How many modules around a place are named, the innermost, and how many instances of one."""


def text_of(place: Place) -> str:
    """``after aten::mm in DecoderLayer.*.MLP (40 places)``."""
    words = f"{'mostly ' if place.part < ALL else ''}{_where(place)}"
    return words if round(place.times, 3) <= 1 else f"{words} ({count(place.times)} places)"


def _where(place: Place) -> str:
    where, modules = place.where, path_of(place.instances)
    inside = short(where.inside)
    if modules and where.inside == where.modules[-1]:
        inside = modules
    elif modules:
        inside = f"{inside} of {modules}"
    within = f" in {inside}" if where.inside else ""
    if where.after is None:
        return within.strip()
    if where.after:
        return f"after {short(where.after)}{within}"
    return f"at the start of {inside if where.inside else 'its thread'}"


def path_of(instances: Collection[tuple[Instance, ...]]) -> str:
    """The modules around several places: ``DecoderLayer.*.MLP``.

    Where a class has several instances there: ``.*`` for all of them, else the numbers of a few.
    """
    named = []
    for level in zip(*sorted(instances), strict=True):
        name, numbers, of = short(level[0].name), sorted({one.number for one in level}), level[0].of
        if len(numbers) == of:
            named.append(f"{name}.*" if of > 1 else name)
        elif len(numbers) <= LISTED_INSTANCES:
            listed = ",".join(map(str, numbers))
            named.append(f"{name}_{listed}" if len(numbers) == 1 else f"{name}_{{{listed}}}")
        else:
            named.append(f"{name}.* ({len(numbers)} of {of})")
    return ".".join(named[-NAMED_MODULES:])

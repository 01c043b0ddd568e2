"""Folds ranks that are alike, so that a thousand can be read: in a group, no two differ by more than a tolerance.

No distribution is assumed. A group is divided at the widest gap of the column in which it is widest, until all columns
are within the tolerance; of the tolerances, the smallest one is used that leaves few enough groups. So two kinds of
ranks, such as two pipeline stages, become two groups, and one rank that differs from all others stands alone.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

TOLERANCES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Parts of a step by which ranks of one group may differ in a column; the last ones are for measurements gone wrong."""

Values = tuple[float | None, ...]


def folded(
    ranks: Mapping[str, Values], apart: Iterable[str], step: float, most: int
) -> tuple[list[tuple[str, ...]], float]:
    """Groups of alike ranks, the largest first, and the tolerance, as a part of the step.

    Args:
        ranks: the values of each rank, in natural order. What a rank lacks is None, and is not like any number.
        apart: ranks that are alike no others: each stands alone, or if they are many, they are groups of their own.
        most: the number of groups to stay within, if one of the tolerances does.
    """
    special = set(apart)
    alone = special if len(special) <= most // 2 else set()
    kinds: dict[object, list[str]] = {}
    for name, values in ranks.items():
        alike = kind_of(name), name in special, tuple(value is None for value in values)
        key: object = name if name in alone else alike
        kinds.setdefault(key, []).append(name)
    most = max(most, len(kinds))
    groups: list[tuple[str, ...]] = []
    for tolerance in TOLERANCES:
        groups = _divided(kinds.values(), ranks, tolerance * step, most)
        if len(groups) <= most:
            break
    return sorted(groups, key=lambda group: -len(group)), tolerance


def _divided(
    kinds: Iterable[Sequence[str]], ranks: Mapping[str, Values], tolerance: float, most: int
) -> list[tuple[str, ...]]:
    """The groups; more than ``most`` of them are not finished."""
    order = {name: place for place, name in enumerate(ranks)}
    open_groups = [list(kind) for kind in kinds]
    done: list[tuple[str, ...]] = []
    while open_groups and len(done) + len(open_groups) <= most:
        group = open_groups.pop()
        column, width = _widest([ranks[name] for name in group])
        if width <= tolerance:
            done.append(tuple(sorted(group, key=order.__getitem__)))
            continue
        group.sort(key=lambda name: (ranks[name][column] or 0.0, order[name]))
        sizes = [ranks[name][column] or 0.0 for name in group]
        gaps = [after - before for before, after in itertools.pairwise(sizes)]
        cut = gaps.index(max(gaps)) + 1
        open_groups += [group[:cut], group[cut:]]
    return sorted(done + [tuple(group) for group in open_groups], key=lambda group: order[group[0]])


def _widest(rows: Sequence[Values]) -> tuple[int, float]:
    """The column with the largest range, and that range."""
    best = (0, 0.0)
    for column, values in enumerate(zip(*rows, strict=True)):
        known = [value for value in values if value is not None]
        width = max(known) - min(known) if known else 0.0
        if width > best[1]:
            best = column, width
    return best


def kind_of(name: str) -> str:
    """What a rank is, without its number: ``rank``, ``critic rank``, ``replica N``."""
    return re.sub(r"\d+", "N", name)


def ranges(names: Sequence[str]) -> str:
    """``rank 0–3, 5`` for four ranks and one; names that differ in more than their last number follow each other."""
    by_prefix: dict[str, list[int]] = {}
    for name in names:
        found = re.fullmatch(r"(.*?)(\d{1,9})", name, re.DOTALL)
        prefix, number = (found[1], int(found[2])) if found else (name, -1)
        by_prefix.setdefault(prefix, []).append(number)
    return "; ".join(prefix + ", ".join(_runs(numbers)) for prefix, numbers in by_prefix.items())


def _runs(numbers: Sequence[int]) -> list[str]:
    texts, start = [], 0
    known = sorted(number for number in numbers if number >= 0)
    for at in range(1, len(known) + 1):
        if at == len(known) or known[at] != known[at - 1] + 1:
            first, last = known[start], known[at - 1]
            texts.append(str(first) if first == last else f"{first}–{last}" if last - first > 1 else f"{first}, {last}")
            start = at
    return texts

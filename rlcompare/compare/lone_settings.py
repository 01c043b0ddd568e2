"""Settings that one side alone has: many below one name, of which the other side has none, are one finding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate

from rlcompare.model.diff import Finding
from rlcompare.model.words import Severity

SAMPLED = "sampled"
"""How settings begin that say which part of a step was profiled; these have findings of their own."""

MANY = 4
"""So many settings below one name are one finding."""


def lone_settings(
    baseline: Mapping[str, str], new: Mapping[str, str], apart: Collection[str] = ()
) -> Iterator[Finding]:
    """The settings that are known for one side only.

    Args:
        apart: those that have a finding of their own, however many there are.
    """
    for where, own, other in (("baseline", baseline, new), ("new side", new, baseline)):
        names = {name for key in other for name in names_above(key)}
        groups: dict[str, list[str]] = defaultdict(list)
        for key in sorted(key for key in own.keys() - other.keys() if key.partition(".")[0] != SAMPLED):
            lone = (name for name in names_above(key) if name not in names)  # the shortest first
            groups[key if key in apart else next(lone, key)].append(key)
        for name, keys in groups.items():
            if len(keys) >= MANY:
                text = f"{len(keys)} settings {name}.* are known for the {where} only, so they cannot be compared."
                yield Finding(f"{name}.*", None, None, Severity.INFO, text)
                continue
            for key in keys:
                text = f"{key} is known for the {where} only, so it cannot be compared."
                yield Finding(key, baseline.get(key), new.get(key), Severity.INFO, text)


def names_above(key: str) -> list[str]:
    """``a``, ``a.b`` for ``a.b.c``."""
    return list(accumulate(key.split(".")[:-1], "{}.{}".format))

"""The names that a rule may have, and whether an unknown one is likely a typing error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache

from rlcompare.compare.aggregates import MEASURES
from rlcompare.compare.names import PHASE_TIMES, TIMES, WORKLOAD
from rlcompare.metrics import entry
from rlcompare.metrics.catalogue import entries
from rlcompare.model.verdict import HEADLINE

_SHORTEST = 4
"""Shorter words are not compared: ``min`` and ``max``, ``gen`` and ``len`` are different words."""

_LONG = 9
"""From this length on, a word may have two mistakes."""

RANKS = ("max", "spread")
"""Measures of a time over its ranks."""

_OF_PROFILES = ("phase.", "role.", "memory.", "workload.")
"""Metrics of profiles besides times. They have no other measure."""

_OTHERS = ("memory.peak_allocated", "memory.peak_reserved", *WORKLOAD.values(), "workload.kernels",
           "workload.input_elements", "workload.micro_batches", "workload.decode_steps", "workload.response_tokens",
           "workload.collectives", "workload.collective_bytes")  # fmt: skip


@cache
def known_names() -> tuple[str, ...]:
    """Metrics that a diff can have: of profiles and of the catalogue. Roles and the user's own phases are globs."""
    times = (f"time.{name}{of}" for name in TIMES for of in ("", *(f"@{one}" for one in RANKS)))
    own = dict.fromkeys(one.phase for one in entries() if one.phase)
    phases = (f"phase.{phase}.{name}" for phase in ("*", *own) for name in PHASE_TIMES)
    roles = (f"role.*.{name}" for name in TIMES)
    return tuple(dict.fromkeys((*times, *phases, *roles, *_OTHERS, *(one.name for one in entries()))))


def is_known(name: str) -> bool:
    """Whether a metric, or a glob over metrics, means something that a diff can have."""
    if entry(name) is not None:
        return True
    return any(fnmatchcase(other, name) for other in known_names())


def measures_of(base: str) -> tuple[str, ...]:
    """What may follow the @ of a metric, or of a glob: times of a profile are of ranks, logged metrics of steps."""
    if base.startswith("time."):
        return RANKS
    return () if base.startswith(_OF_PROFILES) else MEASURES


def mistyped_for(name: str, measured: Iterable[str]) -> str | None:
    """The metric that is likely meant by an unknown name, if that is a typing error: nearly the same words.

    Args:
        measured: the metrics of the diff, which count as known.
    """
    globs = (other for other in known_names() if "*" in other and "*" in name)  # for a glob rather another glob
    candidates = dict.fromkeys((*globs, *measured, HEADLINE, *known_names()))
    if name in candidates or is_known(name):
        return None
    return next((other for other in candidates if _is_mistyped(name, other)), None)


def _is_mistyped(name: str, other: str) -> bool:
    """Whether two different names have the same words but for a slip, or differ in what is between the words only."""
    mine, theirs = list(_words(name)), list(_words(other))
    if "".join(mine) == "".join(theirs):
        return True
    if len(mine) != len(theirs):
        return False
    apart = [(one, two) for one, two in zip(mine, theirs, strict=True) if one not in (two, "*")]
    return len(apart) <= 1 and all(_is_slip(one, two) for one, two in apart)


def _words(name: str) -> Iterator[str]:
    yield from re.split(r"[/._\-: ]+", name.casefold())


def _is_slip(one: str, other: str) -> bool:
    longer = max(len(one), len(other))
    if longer < _SHORTEST or re.sub(r"\d", "", one) == re.sub(r"\d", "", other):  # other numbers are other names
        return False
    return _mistakes(one, other) <= (1 if longer < _LONG else 2)


def _mistakes(one: str, other: str) -> int:
    """Letters that are added, left out, replaced or swapped with their neighbour (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]

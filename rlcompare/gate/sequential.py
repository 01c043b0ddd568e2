"""Odds of verdicts that are looked at several times, while runs are added (``rlcompare gate --extend``). Pure.

Looking after every two runs and stopping at the first verdict errs more often than looking once. So the odds are
divided over all looks that are planned, before the first one: those of each look sum to at most those of one verdict.
That holds whatever the distribution of the runs is, and however the looks depend on each other.

Looks with enough runs for an exact test share most of the odds. What such a test cannot use, because its odds come in
steps, is left to the next look. Looks with fewer runs, which assume a spread, share the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlcompare.compare.estimate import FALSE_ALARM, MISS, allowed, least_odds, odds_of_order

EXACT_PART = 0.8
"""The part of the odds that is left to looks with exact tests, if there are any."""

EVERY = 2
"""Looks are planned after this many runs a side: in the order A B B A the sides are balanced then."""

Runs = tuple[int, int]
"""The numbers of runs of the baseline and of the new side."""


@dataclass(frozen=True)
class Odds:
    """How often verdicts may be wrong: a failure or improvement without a change; a pass at twice the limit.

    ``shared``: the number of metrics that share the odds of a failure.
    """

    false_alarm: float = FALSE_ALARM
    miss: float = MISS
    shared: int = 1


@dataclass(frozen=True)
class Look:
    """A planned look at the runs, with its odds."""

    runs: Runs
    odds: Odds


def looks(first: Runs, most: Runs, *, exact: bool = False) -> list[Look]:
    """All looks, from the runs that exist to ``most`` of each side, with their odds.

    Args:
        first: the runs that exist. They are looked at if each side has one.
        exact: whether to leave out looks at too few runs for an exact test; the last one stays.
    """
    planned = [first] if min(first) else []
    last = max(end - count for count, end in zip(first, most, strict=True))
    for step in range(1, last + 1):
        baseline, new = (min(max(count, end), count + step) for count, end in zip(first, most, strict=True))
        if step % EVERY == 0 or step == last:
            planned.append((baseline, new))
    planned = list(dict.fromkeys(planned))
    if exact:
        planned = _exact(planned, FALSE_ALARM) or planned[-1:]
    alarms, misses = (levels(planned, total) for total in (FALSE_ALARM, MISS))
    return [Look(runs, Odds(alarm, miss)) for runs, alarm, miss in zip(planned, alarms, misses, strict=True)]


def levels(planned: Sequence[Runs], total: float) -> list[float]:
    """The odds of each look; together at most ``total``. Those of exact tests are odds that such a test can have."""
    exact = _exact(planned, EXACT_PART * total)
    rest = len(planned) - len(exact)
    of_rest = (total - (EXACT_PART * total if exact else 0.0)) / rest if rest else 0.0
    share = (EXACT_PART * total if rest else total) / len(exact) if exact else 0.0
    made, used = [of_rest] * rest, 0.0
    for number, runs in enumerate(exact, start=1):
        made.append(attained(runs, share * number - used))
        used += made[-1]
    return made


def attained(runs: Runs, level: float) -> float:
    """The odds of the exact test at a level: the largest that it can have; 0 if it cannot be done."""
    wrong = allowed(*runs, level)
    return 0.0 if wrong is None else odds_of_order(*runs, wrong)


def _exact(planned: Sequence[Runs], total: float) -> list[Runs]:
    """The last looks, as many as can have an exact test with an equal share of the odds."""
    for begin in range(len(planned)):
        left = planned[begin:]
        if all(least_odds(*runs) <= total / len(left) for runs in left):
            return list(left)
    return []

"""The order of the runs in time: whether a drift of the machine could pass for a change, and whether there is one.

If all runs of one side were made before those of the other, whatever changed on the machine meanwhile counts as a
change. Sides that were interleaved (A B B A) share it. Drift is looked for within the sides, where nothing else
changed: an exact test on ranks (Kendall's, summed over both sides), its size by Theil and Sen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import combinations
from statistics import fmean, median, stdev

from rlcompare.compare.replicates import SIDE_NAMES
from rlcompare.model.diff import Delta, Finding, Side
from rlcompare.model.digits import grouped
from rlcompare.model.words import SIDES, Severity, SideName

APART = 0.5
"""Sides are interleaved if their mean places in the order of all runs differ by no more than this fraction of what they
would differ by if one side had come first. A B A B has 0.5, A B B A 0, A A B B 1."""

DRIFT_ODDS, LEAST_DRIFT = 0.01, 0.01
"""A drift is told if chance alone gives one as consistent this rarely, in either direction, and if it is as large."""

NOISY = 0.1
"""The coefficient of variation of a side's runs above which its machine is noisy."""

_EXACT = 60
"""Runs of a side up to which the test is exact; with more, the normal distribution is as good."""

Timed = list[tuple[float, float]]
"""The runs of a side: when each one started, in seconds, and its value."""


def order_findings(sides: Mapping[SideName, Side], headline: Delta | None) -> list[Finding]:
    """Findings about the order of the runs that verdicts count, and about how much they differ."""
    made = list(_order(sides))
    if headline is not None:
        made += [*_drift(sides, headline), *(found for side in SIDES for found in _noise(side, sides, headline))]
    return made


def _starts(side: Side) -> list[float] | None:
    """When the counted runs of a side started; None if that is not known of all."""
    times = [None if run.started is None else _seconds(run.started) for run in side.runs if not run.left_out]
    known = [time for time in times if time is not None]
    return known if len(known) == len(times) else None


def _seconds(started: str) -> float | None:
    try:
        return datetime.fromisoformat(started).timestamp()
    except (ValueError, OverflowError):
        return None


def _order(sides: Mapping[SideName, Side]) -> list[Finding]:
    chips = [sides[side].env.get("chip") for side in SIDES]
    if all(chips) and chips[0] != chips[1]:
        return []  # no machine made the runs of both sides
    starts = [_starts(sides[side]) for side in SIDES]
    if any(known is None or len(known) < 2 for known in starts):
        return []
    old, new = (known or [] for known in starts)
    places = {time: place for place, time in enumerate(sorted({*old, *new}))}
    apart = fmean(places[time] for time in new) - fmean(places[time] for time in old)
    if abs(apart) <= APART * (len(old) + len(new)) / 2:
        return []
    first, last = ("baseline", "new side") if apart > 0 else ("new side", "baseline")
    mostly = "" if max(old) < min(new) or max(new) < min(old) else "mostly "
    text = (
        f"The runs of the {first} were {mostly}made before those of the {last}, so a drift of the machine counts as a"
        " change:"
        " alternate the sides, as rlcompare run --against does."
    )
    return [Finding("runs.order", None, None, Severity.CAUTION, text)]


def _drift(sides: Mapping[SideName, Side], headline: Delta) -> list[Finding]:
    timed = [_timed(sides[side], headline.samples[side]) for side in SIDES]
    if any(runs is None for runs in timed):
        return []
    strata = [runs for runs in timed if runs]
    odds = drift_odds([[value for _, value in sorted(runs)] for runs in strata])
    size = _size(strata)
    if odds is None or odds > DRIFT_ODDS or size is None or abs(size) < LEAST_DRIFT:
        return []
    seconds = max(max(time for time, _ in runs) - min(time for time, _ in runs) for runs in strata)
    word = "grew" if size > 0 else "fell"
    text = (
        f"Drift: from the first to the last run of a side ({_span(seconds)}), {headline.metric} {word} by"
        f" {grouped(abs(size) * 100, 1)} %, although nothing changed within the side (by chance at most once in"
        f" {1 / max(odds, 1e-6):,.0f} times)."
    )
    return [Finding("runs.drift", None, None, Severity.CAUTION, text)]


def _timed(side: Side, values: Sequence[float | None]) -> Timed | None:
    """The counted runs with a positive value; None if it is not known when one of them started."""
    runs: Timed = []
    for run, value in zip(side.runs, values, strict=True):
        if run.left_out or value is None or value <= 0:
            continue
        time = None if run.started is None else _seconds(run.started)
        if time is None:
            return None
        runs.append((time, value))
    return runs


def drift_odds(strata: Sequence[Sequence[float]]) -> float | None:
    """How often chance alone gives values that rise or fall over time as consistently; None if it cannot be told.

    Args:
        strata: the values of each side in the order of time.
    """
    pairs = [(before, after) for values in strata for before, after in combinations(values, 2)]
    if not pairs:
        return None
    falls = sum((after < before) + 0.5 * (after == before) for before, after in pairs)
    wrong = math.ceil(min(falls, len(pairs) - falls))  # with equal values, chance gives so few falls more often
    sizes = tuple(sorted(len(values) for values in strata if len(values) > 1))
    if max(sizes) > _EXACT:
        variance = sum(size * (size - 1) * (2 * size + 5) / 72 for size in sizes)
        return min(1.0, math.erfc((len(pairs) / 2 - wrong - 0.5) / math.sqrt(2 * variance)))
    ways = _inversions(sizes)
    return min(1.0, 2 * sum(ways[: wrong + 1]) / sum(ways))


@lru_cache(maxsize=64)
def _inversions(sizes: tuple[int, ...]) -> list[int]:
    """In how many orders of groups of these sizes 0, 1, 2, … pairs are inverted."""
    ways = [1]
    for size in sizes:
        for more in range(1, size):  # one value more can be inverted with 0 to all of those before it
            grown = [0] * (len(ways) + more)
            running = 0
            for place in range(len(grown)):
                running += ways[place] if place < len(ways) else 0
                running -= ways[place - more - 1] if 0 <= place - more - 1 < len(ways) else 0
                grown[place] = running
            ways = grown
    return ways


def _size(strata: Sequence[Timed]) -> float | None:
    """The drift from the first to the last run of a side, as a fraction: of the slopes of all pairs, the median."""
    slopes = [
        (math.log(late) - math.log(early)) / (end - begin)
        for runs in strata
        for (begin, early), (end, late) in combinations(sorted(runs), 2)
        if end > begin
    ]
    if not slopes:
        return None
    seconds = max(max(time for time, _ in runs) - min(time for time, _ in runs) for runs in strata)
    return math.expm1(max(-50.0, min(50.0, median(slopes) * seconds)))


def _noise(side: SideName, sides: Mapping[SideName, Side], headline: Delta) -> list[Finding]:
    numbers = {}
    for each in SIDES:
        pairs = zip(sides[each].runs, headline.samples[each], strict=True)
        numbers[each] = [value for run, value in pairs if not run.left_out and value is not None and value > 0]
    values = numbers[side]
    if len(values) < 3:
        return []
    variation = stdev(values) / fmean(values)
    if variation <= NOISY or not all(numbers.values()):
        return []
    least = 2 * variation * math.sqrt(sum(1 / len(found) for found in numbers.values()))
    text = (
        f"{SIDE_NAMES[side]}: {headline.metric} of its {len(values)} runs has a coefficient of variation of"
        f" {variation * 100:.0f} %: with this number of runs, the machine is too noisy for limits below about"
        f" {least * 100:.0f} %."
    )
    return [Finding("runs.noise", None, None, Severity.CAUTION, text)]


def _span(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"

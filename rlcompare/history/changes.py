"""Changes of level in a history: since which run, in which metrics, for better or worse, and whether that is accepted.

If nothing changes, the chance that one look at the runs of an environment finds a change in any metric is at most
``ALPHA``. Half of it is the headline's; the other metrics share the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import md5
from statistics import median

from rlcompare.compare.names import polarity_of
from rlcompare.compare.overall import HEADLINES, SPEED
from rlcompare.compare.telling import place_of
from rlcompare.history.levels import Level, fewest_after, levels_of, moves_at, runs_needed
from rlcompare.history.metric_change import TOKENS, MetricChange, judged_change
from rlcompare.history.records import Acknowledged, Run, Series
from rlcompare.history.store import History
from rlcompare.model.words import Polarity

ALPHA = 0.005
"""The chance of a change in the runs of one environment if nothing changes: of all judged metrics together."""

HEADLINE_SHARE = 0.5
"""The headline's part of ``ALPHA``."""

MOST_RUNS = 120
"""Changes are searched among the last so many usable runs of an environment."""

LEAST_CHANGE = 0.01
"""Smaller changes are not reported."""

NEAR, NEAR_GRADUALLY = 1, 10
"""Changes of several metrics are one if they begin at most so many runs apart: a jump is found within ±1."""

LASTING = 3
"""A version or setting is named with a change if it was the same in so many runs before, and likewise after."""

UNDONE = 0.5
"""A change for the worse has been undone if less than this part of it is left."""

WORK = (TOKENS, "workload.response_length_mean", "workload.prompt_length_mean")
"""Metrics of no polarity that are searched too, because a change of the work explains others."""


@dataclass(frozen=True)
class Difference:
    """A version or setting that differs between the last run before a change and the first one after it."""

    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Change:
    """What changed at one run.

    Attributes:
        id: for ``rlcompare history ack``; stays the same as long as the first run does.
        run: the first run after the change; ``before``: the last one before it.
        age: number of usable runs since, the first one included.
        metrics: the one by which the change is judged first.
        worse: None: more or less work, or metrics of which no direction is better.
        differs: versions and settings, beside commits, that changed between the two runs.
        acknowledged: None: it was not, or that has expired.
        expired: the acknowledgement that no longer counts.
    """

    id: str
    run: Run
    before: Run
    age: int
    metrics: tuple[MetricChange, ...]
    worse: bool | None
    differs: tuple[Difference, ...]
    acknowledged: Acknowledged | None
    expired: Acknowledged | None

    @property
    def undone(self) -> bool:
        return all(change.undone for change in self.metrics if change.worse)

    @property
    def is_open(self) -> bool:
        """Whether it is for the worse, still there, and not accepted."""
        return bool(self.worse) and not self.undone and self.acknowledged is None


@dataclass(frozen=True)
class Searched:
    """The runs of one environment that were searched.

    Attributes:
        runs: number of usable ones.
        fewest: how many of them a change of the headline must have lasted to be found; None: too few runs for any.
        needed: the number of runs from which on one can be found.
        known: whether hardware or configuration of any of them is.
        others: the number of other metrics that are searched.
        fewest_of_others, needed_of_others: ``fewest`` and ``needed`` for one of these, in as many runs.
    """

    environment: str
    headline: str
    runs: int
    fewest: int | None
    needed: int
    known: bool
    others: int
    fewest_of_others: int | None
    needed_of_others: int


@dataclass(frozen=True)
class Found:
    """All changes, the latest first, and where they were searched."""

    changes: tuple[Change, ...]
    searched: tuple[Searched, ...]


def find_changes(history: History, today: str) -> Found:
    """The changes of all environments.

    Args:
        history: with all metrics.
        today: the date in UTC, ``YYYY-MM-DD``; an acknowledgement counts until the end of its last day.
    """
    by_environment: dict[str, list[Series]] = {}
    for series in history.series:
        by_environment.setdefault(series.environment, []).append(series)
    changes: list[Change] = []
    searched = []
    described = {setting.number for setting in history.settings if setting.divides}
    for environment, found in sorted(by_environment.items()):
        headline = headline_of(found)
        numbers = next(series.numbers for series in found if series.metric == headline)
        alphas, count = judged(found, headline), min(len(numbers), MOST_RUNS)
        searched.append(
            Searched(
                environment,
                headline,
                runs=len(numbers),
                fewest=fewest_after(count, headline_alpha()),
                needed=runs_needed(headline_alpha()),
                known=not described.isdisjoint(numbers),
                others=len(alphas) - 1,
                fewest_of_others=fewest_after(count, min(alphas.values())),
                needed_of_others=runs_needed(min(alphas.values())),
            )
        )
        changes += _Environment(history, found, headline, today).changes()
    order = {run.number: place for place, run in enumerate(history.runs)}
    changes.sort(key=lambda change: (-order[change.run.number], change.id))
    return Found(tuple(changes), tuple(searched))


def headline_of(series: Sequence[Series]) -> str:
    """The metric by which speed is judged in an environment: the first of the known ones that most of its runs have."""
    runs = {one.metric: len(one.numbers) for one in series}
    most = max(runs.values())
    known = (metric for metric in (SPEED, *HEADLINES) if 2 * runs.get(metric, 0) >= most)
    return next(known, max(runs, key=lambda metric: (runs[metric], metric)))


def headline_alpha() -> float:
    """The headline's chance of a change if nothing changes."""
    return ALPHA * HEADLINE_SHARE


def judged(series: Sequence[Series], headline: str) -> dict[str, float]:
    """The metrics of an environment that are searched, each with its chance of a change if nothing changes."""
    others = [
        one.metric
        for one in series
        if one.metric != headline
        and (one.metric in WORK or polarity_of(one.metric) is not Polarity.NEUTRAL)
        and len(set(one.values)) > 1
    ]
    return {headline: headline_alpha(), **dict.fromkeys(others, ALPHA * (1 - HEADLINE_SHARE) / max(len(others), 1))}


def levels_of_series(series: Series, alpha: float) -> tuple[list[int], tuple[Level, ...]]:
    """The last runs of a series, by number, and their levels."""
    numbers, values = series.numbers[-MOST_RUNS:], series.values[-MOST_RUNS:]
    return numbers, levels_of(values, alpha, LEAST_CHANGE)


@dataclass(frozen=True)
class _Start:
    """Where a metric changes: the position of the first run after it among the usable runs of the environment."""

    place: int
    before: int
    change: MetricChange


class _Environment:
    """The search among the runs of one environment."""

    def __init__(self, history: History, series: Sequence[Series], headline: str, today: str) -> None:
        self._runs = {run.number: run for run in history.runs}
        self._series = {one.metric: one for one in series}
        self._headline = headline
        self._today = today
        used = {number for one in series for number in one.numbers}
        self._order = [run.number for run in history.runs if run.number in used]
        self._settings: dict[int, dict[str, str]] = {}
        for setting in history.settings:
            if setting.number in used:
                self._settings.setdefault(setting.number, {})[setting.key] = setting.value
        self._acknowledged = {row.number: row for row in history.acknowledged}

    def changes(self) -> Iterator[Change]:
        place_of = {number: place for place, number in enumerate(self._order)}
        alphas = judged(list(self._series.values()), self._headline)
        starts = []
        for metric, alpha in alphas.items():
            numbers, levels = levels_of_series(self._series[metric], alpha)
            for number, before, change in _metric_changes(self._series[metric], numbers, levels):
                starts.append(_Start(place_of[number], place_of[before], change))
        groups = self._together(starts)
        owners = self._owners([group[0] for group in groups])
        for group in groups:
            if group[0].change.metric == self._headline and not group[0].change.gradual:
                group += self._likewise(group[0], starts, [*alphas])
            yield self._change(group, owners.get(group[0].place, []))

    def _likewise(self, first: _Start, starts: Sequence[_Start], metrics: Sequence[str]) -> list[_Start]:
        """The metrics that jump with the headline, among those of which a search finds nothing beside that jump.

        If the headline does not change none are tested, so they take nothing from the chance that ``ALPHA`` is.
        """
        jumps = [start.place for start in starts if start.change.metric == self._headline]
        low = max((place for place in jumps if place < first.place), default=max(0, len(self._order) - MOST_RUNS))
        high = min((place for place in jumps if place > first.place), default=len(self._order))
        found = {start.change.metric for start in starts if low <= start.place < high}
        old, new = set(self._order[low : first.place]), set(self._order[first.place : high])
        likewise = []
        for series in (self._series[metric] for metric in metrics if metric not in found):
            points = list(zip(series.numbers, series.values, strict=True))
            before, after = ([value for number, value in points if number in side] for side in (old, new))
            if moves_at([*before, *after], len(before), ALPHA / len(metrics), LEAST_CHANGE):
                levels = median(before), median(after)
                worse = _is_worse(series.metric, levels[1] - levels[0])
                change = MetricChange(series.metric, series.unit, *levels, worse, False, first.change.undone)
                likewise.append(_Start(first.place, first.before, change))
        return likewise

    def _together(self, starts: Sequence[_Start]) -> list[list[_Start]]:
        """Changes of metrics that begin at nearly the same run; the headline decides at which."""
        groups: list[list[_Start]] = []
        for start in sorted(starts, key=lambda start: (start.change.metric != self._headline, start.place)):
            near = [
                group
                for group in groups
                if abs(group[0].place - start.place) <= _reach(group[0].change.gradual and start.change.gradual)
            ]
            if near and all(start.change.metric != other.change.metric for other in near[0]):
                near[0].append(start)
            else:
                groups.append([start])
        return groups

    def _change(self, group: Sequence[_Start], acknowledged: Sequence[Acknowledged]) -> Change:
        first = group[0]
        run, before = self._runs[self._order[first.place]], self._runs[self._order[first.before]]
        metrics, worse = judged_change([start.change for start in group], self._headline)
        accepted = max(acknowledged, key=lambda row: row.made_ns, default=None)
        counts = accepted is not None and accepted.expires >= self._today
        return Change(
            id=md5(f"{run.environment}/{run.run}".encode(), usedforsecurity=False).hexdigest()[:8],
            run=run,
            before=before,
            age=len(self._order) - first.place,
            metrics=metrics,
            worse=worse,
            differs=() if first.change.gradual else tuple(self._differences(first)),
            acknowledged=accepted if counts else None,
            expired=None if counts else accepted,
        )

    def _owners(self, starts: Sequence[_Start]) -> dict[int, list[Acknowledged]]:
        """The acknowledgements of each change, by its place. A change may have moved since: the nearest one has it."""
        owners: dict[int, list[Acknowledged]] = {}
        for place, number in enumerate(self._order):
            if number not in self._acknowledged:
                continue
            near = [start for start in starts if abs(start.place - place) <= _reach(start.change.gradual)]
            if near:
                nearest = min(near, key=lambda start: (abs(start.place - place), start.change.gradual, -start.place))
                owners.setdefault(nearest.place, []).append(self._acknowledged[number])
        return owners

    def _differences(self, start: _Start) -> Iterator[Difference]:
        """What differs between the runs just before and just after, the same in all on each side."""
        old, new = (
            [self._settings.get(number, {}) for number in self._order[low:high]]
            for low, high in (
                (max(0, start.before + 1 - LASTING), start.before + 1),
                (start.place, start.place + LASTING),
            )
        )
        for key in sorted({*old[-1], *new[0]} - {"commit"}, key=lambda key: (place_of(key), key)):
            before, after = ({run.get(key) for run in runs} for runs in (old, new))
            if len(before) == len(after) == 1 and before != after:
                yield Difference(key, before.pop(), after.pop())


def _reach(gradual: bool) -> int:
    return NEAR_GRADUALLY if gradual else NEAR


def _metric_changes(
    series: Series, numbers: Sequence[int], levels: Sequence[Level]
) -> Iterator[tuple[int, int, MetricChange]]:
    """The first run after each change, the last one before it, and the change."""
    for before, first, after in _steps(levels):
        rise = after.value - before.value
        worse = _is_worse(series.metric, rise)
        left = min((level.value - before.value) / rise for level in (after, *levels[levels.index(after) :]))
        change = MetricChange(
            series.metric, series.unit, before.value, after.value, worse, first.gradual, left < UNDONE
        )
        yield numbers[first.start], numbers[first.start - 1], change


def _is_worse(metric: str, rise: float) -> bool | None:
    polarity = polarity_of(metric)
    return None if polarity is Polarity.NEUTRAL else (rise > 0) == (polarity is Polarity.LOWER)


def _steps(levels: Sequence[Level]) -> Iterator[tuple[Level, Level, Level]]:
    """The level before each change, the first after it, and the last: a drift may have several in one direction."""
    place = 1
    while place < len(levels):
        before, first, last = levels[place - 1], levels[place], place
        while (
            first.gradual
            and last + 1 < len(levels)
            and levels[last + 1].gradual
            and (levels[last + 1].value > levels[last].value) == (first.value > before.value)
        ):
            last += 1
        yield before, first, levels[last]
        place = last + 1

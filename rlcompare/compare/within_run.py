"""What happens within one run: changes of level, trends, first steps, and steps that take longer than others.

Steps that test or save a checkpoint, and the first steps (compilation, warm-up), are reported as such. They do not
count in the search for a change of level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from statistics import fmean, median

from rlcompare.compare.drift import period_of, spikes_of, trend_of, upper_level
from rlcompare.compare.names import unit_of
from rlcompare.compare.onset import LEAST_LEVEL, LEAST_STEPS, levels_of, without_spikes
from rlcompare.compare.overall import SPEED
from rlcompare.compare.records import RunSeries, TimerPart
from rlcompare.model.diff import EventFact, RunEvent
from rlcompare.model.words import EventKind, SideName

BESIDE = ("timing_s/testing", "timing_s/save_checkpoint")
"""Timers of steps that take longer, because they test or save a checkpoint."""

LEAST_OF_STEP = 0.01
"""A timer's change is told from this part of the step."""

LEAST_OF_TIMER, LEAST_OF_METRIC = 0.05, 0.1
"""Relative change from which an onset is told: of a timer, and of another metric."""

LEAST_TREND = 0.1
"""Relative change over the run from which a trend is told."""

LEAST_LEVELS = 0.05
"""Relative distance from which two levels of the step are told."""

LONGER = 0.2
"""A step takes longer than others if it is by this part of their time."""

MOST_FIRST = 10
"""The first steps are at most so many."""

LEAST_SHARE = 0.2
"""A timer is named with a change of the step if it holds this part of it; one inside a timer: ``MOST_OF``."""

LEAST_AT_ONCE = 0.5
"""The part of a timer's change that it must make at the step of the change."""

MOST_OF = 0.8
RETURNED = 0.3
"""An episode is over when the level has come back, up to this part of its change."""

_WORK = ("response_length/mean", "response_length/max", "perf/total_num_tokens", "num_turns/mean", "prompt_length/mean")


class Run:
    """The series of one run."""

    def __init__(self, side: SideName, run: int, series: Sequence[RunSeries], inner: Sequence[TimerPart]) -> None:
        """``inner``: the timers inside phases."""
        self._of = (side, run)
        self._series = {one.name: one for one in series}
        self._inner = inner

    def events(self) -> Iterator[RunEvent]:
        """All events; without ``elsewhere`` and ``text``."""
        onsets = {name: list(self._onsets(name)) for name in self._series}
        for name, found in onsets.items():
            yield from (self._with_facts(event, onsets) for event in found)
            if not found:
                yield from self._trend(name)
        if self._first:
            yield self._event(EventKind.FIRST_STEPS, SPEED, self._steps[: self._first], self._usual, self._start)
        yield from self._longer_steps()

    def _event(
        self, what: EventKind, name: str, steps: Sequence[int], before: float, after: float, *, ends: bool = True,
        period: int | None = None, facts: tuple[EventFact, ...] = (),
    ) -> RunEvent:  # fmt: skip
        side, run = self._of
        last = steps[-1] if ends else None
        return RunEvent(
            what, name, unit_of(name), side, run, steps[0], last, len(steps), before, after, period=period, facts=facts
        )

    @property
    def _steps(self) -> list[int]:
        return self._series[SPEED].steps

    @cached_property
    def _beside(self) -> frozenset[int]:
        """Steps that test or save, unless most do."""
        found = {step for name in BESIDE if name in self._series for step in self._series[name].steps}
        everything = self._series[SPEED].steps if SPEED in self._series else []
        return frozenset(found) if 2 * len(found.intersection(everything)) < len(everything) else frozenset()

    @cached_property
    def _usual(self) -> float:
        """The usual time of a step, after the first ones; 0 if it was not logged."""
        amounts = self._series[SPEED].amounts if SPEED in self._series else []
        return median(amounts[min(MOST_FIRST, len(amounts) // 2) :]) if amounts else 0.0

    @cached_property
    def _first(self) -> int:
        """Number of first steps that take longer; 0 if more do than first steps: that is another level."""
        amounts = self._series[SPEED].amounts if SPEED in self._series else []
        most = min(MOST_FIRST, len(amounts) // 4)
        usual = (place for place, amount in enumerate(amounts[: most + 1]) if amount < (1 + LONGER) * self._usual)
        return next(usual, 0)

    @property
    def _start(self) -> float:
        return fmean(self._series[SPEED].amounts[: self._first])

    def _counted(self, name: str) -> tuple[list[int], list[float]]:
        """The steps and values that count for a level: of times, not the first steps and those that test or save."""
        one = self._series[name]
        if not name.startswith("timing_s/") or name in BESIDE:
            return one.steps, one.amounts
        start = self._steps[max(self._first, 1) - 1] if SPEED in self._series else one.steps[0]
        kept = [(s, v) for s, v in zip(one.steps, one.amounts, strict=True) if s > start and s not in self._beside]
        return [step for step, _ in kept], [value for _, value in kept]

    def _matters(self, name: str, before: float, after: float, least: float) -> bool:
        is_time = unit_of(name) == "s"
        if is_time and abs(after - before) < LEAST_OF_STEP * self._usual:
            return False
        return abs(after - before) >= least * (abs(before) if is_time else max(abs(before), abs(after)))

    def _onsets(self, name: str) -> Iterator[RunEvent]:
        steps, amounts = self._counted(name)
        levels = levels_of(amounts)
        returned = False
        for place, (before, level) in enumerate(pairwise(levels), 1):
            least = LEAST_OF_TIMER if unit_of(name) == "s" else LEAST_OF_METRIC
            if returned or not self._matters(name, before.value, level.value, least):
                returned = False
                continue
            after = levels[place + 1] if place + 1 < len(levels) else None
            change = level.value - before.value
            returned = after is not None and abs(after.value - before.value) < RETURNED * abs(change)
            own = steps[level.start : level.stop]
            facts = self._parts(steps[before.start : before.stop], own, change) if name == SPEED else ()
            yield self._event(
                EventKind.ONSET, name, own, before.value, level.value, ends=after is not None, facts=facts
            )

    def _parts(self, before: Sequence[int], after: Sequence[int], change: float) -> tuple[EventFact, ...]:
        """The timers that a change of the step consists of, the largest first, each with those inside it.

        A timer whose own level changed at another step is none of them.
        """
        named = [name for name, one in self._series.items() if one.phase is not None]
        at_once = {fact.name: fact.delta for fact in self._facts(named, before[-LEAST_LEVEL:], after[:LEAST_LEVEL])}
        found = [
            fact for fact in self._facts(named, before, after)
            if fact.delta / change >= LEAST_SHARE and at_once.get(fact.name, 0.0) / fact.delta >= LEAST_AT_ONCE
        ]  # fmt: skip
        facts: list[EventFact] = []
        for fact in sorted(found, key=lambda fact: -abs(fact.delta)):
            phase = self._series[fact.name].phase
            inside = dict.fromkeys(timer.name for timer in self._inner if timer.phase == phase)
            facts.append(fact)
            facts += [one for one in self._facts(inside, before, after) if one.delta / fact.delta >= MOST_OF]
        return tuple(facts)

    def _facts(self, names: Iterable[str], before: Sequence[int], after: Sequence[int]) -> list[EventFact]:
        """The levels of metrics in given steps, without spikes."""
        found = []
        for one in (self._series[name] for name in names if name in self._series):
            smooth = dict(zip(one.steps, without_spikes(one.amounts), strict=True))
            values = [[smooth[step] for step in steps if step in smooth] for steps in (before, after)]
            if all(values):
                found.append(EventFact(one.name, fmean(values[0]), fmean(values[1])))
        return found

    def _with_facts(self, event: RunEvent, onsets: Mapping[str, Sequence[RunEvent]]) -> RunEvent:
        """An onset with the metrics of the work that changed at the same step."""
        work = tuple(
            EventFact(other.metric, other.before, other.after)
            for name in _WORK
            for other in onsets.get(name, ())
            if name != event.metric and abs(other.step - event.step) <= LEAST_LEVEL
        )
        return replace(event, facts=(*event.facts, *work))

    def _trend(self, name: str) -> Iterator[RunEvent]:
        steps, amounts = self._counted(name)
        is_counter = unit_of(name) != "s" and "max_memory" not in name and all(a <= b for a, b in pairwise(amounts))
        ends = None if is_counter else trend_of(amounts)
        if ends is not None and self._matters(name, *ends, LEAST_TREND):
            yield self._event(EventKind.TREND, name, steps, *ends)

    def _longer_steps(self) -> Iterator[RunEvent]:
        """Steps that take longer because they test or save, and regular ones that do for an unknown reason."""
        if SPEED not in self._series:
            return
        time_of = dict(list(zip(self._steps, self._series[SPEED].amounts, strict=True))[self._first :])
        others = [value for step, value in time_of.items() if step not in self._beside]
        usual, known = median(others), set[int]()
        for names, own in self._tests_and_saves(time_of, usual).items():
            known.update(own)
            at = median(time_of[step] for step in own)
            if at > (1 + LONGER) * usual:
                facts = tuple(EventFact(name, None, self._median(name, own)) for name in names)
                period = period_of(own, min(time_of), max(time_of))
                yield self._event(EventKind.TEST_OR_SAVE, SPEED, own, usual, at, period=period, facts=facts)
        yield from self._spikes({step: value for step, value in time_of.items() if step not in known})

    def _tests_and_saves(self, time_of: Mapping[int, float], usual: float) -> dict[tuple[str, ...], list[int]]:
        """The steps that test or save, by their timers inside the step.

        A timer is inside if it is a phase of the step, or if it holds the time by which its steps are longer.
        """
        logged = {name: set(self._series[name].steps) for name in BESIDE if name in self._series}
        groups: dict[tuple[str, ...], list[int]] = {}
        for step in time_of:
            names = tuple(name for name in logged if step in logged[name])
            inside = tuple(name for name in names if self._series[name].phase is not None)
            if step in self._beside:
                groups.setdefault(inside or names, []).append(step)
        found = {}
        for names, own in groups.items():
            longer = median(time_of[step] for step in own) - usual
            left = abs(longer - sum(self._median(name, own) for name in names))
            if any(self._series[name].phase is not None for name in names) or left <= LONGER * max(usual, longer):
                found[names] = own
        return found

    def _median(self, name: str, steps: Sequence[int]) -> float:
        amounts = dict(zip(self._series[name].steps, self._series[name].amounts, strict=True))
        return median(amounts[step] for step in steps)

    def _spikes(self, time_of: Mapping[int, float]) -> Iterator[RunEvent]:
        steps, amounts = list(time_of), list(time_of.values())
        if len(steps) < LEAST_STEPS:
            return
        upper = [steps[place] for place in upper_level(amounts, LEAST_LEVELS * self._usual)]
        for own in ([steps[place] for place in spikes_of(amounts, LONGER * self._usual)], upper):
            period = period_of(own, steps[0], steps[-1])
            if period is not None:
                others = median(value for step, value in time_of.items() if step not in own)
                at = median(time_of[step] for step in own)
                yield self._event(EventKind.SPIKES, SPEED, own, others, at, period=period)
                return
        if upper:
            others = fmean(value for step, value in time_of.items() if step not in set(upper))
            at = fmean(time_of[step] for step in upper)
            yield self._event(EventKind.TWO_LEVELS, SPEED, upper, others, at)

"""The levels of one health metric on one side: those of its runs, combined (``sql/compare/health_level.sql``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from rlcompare.compare.records import HealthLevel
from rlcompare.model.diff import Symptom
from rlcompare.model.digits import grouped
from rlcompare.model.words import RuleSeverity

WINDOW = 5
"""Steps of a window, as in ``sql/compare/watched.sql``."""

CERTAIN = 3.0
"""A change must exceed so many of its standard errors."""


class Spell(NamedTuple):
    """The steps in which a metric of one run is beyond a limit.

    Attributes:
        since: the first of them.
        until: the last of them; None: it lasts to the end of the log.
        steps: how many they are.
    """

    since: int
    until: int | None
    steps: int

    @property
    def text(self) -> str:
        if self.until is None:
            return f"since step {self.since}"
        if self.until == self.since:
            return f"in step {self.since}"
        if self.steps == self.until - self.since + 1:
            return f"from step {self.since} to {self.until}"
        return f"in {self.steps} steps from {self.since} to {self.until}"


class Level(NamedTuple):
    """Means over the runs of a side for usual levels; the worst run for extremes."""

    name: str
    what: str
    runs: tuple[HealthLevel, ...]

    def mean(self, value: Callable[[HealthLevel], float | None]) -> float | None:
        """The mean over the runs that know it."""
        known = self._known(value)
        return math.fsum(known) / len(known) if known else None

    def _known(self, value: Callable[[HealthLevel], float | None]) -> list[float]:
        return [found for run in self.runs if (found := value(run)) is not None]

    def _extreme(
        self, pick: Callable[[Iterable[tuple[float, int]]], tuple[float, int]], value: str, step: str
    ) -> tuple[float | None, int | None]:
        known = [(getattr(run, value), getattr(run, step)) for run in self.runs if getattr(run, value) is not None]
        return pick(known) if known else (None, None)

    @property
    def given(self) -> str:
        """Its name as a run logs it."""
        return self.runs[0].given

    @property
    def steps(self) -> int:
        """The number of steps with a value, of the shortest run that has any."""
        return min((run.steps for run in self.runs if run.steps), default=0)

    @property
    def start(self) -> float | None:
        return self.mean(lambda run: run.start)

    @property
    def median(self) -> float | None:
        return self.mean(lambda run: run.median)

    @property
    def finish(self) -> float | None:
        return self.mean(lambda run: run.finish)

    @property
    def shared_finish(self) -> float | None:
        return self.mean(lambda run: run.shared_finish)

    @property
    def finishes(self) -> list[float]:
        """One value per run."""
        return self._known(lambda run: run.finish)

    @property
    def low(self) -> tuple[float | None, int | None]:
        """The smallest mean of five steps, and the first of them."""
        return self._extreme(min, "low", "low_step")

    @property
    def high(self) -> tuple[float | None, int | None]:
        return self._extreme(max, "high", "high_step")

    @property
    def high_middle(self) -> tuple[float | None, int | None]:
        """The largest median of five steps, and the first of them."""
        return self._extreme(max, "high_middle", "high_middle_step")

    @property
    def peak(self) -> tuple[float | None, int | None]:
        """The largest single value, and its step."""
        return self._extreme(max, "peak", "peak_step")

    @property
    def shared_low(self) -> tuple[float | None, int | None]:
        """The smallest mean of five steps that both sides have; without such steps, of all."""
        shared = self._extreme(min, "shared_low", "shared_low_step")
        return self.low if shared[0] is None else shared

    @property
    def shared_high(self) -> tuple[float | None, int | None]:
        """The largest mean of five steps that both sides have; without such steps, of all."""
        shared = self._extreme(max, "shared_high", "shared_high_step")
        return self.high if shared[0] is None else shared

    @property
    def tenth(self) -> int:
        """The number of steps behind ``start`` and ``finish``."""
        return max(self.steps // 10, min(3, (self.steps + 1) // 2))

    @property
    def spread(self) -> float:
        """The standard deviation between steps; 0 if there is only one."""
        return max(self._known(lambda run: run.spread), default=0.0)

    @property
    def jitter(self) -> float:
        """The same, from the differences of successive steps: a lasting change does not widen it."""
        return max(self._known(lambda run: run.jitter), default=0.0)

    def spell(self, kind: Literal["low", "high", "risen"]) -> Spell | None:
        """The steps in which the run is beyond a limit that is so first."""
        known = [
            (getattr(run, f"{kind}_since"), getattr(run, f"{kind}_until"), getattr(run, f"{kind}_steps"))
            for run in self.runs
            if getattr(run, f"{kind}_since") is not None
        ]
        return Spell(*min(known, key=lambda one: (one[0], -one[2]))) if known else None

    def first(self, step: Callable[[HealthLevel], int | None]) -> int | None:
        """The earliest of the steps of its runs."""
        return min((found for run in self.runs if (found := step(run)) is not None), default=None)


class Pair(NamedTuple):
    """A metric of the new side, and the same of the baseline if it was measured there and means the same.

    Attributes:
        rounded: whether a log of the new side has three decimals.
        other_scores: whether data, reward or algorithm are known to differ: levels of scores and gradients do, too.
    """

    new: Level
    baseline: Level | None
    rounded: bool = False
    other_scores: bool = False

    @property
    def noise(self) -> float:
        """What the steps of a side vary by. A lasting fall on the new side is not noise."""
        return max(self.baseline.spread if self.baseline else 0.0, self.new.jitter)

    @property
    def window_noise(self) -> float:
        """What chance changes the mean of five steps by, at most."""
        return CERTAIN * self.noise / math.sqrt(min(WINDOW, max(self.new.steps, 1)))

    def symptom(
        self, key: str, severity: RuleSeverity, baseline: float | None, new: float | None, since: int | None, text: str
    ) -> Symptom:
        """A symptom of the new side."""
        return Symptom(key, self.new.name, "new", severity, baseline, new, since, text)


def show(value: float | None) -> str:
    """A value in a sentence."""
    return "unknown" if value is None else grouped(value) if abs(value) >= 1000 else f"{value:.3g}"


def levels_of(rows: Sequence[HealthLevel]) -> dict[str, Level]:
    """The levels of one side by metric."""
    by_name: dict[str, list[HealthLevel]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    return {name: Level(name, found[0].what, tuple(found)) for name, found in by_name.items()}

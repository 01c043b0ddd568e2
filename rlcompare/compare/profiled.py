"""Findings about the steps that ran under the profiler, beside those that training timed without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rlcompare.compare.evidence import RUN_NOISE, faster_side, in_ms
from rlcompare.compare.findings import finding_of, where
from rlcompare.compare.inputs import SideInput
from rlcompare.compare.overall import SPEED
from rlcompare.compare.phrases import moved, ms
from rlcompare.compare.records import MetricSample, ProfiledTimer
from rlcompare.model.diff import Delta, Finding
from rlcompare.model.digits import grouped
from rlcompare.model.words import Severity, SideName

SLOWED = 1.5
"""A profiled step that takes this many times as long as a plain one does not show how long a part of it takes."""


def slow_profiles(
    speed: Sequence[MetricSample], timed: Sequence[ProfiledTimer], given: Mapping[SideName, SideInput]
) -> Iterator[Finding]:
    """A caution for each run whose profiled steps take far longer than its plain ones, by training's own timer.

    Args:
        speed: ``timing_s/step`` of each run, in s.
        timed: the timers of profiled steps.
    """
    profiled = {(timer.side, timer.run): timer.ns / 1e6 for timer in timed if timer.phase is None}
    for sample in speed:
        slow, plain = profiled.get((sample.side, sample.run)), (sample.value or 0.0) * 1e3
        if slow is not None and sample.grade == 0 and slow > SLOWED * plain > 0:
            text = (
                f"a profiled step takes {grouped(slow / plain, 1)} times as long as a plain one ({ms(slow)} and"
                f" {ms(plain)}): the profile shows where time goes, and not how much."
            )
            yield finding_of("slow_profile", sample.side, Severity.CAUTION, where(sample, given) + text)


def opposite_profiles(
    headline: Delta | None, profile: Delta | None, metrics: Sequence[MetricSample]
) -> Iterator[Finding]:
    """A caution if the profiled steps changed in the other direction than the plain ones that training timed.

    Both must have changed by more than two runs of one setting differ.

    Args:
        headline: the time by which the step is judged.
        profile: the time of the profiled step.
        metrics: what training logged. Nothing is found if the time of a run is not that of its plain steps.
    """
    headline = in_ms(headline)
    if headline is None or profile is None or headline.metric != SPEED:
        return
    if any(sample.grade for sample in metrics if sample.name == SPEED):
        return
    changes = [_more_than_noise(time) for time in (headline, profile)]
    if changes[0] * changes[1] < 0:
        text = (
            f"{profile.metric} of the profiled steps {moved(changes[1])}, although {SPEED} of the plain ones"
            f" {moved(changes[0])}: the profile does not show this change."
        )
        yield Finding("opposite_profile", None, None, Severity.CAUTION, text)


def _more_than_noise(time: Delta) -> float:
    """The change of a time in ms; 0 if runs of one setting may differ by it."""
    change = time.delta or 0.0
    return change if abs(change) > RUN_NOISE * faster_side(time) else 0.0

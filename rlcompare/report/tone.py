"""Decides whether a change is shown as worse, better, or too small to matter.

This only affects colours in reports. Verdicts are up to the gate.
"""

from __future__ import annotations

from collections.abc import Sequence

from rlcompare.compare.overall import PATH, PERIOD
from rlcompare.compare.replicates import of_repetitions
from rlcompare.language import tr
from rlcompare.model.diff import RUNS_OVERLAP, Delta, Diff
from rlcompare.model.words import Comparable, Polarity, RuleSeverity
from rlcompare.report.quantity import share

NOISE_RELATIVE = 0.01
"""Relative changes below this are shown in grey."""

NOISE_OF_HEADLINE = 0.001
"""Changes of a time below this fraction of the headline's baseline are shown in grey, whatever their ratio."""

PROFILED_RANKS = ("time.step", PERIOD, "time.device_span")
"""Times of a profiled step of one rank; the first that is known counts."""

PROFILED_STEPS = (PATH, *PROFILED_RANKS)
"""Times of a profiled step, first those of the whole job."""

_MS = {"ms": 1.0, "s": 1e3}


def floor_of(headline: Delta | None) -> float:
    """The noise floor of times, in ms: smaller changes get no colour. 0 if the headline is not a time."""
    if headline is None or headline.unit not in _MS or headline.baseline is None:
        return 0.0
    return abs(headline.baseline) * NOISE_OF_HEADLINE * _MS[headline.unit]


def floor_in(unit: object, floor: float) -> float:
    """Noise floor in the unit of the change; 0 for metrics that are not times."""
    return floor / _MS[unit] if isinstance(unit, str) and unit in _MS else 0.0


def tone_of(headline: Delta, diff: Diff) -> str:
    """The tone of the headline: neither better nor worse if the sides must not be compared, or if chance alone may
    explain the change. Not better if training is not stable on the new side.
    """
    floor = floor_in(headline.unit, floor_of(headline))
    mood = tone(headline.delta, headline.ratio, headline.polarity, floor, headline.baseline)
    barred = diff.comparability.status == Comparable.NOT_COMPARABLE
    if mood not in ("better", "worse"):
        return mood
    if not barred and overlaps(headline, diff):
        return "noise"
    return "caution" if barred or (mood == "better" and diff.unstable) else mood


def overlaps(headline: Delta, diff: Diff) -> bool:
    """Whether the runs of both sides overlap, as far as they count."""
    runs = of_repetitions(diff).metric(headline.metric) or headline
    return bool(runs.evidence.get(RUNS_OVERLAP))


def word_of(headline: Delta, diff: Diff) -> str:
    """The tone of the headline in a word or two; empty if there is nothing to say."""
    mood = tone_of(headline, diff)
    if mood == "noise":
        return tr("runs overlap") if overlaps(headline, diff) else tr("within {part}", part=share(NOISE_RELATIVE))
    if mood == "caution":
        barred = diff.comparability.status == Comparable.NOT_COMPARABLE
        failed = any(found.side == "new" and found.severity == RuleSeverity.ERROR for found in diff.symptoms)
        return tr("not comparable") if barred else tr("UNSTABLE") if failed else tr("see stability")
    return {"worse": tr("WORSE"), "better": tr("better")}.get(mood, "")


def profile_disagrees(diff: Diff) -> bool:
    """Whether the profiled steps changed in the other direction than the headline, which training timed.

    Then no time of the profile is shown as better or worse: what the profile saw is not what the headline measured.
    """
    headline = diff.metric(diff.headline)
    step = next((found for name in PROFILED_STEPS if (found := diff.metric(name)) and found.delta is not None), None)
    if headline is None or step is None or diff.headline in PROFILED_STEPS:
        return False
    moods = (tone_of(headline, diff), tone(step.delta, step.ratio, step.polarity, 0.0, step.baseline))
    return set(moods) == {"better", "worse"}


def phases_apart(diff: Diff) -> frozenset[str]:
    """The phases of which the profile says that they are better or worse, and training's timer does not.

    The parts of such a phase are not shown as better or worse: the profiled step is another one than those timed.
    """
    headline = diff.metric(diff.headline)
    if headline is None or diff.headline in PROFILED_STEPS:
        return frozenset()
    floor = floor_of(headline)
    parts: dict[str, list[Delta]] = {}
    timers: dict[str, Delta] = {}
    for delta in diff.overall:
        name, part = phase_of(delta.metric)
        if part == "wall":
            timers[name] = delta
        elif name and delta.delta is not None:
            parts.setdefault(name, []).append(delta)
    return frozenset(name for name, timer in timers.items() if not _moved_alike(timer, parts.get(name, []), floor))


def phase_of(metric: str) -> tuple[str, str]:
    """The phase and the part of a metric such as ``phase.update_actor.compute``; two empty texts for others."""
    if not metric.startswith("phase."):
        return "", ""
    name, _, part = metric.removeprefix("phase.").rpartition(".")
    return name, part


def _moved_alike(timer: Delta, parts: Sequence[Delta], floor: float) -> bool:
    baseline = sum(part.baseline or 0.0 for part in parts)
    change = sum(part.delta or 0.0 for part in parts)
    profiled = tone(change, 1 + change / baseline if baseline > 0 else None, Polarity.LOWER, floor, baseline)
    if profiled not in ("better", "worse") or timer.delta is None:
        return True
    return tone(timer.delta, timer.ratio, Polarity.LOWER, floor, timer.baseline) == profiled


def tone(delta: float | None, ratio: float | None, polarity: str, floor: float, baseline: float | None = None) -> str:
    """``worse``, ``better``, ``noise``, or empty if nothing changed for better or worse.

    Args:
        polarity: ``lower`` or ``higher`` is better, or ``neutral``.
        floor: absolute changes below it are noise, in the unit of ``delta``.
        baseline: reference for the size of a change if there is no ratio because the baseline is negative.
    """
    if delta is None:
        return ""
    small = abs(delta) < NOISE_RELATIVE * abs(baseline or 0.0) if ratio is None else abs(ratio - 1) < NOISE_RELATIVE
    if delta == 0 or abs(delta) < floor or small:
        return "noise"
    if polarity == Polarity.NEUTRAL:
        return ""
    return "worse" if (delta > 0) == (polarity == Polarity.LOWER) else "better"

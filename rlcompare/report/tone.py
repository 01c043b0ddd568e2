"""When a change is shown as worse, as better, or as too small to speak of.

This colours reports only; verdicts are the gate's.
"""

from __future__ import annotations

from rlcompare.model.diff import RUNS_OVERLAP, Delta, Diff

NOISE_RELATIVE = 0.01
"""Relative changes below this are shown in grey."""

NOISE_OF_HEADLINE = 0.001
"""Changes of a time below this part of the headline's baseline are shown in grey, whatever their ratio."""


def floor_of(headline: Delta | None) -> float:
    """The smallest change of a time that is worth colour, in ms; 0 where there is no headline in ms."""
    if headline is None or headline.unit != "ms" or headline.baseline is None:
        return 0.0
    return abs(headline.baseline) * NOISE_OF_HEADLINE


def tone_of(headline: Delta, diff: Diff) -> str:
    """The tone of the headline itself; nothing is better or worse where the sides must not be compared, or luck may be
    all that differs.
    """
    mood = tone(headline.delta, headline.ratio, headline.polarity, floor_of(headline))
    barred = diff.comparability.status == "not_comparable"
    if mood not in ("better", "worse"):
        return mood
    return "caution" if barred else "noise" if headline.evidence.get(RUNS_OVERLAP) else mood


def tone(delta: float | None, ratio: float | None, polarity: str, floor: float) -> str:
    """``worse``, ``better``, ``noise``, or none where nothing changed for better or worse.

    Args:
        polarity: ``lower`` or ``higher`` is better, or ``neutral``.
        floor: absolute changes below it are noise, in the unit of ``delta``.
    """
    if delta is None:
        return ""
    if delta == 0 or abs(delta) < floor or (ratio is not None and abs(ratio - 1) < NOISE_RELATIVE):
        return "noise"
    if polarity == "neutral":
        return ""
    return "worse" if (delta > 0) == (polarity == "lower") else "better"

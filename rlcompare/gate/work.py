"""Changes of a time per token: a step with more tokens is not slower (docs/design.md §8)."""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare.compare.names import TOKEN_RATE
from rlcompare.compare.overall import SPEED
from rlcompare.compare.training import GENERATION, RESPONSE, TOTAL
from rlcompare.model.diff import Delta, Diff
from rlcompare.model.words import Polarity

MATTERS = 0.01
"""Workloads that differ by less than this fraction count as equal."""

_LARGEST = 1e6
"""Ratios above this come from a near-zero baseline and are not shown."""

_OF_RESPONSES = (*(f"phase.{name}." for name in GENERATION), "timing_s/gen")
"""Prefixes of times that depend on response tokens, not on prompt tokens."""


@dataclass(frozen=True)
class PerToken:
    """A time for each token.

    Attributes:
        growth: tokens of the new side as a multiple of the baseline's.
        factor: new time per token as a multiple of the old.
        text: the change per token, for the verdict.
    """

    growth: float
    factor: float
    text: str


def per_token(delta: Delta, diff: Diff) -> PerToken | None:
    """The change of a time per token; None if the work is the same or unknown, or if the metric is not a time."""
    if delta.unit not in ("ms", "s") or delta.polarity != Polarity.LOWER or delta.ratio is None:
        return None
    of_responses = delta.metric.startswith(_OF_RESPONSES) and growth(diff, RESPONSE) is not None
    grown = growth(diff, RESPONSE if of_responses else TOTAL)
    if grown is None or abs(grown - 1) < MATTERS:
        return None
    measured = diff.metric(TOKEN_RATE) if delta.metric == SPEED else None
    factor = delta.ratio / grown if measured is None or measured.ratio is None else measured.ratio
    if not abs(factor) < _LARGEST:
        return None
    word = "response token" if of_responses else "token"
    return PerToken(grown, factor, f"per {word} {round((factor - 1) * 100, 1) + 0.0:+,.1f} %")


def growth(diff: Diff, metric: str) -> float | None:
    """The tokens of the new side as a multiple of the baseline's."""
    tokens = diff.metric(metric)
    return tokens.ratio if tokens and tokens.ratio and tokens.ratio < _LARGEST else None


def work_text(diff: Diff) -> str:
    """One sentence on how the work differs; empty if it does not."""
    grown = growth(diff, TOTAL)
    if grown is None or abs(grown - 1) < MATTERS:
        return ""
    return f"The workload differs ({TOTAL} {(grown - 1) * 100:+,.1f} %): compare times per token."

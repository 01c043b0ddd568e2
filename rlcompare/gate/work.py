"""Changes of a time at equal work: a step with more tokens is not slower (docs/design.md §8).

Where the steps of the log separate the part of a time that grows with the work from the part that does not
(``model.diff.OF_WORK``), the former is taken out. Else the time counts per token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

from rlcompare.compare.names import TOKEN_RATE
from rlcompare.compare.overall import SPEED, mean
from rlcompare.compare.rows import ratio
from rlcompare.compare.training import (
    GENERATION,
    PROMPT_LENGTH,
    RESPONSE,
    RESPONSE_LENGTH,
    TOTAL,
    is_beside_tokens,
    response_tokens,
)
from rlcompare.model.diff import OF_WORK, Delta, Diff, Samples
from rlcompare.model.digits import grouped
from rlcompare.model.words import SIDES, Polarity, SideName

MATTERS = 0.01
"""Workloads that differ by less than this fraction count as equal."""

_LARGEST = 1e6
"""Ratios above this come from a near-zero baseline and are not shown."""

_OF_RESPONSES = (*(f"phase.{name}." for name in GENERATION), "timing_s/gen")
"""Prefixes of times that depend on response tokens, not on prompt tokens."""

_OF_PROFILE = ("memory.", "role.", "time.")
"""Prefixes of what is measured in profiled steps."""


@dataclass(frozen=True)
class EqualWork:
    """A time as it would be if both sides had done the work of the baseline.

    Attributes:
        samples: one value per run, by side; None where a run has none.
        growth: the work of the new side as a multiple of the baseline's.
        known: whether the log shows which part of the time follows the work. Else the samples are times per token, and
            the change at equal work lies between theirs and that of the plain times.
        text: what was judged, for the verdict.
        note: how the work differs.
    """

    samples: Samples
    growth: float
    known: bool
    text: str
    note: str


def at_equal_work(delta: Delta, diff: Diff) -> EqualWork | None:
    """A time at equal work; None if the work is the same or unknown, or if the metric is not a time."""
    if delta.unit not in ("ms", "s") or delta.polarity != Polarity.LOWER or delta.ratio is None or not delta.new:
        return None
    if is_beside_tokens(delta.metric) or _is_of_other_steps(delta.metric, diff):
        return None
    responses = _response_tokens(diff) if delta.metric.startswith(_OF_RESPONSES) else None
    of_responses = _growth(responses) is not None
    tokens = responses if of_responses else diff.metric(TOTAL)
    grown = _growth(tokens)
    if tokens is None or grown is None or abs(grown - 1) < MATTERS or not 1 / _LARGEST < grown < _LARGEST:
        return None
    by_log = delta.evidence.get(OF_WORK)
    if isinstance(by_log, float) and by_log < delta.new:
        left = (delta.new - by_log) / delta.new
        samples: Samples = {
            "baseline": delta.samples.get("baseline", ()),
            "new": tuple(None if value is None else value * left for value in delta.samples.get("new", ())),
        }
        return EqualWork(samples, grown, True, "at equal work", f"{tokens.metric} {_percent(grown)}")
    rate = diff.metric(TOKEN_RATE) if delta.metric == SPEED else None
    if rate and None in (rate.baseline, rate.new):  # only one side logged it
        rate = None
    samples = {side: _at_rate(rate, tokens, side) or _per_token(delta, tokens, side) for side in SIDES}
    word = "response token" if of_responses else "token"
    return EqualWork(samples, grown, False, f"per {word}", f"{tokens.metric} {_percent(grown)}")


def _is_of_other_steps(metric: str, diff: Diff) -> bool:
    """Whether a time is that of profiled steps, while training timed others: the tokens are those of the latter."""
    if not any(delta.metric.startswith("timing_s/") for delta in diff.overall):
        return False
    if any(finding.key == "no_plain_step" for finding in diff.quality):  # training timed the profiled steps
        return False
    return is_of_profile(metric)


def is_of_profile(metric: str) -> bool:
    """Whether a metric is measured in profiled steps."""
    return metric.startswith(_OF_PROFILE) or (metric.startswith("phase.") and not metric.endswith(".wall"))


def _at_rate(rate: Delta | None, tokens: Delta, side: SideName) -> tuple[float | None, ...]:
    """The step of each run for the tokens of the baseline, in s, at the rate that the diff shows; empty: unknown."""
    values = rate.samples.get(side, ()) if rate else ()
    return tuple(None if value is None else value * (tokens.baseline or 0.0) / 1e3 for value in values)


def _per_token(delta: Delta, tokens: Delta, side: SideName) -> tuple[float | None, ...]:
    """The time of each run for the tokens of the baseline. A run without a number of tokens has that of its side."""
    found, values = tokens.samples.get(side, ()), delta.samples.get(side, ())
    counts: Sequence[float | None] = found if len(found) == len(values) else [None] * len(values)
    return tuple(
        None if value is None else value * (tokens.baseline or 0.0) / (count or tokens.value(side) or 1.0)
        for value, count in zip(values, counts, strict=True)
    )


def _response_tokens(diff: Diff) -> Delta | None:
    """The tokens of responses, for which generation takes its time; derived where training does not count them."""
    parts = [diff.metric(name) for name in (TOTAL, RESPONSE_LENGTH, PROMPT_LENGTH)]
    known = [part for part in parts if part is not None and part.ratio is not None]
    if (counted := diff.metric(RESPONSE)) is not None or len(known) < len(parts):
        return counted
    samples: Samples = {
        side: tuple(response_tokens(*run) for run in zip(*(part.samples.get(side, ()) for part in known), strict=False))
        for side in SIDES
    }
    before, after = (mean(samples[side]) for side in SIDES)
    return replace(
        known[0], metric="response tokens", baseline=before, new=after, ratio=ratio(before, after), samples=samples
    )


def _growth(tokens: Delta | None) -> float | None:
    """The tokens of the new side as a multiple of the baseline's."""
    return tokens.ratio if tokens and tokens.ratio and isfinite(tokens.ratio) and tokens.ratio < _LARGEST else None


def work_text(diff: Diff) -> str:
    """One sentence on how the work differs; empty if it does not."""
    grown = _growth(diff.metric(TOTAL))
    if grown is None or abs(grown - 1) < MATTERS:
        return ""
    return f"The workload differs ({TOTAL} {_percent(grown)}): times are judged at equal work."


def _percent(factor: float) -> str:
    return f"{grouped(round((factor - 1) * 100, 1) + 0.0, 1, '+')} %"

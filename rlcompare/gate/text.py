"""Texts of a verdict: the expected limits, the change found, and all values."""

from __future__ import annotations

import math

from rlcompare.compare.runs import known
from rlcompare.gate.decision import MOST_RUNS, Decision
from rlcompare.model.diff import Delta
from rlcompare.model.digits import LARGE, grouped
from rlcompare.model.size import in_binary_unit
from rlcompare.model.verdict import Rule
from rlcompare.model.words import SIDES, Polarity

_LARGEST_PART = 100
"""Larger relative changes come from a near-zero baseline; the absolute change is shown instead."""


def expected(rule: Rule, delta: Delta) -> str:
    """The limits of a rule."""
    sign = {Polarity.LOWER: "+", Polarity.HIGHER: "-", Polarity.NEUTRAL: "±"}[delta.polarity]
    limits = []
    if rule.max_relative is not None:
        part = rule.max_relative * 100
        limits.append(f"{sign}{part:.1f} %" if math.isclose(part, round(part, 1)) else f"{sign}{part:.6g} %")
    if rule.max_absolute is not None:
        own = f"{number(rule.max_absolute)} {rule.absolute_unit}"
        limits.append(f"{sign}{own if rule.absolute_unit else quantity(rule.max_absolute, delta.unit)}")
    larger = "the larger of " if len(limits) > 1 else ""  # the rule fails only if both are exceeded
    parts = [f"at most {larger}{' and '.join(limits)}"] if limits else []
    if rule.min_value is not None:
        parts.append(f"at least {quantity(rule.min_value, delta.unit)}")
    if rule.max_value is not None:
        parts.append(f"no more than {quantity(rule.max_value, delta.unit)}")
    return " and ".join(parts)


def change(delta: Delta, limit: float | None = None) -> str:
    """The change relative to the baseline; in the metric's unit where the baseline is near zero."""
    if delta.ratio is not None and abs(delta.ratio - 1) <= _LARGEST_PART:
        return percent(delta.ratio - 1, limit)
    if delta.delta is None or not math.isfinite(delta.delta):
        return "no known change" if delta.delta is None else "a change that is not finite"
    return f"{'+' if delta.delta >= 0 else ''}{quantity(delta.delta, delta.unit)}"


def estimated(decision: Decision, delta: Delta, limit: float | None = None) -> str:
    """The change as the runs show it."""
    if decision.relative:
        return percent(decision.interval.change, limit)
    return _shift(decision.interval.change, delta, relative=False)


def interval(decision: Decision, delta: Delta) -> str:
    """The interval of a change, and on what it rests."""
    found = decision.interval
    nothing = -1.0 if decision.relative else -math.inf  # the lowest change that there is
    bounded = found.low > nothing, math.isfinite(found.high)
    if not any(bounded):
        return ""
    low, high = (_shift(end, delta, relative=decision.relative) for end in (found.low, found.high))
    between = f"{low.removesuffix(' %')} … {high}" if decision.relative else f"{low} … {high}"
    if not all(bounded):
        between = f"up to {high}" if bounded[1] else f"from {low}"
    spread = decision.spread
    if spread is None or (found.low_measured and found.high_measured):
        return f"interval {between}"
    return f"interval {between} if runs differ by {spread.value * 100:.2g} %, {spread.source}"


def runs_needed(decision: Decision) -> str:
    """How many runs would decide."""
    if decision.runs_needed is None:
        return f"even {MOST_RUNS} runs per side would hardly decide"
    return f"about {decision.runs_needed} runs per side would decide"


def percent(change: float, limit: float | None = None) -> str:
    """A relative change with its sign; a large one as a factor.

    Args:
        limit: what it is compared with: beyond it or not, it does not look like it.
    """
    if change <= _LARGEST_PART:
        shown, other = change * 100, (limit or 0.0) * 100
        apart = (digits for digits in range(1, 5) if round(abs(shown), digits) != round(other, digits))
        digits = 1 if limit is None else next(apart, 1)
        return f"{round(shown, digits) + 0.0:+,.{digits}f} %"
    return f"× {number(change + 1)}" if math.isfinite(change) else "any"


def _shift(value: float, delta: Delta, *, relative: bool) -> str:
    """A change with its sign: as a percentage, or in the metric's unit."""
    if relative:
        return percent(value)
    return f"{'+' if value >= 0 else ''}{quantity(value, delta.unit)}" if math.isfinite(value) else "any"


def values(delta: Delta, note: str = "", absent: str = "not measured") -> str:
    """Both values, and those of all runs where there are several; and a note."""
    pair = " → ".join(_each(_finite(delta.baseline, delta.new), delta.unit, absent)) + (f"; {note}" if note else "")
    runs = [known(delta.samples.get(side, ())) for side in SIDES]
    if max(map(len, runs)) < 2:
        return f" ({pair})"
    unit = "bytes" if delta.unit == "bytes" else ""  # two times share one unit, after both values
    shown = " against ".join(", ".join(quantity(run, unit) for run in side) or "none" for side in runs)
    return f" ({pair}; runs {shown})"


def missing_part(delta: Delta) -> str:
    """Why a relative limit is not usable: the baseline is 0, or smaller than the spread of its own runs."""
    runs = known(delta.samples.get("baseline", ()))
    apart = max(runs) - min(runs) if runs else 0.0
    reason = (
        f"its runs differ by {quantity(apart, delta.unit)}, more than the baseline itself"
        if apart
        else "the baseline is 0"
    )
    example = {"ms": ' = "1ms"', "s": ' = "1ms"', "bytes": ' = "64MiB"'}.get(delta.unit, "")
    return f"a relative limit is not usable here, because {reason}: add an absolute one (max_increase_abs{example})"


def quantity(value: float, unit: str) -> str:
    """A value with its unit; sizes as the diff shows them."""
    if unit == "bytes":
        return _size(value)
    return f"{number(value)} {unit}" if unit in ("ms", "s") else number(value)


def number(value: float) -> str:
    """A number without a unit."""
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < LARGE else f"{value:,.6g}"


def _finite(*found: float | None) -> list[float | None]:
    return [None if value is None or not math.isfinite(value) else value for value in found]


def _each(pair: list[float | None], unit: str, absent: str = "not measured") -> list[str]:
    """Values with their units; two times share one."""
    if None not in pair and unit != "bytes":
        return [number(pair[0] or 0.0), quantity(pair[1] or 0.0, unit)]
    return [absent if value is None else quantity(value, unit) for value in pair]


def _size(value: float) -> str:
    size, unit = in_binary_unit(value)
    return f"{number(size) if unit == 'B' else grouped(size, 2)} {unit}"

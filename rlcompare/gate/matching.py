"""Which metrics of a diff a rule judges; where there is none, why, and whether its name is likely a typing error."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from rlcompare.compare.aggregates import MEASURES, aggregated, is_measure
from rlcompare.compare.names import is_workload
from rlcompare.compare.overall import SPEED, headlines
from rlcompare.gate import units
from rlcompare.gate.health import is_health_rule
from rlcompare.gate.new_phase import is_measured, with_new_phase
from rlcompare.gate.vocabulary import RANKS, is_known, measures_of, mistyped_for
from rlcompare.model.diff import METRICS_LEFT_OUT, Delta, Diff
from rlcompare.model.verdict import HEADLINE, Rule
from rlcompare.model.words import SIDES, Polarity, RuleSeverity


@dataclass(frozen=True)
class Match:
    """What a rule is about in a diff.

    Attributes:
        name: its metric or glob, with the headline's own name.
        deltas: the metrics to judge.
        problem: why there is none; empty if there are some, or if others judge them all.
        mistyped: whether the name is likely a typing error, or of a metric that diff.json leaves out: an optional rule
            excuses neither.
        left: whether there are some, but other rules judge them all, or turn them off.
    """

    name: str
    deltas: tuple[Delta, ...] = ()
    problem: str = ""
    mistyped: bool = False
    left: bool = False


def matched(rule: Rule, diff: Diff, rules: Sequence[Rule]) -> Match:
    """The metrics that a rule judges.

    Args:
        rules: all of the policy. Exceptions judge their metrics alone, and rules may turn metrics off.
    """
    name = _resolved(rule.metric, diff)
    found = _found(rule, name, diff)
    own = tuple(delta for delta in found if not _is_excepted(rule, delta.metric, diff))
    for other in rules if own and not rule.expires else ():
        taken = _taken(other, own, diff)
        own = tuple(delta for delta in own if delta.metric not in taken)
    if own:
        return Match(name, own)
    if found or _is_excepted(rule, name, diff):
        return Match(name, left=True)
    return _nothing(rule, name, diff)


def _found(rule: Rule, name: str, diff: Diff) -> list[Delta]:
    """The metrics that a rule could judge."""
    found = [delta for delta in diff.overall if _applies(rule, name, delta)]
    if not found and "@" in name:
        found = [delta for delta in aggregated(diff, name) if _applies(rule, name, delta)]
    return [with_new_phase(delta, diff) for delta in found]


def _is_excepted(rule: Rule, metric: str, diff: Diff) -> bool:
    return any(fnmatchcase(metric, _resolved(other, diff)) for other in rule.except_for)


def _taken(other: Rule, deltas: Sequence[Delta], diff: Diff) -> set[str]:
    """The metrics that a rule takes from all others: it turns them off, or is an exception that judges them."""
    name = _resolved(other.metric, diff)
    if is_health_rule(other):
        return set()
    if other.has_limit:
        found = [delta for delta in _found(other, name, diff) if judged_of(other, delta)] if other.expires else []
    else:  # nothing but the metric itself can be turned off
        found = [delta for delta in deltas if other.severity == RuleSeverity.OFF and _is_named(name, delta.metric)]
    return {delta.metric for delta in found if not _is_excepted(other, delta.metric, diff)}


def judged_of(rule: Rule, delta: Delta) -> Rule | None:
    """What a rule judges of a metric; None: nothing, so that it is skipped.

    An optional rule skips a change without a baseline, but not ``min`` and ``max``. Of the headline it skips nothing
    but another unit: every new side would pass otherwise.
    """
    if not rule.optional:
        return rule
    if is_of_headline(rule):
        return rule if units.fits(rule.absolute_unit, delta.unit) else None
    limits_change = rule.max_relative is not None or rule.max_absolute is not None
    if not limits_change or is_measured(delta.baseline):
        return rule
    of_value = replace(rule, max_relative=None, max_absolute=None, absolute_unit="")
    return of_value if of_value.has_limit else None


def is_of_headline(rule: Rule) -> bool:
    """Whether a rule is about the headline, or another measure of it (``headline@p95``)."""
    return rule.metric.partition("@")[0] == HEADLINE


def _resolved(metric: str, diff: Diff) -> str:
    word, at, measure = metric.partition("@")
    return f"{_headline(diff)}{at}{measure}" if word == HEADLINE else metric


def _headline(diff: Diff) -> str:
    """The headline metric of the baseline. A new side without it must not pass by another metric."""
    able = (SPEED, *headlines({delta.metric: delta for delta in diff.overall}))
    for side in SIDES:
        values = ((delta.metric, delta.value(side)) for delta in diff.overall)
        known = {metric for metric, value in values if is_measured(value)}
        found = next((metric for metric in able if metric in known), None)
        if found:
            return found
    return diff.headline


def _applies(rule: Rule, name: str, delta: Delta) -> bool:
    """Whether a rule applies to a metric; globs skip metrics that they cannot judge."""
    if delta.metric == name:
        return True
    if not _is_named(name, delta.metric):
        return False
    has_direction = delta.polarity != Polarity.NEUTRAL or is_workload(delta.metric)
    return has_direction or rule.min_value is not None or rule.max_value is not None


def _is_named(name: str, metric: str) -> bool:
    """Whether a name or glob means a metric; that of a measure needs an @ itself."""
    own_measure = metric.startswith("time.") and "@" in metric  # logged names may have an @: mean@8
    return fnmatchcase(metric, name) and ("@" in name or not own_measure)


def _is_one(measure: str, fitting: tuple[str, ...]) -> bool:
    return measure in fitting or (fitting == MEASURES and is_measure(measure))


def _nothing(rule: Rule, name: str, diff: Diff) -> Match:
    """Why a rule has no metric to judge."""
    base, at, measure = name.rpartition("@")
    measured = [delta.metric for delta in diff.overall]
    of_base = [metric for metric in measured if at and fnmatchcase(metric, base)]
    fitting = measures_of(base)
    if (of_base or (at and is_known(base))) and not is_known(name) and not _is_one(measure, fitting):
        choice = f"choose from {', '.join(fitting)}" if fitting else "it has none"
        problem = f"expected a value, but {of_base[0] if of_base else base} has no measure {measure}: {choice}"
        # What the headline is, and so which measures it has, depends on the data.
        return Match(name, problem=problem, mistyped=not is_of_headline(rule))
    if of_base and (measure in RANKS or is_measure(measure)):
        needed = "ranks" if measure in RANKS else "steps"
        return Match(name, problem=f"expected a value, found {of_base[0]} but not the {needed} that @{measure} needs")
    absent = "expected a value, found no such metric on either side"
    if others := [metric for metric in measured if fnmatchcase(metric, name)]:
        problem = f"expected a metric of which one direction is better, found only neutral ones, such as {others[0]}"
        return Match(name, problem=f"{problem}: name it, or give min or max")
    plain = base if at and is_measure(measure) else name
    if any(found.key == METRICS_LEFT_OUT for found in diff.quality) and not is_known(plain):
        problem = "expected a value, but diff.json leaves out many metrics, perhaps this one: pass the runs"
        return Match(name, problem=problem, mistyped=True)
    if meant := mistyped_for(plain, measured):
        return Match(name, problem=f"{absent}; did you mean {meant}?", mistyped=True)
    close = difflib.get_close_matches(name, measured, n=3)
    return Match(name, problem=f"{absent}; similar metrics: {', '.join(close)}" if close else absent)

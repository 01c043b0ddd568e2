"""Which rule judges a metric if several could: files that extend others, rules that turn metrics off, exceptions.

An exception is a rule with ``expires``. Until the end of that day it alone judges the metrics that it matches. After
it, the other rules judge them again; where no other rule does, it is an error itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from rlcompare.errors import UsageError
from rlcompare.gate.health import is_health_rule
from rlcompare.gate.policy_reader import FileRule
from rlcompare.model.verdict import HEADLINE, Rule
from rlcompare.model.words import RuleSeverity

SOON = 14
"""So many days before its end an exception is announced."""


def merged(base: Sequence[FileRule], own: Sequence[FileRule]) -> list[FileRule]:
    """The rules of a file after those of the files that it extends.

    A rule replaces those of the same metric, at their place. A rule that names a metric takes it from globs.
    """
    lasting = [one for one in own if not one.rule.expires]
    replaced = {one.rule.metric for one in lasting}
    named = [metric for metric in replaced if not _is_glob(metric)]
    placed: set[str] = set()
    rules: list[FileRule] = []
    for one in base:
        metric = one.rule.metric
        if metric not in replaced:
            taken = [name for name in sorted(named) if fnmatchcase(name, metric)]
            rules.append(_leaving(one, taken))
        elif metric not in placed:
            placed.add(metric)
            rules += [other for other in lasting if other.rule.metric == metric]
    return [*rules, *(one for one in own if one.rule.expires or one.rule.metric not in placed)]


def in_force(rules: Sequence[FileRule], today: date) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules that hold on a day, and what is to be said about exceptions.

    Raises:
        UsageError: when an exception ends, nothing would judge its metrics.
    """
    standing = [one for one in rules if not one.rule.expires]
    exceptions = [one for one in rules if one.rule.expires]
    _check(exceptions, standing)
    active = [one for one in exceptions if _left(one, today) >= 0]
    ended = [one for one in exceptions if _left(one, today) < 0]
    kept = [one for one in ended if not is_health_rule(one.rule) and not _is_judged(one, standing)]
    notes = [_note(one, today, error=one in kept) for one in exceptions if _left(one, today) <= SOON]
    kept = [replace(one, rule=replace(one.rule, severity=RuleSeverity.ERROR, expires="")) for one in kept]
    return tuple(one.rule for one in (*standing, *kept, *active)), tuple(notes)


def _leaving(one: FileRule, metrics: Sequence[str]) -> FileRule:
    own = tuple(dict.fromkeys((*one.rule.except_for, *metrics)))
    return replace(one, rule=replace(one.rule, except_for=own)) if own and not is_health_rule(one.rule) else one


def _check(exceptions: Sequence[FileRule], standing: Sequence[FileRule]) -> None:
    for one in exceptions:
        alone = not any(_may_share(one.rule.metric, other.rule.metric) for other in standing)
        if alone and not one.rule.has_limit and not is_health_rule(one.rule):
            raise UsageError(
                f"{one.where}: nothing judges {one.rule.metric} when this exception ends: give it limits to apply then"
            )


def _left(one: FileRule, today: date) -> int:
    """The days until the exception ends; 0 on its last day."""
    return (date.fromisoformat(one.rule.expires) - today).days


def _is_judged(one: FileRule, standing: Sequence[FileRule]) -> bool:
    """Whether another rule certainly judges all that an exception matches."""
    rules = (other.rule for other in standing)
    return (
        any(
            rule.severity != RuleSeverity.OFF
            and (rule.metric == one.rule.metric or fnmatchcase(one.rule.metric, rule.metric))
            and not any(_may_share(one.rule.metric, other) for other in rule.except_for)
            for rule in rules
        )
        or not one.rule.has_limit
    )


def _note(one: FileRule, today: date, *, error: bool) -> str:
    left, rule = _left(one, today), one.rule
    about = f"{one.where}: the exception for {rule.metric}"
    if left >= 0:
        when = "today" if left == 0 else "tomorrow" if left == 1 else f"in {left} days"
        return f"{about} ends {when}, after {rule.expires} ({rule.reason})"
    then = "its limits now fail the gate" if error else "it no longer applies"
    return f"{about} ended on {rule.expires} ({rule.reason}): {then}; remove it, or set a later date"


def _may_share(one: str, other: str) -> bool:
    """Whether two names or globs may mean the same metric."""
    either = fnmatchcase(one, other) or fnmatchcase(other, one)
    return either or HEADLINE in (one, other) or (_is_glob(one) and _is_glob(other))


def _is_glob(metric: str) -> bool:
    return any(sign in metric for sign in "*?[")

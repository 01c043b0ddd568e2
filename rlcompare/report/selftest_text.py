"""What ``rlcompare gate --selftest`` found, as text and as a JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

from rlcompare.gate.health import is_health_rule
from rlcompare.model.verdict import Policy
from rlcompare.model.words import Status
from rlcompare.report.findings import MESSAGE_LIMIT
from rlcompare.report.output import Line, print_lines
from rlcompare.text import safe_text

if TYPE_CHECKING:
    from rlcompare.gate.selftest import Trial

SCHEMA = "rlcompare.selftest/1"

_WIDTH = 16


def print_selftest(trials: Sequence[Trial], policy: Policy, stream: TextIO) -> None:
    """One line for each limit of each rule, and one that counts them."""
    print_lines(_lines(trials, policy), stream)


def selftest_document(trials: Sequence[Trial], policy: Policy) -> dict[str, Any]:
    """The trials as JSON."""
    return {"schema": SCHEMA, "policy": policy.source, "trials": [asdict(trial) for trial in trials]}


def _lines(trials: Sequence[Trial], policy: Policy) -> Iterator[Line]:
    fine = Counter(trial.rule for trial in trials if is_health_rule(trial.rule) and not trial.problem)
    for rule, signs in fine.items():
        told = f"severity {rule.severity}; fires at each of {signs} signs of unstable training"
        yield _entry("ok", f"{safe_text(rule.metric)}: {told}")
    for trial in trials:
        if trial.rule in fine and not trial.problem:
            continue
        metric = safe_text(trial.metric)
        if trial.problem:
            pattern = "" if trial.rule.metric == trial.metric else f" (rule {safe_text(trial.rule.metric)})"
            limit = f"{trial.limit}: " if trial.limit else ""
            yield _entry("problem", f"{metric}{pattern}: {limit}{safe_text(trial.problem, MESSAGE_LIMIT)}", "worse")
        elif trial.skipped:
            yield _entry("not tried", f"{metric}: {safe_text(trial.skipped, MESSAGE_LIMIT)}", "caution")
        else:
            yield _entry("ok", f"{metric}: {trial.limit}; {_outcomes(trial)}")
    yield _entry("selftest", f"{_summary(trials)} (policy: {safe_text(policy.source)})")


def _outcomes(trial: Trial) -> str:
    if trial.too_small:
        return "too small to fail it"
    of_value = trial.rule.min_value is not None or trial.rule.max_value is not None
    parts = ["equal runs pass"] if trial.equal else []
    if trial.within:
        status = "passes" if trial.within == Status.PASS else f"is {trial.within}"
        parts.append(f"{'a value within it' if of_value else 'half of it'} {status}")
    return ", ".join([*parts, f"fires at {trial.fires_at}"])


def _summary(trials: Sequence[Trial]) -> str:
    useless = sum(bool(trial.problem) for trial in trials)
    tried = sum(not trial.skipped for trial in trials)
    if not tried:
        return "No rule could be tried."
    if useless:
        limits = "limit" if tried == 1 else "limits"
        return f"{useless} of {tried} {limits} cannot fire, or do not hold where they should."
    if tried == 1:
        return "The only limit fires beyond what it allows, and holds within it."
    return f"All {tried} limits fire beyond what they allow, and hold within it."


def _entry(label: str, text: str, tone: str = "") -> Line:
    return Line(f"{label:<{_WIDTH}}{text}", ((0, len(label), tone),) if tone else ())

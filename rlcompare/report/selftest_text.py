"""What ``rlcompare gate --selftest`` found, as text and as a JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

from rlcompare.gate.health import is_health_rule
from rlcompare.language import tr, trn
from rlcompare.model.verdict import Policy
from rlcompare.model.words import Status
from rlcompare.report.findings import MESSAGE_LIMIT
from rlcompare.report.gate_view import severity_word, status_word
from rlcompare.report.output import Line, print_lines
from rlcompare.report.sentences import datum, said
from rlcompare.text import pad, safe_text

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
        signs_of = {"severity": severity_word(rule.severity), "n": signs}
        told = tr("severity {severity}; fires at each of {n} signs of unstable training", **signs_of)
        yield _entry(tr("ok"), f"{safe_text(rule.metric)}: {told}")
    for trial in trials:
        if trial.rule in fine and not trial.problem:
            continue
        metric = safe_text(trial.metric)
        if trial.problem:
            of_rule = tr(" (rule {metric})", metric=safe_text(trial.rule.metric))
            pattern = "" if trial.rule.metric == trial.metric else of_rule
            limit = f"{trial.limit}: " if trial.limit else ""
            problem = safe_text(said(trial.problem), MESSAGE_LIMIT)
            yield _entry(tr("problem"), f"{metric}{pattern}: {limit}{problem}", "worse")
        elif trial.skipped:
            yield _entry(tr("not tried"), f"{metric}: {safe_text(said(trial.skipped), MESSAGE_LIMIT)}", "caution")
        else:
            yield _entry(tr("ok"), f"{metric}: {trial.limit}; {_outcomes(trial)}")
    source = tr("(policy: {policy})", policy=safe_text(datum(policy.source)))
    yield _entry(tr("selftest"), f"{_summary(trials)} {source}")


def _outcomes(trial: Trial) -> str:
    if trial.too_small:
        return tr("too small to fail it")
    of_value = trial.rule.min_value is not None or trial.rule.max_value is not None
    parts = [tr("equal runs pass")] if trial.equal else []
    if trial.within:
        what = tr("a value within it") if of_value else tr("half of it")
        passes = tr("{what} passes", what=what)
        is_else = tr("{what} is {status}", what=what, status=status_word(trial.within))
        parts.append(passes if trial.within == Status.PASS else is_else)
    return tr(", ").join([*parts, tr("fires at {value}", value=trial.fires_at)])


def _summary(trials: Sequence[Trial]) -> str:
    useless = sum(bool(trial.problem) for trial in trials)
    tried = sum(not trial.skipped for trial in trials)
    if not tried:
        return tr("No rule could be tried.")
    if useless:
        return trn(
            "{useless} of {n} limit cannot fire, or does not pass where it should.",
            "{useless} of {n} limits cannot fire, or do not pass where they should.",
            tried,
            useless=useless,
        )
    if tried == 1:
        return tr("The only limit fires when exceeded, and passes when not.")
    return tr("All {n} limits fire when exceeded, and pass when not.", n=tried)


def _entry(label: str, text: str, tone: str = "") -> Line:
    return Line(f"{pad(label, _WIDTH)}{text}", ((0, len(label), tone),) if tone else ())

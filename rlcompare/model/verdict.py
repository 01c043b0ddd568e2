"""Results of a gate: one verdict per rule and metric, and the overall outcome."""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare.model.words import EvidenceMode, OnInconclusive, RuleSeverity, Status

RUNS_NEEDED = 4
"""Runs a side from which a difference can be told from luck: that all of one side lie beyond all of the other although
nothing changed has a chance of 2 in 70 with four against four, and still of 2 in 20 with three against three."""


@dataclass(frozen=True)
class Rule:
    """One line of a policy.

    Attributes:
        metric: a metric id or a glob over ids, such as ``phase.*.wall``.
        max_relative: largest tolerated worsening as a part of the baseline (0.05: five percent); None: no such limit.
        max_absolute: largest tolerated worsening. With both, the rule fails only if both are exceeded.
        absolute_unit: the unit of ``max_absolute``, such as ``ms`` or ``MiB``; empty: the metric's own.
        min_value, max_value: limits on the new value itself.
        message: the team's own words, printed when the rule fails; may be empty.
        optional: skipped, not failed, where there is nothing to judge: no such metric, or for a change no baseline.
            The headline is skipped only where neither side has one.
    """

    metric: str
    max_relative: float | None = None
    max_absolute: float | None = None
    absolute_unit: str = ""
    min_value: float | None = None
    max_value: float | None = None
    severity: RuleSeverity = RuleSeverity.ERROR
    message: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Policy:
    """The rules of one repository (``rlcompare.toml``).

    Attributes:
        source: the file they came from, or ``built-in``.
        evidence: what verdicts rest on; by limits alone they are unverified.
        varied: env keys that were meant to differ.
    """

    source: str
    rules: tuple[Rule, ...]
    evidence: EvidenceMode = EvidenceMode.AUTO
    on_inconclusive: OnInconclusive = OnInconclusive.WARN
    varied: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What came of one rule for one metric.

    ``text`` says what was expected, what was found, and all values.
    """

    rule: Rule
    metric: str
    status: Status
    text: str
    baseline: float | None
    new: float | None
    unit: str
    verified: bool


@dataclass(frozen=True)
class GateResult:
    """All verdicts, and the exit code that they add up to."""

    policy: Policy
    verdicts: tuple[Verdict, ...]
    exit_code: int
    summary: str

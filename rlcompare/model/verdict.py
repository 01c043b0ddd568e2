"""Results of a gate: one verdict per rule and metric, and the overall outcome."""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare.model.words import EvidenceMode, OnInconclusive, RuleSeverity, Status

HEADLINE = "headline"
"""The name of the diff's headline metric in a rule."""

PRESETS = ("default", "strict", "health")
"""The policies that come with rlcompare, as ``rlcompare/gate/presets/<name>.toml``."""


@dataclass(frozen=True)
class Rule:
    """One line of a policy.

    Attributes:
        metric: a metric id or a glob over ids, such as ``phase.*.wall``.
        max_relative: largest tolerated worsening as a fraction of the baseline (0.05: five percent); None: no limit.
        max_absolute: largest tolerated worsening. With both, the rule fails only if both are exceeded.
        absolute_unit: the unit of ``max_absolute``, such as ``ms`` or ``MiB``; empty: the metric's own.
        min_value, max_value: limits on the new value itself.
        message: the team's own words, printed when the rule fails; may be empty.
        optional: skipped instead of failed if there is no value to judge: no such metric, or for a limit on a change no
            baseline. The headline is skipped only if neither side has one.
        noise: how much runs are assumed to differ, as a fraction (one standard deviation); None: as the policy says.
        expires: the last day of an exception, as ``2026-12-31``; empty: the rule is none.
        reason: why there is an exception.
        except_for: metrics, and globs over them, that this rule does not judge: those it names, and those of rules in
            a file that extends this rule's.
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
    noise: float | None = None
    expires: str = ""
    reason: str = ""
    except_for: tuple[str, ...] = ()

    @property
    def has_limit(self) -> bool:
        """Whether it limits a change or a value. Rules on symptoms do not."""
        return (self.max_relative, self.max_absolute, self.min_value, self.max_value) != (None,) * 4


@dataclass(frozen=True)
class Policy:
    """The rules of one repository (``rlcompare.toml``).

    Attributes:
        source: the file they came from, ``built-in``, or ``preset strict``.
        evidence: what verdicts are based on. Verdicts by limits alone are unverified.
        varied: env keys that were meant to differ.
        noise: how much runs of one setting are assumed to differ where this was not measured, as a fraction (one
            standard deviation).
        notes: exceptions that end soon or have ended, and rules that repeat others, one sentence each.
    """

    source: str
    rules: tuple[Rule, ...]
    evidence: EvidenceMode = EvidenceMode.AUTO
    on_inconclusive: OnInconclusive = OnInconclusive.FAIL
    varied: tuple[str, ...] = ()
    noise: float = 0.03
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The result of one rule for one metric.

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
    """All verdicts, and the resulting exit code.

    Attributes:
        skipped: metrics of optional rules that had nothing to judge.
    """

    policy: Policy
    verdicts: tuple[Verdict, ...]
    exit_code: int
    summary: str
    skipped: tuple[str, ...] = ()

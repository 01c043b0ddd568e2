"""The closed vocabularies of a comparison and of a gate.

Each word is a ``str``: it equals its plain text and is written as such to JSON and to a terminal.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

SideName = Literal["baseline", "new"]

SIDES: Final[tuple[SideName, SideName]] = ("baseline", "new")


class Word(str, Enum):
    """A word of a closed vocabulary. ``str()`` and f-strings give the word itself, on every Python."""

    def __str__(self) -> str:
        return str(self.value)


class Severity(Word):
    """How much a finding matters."""

    INFO = "info"
    CAUTION = "caution"
    SEVERE = "severe"
    DECLARED = "declared"
    """Only in reports of a gate: a difference that the policy allows."""


class Comparable(Word):
    """Whether two sides may be compared: the worst of the findings about them."""

    COMPARABLE = "comparable"
    CAUTION = "caution"
    NOT_COMPARABLE = "not_comparable"


class Presence(Word):
    """On which sides a row of a section was found."""

    BOTH = "both"
    BASELINE_ONLY = "baseline_only"
    NEW_ONLY = "new_only"


class Polarity(Word):
    """Which direction of a metric is better."""

    LOWER = "lower"
    HIGHER = "higher"
    NEUTRAL = "neutral"


class EventKind(Word):
    """What happens within a run."""

    ONSET = "onset"
    """A metric has another level from a step on."""
    TREND = "trend"
    """A metric rises or falls over the whole run."""
    SPIKES = "spikes"
    """Regular steps take longer, for a reason that the log does not show."""
    TWO_LEVELS = "two_levels"
    """Steps take one of two times, in no order."""
    TEST_OR_SAVE = "test_or_save"
    """Steps that test or save a checkpoint take longer."""
    FIRST_STEPS = "first_steps"
    """The first steps take longer than those after them."""


class Health(Word):
    """Whether a metric lies in its ideal range."""

    HEALTHY = "healthy"
    OUTSIDE = "outside"


class Status(Word):
    """The result of a rule for one metric."""

    PASS = "pass"
    IMPROVED = "improved"
    REGRESSED = "regressed"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARABLE = "not_comparable"
    MISSING = "missing"
    UNHEALTHY = "unhealthy"
    """A symptom of unstable training; it has no limits of a rule."""


class RuleSeverity(Word):
    """What a failed rule does: ``error`` fails the gate, ``warn`` only warns, ``off``: the rule is not applied."""

    ERROR = "error"
    WARN = "warn"
    OFF = "off"


class EvidenceMode(Word):
    """The basis of a gate's verdicts: limits alone, runs of both sides, or runs if each side has enough of them."""

    AUTO = "auto"
    LIMITS = "limits"
    RUNS = "runs"


class OnInconclusive(Word):
    """The outcome of inconclusive evidence."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"

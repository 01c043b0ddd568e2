"""A policy as the text of a policy file: a starting point for your own rules (``rlcompare gate --print-policy``)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rlcompare.model.diff import SYMPTOMS
from rlcompare.model.verdict import Policy, Rule
from rlcompare.model.words import RuleSeverity

_HEAD = """\
# The rules that rlcompare gate applies if there is no policy file. To customize them, save this as rlcompare.toml in
# your repository and edit it. Metrics are named as in diff.json; * matches any text.
"""

_COMMENTS = {
    "evidence": '"auto": "runs" (must not overlap) if each side has four runs, else "limits" (means only)',
    "on_inconclusive": '"pass", "warn", or "fail" (exit code 3)',
    "varied": 'settings that may differ in every comparison, such as ["cann", "torch_npu"]',
    "headline": "the headline metric",
    "perf/throughput": "from verl's log; higher is better",
    "*perf/max_memory_*": "from verl's log; the largest so far, in GiB",
    "phase.*.wall": "each phase separately",
    "memory.peak_*": "allocated and reserved",
    "max_increase": 'fraction of the baseline: 0.05 or "5%"; max_decrease likewise',
    "max_increase_abs": "with both limits, a rule fails only if both are exceeded; B, KiB, MiB, … for sizes",
    "severity": '"warn" only reports; "error" (the default) fails',
    "optional": "skipped if there is no value to judge; without this, the rule fails",
    "min": "a limit on the new value itself",
    "max": "a limit on the new value itself",
}


_HEALTH = """
# Signs of unstable training need no rule: each fails or warns by itself. A rule replaces its severity ("off", "warn" or
# "error"), for one of them or for a pattern such as "health.*":
#
# [[rule]]
# metric = "health.staleness"
# severity = "error"
#
# They are:"""


def policy_text(policy: Policy) -> str:
    """The policy as commented TOML. Reading it again gives the same rules."""
    return "\n".join([_HEAD, *_lines(policy), _HEALTH, *_symptoms()]) + "\n"


def _symptoms() -> Iterator[str]:
    yield from (f"# {key:<27}{meaning}" for key, meaning in SYMPTOMS.items())


def _lines(policy: Policy) -> Iterator[str]:
    said: set[str] = set()
    yield "[gate]"
    yield _line("evidence", policy.evidence, said)
    yield _line("on_inconclusive", policy.on_inconclusive, said)
    yield _line("varied", list(policy.varied), said)
    for rule in policy.rules:
        yield ""
        yield "[[rule]]"
        for key, value in _items(rule):
            yield _line(key, value, said)


def _items(rule: Rule) -> Iterator[tuple[str, object]]:
    yield "metric", rule.metric
    named = (
        ("max_increase", rule.max_relative),
        ("max_increase_abs", _absolute(rule)),
        ("min", rule.min_value),
        ("max", rule.max_value),
    )
    yield from ((key, value) for key, value in named if value is not None)
    if rule.severity != RuleSeverity.ERROR:
        yield "severity", rule.severity
    if rule.optional:
        yield "optional", True
    if rule.message:
        yield "message", rule.message


def _absolute(rule: Rule) -> str | float | None:
    if rule.max_absolute is None or not rule.absolute_unit:
        return rule.max_absolute
    return f"{rule.max_absolute:.15g}{rule.absolute_unit}"


def _line(key: str, value: object, said: set[str]) -> str:
    """One key with its value. The first line of each kind of key has a comment with its meaning."""
    subject = value if key == "metric" and isinstance(value, str) else key
    comment = "" if subject in said else _COMMENTS.get(subject, "")
    said.add(subject)
    text = f"{key} = {json.dumps(value)}"  # TOML and JSON write strings, numbers and lists of strings alike
    return f"{text:<40}# {comment}" if comment else text

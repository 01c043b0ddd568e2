"""A policy as the text of a policy file (``rlcompare gate --print-policy``): a starting point for your own rules."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rlcompare.model.diff import SYMPTOMS
from rlcompare.model.verdict import Policy, Rule
from rlcompare.model.words import RuleSeverity

_HEALTH = """
# Signs of unstable training need no rule: each fails or warns by itself. A rule replaces its severity ("off", "warn" or
# "error"), for one of them or for a pattern such as "health.*":
#
# [[rule]]
# metric = "health.staleness"
# severity = "error"
#
# They are:
"""


def with_symptoms(text: str) -> str:
    """A policy file with the list of symptoms, as comments."""
    return text + _HEALTH + "".join(f"# {key:<27}{meaning}\n" for key, meaning in SYMPTOMS.items())


def policy_text(policy: Policy) -> str:
    """The rules that hold, with those of files that it extends, as TOML. Reading it again gives the same rules."""
    return "\n".join(["# " + _line("policy", policy.source), "", *_lines(policy)]) + "\n"


def _lines(policy: Policy) -> Iterator[str]:
    yield "[gate]"
    yield _line("evidence", policy.evidence)
    yield _line("on_inconclusive", policy.on_inconclusive)
    yield _line("varied", list(policy.varied))
    yield _line("noise", _percent(policy.noise))
    for rule in policy.rules:
        yield ""
        yield "[[rule]]"
        for key, value in _items(rule):
            yield _line(key, value) if key != "expires" else f"{key} = {value}"


def _items(rule: Rule) -> Iterator[tuple[str, object]]:
    yield "metric", rule.metric
    named = (
        ("max_increase", None if rule.max_relative is None else _percent(rule.max_relative)),
        ("max_increase_abs", _absolute(rule)),
        ("min", rule.min_value),
        ("max", rule.max_value),
        ("noise", None if rule.noise is None else _percent(rule.noise)),
    )
    yield from ((key, value) for key, value in named if value is not None)
    if rule.except_for:
        yield "except_for", list(rule.except_for)
    if rule.severity != RuleSeverity.ERROR:
        yield "severity", rule.severity
    if rule.optional:
        yield "optional", True
    yield from ((key, text) for key in ("message", "expires", "reason") if (text := getattr(rule, key)))


def _percent(part: float) -> str:
    return f"{part * 100:.12g}%"


def _absolute(rule: Rule) -> str | float | None:
    if rule.max_absolute is None or not rule.absolute_unit:
        return rule.max_absolute
    return f"{rule.max_absolute:.15g}{rule.absolute_unit}"


def _line(key: str, value: object) -> str:
    # TOML and JSON write numbers, lists and strings alike, but for characters beyond 16 bits, and for DEL.
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"{key} = {text}"

"""A policy as the text of a policy file (``rlcompare gate --print-policy``): a starting point for your own rules."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

from rlcompare.gate.find import place_setting
from rlcompare.gate.health import is_health_rule
from rlcompare.model.diff import SYMPTOMS
from rlcompare.model.verdict import Policy, Rule
from rlcompare.model.words import RuleSeverity
from rlcompare.text import is_invisible

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


def policy_text(policy: Policy, file: Path | None = None) -> str:
    """A policy with all that it extends as one TOML file, to be kept in the same folder. It gives the same rules.

    Args:
        policy: as written, see ``gate.written_policy``.
        file: where it is written, for the paths in its table ``[gate]``.
    """
    return "\n".join(["# " + _line("policy", policy.source), "", *_lines(policy, file)]) + "\n"


def _lines(policy: Policy, file: Path | None) -> Iterator[str]:
    yield "[gate]"
    yield _line("evidence", policy.evidence)
    yield _line("on_inconclusive", policy.on_inconclusive)
    yield _line("varied", list(policy.varied))
    yield _line("noise", _percent(policy.noise))
    if file is not None:
        yield from _places(file)
    for rule in policy.rules:
        yield ""
        yield "[[rule]]"
        for key, value in _items(rule):
            yield _line(key, value) if key != "expires" else f"{key} = {value}"


def _places(file: Path) -> Iterator[str]:
    """Where baselines and the history are. A password is not printed."""
    for key in ("baselines", "history"):
        place = place_setting(file, key)
        if place is None:
            continue
        url = urlsplit(place) if "://" in place else None
        if url is None:
            yield _line(key, os.path.relpath(place, file.absolute().parent))
        elif url.password or url.query:
            yield f"# {key} = a URL that may hold a password: copy it"
        else:
            yield _line(key, place)


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
    if rule.severity != RuleSeverity.ERROR or is_health_rule(rule):
        yield "severity", rule.severity
    if rule.optional:
        yield "optional", True
    yield from ((key, text) for key in ("message", "expires", "reason") if (text := getattr(rule, key)))


def _percent(part: float) -> str:
    return f"{_plain(Decimal(repr(part)) * 100)}%"


def _plain(number: Decimal) -> str:
    """Without an exponent, which limits with a unit do not take."""
    return f"{number.normalize():f}"


def _absolute(rule: Rule) -> str | float | None:
    if rule.max_absolute is None or not rule.absolute_unit:
        return rule.max_absolute
    return f"{_plain(Decimal(repr(rule.max_absolute)))}{rule.absolute_unit}"


def _line(key: str, value: object) -> str:
    # TOML and JSON write numbers, lists and strings alike, but for escaped characters beyond 16 bits.
    text = json.dumps(value, ensure_ascii=False)
    return f"{key} = {''.join(_escaped(character) if is_invisible(character) else character for character in text)}"


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

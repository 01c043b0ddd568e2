"""Reads one policy file, strictly: every message has the file and the line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rlcompare import untrusted
from rlcompare.errors import UsageError
from rlcompare.gate import units
from rlcompare.gate.health import is_health_rule
from rlcompare.model.diff import SYMPTOMS
from rlcompare.model.verdict import Rule
from rlcompare.model.words import RuleSeverity

if TYPE_CHECKING:
    from rlcompare.gate.policy_file import GateTable, RuleTable
    from rlcompare.validation import MisfitError

PYPROJECT = "pyproject.toml"
"""A file of this name has the policy in its table ``[tool.rlcompare]``."""

MOST_RULES = 2_000
"""Most rules of a policy: each is compared with the others. There are about 500 known metrics."""

_SHOWN = 80
"""Characters of a wrong value that a message shows."""

_EXPECTED = {
    "gate": "must be a table: write [gate]",
    "rule": "must be tables: write [[rule]] before each rule",
    "extends": 'must be a preset or a file such as "perf/base.toml", or a list of them',
    "metric": 'must name a metric, such as "time.step" or "phase.*.wall"',
    "message": "must be a string",
    "reason": "must be a string",
    "expires": "must be a day such as 2026-12-31",
    "noise": 'must be a fraction such as "3%" or 0.03',
    **dict.fromkeys(("max_increase", "max_decrease"), 'must be a fraction of the baseline such as "5%" or 0.05'),
    **dict.fromkeys(
        ("max_increase_abs", "max_decrease_abs"), 'must be a number, or a string with a unit such as "1ms" or "64MiB"'
    ),
    "except_for": 'must be a list of metrics, such as ["phase.*.wall"]',
    "varied": 'must be a list of env keys, such as ["cann", "torch_npu"]',
}
"""Messages for keys whose type alone would not explain the problem."""


@dataclass(frozen=True)
class FileRule:
    """A rule and where it is written, as ``rlcompare.toml:7``."""

    rule: Rule
    where: str


@dataclass(frozen=True)
class Layer:
    """What one policy file says.

    Attributes:
        settings: the keys of ``[gate]`` that it gives, as fields of ``Policy``.
        extends: presets and files whose rules come before its own.
        where_extends: the place of that key, for messages.
    """

    settings: dict[str, Any]
    rules: tuple[FileRule, ...]
    extends: tuple[str, ...] = ()
    where_extends: str = ""


def read_layer(path: Path) -> Layer:
    """Reads a policy file.

    Raises:
        UsageError: it cannot be read, is not TOML, or is not a valid policy.
    """
    text = read_text(path)
    return _Reader(path, text).layer(read_table(path, text))


def read_text(path: Path) -> str:
    """The text of a policy file.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        # Editors on Windows begin a text with a byte order mark.
        text = untrusted.read(path, untrusted.MOST_SETTINGS_BYTES).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n")
    except untrusted.RefusedError as error:
        raise UsageError(f"the policy {path} cannot be read: {error.problem}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the policy {path} is not UTF-8 text: save it as UTF-8") from error


def read_table(path: Path, text: str) -> Any:
    """The policy's table: the whole document, or ``[tool.rlcompare]`` of a pyproject.toml (empty if it has none).

    Raises:
        UsageError: it is not TOML.
    """
    try:
        document = untrusted.parse_toml(text)
    except untrusted.RefusedError as error:
        raise UsageError(f"the policy {path} cannot be used: {error.problem}") from error
    if path.name != PYPROJECT:
        return document
    tools = document.get("tool")
    return tools.get("rlcompare", {}) if isinstance(tools, dict) else {}


class _Reader:
    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()
        self._prefix = r"tool\s*\.\s*rlcompare\s*\.\s*" if path.name == PYPROJECT else ""
        self._rules = self._headers(rf"\s*\[\[\s*{self._prefix}rule\s*\]\]")
        self._gates = self._headers(rf"\s*\[\s*{self._prefix}gate\s*\]")

    def layer(self, document: object) -> Layer:
        from rlcompare.gate.policy_file import PolicyFile
        from rlcompare.validation import MisfitError, fit

        try:
            found = fit(document, PolicyFile)
        except MisfitError as error:
            self._misfit(error)
        if not found.rule and not found.extends:
            self._fail(None, "", "no [[rule]] found, so every diff would pass")
        if len(found.rule) > MOST_RULES:
            self._fail(None, "", f'it has more than {MOST_RULES:,} rules: use globs, such as "phase.*.wall"')
        extends = (found.extends,) if isinstance(found.extends, str) else found.extends or ()
        return Layer(
            self._settings(found.gate),
            tuple(
                FileRule(self._rule(table, number), self._where(number, ""))
                for number, table in enumerate(found.rule, 1)
            ),
            extends,
            self._where(None, "extends"),
        )

    def _settings(self, table: GateTable) -> dict[str, Any]:
        given = {
            "evidence": table.evidence,
            "on_inconclusive": table.on_inconclusive,
            "varied": table.varied,
            "noise": self._noise(table.noise, 0),
        }
        return {key: value for key, value in given.items() if value is not None}

    def _rule(self, table: RuleTable, number: int) -> Rule:
        for increase, decrease in (("max_increase", "max_decrease"), ("max_increase_abs", "max_decrease_abs")):
            if None not in (getattr(table, increase), getattr(table, decrease)):
                self._fail(number, decrease, f"names the same limit as {increase}: give one of them")
        absolute, unit = self._absolute(table, number)
        rule = Rule(
            metric=table.metric,
            max_relative=self._relative(table, number),
            max_absolute=absolute,
            absolute_unit=unit,
            min_value=table.min,
            max_value=table.max,
            severity=table.severity,
            message=table.message,
            optional=table.optional,
            noise=self._noise(table.noise, number),
            expires="" if table.expires is None else table.expires.isoformat(),
            reason=table.reason,
            except_for=tuple(dict.fromkeys(table.except_for or ())),
        )
        if is_health_rule(rule):
            self._check_health(rule, number)
        elif not rule.has_limit and rule.severity != RuleSeverity.OFF:
            self._fail(number, "", "has no limit: give max_increase, max_increase_abs, min or max")
        if rule.min_value is not None and rule.max_value is not None and rule.min_value > rule.max_value:
            self._fail(number, "min", "is larger than max")
        if rule.expires and not rule.reason:
            self._fail(number, "expires", "needs a reason: say why there is an exception")
        return rule

    def _check_health(self, rule: Rule, number: int) -> None:
        if not any(fnmatchcase(key, rule.metric) for key in SYMPTOMS):
            close = get_close_matches(rule.metric, SYMPTOMS, n=1, cutoff=0.0)
            self._fail(number, "metric", f'must be a symptom, not "{rule.metric}": did you mean "{close[0]}"?')
        if rule.has_limit:
            self._fail(number, "", f"has a limit, but {rule.metric} takes only severity and message")
        if rule.except_for:
            self._fail(number, "except_for", "is not for symptoms: write a rule of their own for them")

    def _absolute(self, table: RuleTable, number: int) -> tuple[float | None, str]:
        """A limit and its unit: ``"1ms"``, ``"64MiB"``, or a bare number in the metric's own unit."""
        key = "max_increase_abs" if table.max_decrease_abs is None else "max_decrease_abs"
        value = table.max_increase_abs if table.max_decrease_abs is None else table.max_decrease_abs
        if not isinstance(value, str):
            return value, ""
        found = units.parse(value)
        if found is None:
            known = ", ".join(units.KNOWN)
            expected = f'must be a number with a unit such as "1ms" or "64MiB" ({known})'
            self._fail(number, key, f'{expected}, not "{value[:_SHOWN]}"')
        return found

    def _relative(self, table: RuleTable, number: int) -> float | None:
        """A fraction of the baseline: ``"5%"`` or ``0.05``."""
        key = "max_increase" if table.max_decrease is None else "max_decrease"
        value = table.max_increase if table.max_decrease is None else table.max_decrease
        part = self._fraction(value, number, key)
        if part is not None and part > 1 and not isinstance(value, str):
            self._fail(number, key, f'is a fraction of the baseline: write "{value:g}%" if you mean {value:g} percent')
        return part

    def _noise(self, value: float | str | None, number: int) -> float | None:
        part = self._fraction(value, number, "noise")
        if part is not None and not 0 < part < 1:
            hint = (
                f': write "{value:g}%" if you mean {value:g} percent' if isinstance(value, float) and value >= 1 else ""
            )
            self._fail(number, "noise", f"must be more than 0 and less than 1 (100 %){hint}")
        return part

    def _fraction(self, value: float | str | None, number: int, key: str) -> float | None:
        if not isinstance(value, str):
            return value
        match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d+)?)\s*%\s*", value)
        if match is None:
            self._fail(number, key, f'{_EXPECTED[key]}, not "{value[:_SHOWN]}"')
        return float(match[1]) / 100

    def _misfit(self, error: MisfitError) -> NoReturn:
        """Reports what is wrong with a key of [gate] or of a rule."""
        table, *rest = error.path if error.path else ("",)
        number = 0 if table == "gate" and rest else int(rest[0]) + 1 if table == "rule" and rest else None
        keys = [key for key in rest if isinstance(key, str)]
        key = keys[0] if keys else str(table)
        if number is not None and not keys:  # a rule that is not a table
            number, key = None, "rule"
        if key == "extends" and number is not None:
            above = "below [tool.rlcompare], above its other tables" if self._prefix else "above the first table"
            self._fail(number, key, f"belongs to the whole file: write it {above}")
        if key in ("min", "max") and isinstance(error.value, str):
            shown = repr(error.value[:_SHOWN])
            self._fail(number, key, f"must be a number in the metric's own unit, without the unit, not {shown}")
        if error.problem.startswith("is not known"):
            self._fail(number, key, error.problem.replace("is not known", "is not a policy key", 1))
        problem = error.problem.replace("should", "must", 1).replace("a finite number", "a number")
        if "one of" in problem:  # the message names the nearest known word
            self._fail(number, key, problem)
        bare = ("gate", "rule", "extends", "metric", "varied", "except_for")
        shown = "" if error.value is None or key in bare else f", not {repr(error.value)[:_SHOWN]}"
        is_exact = "at least" in problem or "characters" in problem
        self._fail(number, key, (problem if is_exact else _EXPECTED.get(key, problem)) + shown)

    def _fail(self, number: int | None, key: str, problem: str) -> NoReturn:
        """``number``: the rule's number, from 1; 0: the table [gate]; None: the top of the file."""
        table = "" if number is None else "[gate]: " if number == 0 else f"[[rule]] {number}: "
        raise UsageError(f"{self._where(number, key)}: {table}{key[:_SHOWN]}{' ' if key else ''}{problem}")

    def _where(self, number: int | None, key: str) -> str:
        line = self._line(number, key)
        return f"{self._path}:{line}" if line else str(self._path)

    def _line(self, number: int | None, key: str) -> int | None:
        """The line of a key, else of its table; None if unknown."""
        if number is None:
            return self._line_of_top(key)
        starts = self._rules if number else self._gates
        place = number - 1 if number else 0
        if place >= len(starts):
            return self._line_of_top("rule" if number else "gate")
        return self._line_of_key(key, starts[place] + 1) or starts[place] + 1

    def _headers(self, pattern: str) -> list[int]:
        header = re.compile(pattern)
        return [index for index, line in enumerate(self._lines) if header.match(line)]

    def _line_of_top(self, key: str) -> int | None:
        """The line of a key or table of the whole policy."""
        if not key:
            return None
        header = re.compile(rf"""\s*\[+\s*{self._prefix}["']?{re.escape(key)}["']?\s*[\].]""")
        found = next((index for index, line in enumerate(self._lines, 1) if header.match(line)), None)
        own = r"\s*\[\s*tool\s*\.\s*rlcompare\s*\]"
        starts = [index for index, line in enumerate(self._lines, 1) if re.match(own, line)] if self._prefix else [0]
        return found or next((line for start in starts if (line := self._line_of_key(key, start))), None)

    def _line_of_key(self, key: str, start: int) -> int | None:
        """The line of ``key = …`` among those from ``start`` to the next table."""
        for index in range(start, len(self._lines)):
            if re.match(r"\s*\[", self._lines[index]):
                break
            if key and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", self._lines[index]):
                return index + 1
        return None

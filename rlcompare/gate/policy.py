"""The policy file: which changes a team tolerates (``rlcompare.toml`` in its repository).

    [gate]
    evidence = "auto"                 # "runs" where each side has four, else "limits"; see below
    on_inconclusive = "warn"          # "pass", "warn" or "fail" (exit code 3)
    varied = ["cann", "torch_npu"]    # env keys, or globs over them, that are meant to differ

    [[rule]]
    metric = "headline"               # the metric that speaks for the step
    max_increase = "5%"               # a part of the baseline: "5%" or 0.05
    max_increase_abs = "1ms"          # where both are given, both must be passed to fail
    message = "Ask the performance team before you merge this."

    [[rule]]
    metric = "phase.*.wall"           # a glob over metric ids; each metric that it matches is judged for itself
    max_increase = "10%"
    severity = "warn"                 # "error" (the default) fails the gate, "warn" only speaks

    [[rule]]
    metric = "perf/throughput"        # higher is better
    max_decrease = "5%"
    optional = true                   # skipped where there is nothing to judge, instead of failing

    [[rule]]
    metric = "mismatch/rollout_is_eff_sample_size"
    min = 0.8                         # a limit on the new value itself; likewise max

A part of a baseline of 0, or of one smaller than what its runs differ by, is no limit: without an absolute limit too,
such a rule is inconclusive. A phase that only the new side has took 0 on the baseline.

A change beyond its limits fails by ``evidence = "runs"`` only if the runs of the two sides do not overlap, which takes
four runs a side to tell; otherwise it is inconclusive. ``"limits"`` judges by the means alone.

An absolute limit carries its unit (ns, us, ms, s; B, KiB, MiB, GiB, TiB), and is converted into the metric's: the
headline is in ms or in s. A bare number is in the metric's own unit, as the diff shows it.

``max_increase`` and ``max_decrease`` name the same limit, on a change for the worse: write the one that reads right.
Where no direction is better (``workload.*``, ``actor/grad_norm``), a change either way counts, if the rule names the
metric itself or the metric is exact; a glob leaves the others alone. A glob matches ``time.step@max`` only if it has an
``@`` itself. A rule needs its metric: one that was not measured fails it, unless the rule is ``optional``. Then it is
skipped where no such metric is known, or for a change no baseline; the headline only where neither side has one. Where
all rules are skipped, the first fails. Anything that is not defined here is refused, with the nearest word that is.
"""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from rlcompare.errors import UsageError
from rlcompare.gate import units
from rlcompare.model.verdict import Policy, Rule
from rlcompare.model.words import EvidenceMode, OnInconclusive, RuleSeverity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BUILT_IN = "built-in"
"""``Policy.source`` of the built-in policy."""

HEADLINE = "headline"
"""The word that stands for the diff's headline metric in a rule."""

_GATE_KEYS = ("evidence", "on_inconclusive", "varied")
_RULE_KEYS = (
    "metric", "max_increase", "max_increase_abs", "max_decrease", "max_decrease_abs", "min", "max", "severity",
    "message", "optional",
)  # fmt: skip
_EVIDENCE = ("auto", "limits", "runs")
_ON_INCONCLUSIVE = ("pass", "warn", "fail")
_SEVERITIES = ("error", "warn")


def built_in_policy() -> Policy:
    """What is tolerated where a repository has no policy file.

    The step may take 5 % (and 1 ms) longer, and throughput may drop by 5 %. Of phases that take 10 % longer and memory
    peaks 5 % higher it warns. Importance sampling must stay in the ideal ranges that verl documents.
    """
    return Policy(
        source=BUILT_IN,
        rules=(
            Rule(HEADLINE, max_relative=0.05, max_absolute=1.0, absolute_unit="ms", optional=True),
            Rule("perf/throughput", max_relative=0.05, optional=True),
            Rule(
                "phase.*.wall",
                max_relative=0.1,
                max_absolute=1.0,
                absolute_unit="ms",
                severity=RuleSeverity.WARN,
                optional=True,
            ),
            Rule("memory.peak_*", max_relative=0.05, severity=RuleSeverity.WARN, optional=True),
            Rule("*rollout_is_eff_sample_size", min_value=0.8, optional=True),
            Rule("*rollout_is_veto_fraction", max_value=0.05, optional=True),
            Rule("*rollout_is_catastrophic_token_fraction", max_value=0.01, severity=RuleSeverity.WARN, optional=True),
        ),
    )


def load_policy(path: Path | None) -> Policy:
    """The policy of a file; the built-in one without a file.

    Raises:
        UsageError: the file cannot be read, is no TOML, or says what no policy can say; with file and line.
    """
    if path is None:
        return built_in_policy()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the policy {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the policy {path} is not UTF-8 text") from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the policy {path} is not valid TOML: {error}") from error
    return _Reader(path, text).policy(document)


class _Reader:
    """Reads the tables of one file, strictly."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()

    def policy(self, document: Mapping[str, object]) -> Policy:
        self._refuse_unknown(document, ("gate", "rule"), None)
        gate = document.get("gate", {})
        if not isinstance(gate, dict):
            self._fail(None, "gate", "must be a table: write [gate]")
        self._refuse_unknown(gate, _GATE_KEYS, 0)
        tables = document.get("rule", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._fail(None, "rule", "must be tables: write [[rule]] before each rule")
        if not tables:
            self._fail(None, "", "it holds no [[rule]], so it would pass everything")
        return Policy(
            source=str(self._path),
            rules=tuple(self._rule(table, number) for number, table in enumerate(tables, 1)),
            evidence=EvidenceMode(self._choice(gate, "evidence", _EVIDENCE, "auto", 0)),
            on_inconclusive=OnInconclusive(self._choice(gate, "on_inconclusive", _ON_INCONCLUSIVE, "warn", 0)),
            varied=self._words(gate, "varied"),
        )

    def _rule(self, table: Mapping[str, object], number: int) -> Rule:
        self._refuse_unknown(table, _RULE_KEYS, number)
        metric = table.get("metric")
        if not isinstance(metric, str) or not metric:
            self._fail(number, "metric", 'must name a metric, such as "time.step" or "phase.*.wall"')
        message = table.get("message", "")
        if not isinstance(message, str):
            self._fail(number, "message", "must be a text")
        increase = self._either(table, "max_increase", "max_decrease", number)
        increase_abs = self._either(table, "max_increase_abs", "max_decrease_abs", number)
        absolute, unit = self._absolute(table, increase_abs, number)
        rule = Rule(
            metric=metric,
            max_relative=self._part(table, increase, number),
            max_absolute=absolute,
            absolute_unit=unit,
            min_value=self._number(table, "min", number),
            max_value=self._number(table, "max", number),
            severity=RuleSeverity(self._choice(table, "severity", _SEVERITIES, "error", number)),
            message=message,
            optional=self._flag(table, "optional", number),
        )
        if (rule.max_relative, rule.max_absolute, rule.min_value, rule.max_value) == (None,) * 4:
            self._fail(number, "", "has no limit: give max_increase, max_increase_abs, min or max")
        if rule.min_value is not None and rule.max_value is not None and rule.min_value > rule.max_value:
            self._fail(number, "min", "is larger than max")
        return rule

    def _either(self, table: Mapping[str, object], increase: str, decrease: str, number: int) -> str:
        """The key of the limit on a change for the worse, which has two names."""
        if increase in table and decrease in table:
            self._fail(number, decrease, f"names the same limit as {increase}: give one of them")
        return decrease if decrease in table else increase

    def _absolute(self, table: Mapping[str, object], key: str, number: int) -> tuple[float | None, str]:
        """A limit and its unit: ``"1ms"``, ``"64MiB"``, or a bare number in the metric's own."""
        value = table.get(key)
        if not isinstance(value, str):
            return self._size(table, key, number), ""
        found = units.parse(value)
        if found is None:
            known = ", ".join(units.KNOWN)
            self._fail(number, key, f'must be a number with a unit such as "1ms" or "64MiB" ({known}), not "{value}"')
        return found

    def _part(self, table: Mapping[str, object], key: str, number: int) -> float | None:
        """A part of the baseline: ``"5%"`` or ``0.05``."""
        value = table.get(key)
        if isinstance(value, str):
            match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value)
            if match is None:
                self._fail(number, key, f'must be a part of the baseline such as "5%" or 0.05, not "{value}"')
            return float(match[1]) / 100
        part = self._size(table, key, number)
        if part is not None and part > 1:
            self._fail(number, key, f'is a part of the baseline: write "{part:g}%" if you mean {part:g} percent')
        return part

    def _size(self, table: Mapping[str, object], key: str, number: int) -> float | None:
        value = self._number(table, key, number)
        if value is not None and value < 0:
            self._fail(number, key, "must not be negative")
        return value

    def _number(self, table: Mapping[str, object], key: str, number: int) -> float | None:
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            self._fail(number, key, f"must be a number, not {value!r}")
        return float(value)

    def _flag(self, table: Mapping[str, object], key: str, number: int) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            self._fail(number, key, f"must be true or false, not {value!r}")
        return value

    def _choice(
        self, table: Mapping[str, object], key: str, choices: tuple[str, ...], default: str, number: int
    ) -> str:
        value = table.get(key, default)
        if not isinstance(value, str) or value not in choices:
            self._fail(number, key, f"must be one of {', '.join(choices)}{_nearest(value, choices)}")
        return value

    def _words(self, table: Mapping[str, object], key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
            self._fail(0, key, 'must be a list of env keys, such as ["cann", "torch_npu"]')
        return tuple(value)

    def _refuse_unknown(self, table: Mapping[str, object], known: tuple[str, ...], number: int | None) -> None:
        for key in table:
            if key not in known:
                self._fail(number, key, f"is not a key of policies{_nearest(key, known)}")

    def _fail(self, number: int | None, key: str, problem: str) -> NoReturn:
        """``number``: of the rule, from 1; 0: the table [gate]; None: the top of the file."""
        line = self._line(number, key)
        where = f"{self._path}:{line}" if line else str(self._path)
        table = "" if number is None else "[gate]: " if number == 0 else f"[[rule]] {number}: "
        raise UsageError(f"{where}: {table}{key}{' ' if key else ''}{problem}")

    def _line(self, number: int | None, key: str) -> int | None:
        """The line of a key, else of its table; None where that cannot be told."""
        header = re.compile(r"\s*\[\[\s*rule\s*\]\]" if number else r"\s*\[\s*gate\s*\]")
        starts = [index for index, line in enumerate(self._lines) if number is not None and header.match(line)]
        place = number - 1 if number else 0
        start = starts[place] if place < len(starts) else None
        begin = 0 if start is None else start + 1
        for index in range(begin, len(self._lines)):
            if start is not None and re.match(r"\s*\[", self._lines[index]):
                break
            if key and re.match(rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[\]=.]""", self._lines[index]):
                return index + 1
        return None if start is None else start + 1


def _nearest(word: object, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"

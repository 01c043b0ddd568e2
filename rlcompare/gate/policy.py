"""The policy file: which changes a team tolerates (``rlcompare.toml`` in its repository).

    [gate]
    evidence = "auto"                 # "runs" where each side has four, else "limits"; see below
    on_inconclusive = "warn"          # "pass", "warn" or "fail" (exit code 3)
    varied = ["cann", "torch_npu"]    # env keys, or globs over them, that are meant to differ
    baselines = "../baselines"        # where baselines are kept: a folder, from that of this file, or a URL

    [[rule]]
    metric = "headline"               # the headline metric
    max_increase = "5%"               # a fraction of the baseline: "5%" or 0.05
    max_increase_abs = "1ms"          # with both limits, a rule fails only if both are exceeded
    message = "Ask the performance team before you merge this."

    [[rule]]
    metric = "phase.*.wall"           # a glob over metric ids; each matching metric is judged separately
    max_increase = "10%"
    severity = "warn"                 # "error" (the default) fails the gate, "warn" does not

    [[rule]]
    metric = "perf/throughput"        # higher is better
    max_decrease = "5%"
    optional = true                   # skipped where there is nothing to judge, instead of failing

    [[rule]]
    metric = "mismatch/rollout_is_eff_sample_size"
    min = 0.8                         # a limit on the new value itself; likewise max

    [[rule]]
    metric = "health.reward_fall"     # a symptom of unstable training, or a glob over them; it has no limits
    severity = "warn"                 # "off" ignores it, "error" makes all such symptoms fail the gate

Symptoms (``model.diff.SYMPTOMS``, docs/metrics.md) need no rule: each has its own severity, which a rule replaces. A
rule with the whole name goes before one with a glob, else the last one counts.

A relative limit is not usable if the baseline is 0 or smaller than the spread of its runs: without an absolute limit,
such a rule is inconclusive. A phase that only the new side has counts as 0 on the baseline.

With ``evidence = "runs"``, a change beyond its limits fails only if each side has four runs and the runs of the two
sides do not overlap; otherwise it is inconclusive. ``"limits"`` judges by the means only.

An absolute limit carries its unit (ns, us, ms, s; B, KiB, MiB, GiB, TiB), and is converted into the metric's: the
headline is in ms or in s. A bare number is in the metric's own unit, as the diff shows it.

``max_increase`` and ``max_decrease`` name the same limit, on a change for the worse: use the one that reads better.
Where no direction is better (``workload.*``, ``actor/grad_norm``), a change in either direction counts, if the rule
names the metric itself or the metric is exact; a glob skips all other such metrics. A glob matches ``time.step@max``
only if it contains an ``@``.

A rule fails if its metric was not measured, unless the rule is ``optional``. An optional rule is skipped if no such
metric is known or, for a limit on a change, if the baseline has no value. For the headline it is skipped only if
neither side has one. If all rules are skipped, the first one fails. Unknown keys and words are errors, and the message
names the nearest known one.
"""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rlcompare.errors import UsageError
from rlcompare.gate import units
from rlcompare.gate.health import is_health_rule
from rlcompare.model.diff import SYMPTOMS
from rlcompare.model.verdict import Policy, Rule
from rlcompare.model.words import RuleSeverity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from rlcompare.gate.policy_file import RuleTable
    from rlcompare.validation import MisfitError

BUILT_IN = "built-in"
"""``Policy.source`` of the built-in policy."""

HEADLINE = "headline"
"""The name of the diff's headline metric in a rule."""

_EXPECTED = {
    "gate": "must be a table: write [gate]",
    "rule": "must be tables: write [[rule]] before each rule",
    "metric": 'must name a metric, such as "time.step" or "phase.*.wall"',
    "message": "must be a string",
    **dict.fromkeys(("max_increase", "max_decrease"), 'must be a fraction of the baseline such as "5%" or 0.05'),
    **dict.fromkeys(
        ("max_increase_abs", "max_decrease_abs"), 'must be a number, or a string with a unit such as "1ms" or "64MiB"'
    ),
    "varied": 'must be a list of env keys, such as ["cann", "torch_npu"]',
}
"""Messages for keys whose type alone would not explain the problem."""


def built_in_policy() -> Policy:
    """The policy for repositories without a policy file.

    The step may take 5 % (and 1 ms) longer, and throughput may drop by 5 %. It warns if a phase takes 10 % longer or a
    memory peak is 5 % higher. Symptoms of unstable training have their own severities.
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
            Rule("*perf/max_memory_*", max_relative=0.05, severity=RuleSeverity.WARN, optional=True),
        ),
    )


def load_policy(path: Path | None) -> Policy:
    """Loads a policy from a file; None: the built-in policy.

    Raises:
        UsageError: the file cannot be read, is not TOML, or is not a valid policy; the message has file and line.
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

    def policy(self, document: object) -> Policy:
        from rlcompare.gate.policy_file import PolicyFile
        from rlcompare.validation import MisfitError, fit

        try:
            found = fit(document, PolicyFile)
        except MisfitError as error:
            self._misfit(error)
        if not found.rule:
            self._fail(None, "", "no [[rule]] found, so every diff would pass")
        return Policy(
            source=str(self._path),
            rules=tuple(self._rule(table, number) for number, table in enumerate(found.rule, 1)),
            evidence=found.gate.evidence,
            on_inconclusive=found.gate.on_inconclusive,
            varied=found.gate.varied,
        )

    def _rule(self, table: RuleTable, number: int) -> Rule:
        for increase, decrease in (("max_increase", "max_decrease"), ("max_increase_abs", "max_decrease_abs")):
            if None not in (getattr(table, increase), getattr(table, decrease)):
                self._fail(number, decrease, f"names the same limit as {increase}: give one of them")
        absolute, unit = self._absolute(table, number)
        rule = Rule(
            metric=table.metric,
            max_relative=self._part(table, number),
            max_absolute=absolute,
            absolute_unit=unit,
            min_value=table.min,
            max_value=table.max,
            severity=table.severity,
            message=table.message,
            optional=table.optional,
        )
        unlimited = (rule.max_relative, rule.max_absolute, rule.min_value, rule.max_value) == (None,) * 4
        if is_health_rule(rule):
            self._check_health(rule, number, unlimited=unlimited)
        elif unlimited and rule.severity != RuleSeverity.OFF:
            self._fail(number, "", "has no limit: give max_increase, max_increase_abs, min or max")
        if rule.min_value is not None and rule.max_value is not None and rule.min_value > rule.max_value:
            self._fail(number, "min", "is larger than max")
        return rule

    def _check_health(self, rule: Rule, number: int, *, unlimited: bool) -> None:
        if not any(fnmatchcase(key, rule.metric) for key in SYMPTOMS):
            close = get_close_matches(rule.metric, SYMPTOMS, n=1, cutoff=0.0)
            self._fail(number, "metric", f'must be a symptom, not "{rule.metric}": did you mean "{close[0]}"?')
        if not unlimited:
            self._fail(number, "", f"has a limit, but {rule.metric} takes only severity and message")

    def _absolute(self, table: RuleTable, number: int) -> tuple[float | None, str]:
        """A limit and its unit: ``"1ms"``, ``"64MiB"``, or a bare number in the metric's own unit."""
        key = "max_increase_abs" if table.max_decrease_abs is None else "max_decrease_abs"
        value = table.max_increase_abs if table.max_decrease_abs is None else table.max_decrease_abs
        if not isinstance(value, str):
            return value, ""
        found = units.parse(value)
        if found is None:
            known = ", ".join(units.KNOWN)
            self._fail(number, key, f'must be a number with a unit such as "1ms" or "64MiB" ({known}), not "{value}"')
        return found

    def _part(self, table: RuleTable, number: int) -> float | None:
        """A fraction of the baseline: ``"5%"`` or ``0.05``."""
        key = "max_increase" if table.max_decrease is None else "max_decrease"
        value = table.max_increase if table.max_decrease is None else table.max_decrease
        if isinstance(value, str):
            match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value)
            if match is None:
                self._fail(number, key, f'must be a fraction of the baseline such as "5%" or 0.05, not "{value}"')
            return float(match[1]) / 100
        if value is not None and value > 1:
            self._fail(number, key, f'is a fraction of the baseline: write "{value:g}%" if you mean {value:g} percent')
        return value

    def _misfit(self, error: MisfitError) -> NoReturn:
        """Reports what is wrong with a key of [gate] or of a rule."""
        table, *rest = error.path if error.path else ("",)
        number = None if not rest else 0 if table == "gate" else int(rest[0]) + 1
        keys = [key for key in rest if isinstance(key, str)]
        key = keys[0] if keys else str(table)
        if number is not None and not keys:  # a rule that is not a table
            number, key = None, "rule"
        if error.problem.startswith("is not known"):
            self._fail(number, key, error.problem.replace("is not known", "is not a policy key", 1))
        problem = error.problem.replace("should", "must", 1).replace("a finite number", "a number")
        if "one of" in problem:  # the message names the nearest known word
            self._fail(number, key, problem)
        shown = "" if error.value is None or key in ("gate", "rule", "metric", "varied") else f", not {error.value!r}"
        self._fail(number, key, (problem if "at least" in problem else _EXPECTED.get(key, problem)) + shown)

    def _fail(self, number: int | None, key: str, problem: str) -> NoReturn:
        """``number``: the rule's number, from 1; 0: the table [gate]; None: the top of the file."""
        line = self._line(number, key)
        where = f"{self._path}:{line}" if line else str(self._path)
        table = "" if number is None else "[gate]: " if number == 0 else f"[[rule]] {number}: "
        raise UsageError(f"{where}: {table}{key}{' ' if key else ''}{problem}")

    def _line(self, number: int | None, key: str) -> int | None:
        """The line of a key, else of its table; None if unknown."""
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

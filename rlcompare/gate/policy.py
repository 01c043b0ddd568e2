"""The policy file: which changes a team tolerates (``rlcompare.toml`` in its repository).

    [gate]
    evidence = "auto"                 # runs where there are enough, else what is assumed; "runs", "limits": see below
    on_inconclusive = "fail"          # exit code 3; or "warn", "pass"
    noise = "3%"                      # how much runs are assumed to differ where this was not measured
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

    [[rule]]                          # an exception: until that day no other rule judges this phase
    metric = "phase.compute_log_prob.wall"
    max_increase = "20%"
    expires = 2999-12-31
    reason = "The new kernel is not tuned yet."

    [[rule]]
    metric = "health.reward_fall"     # a symptom of unstable training, or a glob over them; it has no limits
    severity = "warn"                 # "off" ignores it, "error" makes all such symptoms fail the gate

Symptoms (``model.diff.SYMPTOMS``, docs/metrics.md) need no rule: each has its own severity, which a rule replaces. A
rule with the whole name goes before one with a glob, else the last one counts.

A relative limit is not usable if the baseline is 0, or if it is smaller than the spread of its runs and these are too
few to decide alone: without an absolute limit, such a rule is inconclusive. A phase that only the new side has counts
as 0 on the baseline.

With ``evidence = "runs"`` no spread between runs is assumed: what they do not decide alone is inconclusive, and so few
that nothing can fail are refused. ``"limits"`` judges by the means only.

An absolute limit carries its unit (ns, us, ms, s; B, KiB, MiB, GiB, TiB), and is converted into the metric's: the
headline is in ms or in s. A bare number is in the metric's own unit, as the diff shows it.

``max_increase`` and ``max_decrease`` name the same limit, on a change for the worse: use the one that reads better.
Where no direction is better (``workload.*``, ``actor/grad_norm``), a change in either direction counts, if the rule
names the metric itself or it is an amount of work; a glob skips all other such metrics. A glob matches
``time.step@max`` only if it contains an ``@``.

A rule fails if its metric was not measured, unless the rule is ``optional``. An optional rule is skipped if there is no
such metric, unless its name is likely a typing error, or, for a limit on a change, if the baseline has no value. For
the headline it is skipped only if neither side has one. If all rules are skipped, the first one fails. Unknown keys and
words are errors, and the message names the nearest known one.

The same tables may stand in a pyproject.toml, as ``[tool.rlcompare.gate]`` and ``[[tool.rlcompare.rule]]``. With
``extends = "strict"``, the rules of a preset or of another file come first: see ``exceptions``, and docs/gate.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rlcompare.errors import UsageError
from rlcompare.gate.exceptions import in_force, merged
from rlcompare.gate.policy_reader import MOST_RULES, FileRule, Layer, read_layer, read_text
from rlcompare.model.verdict import PRESETS, Policy
from rlcompare.model.words import RuleSeverity

BUILT_IN = "built-in"
"""``Policy.source`` of the built-in policy."""

_DEEPEST = 10
"""Files that extend each other in a row."""

_MOST_FILES = 100
"""Files that a policy extends in all: ten levels of lists could name millions."""


def built_in_policy() -> Policy:
    """The policy for repositories without a policy file: the preset ``default``."""
    return replace(load_preset("default"), source=BUILT_IN)


def load_preset(name: str, *, today: date | None = None) -> Policy:
    """A policy that comes with rlcompare."""
    return replace(load_policy(_preset_file(name), today=today), source=f"preset {name}")


def preset_text(name: str) -> str:
    """The file of a preset."""
    return read_text(_preset_file(name))


def load_policy(path: Path | None, *, today: date | None = None) -> Policy:
    """Loads a policy from a file; None: the built-in policy.

    Args:
        today: the day on which exceptions are looked at; None: the current one.

    Raises:
        UsageError: the file cannot be read, is not TOML, or is not a valid policy; the message has file and line.
    """
    if path is None:
        return built_in_policy()
    settings, found = _with_extended(path, (), [])
    if all(one.rule.severity == RuleSeverity.OFF and not one.rule.expires for one in found):
        raise UsageError(
            f"{path}: every rule is off, so nothing would be judged: set the severity of one to error or warn"
        )
    found, repeated = _without_repeated(found)
    rules, notes = in_force(found, today or date.today())
    return Policy(source=str(path), rules=rules, notes=(*repeated, *notes), **settings)


def written_policy(path: Path) -> Policy:
    """A policy file and all that it extends, as one file says the same. Exceptions are as written, whatever the day.

    Raises:
        UsageError: as ``load_policy``.
    """
    settings, found = _with_extended(path, (), [])
    return Policy(source=str(path), rules=tuple(one.rule for one in found), **settings)


def _without_repeated(rules: Sequence[FileRule]) -> tuple[list[FileRule], list[str]]:
    """The rules without those that say the same again, and a note on each that adds nothing to an earlier one.

    Rules of one metric may differ in their severity, or limit a change and a value.
    """
    first: dict[tuple[object, ...], FileRule] = {}
    kept, notes = [], []
    for one in rules:
        rule = one.rule
        limits = (rule.max_relative, rule.max_absolute, rule.min_value, rule.max_value)
        alike = (rule.metric, rule.severity, rule.expires, rule.except_for, *(limit is None for limit in limits))
        other = first.setdefault(alike, one)
        same = other is not one and replace(other.rule, message=rule.message) == rule
        if same:
            notes.append(f"{one.where}: says the same about {rule.metric} as {other.where} and is not used; remove one")
        elif other is not one:
            notes.append(f"{one.where}: limits {rule.metric} like {other.where}, so the stricter limit decides")
        kept += [] if same else [one]
    return kept, notes


def _with_extended(path: Path, above: Sequence[Path], read: list[Path]) -> tuple[dict[str, Any], list[FileRule]]:
    """Settings and rules of a file and of all that it extends; what it says itself goes before.

    Args:
        above: the files that extend this one.
        read: all files that were read so far; this one is added.
    """
    layer = read_layer(path)
    read.append(path)
    settings: dict[str, Any] = {}
    rules: list[FileRule] = []
    chain = (*above, path.resolve())
    for name in layer.extends:
        other = _extended(name, path, layer)
        if other.resolve() in chain:
            raise UsageError(
                f'{layer.where_extends}: extends "{name}", which extends {path.name} again: remove one of the two'
            )
        if len(chain) >= _DEEPEST:
            raise UsageError(
                f"{layer.where_extends}: more than {_DEEPEST} files extend each other in a row: put them together"
            )
        if len(read) >= _MOST_FILES:
            raise UsageError(
                f"{layer.where_extends}: more than {_MOST_FILES} files extend each other: put them together"
            )
        more, theirs = _with_extended(other, chain, read)
        settings |= more
        rules = merged(rules, theirs)
        if len(rules) > MOST_RULES:
            raise UsageError(f"{path}: more than {MOST_RULES:,} rules in the files that it extends: remove some")
    return settings | layer.settings, merged(rules, layer.rules)


def _extended(name: str, path: Path, layer: Layer) -> Path:
    """The file that ``extends`` means: a preset's, or one relative to the file that says so."""
    if name in PRESETS:
        return _preset_file(name)
    file = path.parent / name.replace("\0", "\ufffd")
    if file.is_file():
        return file
    if "." in name or "/" in name:
        raise UsageError(f'{layer.where_extends}: extends "{name}", but there is no file {file}')
    close = get_close_matches(name, PRESETS, n=1)
    hint = f'did you mean "{close[0]}"?' if close else f"presets are {', '.join(PRESETS)}"
    raise UsageError(f'{layer.where_extends}: extends "{name}", which is neither a preset nor a file: {hint}')


def _preset_file(name: str) -> Path:
    return Path(__file__).with_name("presets") / f"{name}.toml"

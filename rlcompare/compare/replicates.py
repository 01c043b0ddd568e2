"""Which runs of a side are repetitions of each other, so that a verdict may count them.

A run that failed, that has clearly fewer steps than the others, or that ran in another environment is not: its
difference is not noise. Such runs stay in the diff. ``counted`` is what verdicts use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatchcase
from statistics import median_high

from rlcompare.compare.comparability import is_declared, severity_of
from rlcompare.compare.overall import mean
from rlcompare.compare.phrases import short
from rlcompare.compare.records import RunFact, RunSetting, Training
from rlcompare.compare.rollups import Copy, Shared
from rlcompare.compare.rows import difference, ratio
from rlcompare.compare.runs import overlap
from rlcompare.model.diff import RUNS_OVERLAP, Delta, Diff, Finding, RunInfo, Side
from rlcompare.model.words import SIDES, Severity, SideName

SHORTER = 0.75
"""A run has clearly fewer steps than the others of its side if it has less than this fraction of their median."""

SIDE_NAMES = {"baseline": "Baseline", "new": "New side"}
_SHOWN = 4
_SOFTWARE = ("verl", "vllm", "vllm_ascend", "sglang", "transformers", "commit.*")
"""Software whose versions are information between the sides, but that no repetitions differ in."""
_OF_PROFILE = ("profiler.*", "tool", "sampled*", "executor")
"""What does not matter where training timed its plain steps."""
_SEEDS = ("*seed", "*seed_*")


@dataclass
class _Left:
    """The runs of a side that are no repetitions, by the key of the finding that says so."""

    reasons: dict[int, str] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)

    def add(self, run: int, key: str, reason: str) -> None:
        if run not in self.reasons:
            self.reasons[run], self.keys[run] = reason, key


def counted(diff: Diff, side: SideName) -> tuple[int, ...]:
    """The runs of a side that are repetitions of each other, as indexes into ``Delta.samples``."""
    runs = (diff.baseline if side == "baseline" else diff.new).runs
    return tuple(number for number, run in enumerate(runs) if not run.left_out)


def of_repetitions(diff: Diff) -> Diff:
    """The diff for verdicts: without the values of runs that do not count. What only those measured is kept."""
    if not any(run.left_out for side in (diff.baseline, diff.new) for run in side.runs):
        return diff
    kept = {side: counted(diff, side) for side in SIDES}
    return replace(
        diff,
        overall=tuple(_of_runs(delta, kept) for delta in diff.overall),
        aggregates=tuple(found for found in diff.aggregates if found.run in kept[found.side]),
        series=tuple(found for found in diff.series if found.run in kept[found.side]),
    )


def _of_runs(delta: Delta, kept: Mapping[SideName, Sequence[int]]) -> Delta:
    samples = {
        side: tuple(value if number in kept[side] else None for number, value in enumerate(delta.samples.get(side, ())))
        for side in SIDES
    }
    baseline, new = (mean(samples[side]) for side in SIDES)
    if (baseline is None) != (delta.baseline is None) or (new is None) != (delta.new is None):
        return delta
    compared = delta.delta is not None
    overlapping = overlap(samples["baseline"], samples["new"]) if RUNS_OVERLAP in delta.evidence else None
    evidence = {name: value for name, value in delta.evidence.items() if name != RUNS_OVERLAP}
    return replace(
        delta,
        baseline=baseline,
        new=new,
        delta=difference(baseline, new) if compared else None,
        ratio=ratio(baseline, new) if delta.ratio is not None else None,
        samples=samples,
        evidence=evidence if overlapping is None else {**evidence, RUNS_OVERLAP: overlapping},
    )


def with_replicates(
    sides: Mapping[SideName, Side],
    facts: Sequence[RunFact],
    settings: Sequence[RunSetting],
    training: Sequence[Training],
    varied: Sequence[str],
) -> tuple[dict[SideName, Side], list[Finding]]:
    """The sides, with the start of each run and why it does not count, and the findings that say so.

    If no run of a side would count, all do: then there is nothing that they could be left out of.

    Args:
        varied: declared differences.
    """
    made, findings = {}, []
    for side, given in sides.items():
        known = {row.run: row for row in facts if row.side == side}
        left = _Left()
        if len(given.runs) > 1:
            _failed(known, left)
            logged = [row.steps for row in training if row.side == side]
            _shorter(logged, given.runs, left)
            ignored = (*_SEEDS, *(_OF_PROFILE if len(logged) == len(given.runs) else ()))
            _elsewhere(
                len(given.runs),
                [row for row in settings if row.side == side and not _matches(row.key, ignored)],
                varied,
                left,
            )
        if len(left.reasons) == len(given.runs):
            left = _Left()
        runs = [
            replace(run, started=_iso(known[number].started_ns), left_out=left.reasons.get(number, ""))
            for number, run in enumerate(given.runs)
        ]
        made[side] = replace(given, runs=tuple(runs))
        findings += _findings(side, runs, left)
    return made, findings


def copies_found(copies: Sequence[Copy]) -> list[Finding]:
    """Findings about runs that were given several times under different names."""
    return [
        Finding(
            "runs.copy", None, None, Severity.CAUTION,
            f"{SIDE_NAMES[copy.side]}: {short(copy.run.name, 60)} has the same content as"
            f" {'a part of ' if copy.is_part else ''}{short(copy.of.name, 60)}: it is a copy, not a repetition,"
            " and is not used.",
        )
        for copy in copies
    ]  # fmt: skip


def same_found(shared: Sequence[Shared]) -> list[Finding]:
    """A finding if runs of both sides are the same: often, a job has compared an old artifact, or a wrong path."""
    if not shared:
        return []
    new, baseline = (_listed([short(run.name, 60) for run in runs]) for runs in zip(*shared, strict=True))
    text = (
        f"New side: {new} {'has' if len(shared) == 1 else 'have'} the same content as {baseline} of the baseline,"
        " and cannot show a change: check the paths."
    )
    return [Finding("runs.same", None, None, Severity.CAUTION, text)]


def _failed(known: Mapping[int, RunFact], left: _Left) -> None:
    for number, run in known.items():
        if run.status == "failed":
            left.add(number, "runs.failed", "the run failed")


def _shorter(logged: Sequence[int], runs: Sequence[RunInfo], left: _Left) -> None:
    """Leaves out runs by the steps that training logged; by those of the profiles if no run logged any."""
    if 0 < len(logged) < len(runs):
        return
    steps = list(logged) or [run.steps for run in runs]
    usual = median_high(steps)
    for number, has in enumerate(steps):
        if has < SHORTER * usual:
            left.add(number, "runs.shorter", f"it has {has} of {usual} steps")


def _elsewhere(runs: int, settings: Sequence[RunSetting], varied: Sequence[str], left: _Left) -> None:
    """Leaves out runs whose environment is not that of the most runs (of the first ones, if several are as many)."""
    kept = [number for number in range(runs) if number not in left.reasons]
    telling = [
        row
        for row in settings
        if row.run in kept
        and (severity_of(row.key) != Severity.INFO or _matches(row.key, _SOFTWARE))
        and not is_declared(row.key, varied)
    ]
    if not telling:
        return
    of_run = {number: {row.key: row.value for row in telling if row.run == number} for number in kept}
    usual = dict(Counter(tuple(values.items()) for values in of_run.values()).most_common(1)[0][0])
    for number, values in of_run.items():
        apart = [key for key, value in values.items() if key in usual and usual[key] != value]
        if apart:
            words = [f"{key} is {short(values[key], 60)}, not {short(usual[key], 60)}" for key in apart[:_SHOWN]]
            more = f", and {len(apart) - _SHOWN} more" if len(apart) > _SHOWN else ""
            left.add(number, "runs.settings", ", ".join(words) + more)


def _matches(key: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


def _findings(side: SideName, runs: Sequence[RunInfo], left: _Left) -> list[Finding]:
    """One finding for all runs of a side with the same reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for number, reason in sorted(left.reasons.items()):
        groups.setdefault((left.keys[number], reason), []).append(short(runs[number].name, 60))
    rest = len(runs) - len(left.reasons)
    others = f"the other {'run' if rest == 1 else f'{rest} runs'}"
    made = []
    for (key, reason), names in groups.items():
        what = f"{_listed(names)} as {'a repetition' if len(names) == 1 else 'repetitions'} of {others}"
        text = f"{SIDE_NAMES[side]}: verdicts do not count {what}: {reason}."
        made.append(Finding(key, None, None, Severity.CAUTION, text))
    return made


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _iso(started_ns: int | None) -> str | None:
    """A time in ISO 8601, UTC, to the millisecond."""
    if started_ns is None:
        return None
    try:
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=started_ns // 1_000_000)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds")

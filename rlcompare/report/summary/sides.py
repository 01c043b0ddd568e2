"""The sides: their names, how much was read of each, and what differs between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rlcompare.compare.lone_settings import names_above
from rlcompare.language import mark, tr
from rlcompare.model.diff import Diff, Side
from rlcompare.model.words import Comparable, SideName
from rlcompare.report import quantity
from rlcompare.report.findings import change_of_text, count, differences
from rlcompare.report.sides import side_label
from rlcompare.report.step_parts import rows_of
from rlcompare.report.summary.item import SummaryItem
from rlcompare.report.workload import large_differences
from rlcompare.text import ELLIPSIS, safe_text

_PATH_LIMIT = 40
_OF_WORKERS = "actor_rollout_ref."
"""How most of verl's settings begin, which is left out where space is short."""
_STATUS = {
    Comparable.COMPARABLE: mark("comparable"),
    Comparable.CAUTION: mark("with caution"),
    Comparable.NOT_COMPARABLE: mark("NOT COMPARABLE"),
}


def side_item(key: SideName, side: Side, extent: str) -> SummaryItem:
    """A side: its name, how much was read, and from where."""
    label = label_text(side)
    paths = [_end_of(path) for path in _paths(side)]
    short = (label, extent)
    return SummaryItem(key, side_label(key), (*short, *(path for path in paths if path != label)), shorter=(short,))


def differs_item(diff: Diff) -> SummaryItem:
    """Whether the sides are comparable, and the settings that differ."""
    status = diff.comparability.status
    findings = diff.comparability.findings
    other_work = status == Comparable.COMPARABLE and large_differences(diff)
    parts = [tr("comparable settings, but the workload differs") if other_work else tr(_STATUS[status])]
    parts += differences(findings)
    told = {finding.key for finding in findings}
    environment = rows_of(diff, "env")
    parts += [
        f"{safe_text(row.get('name'), 40)} {change_of_text(row.get('baseline'), row.get('new'))}"
        for row in environment
        if row.get("baseline") != row.get("new") and not _is_told(str(row.get("name")), told)
    ]
    if len(parts) == 1:
        recorded = diff.baseline.env and diff.new.env
        parts.append(tr("no recorded setting differs") if recorded else tr("no settings were recorded"))
    mood = "caution" if status == Comparable.CAUTION or other_work else ""
    mood = "worse" if status == Comparable.NOT_COMPARABLE else mood
    shorter = tuple(part.removeprefix(_OF_WORKERS) for part in parts)
    return SummaryItem("differs", tr("differs"), tuple(parts), mood, lines=2, shorter=(shorter,))


def _is_told(key: str, told: Collection[str]) -> bool:
    """Whether a finding is about a setting, or about all below a name of which it is one: ``a.*`` for ``a.b.c``."""
    return key in told or any(f"{name}.*" in told for name in names_above(key))


def label_text(side: Side) -> str:
    """The name of a side."""
    return _end_of(side.label) or tr("(no label)")


def extent_text(diff: Diff, name: str) -> str:
    """The size of a side: profiled and timed steps, and sampled ticks."""
    side = diff.baseline if name == "baseline" else diff.new
    row = next((row for row in rows_of(diff, "metrics") if row.get("name") == diff.headline), {})
    timed = row.get(f"{name}_steps")
    parts = [runs_text(side)]
    if quantity.is_number(timed) and any(run.ranks or run.replicas for run in side.runs):
        steps = f"{timed:,.0f}"
        in_all = tr("{n} timed in all runs", n=steps) if len(side.runs) > 1 else tr("{n} timed", n=steps)
        parts = [tr("{runs} profiled", runs=parts[0]), in_all]
    for key, value in side.env.items():
        # Sampled ticks count as steps of the profile, but each is only a part of a training step.
        word, _, phase = key.partition(".")
        if word == "sampled":
            only = tr("{what} only", what=value)
            parts.append(safe_text(f"{phase}: {only}" if phase else only, 60))
    return tr(", ").join(parts)


def runs_text(side: Side) -> str:
    """The size of a side: ``2 runs × 8 ranks, 4 steps``."""
    if not side.runs:
        return tr("no runs")
    steps = len(side.steps) or max(run.steps for run in side.runs)
    counted = _spread([run.ranks for run in side.runs], "rank"), _spread([run.replicas for run in side.runs], "replica")
    if not any(counted):
        numbers = {"runs": count(len(side.runs), "run"), "steps": count(steps, "step")}
        return tr("{runs} without a profile, {steps}", **numbers)
    size = f"{count(len(side.runs), 'run')} × {' + '.join(filter(None, counted))}"
    return tr(", ").join((size, count(steps, "step")))


def _spread(numbers: Sequence[int], noun: str) -> str:
    """``8 ranks``, or ``6 to 8 ranks`` if runs differ; empty if there are none."""
    least, most = min(numbers), max(numbers)
    if not most or least == most:
        return count(least, noun) if most else ""
    return tr("{least} to {most}", least=least, most=count(most, noun))


def _paths(side: Side) -> tuple[str, ...]:
    """The path of a side's run, or the folder of all its runs; if there is none, no path is that of the side."""
    paths = {run.path for run in side.runs}
    found = paths if len(paths) == 1 else {path.rpartition("/")[0] for path in paths}
    return tuple(found) if len(found) == 1 and all(found) else ()


def _end_of(path: str) -> str:
    """The end of a path, which is more specific than its start."""
    return safe_text(path if len(path) <= _PATH_LIMIT else ELLIPSIS + path[1 - _PATH_LIMIT :], _PATH_LIMIT)

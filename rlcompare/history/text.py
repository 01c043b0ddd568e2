"""What ``rlcompare history`` prints: tables and sentences. It computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from rlcompare.history.changes import Change, Found, Searched
from rlcompare.history.environment import divides
from rlcompare.history.metric_change import MetricChange
from rlcompare.history.records import OK, Acknowledged, Added, Run, Value
from rlcompare.model.digits import grouped
from rlcompare.report.output import Line
from rlcompare.report.table import cell_text, table_lines
from rlcompare.text import safe_text

_MOST_METRICS = 6
_MOST_DIFFERENCES = 6
_COMMIT_LENGTH = 12


def added_lines(added: Sequence[Added], place: str) -> list[str]:
    """What became of the runs."""
    lines = []
    for one in added:
        name = safe_text(one.run.name)
        if one.known_since_ns is not None:
            lines.append(f"run {one.number} is already in the history, added {minute(one.known_since_ns)}: {name}")
            continue
        lines.append(f"added run {one.number}: {name}, {len(one.run.metrics)} metrics")
        if one.run.status != OK:
            lines.append(f"  {one.run.status}, so it is stored but not used: {safe_text(one.run.reason, 400)}")
        if one.run.started_ns is None:
            lines.append("  its start is unknown: it counts as started now (--started sets it)")
        if not any(map(divides, one.run.settings)):
            lines.append("  its hardware and configuration are unknown: it is compared with all such runs")
    return [*lines, f"history: {safe_text(place, 400)}"]


def runs_lines(runs: Sequence[Run], values: Sequence[Value], metrics: Sequence[str]) -> list[str]:
    """The table of runs, in the order of their start, with a column per metric."""
    by_run = {(value.number, value.metric): value.value for value in values}
    units = {value.metric: value.unit for value in values}
    columns = ["run", "started (UTC)", "commit", "label", "status", "environment"]
    columns += [f"{metric} [{units[metric]}]" if units.get(metric) else metric for metric in metrics]
    rows = [
        [
            run.number,
            minute(run.started_ns) + ("" if run.start_known else "?"),
            commit_text(run),
            run.label,
            run.status,
            run.environment,
            *(by_run.get((run.number, metric)) for metric in metrics),
        ]
        for run in runs
    ]
    lines = table_lines(columns, rows)
    if any(not run.start_known for run in runs):
        lines.append("?: start unknown, when the run was added")
    return lines


def changes_lines(found: Found, runs: Sequence[Run], last: int) -> list[Line]:
    """The changes, the latest first, and what was searched."""
    lines: list[Line] = []
    for change in found.changes:
        lines += [*_change_lines(change), Line("")]
    lines += map(Line, _searched_lines(found, runs))
    count = sum(change.is_open and change.age <= last for change in found.changes)
    old = sum(change.is_open and change.age > last for change in found.changes)
    more = f" ({old} before the last {last} runs)" if old else ""
    unusable = [run.status != OK for run in runs]
    usable = "usable runs" if any(unusable) else "runs"
    trailing = next((place for place, bad in enumerate(reversed(unusable)) if not bad), len(unusable))
    if trailing > 1:
        lines.append(Line(f"none of the latest {trailing} runs is usable: whether they are worse is unknown"))
    if count:
        noun = "change" if count == 1 else "changes"
        text = f"{count} {noun} for the worse in the last {last} {usable}{more}; accept with: rlcompare history ack ID"
        return [*lines, Line(text, ((0, len(text), "worse"),))]
    few = sum(one.fewest is None for one in found.searched)
    if few == len(found.searched):
        return [*lines, Line("too few runs to search for changes")]
    skipped = f"; {few} of {len(found.searched)} environments not searched" if few else ""
    return [*lines, Line(f"no unacknowledged change for the worse in the last {last} {usable}{more}{skipped}")]


def _change_lines(change: Change) -> list[Line]:
    lead = change.metrics[0]
    word = _word(change)
    style = "worse" if change.is_open else "better" if change.worse is False else "noise"
    commit = None if lead.gradual else commit_text(change.run)
    where = ", ".join(text for text in (minute(change.run.started_ns), commit and f"commit {commit}") if text)
    since = "gradually, from about" if lead.gradual else "since"
    head = f"{change.id}  {word} {since} run {change.run.number} ({where})"
    lines = [Line(head, ((10, 10 + len(word), style),)), Line(f"          {_metric_text(lead)}")]
    rest = change.metrics[1:]
    if rest:
        texts = [_short_text(one) for one in rest[:_MOST_METRICS]]
        more = f", and {len(rest) - _MOST_METRICS} more" if len(rest) > _MOST_METRICS else ""
        lines.append(Line(f"          also {', '.join(texts)}{more}"))
    differs = [_difference_text(one.key, one.before, one.after) for one in change.differs[:_MOST_DIFFERENCES]]
    if change.before.commit_id != change.run.commit_id and not lead.gradual:
        old, new = (commit_text(run) or "unknown" for run in (change.before, change.run))
        differs.insert(0, f"commit {old} -> {new}")
    if differs:
        lines.append(Line(f"          changed since run {change.before.number}: {', '.join(differs)}"))
    if change.worse and change.undone:
        lines.append(Line("          undone later"))
    for row, said in ((change.acknowledged, "acknowledged until"), (change.expired, "the acknowledgement expired on")):
        if row is not None:
            lines.append(Line(f"          {said} {_acknowledged_text(row)}"))
    return lines


def _word(change: Change) -> str:
    lead = change.metrics[0]
    if change.worse is None:
        return "more work" if lead.after > lead.before else "less work"
    if lead.unit in ("s", "ms"):
        return "slower" if change.worse else "faster"
    return "worse" if change.worse else "better"


def _metric_text(change: MetricChange) -> str:
    unit = f" {change.unit}" if change.unit else ""
    before, after = (cell_text(value, True, 40) for value in (change.before, change.after))
    return f"{safe_text(change.metric)} {before} -> {after}{unit}{_percent(change, ' (', ')')}"


def _short_text(change: MetricChange) -> str:
    return f"{safe_text(change.metric, 60)}{_percent(change, ' ', '')}"


def _percent(change: MetricChange, before: str, after: str) -> str:
    ratio = change.ratio
    return "" if ratio is None else f"{before}{grouped(100 * (ratio - 1), 1, '+')} %{after}"


def _difference_text(key: str, before: str | None, after: str | None) -> str:
    old, new = (safe_text(value, 40) if value is not None else "unknown" for value in (before, after))
    return f"{safe_text(key, 60)} {old} -> {new}"


def _acknowledged_text(row: Acknowledged) -> str:
    by = f" by {safe_text(row.author, 60)}" if row.author else ""
    return f"{safe_text(row.expires, 20)}{by}: {safe_text(row.reason, 400)}"


def _searched_lines(found: Found, runs: Sequence[Run]) -> Iterable[str]:
    for one in found.searched:
        if one.fewest is None:
            how = f"not searched, a change can be found from {one.needed} runs on"
        else:
            how = f"a change can be found once it has lasted {one.fewest} runs{_of_others(one)}"
        unknown = "" if one.known else " (hardware and configuration unknown)"
        count = "1 run" if one.runs == 1 else f"{one.runs} runs"
        yield f"environment {one.environment}{unknown}: {count}, headline {safe_text(one.headline)}; {how}"
    left = [run for run in runs if run.status != OK]
    if left:
        shown = ", ".join(f"run {run.number} {safe_text(run.status, 20)}" for run in left[-4:])
        yield f"not used: {len(left)} of {len(runs)} runs ({'… ' if len(left) > 4 else ''}{shown})"


def _of_others(one: Searched) -> str:
    """How long a change of another metric than the headline must have lasted; empty if it is the same."""
    if not one.others or one.fewest_of_others == one.fewest:
        return ""
    if one.fewest_of_others is None:
        return f", in other metrics from {one.needed_of_others} runs on"
    return f", in other metrics {one.fewest_of_others} runs"


def commit_text(run: Run) -> str | None:
    """The commit of a run, shortened; with a plus if files differed from it."""
    if run.commit_id is None:
        return None
    return safe_text(run.commit_id[:_COMMIT_LENGTH]) + ("+" if run.dirty else "")


def minute(moment_ns: int) -> str:
    """A moment in UTC, to the minute."""
    return datetime.fromtimestamp(moment_ns // 10**9, timezone.utc).strftime("%Y-%m-%d %H:%M")

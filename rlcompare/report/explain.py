"""What a cause or a metric of a diff consists of, which query makes it, and which files it was read from."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from math import fsum

from rlcompare.compare.overall import PATH
from rlcompare.compare.parts import OVERLAPPED
from rlcompare.compare.waits import words_of
from rlcompare.language import mark, tr
from rlcompare.model.diff import Cause, Delta, Diff, Row, Side, Value
from rlcompare.report import quantity
from rlcompare.report.sentences import named, said
from rlcompare.report.shares import are_times, part_of_change, parts_of
from rlcompare.report.step_parts import number_of, whole_rows_of
from rlcompare.report.table import table_lines
from rlcompare.report.tables import title_of
from rlcompare.text import pad, safe_text

_QUERIES = (
    (PATH, "sql/compare/path_sample.sql", "r_path"),
    ("time.*", "sql/compare/time_value.sql", "r_time"),
    ("role.*", "sql/compare/role_sample.sql", "r_time"),
    ("phase.*", "sql/compare/phase_sample.sql", "r_phase"),
    ("memory.*", "sql/compare/memory_peak.sql", "r_memory"),
    ("workload.*", "sql/compare/workload_sample.sql", "r_kernel"),
    ("*", "sql/compare/metric_sample.sql", "metric"),
)
"""For each pattern of metrics the query that makes it, and the table of a store that this reads."""

COLUMNS = (
    mark("kind"),
    mark("phase"),
    mark("name"),
    mark("baseline"),
    mark("new"),
    mark("change"),
    mark("in this cause"),
)
"""Of the rows of a cause."""

SMALL = 0.01
"""Rows that hold less than this part of what no cause explains are not listed."""

_MOST_FILES = 8
_MOST_ROWS = 8
_LABEL = 9


def explain(diff: Diff, what: str) -> list[str] | None:
    """The explanation as lines.

    Args:
        what: the number of a cause (from 1), ``unexplained``, or the id of a metric.

    Returns:
        None if the diff has no such cause or metric.
    """
    if what == "unexplained":
        return _unexplained(diff)
    if what.isascii() and what.isdigit() and len(what) < 10:
        place = int(what) - 1
        return _cause(diff, place) if 0 <= place < len(diff.causes) else None
    metric = diff.metric(what)
    return None if metric is None else _metric(diff, metric)


def known(diff: Diff) -> str:
    """What can be explained, for an error."""
    causes = f"causes 1 to {len(diff.causes)}" if diff.causes else "no causes"
    return f"{causes}, unexplained, and {len(diff.overall)} metrics such as {safe_text(diff.headline)}"


def _cause(diff: Diff, place: int) -> list[str]:
    cause = diff.causes[place]
    share = part_of_change(diff, parts_of(diff).causes[place])
    if not are_times(diff):
        share = tr("{part}, {time}", part=share, time=quantity.signed_quantity(cause.delta_ms, "ms"))
    numbers = {"n": place + 1, "all": len(diff.causes)}
    head = tr("cause {n} of {all}: {part} {per}", part=share, per=_per(diff), **numbers)
    lines = [head, safe_text(said(cause.text)), ""]
    return [*lines, *_rows(diff, cause), "", *_from(diff, cause)]


def _rows(diff: Diff, cause: Cause) -> Iterator[str]:
    """The rows of a cause as a table."""
    table = rows_of(diff, cause)
    if table:
        yield from table_lines([tr(column) for column in COLUMNS], table, thousands=True)
        yield sum_of(diff, cause)


def rows_of(diff: Diff, cause: Cause) -> list[tuple[Value, ...]]:
    """The rows of a cause, with both sides of the row of the account that each is a part of; columns as ``COLUMNS``."""
    if not cause.rows:
        return []
    section = diff.sections.get(account_of(diff))
    found = {_key(row): row for row in section.rows} if section else {}
    timers = {row.get("name"): row for row in diff.sections["phases"].rows} if "phases" in diff.sections else {}
    table: list[tuple[Value, ...]] = []
    for row in cause.rows:
        of = timers.get(row.get("name")) if row.get("kind") == "timer" else found.get(_key(row))
        values = (of.get("baseline"), of.get("new"), of.get("delta")) if of else (None, None, None)
        table.append((*_key(row)[:2], _name(row), *values, row.get("delta_ms")))
    return table


def _name(row: Row) -> Value:
    """The name of a row of a cause; in words where it has only that of its kind."""
    name, kind = row.get("name"), row.get("kind")
    return named(words_of(str(kind))) if kind and name == kind else name or tr("(all others)")


def sum_of(diff: Diff, cause: Cause) -> str:
    """A sentence on the sum of the rows."""
    return _sum(diff, cause.delta_ms)


def _sum(diff: Diff, delta_ms: float) -> str:
    summed = quantity.signed_quantity(delta_ms, "ms")
    return tr("The last column sums to {sum}. Times are in ms {per}.", sum=summed, per=_per(diff))


def account_of(diff: Diff) -> str:
    """The section whose rows causes consist of: the critical path, if both sides have one."""
    path = diff.metric(PATH)
    return "account" if path is None or path.delta is None else "path"


def _per(diff: Diff) -> str:
    """What the times of causes are means over: the critical path and the timers of a log have no ranks."""
    return tr("per step and rank") if _section(diff) == "account" else tr("per step")


def _section(diff: Diff) -> str:
    """The section that the rows of all causes and what is unexplained are from."""
    timers = any(row.get("kind") == "timer" for cause in diff.causes for row in cause.rows)
    return "phases" if timers else account_of(diff)


def _key(row: Row) -> tuple[Value, Value, Value]:
    return row.get("kind"), row.get("phase"), row.get("name")


def _from(diff: Diff, cause: Cause) -> Iterator[str]:
    if not cause.rows:
        where = {"title": title_of(cause.section), "row": safe_text(cause.row)}
        yield f"{_label(tr('evidence'))} {tr('“{title}” in the report, row {row}', **where)}"
        return
    query, table, condition = origin_of(diff, cause)
    yield _query(query, table)
    for label, command in commands_of(diff, f"FROM {table} WHERE {condition}"):
        yield f"{_label(label)} {command}"
    yield from _files(diff, table)


def origin_of(diff: Diff, cause: Cause) -> tuple[str, str, str]:
    """Where the rows of a cause come from: the query, the table that it reads, and which rows of that."""
    timers = any(row.get("kind") == "timer" for row in cause.rows)
    of_account = {"path": ("critical_path", "r_path"), "account": ("account", "r_account")}[account_of(diff)]
    query, table = ("timer", "metric") if timers else of_account
    if timers:
        condition = "name LIKE 'timing_s/%'"
    else:
        names = [str(row["name"]) for row in cause.rows if row.get("name") is not None]
        kinds = sorted({str(row["kind"]) for row in cause.rows if row.get("kind") is not None})
        condition = f"kind IN ({_literals(kinds)})"
        if len(names) <= _MOST_FILES:
            condition += f" AND coalesce(op_type, subject, kind) IN ({_literals(sorted(set(names)))})"
    return f"sql/compare/{query}.sql", table, condition


def _query(file: str, table: str) -> str:
    return f"{_label(tr('query'))} {tr('{file}, from table {table} of each run', file=file, table=table)}"


def _label(word: str) -> str:
    return pad(word, _LABEL)


def _literals(texts: Sequence[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def commands_of(diff: Diff, query: str) -> Iterator[tuple[str, str]]:
    """The side and the command that prints the rows of its first run, if it can be pasted into a shell."""
    for label, side in ((tr("baseline"), diff.baseline), (tr("new"), diff.new)):
        for run in side.runs[:1]:
            command = f"rlcompare sql {shlex.quote(run.path)} {_quoted(query)}"
            if safe_text(command, len(command)) == command:
                yield label, command


def _quoted(query: str) -> str:
    """A query as a word of a shell; in double quotes if it has nothing that these leave special."""
    return shlex.quote(query) if set(query) & set('"$`\\!') else f'"{query}"'


def _files(diff: Diff, table: str) -> Iterator[str]:
    for label, side in ((tr("baseline"), diff.baseline), (tr("new"), diff.new)):
        yield from _files_of(label, side, table)


def _files_of(label: str, side: Side, table: str) -> Iterator[str]:
    """The profiles that were read; of what training logged, the runs: the table itself names the file of each value."""
    runs, logged = [run.path for run in side.runs], table == "metric"
    paths = runs if logged else [_path(runs, row) for row in side.captures if row.get("path")] or runs
    for path in paths[:_MOST_FILES]:
        text = (
            tr("read from what training logged in {path}; the column source names the file", path=safe_text(path))
            if logged
            else tr("read from {path}", path=safe_text(path))
        )
        yield f"{_label(label)} {text}"
    if len(paths) > _MOST_FILES:
        yield f"{_label(label)} {tr('and {n} more', n=len(paths) - _MOST_FILES)}"


def _path(runs: Sequence[str], capture: Row) -> str:
    """The file or folder of a capture: in its run, whose own path it is if the run is one file."""
    path, place = str(capture["path"]), capture.get("run")
    if path != "." or not isinstance(place, int) or not 0 <= place < len(runs):
        return path
    return runs[place]


def _unexplained(diff: Diff) -> list[str]:
    left = parts_of(diff).unexplained
    if left is None:
        headline = diff.metric(diff.headline)
        measured = headline is not None and headline.delta is not None
        return [tr("There is no change to explain.") if measured else tr("No change was measured.")]
    found = part_of_change(diff, left)
    if not are_times(diff):
        found = tr("{part}, {time}", part=found, time=quantity.signed_quantity(left.delta_ms, "ms"))
    head = [
        tr("unexplained: {part} {per}", part=found, per=_per(diff)),
        tr("The part of the change that no cause explains."),
    ]
    section = _divided(diff, left.delta_ms)
    if section is None:
        return [*head, tr("No measurement breaks it down further.")]
    columns = [tr(column) for column in (*COLUMNS[:-1], mark("not in a cause"))]
    return [
        *head,
        "",
        *table_lines(columns, _rows_left(diff, section, left.delta_ms), thousands=True),
        _sum(diff, left.delta_ms),
        tr("All rows: “{title}” in the report.", title=title_of(section)),
    ]


def _divided(diff: Diff, left: float) -> str | None:
    """The section whose rows sum to the change that the causes and what they leave are parts of; None if none does."""
    change = left + fsum(cause.delta_ms for cause in diff.causes)
    sections = [_section(diff)] if diff.causes else [account_of(diff), "phases"]
    for section in sections:
        known = [delta for row in _parts(diff, section) if quantity.is_number(delta := row.get("delta"))]
        if known and abs(fsum(known) - change) <= OVERLAPPED * abs(change):
            return section
    return None


def _parts(diff: Diff, section: str) -> Sequence[Row]:
    """The rows of a section that sum to its change: of phases, those of their whole time."""
    rows = whole_rows_of(diff, section)
    if section != "phases":
        return rows
    return [{**row, "kind": "timer", "phase": row.get("name")} for row in rows if row.get("kind", "wall") == "wall"]


def _rows_left(diff: Diff, section: str, left: float) -> list[tuple[Value, ...]]:
    """The largest rows as far as no cause holds them, and the sum of all others; columns as ``COLUMNS``.

    Of a cause with very many rows, the smallest are known as a sum: rows that may be among them are not told apart.
    """
    of_causes = [row for cause in diff.causes for row in cause.rows]
    held: dict[tuple[Value, ...], float] = defaultdict(float)
    for row in of_causes:
        held[_part_key(row, section)] += number_of(row.get("delta_ms"))
    cut = [cause.rows[-2] for cause in diff.causes if len(cause.rows) > 1 and cause.rows[-1].get("name") is None]
    least = max((abs(number_of(row.get("delta_ms"))) for row in cut), default=0.0)
    parts = [(row, number_of(row.get("delta")) - held[_part_key(row, section)]) for row in _parts(diff, section)]
    able = sorted((part for part in parts if part[0].get("name") is not None), key=lambda part: -abs(part[1]))
    most = [(row, size) for row, size in able if abs(size) > max(least, SMALL * abs(left))][:_MOST_ROWS]
    table: list[tuple[Value, ...]] = [
        (*_key(row), row.get("baseline"), row.get("new"), row.get("delta"), size) for row, size in most
    ]
    rest = left - fsum(size for _, size in most)
    if len(parts) > len(most):
        table.append((None, None, tr("(all others)"), None, None, None, rest))
    return table


def _part_key(row: Row, section: str) -> tuple[Value, ...]:
    """What finds a part in its section: a phase by its name, as causes may hold timers inside it."""
    return (row.get("phase"),) if section == "phases" else _key(row)


def _metric(diff: Diff, metric: Delta) -> list[str]:
    pair = quantity.pair(metric.baseline, metric.new, metric.unit)
    change = (
        tr("not compared") if metric.delta is None else quantity.change_of(metric.delta, metric.ratio, metric.baseline)
    )
    lines = [f"{safe_text(metric.metric)}  {pair}  {change}"]
    for label, side, samples in (
        (tr("baseline"), diff.baseline, metric.samples.get("baseline", ())),
        (tr("new"), diff.new, metric.samples.get("new", ())),
    ):
        values = ", ".join("-" if value is None else quantity.quantity(value, metric.unit) for value in samples)
        runs = ", ".join(safe_text(run.name) for run in side.runs)
        lines.append(f"{_label(label)} {values or '-'}  {tr('(mean of each run: {runs})', runs=runs)}")
    query, table = next((query, table) for pattern, query, table in _QUERIES if fnmatchcase(metric.metric, pattern))
    lines += ["", _query(query, table), f"{_label(tr('defined'))} docs/design.md §4, docs/metrics.md"]
    where = f" WHERE name = {_literals([metric.metric])}" if table == "metric" else ""
    commands = (f"{_label(label)} {command}" for label, command in commands_of(diff, f"FROM {table}{where}"))
    return [*lines, *commands, *_files(diff, table)]

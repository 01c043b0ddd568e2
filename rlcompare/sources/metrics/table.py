"""Reads metrics from CSV: a row per step with a column per metric, or a row per value.

* ``_step,timing_s/step,…``: a run's history as wandb exports it, or any table with a column for the step.
* ``Step,RUN - timing_s/step,RUN - timing_s/step__MIN,…``: one chart of wandb, with the values of several runs.
* ``step,timing_s/step,timing_s/step_timestamp,…``, or ``step,RUN-timing_s/step_step,RUN-timing_s/step_timestamp,…``:
  what SwanLab exports.
* ``step,name,value``: a row per value; the columns may have other names (``metric``, ``key``, ``tag``).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.sources.metrics import clock
from rlcompare.sources.metrics.history import OWN
from rlcompare.sources.metrics.values import MOST_TABLE_BYTES, Metrics, check_size, whole_step

_STEPS = ("_step", "step", "global_step", "training/global_step", "trainer/global_step")
_TIME_OF, _STEP_OF = "_timestamp", "_step"
_TIMES = ("_timestamp", "timestamp", "time")
_NAMES = ("name", "metric", "key", "tag")
_RUNS = ("run", "run_name", "run_id", "run_uuid")
_BOUNDS = ("__MIN", "__MAX")
_FIELD_CHARACTERS = 16 * 2**20


@dataclass(frozen=True)
class Columns:
    """The columns of a table, by position. ``metrics`` are (position, run, name); empty if rows contain the names."""

    step: int
    time: int | None = None
    metrics: tuple[tuple[int, str, str], ...] = ()
    name: int | None = None
    value: int | None = None
    run: int | None = None


def columns_of(header: Sequence[str]) -> Columns | None:
    """The roles of the columns; None if it is not a table of metrics."""
    names = [name.strip().lstrip("\ufeff") for name in header]
    lower = [name.lower() for name in names]
    step = next((lower.index(name) for name in _STEPS if name in lower), None)
    if step is None:
        return None
    of_values = (place for place, name in enumerate(names) if name.endswith(_TIME_OF))
    time = next((lower.index(name) for name in _TIMES if name in lower), next(of_values, None))
    name = next((lower.index(name) for name in _NAMES if name in lower), None)
    if name is not None and "value" in lower:
        run = next((lower.index(name) for name in _RUNS if name in lower), None)
        return Columns(step, time, name=name, value=lower.index("value"), run=run)
    metrics = tuple(_metric_columns(names, step))
    return Columns(step, time, metrics) if any("/" in metric for _, _, metric in metrics) else None


def _metric_columns(names: Sequence[str], step: int) -> Iterator[tuple[int, str, str]]:
    # A chart has both bounds for each of its columns, "RUN - METRIC". A metric's name may also contain " - ".
    known = frozenset(names)
    chart = any(f"{name}{_BOUNDS[0]}" in known for name in names)
    # SwanLab writes a pair of columns for each metric, "RUN-METRIC_step" for its value and "RUN-METRIC_timestamp".
    paired = [name.removesuffix(_STEP_OF) for name in names if name.endswith(_STEP_OF)]
    pairs = frozenset(name for name in paired if f"{name}{_TIME_OF}" in known)
    run_of_all = _common([name.partition("/")[0] for name in pairs]).rpartition("-")[0]
    for place, name in enumerate(names):
        if place == step or not name or name in OWN or (chart and name.endswith(_BOUNDS)):
            continue
        base = name.removesuffix(_TIME_OF)
        if base != name and (base in known or base in pairs):
            continue
        if name.removesuffix(_STEP_OF) in pairs:
            yield place, run_of_all, name.removesuffix(_STEP_OF).removeprefix(run_of_all).removeprefix("-")
            continue
        run, separator, metric = name.rpartition(" - ")
        yield (place, run, metric) if chart and separator else (place, "", name)


def _common(names: Sequence[str]) -> str:
    """The beginning that all names share."""
    first, last = min(names, default=""), max(names, default="")
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((place for place, (one, other) in pairs if one != other), min(len(first), len(last)))]


def runs_in(path: Path) -> list[str]:
    """The names of the runs in a table; one empty name if there are none.

    Raises:
        InputError: it cannot be read.
    """
    rows = _rows(path)
    columns = _columns(path, rows)
    if columns.run is None:
        return list(dict.fromkeys(run for _, run, _ in columns.metrics)) or [""]
    place = columns.run
    return list(dict.fromkeys(row[place].strip() for _, row, _ in rows if len(row) > place)) or [""]


def read(path: Path, run: str) -> Metrics:
    """Reads the metrics of one run of a table.

    Raises:
        InputError: it cannot be read, or holds no value.
    """
    metrics = Metrics()
    rows = _rows(path)
    columns = _columns(path, rows)
    for line, row, whole in rows:
        if not whole:
            metrics.cut = line
            break
        step = whole_step(row[columns.step]) if len(row) > columns.step else None
        if step is None:
            metrics.unreadable.append(line)
            continue
        if columns.time is not None and len(row) > columns.time and (logged := clock.alone(row[columns.time])):
            metrics.times[line], metrics.local_times = logged[0], not logged[1]
        for name, text in _values(columns, row, run):
            if text.strip():  # an empty cell means that this step did not log the metric
                metrics.add(line, step, name, text)
    metrics.odd.pop("quoted", None)  # all values in a CSV are text
    if not metrics.steps:
        raise InputError(path, "it contains no metrics: no row has a step and a number", "Export it again")
    return metrics


def _values(columns: Columns, row: Sequence[str], run: str) -> Iterator[tuple[str, str]]:
    if columns.name is not None and columns.value is not None:
        of_run = columns.run is None or (len(row) > columns.run and row[columns.run].strip() == run)
        if of_run and len(row) > max(columns.name, columns.value):
            yield row[columns.name].strip(), row[columns.value]
        return
    for place, of, name in columns.metrics:
        if of == run and place < len(row):
            yield name, row[place]


def _columns(path: Path, rows: Iterator[tuple[int, list[str], bool]]) -> Columns:
    header = next(rows, None)
    columns = None if header is None else columns_of(header[1])
    if columns is None:
        problem = "its first line has no step column or no metrics"
        raise InputError(path, problem, "Export it again, with a column for the step")
    return columns


def _rows(path: Path) -> Iterator[tuple[int, list[str], bool]]:
    """The rows, with the line in which each ends, and whether it is complete.

    A row with an unclosed quote extends to the end of the file; it is reported with the line in which it begins. A last
    line without an end is incomplete if it has fewer cells than each row before it.
    """
    csv.field_size_limit(_FIELD_CHARACTERS)
    try:
        check_size(path, MOST_TABLE_BYTES, "Export fewer metrics, or only those of steps")
        text = path.read_text(encoding="utf-8-sig", errors="replace").replace("\0", "\ufffd")
    except OSError as error:
        raise InputError(path, error.strerror or str(error), "Check that it still exists and is readable") from error
    lines = io.StringIO(text, newline="").readlines()
    reader = csv.reader(lines)
    begin = 0
    widths: list[int] = []
    try:
        for row in reader:
            whole = reader.line_num < len(lines) or _is_whole(row, lines[begin:], widths)
            if any(cell.strip() for cell in row):
                widths.append(len(row))
                yield reader.line_num if whole else begin + 1, row, whole
            begin = reader.line_num
    except csv.Error as error:
        raise InputError(path, f"it is not valid CSV ({error})", "Export it again") from error


def _is_whole(row: Sequence[str], lines: Sequence[str], widths: Sequence[int]) -> bool:
    """Whether the last row of a table, which takes these lines, is complete. ``widths`` are those before it."""
    is_short = len(row) < min(widths[1:] or widths, default=0)
    has_end = lines[-1].endswith(("\n", "\r"))
    return (has_end or not is_short) and list(csv.reader([*lines, "end"]))[-1] == ["end"]

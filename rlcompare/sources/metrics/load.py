"""Fills the table ``metric`` from the metrics of one run, and reports findings about them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb

from rlcompare import db, resources
from rlcompare.errors import InputError, may_pass
from rlcompare.model.run import Finding, MetricsInput
from rlcompare.sources.metrics import form
from rlcompare.sources.metrics.printed_config import profiled_steps
from rlcompare.sources.metrics.prometheus_join import load_prometheus
from rlcompare.sources.metrics.read import read_metrics
from rlcompare.sources.metrics.values import Metrics

if TYPE_CHECKING:
    import pyarrow

_SHOWN = 5
_NOT_FINITE = {"NaN": "NaN", "infinite": "infinite or beyond 1e100", "null": "null"}


@dataclass(frozen=True)
class Loaded:
    """The result of loading a run's metrics.

    Attributes:
        last_step: the last logged step; None if there is none.
        config: the job's configuration, if a file has it.
        profiled: the steps known to have run under a profiler; None: unknown.
        first_ns: when the first value was logged, in ns since the epoch; None: no file tells it with its time zone.
    """

    last_step: int | None = None
    config: Mapping[str, object] = field(default_factory=dict)
    profiled: Sequence[int] | None = None
    first_ns: int | None = None


def load_metrics(
    con: duckdb.DuckDBPyConnection,
    sources: Sequence[MetricsInput],
    profiled: Sequence[int] | None,
    captured: Sequence[int],
    warmup: Sequence[int] | None,
    report: Callable[[Finding], None],
    settings: Mapping[str, object] | None = None,
) -> Loaded:
    """Fills the table ``metric``. If several sources have a value for a step and metric, the first one counts.

    Args:
        profiled: the steps that ran under a profiler according to run.json; None: unknown.
        captured: the steps in the names of the profile's folders.
        warmup: steps excluded from speed because the run had just started; None: unknown.
        settings: the configuration in other files, for metrics without one.

    Raises:
        InputError: none of the sources can be read.
    """
    engines = [source for source in sources if source.form == form.PROMETHEUS]
    read: list[tuple[MetricsInput, Metrics]] = []
    failures: list[InputError] = []
    for source in (source for source in sources if source not in engines):
        try:
            read.append((source, read_metrics(source)))
        except InputError as error:
            failures.append(error)
    raised = None if read or not failures else next(filter(may_pass, failures), failures[0])
    for failure in (failure for failure in failures if failure is not raised):
        report(Finding("warning", "unreadable_metrics", str(failure), may_pass=may_pass(failure)))
    if raised is not None:
        raise raised
    config = next((metrics.config for _, metrics in read if metrics.config), settings or {})
    if profiled is None:
        configured = profiled_steps(config)
        profiled = None if configured is None and not captured else sorted({*(configured or ()), *captured})
    _fill(con, read, profiled, warmup)
    for number, (source, metrics) in enumerate(read):
        for finding in (*_restarts(con, number, source.name), *findings_of(metrics, source)):
            report(finding)
    con.execute("DROP TABLE stage_metric")
    con.execute("DROP TABLE stage_name")
    if engines:
        _load_engines(con, engines, [metrics for _, metrics in read], report)
    last = max((max(metrics.steps) for _, metrics in read if metrics.steps), default=None)
    times = [min(metrics.times.values()) for _, metrics in read if metrics.times and not metrics.local_times]
    return Loaded(last, config, profiled, min(times, default=None))


def _load_engines(
    con: duckdb.DuckDBPyConnection,
    engines: Sequence[MetricsInput],
    read: Sequence[Metrics],
    report: Callable[[Finding], None],
) -> None:
    """Adds the metrics of rollout engines. Beside others, files that cannot be read are a finding."""
    try:
        load_prometheus(con, engines, read, report)
    except InputError as error:
        if not read:
            raise
        report(Finding("warning", "unreadable_metrics", str(error), may_pass=may_pass(error)))


def _fill(
    con: duckdb.DuckDBPyConnection,
    read: Sequence[tuple[MetricsInput, Metrics]],
    profiled: Sequence[int] | None,
    warmup: Sequence[int] | None,
) -> None:
    import pyarrow

    names = sorted({name for _, metrics in read for name in metrics.names})
    db.set_variable(con, "metrics_sources", [source.name for source, _ in read], "VARCHAR[]")
    db.set_variable(con, "profiled_steps", None if profiled is None else list(profiled), "BIGINT[]")
    db.set_variable(con, "warmup_steps", None if warmup is None else list(warmup), "BIGINT[]")
    _stage(con, "stage_metric", _values_of([metrics for _, metrics in read] or [Metrics()], names))
    _stage(con, "stage_name", pyarrow.table({"id": range(len(names)), "name": pyarrow.array(names, pyarrow.string())}))
    db.run(con, resources.sql("sources/run_directory/metric"))


def _values_of(read: Sequence[Metrics], names: Sequence[str]) -> pyarrow.Table:
    """All values, as the table stage_metric of sources/run_directory/metric has them."""
    import pyarrow

    numbers = {name: number for number, name in enumerate(names)}
    parts = []
    for number, metrics in enumerate(read):
        own = pyarrow.array([numbers[name] for name in metrics.names], pyarrow.int32())
        columns = {
            "source": pyarrow.repeat(pyarrow.scalar(number, pyarrow.int32()), len(metrics.values)),
            "line": _column(metrics.lines, pyarrow.int64()),
            "step": _column(metrics.steps, pyarrow.int64()),
            "metric": own.take(_column(metrics.metrics, pyarrow.int32())),
            "value": _column(metrics.values, pyarrow.float64(), metrics.absent),
        }
        parts.append(pyarrow.table(columns))
    return pyarrow.concat_tables(parts)


def _column(values: array[Any], kind: pyarrow.DataType, absent: array[int] | None = None) -> pyarrow.Array:
    """The values of an array, which stay where they are; NULL where ``absent`` is not 0."""
    import pyarrow
    import pyarrow.compute

    known = None
    if absent is not None and any(absent):
        marks = pyarrow.Array.from_buffers(pyarrow.int8(), len(absent), [None, pyarrow.py_buffer(absent)])
        known = pyarrow.compute.equal(marks, 0).buffers()[1]
    return pyarrow.Array.from_buffers(kind, len(values), [known, pyarrow.py_buffer(values)])


def _stage(con: duckdb.DuckDBPyConnection, name: str, rows: pyarrow.Table) -> None:
    con.register("given", rows)
    try:
        con.execute(f"CREATE TEMP TABLE {name} AS FROM given")
    finally:
        con.unregister("given")


def _restarts(con: duckdb.DuckDBPyConnection, number: int, name: str) -> Iterator[Finding]:
    db.set_variable(con, "metrics_source", number)
    ((repeated, starts, in_turn),) = db.run(con, resources.sql("sources/run_directory/restarts"))
    if repeated:
        text = f"{name} has values of {_counted(len(repeated), 'step')} ({_listed(repeated)}) more than once"
        why = "where several processes print their steps" if in_turn else "after a restart"
        yield Finding("warning", "repeated_steps", f"{text}, as {why}: the last one of each step is used")
    if starts:
        text = f"the job or its log was restarted before {_counted(len(starts), 'step')} ({_listed(starts)} in {name})"
        yield Finding("info", "restarted", f"{text}: times of these steps are treated as warm-up")


def findings_of(metrics: Metrics, source: MetricsInput) -> Iterator[Finding]:
    """Findings about the metrics of one source."""
    name = source.name
    if metrics.jobs and (not source.part or source.form not in form.LOGS):
        yield Finding("warning", "earlier_job", _other_jobs(metrics, source))
    if metrics.cut is not None:
        kept = "what is before the cut is used" if metrics.cut_in_part else f"the {metrics.unit}s before it are used"
        text = f"{name} ends in a truncated {metrics.unit} ({metrics.cut}), as when a run is killed; {kept}"
        yield Finding("warning", "cut_metrics", text)
    if metrics.odd["open"]:
        text = f"{name} has no line end after its last value, which was left out, as it may lack digits"
        yield Finding("info", "open_end", text)
    if metrics.odd["cut"]:
        text = f"{_counted(metrics.odd['cut'], 'step')} in {name} cut off where another one begins in the same line"
        how = f"(the first in line {metrics.first_cut}), as when a run is killed and started again"
        yield Finding("warning", "cut_step", f"{text} {how}; what is before the cut is used")
    if metrics.lost_log:
        text = (
            f"{name}-wal is damaged or belongs to another database: the last logged values are missing; copy both files"
            " again"
        )
        yield Finding("warning", "unreadable_metrics", text)
    if metrics.unreadable:
        text = f"{_counted(len(metrics.unreadable), metrics.unit)} of {name} cannot be read and were left out"
        yield Finding("warning", "unreadable_metrics", f"{text}: {_listed(metrics.unreadable)}")
    kinds = [f"{metrics.odd[kind]} {words}" for kind, words in _NOT_FINITE.items() if metrics.odd[kind]]
    if kinds:
        text = f"values in {name} that are not finite numbers: {', '.join(kinds)}; means exclude them"
        yield Finding("info", "not_finite", text)
    if metrics.negative:
        text = f"{name} has negative values of metrics that cannot be negative; they count as not measured"
        yield Finding("warning", "negative_metric", f"{text}: {_values(metrics.negative)}")
    if metrics.implausible:
        text = f"{name} has implausible values, such as times of years; they count as not measured"
        yield Finding("warning", "implausible_metric", f"{text}: {_values(metrics.implausible)}")
    if metrics.odd["numpy"]:
        text = f"{_counted(metrics.odd['numpy'], 'value')} in {name} written as np.float64(…) or similar"
        yield Finding("info", "numpy_numbers", f"{text}: read as numbers")
    if metrics.odd["quoted"] and source.form != form.CONSOLE:  # a console prints only text
        text = f"{_counted(metrics.odd['quoted'], 'value')} in {name} written as text: read as numbers"
        yield Finding("info", "quoted_numbers", text)
    if metrics.odd["text"]:
        where = "" if metrics.first_text is None else f" (the first in {metrics.unit} {metrics.first_text})"
        text = f"{_counted(metrics.odd['text'], 'value')} in {name} that are not numbers were left out{where}"
        yield Finding("info", "no_numbers", text)
    if metrics.odd["nul"]:
        text = f"{_counted(metrics.odd['nul'], 'NUL byte')} in {name} skipped; a value with one inside is left out"
        yield Finding("info", "nul_bytes", text)
    if metrics.odd["wrapped"]:
        text = (
            f"lines of metrics in {name} were broken when they were copied: {_counted(metrics.odd['wrapped'], 'line')}"
        )
        how = "could not be joined, and values that may be cut were left out; pass the log file itself"
        yield Finding("warning", "wrapped_lines", f"{text} {how}")
    if metrics.odd["unnamed"]:
        text = f"{_counted(metrics.odd['unnamed'], 'value')} in {name} left out, as the metric has no name"
        yield Finding("info", "unnamed_metrics", text)
    if metrics.rounded:
        text = f"{name} has only three decimals per value, as printed by verl before 0.5: small values become 0"
        yield Finding("warning", "rounded_metrics", text)


def _other_jobs(metrics: Metrics, source: MetricsInput) -> str:
    others = [job for job in metrics.jobs if job.number != metrics.job]
    (job,) = [job for job in metrics.jobs if job.number == metrics.job]
    begin = f"{metrics.unit} {job.first_line}"
    used = f"{source.name} contains {len(metrics.jobs)} jobs: only the last one is used, from {begin} on"
    if source.form not in form.LOGS:
        return f"{used}; the others were left out"
    shown = [
        f"{source.files[0].name}/{other.number} (steps {other.first_step} to {other.last_step}, lines"
        f" {other.first_line} to {other.last_line})"
        for other in others[-_SHOWN:]
    ]
    more = f" and {len(others) - _SHOWN} before them" if len(others) > _SHOWN else ""
    return f"{used}; the others were left out; to read one, pass {', '.join(shown)}{more}"


def _values(found: Sequence[tuple[str, int, float]]) -> str:
    shown = ", ".join(f"{metric} is {value:g} in step {step}" for metric, step, value in found[:_SHOWN])
    return f"{shown} and {len(found) - _SHOWN} more" if len(found) > _SHOWN else shown


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    return f"{shown} and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else shown


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

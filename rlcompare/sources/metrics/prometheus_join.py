"""Assigns the Prometheus metrics of the rollout engine to the steps of a job, as metrics ``prometheus/vllm:…``.

Counters become their increase in a step, gauges their mean and largest value, histograms their mean. The steps' times
are those at which training logged them. Where these are unknown, or samples are further apart than steps are long, the
values are those of the whole run (step NULL), and counters and largest values are named ``prometheus/of_run/vllm:…``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import pairwise
from statistics import median

import duckdb

from rlcompare import db, resources
from rlcompare.metrics.catalogue import step_timers
from rlcompare.model.run import Finding, MetricsInput
from rlcompare.sources.metrics import clock, prometheus
from rlcompare.sources.metrics.prometheus import Samples
from rlcompare.sources.metrics.values import Metrics

_ZONES = tuple(sorted({*range(-12 * 60, 15 * 60, 60), -570, -210, 210, 270, 330, 345, 390, 570, 630, 765}, key=abs))
"""Offsets from UTC in use, in minutes."""
_FORGET = ("stage_series", "stage_sample", "stage_logged", "sample_growth", "sample_level", "sample_of_step",
           "sample_of_run", "stage_step_time")  # fmt: skip


def load_prometheus(
    con: duckdb.DuckDBPyConnection,
    sources: Sequence[MetricsInput],
    read: Sequence[Metrics],
    report: Callable[[Finding], None],
) -> None:
    """Adds the engines' metrics of a run to the table ``metric``, which has those that training logged already.

    Args:
        sources: the files of the engines' metrics.
        read: what training logged, the most exact first.

    Raises:
        InputError: a file cannot be read, or has no metrics of vLLM or SGLang.
    """
    name = " and ".join(source.name for source in sources)
    samples = prometheus.read([path for source in sources for path in source.files])
    has_times = _number_untimed(samples)
    logged, local = next(((found.step_times(), found.local_times) for found in read if found.times), ({}, False))
    zones = _zones(logged, samples) if local != samples.local_times else [0]
    span = _span(samples.times)
    known = {step: time - zones[0] for step, time in logged.items()} if len(zones) == 1 and has_times else {}
    _stage(con, samples, known)
    db.set_variable(con, "step_timers", sorted(step_timers()))
    db.run(con, resources.sql("sources/prometheus/step_time"))
    ((steps, start, end, length),) = db.run(con, resources.sql("sources/prometheus/steps"))
    gap = _gap(samples)
    by_step = steps > 0 and gap <= length
    db.set_variable(con, "prometheus_source", name)
    db.set_variable(con, "prometheus_by_step", by_step)
    db.set_variable(con, "prometheus_window", [start - gap, end + gap] if steps else None, "BIGINT[]")
    for query in ("sample", "by_step", "of_run", "metric"):
        db.run(con, resources.sql(f"sources/prometheus/{query}"))
    ((joined,),) = db.run(con, resources.sql("sources/prometheus/joined"))
    for finding in _findings(name, samples):
        report(finding)
    report(_how(name, has_times, bool(logged), zones, (steps, joined, gap, length), (start, end), span, by_step))
    for table in _FORGET:
        con.execute(f"DROP TABLE IF EXISTS {table}")


def _number_untimed(samples: Samples) -> bool:
    """Whether samples have times. If none has, they get numbers for times; else samples without one are dropped."""
    if all(time is None for time in samples.times):
        taken: dict[int, int] = {}
        for place, series in enumerate(samples.series):
            taken[series] = taken.get(series, 0) + 1
            samples.times[place] = taken[series] * clock.SECOND
        return False
    kept = [place for place, time in enumerate(samples.times) if time is not None]
    samples.unreadable += len(samples.times) - len(kept)
    samples.keep(kept)
    return True


def _span(times: Sequence[int | None]) -> tuple[int, int]:
    known = [time for time in times if time is not None]
    return min(known), max(known)


def _zones(logged: Mapping[int, int], samples: Samples) -> list[int]:
    """The offsets from UTC, in nanoseconds, at which all steps lie in the time of the samples."""
    if not logged:
        return []
    first, last = _span(samples.times)
    sign = -1 if samples.local_times else 1
    offsets = [sign * minutes * 60 * clock.SECOND for minutes in _ZONES]
    begin, end = min(logged.values()), max(logged.values())
    return [shift for shift in offsets if first <= begin - shift and end - shift <= last]


def _gap(samples: Samples) -> int:
    """The usual time between two samples of a series; 0 if there are not two."""
    times = sorted({time for time in samples.times if time is not None})
    per_series: dict[int, int] = {}
    gaps = []
    for series, time in zip(samples.series, samples.times, strict=True):
        if series in per_series and time is not None and time > per_series[series]:
            gaps.append(time - per_series[series])
        per_series[series] = time or 0
    return int(median(gaps)) if gaps else int(median([b - a for a, b in pairwise(times)])) if len(times) > 1 else 0


def _stage(con: duckdb.DuckDBPyConnection, samples: Samples, logged: Mapping[int, int]) -> None:
    import pyarrow

    tables = {
        "stage_series": {
            "series": pyarrow.array(range(len(samples.names)), pyarrow.int32()),
            "name": pyarrow.array(samples.names, pyarrow.string()),
            "kind": pyarrow.array(samples.kinds, pyarrow.string()),
        },
        "stage_sample": {
            "place": pyarrow.array(range(len(samples.values)), pyarrow.int64()),
            "series": pyarrow.array(samples.series, pyarrow.int32()),
            "time_ns": pyarrow.array(samples.times, pyarrow.int64()),
            "value": pyarrow.array(samples.values, pyarrow.float64()),
        },
        "stage_logged": {
            "step": pyarrow.array(list(logged), pyarrow.int64()),
            "time_ns": pyarrow.array(list(logged.values()), pyarrow.int64()),
        },
    }
    for table, columns in tables.items():
        con.register(f"given_{table}", pyarrow.table(columns))
        try:
            con.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS FROM given_{table}")
        finally:
            con.unregister(f"given_{table}")


def _findings(name: str, samples: Samples) -> Iterator[Finding]:
    if samples.unreadable:
        text = f"{samples.unreadable} samples or documents in {name} cannot be read and were left out"
        yield Finding("warning", "unreadable_metrics", text)
    if samples.unnamed:
        text = f"{samples.unnamed} series in {name} have no name, as the result of rate(…) or sum(…), and were left out"
        remedy = "query the metric itself, such as vllm:num_preemptions_total"
        yield Finding("warning", "unnamed_metrics", f"{text}: {remedy}")


def _how(
    name: str,
    has_times: bool,
    has_steps: bool,
    zones: Sequence[int],
    steps: tuple[int, int, int, int],
    run: tuple[int, int],
    span: tuple[int, int],
    by_step: bool,
) -> Finding:
    """How the samples and the steps met."""
    count, joined, gap, length = steps
    if by_step and joined:
        zone = f"; times of the log are read as {_zone(zones[0])}, the only time zone that fits" if zones[0] else ""
        text = f"{name} was joined to {joined} of {count} steps by time{zone}"
        return Finding("info" if joined == count else "warning", "prometheus_joined", text)
    if by_step or (count and not _overlap(run, span)):
        text = (
            f"{name} was not used: it covers {_clock(span[0])} to {_clock(span[1])}, and the steps"
            f" {_clock(run[0])} to {_clock(run[1])} (UTC)"
        )
        return Finding("warning", "prometheus_elsewhere", f"{text}: save the metrics while the job runs")
    if count:
        apart, takes = f"{gap / clock.SECOND:.3g} s", f"{length / clock.SECOND:.3g} s"
        why = f"its samples are {apart} apart, and a step takes {takes}: save them more often"
    elif not has_times:
        why = "it does not say when it was saved: write the time before each scrape, as date +%s does"
    elif has_steps and not zones:
        why = "the log's times have no time zone, and in none do all steps fall into the time that this file covers"
    elif has_steps:
        why = f"the log's times have no time zone, and {len(zones)} time zones fit: log times with their time zone"
    else:
        why = "the job's metrics have no step times: TensorBoard, MLflow, wandb, or a log with times have them"
    return Finding("warning", "prometheus_of_run", f"values of {name} are those of the whole run, not of steps: {why}")


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _zone(shift: int) -> str:
    hours, minutes = divmod(abs(shift) // (60 * clock.SECOND), 60)
    return f"UTC{'+' if shift > 0 else '-'}{hours}" + (f":{minutes:02}" if minutes else "")


def _clock(time: int) -> str:
    return f"{datetime.fromtimestamp(time // clock.SECOND, timezone.utc):%Y-%m-%d %H:%M:%S}"

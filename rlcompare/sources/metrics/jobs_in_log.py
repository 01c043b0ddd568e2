"""Separates the jobs in one log, and keeps one of them: the last, or the one that the user named (``job.log/1``).

A new job begins where steps go back to the job's first step or before it. A job that resumes from a checkpoint goes
back to a later step, and counts as the same job. Steps with validation only do not count: each job may begin with them.
Jobs that printed at the same time are separated by the processes in Ray's prefixes, if these logged the same metrics
of the same steps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, compress, pairwise
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.metrics.catalogue import step_timers
from rlcompare.sources.metrics.values import Metrics, chosen, kind_of

_ALIKE = 0.5


@dataclass(frozen=True)
class Job:
    """One job in a log.

    Attributes:
        number: its place in the log, from 1. It is the last part of the job's path.
        first_line, last_line: the lines of its metrics. Lines of jobs that ran at the same time overlap.
        first_step, last_step: its first and last step.
        rows: positions of its values in ``Metrics``.
    """

    number: int
    first_line: int
    last_line: int
    first_step: int
    last_step: int
    rows: Sequence[int]


def keep_job(metrics: Metrics, path: Path, part: str) -> None:
    """Reduces the metrics of a log to one job.

    Args:
        path: the log.
        part: the number of the job; empty: the last one.

    Raises:
        InputError: there is no such job.
    """
    jobs = jobs_of(metrics)
    numbers = [str(job.number) for job in jobs]
    if part and part not in numbers:
        holds = f"it holds {len(jobs)} jobs: {', '.join(numbers[:8])}" if len(jobs) > 1 else "it holds only one job"
        raise InputError(
            path, f"it holds no job {part[:40]}: {holds}", f"Pass {path}/{numbers[-1]}, or the file itself"
        )
    if len(jobs) == 1:
        return
    job = jobs[numbers.index(part)] if part else jobs[-1]
    metrics.jobs, metrics.job = tuple(jobs), job.number
    metrics.unreadable = [line for line in metrics.unreadable if _reach(jobs, line) == job.number]
    if metrics.cut is not None and _reach(jobs, metrics.cut) != job.number:
        metrics.cut = None
    metrics.keep(job.rows)
    lines = set(metrics.lines)
    metrics.times = {line: time for line, time in metrics.times.items() if line in lines}
    is_odd = bool(metrics.negative or metrics.implausible)
    kept = {(name, step) for _, step, name, value in metrics.rows() if value is None} if is_odd else set()
    metrics.negative = [found for found in metrics.negative if found[:2] in kept]
    metrics.implausible = [found for found in metrics.implausible if found[:2] in kept]
    kinds = Counter(kind_of(value) for value, absent in zip(metrics.values, metrics.absent, strict=True) if not absent)
    for kind in ("NaN", "infinite"):
        metrics.odd[kind] = kinds[kind]


def keep_last_job(metrics: Metrics, path: Path) -> None:
    """Reduces the metrics of a file that is no log to its last job, where the step's timers tell it.

    Jobs have steps in common: a file may also list the steps of one in another order.
    """
    if step_timers().isdisjoint(metrics.names):
        return
    *others, last = (frozenset(chosen(metrics.steps, job.rows)) for job in jobs_of(metrics))
    if any(last & steps for steps in others):
        keep_job(metrics, path, "")
        if metrics.cut is not None and metrics.cut < metrics.jobs[-1].first_line:
            metrics.cut = None


def _reach(jobs: Sequence[Job], line: int) -> int:
    """The job to which a line without metrics belongs: the one whose lines hold it, else the next, else the last."""
    return next((job.number for job in jobs if line <= job.last_line), jobs[-1].number)


def jobs_of(metrics: Metrics) -> list[Job]:
    """The jobs of a log in the order of their first lines, at least one."""
    parts = [part for rows in _by_process(metrics) for part in _by_step(metrics, rows)]
    parts.sort(key=lambda rows: metrics.lines[rows[0]])
    return [_job(metrics, number, rows) for number, rows in enumerate(parts, 1)]


def _job(metrics: Metrics, number: int, rows: Sequence[int]) -> Job:
    steps = chosen(metrics.steps, rows)
    return Job(number, metrics.lines[rows[0]], metrics.lines[rows[-1]], min(steps), max(steps), rows)


def _by_process(metrics: Metrics) -> Sequence[Sequence[int]]:
    """Rows by process, where several processes logged the same metrics of the same steps in turn; else all rows."""
    whole = range(len(metrics.lines))
    if not metrics.owners:
        return [whole]
    rows: dict[str, list[int]] = defaultdict(list)
    for row, line in enumerate(metrics.lines):
        rows[metrics.owners.get(line, "")].append(row)
    groups = list(rows.values())  # by their first row
    ends = accumulate((group[-1] for group in groups), max)
    in_turn = any(group[0] < end for group, end in zip(groups[1:], ends, strict=False))
    if "" in rows or not in_turn:
        return [whole]
    keys = [{(metrics.steps[row], metrics.metrics[row]) for row in group} for group in groups]
    alike = all(len(a & b) >= _ALIKE * min(len(a), len(b)) for a, b in pairwise(sorted(keys, key=len, reverse=True)))
    return groups if alike else [whole]


def _by_step(metrics: Metrics, rows: Sequence[int]) -> list[Sequence[int]]:
    """Divides rows where the step number goes back to the first step or before it."""
    known = step_timers()
    timers = {number for number, name in enumerate(metrics.names) if name in known}
    is_timer = map(timers.__contains__, chosen(metrics.metrics, rows))
    told = [(place, metrics.steps[rows[place]]) for place in compress(range(len(rows)), is_timer)]
    if not told:
        places = [(metrics.lines[row], metrics.steps[row]) for row in rows]
        told = [(place, at[1]) for place, at in enumerate(places) if place == 0 or places[place - 1] != at]
    parts: list[Sequence[int]] = []
    start, first = 0, told[0][1]
    for (before, last), (_, step) in pairwise(told):
        if step < last and step <= first:
            # Rows in between belong to the new job if their step is not later: it validates before it trains.
            begin = next(place for place in range(before + 1, len(rows)) if metrics.steps[rows[place]] <= step)
            parts.append(rows[start:begin])
            start, first = begin, step
    return [*parts, rows[start:]]

"""Queries of a history, and additions to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap

import duckdb

import rlcompare
from rlcompare import db
from rlcompare.history import database
from rlcompare.history.environment import RELEASE, Configuration, divides, environment_of, environments
from rlcompare.history.place import Place
from rlcompare.history.records import Acknowledged, Added, NewRun, Run, Series, Setting, Value
from rlcompare.resources import sql


@dataclass(frozen=True)
class History:
    """All that a history says of its runs, and of chosen metrics.

    Attributes:
        runs: in the order of their start.
        series: of the usable runs of each environment.
        configurations: of the runs, in the order of their first ones.
    """

    runs: tuple[Run, ...]
    series: tuple[Series, ...]
    settings: tuple[Setting, ...]
    acknowledged: tuple[Acknowledged, ...]
    configurations: tuple[Configuration, ...] = ()


def load(place: Place, varied: Sequence[str] = (), metrics: Sequence[str] | None = None) -> History:
    """The runs of a history and their series.

    Args:
        varied: settings that do not divide the runs, or globs over them.
        metrics: names of metrics, or globs over them; None: all.

    Raises:
        InputError: there is no history, or it cannot be read.
    """

    def work(con: duckdb.DuckDBPyConnection) -> History:
        configurations = _divide(con, varied)
        con.execute("SET VARIABLE metrics = CAST(? AS VARCHAR[])", [None if metrics is None else list(metrics)])
        return History(
            tuple(starmap(Run, con.execute(sql("history/runs")).fetchall())),
            tuple(starmap(Series, con.execute(sql("history/series")).fetchall())),
            tuple(starmap(Setting, con.execute(sql("history/settings")).fetchall())),
            tuple(starmap(Acknowledged, con.execute(sql("history/acknowledged")).fetchall())),
            configurations,
        )

    return database.read(place, work)


def runs_and_values(place: Place, metrics: Sequence[str], varied: Sequence[str] = ()) -> tuple[list[Run], list[Value]]:
    """All runs, and their values of chosen metrics (names, or globs over them)."""

    def work(con: duckdb.DuckDBPyConnection) -> tuple[list[Run], list[Value]]:
        _divide(con, varied)
        con.execute("SET VARIABLE metrics = CAST(? AS VARCHAR[])", [list(metrics)])
        runs = list(starmap(Run, con.execute(sql("history/runs")).fetchall()))
        return runs, list(starmap(Value, con.execute(sql("history/values")).fetchall()))

    return database.read(place, work)


def _divide(con: duckdb.DuckDBPyConnection, varied: Sequence[str]) -> tuple[Configuration, ...]:
    """Makes the table ``run_environment``; returns the configurations of the runs."""
    con.execute("SET VARIABLE varied = CAST(? AS VARCHAR[])", [list(varied)])
    con.execute("SET VARIABLE release_keys = CAST(? AS VARCHAR[])", [list(RELEASE)])
    con.execute(sql("history/run_environment"))
    found = tuple(
        Configuration(digest, frozenset(releases), dict(zip(keys, values, strict=True)))
        for digest, releases, keys, values in con.execute(sql("history/configurations")).fetchall()
    )
    joined = [
        {"digest": digest, "environment": environment}
        for digest, environment in environments(found).items()
        if digest != environment
    ]
    if joined:
        con.execute(sql("history/continued"), db.as_parameter(joined))
    return found


def add(place: Place, runs: Sequence[NewRun]) -> list[Added]:
    """Adds runs, all or none. A run that the history has already is not added again."""

    def work(con: duckdb.DuckDBPyConnection) -> list[Added]:
        return [_add(con, run) for run in runs]

    return database.write(place, work)


def _add(con: duckdb.DuckDBPyConnection, run: NewRun) -> Added:
    known = con.execute(sql("history/known"), {"run": run.content}).fetchone()
    if known is not None:
        return Added(run, *known)
    now = time.time_ns()
    row = {
        "run": run.content,
        "name": run.name,
        "started_ns": now if run.started_ns is None else run.started_ns,
        "start_known": run.started_ns is not None,
        "added_ns": now,
        "label": run.label,
        "commit_id": run.commit_id,
        "author": run.author,
        "dirty": run.dirty,
        "status": run.status,
        "reason": run.reason,
        "headline": run.headline,
        "config": environment_of(run.settings),
        "rlcompare": rlcompare.__version__,
    }
    con.execute(sql("history/add_run"), {"run": db.as_parameter([row])[0][1:-1]})
    values = [{"metric": metric, "unit": unit, "value": value} for metric, unit, value in run.metrics]
    settings = [{"key": key, "value": value, "divides": divides(key)} for key, value in run.settings.items()]
    for name, rows in (("values", values), ("settings", settings)):
        if rows:
            con.execute(sql(f"history/add_{name}"), {"run": run.content, "rows": db.as_parameter(rows)[0]})
    (number, _) = con.execute(sql("history/known"), {"run": run.content}).fetchall()[0]
    return Added(run, number, None)


def acknowledge(place: Place, number: int, reason: str, expires: str, author: str | None) -> None:
    """Accepts the change that begins with a run.

    Args:
        expires: the last day on which that counts: ``YYYY-MM-DD``.
    """

    def work(con: duckdb.DuckDBPyConnection) -> None:
        given = {"made_ns": time.time_ns(), "reason": reason, "author": author, "expires": expires, "number": number}
        con.execute(sql("history/add_ack"), given)

    database.write(place, work)

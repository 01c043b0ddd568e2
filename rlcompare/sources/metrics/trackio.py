"""Reads trackio's database (``PROJECT.db`` in ``TRACKIO_DIR``): a row per step with the metrics as JSON."""

from __future__ import annotations

from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.sources.metrics import clock
from rlcompare.sources.metrics.database import opened
from rlcompare.sources.metrics.file_logger import json_value
from rlcompare.sources.metrics.history import OWN
from rlcompare.sources.metrics.values import Metrics, whole_step

TABLES = frozenset({"metrics", "configs"})
"""The tables that identify trackio's database, if there is none of MLflow's."""

_QUERY_RUNS = "SELECT run_name, min(id) FROM metrics GROUP BY run_name ORDER BY 2"
_QUERY_METRICS = "SELECT step, metrics, timestamp FROM metrics WHERE run_name = ? ORDER BY id"
_QUERY_CONFIG = "SELECT config FROM configs WHERE run_name = ? ORDER BY id DESC LIMIT 1"


def runs_in(path: Path) -> list[str]:
    """The names of the runs of a database, in the order of their first rows.

    Raises:
        InputError: it cannot be read.
    """
    with opened(path, "trackio") as con:
        return [str(name) for name, _ in con.execute(_QUERY_RUNS)]


def read(path: Path, run: str) -> Metrics:
    """Reads the metrics of one run of a database.

    Raises:
        InputError: it cannot be read, or holds no metrics of that run.
    """
    metrics = Metrics(unit="record")
    with opened(path, "trackio", metrics) as con:
        for record, (step, text, time) in enumerate(con.execute(_QUERY_METRICS, [run]), 1):
            _add(metrics, record, whole_step(step), json_value(_text(text)), clock.alone(_text(time)))
        found = [json_value(_text(text)) for (text,) in con.execute(_QUERY_CONFIG, [run])]
        metrics.config = found[0] if found and isinstance(found[0], dict) else {}
    if not metrics.steps:
        raise InputError(path, f"it contains no metrics of run {run[:60]}", "Pass another run of it")
    return metrics


def _text(value: object) -> str:
    """A text, which trackio stores as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _add(metrics: Metrics, record: int, step: int | None, data: object, logged: tuple[int, bool] | None) -> None:
    if step is None or not isinstance(data, dict):
        metrics.unreadable.append(record)
        return
    if logged is not None:
        metrics.times[record], metrics.local_times = logged[0], not logged[1]
    for name, given in data.items():
        if name not in OWN:
            # trackio writes what JSON has no number for as a text.
            metrics.add(record, step, name, float(given) if given in ("NaN", "Infinity", "-Infinity") else given)

"""Reads metrics from MLflow: its SQLite database (``mlflow.db``; verl's default is ``/tmp/mlruns.db``) or its folders.

MLflow allows no ``@`` in names, so verl replaces it by ``_at_``; this is reversed here. MLflow stores NaN as 0 with a
flag, and infinity as the largest float. verl logs its configuration as parameters, one row per leaf:
``actor_rollout_ref/actor/strategy``.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.sources.metrics import clock
from rlcompare.sources.metrics.database import opened
from rlcompare.sources.metrics.values import MOST_TABLE_BYTES, Metrics, check_size, whole_step

TABLES = frozenset({"metrics", "runs", "params", "experiments"})
"""The tables that identify MLflow's database."""

META = "meta.yaml"
METRICS = "metrics"
_PARAMS = "params"
_RUN = re.compile(rb"^run_(?:id|uuid):", re.MULTILINE)
_AT = re.compile(r"(?<=\w)_at_(?=\d)")
_VALIDATION = "val"  # prefix of the names in which verl has an @
_WORDS: Mapping[str, object] = {"None": None, "True": True, "False": False}
_WHOLE = re.compile(r"-?\d{1,18}")
_META_BYTES = 64 * 1024
_MOST_LEVELS = 12

_QUERY_RUNS = """
    SELECT r.run_uuid, r.name, e.name
    FROM runs AS r LEFT JOIN experiments AS e ON e.experiment_id = r.experiment_id
    WHERE r.run_uuid IN (SELECT run_uuid FROM metrics)
      AND coalesce(r.lifecycle_stage, 'active') <> 'deleted'
    ORDER BY r.start_time, r.run_uuid
"""
_QUERY_METRICS = """
    SELECT key, value, step, is_nan, timestamp FROM metrics WHERE run_uuid = ? ORDER BY timestamp, step, key
"""


@dataclass(frozen=True)
class MlflowRun:
    """A run of a database: its id, its name, and that of its experiment (verl's project)."""

    identifier: str
    name: str
    experiment: str


def runs_in(path: Path) -> list[MlflowRun]:
    """The runs of a database that have metrics, in the order of their start.

    Raises:
        InputError: it cannot be read.
    """
    with opened(path, "MLflow") as con:
        found = con.execute(_QUERY_RUNS).fetchall()
    return [MlflowRun(str(run), str(name or run), str(project or "")) for run, name, project in found]


def read(path: Path, run: str) -> Metrics:
    """Reads the metrics of one run of a database.

    Args:
        run: its id.

    Raises:
        InputError: it cannot be read, or holds no metrics of that run.
    """
    metrics = Metrics(unit="record")
    with opened(path, "MLflow", metrics) as con:
        for line, (name, value, step, is_nan, time) in enumerate(con.execute(_QUERY_METRICS, [run]), 1):
            _add(metrics, line, step, str(name), math.nan if is_nan else value, time)
        params = con.execute("SELECT key, value FROM params WHERE run_uuid = ?", [run])
        metrics.config = configuration((str(key), str(value)) for key, value in params)
    if not metrics.steps:
        raise InputError(path, f"it contains no metrics of run {run}", "Pass another run of it")
    return metrics


def is_run_folder(folder: Path, files: Sequence[str], folders: Sequence[str]) -> bool:
    """Whether a folder is a run in MLflow's file store: ``meta.yaml`` beside ``metrics/``."""
    if META not in files or METRICS not in folders or not (folder / META).is_file():
        return False
    with (folder / META).open("rb") as file:
        return _RUN.search(file.read(_META_BYTES)) is not None


def metric_files(folder: Path) -> tuple[Path, ...]:
    """The files of metrics and parameters of a run in the file store."""
    found = [path for part in (METRICS, _PARAMS) for path in (folder / part).rglob("*") if path.is_file()]
    return tuple(sorted(path for path in found if not path.is_symlink()))


def name_of_folder(folder: Path) -> str:
    """The name of a run in the file store."""
    with (folder / META).open("rb") as file:
        text = file.read(_META_BYTES).decode("utf-8", "replace")
    match = re.search(r"^run_name:[ \t]*['\"]?([^'\"\n]+)", text, re.MULTILINE)
    return match.group(1).strip() if match else folder.name


def read_folder(files: Sequence[Path]) -> Metrics:
    """Reads a run in the file store: a file per metric, a line per value (time, value, step).

    Args:
        files: as ``metric_files`` lists them.

    Raises:
        InputError: one cannot be opened, or none holds a value.
    """
    metrics = Metrics(unit="record")
    params: list[tuple[str, str]] = []
    line = 0
    for path in files:
        kind, name = _part_and_name(path)
        try:
            check_size(path, MOST_TABLE_BYTES, "Pass another run, or a copy without this file")
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError(path, error.strerror or str(error), "Check that it still exists") from error
        if kind == _PARAMS:
            params.append((name, text))
            continue
        for row in sorted(filter(None, map(str.split, text.splitlines())), key=lambda row: row[0].zfill(20)):
            line += 1
            step = whole_step(row[2]) if len(row) == 3 else None
            if step is None:
                metrics.unreadable.append(line)
            else:
                _add(metrics, line, step, name, row[1], row[0])
    metrics.odd.pop("quoted", None)
    metrics.config = configuration(params)
    if not metrics.steps:
        raise InputError(files[0] if files else Path(), "it contains no metric values", "Pass another run")
    return metrics


def _part_and_name(path: Path) -> tuple[str, str]:
    """The kind of data in a run's file, and the name in its path below that kind's folder."""
    parts = [part for part in path.parents if part.name in (METRICS, _PARAMS) and (part.parent / META).is_file()]
    return parts[0].name, path.relative_to(parts[0]).as_posix()


def _add(metrics: Metrics, line: int, step: object, name: str, value: object, time: object) -> None:
    whole = whole_step(step)
    if whole is None:
        metrics.unreadable.append(line)
        return
    if isinstance(value, float) and abs(value) == sys.float_info.max:
        value = math.copysign(math.inf, value)
    if (logged := clock.of_epoch(time)) is not None:
        metrics.times[line] = logged
    metrics.add(line, whole, _AT.sub("@", name) if name.startswith(_VALIDATION) else name, value)


def configuration(params: Iterable[tuple[str, str]]) -> dict[str, object]:
    """The configuration tree from verl's parameters. A list was logged as its length and its items."""
    tree: dict[str, object] = {}
    for key, text in params:
        *path, leaf = key.split("/")
        node: dict[str, object] = tree
        for part in path[:_MOST_LEVELS]:
            inner = node.setdefault(part, {})
            if not isinstance(inner, dict):
                break
            node = inner
        else:
            node[leaf] = _value(text.strip())
    return {key: _with_lists(value) for key, value in tree.items()}


def _value(text: str) -> object:
    try:
        return _WORDS[text] if text in _WORDS else int(text) if _WHOLE.fullmatch(text) else float(text)
    except ValueError:
        return text


def _with_lists(value: object) -> object:
    if not isinstance(value, dict):
        return value
    length = value.get("list_len")
    if isinstance(length, int) and 0 <= length < len(value):
        return [_with_lists(value.get(str(place))) for place in range(length)]
    return {key: _with_lists(inner) for key, inner in value.items()}

"""Reads a file of training metrics, a line per step as verl's file logger writes it: ``{"step": 1, "data": {…}}``.

Such files may end in a cut line, hold bare NaN and Infinity, null in their place, numbers as ``np.float64(0.23)``, and
steps twice after a restart. Everything that can be told is kept; what cannot is counted, and said.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from rlcompare import resources
from rlcompare.errors import InputError
from rlcompare.model.run import Finding
from rlcompare.store import database

_NUMPY = re.compile(r"\b(?:np|numpy)\.(?:float|int|uint|bool_?)\d*_?\(([^()]*)\)")
_WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf}
_NAME_LENGTH = 300
_SHOWN = 5
_MOST_STEP = 2**62


@dataclass
class Metrics:
    """The values of a file, column by column, and what was odd about it.

    Attributes:
        lines, steps, names, values: of each value the line (from 1), the step, the metric, and the number or None.
        unreadable: numbers of the lines that hold nothing that can be read.
        cut: whether the last of them is the file's last, which lacks its end.
        repeated: steps that stand in several lines.
        odd: how many values are no plain numbers, by kind: NaN, infinite, null, numpy, quoted, text.
    """

    lines: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    cut: bool = False
    repeated: list[int] = field(default_factory=list)
    odd: Counter[str] = field(default_factory=Counter)


def read_metrics(path: Path) -> Metrics:
    """Reads a file of metrics.

    Raises:
        InputError: it cannot be opened, or holds no line that can be read.
    """
    metrics = Metrics()
    seen: set[int] = set()
    whole = True
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
            for number, line in enumerate(file, 1):
                whole = line.endswith("\n")
                if not line.strip():
                    continue
                step, data = _parsed(line, metrics)
                if data is None:
                    metrics.unreadable.append(number)
                    continue
                if step in seen and step not in metrics.repeated:
                    metrics.repeated.append(step)
                seen.add(step)
                _add(metrics, number, step, data)
    except OSError as error:
        raise InputError(path, error.strerror or str(error), "Check that it is still there and may be read") from error
    metrics.cut = bool(metrics.unreadable) and not whole and metrics.unreadable[-1] == number
    if not seen:
        what = "its only line is cut" if metrics.cut and number == 1 else "no line of it can be read"
        remedy = 'Name a file with lines such as {"step": 1, "data": {"timing_s/step": 1.5}}'
        raise InputError(path, f"it holds no metrics: {what}", remedy)
    return metrics


def _parsed(line: str, metrics: Metrics) -> tuple[int, dict[str, object] | None]:
    """The step and the values of a line; None where it is no such line."""
    value = _json(line)
    if value is None and _NUMPY.search(line):
        value = _json(_NUMPY.sub(_unpacked, line))
        metrics.odd["numpy"] += len(_NUMPY.findall(line)) if value is not None else 0
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        return 0, None
    step = value.get("step")
    if isinstance(step, float) and step.is_integer():
        step = int(step)
    if not isinstance(step, int) or isinstance(step, bool) or abs(step) > _MOST_STEP:
        return 0, None
    return step, value["data"]


def _unpacked(match: re.Match[str]) -> str:
    """The number in ``np.float64(…)``, as JSON writes it."""
    text = match.group(1).strip()
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "True": "true", "False": "false"}
    return special.get(text, text if re.fullmatch(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text) else _with_digits(text))


def _with_digits(text: str) -> str:
    """Numbers that Python writes and JSON does not know, such as ``1.`` and ``.5``."""
    try:
        return repr(float(text))
    except ValueError:
        return json.dumps(text)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _add(metrics: Metrics, line: int, step: int, data: dict[str, object]) -> None:
    for name, given in data.items():
        kind, value = _number(given)
        if kind:
            metrics.odd[kind] += 1
        if kind == "text":
            continue
        metrics.lines.append(line)
        metrics.steps.append(step)
        metrics.names.append(name.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:_NAME_LENGTH])
        metrics.values.append(value)


def _number(given: object) -> tuple[str, float | None]:
    """What is odd about a value, and the number that it is; kind ``text``: it is none at all."""
    if given is None:
        return "null", None
    if isinstance(given, str):
        match = _NUMPY.fullmatch(given.strip())
        text = (match.group(1) if match else given).strip().lower()
        value = _WORDS.get(text)
        if value is None:
            try:
                value = float({"true": "1", "false": "0"}.get(text, text))
            except ValueError:
                return "text", None
        return _kind_of(value) or ("numpy" if match else "quoted"), value
    if isinstance(given, (bool, int, float)):
        try:
            return _kind_of(float(given)), float(given)
        except OverflowError:  # a whole number beyond what a float holds
            return "infinite", math.inf if given > 0 else -math.inf
    return "text", None


def _kind_of(value: float) -> str:
    return "NaN" if math.isnan(value) else "infinite" if math.isinf(value) else ""


def load_metrics(
    con: duckdb.DuckDBPyConnection, path: Path, profiled: list[int] | None, warmup: list[int] | None
) -> Metrics:
    """Fills the table ``metric`` from a file.

    Args:
        profiled: the steps that ran under a profiler; None: unknown, none is taken to have.
        warmup: the steps that are no measure of speed because the run had just begun; None: unknown.

    Raises:
        InputError: it cannot be read.
    """
    import pyarrow

    metrics = read_metrics(path)
    columns = {
        "line": pyarrow.array(metrics.lines, pyarrow.int64()),
        "step": pyarrow.array(metrics.steps, pyarrow.int64()),
        "name": pyarrow.array(metrics.names, pyarrow.string()),
        "value": pyarrow.array(metrics.values, pyarrow.float64()),
    }
    con.execute("SET VARIABLE metrics_source = ?", [path.name])
    con.execute("SET VARIABLE profiled_steps = CAST(? AS BIGINT[])", [profiled])
    con.execute("SET VARIABLE warmup_steps = CAST(? AS BIGINT[])", [warmup])
    con.register("stage_metric", pyarrow.table(columns))
    try:
        database.run(con, resources.sql("sources/run_directory/metric"))
    finally:
        con.unregister("stage_metric")
    return metrics


def findings_of(metrics: Metrics, name: str) -> Iterator[Finding]:
    """What a reader must know about a file of metrics.

    Args:
        name: what the file is called.
    """
    unreadable = metrics.unreadable[:-1] if metrics.cut else metrics.unreadable
    if metrics.cut:
        text = f"{name} ends in a cut line ({metrics.unreadable[-1]}), as when a run is killed"
        yield Finding("warning", "cut_metrics", f"{text}; the lines before it count")
    if unreadable:
        lines = "1 line" if len(unreadable) == 1 else f"{len(unreadable)} lines"
        text = f"{lines} of {name} cannot be read and were left out: {_listed(unreadable)}"
        yield Finding("warning", "unreadable_metrics", text)
    if metrics.repeated:
        text = f"{name} holds several lines for {_counted(len(metrics.repeated), 'step')} ({_listed(metrics.repeated)})"
        yield Finding("warning", "repeated_steps", f"{text}, as after a restart: the last of each counts")
    kinds = [f"{metrics.odd[kind]} {words}" for kind, words in _NOT_FINITE.items() if metrics.odd[kind]]
    if kinds:
        text = f"values in {name} that are no finite numbers: {', '.join(kinds)}; means leave them out"
        yield Finding("info", "not_finite", text)
    if metrics.odd["numpy"]:
        text = f"{_counted(metrics.odd['numpy'], 'value')} in {name} written as np.float64(…) or the like"
        yield Finding("info", "numpy_numbers", f"{text}: the number in it counts")
    if metrics.odd["quoted"]:
        text = f"{_counted(metrics.odd['quoted'], 'value')} in {name} written as text: the number in it counts"
        yield Finding("info", "quoted_numbers", text)
    if metrics.odd["text"]:
        text = f"{_counted(metrics.odd['text'], 'value')} in {name} that are no numbers at all were left out"
        yield Finding("info", "no_numbers", text)


_NOT_FINITE = {"NaN": "NaN", "infinite": "infinite", "null": "null"}


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    return f"{shown} and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else shown


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

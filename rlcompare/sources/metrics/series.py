"""Reads exports of one series per metric, as JSON: what ClearML's and SwanLab's interfaces return.

* ClearML, ``Task.get_reported_scalars()`` or ``get_all_reported_scalars()``: ``{title: {series: {"x": …, "y": …}}}``;
  verl logs ``timing_s/step`` as series ``step`` of ``timing_s``.
* SwanLab, ``swanlab api run metrics … --save``, or ``run.metrics(…)``: ``{"list": [{"key": …, "metrics": [{"index": …,
  "data": …}]}]}``, be it inside ``data``; with all points they are called ``step`` and ``value``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rlcompare import untrusted
from rlcompare.errors import InputError
from rlcompare.sources.metrics import clock
from rlcompare.sources.metrics.values import Metrics, whole_step

JSON_LIMIT_BYTES = 256 * 2**20

_TEXT = r'"(?:[^"\\]|\\.){1,300}"'
_CLEARML = re.compile(
    rf'\s*\{{\s*{_TEXT}\s*:\s*\{{\s*{_TEXT}\s*:\s*\{{\s*(?:"name"\s*:\s*{_TEXT}\s*,\s*)?"[xy]"\s*:\s*\['.encode()
)
_SWANLAB = re.compile(rb'\s*[\[{][^\0]{0,2000}?"metrics"\s*:\s*\[\s*\{[^{}\0]{0,300}"(?:value|step|index)"\s*:')

_Point = tuple[str, object, object, object]


def is_series(head: bytes) -> bool:
    """Whether a text begins as such an export does."""
    return _CLEARML.match(head) is not None or _SWANLAB.match(head) is not None


def read(path: Path) -> Metrics:
    """Reads an export.

    Raises:
        InputError: it cannot be opened, is no such export, or holds no value.
    """
    metrics = Metrics(unit="record")
    try:
        document = untrusted.parse_json(untrusted.read(path, JSON_LIMIT_BYTES))
    except untrusted.RefusedError as error:
        raise InputError(path, error.problem, "Export it again, with fewer metrics if it is large") from error
    points = sorted(_points(document), key=lambda point: (whole_step(point[1]) is None, whole_step(point[1]) or 0))
    for record, (name, step, value, time) in enumerate(points, 1):
        number = whole_step(step)
        if number is None:
            metrics.unreadable.append(record)
            continue
        if (logged := clock.of_epoch(time)) is not None:
            metrics.times[record] = logged
        metrics.add(record, number, name, value)
    if not metrics.steps:
        raise InputError(path, "it contains no metrics: no series has a step and a number", "Export it again")
    return metrics


def _points(document: object) -> Iterator[_Point]:
    """Name, step, value and time of each value."""
    if isinstance(document, dict) and ("list" in document or "data" in document or "metrics" in document):
        document = document.get("data", document)
        document = document.get("list", document) if isinstance(document, dict) else document
        yield from _of_swanlab(document if isinstance(document, list) else [document])
    elif isinstance(document, list):
        yield from _of_swanlab(document)
    elif isinstance(document, dict):
        yield from _of_clearml(document)


def _of_swanlab(entries: list[object]) -> Iterator[_Point]:
    for entry in (entry for entry in entries if isinstance(entry, dict)):
        name, points = entry.get("key"), entry.get("metrics")
        if not isinstance(name, str) or not isinstance(points, list):
            continue
        axis = entry.get("xAxis")
        by_step = not isinstance(axis, dict) or str(axis.get("type", "step")).lower() == "step"
        for point in points:
            if isinstance(point, dict):
                step = point.get("step", point.get("index") if by_step else None)
                yield name, step, point.get("value", point.get("data")), point.get("timestamp")


def _of_clearml(titles: dict[object, object]) -> Iterator[_Point]:
    for title, group in titles.items():
        for series, axes in group.items() if isinstance(group, dict) else ():
            steps, values = (axes.get("x"), axes.get("y")) if isinstance(axes, dict) else (None, None)
            if isinstance(steps, list) and isinstance(values, list):
                for step, value in zip(steps, values, strict=False):
                    yield f"{title}/{series}", step, value, None

"""Reads the output of verl's ``file`` logger: a line per step, ``{"step": 1, "data": {…}}``.

Older releases write bare NaN and Infinity, later ones null; a job that was killed leaves a truncated line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.sources.metrics.jobs_in_log import keep_job
from rlcompare.sources.metrics.values import LINE_BYTES, NUMPY, Metrics, whole_step

_READ_AT_ONCE = 2**20
"""Each read lets another thread run: with few bytes at once, logs that are read side by side wait for each other."""


def read(path: Path, part: str = "") -> Metrics:
    """Reads a file of metrics.

    Args:
        part: the number of the job in it, if it holds several; empty: the last one.

    Raises:
        InputError: it cannot be opened, or has no readable line, or no such job.
    """
    metrics = Metrics()
    for line, text, whole in lines_of(path):
        step, data = _parsed(text, metrics)
        if step is None or data is None:
            note_unreadable(metrics, line, whole)
            continue
        metrics.add_step(line, step, data)
    if not metrics.steps:
        what = "its only line is truncated" if metrics.cut == 1 else "none of its lines can be read"
        remedy = 'Pass a file with lines such as {"step": 1, "data": {"timing_s/step": 1.5}}'
        raise InputError(path, f"it contains no metrics: {what}", remedy)
    keep_job(metrics, path, part)
    return metrics


def lines_of(path: Path) -> Iterator[tuple[int, str, bool]]:
    """The non-empty lines of a text, numbered from 1, and whether each has an end. Lines that are too long are empty.

    NUL bytes around a line, which a machine that failed may leave, are dropped.

    Raises:
        InputError: it cannot be opened or read.
    """
    try:
        with path.open("rb", buffering=_READ_AT_ONCE) as file:
            for line in count(1):
                data = file.readline(LINE_BYTES)
                if not data:
                    return
                end = data
                while len(end) == LINE_BYTES and not end.endswith(b"\n"):
                    data, end = b"", file.readline(LINE_BYTES)
                text = data.decode("utf-8-sig" if line == 1 else "utf-8", "replace")
                text = text.strip("\0\r\n") or text
                if text.strip() or not data:
                    yield line, text, end.endswith(b"\n")
    except OSError as error:
        raise InputError(path, error.strerror or str(error), "Check that it still exists and is readable") from error


def note_unreadable(metrics: Metrics, line: int, whole: bool) -> None:
    """Counts an unreadable line: as cut if it is the last one and has no end."""
    if whole:
        metrics.unreadable.append(line)
    else:
        metrics.cut = line


def _parsed(line: str, metrics: Metrics) -> tuple[int | None, dict[str, object] | None]:
    """The step and the values of a line; None if invalid."""
    value = json_value(line)
    if value is None and NUMPY.search(line):
        value = json_value(NUMPY.sub(_unpacked, line))
        metrics.odd["numpy"] += len(NUMPY.findall(line)) if value is not None else 0
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        return None, None
    return whole_step(value.get("step")), value["data"]


def json_value(text: str) -> object:
    """The content of a line of JSON, or None."""
    import msgspec  # takes 6 ms

    with suppress(msgspec.DecodeError, RecursionError):
        return msgspec.json.decode(text)  # more than twice as quick as what reads NaN and Infinity too
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _unpacked(match: re.Match[str]) -> str:
    """The number in ``np.float64(…)``, as JSON writes it."""
    text = match.group(1).strip()
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "True": "true", "False": "false"}
    return special.get(text, text if re.fullmatch(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text) else _with_digits(text))


def _with_digits(text: str) -> str:
    """Converts numbers that Python writes but JSON does not allow, such as ``1.`` and ``.5``."""
    try:
        return repr(float(text))
    except ValueError:
        return json.dumps(text)

"""Metric values of a file, and the parsing of numbers in every format in which they are printed.

Files may end in a truncated line, contain NaN, Infinity, null or ``np.float64(0.23)``, and repeat steps after a
restart. Everything readable is kept; the rest is counted, with the line of the first occurrence.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from rlcompare.metrics import entry

NUMPY = re.compile(r"\b(?:np|numpy)\.(?:float|int|uint|bool_?)\d*_?\(([^()]*)\)")
"""A NumPy 2 number as Python prints it."""

NAME_LENGTH = 300
LINE_BYTES = 16 * 2**20
"""Longer lines hold no metrics: a step takes a few kilobytes."""

MOST_STEP = 2**62

MOST_VALUE = 1e100
"""Larger numbers are kept but not compared: squares and sums would overflow. 32-bit floats end at 3.4e38."""

_NEVER_NEGATIVE = ("timing_s/", "workload.")
"""Names of metrics that are times or counts, beside those in the catalogue."""

_WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf}


@dataclass(frozen=True)
class Earlier:
    """The jobs in a file before its last one: their number of steps, and their last line."""

    steps: int
    last_line: int


@dataclass
class Metrics:
    """The values of one source, column by column, and its anomalies.

    Attributes:
        lines, steps, names, values: for each value its position in the file (``unit``, from 1), the step, the metric,
            and the number or None.
        unreadable: positions of metrics that cannot be read.
        cut: position of the file's last line or record if it is incomplete; else None.
        negative: negative values of metrics that cannot be negative, as (metric, step, value); they are kept as None.
        cut_in_part: whether the incomplete line or record has values that were read.
        odd: number of values that are not plain numbers, by kind: NaN, infinite, null, numpy, quoted, text, unnamed (no
            name), cut (a step followed by another one in the same line before its end), nul (NUL bytes).
        first_text: position of the first value that is not a number.
        first_cut: position of the first step followed by another one in the same line before its end.
        rounded: whether all values have three decimals, as in verl's console before 0.5.
        config: the job's configuration, if the file has it.
        earlier: data of earlier jobs that was left out; None if there is only one job.
        lost_log: whether a database has a write-ahead log that could not be used.
        unit: the unit of positions: ``line`` or ``record``.
    """

    lines: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    cut: int | None = None
    cut_in_part: bool = False
    odd: Counter[str] = field(default_factory=Counter)
    first_text: int | None = None
    first_cut: int | None = None
    rounded: bool = False
    config: Mapping[str, object] = field(default_factory=dict)
    earlier: Earlier | None = None
    lost_log: bool = False
    negative: list[tuple[str, int, float]] = field(default_factory=list)
    unit: str = "line"

    def add(self, line: int, step: int, name: str, given: object) -> None:
        """Adds a value as it was written; values without a name or number are counted and dropped."""
        kind, value = number(given)
        if not name:
            self.odd["unnamed"] += 1
            return
        if kind:
            self.odd[kind] += 1
        if kind == "text":
            self.first_text = line if self.first_text is None else self.first_text
            return
        if value is not None and value < 0 and is_impossible(name, value):
            self.negative.append((name, step, value))
            value = None
        self.lines.append(line)
        self.steps.append(step)
        self.names.append(name.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:NAME_LENGTH])
        self.values.append(value)


def keep_last_job(metrics: Metrics) -> None:
    """Drops earlier jobs from a log. A new job begins where steps go back to the log's first step or before it.

    A job that resumes from a checkpoint goes back to a later step, and counts as the same job. Steps with validation
    only do not count: each job may begin with them.
    """
    rows = list(zip(metrics.lines, metrics.steps, metrics.names, strict=True))
    told = [(place, step) for place, (_, step, name) in enumerate(rows) if name == "timing_s/step"]
    told = told or [(place, step) for place, (_, step, _) in enumerate(rows) if rows[place - 1][:2] != rows[place][:2]]
    begun = [
        (before, step) for (before, last), (_, step) in pairwise(told) if step < last and step <= told[0][1]
    ]  # fmt: skip
    if not begun:
        return
    before, first = begun[-1]
    # Rows in between belong to the new job if their step is not later: it validates before it trains.
    start = next(place for place in range(before + 1, len(rows)) if rows[place][1] <= first)
    metrics.earlier = Earlier(sum(place <= before for place, _ in told), rows[start - 1][0])
    metrics.unreadable = [line for line in metrics.unreadable if line > rows[start - 1][0]]
    kept = set(zip(metrics.names[start:], metrics.steps[start:], strict=True))
    metrics.negative = [found for found in metrics.negative if found[:2] in kept]
    metrics.lines, metrics.steps = metrics.lines[start:], metrics.steps[start:]
    metrics.names, metrics.values = metrics.names[start:], metrics.values[start:]


def is_impossible(name: str, value: float) -> bool:
    """Whether a negative value is impossible for a metric: a time, a count, a size or a rate."""
    known = entry(name)
    if known is None:
        return name.startswith(_NEVER_NEGATIVE)
    return known.is_never_negative and value != known.unknown


def number(given: object) -> tuple[str, float | None]:
    """The kind of deviation of a value from a plain number, and its number; kind ``text``: not a number."""
    if given is None:
        return "null", None
    if isinstance(given, str):
        return _written_number(given)
    if isinstance(given, (bool, int, float)):
        try:
            return kind_of(float(given)), float(given)
        except OverflowError:  # an integer too large for a float
            return "infinite", math.inf if given > 0 else -math.inf
    return "text", None


def _written_number(given: str) -> tuple[str, float | None]:
    match = NUMPY.fullmatch(given.strip())
    text = (match.group(1) if match else given).strip().lower()
    value = _WORDS.get(text)
    if value is None:
        if "_" in text:  # Python accepts underscores between digits
            return "text", None
        try:
            value = float({"true": "1", "false": "0"}.get(text, text))
        except ValueError:
            return "text", None
    return kind_of(value) or ("numpy" if match else "quoted"), value


def kind_of(value: float) -> str:
    """``NaN`` or ``infinite`` if a number is that, or too large to be compared; else empty."""
    return "NaN" if math.isnan(value) else "infinite" if abs(value) > MOST_VALUE else ""


def whole_step(value: object) -> int | None:
    """The value as a step number; None if it is not a valid one."""
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,18}(?:\.0*)?\s*", value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > MOST_STEP:
        return None
    return value

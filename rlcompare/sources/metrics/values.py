"""The values that a file of metrics holds, and how one number is read, however it was printed.

Files may end in a cut line, hold NaN, Infinity or null, numbers as ``np.float64(0.23)``, and steps twice after a
restart. Everything that can be told is kept; what cannot is counted, with the first line that it stands in.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

NUMPY = re.compile(r"\b(?:np|numpy)\.(?:float|int|uint|bool_?)\d*_?\(([^()]*)\)")
"""A number as Python prints those of NumPy 2."""

NAME_LENGTH = 300
LINE_BYTES = 16 * 2**20
"""A line that is as long holds no metrics: a step has a few kilobytes."""

MOST_STEP = 2**62

MOST_VALUE = 1e100
"""Beyond it, squares and sums overflow. What trains in 32 bits has no number above 3.4e38."""

_WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf}


@dataclass(frozen=True)
class Earlier:
    """What a file holds of jobs before its last one: how many steps, and their last line."""

    steps: int
    last_line: int


@dataclass
class Metrics:
    """The values of one source, column by column, and what was odd about it.

    Attributes:
        lines, steps, names, values: of each value the place in the file (``unit``, from 1), the step, the metric, and
            the number or None.
        unreadable: the places of what should be metrics and cannot be read.
        cut: the place of the file's last line or record where that lacks its end; None where it is whole.
        cut_in_part: whether values stand before that cut, and were taken.
        odd: how many values are no plain numbers, by kind: NaN, infinite, null, numpy, quoted, text, or have no name:
            unnamed; and cut: steps that lack their end before another one in the same line.
        first_text: the place of the first value that is no number at all.
        first_cut: the place of the first step that lacks its end before another one in the same line.
        rounded: whether all values were written with three decimals, as verl's console did before 0.5.
        config: the job's configuration, where it stands beside the metrics.
        earlier: what was left out because it is of a job before the last one; None where there is one job.
        lost_log: whether a database's write-ahead log was there and could not be used.
        unit: what a place counts: ``line`` or ``record``.
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
    unit: str = "line"

    def add(self, line: int, step: int, name: str, given: object) -> None:
        """Adds a value as it was written; what has no name or is no number at all is counted, and not kept."""
        kind, value = number(given)
        if not name:
            self.odd["unnamed"] += 1
            return
        if kind:
            self.odd[kind] += 1
        if kind == "text":
            self.first_text = line if self.first_text is None else self.first_text
            return
        self.lines.append(line)
        self.steps.append(step)
        self.names.append(name.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:NAME_LENGTH])
        self.values.append(value)


def keep_last_job(metrics: Metrics) -> None:
    """Leaves out what a log holds of earlier jobs: those before its steps begin anew, at its first one or before.

    A job that goes on from a checkpoint goes back to a later step, and is the same one. Steps that were only validated
    do not tell: each job may begin with them.
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
    # What stands between is the new job's where it is no later step: it validates before it trains.
    start = next(place for place in range(before + 1, len(rows)) if rows[place][1] <= first)
    metrics.earlier = Earlier(sum(place <= before for place, _ in told), rows[start - 1][0])
    metrics.unreadable = [line for line in metrics.unreadable if line > rows[start - 1][0]]
    metrics.lines, metrics.steps = metrics.lines[start:], metrics.steps[start:]
    metrics.names, metrics.values = metrics.names[start:], metrics.values[start:]


def number(given: object) -> tuple[str, float | None]:
    """What is odd about a value, and the number that it is; kind ``text``: it is none at all."""
    if given is None:
        return "null", None
    if isinstance(given, str):
        return _written_number(given)
    if isinstance(given, (bool, int, float)):
        try:
            return kind_of(float(given)), bounded(float(given))
        except OverflowError:  # a whole number beyond what a float holds
            return "infinite", math.inf if given > 0 else -math.inf
    return "text", None


def _written_number(given: str) -> tuple[str, float | None]:
    match = NUMPY.fullmatch(given.strip())
    text = (match.group(1) if match else given).strip().lower()
    value = _WORDS.get(text)
    if value is None:
        if "_" in text:  # which Python would take for digits in groups
            return "text", None
        try:
            value = float({"true": "1", "false": "0"}.get(text, text))
        except ValueError:
            return "text", None
    return kind_of(value) or ("numpy" if match else "quoted"), bounded(value)


def bounded(value: float) -> float:
    """The number, or an infinity where it is beyond ``MOST_VALUE``."""
    return math.copysign(math.inf, value) if abs(value) > MOST_VALUE else value


def kind_of(value: float) -> str:
    """``NaN`` or ``infinite`` where a number is that, or so large that it might as well be; else empty."""
    return "NaN" if math.isnan(value) else "infinite" if abs(value) > MOST_VALUE else ""


def whole_step(value: object) -> int | None:
    """The step that a value is; None where it is no whole number that a step could be."""
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,18}(?:\.0*)?\s*", value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > MOST_STEP:
        return None
    return value

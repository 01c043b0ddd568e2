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
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlcompare.sources.metrics.jobs_in_log import Job

from rlcompare.errors import InputError
from rlcompare.metrics import entry
from rlcompare.metrics.catalogue import step_timers

NUMPY = re.compile(r"\b(?:np|numpy)\.(?:float|int|uint|bool_?)\d*_?\(([^()]*)\)")
"""A NumPy 2 number as Python prints it."""

NAME_LENGTH = 300
LINE_BYTES = 16 * 2**20
"""Longer lines hold no metrics: a step takes a few kilobytes."""

MOST_LOG_BYTES = 768 * 2**20
"""Larger logs are refused: each byte is read several times. A step takes a few kilobytes."""

MOST_TABLE_BYTES = 128 * 2**20
"""Largest file whose text is held in memory, in parts and as a whole."""

MOST_STEP = 2**62

MOST_VALUE = 1e100
"""Larger numbers are kept but not compared: squares and sums would overflow. 32-bit floats end at 3.4e38."""

LONGEST_SECONDS = 366 * 24 * 3600
"""Longer times are none: a wrong unit, a moment instead of a duration, or damage. Some metrics sum over a whole job,
which may take months."""

SHORTEST_STEP_SECONDS = 1e-9

LARGEST_COUNT = 2**63
"""Larger counts and sizes are none: no counter holds them."""

_NEVER_NEGATIVE = ("timing_s/", "workload.")
"""Names of metrics that are times or counts, beside those in the catalogue."""

_WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf}


@dataclass
class Metrics:
    """The values of one source, column by column, and its anomalies.

    Attributes:
        lines, steps, names, values: for each value its position in the file (``unit``, from 1), the step, the metric,
            and the number or None.
        unreadable: positions of metrics that cannot be read.
        cut: position of the file's last line or record if it is incomplete; else None.
        negative: negative values of metrics that cannot be negative, as (metric, step, value); they are kept as None.
        implausible: values beyond any sense, likewise (``is_implausible``).
        cut_in_part: whether the incomplete line or record has values that were read.
        odd: number of values that are not plain numbers, by kind: NaN, infinite, null, numpy, quoted, text, unnamed (no
            name), cut (a step followed by another one in the same line before its end), nul (NUL bytes), wrapped (lines
            that a terminal broke and that cannot be put together).
        first_text: position of the first value that is not a number.
        first_cut: position of the first step followed by another one in the same line before its end.
        rounded: whether all values have three decimals, as in verl's console before 0.5.
        config: the job's configuration, if the file has it.
        owners: the process that printed a line of a log, by the line's position, as far as the log tells it.
        jobs: the jobs that the file holds, if it holds several; ``job`` is the number of the one that was read.
        times: when values were logged, in nanoseconds since the epoch, by their position, as far as the file tells it.
        local_times: whether ``times`` are in an unknown time zone, read as UTC.
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
    owners: dict[int, str] = field(default_factory=dict)
    jobs: tuple[Job, ...] = ()
    job: int = 0
    times: dict[int, int] = field(default_factory=dict)
    local_times: bool = False
    lost_log: bool = False
    negative: list[tuple[str, int, float]] = field(default_factory=list)
    implausible: list[tuple[str, int, float]] = field(default_factory=list)
    unit: str = "line"
    _names: dict[str, str] = field(default_factory=dict, repr=False)

    def step_times(self) -> dict[int, int]:
        """When each step was logged, in nanoseconds since the epoch: the last time that the file has for it."""
        return {step: self.times[line] for line, step in zip(self.lines, self.steps, strict=True) if line in self.times}

    def add(self, line: int, step: int, name: str, given: object) -> None:
        """Adds a value as it was written; values without a name or number are counted and dropped."""
        # Nearly all values: this must be quick. What may be implausible goes the long way.
        if type(given) is float and SHORTEST_STEP_SECONDS <= given <= LONGEST_SECONDS and name in self._names:
            self.lines.append(line)
            self.steps.append(step)
            self.names.append(self._names[name])
            self.values.append(given)
            return
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
        elif value is not None and not kind_of(value) and is_implausible(name, value):
            self.implausible.append((name, step, value))
            value = None
        self.lines.append(line)
        self.steps.append(step)
        if name not in self._names:  # each is in memory once, although a parser makes a new one for every line
            self._names[name] = name.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:NAME_LENGTH]
        self.names.append(self._names[name])
        self.values.append(value)


def check_size(path: Path, most_bytes: int, remedy: str) -> None:
    """Refuses a file that is too large to be read.

    Raises:
        InputError: it is.
        OSError: it does not exist.
    """
    if path.stat().st_size > most_bytes:
        raise InputError(path, f"it is larger than {most_bytes // 2**20} MiB", remedy)


def is_impossible(name: str, value: float) -> bool:
    """Whether a negative value is impossible for a metric: a time, a count, a size or a rate."""
    known = entry(name)
    if known is None:
        return name.startswith(_NEVER_NEGATIVE)
    return known.is_never_negative and value != known.unknown


def is_implausible(name: str, value: float) -> bool:
    """Whether a metric cannot have this value: a time of years, a step that takes no time, a count of 10^30."""
    known = entry(name)
    unit = known.unit if known else "s" if name.startswith("timing_s/") else ""
    if name in step_timers() and 0 <= value < SHORTEST_STEP_SECONDS:
        return True
    if known and value == known.unknown:
        return False
    if unit == "s":
        return abs(value) > LONGEST_SECONDS
    is_count = known.is_never_negative if known else name.startswith(_NEVER_NEGATIVE)
    return is_count and abs(value) > LARGEST_COUNT


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

"""Metric values of a file, and the parsing of numbers in every format in which they are printed.

Files may end in a truncated line, contain NaN, Infinity, null or ``np.float64(0.23)``, and repeat steps after a
restart. Everything readable is kept; the rest is counted, with the line of the first occurrence.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

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

MOST_STEP = 10**15
"""Larger numbers are no steps: as floating-point numbers, neighbours could be one."""

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

V = TypeVar("V", int, float)

_WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf}


@dataclass
class Metrics:
    """The values of one source, column by column, and its anomalies.

    Attributes:
        lines, steps, metrics, values: for each value its position in the file (``unit``, from 1), the step, the metric
            as its place in ``names``, and the number; NaN if there is none. Arrays, since there may be millions.
        absent: for each value 1 if there is no number, else 0.
        names: the metrics, each once, in the order of their first values.
        unreadable: positions of metrics that cannot be read.
        cut: position of the file's last line or record if it is incomplete; else None.
        negative: negative values of metrics that cannot be negative, as (metric, step, value); they are kept as None.
        implausible: values beyond any sense, likewise (``is_implausible``).
        cut_in_part: whether the incomplete line or record has values that were read.
        odd: number of values that are not plain numbers, by kind: NaN, infinite, null, numpy, quoted, text, unnamed (no
            name), open (the last value of a log without a line end), cut (a step followed by another one in the same
            line before its end), nul (NUL bytes), wrapped (lines that a terminal broke and that cannot be put
            together).
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

    lines: array[int] = field(default_factory=lambda: array("q"))
    steps: array[int] = field(default_factory=lambda: array("q"))
    metrics: array[int] = field(default_factory=lambda: array("i"))
    values: array[float] = field(default_factory=lambda: array("d"))
    absent: array[int] = field(default_factory=lambda: array("b"))
    names: list[str] = field(default_factory=list)
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
    _places: dict[str, int] = field(default_factory=dict, repr=False)
    """The places of metrics in ``names`` by the names that the file has."""
    _last: tuple[tuple[str, ...], array[int]] = field(default=((), array("i")), repr=False)
    """The names of the values that were added together last, and their places."""

    def rows(self) -> Iterator[tuple[int, int, str, float | None]]:
        """All values as (position, step, metric, number or None)."""
        for line, step, metric, value, absent in zip(
            self.lines, self.steps, self.metrics, self.values, self.absent, strict=True
        ):
            yield line, step, self.names[metric], None if absent else value

    def keep(self, rows: Sequence[int]) -> None:
        """Drops all values but some.

        Args:
            rows: their places, in order.
        """
        for name in ("lines", "steps", "metrics", "values", "absent"):
            setattr(self, name, chosen(getattr(self, name), rows))

    def step_times(self) -> dict[int, int]:
        """When each step was logged, in nanoseconds since the epoch: the last time that the file has for it."""
        return {step: self.times[line] for line, step in zip(self.lines, self.steps, strict=True) if line in self.times}

    def add(self, line: int, step: int, name: str, given: object) -> None:
        """Adds a value as it was written; values without a name or number are counted and dropped."""
        value: float | None
        if type(given) is float and SHORTEST_STEP_SECONDS <= given <= LONGEST_SECONDS:  # nearly all: this is quick
            kind, value = "", given
        else:
            kind, value = number(given)
        if not name:
            self.odd["unnamed"] += 1
            return
        if kind == "text":
            self.odd[kind] += 1
            self.first_text = line if self.first_text is None else self.first_text
            return
        value = self._checked(step, name, kind, value)
        self.lines.append(line)
        self.steps.append(step)
        self.metrics.append(self._place(name))
        self.values.append(math.nan if value is None else value)
        self.absent.append(value is None)

    def add_step(self, line: int, step: int, given: Mapping[str, object]) -> None:
        """Adds the values of a step by metric, as JSON has them: as ``add``, and many times as quick for numbers."""
        try:
            values = array("d", cast("list[float]", list(given.values())))
        except (TypeError, OverflowError):  # something else than numbers, or an integer too large for a float
            values = array("d")
        if "" in given or len(values) != len(given):
            for name, value in given.items():
                self.add(line, step, name, value)
            return
        names = tuple(given)
        absent = array("b", bytes(len(names)))
        for at in [at for at, value in enumerate(values) if not SHORTEST_STEP_SECONDS <= value <= LONGEST_SECONDS]:
            checked = self._checked(step, names[at], kind_of(values[at]), values[at])
            values[at], absent[at] = math.nan if checked is None else checked, checked is None
        if names != self._last[0]:
            self._last = names, array("i", map(self._place, names))
        self.lines.extend(array("q", [line]) * len(names))
        self.steps.extend(array("q", [step]) * len(names))
        self.metrics.extend(self._last[1])
        self.values.extend(values)
        self.absent.extend(absent)

    def _place(self, name: str) -> int:
        """The place of a metric in ``names``; a new one is added."""
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = len(self.names)
            self.names.append(name.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:NAME_LENGTH])
        return place

    def _checked(self, step: int, name: str, kind: str, value: float | None) -> float | None:
        """The number, or None if the metric cannot have it; what is odd is counted."""
        if kind:
            self.odd[kind] += 1
        if value is None or SHORTEST_STEP_SECONDS <= value <= LONGEST_SECONDS:
            return value
        if value < 0 and is_impossible(name, value):
            self.negative.append((name, step, value))
            return None
        if not kind_of(value) and is_implausible(name, value):
            self.implausible.append((name, step, value))
            return None
        return value


def chosen(values: array[V], rows: Sequence[int]) -> array[V]:
    """The values in some rows."""
    if isinstance(rows, range):
        return values[rows.start : rows.stop]
    return array(values.typecode, map(values.__getitem__, rows))


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

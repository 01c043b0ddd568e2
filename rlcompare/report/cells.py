"""Values of a section's rows as texts: which columns there are, their headings, units and formats.

A column's name determines its format: ``baseline_…`` and ``new_…`` are sides, ``…_ms``, ``…_bytes`` and ``…_share``
units, ``…calls`` counts. Columns that are empty in all rows are omitted. A value that is missing in one row is shown as
absent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from rlcompare.language import mark, tr
from rlcompare.model.diff import Row, Section, Value
from rlcompare.model.words import Presence
from rlcompare.report import quantity
from rlcompare.report.sentences import datum
from rlcompare.text import safe_text

_MEASURE = ("baseline", "new", "delta", "ratio")
SHARE_OF_CHANGE = "change_share"
"""The column of a row's part of the change of its table."""

_LABELS = {
    "change": mark("share of change"),
    "cube": mark("cube unit"),
    "delta": "Δ",
    "delta_calls": mark("Δ by calls"),
    "delta_per_call": mark("Δ by time per call"),
    "gb_per_s": "GB/s",
    "l2_hit": mark("L2 hits"),
    "load": mark("loading (MTE2)"),
    "peak": mark("share of peak"),
    "polarity": mark("better is"),
    "ratio": mark("change"),
    "tflops": "TFLOP/s",
}
_TIMES = ("bubble", "comm", "compute", "exposed_comm", "exposed_copy", "free", "idle", "overlapped_comm", "preparing")
_COUNTS = ("calls", "count", "captures", "ranks", "steps", "kernels", "collectives")
_SUFFIXES = ("ms", "bytes", "share")
_ONE_SIDED: dict[str, tuple[str, str]] = {
    Presence.BASELINE_ONLY: (mark("only baseline"), mark("gone")),
    Presence.NEW_ONLY: (mark("only new"), mark("added")),
}


class Column(NamedTuple):
    """A column; ``coloured`` if its cells show the row's tone. ``unit`` is empty if cells contain their own unit."""

    key: str
    label: str
    numeric: bool
    coloured: bool = False
    unit: str = ""


class Cell(NamedTuple):
    """A value as text, and its sort value if that differs from the text (empty: sorts last)."""

    text: str
    sort: str | None = None


def columns_of(section: Section, rows: tuple[Row, ...]) -> list[str]:
    """The keys of the columns to show, in their order."""
    seen = {key: None for row in rows for key, value in row.items() if value is not None and value != ""}
    measured = any(quantity.is_number(row.get(key)) for row in rows for key in ("baseline", "new"))
    always = {"name", *(_MEASURE if measured else ())}
    fixed = [
        key
        for key in ("name", *_MEASURE, SHARE_OF_CHANGE, "baseline_calls", "new_calls")
        if key in seen or key in always
    ]
    # String keys are shown beside the name, where a reader looks for them.
    texts = {key for key in section.keys if not any(quantity.is_number(row.get(key)) for row in rows)}
    return fixed + [key for key in seen if key not in (*fixed, *texts, "presence", "depth")]


@lru_cache(maxsize=1024)
def _stem(key: str) -> tuple[str, str]:
    for side in ("baseline", "new"):
        if key.startswith(f"{side}_"):
            return key.removeprefix(f"{side}_"), side
    return key, ""


def unit_of(key: str, section: Section) -> str:
    """The unit of a column: that of the section, ``ms``, ``bytes``, ``share``, ``count`` or none."""
    if key in ("baseline", "new", "delta"):
        return section.unit
    stem, _ = _stem(key)
    if stem in _COUNTS or stem.endswith("_calls"):
        return "count"
    for suffix in _SUFFIXES:
        if f"_{stem}".endswith(f"_{suffix}"):
            return suffix
    return "ms" if stem in _TIMES and section.unit == "ms" else ""


def column_of(key: str, unit: str, rows: tuple[Row, ...]) -> Column:
    """A column with its heading."""
    stem, side = _stem(key)
    plain = stem.rsplit("_", 1)[0] if stem.endswith(tuple(f"_{suffix}" for suffix in _SUFFIXES)) else stem
    name = tr(_LABELS.get(plain, safe_text(plain.replace("_", " "), 60)))
    if side:
        name = tr("{what} baseline", what=name) if side == "baseline" else tr("{what} new", what=name)
    words = safe_text(name, 60)
    values = [row.get(key) for row in rows]
    numeric = key in _MEASURE or any(map(quantity.is_number, values))
    strings = any(isinstance(value, str) for value in values)
    return Column(key, words, numeric and not strings, key in ("delta", "ratio"), unit if unit in ("ms", "s") else "")


def cells_of(row: Row, units: dict[str, str], shown: str, decimals: int) -> tuple[Cell, ...]:
    """The cells of a row.

    Args:
        units: the unit of each column.
        shown: the unit in which times are shown.
        decimals: of times.
    """
    own_unit = row.get("unit")
    if isinstance(own_unit, str):
        units = units | {key: own_unit for key in ("baseline", "new", "delta") if key in units}
    return tuple(_format_of(key, unit, shown, decimals)(row) for key, unit in units.items())


@lru_cache(maxsize=1024)
def _format_of(key: str, unit: str, time_unit: str, decimals: int) -> Callable[[Row], Cell]:
    """What makes a column's cell of a row: a page has tens of thousands of cells, and a few formats."""
    if key == "ratio":
        return lambda row: Cell(_change(row), sort_key(row.get(key)))
    stem, _ = _stem(key)
    shown = time_unit if unit == "ms" else unit
    places = decimals if unit == "ms" else None
    is_plain = shown not in ("bytes", "share")

    def text_of(value: Value) -> str:
        if stem.startswith("delta") and quantity.is_number(value):
            return quantity.signed(value, shown, places)
        if shown == "share" and quantity.is_number(value):
            return quantity.share(value)
        if stem in ("health", "polarity") and isinstance(value, str):
            return safe_text(datum(value))
        return quantity.amount(value, shown, places)

    def cell_of(row: Row) -> Cell:
        value = quantity.in_unit(row.get(key), unit, shown)
        return Cell(text_of(value), None if is_plain and value is not None else sort_key(value))

    return cell_of


def sort_key(value: Value) -> str:
    """The value by which a cell sorts; empty if it is no number."""
    return repr(value) if quantity.is_number(value) else ""


def _change(row: Row) -> str:
    presence, ratio, delta = row.get("presence"), row.get("ratio"), row.get("delta")
    if isinstance(presence, str) and presence in _ONE_SIDED:
        # "gone" and "added" need a side that measured and found nothing; else it may not have been measured there.
        unknown, known = _ONE_SIDED[presence]
        return tr(unknown if delta is None else known)
    numbers = (value if quantity.is_number(value) else None for value in (delta, ratio, row.get("baseline")))
    return quantity.change_of(*numbers)

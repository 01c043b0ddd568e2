"""Rows of a query as lines of aligned text, for ``show`` and ``sql``. Text from a profile is made safe to show."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rlcompare.model.digits import LARGE, grouped
from rlcompare.text import NAME_LIMIT, fit, fit_names, pad, safe_text, width_of

ABSENT = "-"
TEXT_WIDTH = 60
"""Default maximum width of a text, in columns."""
_POWERS_FROM = 1e21
"""Larger numbers of a query are shown in powers of ten; up to here fit times in ns since 1970."""


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    thousands: bool = False,
    text_width: int = TEXT_WIDTH,
) -> list[str]:
    """A header and one line per row; numbers are right-aligned, absent values shown as ``-``.

    Args:
        thousands: use thousands separators, and show columns of integers without decimals.
        text_width: maximum width of a text; longer ones are cut.
    """
    whole = [thousands and all(_is_whole(row[index]) for row in rows) for index in range(len(columns))]
    right = [all(_is_number(row[index]) for row in rows) and bool(rows) for index in range(len(columns))]
    shown = []
    for index in range(len(columns)):
        values = [_counted(row[index]) if whole[index] else row[index] for row in rows]
        cells = [cell_text(value, thousands, NAME_LIMIT) for value in values]
        shown.append(cells if right[index] else fit_names(cells, text_width))
    header = [fit(safe_text(column), text_width) for column in columns]
    table = [header, *zip(*shown, strict=True)]
    widths = [max(width_of(row[index]) for row in table) for index in range(len(columns))]
    return ["  ".join(pad(*cell) for cell in zip(row, widths, right, strict=True)).rstrip() for row in table]


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _is_whole(value: object) -> bool:
    return value is None or (isinstance(value, float) and value.is_integer())


def _counted(value: object) -> object:
    return int(value) if isinstance(value, float) and abs(value) < LARGE else value


def cell_text(value: object, thousands: bool, text_width: int) -> str:
    """A value as text that is safe to show; see ``table_lines``."""
    if value is None:
        return ABSENT
    if isinstance(value, float):
        return _decimal(value, thousands)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if thousands else str(value)
    return fit(safe_text(value), text_width)


def _decimal(value: float, thousands: bool) -> str:
    """Three decimals, or three significant digits for smaller values."""
    if not math.isfinite(value):
        return str(value)
    if value and abs(value) < 0.001:
        return f"{value:.3g}"
    if thousands:
        return grouped(value, 3)
    return f"{value:.3f}" if abs(value) < _POWERS_FROM else str(value)

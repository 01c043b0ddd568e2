"""A series of runs as lines of text: a point per run, its levels, and where they change."""

from __future__ import annotations

from collections.abc import Sequence

from rlcompare.history.levels import Level
from rlcompare.report.table import cell_text

HEIGHT = 16
POINT, LEVEL, CHANGE = "*", "-", "|"
"""Marks that every terminal and log has."""

LEGEND = f"{POINT} a run   {LEVEL} level   {CHANGE} change"


def plot_lines(numbers: Sequence[int], values: Sequence[float], levels: Sequence[Level], width: int) -> list[str]:
    """The lines of a plot.

    Args:
        numbers: of the runs, in order of start.
        values: one per run.
        levels: of the values.
        width: of all, in columns. If there are more runs than columns, several share one.
    """
    low, high = min(values), max(values)
    labels = [cell_text(float(value), True, 20) for value in (high, (high + low) / 2, low)]
    margin = max(map(len, labels)) + 1
    columns = max(10, min(width - margin - 2, max(4 * len(values), 20)))
    grid = [[" "] * columns for _ in range(HEIGHT)]

    def row(value: float) -> int:
        return round((high - value) / (high - low) * (HEIGHT - 1)) if high > low else HEIGHT // 2

    def column(place: int) -> int:
        return round(place / max(len(values) - 1, 1) * (columns - 1))

    for number, level in enumerate(levels):
        for at in range(column(level.start), column(level.stop - 1) + 1):
            grid[row(level.value)][at] = LEVEL
        if number:
            for line in grid:
                line[column(level.start)] = CHANGE
    for place, value in enumerate(values):
        grid[row(value)][column(place)] = POINT
    marks = {0: labels[0], HEIGHT // 2: labels[1], HEIGHT - 1: labels[2]} if high > low else {HEIGHT // 2: labels[0]}
    lines = [f"{marks.get(at, ''):>{margin}} {''.join(line)}".rstrip() for at, line in enumerate(grid)]
    first, last = f"run {numbers[0]}", f"run {numbers[-1]}"
    lines.append(f"{'':>{margin}} {first}{last:>{max(columns - len(first), len(last) + 2)}}")
    return lines

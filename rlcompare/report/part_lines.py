"""The parts of the step as lines of numbers, with a bar each: phases, or what the device did.

Bars are drawn from the same values as the numbers beside them, on one scale: what both sides have in common, and what
came or went. The lines sum to the step, as those that are not shown are summed in the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rlcompare.compare.overall import PATH
from rlcompare.language import tr
from rlcompare.model.diff import Diff, Row, Value
from rlcompare.model.words import Polarity
from rlcompare.report import quantity
from rlcompare.report.step_parts import number_of, parts_of_step
from rlcompare.report.tone import floor_of, profile_disagrees, tone
from rlcompare.text import safe_text

LINES = 6
"""Parts that have a line of their own."""

_NAME_LIMIT = 60


class PartLine(NamedTuple):
    """One part of the step.

    Attributes:
        change: the change in percent, or how many times as long.
        common: what both sides have in common, as a fraction of the longest bar; 0 if a side did not measure it.
        longer: the longer side, as such a fraction.
        grew: whether that is the new side.
    """

    name: str
    baseline: str
    new: str
    delta: str
    change: str
    tone: str
    common: float
    longer: float
    grew: bool


class PartLines(NamedTuple):
    """The parts of the step, those that changed most first; ``label`` says which parts, ``heading`` what they hold."""

    label: str
    heading: str
    lines: tuple[PartLine, ...]


def part_lines(diff: Diff) -> PartLines | None:
    """The lines of a diff; None if a part was measured on one side only, or no part at all."""
    label, rows = parts_of_step(diff)
    if not any(number_of(row.get(side)) > 0 for row in rows for side in ("baseline", "new")):
        return None
    ordered = sorted(rows, key=lambda row: -abs(number_of(row.get("delta"))))
    if len(ordered) > LINES + 1:
        ordered = [*ordered[:LINES], _sum_of(ordered[LINES:])]
    largest = max(number_of(row.get(side)) for row in ordered for side in ("baseline", "new"))
    if largest <= 0:
        return None
    judged, floor = not profile_disagrees(diff), floor_of(diff.metric(diff.headline))
    lines = [_line(row, largest, _tone(row, floor, judged, diff.unstable)) for row in ordered]
    unit = quantity.shown_unit("ms", (largest,))
    of_path = diff.headline == PATH  # other values than those of the section ``phases``
    heading = tr("{unit} on critical path", unit=unit) if of_path else tr("{unit} per step", unit=unit)
    return PartLines(tr(label), heading, tuple(lines))


def _sum_of(rows: Sequence[Row]) -> Row:
    """One row for several; the times of those that a side did not measure are in none of its sums."""
    known = [row for row in rows if row.get("delta") is not None]
    sums = {side: sum(number_of(row.get(side)) for row in known) for side in ("baseline", "new")}
    ratio = sums["new"] / sums["baseline"] if sums["baseline"] > 0 else None
    delta = sum(number_of(row.get("delta")) for row in rows)
    return {"name": tr("{n} more", n=len(rows)), "delta": delta, "ratio": ratio, **sums}


def _tone(row: Row, floor: float, judged: bool, unstable: bool) -> str:
    delta, ratio, baseline = (_number(row.get(key)) for key in ("delta", "ratio", "baseline"))
    mood = tone(delta, ratio, Polarity.LOWER, floor, baseline)
    return "" if mood != "noise" and (not judged or (unstable and mood == "better")) else mood


def _line(row: Row, largest: float, mood: str) -> PartLine:
    baseline, new, delta, ratio = (_number(row.get(key)) for key in ("baseline", "new", "delta", "ratio"))
    shown = quantity.shown_unit("ms", (largest,))
    decimals = quantity.lone_decimals(quantity.in_unit(largest, "ms", shown) or 0.0)
    texts = [quantity.amount(quantity.in_unit(value, "ms", shown), shown, decimals) for value in (baseline, new)]
    change = tr("added") if baseline is None else tr("gone") if new is None else ""
    if delta is None:  # a side did not measure it
        change = tr("only new") if baseline is None else tr("only baseline") if new is None else ""
    lengths = [0.0, 0.0] if delta is None else sorted(max(value or 0.0, 0.0) / largest for value in (baseline, new))
    return PartLine(
        name=safe_text(row.get("name"), _NAME_LIMIT),
        baseline=texts[0],
        new=texts[1],
        delta=quantity.signed(quantity.in_unit(delta, "ms", shown), shown, decimals),
        change=change or quantity.change_of(delta, ratio, baseline),
        tone=mood,
        common=lengths[0],
        longer=lengths[1],
        grew=(new or 0.0) >= (baseline or 0.0),
    )


def _number(value: Value) -> float | None:
    return value if quantity.is_number(value) else None

"""Pictures of one run: where its step goes by kind, and its phases. Bars of a picture share one scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlcompare.compare.parts import BETWEEN_STEPS, LATE_START
from rlcompare.compare.waits import words_of
from rlcompare.language import tr, with_label
from rlcompare.report import quantity
from rlcompare.report.charts.chart import Chart, TextTable
from rlcompare.report.sentences import named
from rlcompare.text import safe_text

LONGEST = 1000
_MOST_BARS = 16
_Row = Mapping[str, Any]

_GROUPS = {
    "compute": "compute", "wait": "comm", "transfer": "comm", "comm": "comm", "copy": "copy", "unknown": "unknown",
}  # fmt: skip
"""What a device does in a kind of the account; in all others it is idle."""

_PARTS = (("compute_ms", "compute"), ("exposed_comm_ms", "comm"), ("free_ms", "idle"))


@dataclass(frozen=True)
class Part:
    """A part of a bar: its class, and where it stands in thousandths of the longest bar."""

    group: str
    start: int
    length: int
    text: str


@dataclass(frozen=True)
class Meter:
    """A bar with its name and its number."""

    name: str
    value: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Meters:
    """Bars, and what their colours mean: the class and the word of each."""

    meters: tuple[Meter, ...]
    key: tuple[tuple[str, str], ...]


def account_chart(rows: Sequence[_Row]) -> Chart | None:
    """Where the step goes by kind, from the rows of the critical path or of the account; None if there are none."""
    sums: dict[str, float] = {}
    for row in rows:
        sums[str(row["kind"])] = sums.get(str(row["kind"]), 0.0) + (row["total_ms"] or 0.0)
    total = sum(sums.values())
    if total <= 0:
        return None
    largest = sorted(sums.items(), key=lambda item: -item[1])[:_MOST_BARS]
    longest = largest[0][1]
    meters, lines = [], []
    for kind, time in largest:
        shown, share = quantity.quantity(time, "ms"), quantity.share(time / total)
        group, name = _GROUPS.get(kind, "idle"), safe_text(kind_words(kind))
        meters.append(
            Meter(
                name, f"{shown} · {share}", (Part(group, 0, round(LONGEST * time / longest), with_label(name, shown)),)
            )
        )
        lines.append((name, shown, share))
    kind, _, share = lines[0]
    return Chart(
        name="run-account",
        title=tr("Where the step goes"),
        finding=tr("The largest part is {kind}: {share}.", kind=kind, share=share),
        note=tr(
            "By kind, {total} in all; the table of the same name lists the kernels and operators.",
            total=quantity.quantity(total, "ms"),
        ),
        content=Meters(tuple(meters), _key({part.group for meter in meters for part in meter.parts})),
        table=TextTable((tr("kind"), tr("time"), tr("share")), (False, True, True), tuple(lines)),
    )


def kind_words(kind: str) -> str:
    """A kind of the account in words, as in the sentences on causes; an unknown one as it is."""
    of_device = {
        "compute": tr("computation"),
        "wait": tr("waiting for a rank"),
        "transfer": tr("transfer"),
        "comm": tr("communication"),
        LATE_START: tr("late start of a rank"),
        BETWEEN_STEPS: tr("time between steps"),
    }
    return of_device.get(kind) or named(words_of(kind))


def phases_chart(rows: Sequence[_Row]) -> Chart | None:
    """The phases of the step, with what the device does in them; None if there are fewer than two."""
    rows = sorted(rows, key=lambda row: -_length(row))[:_MOST_BARS]
    longest = max(map(_length, rows), default=0.0)
    if len(rows) < 2 or not longest:
        return None
    meters, lines = [], []
    for row in rows:
        parts, start = [], 0.0
        for column, group in _PARTS:
            if time := row[column]:
                text = with_label(_WORDS[group](), quantity.quantity(time, "ms"))
                parts.append(Part(group, round(LONGEST * start / longest), round(LONGEST * time / longest), text))
                start += time
        left = (row["wall_ms"] or 0.0) - start
        if left > 0:
            text = with_label(_WORDS["host"](), quantity.quantity(left, "ms"))
            parts.append(Part("host", round(LONGEST * start / longest), round(LONGEST * left / longest), text))
        name = safe_text(row["phase"])
        meters.append(Meter(name, quantity.quantity(_length(row), "ms"), tuple(parts)))
        lines.append((name, *(quantity.quantity(row[column], "ms") for column in ("wall_ms", *(c for c, _ in _PARTS)))))
    columns = (tr("phase"), tr("wall time"), *(_WORDS[group]() for _, group in _PARTS))
    return Chart(
        name="run-phases",
        title=tr("Phases of the step"),
        finding=tr("The longest is {phase}: {time}.", phase=meters[0].name, time=meters[0].value),
        note=tr("Per rank and step. A bar is longer than its phase where the device continues after the phase's end."),
        content=Meters(tuple(meters), _key({part.group for meter in meters for part in meter.parts})),
        table=TextTable(columns, (False, True, True, True, True), tuple(lines)),
    )


def _length(row: _Row) -> float:
    return max(row["wall_ms"] or 0.0, sum(row[column] or 0.0 for column, _ in _PARTS))


_WORDS: Mapping[str, Callable[[], str]] = {
    "compute": lambda: tr("compute"),
    "comm": lambda: tr("communication alone"),
    "copy": lambda: tr("copies"),
    "idle": lambda: tr("device idle"),
    "unknown": lambda: tr("not recorded"),
    "host": lambda: tr("no device task"),
}
"""The words of the colours, in the order of the key."""


def _key(groups: set[str]) -> tuple[tuple[str, str], ...]:
    return tuple((group, word()) for group, word in _WORDS.items() if group in groups)

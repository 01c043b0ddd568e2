"""The parts of a step whose changes sum to the change of the headline: phases, or what the device did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rlcompare.compare.overall import OUTSIDE, PATH
from rlcompare.language import mark, tr
from rlcompare.model.diff import Diff, Row, Value
from rlcompare.model.words import SIDES, Presence
from rlcompare.report.quantity import is_number

_DEVICE_PARTS = (
    ("time.preparing", mark("preparing")),
    ("time.compute", mark("compute")),
    ("time.exposed_comm", mark("exposed communication")),
    ("time.free", mark("free")),
    ("time.tail", mark("tail")),
)
_OF_HOST = ("time.preparing", "time.tail")
"""Parts of the host's step that are outside of the device's span."""

_TIME_PARTS = {
    "time.step": (*_DEVICE_PARTS[1:3], ("time.step_free", mark("the rest"))),
    "time.device_span": _DEVICE_PARTS[1:4],
}
"""What each time of a profiled step is the sum of."""

_KINDS = {
    "compute": "compute",
    "wait": "exposed communication",
    "transfer": "exposed communication",
    "comm": "exposed communication",
}
"""Kinds of rows of the critical path; all others are free time."""


def parts_of_step(diff: Diff) -> tuple[str, Sequence[Row]]:
    """The rows whose changes sum to the headline's, and the word for them, which is English (``language.mark``)."""
    if diff.headline == PATH:
        return _parts_of_path(whole_rows_of(diff, "path"))
    phases = rows_of(diff, "phases")
    if len([row for row in phases if row.get("name") != OUTSIDE]) > 1:
        return mark("phases"), phases
    of_host = diff.headline == "time.step"
    return mark("parts"), _rows_of_times(diff, [part for part in _DEVICE_PARTS if of_host or part[0] not in _OF_HOST])


def kinds_of_time(diff: Diff) -> Sequence[Row]:
    """What a profiled step consists of whatever its phases are: compute, exposed communication and the rest.

    Not the parts of the rest: a device that works on after the step has less before the first task and more after the
    last. None if the profile did not time the headline.
    """
    if diff.headline == PATH:
        return _parts_of_path(whole_rows_of(diff, "path"), by_phase=False)[1]
    return _rows_of_times(diff, _TIME_PARTS.get(diff.headline, ()))


def _rows_of_times(diff: Diff, parts: Iterable[tuple[str, str]]) -> Sequence[Row]:
    """Rows of overall metrics, as far as a side knows them, by their names."""
    rows: list[Row] = []
    for metric, name in parts:
        delta = diff.metric(metric)
        if delta is not None and (delta.baseline is not None or delta.new is not None):
            sides: Row = {"baseline": delta.baseline, "new": delta.new}
            rows.append(
                {"name": tr(name), "presence": Presence.BOTH, **sides, "delta": delta.delta, "ratio": delta.ratio}
            )
    return rows


def _parts_of_path(rows: Sequence[Row], by_phase: bool = True) -> tuple[str, Sequence[Row]]:
    """The critical path by phase, else by what the device did."""
    phased = by_phase and len({row.get("phase") for row in rows} - {None, OUTSIDE}) > 1
    sums: dict[str, list[float]] = {}
    for row in rows:
        name = str(row.get("phase") or OUTSIDE) if phased else tr(_KINDS.get(str(row.get("kind")), "free"))
        found = sums.setdefault(name, [0.0, 0.0])
        for place, side in enumerate(SIDES):
            found[place] += number_of(row.get(side))
    made = [_row(name, old, new) for name, (old, new) in sums.items()]
    return "phases" if phased else "parts", made


def _row(name: str, old: float, new: float) -> Row:
    ratio = new / old if old else None
    return {"name": name, "presence": Presence.BOTH, "baseline": old, "new": new, "delta": new - old, "ratio": ratio}


def number_of(value: Value) -> float:
    """A number of a row; 0 where it is absent."""
    return value if is_number(value) else 0.0


def whole_rows_of(diff: Diff, name: str) -> tuple[Row, ...]:
    """The rows of a section, and one more, without a name, for each sum of rows that the document leaves out."""
    section = diff.sections.get(name)
    if section is None:
        return ()
    rest = ({**vars(one), "name": None, "presence": Presence.BOTH, "ratio": None} for one in section.rest)
    return (*section.rows, *rest) if section.rest else section.rows


def rows_of(diff: Diff, name: str) -> tuple[Row, ...]:
    """The rows of a section; none if it is absent."""
    section = diff.sections.get(name)
    return () if section is None else section.rows

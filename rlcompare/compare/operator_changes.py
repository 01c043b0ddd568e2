"""How the time of each operator changed: by its calls, by the size of their inputs, and by the time per call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from rlcompare.compare.records import OperatorPlace
from rlcompare.compare.rows import OTHERS, by_name, change_of, decompose, number
from rlcompare.model.diff import Row, Section, Value
from rlcompare.model.words import SIDES, Presence

MISSED = 0.01
"""Part of an operator's change that its phases may miss for them to tell of it."""


class OperatorChange(NamedTuple):
    """How the time of one kind of kernel changed, in ms per rank and step.

    Attributes:
        baseline, new: time on each side.
        calls: change due to the number of calls; includes new and vanished kinds.
        size: change due to larger or smaller inputs, if shapes are known.
        slower: change of the time per call for the same inputs.
        baseline_calls, new_calls: calls on each side.
        on_both: whether both sides run it.
        has_shapes: whether the input shapes of all of it are known.
        same_inputs: whether all of it was matched by equal input shapes.
        by_flop: whether ``size`` is by floating-point operations; else by elements of inputs.
        shown: change of the part of its time that no kernel before it hides; None if unknown.
    """

    name: str
    baseline: float
    new: float
    calls: float
    size: float
    slower: float
    baseline_calls: float
    new_calls: float
    on_both: bool
    has_shapes: bool = False
    same_inputs: bool = False
    by_flop: bool = False
    shown: float | None = None

    @property
    def work(self) -> float:
        """Change due to the requested work: more calls, and larger inputs."""
        return self.calls + self.size

    @property
    def factor(self) -> float:
        """New time per call divided by the old one, for the same inputs."""
        before = self.new - self.slower
        return self.new / before if before > 0 else 1.0


def operator_changes(rows: Sequence[Row]) -> tuple[OperatorChange, ...]:
    """Kernels summed by operator, from rows that separate calls from time per call; largest change first.

    Without ``OTHERS``: the mean time per call of different kernels tells nothing.
    """
    grouped = by_name(row for row in rows if row["delta"] is not None and row["name"] != OTHERS)
    changes = [_operator_change(name, group) for name, group in grouped.items()]
    return tuple(sorted(changes, key=lambda change: (-abs(change.new - change.baseline), change.name)))


def device_changes(sections: Mapping[str, Section], places: Sequence[Row]) -> tuple[OperatorChange, ...]:
    """The operators by what each place in the code that launches them runs: a mean over places tells little of one."""
    placed = {row["name"] for row in places}
    return operator_changes([*(row for row in sections["kernels"].rows if row["name"] not in placed), *places])


def _operator_change(name: str, rows: Sequence[Row]) -> OperatorChange:
    size = fsum(_by_size(row) for row in rows)
    # Unknown columns count as 0: new operators have no old time per call.
    before, after = (_total(number(row.get(f"{side}_calls")) for row in rows) for side in SIDES)
    shown = [change_of(row, "busy_ms") for row in rows]
    return OperatorChange(
        name=name,
        baseline=_total(number(row["baseline"]) for row in rows),
        new=_total(number(row["new"]) for row in rows),
        calls=_total(number(row.get("delta_calls_ms")) for row in rows),
        size=size,
        slower=_total(number(row.get("delta_per_call_ms")) for row in rows) - size,
        baseline_calls=before,
        new_calls=after,
        on_both=any(row["presence"] == Presence.BOTH for row in rows)
        or {Presence.BASELINE_ONLY, Presence.NEW_ONLY} <= {row["presence"] for row in rows},
        has_shapes=all(row.get("input_shapes") for row in rows),
        same_inputs=all(
            row["presence"] == Presence.BOTH and row.get("input_shapes") and row.get("baseline_elements") is None
            for row in rows
        ),
        by_flop=all(map(_has_flop, rows)),
        shown=None if None in shown else _total(shown),
    )


def changes_by_phase(
    account: Sequence[Row], places: Sequence[OperatorPlace]
) -> dict[tuple[str, str | None], OperatorChange]:
    """How the operators of captures without a device changed in each phase.

    Only those whose phases on one side are all on the other, too: a phase that got another name is not gone.
    """
    times: dict[tuple[str, Value], list[Row]] = defaultdict(list)
    for row in account:
        if row["kind"] == "compute" and row["delta"] is not None:
            times[str(row["name"]), row["phase"]].append(row)
    lone = {(place.name, not place.new_calls) for place in places if not (place.baseline_calls and place.new_calls)}
    found = {}
    for place in places:
        if not {(place.name, True), (place.name, False)} <= lone and place.name != OTHERS:
            change = _host_change(place.name, times[place.name, place.phase], place._asdict())
            if change is not None:
                found[place.name, place.phase] = change
    return found


def host_changes(
    sections: Mapping[str, Section], places: Mapping[tuple[str, str | None], OperatorChange]
) -> tuple[OperatorChange, ...]:
    """The operators of captures without a device: their own time in the account, and their calls.

    What calls and sizes add is summed over the phases: a mean over them tells little of one.
    """
    account = sections["account"].rows
    times = by_name(row for row in account if row["kind"] == "compute" and row["delta"] is not None)
    placed: dict[str, list[OperatorChange]] = defaultdict(list)
    for (name, _), one in places.items():
        placed[name].append(one)
    changes = []
    for counted in sections["operators"].rows:
        name = str(counted["name"])
        change = None if name == OTHERS else _host_change(name, times.get(name, []), counted)
        if change is not None:
            own = fsum(one.new - one.baseline for one in placed[name])
            if len(placed[name]) > 1 and abs(own - (change.new - change.baseline)) <= MISSED * abs(own):
                calls, size, slower = (
                    fsum(getattr(one, part) for one in placed[name]) for part in ("calls", "size", "slower")
                )
                by_flop = all(one.by_flop for one in placed[name])
                change = change._replace(calls=calls, size=size, slower=slower, by_flop=by_flop)
            changes.append(change)
    return tuple(sorted(changes, key=lambda change: (-abs(change.new - change.baseline), change.name)))


def _host_change(name: str, times: Sequence[Row], counted: Mapping[str, Value]) -> OperatorChange | None:
    """How an operator changed, or one phase of it, whose own times and calls these are; None if that is not known."""
    before, after = (_total(number(row[side]) for row in times) for side in SIDES)
    calls = [number(counted[f"{side}_calls"]) for side in SIDES]
    if not times or calls[0] is None or calls[1] is None:
        return None
    by_calls, per_call = decompose(before, after, calls[0], calls[1])
    if by_calls is None or per_call is None:
        return None
    of_each = before / calls[0] if calls[0] else None
    size = _by_size({**counted, "baseline_per_call_ms": of_each, "delta_per_call_ms": per_call})
    return OperatorChange(
        name=name,
        baseline=before,
        new=after,
        calls=by_calls,
        size=size,
        slower=per_call - size,
        baseline_calls=calls[0],
        new_calls=calls[1],
        on_both=bool(calls[0] and calls[1]),
        has_shapes=None not in (counted.get("baseline_elements"), counted.get("new_elements")),
        by_flop=_has_flop(counted),
    )


def _total(values: Iterable[float | None]) -> float:
    """The sum of all known values; unknown values count as 0."""
    return fsum(value for value in values if value is not None)


def _by_size(row: Mapping[str, Value]) -> float:
    """The part of a change in time per call that larger inputs explain, at most all of it.

    Proportional to the floating-point operations where both sides know them, else to the elements of the inputs; 0 if
    these, the calls or the time per call are unknown on either side.
    """
    size = "flop" if _has_flop(row) else "elements"
    names = (f"baseline_{size}", f"new_{size}", "baseline_calls", "new_calls", "baseline_per_call_ms")
    before, after, calls, new_calls, per_call = (number(row.get(name)) for name in names)
    found = number(row.get("delta_per_call_ms"))
    if not before or not after or not calls or not new_calls or per_call is None or found is None:
        return 0.0
    growth = (after / new_calls) / (before / calls) - 1
    expected = new_calls * per_call * growth
    if expected * found <= 0:
        return 0.0
    return min(expected, found) if found > 0 else max(expected, found)


def _has_flop(row: Mapping[str, Value]) -> bool:
    return all(number(row.get(f"{side}_flop")) for side in SIDES)

"""Candidates for causes in computation: operators that are slower, called more often, new, gone or replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from rlcompare.compare.achieved import achieved
from rlcompare.compare.changed_with import changed_with, clauses, of_shapes, otherwise
from rlcompare.compare.evidence import Evidence
from rlcompare.compare.exchanged import exchanged, where_edited
from rlcompare.compare.odd_calls import odd_calls
from rlcompare.compare.odd_module import in_odd_module
from rlcompare.compare.operator_changes import OperatorChange, operator_changes
from rlcompare.compare.parts import MISMATCH, Basis, Candidate, Part, mean_total, total, whole
from rlcompare.compare.phrases import NAME_LENGTH, count, ms, short, signed, times
from rlcompare.compare.rows import number
from rlcompare.compare.short_names import short_names
from rlcompare.model.diff import Row
from rlcompare.model.words import SIDES, Presence

MOST_OF = 0.8
"""Part of an operator's change from which one phase, shape, or reason is all that is named."""

SAME_PHASE = 0.99
"""Part of an operator's change from which a phase holds all of it."""

LEAST_REASON = 0.2
"""Part of an operator's change from which a reason is named alone, where other causes explain the rest."""

SAME_TIME = 0.5
"""How far the kernels' own change may be from that in the step, as a part of it, for one to be split like the other."""

NETTED = 0.25
"""From this part of an operator's change on, opposite ones of its phases or inputs are told, and no reason for them."""

LEAST_MEAN = 0.0005
"""A smaller change of the mean time per call is 0.0 % for the reader."""

LEAST_LAUNCHES = 0.01
"""Launches count with the calls from this part of the calls' time."""

LONGEST_LAUNCH_MS = 0.5
"""Longest idle time before a call that its launch may take. If it is longer, the device waited for something else."""

_NAMED, _LISTED_LENGTH = 2, 44
"""How many of the operators that went, and of those that came, are named, and the length of such a name: short enough
for what follows them to be shown where a sentence is cut."""


class Fractions(NamedTuple):
    """What an operator's change consists of, as parts of the whole; they sum to 1, and single ones may exceed it."""

    calls: float
    inputs: float
    slower: float
    on_both: bool


def fractions_of(evidence: Evidence, basis: Basis, name: str) -> Fractions | None:
    """How the change of an operator is split; None if its kernels changed by something else than its part of the step.

    Args:
        name: of the operator, in parts of the kind ``COMPUTE``.
    """
    change = evidence.operator(name)
    own = change.new - change.baseline if change else 0.0
    if change is None or not own or abs(basis.computed[name] / own - 1) > SAME_TIME:
        return None
    if basis.is_apart(basis.operators[name].values()):
        return None
    return _own_fractions(change)


def fractions_at(evidence: Evidence, basis: Basis, part: Part) -> Fractions | None:
    """How the change of an operator in one phase is split, where that is known, else that of the operator."""
    change, whole_change = evidence.host_places.get((part.name, part.phase)), evidence.operator(part.name)
    own = change.new - change.baseline if change else 0.0
    if change is None or whole_change is None or not own:
        return fractions_of(evidence, basis, part.name)
    if abs(mean_total([part]) / own - 1) > SAME_TIME or basis.is_apart([part]):
        return None
    return _own_fractions(change)._replace(on_both=whole_change.on_both)


def computation(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """A candidate for each operator; operators that took the place of others are one."""
    operators = basis.operators
    replaced: set[str] = set()
    for names in exchanged(evidence, basis):
        if (found := _replaced(evidence, operators, names)) is not None:
            replaced |= names
            yield found
    for name, parts in operators.items():
        if name not in replaced:
            yield from _operator(evidence, basis, name, parts)


def _replaced(evidence: Evidence, operators: Mapping[str, Mapping[int, Part]], names: set[str]) -> Candidate | None:
    """Operators that took the place of others; None if none of them is called less, or none more."""
    parts = {place: part for name in names for place, part in operators[name].items()}
    sums = {name: total(operators[name].values()) for name in names}
    calls = {name: _change_of_calls(evidence, name) or sums[name] for name in names}
    fewer, more = ([name for name in names if (calls[name] > 0) == is_more] for is_more in (False, True))
    if not fewer or not more:
        return None
    by_size = [sorted(of, key=lambda name: (-abs(sums[name]), name)) for of in (fewer, more)]
    shown = short_names([name for of in by_size for name in of[:_NAMED]], _LISTED_LENGTH)
    old, new = (_listed(evidence, of, shown) for of in by_size)
    largest = max(names, key=lambda name: (abs(sums[name]), name))
    launches = {
        part.row.get(f"{side}_host_op")
        for part in parts.values()
        for side in ("baseline", "new")
        if getattr(part, side)
    }
    launch = f"{short(launches.pop(), _LISTED_LENGTH)}: " if len(launches) == 1 and None not in launches else ""
    text = f"{launch}{old} → {new}: {_by(fsum(sums.values()))} in all."
    return Candidate("replaced", whole(parts), text, "account", largest)


def _change_of_calls(evidence: Evidence, name: str) -> float:
    change = evidence.operator(name)
    return change.new_calls - change.baseline_calls if change else 0.0


def _listed(evidence: Evidence, names: Sequence[str], shown: Mapping[str, str]) -> str:
    """Operators for a sentence, as they are shown there; of those that both sides run, the calls."""
    words = []
    for name in names[:_NAMED]:
        change = evidence.operator(name)
        calls = (
            f" ({count(change.baseline_calls)} → {count(change.new_calls)} calls)" if change and change.on_both else ""
        )
        words.append(shown[name] + calls)
    listed = " + ".join(words)
    return f"{listed} + {len(names) - _NAMED} more" if len(names) > _NAMED else listed


def _operator(evidence: Evidence, basis: Basis, name: str, parts: Mapping[int, Part]) -> Iterator[Candidate]:
    """What made the time of one operator change."""
    delta = total(parts.values())
    if not delta:
        return
    main = _main_part(name, parts, delta)
    shown = evidence.short(name)
    place = _place(shown, main, delta)
    change = evidence.operator(name)
    fractions = fractions_of(evidence, basis, name)
    section = "kernels" if change else "account"
    counted = not basis.is_more_on_path(parts.values())
    if change is None or fractions is None:
        mean = 0.0 if basis.is_apart(parts.values()) else basis.computed[name]
        text, what = _more(place, delta, mean, change), "operator_time"
        if change is None and not all(fsum(values) for values in _values(parts)):
            text, what = f"{_new_or_gone(place, delta)}.", "operator_calls"
        yield Candidate(what, whole(parts), text, section, name)
        return
    if not change.on_both:
        launches = _launches(basis, name, parts, delta, change)
        came = _came_or_went(change, place, delta, counted=counted)
        text = f"{came}{_with_launches(launches)}{where_edited(evidence, name, parts)}."
        yield Candidate("operator_calls", whole(parts) | launches, text, section, name)
        return
    if other := otherwise(evidence, change, parts, fractions.slower):
        yield Candidate("operator_slower", whole(parts), f"{place} {other[0]}: {_by(delta)}.", section, name, other[1])
        return
    amounts = whole(parts)
    rows: Sequence[Row] = evidence.kernels.get(name, ())
    if netted := _netted_phases(parts, delta) or _netted_inputs(rows, delta):
        yield Candidate("operator_time", amounts, f"{shown} takes {_by(delta)}: {netted}.", section, name)
        return
    if main is not None and _elsewhere(main, parts) > 1 - SAME_PHASE:
        if in_phase := _in_phase(evidence, name, main):
            change, rows = in_phase
            fractions = _own_fractions(change)
        else:
            place = _mostly(shown, main)
    shape = _shape(rows, parts, basis.computed[name])
    if shape is not None:
        part = (shape[1].new - shape[1].baseline) / (change.new - change.baseline)
        amounts = {number_: amount * min(part, 1.0) for number_, amount in amounts.items()}
        change, place = shape[1], f"{place} with inputs {short(shape[0])}"
        fractions, delta = _own_fractions(change), fsum(amounts.values())
        types = of_shapes(evidence, name, shape[0])
        if types and fractions.slower >= MOST_OF:
            yield Candidate("operator_slower", amounts, f"{place} {types}: {_by(delta)}.", section, name)
            return
    reasons = {"operator_slower": fractions.slower, "operator_calls": fractions.calls, "workload": fractions.inputs}
    reason = max(reasons, key=lambda key: reasons[key])
    alone = reasons[reason] >= MOST_OF and min(reasons.values()) > -LEAST_REASON
    if not alone:
        text = f"{place} takes {_by(delta)}: {_split(change, reasons, delta)}."
        yield Candidate(reason, amounts, text, section, name)
    for what, fraction in reasons.items():
        if fraction >= (MOST_OF if alone else LEAST_REASON):
            of_reason = {number_: amount * min(fraction, 1.0) for number_, amount in amounts.items()}
            own = fsum(of_reason.values())
            launches = _launches(basis, name, parts, own, change) if what == "operator_calls" else {}
            slower = what == "operator_slower"
            ends, rows = _with_facts(evidence, basis, change, shape[0] if shape else None, own) if slower else ("", ())
            where = where_edited(evidence, name, parts) if what == "operator_calls" else ""
            alike = _has_same_types(evidence, name, shape[0] if shape else None)
            because = _because(what, change, place, own, counted=counted, alike=alike)
            text = f"{because}{ends}{_with_launches(launches)}{where}."
            yield Candidate(what, of_reason | launches, text, section, name, rows)


def _with_facts(
    evidence: Evidence, basis: Basis, change: OperatorChange, shapes: str | None, delta: float
) -> tuple[str, tuple[Row, ...]]:
    """What ends the sentence on a slower operator: its rate, what changed with it, its module; these as rows.

    Where few of its calls are longer, that is all: the others are as fast as before.
    """
    if interrupted := odd_calls(evidence, [change.name]):
        calls = fsum(one.new_calls for one in evidence.operators if one.name == change.name)
        return interrupted if change.new_calls == calls else "", ()  # it counts the calls of all inputs and phases
    facts = changed_with(evidence, change, shapes)
    module, row = in_odd_module(evidence, basis, delta)
    return achieved(evidence, change, shapes) + clauses(facts) + module, (*(fact.row for fact in facts), *row)


def _has_same_types(evidence: Evidence, name: str, shapes: str | None) -> bool:
    """Whether inputs have the same data types as before; those of these shapes, if they are given."""
    return not any(of == name and shapes in (None, own) for of, own in evidence.other_types)


def _because(what: str, change: OperatorChange, place: str, delta: float, *, counted: bool, alike: bool) -> str:
    """The sentence for one of the reasons for which the time of an operator changes.

    Args:
        counted: as for ``_called``.
        alike: as for ``_slower``.
    """
    if what == "operator_slower":
        return _slower(change, place, alike=alike)
    return _called(change, place, delta, counted=counted) if what == "operator_calls" else _sized(place, delta)


def _launches(
    basis: Basis, name: str, parts: Mapping[int, Part], delta: float, change: OperatorChange
) -> dict[int, float]:
    """What more or fewer calls of an operator cost besides: idle time before its kernels, and in its host operator.

    The host operator counts if it came or went with the kernels.
    """
    calls = abs(change.new_calls - change.baseline_calls)
    sides = [side for side in ("baseline", "new") if not any(getattr(part, side) for part in parts.values())]
    hosts = {part.row.get(f"{side}_host_op") for part in parts.values() for side in ("baseline", "new")}
    found = {}
    for place, part in basis.of_kind("launch", "queue", "operator").items():
        of_it = part.name == name
        if part.kind == "operator":
            of_it = part.name in hosts and any(not getattr(part, side) for side in sides)
        if of_it and part.delta * delta > 0:
            found[place] = part.delta
    waited = abs(fsum(found.values()))
    return found if LEAST_LAUNCHES * abs(delta) <= waited <= LONGEST_LAUNCH_MS * calls else {}


def _with_launches(launches: Mapping[int, float]) -> str:
    return f", and {ms(fsum(launches.values()))} of launching them" if launches else ""


def _values(parts: Mapping[int, Part]) -> tuple[list[float], list[float]]:
    return [part.baseline for part in parts.values()], [part.new for part in parts.values()]


def _own_fractions(change: OperatorChange) -> Fractions:
    own = change.new - change.baseline
    return Fractions(change.calls / own, change.size / own, change.slower / own, change.on_both)


def _by(delta: float) -> str:
    return f"{ms(delta)} {'more' if delta > 0 else 'less'}"


def _main_part(name: str, parts: Mapping[int, Part], delta: float) -> Part | None:
    """The part of an operator in the phase that holds most of its change; None if no phase does."""
    for part in parts.values():
        if part.phase in (None, name) or not MOST_OF <= part.delta / delta <= 1 / MOST_OF:
            continue
        one_sided = not all(fsum(values) for values in _values(parts))
        if one_sided or (part.baseline and part.new):
            return part
    return None


def _place(name: str, main: Part | None, delta: float) -> str:
    """The operator, by its short name, and the phase with most of its change."""
    if main is None:
        return name
    is_whole = SAME_PHASE <= main.delta / delta <= 1 / SAME_PHASE
    return f"{name} in {short(main.phase)}" if is_whole else _mostly(name, main)


def _elsewhere(main: Part, parts: Mapping[int, Part]) -> float:
    """The part of an operator's time, of both sides together, that is in other phases."""
    time = fsum(part.baseline + part.new for part in parts.values())
    return 1 - (main.baseline + main.new) / time


def _mostly(name: str, main: Part) -> str:
    return f"{name} (mostly in {short(main.phase)})"


def _in_phase(evidence: Evidence, name: str, main: Part) -> tuple[OperatorChange, Sequence[Row]] | None:
    """An operator's change in the phase with most of it, of several, and its kernels there; None if that is unknown."""
    rows = evidence.kernels_in(name, main.phase)
    change = operator_changes(rows)[0] if rows else None
    if change is None or change.new == change.baseline:
        return None
    return (change, rows) if abs(mean_total([main]) / (change.new - change.baseline) - 1) <= SAME_TIME else None


def _netted_phases(parts: Mapping[int, Part], delta: float) -> str:
    """The changes of an operator by phase, if they are opposite ones; else empty."""
    phases: dict[str, float] = {}
    for part in parts.values():
        name = part.phase or ""
        phases[name] = phases.get(name, 0.0) + part.delta
    return _netted(phases, delta, "in", "in other phases")


def _netted_inputs(kernels: Sequence[Row], delta: float) -> str:
    """The changes of an operator by input shapes, if they are opposite ones; else empty.

    Shapes that one side alone has are other work: then it is told how the sizes of the inputs changed. Nothing is told
    unless the times that no other kernels hide sum to the operator's change in the step.
    """
    inputs: dict[str, float] = {}
    for row in kernels:
        before, after = (number(row.get(f"{side}_busy_ms")) for side in SIDES)
        if not row.get("input_shapes") or row["presence"] != Presence.BOTH or before is None or after is None:
            return ""
        name = str(row["input_shapes"])
        inputs[name] = inputs.get(name, 0.0) + after - before
    if abs(fsum(inputs.values()) - delta) > MISMATCH * abs(delta):
        return ""
    return _netted(inputs, delta, "with inputs", "with other inputs")


def _netted(changes: Mapping[str, float], delta: float, start: str, others: str) -> str:
    """Changes that sum to another, the largest ones by name, if those against it are a part of it that counts.

    Empty if the others together are larger than one that is named. An empty name is that of no phase.
    """
    against = fsum(value for value in changes.values() if value * delta < 0)
    by_size = sorted(changes, key=lambda name: (-abs(changes[name]), name))
    named, rest = by_size[:_NAMED], fsum(changes[name] for name in by_size[_NAMED:])
    if abs(against) < NETTED * abs(delta) or len(named) < _NAMED or abs(rest) > abs(changes[named[-1]]):
        return ""
    shown = short_names([name for name in changes if name], NAME_LENGTH)
    words = (f"{start} {shown[name]}" if name else "outside of the phases" for name in named)
    told = [f"{signed(changes[name])} {word}" for name, word in zip(named, words, strict=True)]
    return "; ".join([*told, f"{signed(rest)} {others}"] if by_size[_NAMED:] else told)


def _shape(kernels: Sequence[Row], parts: Mapping[int, Part], delta: float) -> tuple[str, OperatorChange] | None:
    """The input shapes that hold most of an operator's change, if others hold a part of its time."""
    rows = [
        row for row in kernels
        if row["presence"] == Presence.BOTH and row.get("delta_calls_ms") is not None
    ]  # fmt: skip
    phase = max(parts.values(), key=lambda part: abs(part.delta)).phase
    time = fsum(number(row["baseline"]) or 0.0 for row in rows)
    for row in rows:
        grown, share = number(row["delta"]) or 0.0, (number(row["baseline"]) or 0.0) / time if time else 1.0
        if row.get("phase") not in (None, phase):
            continue
        if row.get("input_shapes") and MOST_OF <= grown / delta <= 1 / MOST_OF and share < MOST_OF:
            return str(row["input_shapes"]), operator_changes([row])[0]
    return None


def _more(place: str, delta: float, mean: float, change: OperatorChange | None) -> str:
    """The sentence for an operator whose kernels changed by something else than its part of the step.

    Args:
        mean: the change of its part of the step, as a mean over ranks; 0 if that cannot be compared.
    """
    start = f"{place} takes {_by(delta)} of the step"
    own = change.new - change.baseline if change else 0.0
    if change is None or change.shown is None or not mean or abs(own / mean - 1) <= SAME_TIME:
        return f"{start}."
    if moved := outside(change.shown, mean, delta):
        return f"{start}{moved}."
    if own / mean > 1:
        return f"{start}, and {_by(own)} in all, as other work hides the rest."
    return f"{start}, as {'less' if mean > 0 else 'more'} of it is hidden under other work."


def outside(shown: float | None, change: float, delta: float) -> str:
    """A clause if kernels changed their part of the step because more or less of them runs before or after it.

    The device is behind the host: a step on the host ends before its last kernels, and begins with those of the last.

    Args:
        shown: the change of the kernels' own time, without what other kernels hide.
        change: that of their part of the step.
    """
    if shown is None or not change or abs(shown / change - 1) <= SAME_TIME:
        return ""
    if shown / change > 1:
        return f", and {_by(delta * shown / change)} in all, the rest while the host is not in the step"
    moved = (change - shown) / change
    part = f"{ms(delta * moved)} of it " if 0 < moved < SAME_PHASE else ""
    return f", {part}as {'more' if delta > 0 else 'less'} of it runs while the host is in the step"


def _slower(change: OperatorChange, place: str, *, alike: bool) -> str:
    """``alike``: whether inputs of the same shapes are known to have the same data types."""
    before, after = count(change.baseline_calls), count(change.new_calls)
    times_called = "once" if after == "1" else f"{after} times"
    calls = f", called {times_called} per step {'as before' if before == after else f'instead of {before}'}"
    per = f"per {'FLOP' if change.by_flop else 'input element'}" if change.size else "per call"
    if change.same_inputs:
        per = f"per call for {'the same inputs' if alike else 'inputs of the same shapes'}"
    return f"{place} takes {times(change.factor)} {per}{calls}"


def _sized(place: str, delta: float) -> str:
    return f"{place} works on {'larger' if delta > 0 else 'smaller'} inputs, which accounts for {ms(delta)}"


def _split(change: OperatorChange, reasons: Mapping[str, float], delta: float) -> str:
    """The parts of an operator's change, the largest first; they sum to it but for parts below a twentieth.

    Calls of unknown inputs may be of another kind: then the calls and their mean time are told, and not what each adds.
    """
    before, after = count(change.baseline_calls), count(change.new_calls)
    if not change.has_shapes and before != after and change.baseline_calls and change.new_calls:
        mean = (change.new / change.new_calls) / (change.baseline / change.baseline_calls)
        per_call = f", {times(mean)} per call on average" if abs(mean - 1) >= LEAST_MEAN else ""
        return f"{before} → {after} calls per step{per_call}"
    unit = ("FLOP" if change.by_flop else "element") if change.size else "call"
    more_calls = change.new_calls > change.baseline_calls
    other = "" if more_calls == (reasons["operator_calls"] * delta > 0) else "another mix of "
    words = {
        "operator_slower": f"for the time per {unit} ({times(change.factor)})",
        "operator_calls": f"for {other}calls ({before} → {after})",
        "workload": f"for {'larger' if change.size > 0 else 'smaller'} inputs",
    }
    named = sorted((what for what in reasons if abs(reasons[what]) > 0.05), key=lambda what: -reasons[what])
    return ", ".join(f"{signed(reasons[what] * delta)} {words[what]}" for what in named)


def _new_or_gone(place: str, delta: float) -> str:
    return f"{place} is {'new' if delta > 0 else 'gone'}: {_by(delta)} per step"


def _came_or_went(change: OperatorChange, place: str, delta: float, *, counted: bool) -> str:
    """``counted``: whether the calls, a mean over ranks, are those that take the time."""
    if not counted:
        return _new_or_gone(place, delta)
    if change.new > 0:
        calls = "call per step that takes" if change.new_calls == 1 else "calls per step that take"
        return f"{place} is new: {count(change.new_calls)} {calls} {ms(delta)}"
    calls = "call" if change.baseline_calls == 1 else "calls"
    return f"{place} is gone: {count(change.baseline_calls)} {calls} per step that took {ms(delta)}"


def _called(change: OperatorChange, place: str, delta: float, *, counted: bool) -> str:
    """``counted``: whether the calls, a mean over ranks, are those that take the time."""
    before, after = count(change.baseline_calls), count(change.new_calls)
    if before == after or (change.new_calls > change.baseline_calls) != (delta > 0):
        return f"{place} is called with another mix of inputs ({before} → {after} calls per step): {_by(delta)}"
    word = "more" if change.new_calls > change.baseline_calls else "less"
    mean = "" if counted else " on average over ranks"
    return f"{place} is called {word} often: {before} → {after} times per step{mean}, {_by(delta)}"

"""Candidates for causes that only say where in the step the time went: phases, and kinds of time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import fsum, log

from rlcompare.compare.computation import MOST_OF, fractions_of, outside
from rlcompare.compare.data_types import retyped
from rlcompare.compare.evidence import Evidence
from rlcompare.compare.host_reasons import host_reason, synchronisations
from rlcompare.compare.odd_calls import odd_calls
from rlcompare.compare.odd_module import in_odd_module
from rlcompare.compare.overall import OUTSIDE
from rlcompare.compare.parts import (
    BETWEEN_STEPS,
    COMMUNICATION,
    COMPUTE,
    LATE_START,
    TIMER,
    WAIT,
    Basis,
    Candidate,
    Part,
    by_name,
    is_about_as_much,
    mean_total,
    total,
    whole,
)
from rlcompare.compare.phrases import count, moved, ms, short, signed
from rlcompare.compare.rows import change_of, number
from rlcompare.compare.short_names import short_names
from rlcompare.compare.waits import words_of
from rlcompare.model.diff import Row
from rlcompare.model.words import SIDES

MORE_KERNELS = 0.05
"""Relative change of the number of kernels of a phase from which it is told."""

LEAST_LONE = 0.05
"""Part of the change from which a phase that only one side has is told."""

_LAUNCHES = frozenset({"launch", "queue"})
"""Kinds of parts that are named after the kernel that is launched."""

_HALF = 40
"""Characters of each of two names that are told as one."""


def places(
    evidence: Evidence,
    basis: Basis,
    rest: Basis,
    single: Sequence[Candidate] = (),
    wanted: Collection[str] = ("phase", "kind"),
) -> Iterator[Candidate]:
    """Each phase, and each kind of time, of a profile.

    Args:
        rest: the basis without what other causes explain.
        single: the candidates of which those that took each other's place count as one name.
        wanted: ``Candidate.what`` of the places.
    """
    replaced = [{basis.parts[place].name for place in one.amounts} for one in single if one.what == "replaced"]
    if "phase" in wanted:
        yield from _phases(evidence, basis, rest, replaced)
    if "kind" in wanted:
        yield from _kinds(evidence, basis, rest, replaced)


def _phases(evidence: Evidence, basis: Basis, rest: Basis, replaced: Sequence[set[str]]) -> Iterator[Candidate]:
    phases: dict[str, dict[int, Part]] = {}
    for place, part in enumerate(rest.parts):
        if part.kind != TIMER and part.phase not in (None, OUTSIDE):
            phases.setdefault(str(part.phase), {})[place] = part
    for phase, parts in phases.items():
        delta = total(parts.values())
        if not all(fsum(values) for values in ([p.baseline for p in parts.values()], [p.new for p in parts.values()])):
            continue  # recorded on one side only, or under another name
        if _is_denied(evidence, phase, delta):
            continue
        main = max(_KINDS, key=lambda kind: _of_kind(parts, kind) * (1 if delta > 0 else -1))
        is_most = delta and 0.5 < _of_kind(parts, main) / delta <= ABOUT_ALL
        mainly = f", mostly {kind_name(evidence, main)}" if is_most else ""
        if mainly and main == COMPUTE:
            mainly += _reason(evidence, basis, {place: part for place, part in parts.items() if part.kind == COMPUTE})
        mainly += _most_of_all(evidence, _by_name(parts, replaced), delta)
        is_rest = _is_rest(basis, parts)
        before, after = (fsum(getattr(part, side) for part in parts.values()) for side in SIDES)
        counted = batches(evidence, phase, before, after) or ("" if is_rest else _kernels_of(evidence, phase, parts))
        clause, facts = synchronisations(evidence, _of_kind(parts, "idle")) if mainly and main == "idle" else ("", ())
        start = f"{'The rest of phase' if is_rest else 'Phase'} {short(phase)}"
        text = f"{start} {moved(delta)} per step{mainly}{counted}{clause}."
        yield Candidate("phase", whole(parts), text, "phases", phase, facts)


def _kinds(evidence: Evidence, basis: Basis, rest: Basis, replaced: Sequence[set[str]]) -> Iterator[Candidate]:
    for kind in _KINDS:
        name = kind_name(evidence, kind)
        parts = {place: part for place, part in enumerate(rest.parts) if _kind(part) == kind}
        if parts:
            start = f"Other {name}" if _is_rest(basis, parts) else name.capitalize()
            names = _by_name(parts, replaced)
            delta = total(parts.values())
            sign = 1 if delta > 0 else -1
            largest = max(names, key=lambda name: (sign * total(names[name].values()), name))
            most = total(names[largest].values())
            clause, facts = _clause(evidence, basis, kind, delta)
            reason = types = ""
            if kind == COMPUTE:
                reason = _reason(evidence, basis, parts) or _outside(evidence, basis, parts)
                types = "" if reason else _retyped(evidence, basis, parts)
            changed = [of_name for of_name in names.values() if total(of_name.values())]
            text = (
                f"{start} {moved(delta)} per step, over {_names(evidence, kind, changed)}{reason}; the largest is"
                f" {_shown(evidence, largest, names[largest])} ({signed(most)}){types}{clause}."
            )
            row = max(names[largest].values(), key=lambda part: (abs(part.delta), part.name)).name
            yield Candidate("kind", whole(parts), text, "account", row, facts)


def lone_phases(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """Phases of the profiled step that only one side runs, where both sides know the phases of their step.

    A phase that the other side runs under another name, or unmarked, or inside another phase, is gone from there: what
    moved the other way, of time and of kernels, must be less than half as much. One that not every step of its side
    has, as tests of each fifth step, may be there by the choice of the steps.
    """
    phases: dict[str, dict[int, Part]] = {}
    for place, part in enumerate(basis.parts):
        if part.kind != TIMER and part.phase not in evidence.lone_phases:
            phases.setdefault(str(part.phase or OUTSIDE), {})[place] = part
    sums = {
        phase: [fsum(getattr(part, side) for part in of.values()) for side in SIDES] for phase, of in phases.items()
    }
    named = {phase: values for phase, values in sums.items() if phase != OUTSIDE and any(values)}
    new, gone = ({phase for phase, values in named.items() if not values[side]} for side in (0, 1))
    lone = new or gone
    if not lone or (new and gone) or len(lone) == len(named):
        return
    sign = 1 if new else -1
    times = {phase: [sign * part.delta for part in of.values()] for phase, of in phases.items()}
    kernels = {
        phase: [sign * ((row.new or 0.0) - (row.baseline or 0.0))]
        for phase, row in evidence.phase_kernels.items()
        if phase not in evidence.lone_phases
    }
    if _is_elsewhere(times, lone) or _is_elsewhere(kernels, lone):
        return
    for phase in lone:
        delta = total(phases[phase].values())
        if abs(delta) >= LEAST_LONE * abs(basis.change) and not _is_denied(evidence, phase, delta):
            rare = evidence.phase_steps.get(phase)
            text = f"Phase {short(phase)} is {'new' if new else 'gone'}: {ms(abs(delta))} per step."
            if rare is not None:
                text = f"Phase {short(phase)} {moved(delta)} per step, {rare.text}."
            yield Candidate("phase", whole(phases[phase]), text, "phases", phase)


def _is_elsewhere(changes: Mapping[str, Sequence[float]], lone: Collection[str]) -> bool:
    """Whether more than half of what phases that one side alone has are fell in other phases.

    What fell is not made up for by what grew beside it: a phase that took another one in may have become quicker.
    """
    moved_here = fsum(change for phase in lone for change in changes.get(phase, ()))
    fell = fsum(change for phase, of in changes.items() if phase not in lone for change in of if change < 0)
    return moved_here > 0 and -fell > 0.5 * moved_here


def _names(evidence: Evidence, kind: str, names: Sequence[Mapping[int, Part]]) -> str:
    """How many names of a kind of time there are, and what they are of. Ranks are those that are waited for."""
    kinds = [{part.kind for part in parts.values()} for parts in names]
    if kind == "idle":
        word, words = "operator or call", "operators and calls"
        if any(one <= _LAUNCHES for one in kinds):
            word, words = "launch", "operators, calls and launches"
        return f"{len(names)} {word if len(names) == 1 else words}"
    word = ("kernel" if evidence.on_device else "operator") if kind == COMPUTE else "collective"
    ranks = sum(one == {WAIT} for one in kinds)
    counted = [(len(names) - ranks, word), (ranks, "rank")]
    return " and ".join(f"{number_} {noun}{'' if number_ == 1 else 's'}" for number_, noun in counted if number_)


def kind_name(evidence: Evidence, kind: str) -> str:
    """What a kind of time is called; without a device, operators stand for kernels."""
    return _KINDS[kind] if evidence.on_device else _KINDS[kind].replace("kernels", "operators")


def _is_denied(evidence: Evidence, phase: str, delta: float) -> bool:
    """Whether training's timer of a phase moved the other way than the profiled one."""
    rows = evidence.sections["phases"].rows if evidence.timed_phases else ()
    return any(row["name"] == phase and (number(row["delta"]) or 0.0) * delta < 0 for row in rows)


def _reason(evidence: Evidence, basis: Basis, parts: Mapping[int, Part]) -> str:
    """Why most of computation changed, if operators that both sides run share one reason: calls, inputs or speed.

    Reasons are known of operators as a whole, so only those count that changed in these parts alone.
    """
    delta = total(parts.values())
    found = {"calls": 0.0, "inputs": 0.0, "slower": 0.0}
    names = {}
    for name, own in by_name(parts).items():
        change = total(own.values())
        elsewhere = total(basis.operators[name].values()) - change
        if abs(elsewhere) <= (1 - MOST_OF) * abs(change):
            names[name] = change
    if MOST_OF <= fsum(names.values()) / (delta or 1.0) <= 1 / MOST_OF and (why := odd_calls(evidence, names)):
        return why
    for name, change in names.items():
        fractions = fractions_of(evidence, basis, name)
        if fractions is None or not fractions.on_both:
            continue
        for reason in found:
            found[reason] += change * getattr(fractions, reason)
    main = max(found, key=lambda reason: found[reason] * delta)
    if found[main] * delta <= 0 or found[main] / delta < MOST_OF:
        return ""
    if main == "calls":
        return f", and most of it is for {'more' if delta > 0 else 'fewer'} calls of the same operators"
    if main == "inputs":
        return f", and most of it is for {'larger' if delta > 0 else 'smaller'} inputs"
    return f", and most of it is {'more' if delta > 0 else 'less'} time per call"


def _outside(evidence: Evidence, basis: Basis, parts: Mapping[int, Part]) -> str:
    """The clause for computation that changed its part of the step while its kernels did not change likewise.

    Operators of which other causes explain a part do not tell, and must hold little of it.
    """
    own = {name: of_name for name, of_name in by_name(parts).items() if not _is_rest(basis, of_name)}
    found = [part for of_name in own.values() for part in of_name.values()]
    changes = [evidence.operator(name) for name in own]
    known = [change.shown for change in changes if change is not None and change.shown is not None]
    delta = total(parts.values())
    if not delta or not known or not MOST_OF <= total(found) / delta <= 1 / MOST_OF or basis.is_apart(found):
        return ""
    return outside(fsum(known), mean_total(found), total(found))


def _kernels_of(evidence: Evidence, phase: str, parts: Mapping[int, Part]) -> str:
    """A clause on the number of kernels of a phase, if that changed by at least half of the factor of its time."""
    row = evidence.phase_kernels.get(phase)
    before, after = (fsum(getattr(part, side) for part in parts.values()) for side in SIDES)
    if row is None or not row.baseline or not row.new or before <= 0 or after <= 0:
        return ""
    kernels, times = log(row.new / row.baseline), log(after / before)
    if kernels * times <= 0 or abs(kernels) < max(0.5 * abs(times), log(1 + MORE_KERNELS)):
        return ""
    return f", with {count(row.new)} kernels instead of {count(row.baseline)}"


def _retyped(evidence: Evidence, basis: Basis, parts: Mapping[int, Part]) -> str:
    """A clause on the operators with inputs of other data types, if they hold most of the change of these parts."""
    delta = total(parts.values())
    for group in retyped(evidence, basis) if delta and not _is_rest(basis, parts) else ():
        change = fsum(group.amounts.values())
        if group.amounts.keys() <= parts.keys() and 0.5 < change / delta <= 1:
            return f"; {group.text} ({signed(change)})"
    return ""


ABOUT_ALL = 1.25
"""A part that is larger than this multiple of the whole is no part of it: others made up for it."""

_KINDS = {"compute": "computation", "communication": "exposed communication", "idle": "time without kernels"}
"""Kinds of time, and their names. The last one has copies too, and the time before the first kernel of a step and after
its last: ``time.idle`` is another."""

_PROFILED = {"compute": "computation", "exposed_comm": "exposed communication", "free": "free time"}


def _clause(evidence: Evidence, basis: Basis, kind: str, delta: float) -> tuple[str, tuple[Row, ...]]:
    """What else is known of a kind of time that changed by this much: a clause with its facts."""
    if kind == "idle":
        return host_reason(evidence, basis, delta)
    return in_odd_module(evidence, basis, delta) if kind == COMPUTE else ("", ())


def _kind(part: Part) -> str:
    if part.kind in COMMUNICATION:
        return "communication"
    return {COMPUTE: "compute", TIMER: "", LATE_START: "", BETWEEN_STEPS: ""}.get(part.kind, "idle")


def _of_kind(parts: Mapping[int, Part], kind: str) -> float:
    return total(part for part in parts.values() if _kind(part) == kind)


def _by_name(parts: Mapping[int, Part], replaced: Sequence[set[str]]) -> dict[str, Mapping[int, Part]]:
    """Parts by name. Operators that took each other's place are one: "old → new", which is short already.

    So are the waits for their launches.
    """
    found: dict[str, Mapping[int, Part]] = {}
    taken: set[int] = set()
    for names in replaced:
        own = {place: part for place, part in parts.items() if part.name in names and place not in taken}
        if len({part.name for part in own.values()}) > 1:
            largest = [max(own.values(), key=lambda part: (getattr(part, side), part.name)).name for side in SIDES]
            shown = short_names(largest, _HALF)
            more = len({part.name for part in own.values()} - {*largest})
            found[" → ".join(shown[name] for name in largest) + (f" + {more} more" if more else "")] = own
            taken |= own.keys()
    return found | by_name({place: part for place, part in parts.items() if place not in taken})


def _shown(evidence: Evidence, name: str, parts: Mapping[int, Part]) -> str:
    if all(part.name == name == part.kind for part in parts.values()):
        return words_of(name)
    kinds = {part.kind for part in parts.values()}
    shown = evidence.short(name) if any(part.name == name for part in parts.values()) else name
    if kinds == {WAIT}:
        return f"waiting for {shown}"
    return f"the launch of {shown}" if kinds <= _LAUNCHES else shown


def _most_of_all(evidence: Evidence, parts: Mapping[str, Mapping[int, Part]], delta: float) -> str:
    """The operator with the largest part of a change, if that is a quarter of it."""
    names = {name: total(found.values()) for name, found in parts.items() if name != OUTSIDE}
    if not names:
        return ""
    name = max(names, key=lambda name: (names[name] * (1 if delta > 0 else -1), name))
    if not delta or not 0.25 < names[name] / delta <= ABOUT_ALL:
        return ""
    return f", most of all {_shown(evidence, name, parts[name])} ({signed(names[name])})"


def _is_rest(basis: Basis, parts: Mapping[int, Part]) -> bool:
    """Whether other causes explain something of these parts."""
    return any(part.delta != basis.parts[place].delta for place, part in parts.items())


def mostly(row: Row, delta: float) -> str:
    """The part of the profiled phase that changed most, if the phase changed there about as much as by its timer.

    It is the profile's: the parts do not sum to the timer.
    """
    changes = {name: change_of(row, part) or 0.0 for part, name in _PROFILED.items()}
    whole_ = fsum(changes.values())
    most = max(changes, key=lambda name: changes[name] * (1 if delta > 0 else -1))
    is_told = is_about_as_much(whole_, delta) and abs(changes[most]) > 0.5 * abs(whole_)
    return f", mostly {most}" if is_told else ""


def batches(evidence: Evidence, phase: str, before: float, after: float) -> str:
    """The passes over the batch, if their number changed by at least half of the factor of the time."""
    batches = evidence.metrics.get("workload.micro_batches")
    if phase not in ("update_actor", "update_critic") or batches is None or not (batches.baseline and batches.new):
        return ""
    if before <= 0 or after <= 0:
        return ""
    passes, times = log(batches.new / batches.baseline), log(after / before)
    if passes * times <= 0 or abs(passes) < 0.5 * abs(times):
        return ""
    noun = "micro batch" if batches.new == 1 else "micro batches"
    return f", which has {count(batches.new or 0)} {noun} instead of {count(batches.baseline or 0)}"

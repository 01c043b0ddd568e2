"""Which operators came in the place of others, and where calls came or went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import fsum

from rlcompare.compare.evidence import Evidence
from rlcompare.compare.parts import Basis, Part
from rlcompare.compare.phrases import short
from rlcompare.compare.places_of_calls import text_of
from rlcompare.compare.records import LoneLaunch
from rlcompare.compare.rows import number
from rlcompare.compare.sequences import MOST_OF, SAME_CALLS
from rlcompare.model.words import SIDES, SideName

MOST_ANSWERS = 4
"""Most operators that may take the place of one; half as many if both sides run them."""

LEAST_CALLS, MOST_MULTIPLE = 4, 4
"""Numbers of calls match by chance if they changed by less than this, or by a larger multiple of each other."""


def exchanged(evidence: Evidence, basis: Basis) -> list[set[str]]:
    """Sets of operators of which some went and others came in their place.

    That is so where the same framework operator launched them in the same phase (of operators that several launched, as
    often as before), or where the operators that launched them came in each other's place; else where the calls of one
    that came or went are matched by as many calls of others (or by a multiple of them) in the other direction, and are
    not known to have been in other modules.
    """
    operators = basis.operators
    both = {change.name for change in evidence.operators if change.on_both}
    came = {name for name, parts in operators.items() if not any(part.baseline for part in parts.values())} - both
    went = {name for name, parts in operators.items() if not any(part.new for part in parts.values())} - both
    by_launch: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for name in came | went:
        for part in operators[name].values():
            launch = part.row.get("new_host_op" if name in came else "baseline_host_op")
            if launch:
                by_launch[part.phase, str(launch)].add(name)
    found = [names for names in by_launch.values() if names & came and names & went]
    found = _joined([*found, *_launched_as_often(evidence, came, went), *_in_one_place(evidence, operators)])
    taken = set().union(*found) if found else set()
    answering = {name: _answering(evidence, operators, name) for name in sorted(came | went)}
    # Where many operators answer, that is work of its own, and none of them is known to be the one.
    crowded = {name for name, others in answering.items() if not _are_few(others, came | went)}
    # The largest first: of one that went, and two that came in its place, it is the one that has both answers.
    for name in sorted(answering, key=lambda name: (-len(answering[name]), name)):
        names = {name, *answering[name]}
        if len(names) > 1 and not names & (taken | crowded):
            found.append(names)
            taken |= names
    return found


def _launched_as_often(evidence: Evidence, came: set[str], went: set[str]) -> Iterator[set[str]]:
    """Operators that a framework operator launched in a phase, if as many calls came there as went."""
    places: dict[tuple[str | None, str], list[LoneLaunch]] = defaultdict(list)
    for launch in evidence.lone_launches:
        places[launch.phase, launch.host_op].append(launch)
    for launches in places.values():
        calls = [fsum(launch.calls for launch in launches if launch.name in names) for names in (went, came)]
        if min(calls) > 0 and max(calls) <= (1 + SAME_CALLS) * min(calls):
            yield {launch.name for launch in launches} & (came | went)


def _joined(groups: Sequence[set[str]]) -> list[set[str]]:
    """Groups that share a name become one."""
    joined: list[set[str]] = []
    for group in groups:
        apart = [other for other in joined if not other & group]
        joined = [*apart, set().union(group, *(other for other in joined if other & group))]
    return joined


def _answering(evidence: Evidence, operators: Mapping[str, Mapping[int, Part]], name: str) -> set[str]:
    """The operators whose number of calls changed by that of ``name``, or a small multiple, in the other direction."""
    change = evidence.operator(name)
    calls = change.new_calls - change.baseline_calls if change else 0.0
    if abs(calls) < LEAST_CALLS:
        return set()
    phases = {part.phase for part in operators[name].values()}
    found = set()
    for other, parts in operators.items():
        answer = evidence.operator(other)
        if answer is None or other == name or not phases & {part.phase for part in parts.values()}:
            continue
        if answer.on_both and not _is_for_calls(evidence, other):
            continue  # it changed for another reason, which would be lost
        multiple = -(answer.new_calls - answer.baseline_calls) / calls
        is_multiple = abs(multiple - round(multiple)) <= 0.01 * multiple
        if (
            0.99 <= multiple <= MOST_MULTIPLE + 0.01
            and is_multiple
            and not _are_apart(evidence, operators, name, other)
        ):
            found.add(other)
    return found


def _are_apart(evidence: Evidence, operators: Mapping[str, Mapping[int, Part]], one: str, other: str) -> bool:
    """Whether the calls of two operators are known to have come and gone in other modules.

    In a model of many equal layers, all edits of a layer change calls by the same number. Where no modules are known,
    they are apart if they came and went after different operators that are called as often as before.
    """
    places = []
    for name in (one, other):
        found = _launching(evidence, name, operators[name])
        place = evidence.edits.place(*found) if found else None
        if place is None:
            return False
        places.append(place.where)
    first, second = places
    if first.inside or first.modules or second.inside or second.modules:
        return (first.inside, first.modules) != (second.inside, second.modules)
    return first.after != second.after and all(_is_as_before(evidence, where.after) for where in places)


def _is_as_before(evidence: Evidence, operator: str | None) -> bool:
    """Whether a framework operator is known to be called as often as before."""
    rows = [row for row in evidence.sections["operators"].rows if operator and row["name"] == operator]
    return any(row.get("baseline_calls") == row.get("new_calls") is not None for row in rows)


def _are_few(answers: set[str], one_sided: set[str]) -> bool:
    return len(answers) <= MOST_ANSWERS and len(answers - one_sided) <= MOST_ANSWERS / 2


def _in_one_place(evidence: Evidence, operators: Mapping[str, Mapping[int, Part]]) -> Iterator[set[str]]:
    """Operators whose calls came and went in the same places of the sequences of framework operators."""
    if not evidence.edits.exchanges:
        return
    launched = {
        name: found
        for name, parts in operators.items()
        if _is_for_calls(evidence, name) and (found := _launching(evidence, name, parts))
    }
    for exchange in evidence.edits.exchanges:
        names: dict[bool, set[str]] = {True: set(), False: set()}
        for name, (operator, calls) in launched.items():
            if abs(exchange.calls(operator) - calls) <= SAME_CALLS * abs(calls):
                names[calls > 0].add(name)
        if all(names.values()):
            yield names[True] | names[False]


def _is_for_calls(evidence: Evidence, name: str) -> bool:
    """Whether most of an operator's change is for the number of its calls."""
    change = evidence.operator(name)
    return change is not None and change.calls * (delta := change.new - change.baseline) >= MOST_OF * delta**2 > 0


def where_edited(evidence: Evidence, name: str, parts: Mapping[int, Part]) -> str:
    """A clause about the place at which the calls of an operator came or went; empty if it is not known.

    Args:
        name, parts: the operator, with a change in its calls.
    """
    found = _launching(evidence, name, parts)
    place = evidence.edits.place(*found) if found else None
    if found is None or place is None:
        return ""
    verb = "added" if found[1] > 0 else "removed"
    subject = "" if place.name == name else f"as {short(place.name)} was "
    return f", {subject}{verb} {text_of(place)}"


def _launching(evidence: Evidence, name: str, parts: Mapping[int, Part]) -> tuple[str, float] | None:
    """The framework operator whose calls made those of an operator change, and by how many more calls it has.

    It is the one that launches it (without a device, the operator itself), if its calls changed by as many or by a
    fraction of them.
    """
    change = evidence.operator(name)
    calls = change.new_calls - change.baseline_calls if change else 0.0
    if not calls:
        return None
    side: SideName = "new" if calls > 0 else "baseline"
    launching = {part.row.get(f"{side}_host_op") for part in parts.values() if getattr(part, side)}
    if evidence.on_device and len(launching) != 1:
        return None
    operator = str(launching.pop()) if evidence.on_device else name
    row = evidence.host_operators.get(operator)
    before, after = (number(row.get(f"{at}_calls")) for at in SIDES) if row else (None, None)
    if before is None or after is None or before == after:
        return None
    multiple = calls / (after - before)
    is_multiple = 1 - SAME_CALLS <= multiple <= MOST_MULTIPLE + SAME_CALLS
    return (operator, after - before) if is_multiple and abs(multiple - round(multiple)) <= SAME_CALLS else None

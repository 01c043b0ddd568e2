"""Candidates for causes that most parts share: more work, another clock, everything slower alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum, inf, log

from rlcompare.compare.computation import SAME_TIME, fractions_at
from rlcompare.compare.evidence import LEAST_RELATIVE, Evidence, faster_side
from rlcompare.compare.odd_calls import odd_calls
from rlcompare.compare.operator_changes import OperatorChange
from rlcompare.compare.overall import OUTSIDE
from rlcompare.compare.parts import (
    COMMUNICATION,
    COMPUTE,
    TIMER,
    Basis,
    Candidate,
    Part,
    alike,
    member_of,
    whole,
)
from rlcompare.compare.phrases import count, ms, percent, short, times
from rlcompare.compare.places import kind_name
from rlcompare.compare.replicates import SIDE_NAMES
from rlcompare.compare.rows import change_of, number
from rlcompare.compare.timers import TrainingLog
from rlcompare.compare.training import BESIDE_TOKENS, GENERATION
from rlcompare.model.digits import grouped
from rlcompare.model.words import SIDES, SideName

WORKLOAD = ("workload.total_tokens", "workload.response_tokens", "workload.response_length_mean")
"""What training was asked for; the first that is known counts."""

ENOUGH = 0.8
"""Part of the change that more work must explain for nothing else to be to blame."""

BROAD = 0.5
"""Part of the computation that must have grown with the work before the work is named rather than an operator."""

UNIFORM = 0.6
"""Part of the computation that must have slowed by about the same factor before the clock is named."""

MOST_COMPARED = 0.8
"""Part of the computation that both sides must have, by its operators, for one factor to be that of all."""

DIVIDED = 0.3
"""The work was divided otherwise if other sizes of inputs take back this part of what the number of calls changed."""

STEADY_RATE = 0.05
"""Times per token that changed by less than this part are called the same."""

LEAST_PHASE = 0.05
"""Phases that take less than this part of the step say nothing about its speed per token."""

OUTLIER = 0.3
"""Part of the change of all computation by which an operator may differ from the others."""

LEAST_CLASS = 0.05
"""Computation, communication and other time below this part of the step need not follow a factor."""

LEAST_FACTOR = 0.02
"""A common factor that is closer to 1 is none."""

ONE_FACTOR = 0.2
"""How far a factor may be from another one that it is said to be about."""

APART = 0.4
"""Part of the changes that may differ from a factor that all parts share."""


def everything(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """All parts changed by about the same factor, whether or not they compute: the machine, and no part of the step.

    With a device, computation alone is not everything. Without one, the host is all that there is. Of a log, the phases
    that training timed must have changed alike, by more than runs of one setting differ.
    """
    classes = _classes(basis.parts, kind_name(evidence, "idle"))
    baseline, new = _sum(basis.parts), _sum(basis.parts, "new")
    timed = basis.parts[0].kind == TIMER
    if baseline <= 0 or new <= 0 or (timed and (not evidence.log.timers or abs(basis.change) < evidence.run_noise)):
        return
    ratio = new / baseline
    if not 0 < ratio < inf:  # of numbers that are nearly 0
        return
    large = {
        name: found
        for name, found in classes.items()
        if max(_sum(found) / baseline, _sum(found, "new") / new) >= LEAST_CLASS
    }
    values = [(part.baseline, part.new) for part in basis.parts]
    largest = max(range(len(values)), key=lambda place: values[place][0])
    least = 2 if evidence.on_device or timed else 1
    if len(large) < least or abs(ratio - 1) < LEAST_FACTOR or _is_other_work(evidence, basis):
        return
    if not all(_keeps_pace(_sum(found), _sum(found, "new"), ratio) for found in large.values()):
        return
    if not alike(values, ratio, APART) or not alike(values[:largest] + values[largest + 1 :], ratio, APART):
        return
    if not _is_of_kernels(evidence, basis):
        return
    factors = {name: _sum(found, "new") / _sum(found) for name, found in large.items()}
    word = "longer" if ratio > 1 else "less time"
    each = ", ".join(f"{name} {percent(found)}" for name, found in factors.items())
    text = f"Everything takes about {percent(ratio)} {word} ({each}): no part of the step stands out."
    yield Candidate("everything", whole(dict(enumerate(basis.parts))), text, "account", "")


def of_one_side(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """Phases that were recorded on one side alone: whether they changed is unknown."""
    for phase, side in evidence.lone_phases.items():
        amounts = {
            place: part.delta
            for place, part in enumerate(basis.parts)
            if part.kind != TIMER and part.phase == phase and part.delta
        }
        if amounts:
            taken = ms(abs(fsum(amounts.values())))
            text = f"Only the {SIDE_NAMES[side].lower()} has times on the device of {short(phase)}: {taken}."
            yield Candidate("one_side", amounts, text, "phases", phase)


def _is_other_work(evidence: Evidence, basis: Basis) -> bool:
    """Whether the sides were asked for different work: then a common factor says nothing of the machine."""
    asked = (evidence.metrics.get(metric) for metric in WORKLOAD)
    if any(found is not None and found.ratio and abs(found.ratio - 1) >= LEAST_RELATIVE for found in asked):
        return True
    of_rank = evidence.log.changes.get("global_seqlen/mean")
    if of_rank is not None and of_rank.is_telling and abs(of_rank.relative) >= LEAST_RELATIVE:
        return True
    changed = fsum(change.new - change.baseline for change in evidence.operators)
    return bool(changed) and abs(fsum(change.work for change in evidence.operators)) >= APART * abs(changed)


def _classes(parts: Sequence[Part], idle: str) -> dict[str, list[Part]]:
    """The parts by class; ``idle`` is what the time is called that is neither computation nor communication."""
    found: dict[str, list[Part]] = {}
    named = dict.fromkeys(COMMUNICATION, "communication") | {COMPUTE: "computation"}
    for part in parts:
        name = short(part.phase) if part.kind == TIMER else named.get(part.kind, idle)
        found.setdefault(name, []).append(part)
    return found


def _sum(parts: Sequence[Part], side: SideName = "baseline") -> float:
    return fsum(getattr(part, side) for part in parts)


def _keeps_pace(before: float, after: float, ratio: float) -> bool:
    """Whether a time changed by about this factor; the same with the sides exchanged."""
    return before > 0 and after > 0 and 0.5 <= (log(after) - log(before)) / log(ratio) <= 1.5


def _is_of_kernels(evidence: Evidence, basis: Basis) -> bool:
    """Whether the kernels' own time changed by as much as the computation of the step; True if it is unknown.

    It does not where the device is behind the host, and more or less of it runs while the host is in the step.
    """
    rows = evidence.sections["kernels"].rows if evidence.on_device else ()
    shown = ((change_of(row, "busy_ms"), number(row["delta"])) for row in rows)
    own = fsum(busy if busy is not None else delta or 0.0 for busy, delta in shown)
    computed = fsum(basis.computed.values())
    return not rows or not computed or (own * computed > 0 and abs(computed) <= (1 + SAME_TIME) * abs(own))


def work(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """More tokens, or more calls and larger inputs in most of the computation."""
    if basis.of_kind(TIMER) and evidence.log.timers:
        return  # the log itself tells how far its timers follow the work (log_reasons)
    amounts, counted = _work_of_kernels(evidence, basis)
    for metric in WORKLOAD:
        asked = evidence.metrics.get(metric)
        if asked is None or not asked.ratio or asked.delta is None:
            continue
        if abs(asked.ratio - 1) >= LEAST_RELATIVE and (asked.ratio > 1) == (basis.change > 0):
            expected = _with_tokens(evidence, basis, asked.ratio, counted)
            amounts = {**amounts, **_as_changed(basis, expected)}
            if not _is_broad(basis, amounts, {**expected, **amounts}):
                return
            enough = fsum(amounts.values()) / basis.change >= ENOUGH
            text = (
                f"The new side had {percent(asked.ratio)} {'more' if asked.ratio > 1 else 'less'} work"
                f" ({metric} {asked.baseline:,.6g} → {asked.new:,.6g}): the work changed"
                f"{per_token(evidence, basis, alone=enough)}."
            )
            yield Candidate("workload", amounts, text, "workload", metric)
            return
        break  # the tokens are known, and they are no reason
    yield from _broad_work(evidence, basis, amounts)


def _work_of_kernels(evidence: Evidence, basis: Basis) -> tuple[dict[int, float], set[int]]:
    """What more calls and larger inputs add to each part in the direction of the change; and the parts that tell."""
    amounts = {}
    for place, part in basis.of_kind(COMPUTE).items():
        fractions = fractions_at(evidence, basis, part)
        if fractions is not None and fractions.on_both:
            amounts[place] = part.delta * (fractions.calls + fractions.inputs)
    return _as_changed(basis, amounts), set(amounts)


def _with_tokens(evidence: Evidence, basis: Basis, factor: float, counted: set[int]) -> dict[int, float]:
    """By how much each part that does not count its own work would have changed at the same speed, in ms.

    Generation grows with its decode steps, else with the tokens of responses, the other parts with all tokens. The
    host's work, communication, and what training does beside the tokens do not grow with them.
    """
    known = (evidence.metrics.get(metric) for metric in ("workload.decode_steps", "workload.response_tokens"))
    generation = next((delta.ratio for delta in known if delta is not None and delta.ratio), factor)
    return {
        place: part.baseline * ((generation if part.phase in GENERATION else factor) - 1)
        for place, part in basis.of_kind(COMPUTE, TIMER).items()
        if place not in counted and part.name not in (OUTSIDE, *BESIDE_TOKENS)
    }


def _as_changed(basis: Basis, expected: Mapping[int, float]) -> dict[int, float]:
    """The expected changes, as far as the parts did change in that direction, which is that of the whole."""
    found = {}
    for place, amount in expected.items():
        delta = basis.parts[place].delta
        if amount * delta > 0 and amount * basis.change > 0:
            found[place] = min(abs(amount), abs(delta)) * basis.sign
    return found


def _is_broad(basis: Basis, amounts: Mapping[int, float], expected: Mapping[int, float]) -> bool:
    """Whether the parts that changed as expected are most of those that could have."""
    able = {place: part for place, part in basis.of_kind(COMPUTE, TIMER).items() if place in expected}
    others = [part for place, part in basis.of_kind(COMPUTE).items() if place not in expected]
    grown = [
        part for place, part in able.items() if abs(amounts.get(place, 0.0)) >= 0.5 * abs(expected[place])
        and amounts.get(place, 0.0) * basis.change > 0
    ]  # fmt: skip
    return bool(grown) and _sum(grown) >= BROAD * (_sum(list(able.values())) + _sum(others))


def _follows_longest(log: TrainingLog, phase: str) -> bool:
    """Whether the steps show that generation follows its longest response or its decode steps, and not all tokens."""
    drivers = log.drivers.get(log.timers.get(phase, ""), ())
    return any(driver.slope is not None and driver.metric != "response_length/mean" for driver in drivers)


def per_token(evidence: Evidence, basis: Basis, *, alone: bool) -> str:
    """A clause on the time per token: where nothing is slower (or faster), the work alone is to blame.

    Args:
        alone: whether the work explains nearly all of the change.
    """
    rates, unknown = [], False
    headline = faster_side(evidence.headline) if evidence.headline else 0.0
    for row in evidence.sections["phases"].rows:
        before, after = number(row.get("baseline_ms_per_token")), number(row.get("new_ms_per_token"))
        longest = max(number(row.get(side)) or 0.0 for side in SIDES)
        if row["name"] in (OUTSIDE, *BESIDE_TOKENS) or longest <= LEAST_PHASE * headline:
            continue
        if row["name"] in GENERATION and _follows_longest(evidence.log, str(row["name"])):
            unknown = True
        elif before and after:
            rates.append((after / before, row, longest))
        else:
            unknown = True
    apart = [found for found in rates if abs(found[0] - 1) > STEADY_RATE]
    other = [found for found in apart if basis.sign * (found[0] - 1) > 0]
    if not rates or not (other or alone):
        return ""
    if not apart:
        return "" if unknown else f", not its speed; per token nothing is {'slower' if basis.sign > 0 else 'faster'}"
    rate, row, _ = max(other or apart, key=lambda found: abs(found[0] - 1) * found[2])
    token = "response token" if row["name"] in GENERATION else "token"
    return f"; but per {token} {short(row['name'])} takes {times(rate)}"


def _broad_work(evidence: Evidence, basis: Basis, amounts: Mapping[int, float]) -> Iterator[Candidate]:
    both = [change for change in evidence.operators if change.on_both]
    grown = [change for change in both if basis.sign * change.work > LEAST_RELATIVE * change.baseline]
    of_all = [(fsum(getattr(one, side) for one in grown), fsum(getattr(one, side) for one in both)) for side in SIDES]
    if len(grown) < 2 or not all(all_ and part >= BROAD * all_ for part, all_ in of_all):
        return
    names = {change.name for change in grown}
    amounts = {place: amount for place, amount in amounts.items() if basis.parts[place].name in names}
    before, after = (fsum(getattr(change, side) for change in grown) for side in ("baseline_calls", "new_calls"))
    why, metric = "larger inputs" if basis.sign > 0 else "smaller inputs", "workload.input_elements"
    calls, sizes = (fsum(getattr(change, what) for change in grown) for what in ("calls", "size"))
    by_calls = abs(calls) > abs(sizes)
    if by_calls and (after - before) * basis.change <= 0:
        return  # as many calls, or fewer, where they take longer: another mix, which each operator tells
    waited: dict[int, float] = {}
    if by_calls:
        why = f"{'more' if basis.sign > 0 else 'fewer'} calls, {count(before)} → {count(after)}"
        metric = "workload.kernels"
        phases = {basis.parts[place].phase for place in amounts if basis.parts[place].delta * basis.sign > 0}
        waits = basis.of_kind("launch", "queue", "operator", "python") if before else {}
        parts = {place: part for place, part in waits.items() if part.phase in phases}  # others wait for other reasons
        waited = _as_changed(basis, {place: part.baseline * (after / before - 1) for place, part in parts.items()})
        amounts |= waited

    between = " with the time between them" if waited else ""
    divided = by_calls and calls * sizes < 0 and abs(sizes) >= DIVIDED * abs(calls) and _is_in_most_places(evidence)
    what = f"The work itself {'grew' if basis.sign > 0 else 'shrank'}"
    if divided:
        what = f"The work was divided into {'more, smaller' if basis.sign > 0 else 'fewer, larger'} calls"
        why = f"{count(before)} → {count(after)} calls"

    is_mean = by_calls and basis.is_other_on_path(basis.parts[place] for place in amounts)
    means = "; the calls are means over ranks" if is_mean else ""

    def text(delta: float) -> str:
        return f"{what}: {len(grown)} operators had {why} per step, which accounts for {ms(delta)}{between}{means}."

    yield Candidate("workload", amounts, text, "workload", metric)


def _is_in_most_places(evidence: Evidence) -> bool:
    """Whether operators are called more or less often in most of their phases, by time; True if that is unknown.

    Small calls that came to a few large ones make the mean call smaller, too.
    """
    places = evidence.host_places.values()
    changed = [change for change in places if abs(change.calls) > LEAST_RELATIVE * change.baseline]
    times = ((getattr(change, side) for change in of) for side in SIDES for of in (changed, places))
    before, all_before, after, all_after = map(fsum, times)
    return before >= BROAD * all_before and after >= BROAD * all_after


def clock(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """Most kernels slowed by about the same factor: a lower clock, if the counters say so.

    Where inputs changed size, that is the time per element, which need not stay the same: then only the counters count.
    """
    both = [change for change in evidence.operators if change.on_both and change.baseline > 0]
    baseline = fsum(change.baseline for change in both)
    delta = fsum(change.slower for change in both)
    comparable = fsum(change.new - change.slower for change in both)
    if len(both) < 3 or comparable <= 0 or abs(delta) < LEAST_FACTOR * baseline or not _are_most(evidence, both):
        return
    factor = 1 + delta / comparable
    if odd_calls(evidence, [change.name for change in both]):
        return
    if factor == 1 or not _uniform(both, factor) or any(_stands_out(change, baseline, delta) for change in both):
        return
    amounts = {}
    for place, part in basis.of_kind(COMPUTE).items():
        fractions = fractions_at(evidence, basis, part)
        if fractions is not None and fractions.on_both:
            amounts[place] = part.delta * fractions.slower
    before, after = evidence.frequency.get("baseline"), evidence.frequency.get("new")
    if before and after and abs(after / before - 1) > LEAST_FACTOR and _fits(before / after, factor):
        text = (
            f"The AI Core clock {'fell' if after < before else 'rose'} from {grouped(before)} to {grouped(after)} MHz,"
            f" and most kernels take {times(factor)}, by about that factor."
        )
        yield Candidate("frequency", amounts, text, "kernel_types", both[0].name)
    elif all(change.same_inputs or not change.size for change in both) and not _has_other_inputs(evidence):
        of_rank = _where_all_slowed(evidence, basis, amounts)
        where, changed = of_rank or ("as a whole", f"{times(factor)}{_on_path(basis, amounts, factor)}")
        what = "kernels" if evidence.on_device else "operators"
        text = f"Computation {where} takes {changed}: most {what} by about the same factor, none stands out."
        yield Candidate("compute", amounts, text, "kernel_types", both[0].name)


def _are_most(evidence: Evidence, both: Sequence[OperatorChange]) -> bool:
    """Whether operators that both sides run are most of the computation of each side."""
    times = ((getattr(change, side) for change in of) for side in SIDES for of in (both, evidence.operators))
    old, all_old, new, all_new = map(fsum, times)
    return old >= MOST_COMPARED * all_old and new >= MOST_COMPARED * all_new


def _on_path(basis: Basis, amounts: Mapping[int, float], factor: float) -> str:
    """A clause where the parts changed on the critical path by another factor than as a mean over ranks."""
    baseline = fsum(basis.parts[place].baseline for place in amounts)
    found = times(1 + fsum(amounts.values()) / baseline) if basis.ranks and baseline else times(factor)
    return "" if found == times(factor) else f" on average over ranks, and {found} on the critical path"


def _where_all_slowed(evidence: Evidence, basis: Basis, amounts: Mapping[int, float]) -> tuple[str, str] | None:
    """The one rank whose computation slowed, and by how much; None if that is on several."""
    member = member_of(evidence, basis, amounts)
    row = next((row for row in evidence.sections["ranks"].rows if row["name"] == member), {})
    before, after = number(row.get("baseline_compute")), number(row.get("new_compute"))
    if not before or not after:
        return None
    return f"on {member}", f"{times(after / before)}{_clock_of(evidence, member, after / before)}"


def _clock_of(evidence: Evidence, member: str, factor: float) -> str:
    """A clause where the AI Core clock of a rank changed by about the factor of its computation."""
    rows = evidence.sections["counters"].rows
    row = next((row for row in rows if row["name"] == "aicore_freq" and row.get("member") == member), {})
    before, after = (number(row.get(side)) for side in SIDES)
    if not before or not after or abs(after / before - 1) <= LEAST_FACTOR or not _fits(before / after, factor):
        return ""
    moved_to = "fell" if after < before else "rose"
    return f", as its AI Core clock {moved_to} from {grouped(before)} to {grouped(after)} MHz"


def _stands_out(change: OperatorChange, baseline: float, delta: float) -> bool:
    """Whether an operator differs from the factor of all others by a large part of the change of them all."""
    others = baseline - change.baseline
    expected = change.baseline * (delta - change.slower) / others if others else 0.0
    return abs(change.slower - expected) > OUTLIER * abs(delta)


def _has_other_inputs(evidence: Evidence) -> bool:
    """Whether the kernels that both sides run have larger or smaller inputs than before."""
    rows = evidence.sections["kernels"].rows
    sizes = [(number(row.get("baseline_elements")), number(row.get("new_elements"))) for row in rows]
    return any(old and new and abs(new / old - 1) > LEAST_RELATIVE for old, new in sizes)


def _fits(clocks: float, factor: float) -> bool:
    return 0.5 <= (clocks - 1) / (factor - 1) <= 1.5


def _is_like(one: float, factor: float) -> bool:
    """Whether a factor is about this one: nearer to it than half of its change, and not far from it by itself."""
    return one > 0 and 0.5 <= log(one) / log(factor) <= 1.5 and abs(log(one) - log(factor)) <= log(1 + ONE_FACTOR)


def _uniform(changes: Sequence[OperatorChange], factor: float) -> bool:
    """Whether most of the computation changed by about this factor, also without its largest operator."""
    largest = max(changes, key=lambda change: change.baseline)
    for among in (changes, [change for change in changes if change is not largest]):
        same = fsum(change.baseline for change in among if _is_like(change.factor, factor))
        if same < UNIFORM * fsum(change.baseline for change in among):
            return False
    return True

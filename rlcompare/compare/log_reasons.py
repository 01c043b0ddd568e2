"""Candidates for causes from a training log alone: each timed phase, and why it changed, as far as the log shows.

A phase changes with its work (longer responses, more tokens, an imbalance between ranks, more batches), as far as the
steps of the log show it; what is left of its change is a cause of its own. Beside that, a sentence states what else
moved in the direction that fits: preemptions, acceptance, turns, MFU, memory, and settings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import copysign, fsum, sqrt
from typing import NamedTuple

from rlcompare.compare.common import ENOUGH, STEADY_RATE, per_token
from rlcompare.compare.evidence import LEAST_RELATIVE, Evidence, faster_side
from rlcompare.compare.log_sentences import WHY
from rlcompare.compare.log_tells import (
    DEVICES,
    FITS,
    GENERATION,
    WORK_SETTINGS,
    beside,
    settings,
    settings_of,
)
from rlcompare.compare.log_work import Work, work_of
from rlcompare.compare.overall import OUTSIDE, SPEED
from rlcompare.compare.parts import TIMER, WAITING, Basis, Candidate, Part
from rlcompare.compare.phrases import moved, ms, seconds, short
from rlcompare.compare.places import batches, mostly
from rlcompare.compare.timers import MS_PER_S, TELLING, TrainingLog
from rlcompare.compare.training import BESIDE_TRAINING
from rlcompare.metrics import entry, waits
from rlcompare.model.words import SIDES, SideName

ABSORBED = 0.25
"""Part of a phase's change that may be left beside a reason before it is a cause of its own."""

HARDLY = 0.5
"""Part of what runs of one setting differ by below which nothing is a cause."""

LARGE_LUCK = 1.5
"""How much more than what runs of one setting differ by batches must explain to be told even if they may be luck."""

OF_ASYNCHRONOUS = ("timing_s/generate_async", "fully_async/")
"""How metrics begin that only trainers log which generate while they train."""

WORTH_NAMING = 0.05
"""Part of a phase's change from which what is made up for is told beside it."""

ALL_OF = 0.8
"""Part of a timer's change that few steps must make up to be told; the others may make up for no more than that."""

BY_LUCK = "; over so few steps this may be luck"


class _Share(NamedTuple):
    """What a reason explains, in ms, of the timer at this place of ``Basis.parts``."""

    amount: float
    place: int
    telling: bool


def log_reasons(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """Each reason over all phases that it explains, and what is left of each phase; nothing that hardly matters."""
    shorter = min(fsum(getattr(part, side) for part in basis.parts) for side in SIDES)
    least = max(LEAST_RELATIVE * shorter, HARDLY * evidence.run_noise)
    return (candidate for candidate in _candidates(evidence, basis) if abs(candidate.delta) >= least)


def _candidates(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    log = evidence.log
    by_reason: dict[str, list[_Share]] = defaultdict(list)
    for place, part in basis.of_kind(TIMER).items():
        if part.name == OUTSIDE:
            if abs(part.delta) >= _luck(evidence, part):
                text = (
                    f"Time outside of the timed phases {moved(part.delta)} per step{_by_timer(evidence, part.delta)}."
                )
                yield Candidate("outside", {place: part.delta}, text, "phases", part.name)
            continue
        found = _explained(log, part, LARGE_LUCK * evidence.run_noise)
        of_steps = _of_long_steps(evidence, part, place, found.luck) if not found.kept else None
        if of_steps is not None:
            yield of_steps
            continue
        for reason, amount in found.kept.items():
            by_reason[reason].append(_Share(amount, place, reason not in found.lucky))
        if part.row and found.rest:
            why, is_reason = _why(evidence, part, found.rest, found.kept)
            if is_reason or abs(found.rest) >= _luck(evidence, part):
                why += settings(evidence, settings_of(part), found.rest)
                inner = "" if part.phase == part.name else f", {_place(part.name)}"
                text = f"Phase {short(part.phase)}{_key(part)} {moved(found.rest)} per step{inner}{why}."
                yield Candidate("phase", {place: found.rest}, text, "phases", str(part.phase))
    for reason, shares in by_reason.items():
        for sign in (1, -1):
            amounts = {share.place: share.amount for share in shares if share.amount * sign > 0}
            if amounts:
                lucky = not any(share.telling for share in shares)
                yield _candidate(evidence, basis, reason, amounts, BY_LUCK if lucky else "")


def _of_long_steps(evidence: Evidence, part: Part, place: int, luck: float) -> Candidate | None:
    """The few steps that make up a timer's change; None where the others changed too, the work in them did, or by luck.

    Args:
        luck: ms of the change that chance in the work explains.
    """
    long, rest = evidence.log.long.get(part.timer), part.delta - luck
    if long is None or not rest or part.phase in evidence.rare_phases:
        return None
    change, error = long.delta * MS_PER_S, TELLING * long.error * MS_PER_S
    if not ALL_OF <= change / rest <= 1 / ALL_OF:
        return None
    left = part.delta - change
    amount = part.delta if abs(left) <= error or left * part.delta < 0 else change
    if abs(amount) < _luck(evidence, part):
        return None
    inner = "" if part.phase == part.name else f", {_place(part.name)}"
    takes, on = ("takes", "") if long.side == "new" else ("took", " of the baseline")
    values = f", nearly all of it in {long.where}{on}"
    is_whole = bool(inner) and evidence.log.timers.get(str(part.phase)) == part.timer
    if long.others is not None and not is_whole:  # else the timer's times are not the part's
        values = f", as it {takes} {seconds(long.at)} in {long.where}{on} and {seconds(long.others)} in the others"
    why, _ = _why(evidence, part, amount)
    text = f"Phase {short(part.phase)}{_key(part)} {moved(amount)} per step{inner}{values}{why}."
    return Candidate("phase", {place: amount}, text, "phases", str(part.phase))


def _by_timer(evidence: Evidence, delta: float) -> str:
    """A clause with the user's own timer that changed as the time outside of the phases did; empty if there is none.

    It may lie inside a phase, as nothing is known of it: so its change must be about the same.
    """
    fits = []
    for name, found in evidence.metrics.items():
        if not name.startswith("timing_s/") or entry(name) is not None:
            continue
        change = ((found.new or 0.0) - (found.baseline or 0.0)) * MS_PER_S
        if change * delta > 0 and ALL_OF * abs(delta) <= abs(change) <= abs(delta) / ALL_OF:
            fits.append((abs(change - delta), name, found))
    if not fits:
        return ""
    _, name, found = min(fits, key=lambda one: one[:2])
    before, after = ("not logged" if (value := found.value(side)) is None else seconds(value) for side in SIDES)
    return f", as {short(name)} did ({before} → {after})"


def _luck(evidence: Evidence, part: Part) -> float:
    """By how many ms a part differs between runs of one setting.

    A phase of each step differs by at most ``TELLING`` times the part of its own time by which their steps do. What
    runs in single steps, and waiting, which is a difference of two long times, may differ by more. What lies outside
    of the phases has no length of its own: the longer one counts.
    """
    noise, whole = evidence.run_noise, faster_side(evidence.headline) if evidence.headline else 0.0
    if not whole or part.phase in evidence.rare_phases or part.phase in waits():
        return noise
    longest = max if part.name == OUTSIDE else min
    return noise * min(1.0, TELLING * longest(abs(part.baseline), abs(part.new)) / whole)


def _place(name: str) -> str:
    """Where in a phase a part of it is."""
    return name if name.startswith("outside") else f"in {name}"


def _key(part: Part) -> str:
    """A clause with the timer's key, where a phase has another name than most logs give it; else empty."""
    if part.phase != part.name or part.phase in (GENERATION, "ref_log_prob") or not part.timer:
        return ""
    return "" if part.timer.rpartition("/")[2] == part.phase else f" ({short(part.timer)})"


class _Explained(NamedTuple):
    """A timer's change, divided.

    Attributes:
        kept: ms by reason.
        rest: ms that no reason and no luck explains; 0 if the rest is luck.
        lucky: the reasons whose own change may be luck.
        luck: ms that chance in the work explains.
    """

    kept: Mapping[str, float]
    rest: float
    lucky: frozenset[str] = frozenset()
    luck: float = 0.0


def _explained(log: TrainingLog, part: Part, large: float) -> _Explained:
    """What the work explains of a timer's change, and what is left of it.

    Nothing is kept against the direction of the change. What luck in the work explains (a longer tail in these steps)
    is no reason, and is not left either. Batches that were generated again are told even if they are luck.

    Args:
        large: ms from which batches are told.
    """
    work = work_of(log, part)
    lucky = frozenset(one.reason for one in work.reasons) - {one.reason for one in work.reasons if one.telling}
    kept: dict[str, float] = {}
    luck = 0.0
    for share in work.reasons:
        is_large = share.reason == "batches" and abs(share.amount) >= large
        if share.amount * part.delta > 0 and (share.telling or is_large):
            kept[share.reason] = kept.get(share.reason, 0.0) + share.amount
        elif not share.telling:
            luck += share.amount
    explained = fsum(kept.values())
    if abs(explained) > abs(part.delta):
        kept = {reason: amount * part.delta / explained for reason, amount in kept.items()}
        explained = part.delta
    rest = part.delta - luck - explained
    error = TELLING * sqrt(log.error_ms(part.timer) ** 2 + work.error**2)
    if kept and abs(rest) <= max(ABSORBED * abs(part.delta), error):
        slower = _beyond(log, part, work, explained, rest)
        if slower:
            grown = (explained + rest - slower) / explained
            return _Explained({reason: amount * grown for reason, amount in kept.items()}, slower, lucky, luck)
        # Times do not follow their reason to the last digit: the rest is its own, unless that is luck.
        scale = (explained + rest) / explained if abs(rest) > error or rest * explained > 0 else 1.0
        scale = min(max(scale, 0.0), part.delta / explained)
        return _Explained({reason: amount * scale for reason, amount in kept.items()}, 0.0, lucky)
    if rest * part.delta <= 0 or (abs(rest) <= error and part.name not in BESIDE_TRAINING):
        return _Explained(kept, 0.0, lucky, luck)
    left = abs(part.delta - explained)
    return _Explained(kept, max(-left, min(left, rest)), lucky, luck)


def _beyond(log: TrainingLog, part: Part, work: Work, explained: float, rest: float) -> float:
    """What a timer changed by beyond all that can follow the work, in ms: each token takes longer, or less long.

    0 if the time per token is about the same, or by luck.
    """
    if rest * explained <= 0:
        return 0.0
    beyond = abs(explained + rest) - max(abs(explained), work.most)
    same = max(TELLING * log.error_ms(part.timer), STEADY_RATE * (part.baseline + part.new) / 2)
    return copysign(beyond, part.delta) if beyond > same else 0.0


def _candidate(evidence: Evidence, basis: Basis, reason: str, amounts: Mapping[int, float], note: str) -> Candidate:
    delta = fsum(amounts.values())
    names = list(dict.fromkeys(basis.parts[place].phase or basis.parts[place].name for place in amounts))
    log = evidence.log
    why, section, row = WHY[reason](log, delta)
    why += settings(evidence, DEVICES if reason == "ranks" else WORK_SETTINGS, delta)
    if len(names) == 1:
        start = f"Phase {short(names[0])} {moved(delta)} per step"
    else:
        start = f"Phases {', '.join(map(short, names[:-1]))} and {short(names[-1])} {moved(delta)} per step"
    against = {place: _against(log, basis.parts[place], reason) for place in amounts}
    most = max(against, key=lambda place: abs(against[place]))
    if against[most]:
        more = "more" if against[most] > 0 else "less"
        why += f"; but for the same work {short(basis.parts[most].phase)} takes about {ms(against[most])} {more}"
    elif reason == "work":
        alone = delta / basis.change >= ENOUGH
        rates = per_token(evidence, basis, alone=alone)
        why += f": the work changed{rates}" if rates else ""
    what = "workload" if reason == "work" else reason
    made_up = _hidden([basis.parts[place] for place in amounts])
    return Candidate(what, amounts, f"{start}{made_up}, {why}{note}.", section, row)


def _against(log: TrainingLog, part: Part, reason: str) -> float:
    """What a timer changed by against what its work explains, in ms: fewer tokens may hide that each takes longer.

    0 if the steps do not show it, if it may be luck, or if the reason is not the largest one.
    """
    work = work_of(log, part)
    explained = fsum(one.amount for one in work.reasons)
    if not work.reasons or max(work.reasons, key=lambda one: abs(one.amount)).reason != reason:
        return 0.0
    rest = part.delta - explained
    error = TELLING * sqrt(log.error_ms(part.timer) ** 2 + work.error**2)
    least = max(error, STEADY_RATE * (part.baseline + part.new) / 2)
    return rest if work.error and rest * explained < 0 and abs(rest) > least else 0.0


def _hidden(parts: Sequence[Part]) -> str:
    """A clause on what else phases changed by, which makes no step longer; empty if that is next to nothing."""
    size = fsum(part.hidden for part in parts)
    if abs(size) <= WORTH_NAMING * abs(fsum(part.delta for part in parts)):
        return ""
    waiting = f"{'less' if size > 0 else 'more'} waiting for samples"
    return f", not counting {ms(abs(size))} offset by {'other phases' if parts[0].name == WAITING else waiting}"


def _moved_out(log: TrainingLog, part: Part) -> str:
    """A clause for a phase that one side has outside of its step; else empty."""
    other: SideName = "new" if part.baseline else "baseline"
    if part.timer not in log.changes or (part.baseline and part.new) or part.phase != part.name:
        return ""
    if (other, part.timer) in log.of_step:  # none of the steps that count has it
        return ""
    return f", as {SPEED} of the {'new side' if other == 'new' else 'baseline'} does not include it"


def _beside_the_step(log: TrainingLog, part: Part) -> str:
    """A clause for generation that one side runs beside its steps, while it trains; else empty."""
    less: SideName = "new" if part.delta < 0 else "baseline"
    known = [name for name, side in log.lone.items() if side == less and name.startswith(OF_ASYNCHRONOUS)]
    if part.phase != GENERATION or part.phase != part.name or not known:
        return ""
    return f", as it runs beside the step on the {'new side' if less == 'new' else 'baseline'} ({short(min(known))})"


def _why(evidence: Evidence, part: Part, rest: float, told: Collection[str] = ()) -> tuple[str, bool]:
    """What the log tells of a phase's change, or of what is left of it, and whether that is a reason.

    Args:
        told: as for ``beside``.
    """
    rare = evidence.rare_phases.get(str(part.phase))
    outside = _moved_out(evidence.log, part)
    in_steps = "" if rare is None else rare.text_of("baseline" if part.baseline else "new") if outside else rare.text
    profiled = mostly(part.row, part.delta) if part.name == part.phase else ""  # that of the whole phase
    clauses = [f"{_hidden([part])}{f', {in_steps}' if in_steps else ''}", profiled]
    clauses += [
        batches(evidence, part.name, part.baseline, part.new),
        outside or _beside_the_step(evidence.log, part),
    ]
    moved_too, is_reason = beside(evidence.log, part, rest, told)
    is_number = rare is not None and rare.by_number(part.baseline, part.new) / part.delta >= FITS
    return "".join((*clauses, moved_too)), is_number or is_reason or any(clauses[1:])

"""Candidates for what made the headline move (``Diff.causes``), each one sentence, the best first.

Every kind of cause is a pure function over aggregated rows. A candidate that explains at least half of the change comes
before one that explains less; among those that do, the more specific kind comes first: work that was asked for, a lower
clock, a rank that others wait for, single operators, lost overlap, communication, the host, and only then the places
(phase, category) where the time went.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rlcompare.compare.evidence import (
    LEAST_MS,
    LEAST_RELATIVE,
    Evidence,
    OperatorChange,
    change_of,
    count,
    has_moved,
    moved,
    ms,
    number,
    percent,
    short,
    times,
)
from rlcompare.compare.names import kind_of
from rlcompare.compare.overall import OUTSIDE
from rlcompare.compare.training import BESIDE_TOKENS, GENERATION
from rlcompare.compare.waits import WHAT, waits
from rlcompare.model.diff import Cause, Row
from rlcompare.model.words import Presence

__all__ = ["Evidence", "find_causes"]

SUFFICIENT, WORTH_NAMING = 0.5, 0.05
"""Shares of the headline's change from which a candidate suffices, and from which it is named."""

BROAD = 0.5
"""Part of the computation that must have grown with the inputs before the workload is named rather than an operator."""

UNIFORM = 0.6
"""Part of the computation that must have slowed by about the same factor before the clock is named."""

STEADY_RATE = 0.05
"""Times per token that changed by less than this part are called the same."""

LEAST_PHASE = 0.05
"""Phases that take less than this part of the step say nothing about its speed per token."""

STEADY = 0.3
"""Total communication that changed by less than this part of the exposed communication's change is not what changed."""

_MOST = 8
_SPECIFICITY = (
    "workload", "frequency", "straggler", "operator_slower", "operator_calls", "compute", "lost_overlap",
    "communication", *WHAT.values(), "free", "preparing", "tail", "phase", "category",
)  # fmt: skip


def find_causes(evidence: Evidence) -> tuple[Cause, ...]:
    """The candidates, best first; none if the headline hardly moved or is unknown."""
    if evidence.headline is None or not has_moved(evidence.headline):
        return ()
    found = [cause for kind in _KINDS for cause in kind(evidence) if (cause.share or 0) >= WORTH_NAMING]
    return tuple(sorted(found, key=_place)[:_MOST])


def _place(cause: Cause) -> tuple[bool, int, float, str]:
    share = cause.share or 0.0
    sufficient = share >= SUFFICIENT
    return (not sufficient, _SPECIFICITY.index(cause.what) if sufficient else 0, -share, cause.text)


def _workload(evidence: Evidence) -> Iterator[Cause]:
    """More tokens, or inputs that grew across most of the computation."""
    sign = 1 if evidence.change > 0 else -1
    for metric in ("workload.total_tokens", "workload.response_tokens", "workload.response_length_mean"):
        asked = evidence.metrics.get(metric)
        if asked is None or not asked.ratio or asked.delta is None or abs(asked.ratio - 1) < LEAST_RELATIVE:
            continue
        expected = sign * _growth(evidence, asked.ratio)
        if expected > 0:
            text = (
                f"The new side was asked for {percent(asked.ratio)} {'more' if asked.ratio > 1 else 'less'}"
                f" ({metric} {asked.baseline:,.6g} → {asked.new:,.6g}): the work changed{_per_token(evidence, sign)}."
            )
            yield evidence.cause("workload", sign * min(expected, abs(evidence.change)), text, "workload", metric)
            return
    yield from _broad_work(evidence)


def _growth(evidence: Evidence, factor: float) -> float:
    """What the headline would have changed by at the same speed, in ms.

    Where phases were timed, generation grows with its decode steps, else with the tokens of responses, the other phases
    with all tokens, and time outside of them not at all.
    """
    rows = [row for row in evidence.sections["phases"].rows if row.get("kind") == "wall"]
    if not rows:
        return _whole(evidence) * (factor - 1)
    known = (evidence.metrics.get(metric) for metric in ("workload.decode_steps", "workload.response_tokens"))
    generation = next((delta.ratio for delta in known if delta is not None and delta.ratio), factor)
    return sum(
        (number(row["baseline"]) or 0.0) * ((generation if row["name"] in GENERATION else factor) - 1)
        for row in rows
        if row["name"] not in (OUTSIDE, *BESIDE_TOKENS)
    )


def _whole(evidence: Evidence) -> float:
    """The headline's time on the baseline, which ``find_causes`` has found to be known."""
    return (evidence.headline.baseline if evidence.headline else None) or 0.0


def _per_token(evidence: Evidence, sign: int) -> str:
    """A clause on the time per token: where nothing is slower (``sign`` 1) or faster, the work alone is to blame."""
    rates = []
    for row in evidence.sections["phases"].rows:
        before, after = number(row.get("baseline_ms_per_token")), number(row.get("new_ms_per_token"))
        if before and after:
            rates.append((after / before, row, number(row["new"]) or 0.0))
    least = LEAST_PHASE * _whole(evidence)
    other = [found for found in rates if sign * (found[0] - 1) > STEADY_RATE and found[2] > least]
    if not other:
        word = "slower" if sign > 0 else "faster"
        return f", not its speed; per token nothing is {word}" if rates else ", not its speed"
    rate, row, _ = max(other, key=lambda found: abs(found[0] - 1) * found[2])
    return f"; but per token {short(row['name'])} takes {times(rate)}"


def _broad_work(evidence: Evidence) -> Iterator[Cause]:
    both = [change for change in evidence.operators if change.on_both]
    total = sum(change.baseline for change in both)
    sign = 1 if evidence.profile_change > 0 else -1
    grown = [change for change in both if sign * change.work > LEAST_RELATIVE * change.baseline]
    if not total or len(grown) < 2 or sum(change.baseline for change in grown) < BROAD * total:
        return
    delta = sum(change.work for change in grown)
    before, after = (sum(getattr(change, side) for change in grown) for side in ("baseline_calls", "new_calls"))
    why = "larger inputs" if sign > 0 else "smaller inputs"
    if abs(sum(change.calls for change in grown)) > abs(sum(change.size for change in grown)):
        why = f"{'more' if sign > 0 else 'fewer'} calls, {count(before)} → {count(after)}"
    text = (
        f"The work itself {'grew' if sign > 0 else 'shrank'}: {len(grown)} operators"
        f" had {why} per step, which accounts for {ms(delta)}."
    )
    metric = "workload.kernels" if "calls" in why else "workload.input_elements"
    yield evidence.profiled("workload", delta, text, "workload", metric)


def _clock(evidence: Evidence) -> Iterator[Cause]:
    """Most kernels slowed by about the same factor: a lower clock, if the counters say so.

    Where inputs changed size, that is the time per element, which need not stay the same: then only the counters count.
    """
    both = [change for change in evidence.operators if change.on_both and change.baseline > 0]
    total = sum(change.baseline for change in both)
    delta = sum(change.slower for change in both)
    comparable = sum(change.new - change.slower for change in both)
    if len(both) < 3 or comparable <= 0 or abs(delta) < 0.02 * total:
        return
    factor = 1 + delta / comparable
    if not _uniform(both, factor):
        return
    before, after = evidence.frequency.get("baseline"), evidence.frequency.get("new")
    direction = f"{percent(factor)} {'slower' if factor > 1 else 'faster'}"
    if before and after and abs(after / before - 1) > 0.02 and 0.5 <= (before / after - 1) / (factor - 1) <= 1.5:
        text = (
            f"The AI Core clock {'fell' if after < before else 'rose'} from {before:,.0f} to {after:,.0f} MHz,"
            f" and most kernels are {direction} by about that factor."
        )
        yield evidence.profiled("frequency", delta, text, "kernel_types", both[0].name)
    elif not any(change.size for change in both):
        text = f"Computation as a whole is {direction}: most kernels by about the same factor, none stands out."
        yield evidence.profiled("compute", delta, text, "kernel_types", both[0].name)


def _uniform(changes: Sequence[OperatorChange], factor: float) -> bool:
    """Whether most of the computation changed by about this factor, also without its largest operator."""
    largest = max(changes, key=lambda change: change.baseline)
    for among in (changes, [change for change in changes if change is not largest]):
        alike = sum(change.baseline for change in among if 0.5 <= (change.factor - 1) / (factor - 1) <= 1.5)
        if alike < UNIFORM * sum(change.baseline for change in among):
            return False
    return True


def _operators(evidence: Evidence) -> Iterator[Cause]:
    """Single operators that got slower, are called more often, are new or gone."""
    for change in evidence.operators:
        name = short(change.name)
        phase = evidence.phase_of.get(change.name)
        place = f"{name} in {phase}" if phase else name
        if not change.on_both:
            text = _came_or_went(change, place)
            yield evidence.profiled("operator_calls", change.calls + change.gaps, text, "kernels", change.name)
            continue
        yield from (cause for cause in _parts_of(evidence, change, place) if cause.delta_ms * change.whole > 0)


def _parts_of(evidence: Evidence, change: OperatorChange, place: str) -> Iterator[Cause]:
    """What an operator's change is made of. A part against the whole explains nothing: the other outweighs it."""
    same_calls = round(change.baseline_calls, 3) == round(change.new_calls, 3)
    if abs(change.slower) > 0:
        calls = f", called {count(change.new_calls)} times per step as before" if same_calls else ""
        per = "per input element" if change.size else "per call for the same inputs"
        text = f"{place} takes {times(change.factor)} {per}{calls}."
        yield evidence.profiled("operator_slower", change.slower, text, "kernels", change.name)
    if abs(change.calls) > 0:
        delta = change.calls if same_calls else change.calls + change.gaps
        yield evidence.profiled("operator_calls", delta, _called(change, place), "kernels", change.name)
    if abs(change.size) > 0:
        word = "larger" if change.size > 0 else "smaller"
        text = f"{place} works on {word} inputs, which accounts for {ms(change.size)}."
        yield evidence.profiled("workload", change.size, text, "kernels", change.name)


def _came_or_went(change: OperatorChange, place: str) -> str:
    waiting = f", and {ms(change.gaps)} of free time before them" if abs(change.gaps) > 0.1 * abs(change.calls) else ""
    if change.new > 0:
        return f"{place} is new: {count(change.new_calls)} calls per step that take {ms(change.new)}{waiting}."
    return f"{place} is gone: {count(change.baseline_calls)} calls per step that took {ms(change.baseline)}{waiting}."


def _called(change: OperatorChange, place: str) -> str:
    before, after = count(change.baseline_calls), count(change.new_calls)
    if before == after:
        return f"{place} is called for other input shapes than before, which accounts for {ms(change.calls)}."
    word = "more" if change.new_calls > change.baseline_calls else "less"
    return f"{place} is called {word} often: {before} → {after} times per step, {ms(change.calls)}."


def _straggler(evidence: Evidence) -> Iterator[Cause]:
    """A rank that starts collectives later than it did, or no longer so late, and others that wait for it."""
    sign, of_interest, other = (1, "new", "baseline") if evidence.profile_change > 0 else (-1, "baseline", "new")
    rows = [row for row in evidence.sections["ranks"].rows if row["presence"] == Presence.BOTH]
    late = [row for row in rows if row.get(f"{of_interest}_straggler")]
    if not late:
        return
    rank = late[0]
    rows = [
        row for row in rows if kind_of(str(row["name"])) == kind_of(str(rank["name"]))
    ]  # a trainer's rank waits for no replica
    if len(rows) < 2:
        return
    others = [row for row in rows if row is not rank]
    # Where another rank came as late on the other side, somebody was waited for then too.
    # A rank without aligned collectives is not late.
    latest = max(number(row.get(f"{other}_late_ms")) or 0.0 for row in rows)
    late_ms = number(rank.get(f"{of_interest}_late_ms")) or 0.0
    waited = sign * _mean_growth(others, "exposed_comm")
    if late_ms - latest < LEAST_MS or waited < 0.3 * abs(evidence.profile_change):
        return
    if sign * _grown(rank, "exposed_comm") > 0.5 * waited:
        return
    own = {part: sign * _grown(rank, part) for part in ("compute", "free")}
    theirs = {part: sign * _mean_growth(others, part) for part in own}
    part = max(own, key=lambda name: own[name] - theirs[name])
    why = f"; on {rank['name']} {_PARTS[part]} {moved(sign * own[part])}" if own[part] > 0.3 * waited else ""
    if why and theirs[part] > 0.1 * own[part]:
        why += f", on the others by {ms(theirs[part])}"
    now, before = (ms(number(rank.get(f"{side}_most_late_ms")) or 0.0) for side in ("new", "baseline"))
    text = (
        f"The others wait {'' if sign > 0 else 'less '}for {rank['name']}, which starts collectives up to {now} late"
        f" ({before} before): their exposed communication {moved(sign * waited)}{why}."
    )
    delta = sign * _lateness(sign * _mean_growth(rows, "exposed_comm"), own, theirs, len(rows))
    yield evidence.profiled("straggler", delta, text, "ranks", str(rank["name"]))


def _lateness(exposed: float, own: Mapping[str, float], theirs: Mapping[str, float], ranks: int) -> float:
    """What a rank that others wait for adds to the step, as the mean over ranks, in ms.

    That is the waiting, and on the rank itself what its own work grew by more than that of the others: growth that
    all ranks share has another cause. Waiting that took the place of free time on the others made no step longer.

    Args:
        exposed: growth of exposed communication, the mean over all ranks.
        own, theirs: growth of computation and free time, on the rank and the mean of the others.
    """
    excess = sum(own[part] - max(0.0, theirs[part]) for part in own)
    replaced = max(0.0, min(0.0, own["free"]) - theirs["free"])
    return exposed + (max(0.0, excess) - (ranks - 1) * replaced) / ranks


_PARTS = {"compute": "computation", "exposed_comm": "exposed communication", "free": "free time"}


def _grown(row: Row, part: str) -> float:
    """How much a part of a row changed; 0 where a side does not know it, so that it explains nothing."""
    return change_of(row, part) or 0.0


def _mean_growth(rows: Sequence[Row], part: str) -> float:
    return sum(_grown(row, part) for row in rows) / len(rows)


def _lost_overlap(evidence: Evidence) -> Iterator[Cause]:
    """Communication that kernels used to cover, or that they cover now."""
    exposed, total = evidence.delta("time.exposed_comm"), evidence.delta("time.comm")
    sign = 1 if exposed > 0 else -1
    with_it = max(0.0, sign * total)  # the change of the total in the same direction
    if not exposed or with_it > STEADY * abs(exposed):
        return
    text = (
        f"Communication {'lost its' if sign > 0 else 'gained'} cover: {ms(exposed)} {'more' if sign > 0 else 'less'} of"
        f" it is exposed per step, although its total"
        f" {'hardly changed' if abs(total) < 0.1 * abs(exposed) else moved(total)}."
    )
    yield evidence.profiled(
        "lost_overlap", exposed - sign * with_it, text, "collectives", _exposed_most(evidence, sign)
    )


def _exposed_most(evidence: Evidence, sign: int) -> str:
    rows = [row for row in evidence.sections["collectives"].rows if row.get("task") is None]
    return str(max(rows, key=lambda row: sign * _grown(row, "exposed_ms"))["name"]) if rows else ""


def _communication(evidence: Evidence) -> Iterator[Cause]:
    """Communication that takes longer itself, told apart into transfer and waiting."""
    exposed, total = evidence.delta("time.exposed_comm"), evidence.delta("time.comm")
    if (
        total * evidence.profile_change <= 0
        or exposed * evidence.profile_change <= 0
        or abs(total) <= STEADY * abs(exposed)
    ):
        return
    rows = [row for row in evidence.sections["collectives"].rows if row.get("task") is None]
    row = max(rows, key=lambda row: (number(row["delta"]) or 0.0) * (1 if total > 0 else -1), default=None)
    if row is None:
        return
    where = f"most in {short(row['name'])}{_split(row)}"
    text = f"Communication {moved(total)} per step ({ms(exposed)} of it exposed), {where}."
    yield evidence.profiled("communication", exposed, text, "collectives", str(row["name"]))


def _split(row: Row) -> str:
    """What a collective's change is made of, as far as the profile tells."""
    bytes_before, bytes_after = (number(row.get(f"{side}_bytes")) for side in ("baseline", "new"))
    if bytes_before and bytes_after is not None and abs(bytes_after / bytes_before - 1) > LEAST_RELATIVE:
        word = "more" if bytes_after > bytes_before else "fewer"
        return f", which moves {percent(bytes_after / bytes_before)} {word} bytes"
    if row.get("new_wait_ms") is None or row.get("baseline_wait_ms") is None:
        return ""
    wait, transit = _grown(row, "wait_ms"), _grown(row, "transit_ms")
    if abs(wait) > 2 * abs(transit):
        return ", nearly all of it waiting for other ranks"
    return ", nearly all of it transfer" if abs(transit) > 2 * abs(wait) else ", both waiting and transfer"


def _host(evidence: Evidence) -> Iterator[Cause]:
    """Time in which the device has nothing to do: what it waits for, or copies that nothing hides."""
    account = evidence.sections["account"].rows
    if any(row["delta"] is not None for row in account):
        yield from waits(evidence, account)
        return
    metrics = evidence.metrics
    split = "time.idle" in metrics and metrics["time.idle"].delta is not None
    idle = evidence.delta("time.idle" if split else "time.free")
    text = f"The device waits for the host: its free time {moved(idle)} per step."
    if not evidence.on_device:
        text = f"The time in which no operator runs {moved(idle)} per step."
    yield evidence.profiled("free", idle, text, "phases", "")
    if split:
        copies = evidence.delta("time.exposed_copy")
        text = f"Copies between host and device that nothing hides {moved(copies)} per step."
        yield evidence.profiled("copies", copies, text, "copies", _largest(evidence, "copies"))
    if evidence.profile is not None and evidence.profile.metric == "time.step":
        preparing, tail = evidence.delta("time.preparing"), evidence.delta("time.tail")
        text = f"The host's time from the start of the step to the first device task {moved(preparing)}."
        yield evidence.profiled("preparing", preparing, text, "phases", "")
        text = f"The host's time after the last device task of the step {moved(tail)}."
        yield evidence.profiled("tail", tail, text, "phases", "")


def _largest(evidence: Evidence, section: str) -> str:
    rows = evidence.sections[section].rows
    return str(rows[0]["name"]) if rows else ""


def _phases(evidence: Evidence) -> Iterator[Cause]:
    """Where in the step the time went."""
    for row in evidence.sections["phases"].rows:
        delta = row["delta"]
        if not isinstance(delta, (int, float)) or row["name"] == OUTSIDE:
            continue
        part = max(_PARTS, key=lambda name: _grown(row, name) * (1 if delta > 0 else -1))
        # Parts are the profile's: where training timed the phase in plain steps, they do not sum to its change.
        whole = sum(_grown(row, name) for name in _PARTS) if evidence.timed_phases else delta
        mostly = f", mostly {_PARTS[part]}" if abs(_grown(row, part)) > 0.5 * abs(whole) and whole * delta > 0 else ""
        found = evidence.rare_phases.get(str(row["name"]))
        rare = f", {found}" if found else ""
        text = f"Phase {short(row['name'])} {moved(delta)} per step{rare}{mostly}{_batches(evidence, row, delta)}."
        cause = evidence.cause if evidence.timed_phases else evidence.profiled
        yield cause("phase", delta, text, "phases", str(row["name"]))


def _batches(evidence: Evidence, row: Row, delta: float) -> str:
    """The passes over the batch, where an update makes more or fewer of them."""
    batches = evidence.metrics.get("workload.micro_batches")
    if row["name"] not in ("update_actor", "update_critic") or batches is None or not batches.delta:
        return ""
    if batches.delta * delta <= 0:
        return ""
    return f", which has {count(batches.new or 0)} micro batches instead of {count(batches.baseline or 0)}"


def _categories(evidence: Evidence) -> Iterator[Cause]:
    """What kind of work the time went to; levels tell the kinds by different signs, so only within one level."""
    if not evidence.same_level:
        return
    for row in evidence.sections["categories"].rows:
        delta = row["delta"]
        if isinstance(delta, (int, float)):
            word = "longer" if delta > 0 else "less"
            text = f"Kernels of category {short(row['name'])} take {ms(delta)} {word} per step."
            yield evidence.profiled("category", delta, text, "categories", str(row["name"]))


_KINDS: tuple[Callable[[Evidence], Iterator[Cause]], ...] = (
    _workload, _clock, _straggler, _operators, _lost_overlap, _communication, _host, _phases, _categories,
)  # fmt: skip

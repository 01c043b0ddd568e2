"""Candidates for causes in communication: a late rank, lost overlap, collectives that take longer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import fsum

from rlcompare.compare.evidence import LEAST_MS, LEAST_RELATIVE, Evidence
from rlcompare.compare.exchanged import MOST_MULTIPLE
from rlcompare.compare.names import kind_of
from rlcompare.compare.parts import (
    COMMUNICATION,
    COMPUTE,
    ON_ONE,
    TIMER,
    WAIT,
    Basis,
    Candidate,
    Part,
    by_name,
    mean_total,
    total,
    whole,
)
from rlcompare.compare.phrases import count, moved, ms, percent, short, signed
from rlcompare.compare.rows import change_of, number
from rlcompare.model.diff import Row
from rlcompare.model.digits import grouped
from rlcompare.model.words import SIDES, Presence

NEARLY = 0.8
"""How well what a rank's path grew by must agree with the cover that the rank lost."""

HARDLY = 0.1
"""Part of the exposed communication's change by which the rest of a rank may change for its cover alone to differ."""

STEADY = 0.3
"""Total communication that changed by less than this part of the exposed communication's change is not what changed."""

OTHERWISE = 0.5
"""How far the change of a kind's exposed time may be from that of its part without waiting, as a part of the latter."""

SAME_ON_RANKS = 0.1
"""The mean over ranks is not told where it differs from the change on the critical path by less than this part."""

LEAST_CALLS = 0.05
"""Calls per step, as a mean over ranks and steps, from which a collective is told as new or gone."""

ALL_OF_IT = 0.01
"""Part of a collective's change by which its exposed time may differ for all of it to be exposed."""

SLOWER_LINK = 0.7
"""A link is named if its bandwidth fell below this part of what it was, or rose above the inverse."""

OF_WORK = 0.5
"""Part of a collective's change that more bytes or calls, or a slower link, must explain to be named."""

OFFSET = 0.2
"""Waiting and transfer that changed in opposite directions are told apart from this part of the larger change."""

_PACKETS = {"dropped": "dropped {} {}", "error": "had {} damaged {}", "retried": "sent {} {} again"}
"""What is said of packets, by the end of their counter's name."""

_PARTS = {"compute": "computation", "exposed_comm": "exposed communication", "free": "free time"}


def straggler(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """A rank that starts collectives later than it did, or no longer so late, and others that wait for it."""
    sign = basis.sign
    of_interest, other = ("new", "baseline") if sign > 0 else ("baseline", "new")
    rows = [row for row in evidence.sections["ranks"].rows if row["presence"] == Presence.BOTH]
    late = [row for row in rows if row.get(f"{of_interest}_straggler")]
    if not late or not basis.parts or basis.parts[0].kind == TIMER or basis.ranks:
        return
    rank = late[0]
    # A trainer's rank waits for no replica.
    rows = [row for row in rows if kind_of(str(row["name"])) == kind_of(str(rank["name"]))]
    others = [row for row in rows if row is not rank]
    if not others:
        return
    # Where another rank came as late on the other side, somebody was waited for then too.
    # A rank without aligned collectives is not late.
    latest = max(number(row.get(f"{other}_late_ms")) or 0.0 for row in rows)
    late_ms = number(rank.get(f"{of_interest}_late_ms")) or 0.0
    waited = sign * _mean_growth(others, "exposed_comm")
    if late_ms - latest < LEAST_MS or waited < 0.3 * abs(basis.change):
        return
    if sign * _grown(rank, "exposed_comm") > 0.5 * waited:
        return
    own = {part: sign * growth for part, growth in _own_growth(rank).items()}
    theirs = {part: sign * fsum(_own_growth(row)[part] for row in others) / len(others) for part in own}
    part = max(own, key=lambda name: own[name] - theirs[name])
    why = f"; on {rank['name']} {_PARTS[part]} {moved(sign * own[part])}" if own[part] > 0.3 * waited else ""
    if why and theirs[part] > 0.1 * own[part]:
        why += f", on the others by {ms(theirs[part])}"
    text = (
        f"The others wait {'' if sign > 0 else 'less '}for {rank['name']}, which starts collectives {_late(rank)}:"
        f" their exposed communication {moved(sign * waited)}{why}."
    )
    yield Candidate(
        "straggler", _of_lateness(basis, str(rank["name"]), rows, own, theirs), text, "ranks", str(rank["name"])
    )


def _late(rank: Row) -> str:
    """How late a rank starts collectives: at most, or on average where the most did not change."""
    new, old = (number(rank.get(f"{side}_most_late_ms")) or 0.0 for side in ("new", "baseline"))
    words = "up to"
    if abs(new - old) < LEAST_MS:
        new, old = (number(rank.get(f"{side}_late_ms")) or 0.0 for side in ("new", "baseline"))
        words = "on average"
    return f"{words} {ms(new)} late (baseline: {ms(old)})"


def _own_growth(row: Row) -> dict[str, float]:
    """The growth of a rank's computation, and of the time in which it neither computes nor only communicates.

    Of a marked step that includes the time before the first task and after the last one.
    """
    compute, comm = _grown(row, "compute"), _grown(row, "exposed_comm")
    step = number(row.get("delta"))
    return {"compute": compute, "free": _grown(row, "free") if step is None else step - compute - comm}


def _of_lateness(
    basis: Basis, rank: str, rows: Sequence[Row], own: Mapping[str, float], theirs: Mapping[str, float]
) -> dict[int, float]:
    """What a rank that others wait for adds to the step, as the mean over ranks.

    That is the waiting, and on the rank itself what its own work grew by more than that of the others: growth that
    all ranks share has another cause. Waiting that took the place of free time on the others made no step longer.

    Args:
        rank: its name.
        rows: those of all ranks that may wait for each other.
        own, theirs: growth of computation and free time, on the rank and the mean of the others.
    """
    waited = basis.of_kind(WAIT)
    of_rank = {place: part for place, part in waited.items() if part.name == rank}
    idle = {place: part for place, part in enumerate(basis.parts) if part.kind not in (*COMMUNICATION, COMPUTE, TIMER)}
    replaced = max(0.0, min(0.0, own["free"]) - theirs["free"])
    excess = {name: (own[name] - max(0.0, theirs[name])) / len(rows) for name in own}
    excess["free"] -= replaced * (len(rows) - 1) / len(rows)
    amounts = whole(of_rank)
    if not waited:  # the collectives could not be aligned
        amounts = _spread(basis.of_kind(*COMMUNICATION), _mean_growth(rows, "exposed_comm"))
    if fsum(excess.values()) > 0:
        amounts |= _spread(basis.of_kind(COMPUTE), basis.sign * excess["compute"])
        amounts |= _spread(idle, basis.sign * excess["free"])
    return amounts


def _spread(parts: Mapping[int, Part], amount: float) -> dict[int, float]:
    """An amount distributed over the parts that changed in its direction, in proportion to their changes."""
    able = {place: part.delta for place, part in parts.items() if part.delta * amount > 0}
    able_sum = fsum(able.values())
    return {place: amount * delta / able_sum for place, delta in able.items()}


def _grown(row: Row, part: str) -> float:
    """How much a part of a row changed; 0 where a side does not know it, so that it explains nothing."""
    return change_of(row, part) or 0.0


def _mean_growth(rows: Sequence[Row], part: str) -> float:
    return fsum(_grown(row, part) for row in rows) / len(rows)


def communication(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """A candidate for each rank that others wait for, and for each kind of collective: longer, or less covered."""
    for name, parts in by_name(basis.of_kind(WAIT)).items():
        text = f"The time ranks wait in collectives for {short(name)} {moved(total(parts.values()))} per step."
        yield Candidate("waiting", whole(parts), text, "account", name)
    kinds = by_name(basis.of_kind(*(COMMUNICATION - {WAIT})))
    calls = _exchanged(evidence)
    if calls and calls.keys() <= kinds.keys():
        yield _replaced(calls, {place: part for name in calls for place, part in kinds[name].items()})
        kinds = {name: parts for name, parts in kinds.items() if name not in calls}
    for name, parts in kinds.items():
        delta = total(parts.values())
        rows = [
            row for row in evidence.sections["collectives"].rows if row.get("task") is None and row["name"] == name
        ]  # fmt: skip
        if not delta:
            continue
        if all(row["delta"] is None for row in rows):
            text = f"Exposed {short(name)} {moved(delta)} per step."
            yield Candidate("communication", whole(parts), text, "account", name)
            continue
        own, mean = fsum(number(row["delta"]) or 0.0 for row in rows), mean_total(parts.values())
        if any(part.kind == "comm" for part in parts.values()) and _is_other_waiting(rows, mean):
            text = f"Exposed {short(name)} not known to be waiting for a rank {moved(delta)} per step."
            yield Candidate("communication", whole(parts), text, "account", name)
            continue
        is_steady = mean and abs(own / mean) <= STEADY and not _is_other_waiting(rows, mean)
        if is_steady and not basis.is_apart(parts.values()):
            yield Candidate("lost_overlap", whole(parts), _cover(name, delta, own), "collectives", name)
            continue
        link, facts = _link(evidence, delta, {row.get("group_key") for row in rows})
        tail = f"{_split(rows)}{link}."
        exposed = "all" if own and abs(delta / own - 1) <= ALL_OF_IT else ms(delta)
        of_it = "" if _exposed(rows) is None else f" ({exposed} of it exposed)"
        text = f"{short(name)} {moved(own)} per step{of_it}{tail}"
        if basis.is_apart(parts.values()):
            text = f"Exposed {short(name)} {moved(delta)} per step."
        elif basis.ranks:
            text = f"Exposed {short(name)} {moved(delta)} per step{_on_ranks(rows, delta, mean)}{tail}"
        elif own / delta < 1 and exposed != "all":
            text = f"Exposed {short(name)} {moved(delta)} per step, and its total {moved(own)}{tail}"
        if all(part.kind == "transfer" for part in parts.values()):
            more = f"{ms(delta)} {'more' if delta > 0 else 'less'}"
            tail = f"{_work(rows, delta)}{_lone(rows)}{link}."
            text = f"{short(name)} takes {more} of the step after all ranks have started it{tail}"
        yield Candidate("communication", whole(parts), text, "collectives", name, facts if tail in text else ())


def cover_of_one_rank(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """One rank computes after its collectives what it computed beside them; the path shows it as either of the two.

    On the rank neither computation nor communication changed, only the time in which both run.
    """
    lost = {str(row["name"]): _lost_cover(row) for row in (evidence.sections["ranks"].rows if basis.ranks else ())}
    rank = max(lost, key=lambda name: basis.sign * lost[name], default="")
    if not rank or basis.sign * lost[rank] < ON_ONE * fsum(map(abs, lost.values())) or not lost[rank]:
        return
    parts = {
        place: part
        for place, part in basis.of_kind(COMPUTE, *(COMMUNICATION - {WAIT})).items()
        if part.delta * basis.change > 0 and (part.kind != COMPUTE or basis.has_moved([part]))
    }
    amount = total(parts.values())
    if NEARLY <= amount / lost[rank] <= 1 / NEARLY:
        overlaps, more = ("less", "more") if lost[rank] > 0 else ("more", "less")
        text = (
            f"On {rank} communication overlaps {overlaps} with kernels: {ms(abs(lost[rank]))} {more} of it is exposed"
            " per step, although its total and computation hardly changed."
        )
        amounts = _spread(parts, basis.sign * min(abs(amount), abs(lost[rank])))
        yield Candidate("lost_overlap", amounts, text, "ranks", rank, member=rank)


def _lost_cover(row: Row) -> float:
    """How much more of a rank's communication is exposed, where it and computation hardly changed, in ms; else 0."""
    comm, exposed, compute = (change_of(row, part) for part in ("comm", "exposed_comm", "compute"))
    if comm is None or exposed is None or compute is None:
        return 0.0
    return exposed if abs(comm) + abs(compute) <= HARDLY * abs(exposed) else 0.0


def _exchanged(evidence: Evidence) -> dict[str, tuple[float, float]]:
    """The calls of a kind of collective and of those that came or went in the place of its calls; empty if none did.

    Each of the others is called as much more as the one is called less, or a multiple of that; or the other way round.
    """
    calls: dict[str, tuple[float, float]] = {}
    for row in evidence.sections["collectives"].rows:
        if row.get("task") is None:
            old, new = calls.get(str(row["name"]), (0.0, 0.0))
            before, after = (number(row.get(f"{side}_calls")) for side in SIDES)
            if before is None or after is None:
                return {}
            calls[str(row["name"])] = old + before, new + after
    changes = {name: new - old for name, (old, new) in calls.items() if old != new}
    phases = _phases_of_collectives(evidence)
    for sign in (1, -1):
        one, others = ([name for name, change in changes.items() if change * way > 0] for way in (sign, -sign))
        if len(one) == 1 and others and not any(all(calls[name]) for name in others):
            multiples = [-changes[name] / changes[one[0]] for name in others]
            if abs(changes[one[0]]) < 0.5 * max(calls[one[0]]):
                continue  # most of its calls are on both sides, and may have changed for another reason
            if any(phases.get(name) and phases.get(one[0], set()).isdisjoint(phases[name]) for name in others):
                continue  # they came in another part of the step
            if all(1 <= multiple <= MOST_MULTIPLE and multiple.is_integer() for multiple in multiples):
                return {name: calls[name] for name in (*one, *others)}
    return {}


def _phases_of_collectives(evidence: Evidence) -> Mapping[str, set[str]]:
    """The phases in which each kind of collective takes exposed time, on either side, as far as they are known."""
    phases: dict[str, set[str]] = {}
    for row in evidence.sections["account"].rows:
        if row["kind"] in COMMUNICATION and row["phase"] is not None:
            phases.setdefault(str(row["name"]), set()).add(str(row["phase"]))
    return phases


def _replaced(calls: Mapping[str, tuple[float, float]], parts: Mapping[int, Part]) -> Candidate:
    delta = total(parts.values())
    fewer, more = (
        " + ".join(
            short(name) + (f" ({count(old)} → {count(new)} calls)" if old and new else "")
            for name, (old, new) in calls.items()
            if (new > old) == is_more
        )
        for is_more in (False, True)
    )
    text = f"{fewer} → {more}: {ms(delta)} {'more' if delta > 0 else 'less'} in all."
    largest = max(parts.values(), key=lambda part: (abs(part.delta), part.name))
    return Candidate("replaced", whole(parts), text, "collectives", largest.name)


def _is_other_waiting(rows: Sequence[Row], mean: float) -> bool:
    """Whether the exposed time of collectives changed otherwise: the rest is told as waiting for ranks, or was before.

    Args:
        rows: of the section ``collectives``.
        mean: the change of their exposed time that is not waiting, as a mean over ranks.
    """
    exposed = _exposed(rows)
    return exposed is not None and abs(exposed - mean) > OTHERWISE * abs(mean)


def _on_ranks(rows: Sequence[Row], delta: float, mean: float) -> str:
    """A clause with the change of exposed collectives as a mean over ranks, if it is another than on the path.

    The mean is that of the section ``collectives``: waiting is exposed, too, and nobody waits on the path.

    Args:
        rows: of the section ``collectives``.
        delta: the change of their exposed time on the critical path.
        mean: the change of their exposed time that is not waiting, as a mean over ranks.
    """
    exposed = _exposed(rows)
    waiting = "" if exposed is None or abs(exposed - mean) <= SAME_ON_RANKS * abs(mean) else ", waiting included,"
    shown = mean if exposed is None else exposed
    return f", and its mean over ranks{waiting} {moved(shown)}" if abs(shown / delta - 1) > SAME_ON_RANKS else ""


def _exposed(rows: Sequence[Row]) -> float | None:
    """The change of the exposed time of collectives; None if it is unknown, because a side has no kernels."""
    changes = [change_of(row, "exposed_ms") for row in rows]
    known = [change for change in changes if change is not None]
    return fsum(known) if known and len(known) == len(changes) else None


def _cover(name: str, delta: float, own: float) -> str:
    hardly = abs(own) < 0.1 * abs(delta)
    contrast = "although its total" if hardly or own * delta < 0 else "and its total"
    return (
        f"{short(name)} overlaps {'less' if delta > 0 else 'more'} with kernels: {ms(delta)}"
        f" {'more' if delta > 0 else 'less'} of it is exposed per step, {contrast}"
        f" {'hardly changed' if hardly else moved(own)}."
    )


def _split(rows: Sequence[Row]) -> str:
    """What a collective's change is made of, as far as the profile tells.

    Args:
        rows: of the section ``collectives``, of this collective: one for each group of ranks.
    """
    if work := _work(rows, fsum(number(row["delta"]) or 0.0 for row in rows)):
        return work
    lone = _lone(rows)
    waits, transits = _sums(rows, "wait_ms"), _sums(rows, "transit_ms")
    if waits is None or transits is None:
        return lone
    wait, transit = waits[1] - waits[0], transits[1] - transits[0]
    if wait * transit < 0 and min(abs(wait), abs(transit)) > OFFSET * max(abs(wait), abs(transit)):
        return f"{lone}, waiting for other ranks {signed(wait)} and transfer {signed(transit)}"
    if abs(wait) > 2 * abs(transit):
        return f"{lone}, nearly all of it waiting for other ranks"
    return f"{lone}, {'nearly all of it transfer' if abs(transit) > 2 * abs(wait) else 'both waiting and transfer'}"


def _lone(rows: Sequence[Row]) -> str:
    """That a collective is new, or gone; empty if both sides have it, or that is unknown."""
    sides = [[number(row.get(f"{side}_calls")) for row in rows] for side in ("baseline", "new")]
    if any(calls is None for side in sides for calls in side):
        return ""
    before, after = (fsum(calls or 0.0 for calls in side) for side in sides)
    calls = after or before
    if bool(before) == bool(after) or calls < LEAST_CALLS:
        return ""
    return f", and is {'new' if after else 'gone'}: {count(calls)} {'calls' if calls != 1 else 'call'} per step"


def _sums(rows: Sequence[Row], column: str) -> tuple[float, float] | None:
    """What a column sums to on the baseline and on the new side; None if a side that has a row does not know it."""
    sums = []
    for side in SIDES:
        present = (Presence.BOTH, Presence.BASELINE_ONLY if side == "baseline" else Presence.NEW_ONLY)
        values = [number(row.get(f"{side}_{column}")) for row in rows if row["presence"] in present]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        sums.append(fsum(known))
    return sums[0], sums[1]


def _work(rows: Sequence[Row], change: float) -> str:
    """More bytes or calls of a collective in all groups; empty if both are the same, unknown, or no reason.

    Args:
        change: what they must explain half of, in ms: in proportion, or all of the time of a group that one side lacks.
    """
    for column, words in (("bytes", "and moves {} {} bytes"), ("calls", "and is called {} {} often")):
        before, after = _sums(rows, column) or (0.0, 0.0)
        if not change or not before or not after or abs(after / before - 1) <= LEAST_RELATIVE:
            continue
        if fsum(_by_proportion(row, column) for row in rows) / change >= OF_WORK:
            fewer = "fewer" if column == "bytes" else "less"
            return ", " + words.format(percent(after / before), "more" if after > before else fewer)
    return ""


def _by_proportion(row: Row, column: str) -> float:
    """By how many ms a collective of a group would have changed in proportion to its bytes or calls."""
    before, after = (number(row.get(f"{side}_{column}")) for side in SIDES)
    if row["presence"] != Presence.BOTH:
        return number(row["delta"]) or 0.0
    return (number(row["baseline"]) or 0.0) * (after / before - 1) if before and after is not None else 0.0


def _link(evidence: Evidence, delta: float, groups: Collection[object]) -> tuple[str, tuple[Row, ...]]:
    """The one link whose bandwidth changed most, and lost packets, if that fits: in words, and as facts.

    The other links must not have changed likewise. Its transfers must take half of the change longer.

    Args:
        groups: those of the collective; None among them: unknown.
    """
    found = []
    for row in evidence.sections["links"].rows:
        before, after = number(row.get("baseline_gb_per_s")), number(row.get("new_gb_per_s"))
        if before and after:
            found.append((after / before, row, before, after))
    slower = [link for link in found if (link[0] if delta > 0 else 1 / link[0]) < SLOWER_LINK]
    if not slower or 2 * len(slower) > len(found):
        return _packets(evidence, delta, None)
    explains = (link for link in slower if (number(link[1]["delta"]) or 0.0) / delta >= OF_WORK)
    slower = [link for link in explains if _is_of(link[1], groups)]
    if not slower:
        return _packets(evidence, delta, None)
    _, row, before, after = min(slower, key=lambda link: link[0] if delta > 0 else 1 / link[0])
    text, facts = _packets(evidence, delta, tuple(f"rank {rank}" for rank in str(row["name"]).split("→")))
    return f"; link {short(row['name'])} moves {grouped(before, 1)} → {grouped(after, 1)} GB/s{text}", facts


def _is_of(link: Row, groups: Collection[object]) -> bool:
    """Whether a link may be one of these groups of ranks."""
    group = link.get("group_key")
    return group is None or str(group).startswith("unlisted group") or None in groups or group in groups


def _packets(evidence: Evidence, delta: float, members: Sequence[str] | None) -> tuple[str, tuple[Row, ...]]:
    """Packets that were lost, damaged or sent again on one side only: in words, and as facts.

    None where the transfers are known to use no network.

    Args:
        delta: the change of the collectives' time: where it is longer, they have to be on the new side.
        members: the ends of the link; None for all.
    """
    transports = {str(row.get("transport")).upper() for row in evidence.sections["links"].rows}
    if transports and not any(word in transport for transport in transports for word in ("RDMA", "ROCE", "NONE")):
        return "", ()
    found = []
    section = evidence.sections.get("counters")
    for row in section.rows if section else ():
        before, after = number(row["baseline"]), number(row["new"])
        if row["unit"] != "packets" or before is None or after is None or (members and row["member"] not in members):
            continue
        without, counted = (before, after) if delta > 0 else (after, before)
        words = next((words for end, words in _PACKETS.items() if f"_{end}_" in str(row["name"])), None)
        if counted and not without and words:
            found.append((counted, words, row))
    if not found:
        return "", ()
    found.sort(key=lambda one: (-one[0], str(one[2]["name"]), str(one[2]["member"])))
    facts = tuple(
        {"name": f"{row['name']} {row['member']}", "baseline": row["baseline"], "new": row["new"]} for *_, row in found
    )
    counted, words, row = found[0]
    side = "while it was profiled, none before" if delta > 0 else "before, none now"
    noun = "packet" if counted == 1 else "packets"
    return f"; {row['member']} {words.format(count(counted), noun)} {side}", facts

"""Sections ``steps`` and ``ranks``: pairs the same step, and the same rank, of both sides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import fsum

from rlcompare.compare import pairs
from rlcompare.compare.evidence import LEAST_RELATIVE
from rlcompare.compare.names import kind_of
from rlcompare.compare.overall import PATH, PERIOD, mean
from rlcompare.compare.phrases import signed
from rlcompare.compare.records import Rank, Step, UnevenSteps
from rlcompare.compare.rows import K, S, SectionMaker, grouped, matched_share, number
from rlcompare.model.diff import Delta, Finding, Row, Section
from rlcompare.model.words import SIDES, Presence, Severity, SideName

CLEARLY = 2
"""The straggler is last so many times as often as any other rank, or so many times as late: else they take turns."""

LATE_ENOUGH = 0.02
"""A rank is no straggler if its delays sum to less than this fraction of the step: some rank is always last."""

LEAST_ON_BOTH, MOST_APART = 0.2, 1.5
"""The part of the change below which the steps that both sides have took about the same time; and the factor by which
their change and that of the mean may differ for it to have causes."""

MOST_OF, FEW = 0.8, 3
"""Part of the change that so many steps must hold for them to be named."""


def _paired(key: Callable[[S], K], records: Iterable[S]) -> dict[K, tuple[S | None, S | None]]:
    """Records by key, at most one of each side: the baseline's and the new side's."""
    return {
        value: (next(iter(found["baseline"]), None), next(iter(found["new"]), None))
        for value, found in grouped(key, records).items()
    }


def _headline_ns(times: Step | Rank | None, headline: str) -> float | None:
    """The time used as the step's time. Steps and ranks have no sum of phases; without one, no device time either."""
    if times is None:
        return None
    if headline == "time.step":
        return times.step_ns
    if headline == PERIOD:
        known = (times.step_ns, times.device_span_ns)
        return None if None in known else max(time for time in known if time is not None)
    return times.comm_ns if headline == "time.comm" else times.device_span_ns


def steps_section(maker: SectionMaker, records: Sequence[Step], headline: str) -> Section:
    rows = []
    for position, (baseline, new) in _paired(lambda step: step.position, records).items():
        numbers = [str(step.step) for step in (baseline, new) if step]
        pair = pairs.StepPair(
            name=" ↔ ".join(dict.fromkeys(numbers)),
            position=position,
            in_baseline=baseline is not None,
            in_new=new is not None,
            baseline_step=baseline and baseline.step,
            new_step=new and new.step,
            baseline_ns=_headline_ns(baseline, headline),
            new_ns=_headline_ns(new, headline),
            baseline_compute_ns=baseline and baseline.compute_ns,
            new_compute_ns=new and new.compute_ns,
            baseline_exposed_comm_ns=baseline and baseline.exposed_comm_ns,
            new_exposed_comm_ns=new and new.exposed_comm_ns,
            baseline_free_ns=baseline and baseline.free_ns,
            new_free_ns=new and new.free_ns,
        )
        rows.append(maker.timed_row(pair, "", ("position",)))
    note = f"Steps are paired by {'number' if _by_number(rows) else 'position'}."
    return Section("steps", "ms", ("position",), matched_share(rows), note, tuple(rows))


def _by_number(steps: Iterable[Row]) -> bool:
    """Whether the steps of each pair have the same number."""
    return all(row["baseline_step"] == row["new_step"] for row in steps if row["presence"] == Presence.BOTH)


def few_steps(steps: Section) -> list[str]:
    """The names of the steps that hold most of the change, if they are few and the others hardly changed."""
    changes = [number(row["delta"]) or 0.0 for row in steps.rows]
    total = fsum(changes)
    if not total:
        return []
    largest = sorted(range(len(changes)), key=lambda place: -changes[place] * total)
    for count in range(1, min(FEW, len(changes) // 2) + 1):
        if fsum(abs(changes[place]) for place in largest[count:]) <= (1 - MOST_OF) * abs(total):
            return [str(steps.rows[place]["name"]) for place in sorted(largest[:count])]
    return []


def lone_found(section: Section, headline: Delta | None, of_rank: Delta | None) -> Iterator[Finding]:
    """A caution where steps, or ranks, that one side alone has make the change.

    So they do if the change of those of both sides is clearly another one. Nothing is found if the headline is not the
    time of the profile's steps.

    Args:
        section: ``steps`` or ``ranks``.
        of_rank: the time of its rows (``overall.rank_headline``), as a mean over them.
    """
    if headline is None or of_rank is None or headline.metric not in (PATH, of_rank.metric):
        return
    alone = [row for row in section.rows if row["presence"] != Presence.BOTH]
    both = (number(row["delta"]) for row in section.rows if row["presence"] == Presence.BOTH)
    known = [delta for delta in both if delta is not None]
    if not alone or not known or of_rank.delta is None:
        return
    shared, little = fsum(known) / len(known), LEAST_ON_BOTH * abs(of_rank.delta)
    least = LEAST_RELATIVE * (of_rank.baseline or 0.0)
    if _is_change_of(shared, of_rank):
        return
    took = "took about the same time" if abs(shared) < little else f"changed by {signed(shared)}"
    took += " on average" if max(map(abs, known)) >= little and len(known) > 1 else ""
    start = "" if headline.metric == of_rank.metric else f"By {of_rank.metric}: "
    moved = "hardly changed" if abs(of_rank.delta) <= least else f"changed by {signed(of_rank.delta)}"
    changed = f"The mean {moved} because"
    lone = [
        (words, _listed(section.name, found))
        for words, presence in (("baseline", Presence.BASELINE_ONLY), ("new side", Presence.NEW_ONLY))
        if (found := [str(row["name"]) for row in alone if row["presence"] == presence])
    ]
    if section.name == "steps" and not _by_number(section.rows):
        where = " and ".join(f"{steps} of the {words}" for words, steps in lone)
        has = "have" if len(alone) > 1 else "has"
        text = (
            f"{start}Steps are paired by position: paired steps {took}. {changed} {where} {has} no pair:"
            " it has no cause. Choose steps with --base-step and --new-step."
        )
    else:
        where = " and ".join(f"only the {words} has {names}" for words, names in lone)
        text = (
            f"{start}The {section.name} that both sides have {took}. {changed} {where}: it has no cause."
            f" Compare the same {section.name} with --{section.name.removesuffix('s')}."
        )
    yield Finding(f"lone_{section.name}", None, None, Severity.CAUTION, text)


def lacking_found(
    steps: Section, headline: Delta | None, of_rank: Delta | None, uneven: Sequence[UnevenSteps]
) -> Iterator[Finding]:
    """A caution where steps that some ranks lack on one side alone make the change: the means of these are of others.

    Args:
        steps: the section ``steps``.
        of_rank: as for ``lone_found``.
    """
    lacking = {side: {tuple(run.fewest_steps) for run in uneven if run.side == side} for side in SIDES}
    if headline is None or of_rank is None or headline.metric not in (PATH, of_rank.metric):
        return
    known = [number(row["delta"]) for row in steps.rows if row["presence"] == Presence.BOTH]
    shared = None if None in known else mean(known)
    if shared is not None and lacking["baseline"] != lacking["new"] and not _is_change_of(shared, of_rank):
        text = (
            "The mean changed because some ranks lack steps on one side: it has no cause. Compare steps that all have"
            " with --step."
        )
        yield Finding("lacking_steps", None, None, Severity.CAUTION, text)


def _is_change_of(shared: float, of_rank: Delta) -> bool:
    """Whether the mean change of some steps, or ranks, is about that of all of them."""
    alike = of_rank.delta and 1 / MOST_APART <= shared / of_rank.delta <= MOST_APART
    return bool(alike) or abs(shared - (of_rank.delta or 0.0)) <= LEAST_RELATIVE * (of_rank.baseline or 0.0)


def _listed(what: str, names: Sequence[str]) -> str:
    listed = ", ".join(names[:FEW]) + (" …" if len(names) > FEW else "")
    return f"{'steps' if len(names) > 1 else 'step'} {listed}" if what == "steps" else listed


def ranks_section(maker: SectionMaker, records: Sequence[Rank], headline: str) -> Section:
    of_side = {side: [record for record in records if record.side == side] for side in SIDES}
    late = {side: _straggler(of_side[side], headline) for side in SIDES}
    paired = _paired(lambda rank: rank.member, records)
    note = "Late: how much later a rank starts collectives than the earliest of its group, on average."
    if [len(ranks) for ranks in of_side.values()] == [1, 1] and len(paired) == 2:
        (baseline,), (new,) = of_side["baseline"], of_side["new"]
        paired = {f"{baseline.member} ↔ {new.member}": (baseline, new)}
        note = "Each side has one rank: they are paired although their numbers differ."
    rows = [
        maker.timed_row(_rank_pair(name, *paired[name], late, headline), "") for name in sorted(paired, key=natural)
    ]
    if headline == "time.comm":  # communication is the measure itself
        rows = [{key: row[key] for key in row if key not in ("baseline_comm", "new_comm")} for row in rows]
    return Section("ranks", "ms", (), matched_share(rows), note, tuple(rows))


def _rank_pair(
    name: str, baseline: Rank | None, new: Rank | None, late: Mapping[SideName, Rank | None], headline: str
) -> pairs.RankPair:
    return pairs.RankPair(
        name=name,
        in_baseline=baseline is not None,
        in_new=new is not None,
        baseline_ns=_headline_ns(baseline, headline),
        new_ns=_headline_ns(new, headline),
        baseline_compute_ns=baseline and baseline.compute_ns,
        new_compute_ns=new and new.compute_ns,
        baseline_comm_ns=baseline and baseline.comm_ns,
        new_comm_ns=new and new.comm_ns,
        baseline_exposed_comm_ns=baseline and baseline.exposed_comm_ns,
        new_exposed_comm_ns=new and new.exposed_comm_ns,
        baseline_free_ns=baseline and baseline.free_ns,
        new_free_ns=new and new.free_ns,
        baseline_late_ns=baseline and baseline.late_ns,
        new_late_ns=new and new.late_ns,
        baseline_most_late_ns=baseline and baseline.most_late_ns,
        new_most_late_ns=new and new.most_late_ns,
        baseline_straggler=baseline and baseline == late["baseline"],
        new_straggler=new and new == late["new"],
    )


def _straggler(members: Sequence[Rank], headline: str) -> Rank | None:
    """The straggler of a side: the rank that most often starts collectives last (docs/design.md §4).

    Only ranks whose delays sum to at least ``LATE_ENOUGH`` of a step count. Of ranks that are last about as often, the
    one with clearly the most delay: by luck alone, one of them is last most often.
    """
    kinds: dict[str, list[Rank]] = {}
    for rank in members:
        kinds.setdefault(kind_of(rank.member), []).append(rank)
    late = []
    for alike in kinds.values():
        enough = LATE_ENOUGH * (mean(_headline_ns(rank, headline) for rank in alike) or 0.0)
        late += [
            rank
            for rank in alike
            if rank.times_last and rank.late_per_step_ns is not None and rank.late_per_step_ns >= enough
        ]
    if not late:
        return None
    most = max(rank.times_last for rank in late)
    latest = max((rank for rank in late if rank.times_last * CLEARLY > most), key=lambda rank: rank.late_ns or 0.0)
    rivals = [rank for rank in late if rank is not latest and rank.times_last * CLEARLY > latest.times_last]
    return latest if all((latest.late_ns or 0.0) >= CLEARLY * (rank.late_ns or 0.0) for rank in rivals) else None


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """A sort key under which ``rank 10`` comes after ``rank 9``."""
    return tuple((text, int(number or 0)) for text, number in re.findall(r"(\D+)(\d*)", name))

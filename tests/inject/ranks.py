"""Edits of a job of several ranks: one is slower, and the others wait for it in the next collective."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.inject.edits import (
    GRID,
    SHARE,
    computing_of,
    has_device,
    inside,
    is_plain,
    operators_of,
    overlap_lost,
    places_of,
)
from tests.inject.timelines import NoPlace, Span, Stretch, Timeline, cover

Job = Sequence[Timeline]


@dataclass(frozen=True)
class EditedJob:
    """An edited job, and the known answer.

    Attributes:
        late: the rank that the others wait for; None if they wait for none.
        ns: by how much the steps of each rank are longer, all together.
        operator: what is slower on all ranks, if none is late.
        whats: the words, one of which the first cause has to have, if no rank is late.
        texts: parts of its sentence.
        baseline: what to compare with, if not the job itself.
    """

    ranks: Job
    late: int | None
    ns: int
    operator: str = ""
    whats: tuple[str, ...] = ("operator_slower", "operator_time")
    texts: tuple[str, ...] = ()
    baseline: Job | None = None


def _collectives(profile: Timeline) -> list[Span]:
    return profile.in_steps("comm")


def _late_rank(job: Job) -> int:
    """The rank that waits least for others: it may be later without waiting less."""
    if len({len(_collectives(profile)) for profile in job}) != 1 or not _collectives(job[0]):
        raise NoPlace
    return min(range(len(job)), key=lambda rank: sum(span.ns for span in _collectives(job[rank])))


def _waiting(profile: Timeline, collective: Span) -> int:
    """An instant at which a rank does nothing but to wait in a collective, as late as possible."""
    computing = cover(computing_of(profile) if has_device(profile) else profile.of_kind("op"))
    tasks = [span for span in profile.of_kind("task") if span.name == "Notify Wait"]
    inner = [task for task in tasks if collective.start <= task.start and task.end <= collective.end] or [collective]
    for span in sorted(inner, key=lambda span: -span.end):
        for place in range(GRID - 1, 0, -1):
            at = span.start + span.ns * place // GRID
            if span.holds(at) and not computing(at):
                return at
    raise NoPlace


def _with_late(job: Job, late: int, stretches: Sequence[Stretch]) -> EditedJob:
    """One rank is later; on the others each collective ends as much later as that rank comes."""
    starts = [span.start for span in _collectives(job[late])]
    lateness = [sum(stretch.by for stretch in stretches if stretch.at <= start) for start in starts]
    return _waited_for(job, late, job[late].stretched(stretches), lateness, sum(stretch.by for stretch in stretches))


def _waited_for(job: Job, late: int, edited: Timeline, lateness: Sequence[int], ns: int) -> EditedJob:
    """The others wait for an edited rank; ``lateness``: how much later it starts each collective."""
    if lateness[-1] != ns:
        raise NoPlace  # the others would not wait for what follows the last collective
    more = [now - before for before, now in zip([0, *lateness], lateness, strict=False)]
    ranks = [edited if rank == late else _waits(profile, more) for rank, profile in enumerate(job)]
    return EditedJob(ranks, late, ns)


def _waits(profile: Timeline, more: Sequence[int]) -> Timeline:
    """A rank that waits longer in its collectives."""
    pairs = zip(_collectives(profile), more, strict=True)
    return profile.stretched([Stretch(_waiting(profile, collective), by) for collective, by in pairs if by])


def rank_with_slower_kernels(job: Job) -> EditedJob:
    """The longest kernel of one rank takes longer, before its last collective."""
    late = _late_rank(job)
    profile = job[late]
    last = _collectives(profile)[-1].start
    before = [span for span in computing_of(profile) if span.end < last]
    if not before:
        raise NoPlace
    largest = max(before, key=lambda span: span.ns)
    ns = profile.rounded(SHARE * profile.step_ns)
    return _with_late(job, late, [Stretch(inside(profile, [largest])[largest], ns)])


def rank_with_slower_host(job: Job) -> EditedJob:
    """The host of one rank stalls between two operators, before a collective."""
    late = _late_rank(job)
    profile = job[late]
    last = _collectives(profile)[-1].start
    kinds = ("step", "range", "op") if has_device(profile) else ("step", "range")
    for place in places_of(profile):
        if place.at < last and is_plain(place) and place.inner.kind in kinds:
            return _with_late(job, late, [Stretch(place.at, profile.rounded(SHARE * profile.step_ns))])
    raise NoPlace


def rank_that_loses_overlap(job: Job) -> EditedJob:
    """On one rank a kernel that ran below a collective runs after it, and the others wait in the next one."""
    late = _late_rank(job)
    edit = overlap_lost(job[late])
    assert edit.baseline is not None
    pairs = zip(_collectives(edit.baseline), _collectives(edit.profile), strict=True)
    found = _waited_for(job, late, edit.profile, [new.start - old.start for old, new in pairs], edit.ns)
    baseline = [edit.baseline if rank == late else profile for rank, profile in enumerate(job)]
    return replace(found, texts=("overlaps less with kernels",), baseline=baseline)


def all_ranks_slower(job: Job) -> EditedJob:
    """The operator with most time on the first rank takes longer on all, between the same collectives."""
    names = operators_of(job[0]).by_time()
    if not names:
        raise NoPlace
    name = names[0]
    ns = job[0].rounded(SHARE * job[0].step_ns)
    ranks, wanted = [], None
    for profile in job:
        starts = [span.start for span in _collectives(profile)]
        calls = {span: bisect(starts, span.start) for span in operators_of(profile).groups[name]}
        largest = max((span for span in calls if wanted in (None, calls[span])), key=lambda span: span.ns, default=None)
        if largest is None:
            raise NoPlace
        wanted = calls[largest]
        ranks.append(profile.stretched([Stretch(inside(profile, [largest])[largest], ns)]))
    return EditedJob(ranks, None, ns, name)


def rank_half_as_fast(job: Job) -> EditedJob:
    """All kernels of one rank, before its last collective, take twice as long."""
    late = _late_rank(job)
    profile = job[late]
    last = _collectives(profile)[-1].start
    spans = [span for span in computing_of(profile) if span.end < last]
    if not has_device(profile) or not spans:
        raise NoPlace
    stretches = [Stretch(at, profile.rounded(span.ns)) for span, at in inside(profile, spans).items()]
    return _with_late(job, late, stretches)


def _longest_collective(job: Job) -> int:
    """Which collective is transferred for longest: that is on the rank that waits least in it."""
    if len({len(_collectives(profile)) for profile in job}) != 1 or not _collectives(job[0]):
        raise NoPlace
    lengths = zip(*([span.ns for span in _collectives(profile)] for profile in job), strict=True)
    least = [min(lengths) for lengths in lengths]
    return least.index(max(least))


def _last_transfer(profile: Timeline, collective: Span, to: int | None = None) -> tuple[int, tuple[int, int]]:
    """An instant in a collective at which a single link is busy, and its ends; ``to``: one of them."""
    inner = [
        found for found in profile.transfers() if collective.start <= found[0].start and found[0].end <= collective.end
    ]  # fmt: skip
    computing = cover(computing_of(profile))
    for span, source, target in sorted(inner, key=lambda found: -found[0].end):
        if to is not None and to not in (source, target):
            continue
        others = cover(other[0] for other in inner if {*other[1:]} != {source, target})
        for place in range(1, 4 * GRID):
            at = span.start + span.ns * place // (4 * GRID)
            if span.holds(at) and not others(at) and not computing(at):
                return at, (source, target)
    raise NoPlace


def slow_link(job: Job) -> EditedJob:
    """One link is slow in one collective, in which all ranks wait for it."""
    ns = job[0].rounded(SHARE * job[0].step_ns)
    for place in range(len(_collectives(job[0]))):
        try:
            at, ends = _last_transfer(job[0], _collectives(job[0])[place])
        except NoPlace:
            continue
        others = [_waiting(profile, _collectives(profile)[place]) for profile in job[1:]]
        ranks = [profile.stretched([Stretch(found, ns)]) for profile, found in zip(job, [at, *others], strict=True)]
        return EditedJob(ranks, None, ns, whats=("communication",), texts=(f"link {ends[0]}→{ends[1]}",))
    raise NoPlace


def more_bytes(job: Job) -> EditedJob:
    """Collectives carry twice the bytes, and the longest takes longer."""
    place = _longest_collective(job)
    ns = job[0].rounded(SHARE * job[0].step_ns)
    new = [profile.stretched([Stretch(_transferring(profile, _collectives(profile)[place]), ns)]) for profile in job]
    ranks = [profile.with_more_bytes(2) for profile in new]
    return EditedJob(ranks, None, ns, whats=("communication",), texts=("bytes",))


def _transferring(profile: Timeline, collective: Span) -> int:
    """An instant at which a rank transfers in a collective, and computes nothing."""
    computing = cover(computing_of(profile))
    for span, *_ in profile.transfers():
        for place in range(GRID - 1, 0, -1):
            at = span.start + span.ns * place // GRID
            if collective.holds(at) and span.holds(at) and not computing(at):
                return at
    raise NoPlace


def stage_slower(job: Job) -> EditedJob:
    """The kernels of one stage of a pipeline are slower between receiving activations and sending gradients."""
    paired = [[span for span in profile.of_kind("comm") if "SendRecv" in span.name] for profile in job]
    if len(job) != 2 or len({tuple(span.name for span in found) for found in paired}) != 1 or len(paired[0]) < 2:
        raise NoPlace
    # The stage that waits least in an exchange is the later one; the other one waits for it.
    exchange = max(range(1, len(paired[0])), key=lambda place: abs(paired[0][place].ns - paired[1][place].ns))
    late = min((0, 1), key=lambda rank: paired[rank][exchange].ns)
    first, last = paired[late][exchange - 1].end, paired[late][exchange].start
    profile, other = job[late], job[1 - late]
    spans = [span for span in profile.of_kind("kernel") if first <= span.start and span.end <= last]
    kernels = profile.of_kind("kernel")
    whole = SHARE * (kernels[-1].end - kernels[0].start)
    factor = whole / sum(span.ns for span in spans)
    stretches = [Stretch(span.start + span.ns // 2, round(span.ns * factor)) for span in spans if span.ns > 1]
    ns = sum(stretch.by for stretch in stretches)
    waiting = paired[1 - late][exchange]
    ranks = [profile.stretched(stretches), other.stretched([Stretch(waiting.start + waiting.ns // 2, ns)])]
    return EditedJob(ranks if late == 0 else ranks[::-1], late, ns)


RANKS: dict[str, Callable[[Job], EditedJob]] = {
    edit.__name__: edit
    for edit in (
        rank_with_slower_kernels,
        rank_with_slower_host,
        all_ranks_slower,
        rank_half_as_fast,
        rank_that_loses_overlap,
        slow_link,
        more_bytes,
        stage_slower,
    )
}

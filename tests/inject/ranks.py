"""Edits of a job of several ranks: one is slower, and the others wait for it in the next collective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.inject.edits import GRID, SHARE, computing_of, has_device, inside, is_plain, operators_of, places_of
from tests.inject.timelines import NoPlace, Span, Stretch, Timeline, cover

Job = Sequence[Timeline]


@dataclass(frozen=True)
class EditedJob:
    """An edited job, and the known answer.

    Attributes:
        late: the rank that the others wait for; None if they wait for none.
        ns: by how much the steps of each rank are longer, all together.
        operator: what is slower on all ranks, if none is late.
    """

    ranks: Job
    late: int | None
    ns: int
    operator: str = ""


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
    if lateness[-1] != sum(stretch.by for stretch in stretches):
        raise NoPlace  # the others would not wait for what follows the last collective
    ranks = []
    for rank, profile in enumerate(job):
        own = list(stretches)
        if rank != late:
            more = [now - before for before, now in zip([0, *lateness], lateness, strict=False)]
            pairs = zip(_collectives(profile), more, strict=True)
            own = [Stretch(_waiting(profile, collective), by) for collective, by in pairs if by]
        ranks.append(profile.stretched(own))
    return EditedJob(ranks, late, lateness[-1])


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


def all_ranks_slower(job: Job) -> EditedJob:
    """The operator with most time on the first rank takes longer on all ranks: nobody is late."""
    operators = operators_of(job[0])
    name = operators.by_time()[0]
    ns = job[0].rounded(SHARE * job[0].step_ns)
    ranks = []
    for profile in job:
        largest = max(operators_of(profile).groups[name], key=lambda span: span.ns)
        ranks.append(profile.stretched([Stretch(inside(profile, [largest])[largest], ns)]))
    return EditedJob(ranks, None, ns, name)


RANKS: dict[str, Callable[[Job], EditedJob]] = {
    edit.__name__: edit for edit in (rank_with_slower_kernels, rank_with_slower_host, all_ranks_slower)
}

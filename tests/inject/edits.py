"""Edits of profiles with a known answer: what the first cause has to be, and by how much the step grows.

What an edit applies to is chosen by a rule, never by name, so that each works on every profile that has such a thing.
An edit raises ``NoPlace`` on the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from tests.inject.timelines import DEVICE, Launch, NoPlace, Span, Stretch, Timeline, Warp, cover

SHARE = 0.2
"""By how much of the step the edits make it longer."""

GRID = 16
"""How many places of a span are tried."""

MOST_SYNCHRONISATIONS = 8
"""How many calls that wait for the device are added at most."""

RANGES = ("Optimizer.", "DistributedDataParallel", "## ")
"""How names begin that torch records like those of users' ranges."""

REASONS = ("DataLoader", "ynchronize", "aten::item", "aten::_local_scalar_dense", "Malloc", "aten::nonzero")
"""What marks a host's call as a reason of its own."""


@dataclass(frozen=True)
class Edited:
    """An edited profile, and the known answer.

    Attributes:
        ns: by how much the steps of the new side are longer, all together.
        whats: the words, one of which the first cause has to have; none if there may be no cause.
        subject: the name that the first cause has to have, up to numbers; None if it needs none.
        text: a part of its sentence.
        second, second_share: the subject of the second cause, if there must be one, and its share.
        baseline: what to compare with, if not the profile itself.
        least: share of the change that the first cause has to have.
        third: the subject of the third cause, if there must be one.
        unnamed: what no cause may name.
    """

    profile: Timeline
    ns: int
    whats: tuple[str, ...] = ()
    subject: str | None = None
    text: str = ""
    second: str | None = None
    second_share: float = 0.3
    baseline: Timeline | None = None
    least: float = 0.6
    third: str | None = None
    unnamed: str | None = None


Edit = Callable[[Timeline], Edited]


def reversed_(edit: Edit) -> Edit:
    """The edit undone: its new side is the baseline."""

    def undone(profile: Timeline) -> Edited:
        found = edit(profile)
        return replace(found, profile=profile, baseline=found.profile, ns=-found.ns)

    return undone


# Operators


@dataclass(frozen=True)
class _Busy:
    """What computes: kernels, or the host's innermost operators where no device is."""

    groups: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))

    def by_time(self) -> list[str]:
        return sorted(self.groups, key=lambda key: -sum(span.ns for span in self.groups[key]))


def has_device(profile: Timeline) -> bool:
    return bool(profile.of_kind("kernel"))


def computing_of(profile: Timeline) -> list[Span]:
    """Kernels, or the innermost operators of the thread that runs the steps or of autograd's, in the steps."""
    if has_device(profile):
        return [span for span in profile.in_steps("kernel") if span.ns > 0]
    return list(_innermost(profile.in_steps("op")))


def _innermost(spans: Sequence[Span]) -> Iterator[Span]:
    """The spans that hold no other of the same lane."""
    by_lane: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_lane[span.lane].append(span)
    for lane in by_lane.values():
        for span, following in zip(lane, [*lane[1:], None], strict=True):
            if span.ns > 0 and (following is None or following.start >= span.end):
                yield span


def operators_of(profile: Timeline) -> _Busy:
    found = _Busy()
    for span in computing_of(profile):
        found.groups[span.name].append(span)
    return found


def inside(profile: Timeline, spans: Iterable[Span]) -> dict[Span, int]:
    """For each span an instant in it at which the host calls nothing, if there is one, so that nothing else grows."""
    calls = cover(span for span in profile.of_kind("call"))
    found = {}
    for span in spans:
        places = [span.start + 1, *(span.start + span.ns * place // GRID for place in range(1, GRID))]
        places = [at for at in places if span.holds(at)] or [span.start + span.ns // 2]
        found[span] = next((at for at in places if not calls(at)), places[0])
    return found


def _slowed(profile: Timeline, spans: Sequence[Span], ns: float) -> tuple[list[Stretch], int]:
    """All spans take the same multiple of their time, ``ns`` more in all (as far as the resolution allows it)."""
    factor = ns / sum(span.ns for span in spans)
    stretches = [
        Stretch(at, by) for span, at in inside(profile, spans).items() if (by := profile.rounded(span.ns * factor))
    ]  # fmt: skip
    return stretches, sum(stretch.by for stretch in stretches)


def _slower(profile: Timeline, spans: Sequence[Span], text: str = "") -> Edited:
    stretches, ns = _slowed(profile, spans, SHARE * profile.step_ns)
    return Edited(profile.stretched(stretches), ns, _slower_words(profile), spans[0].name, text)


def _slower_words(profile: Timeline) -> tuple[str, ...]:
    return ("operator_slower",) if has_device(profile) else ("operator_slower", "operator_time")


def largest_operator_slower(profile: Timeline) -> Edited:
    """Every call of the operator with most time takes a multiple of it."""
    operators = operators_of(profile)
    return _slower(profile, operators.groups[operators.by_time()[0]])


def median_operator_slower(profile: Timeline) -> Edited:
    """Every call of the operator in the middle takes a multiple of its time."""
    operators = operators_of(profile)
    names = operators.by_time()
    return _slower(profile, operators.groups[names[len(names) // 2]])


def one_shape_slower(profile: Timeline) -> Edited:
    """One shape of the largest operator that has several takes a multiple of its time."""
    operators = operators_of(profile)
    for name in operators.by_time():
        shapes: dict[str, list[Span]] = defaultdict(list)
        for span in operators.groups[name]:
            shapes[span.shapes].append(span)
        whole = sum(span.ns for span in operators.groups[name])
        for shape, spans in sorted(shapes.items()):
            if shape.strip('"[]; ,') and 0.05 < sum(span.ns for span in spans) / whole < 0.6:
                return _slower(profile, spans, text="inputs")
    raise NoPlace


def one_layer_slower(profile: Timeline) -> Edited:
    """All kernels that one of many modules of a class launches take a multiple of their time, and nothing else."""
    layers: dict[str, dict[str, list[Span]]] = defaultdict(lambda: defaultdict(list))
    for span in profile.of_kind("python"):
        name = span.name.removeprefix("nn.Module: ")
        if name != span.name:
            layers[name.rpartition("_")[0]][name].append(span)
    kernels = [span for span in computing_of(profile) if span.asked is not None] if has_device(profile) else []
    for instances in sorted(layers.values(), key=lambda one: -len(one)):
        name = sorted(instances)[len(instances) // 2]
        launched = [span for span in kernels if any(of.holds(span.asked or 0) for of in instances[name])]
        if len(instances) >= 3 and len(launched) >= 2:
            edited = _slower(profile, launched, text=f"odule {name} takes")
            return replace(edited, subject=None, whats=("module", "operator_slower"))
    raise NoPlace


def all_kernels_slower(profile: Timeline) -> Edited:
    """All kernels take 1.5 times as long, and nothing else."""
    spans = computing_of(profile)
    if not has_device(profile):
        raise NoPlace
    stretches, ns = _slowed(profile, spans, 0.5 * sum(span.ns for span in spans))
    return Edited(profile.stretched(stretches), ns, ("compute",))


def two_operators_slower(profile: Timeline) -> Edited:
    """The two largest operators are slower: 70 % is the second's, 30 % the first's."""
    operators = operators_of(profile)
    small, large = operators.by_time()[:2]
    first, most = _slowed(profile, operators.groups[large], 0.7 * SHARE * profile.step_ns)
    second, least = _slowed(profile, operators.groups[small], 0.3 * SHARE * profile.step_ns)
    edited = profile.stretched([*first, *second])
    return Edited(edited, most + least, _slower_words(profile), large, second=small)


def everything_slower(profile: Timeline) -> Edited:
    """Everything takes 1.2 times as long."""
    warp = Warp(factor=1 + SHARE, origin=profile.steps[0].start, unit=profile.unit)
    moved = profile.warped(warp)
    return Edited(moved, moved.step_ns - profile.step_ns, ("everything",))


# Places on the host


@dataclass(frozen=True)
class _Place:
    """An instant at which the device waits for the thread that runs the steps, and what that does then, outer first."""

    at: int
    stack: tuple[Span, ...]
    gap: int

    @property
    def inner(self) -> Span:
        return self.stack[-1]

    def is_in(self, *words: str) -> bool:
        return any(word in span.name for span in self.stack for word in words)


@lru_cache(maxsize=1)
def places_of(profile: Timeline) -> list[_Place]:
    """Instants at which the host alone decides when it goes on, those in the longest gaps first."""
    device = profile.of_kind(*DEVICE)
    busy = cover(span for span in device if span.name not in ("EVENT_WAIT", "Notify Wait") or span.kind != "task")
    hosts = [span for span in profile.of_kind("op", "call", "range", "step") if span.lane == profile.main]
    elsewhere = cover(span for span in profile.of_kind("op", "call", "comm") if span.lane != profile.main)
    starts = sorted(span.start for span in device if span.kind != "task" and span.asked is not None)
    asked = {span.start: span.asked for span in device if span.asked is not None}
    on_device = has_device(profile)
    edges = sorted({edge for span in [*hosts, *device] for edge in (span.start, span.end)})
    found: list[_Place] = []
    open_: list[Span] = []
    following = iter(hosts)
    coming = next(following, None)
    index = 0
    for first, last in pairwise(edges):
        at = (first + last) // 2
        while coming is not None and coming.start <= first:
            open_.append(coming)
            coming = next(following, None)
        open_ = [span for span in open_ if span.end > first]
        while index < len(starts) and starts[index] < at:
            index += 1
        if last - first < 2000 or busy(at) or elsewhere(at):
            continue
        later = asked[starts[index]] if index < len(starts) else None
        stack = tuple(span for span in open_ if span.holds(at))
        is_launch = bool(open_) and open_[-1].kind == "call" and open_[-1].start == later
        decides = not on_device or (later is not None and (later >= at or is_launch))
        if decides and any(span.kind == "step" for span in stack):
            found.append(_Place(at, stack, last - first))
    return sorted(found, key=lambda place: -place.gap)


def _place(profile: Timeline, wanted: Callable[[_Place], bool]) -> _Place:
    """The place that fits in each step: only the first is used if there are several steps."""
    for place in places_of(profile):
        if wanted(place):
            return place
    raise NoPlace


def _stall(profile: Timeline, place: _Place) -> tuple[Timeline, int]:
    ns = profile.rounded(SHARE * profile.step_ns)
    return profile.stretched([Stretch(place.at, ns)]), ns


def is_plain(place: _Place) -> bool:
    return not place.is_in(*REASONS) and not any("::item" in span.name for span in place.stack)


def stall_in_operator(profile: Timeline) -> Edited:
    """The host needs longer in an operator, outside of all that it calls."""
    place = _place(profile, lambda place: is_plain(place) and _is_operator(place.inner))
    edited, ns = _stall(profile, place)
    what = ("operator",) if has_device(profile) else ("operator_time", "operator_slower")
    return Edited(edited, ns, what, place.inner.name)


def host_operator_slower(profile: Timeline) -> Edited:
    """All calls of a framework operator take longer on the host, where the device waits for it: no long stall."""
    if not has_device(profile):
        raise NoPlace
    calls: dict[str, dict[Span, _Place]] = defaultdict(dict)
    for place in places_of(profile):
        if is_plain(place) and _is_operator(place.inner):
            calls[place.inner.name][place.inner] = place
    name = max(calls, key=lambda name: (len(calls[name]), name), default="")
    if len(calls[name]) < 4:
        raise NoPlace
    by = profile.rounded(SHARE * profile.step_ns / len(calls[name]))
    stretches = [Stretch(place.at, by) for place in calls[name].values()]
    return Edited(profile.stretched(stretches), by * len(stretches), ("operator",), name)


def _is_operator(span: Span) -> bool:
    return span.kind == "op" and not _is_range(span)


def stall_in_range(profile: Timeline) -> Edited:
    """The host needs longer in a user's range, while no operator runs."""
    place = _place(profile, lambda place: is_plain(place) and _is_range(place.inner))
    edited, ns = _stall(profile, place)
    # The Ascend profiler and torch of 2021 record ranges as operators.
    return Edited(edited, ns, ("python", "phase") if place.inner.kind == "range" else ("operator",), place.inner.name)


def _is_range(span: Span) -> bool:
    return span.kind == "range" or (span.kind == "op" and span.name.startswith(RANGES))


def stall_in_step(profile: Timeline) -> Edited:
    """The host needs longer in the step, outside of all ranges and operators."""
    place = _place(profile, lambda place: place.inner.kind == "step")
    edited, ns = _stall(profile, place)
    return Edited(edited, ns, _between_operators(profile))


def _between_operators(profile: Timeline) -> tuple[str, ...]:
    """What the device waits for while no operator runs; where operators are not recorded, that is unknown."""
    return ("python",) if profile.of_kind("op") else ("unknown",)


def stall_in_data_loader(profile: Timeline) -> Edited:
    """The data loader takes longer."""
    place = _place(profile, lambda place: place.is_in("DataLoader"))
    edited, ns = _stall(profile, place)
    return Edited(edited, ns, ("data",), "enumerate(DataLoader)", text="DataLoader")


def stall_in_synchronise(profile: Timeline) -> Edited:
    """A call that waits for the device takes longer, although the device has nothing to do."""
    place = _place(profile, lambda place: "ynchronize" in place.inner.name and not place.is_in("DataLoader"))
    edited, ns = _stall(profile, place)
    return Edited(edited, ns, ("sync",))


def synchronisations_added(profile: Timeline) -> Edited:
    """The host waits for the device in several places, and is not ahead of it afterwards."""
    if not has_device(profile):
        raise NoPlace
    places = sorted(
        [place for place in places_of(profile) if place.inner.kind == "step"][:MOST_SYNCHRONISATIONS],
        key=lambda place: place.at,
    )
    if len(places) < 2:
        raise NoPlace
    by = profile.rounded(SHARE * profile.step_ns / len(places))
    edited = profile.stretched([Stretch(place.at, by) for place in places])
    for number, place in enumerate(places):
        start = place.at - place.at % profile.unit + profile.unit + number * by
        edited = edited.with_call(profile.synchronise, start, start + max(profile.unit, by // 20))
    return Edited(edited, by * len(places), _between_operators(profile), text=f"the host calls {profile.synchronise}")


def stall_in_allocation(profile: Timeline) -> Edited:
    """An operator has to ask the device for memory."""
    if not has_device(profile):
        raise NoPlace
    place = _place(profile, lambda place: is_plain(place) and place.inner.kind == "op")
    edited, ns = _stall(profile, place)
    return Edited(edited.with_call(profile.malloc, place.at, place.at + ns), ns, ("alloc",), profile.malloc)


def stall_in_garbage_collection(profile: Timeline) -> Edited:
    """Python collects garbage, between operators or in one."""
    place = _place(profile, is_plain)
    edited, ns = _stall(profile, place)
    return Edited(edited.with_collection(place.at, place.at + ns), ns, ("gc",))


# Operators that come and go


def _launches(profile: Timeline, op: str, kernel: str, shapes: str, busy: int) -> tuple[Timeline, int]:
    """Adds calls of an operator between two others, while the device waits; each is busy for as long as ``busy``."""
    place = _place(profile, lambda place: place.inner.kind in ("step", "range") and is_plain(place))
    busy = max(profile.rounded(busy), profile.unit)
    pause = max(profile.unit, 500)
    each = 5 * pause + busy
    count = round(SHARE * profile.step_ns / each)
    launches = []
    for number in range(count):
        start = place.at - place.at % profile.unit + profile.unit + number * each
        parts = [start + part * pause for part in range(5)]
        if has_device(profile):
            host, call, device = (parts[0], parts[4]), (parts[1], parts[2]), (parts[3], parts[3] + busy)
            launches.append(Launch(op, kernel, host, call, device, shapes))
        else:
            launches.append(Launch(op, kernel, (start, start + busy), shapes=shapes))
    ns = count * each + profile.unit
    return profile.stretched([Stretch(place.at, ns)]).with_launches(launches), ns


def operator_added(profile: Timeline) -> Edited:
    """A new operator is called many times."""
    new, ns = _launches(profile, "aten::injected", "injected_kernel", "[[8, 8]]", round(SHARE * profile.step_ns / 40))
    subject = "injected_kernel" if has_device(profile) else "aten::injected"
    return Edited(new, ns, ("operator_calls",), subject)


def operator_called_more(profile: Timeline) -> Edited:
    """The largest operator is called more often, for the inputs that take most of its time."""
    operators = operators_of(profile)
    largest = operators.by_time()[0]
    shapes: dict[str, list[Span]] = defaultdict(list)
    for span in operators.groups[largest]:
        shapes[span.shapes].append(span)
    shape, like = max(shapes.items(), key=lambda item: sum(span.ns for span in item[1]))
    op = like[0].name
    if has_device(profile):
        hosts = [span for span in profile.of_kind("op") if like[0].asked is not None and span.holds(like[0].asked)]
        op = hosts[-1].name if hosts else op
    new, ns = _launches(profile, op, like[0].name, shape, sum(span.ns for span in like) // len(like))
    return Edited(new, ns, ("operator_calls",), largest)


def operator_replaced(profile: Timeline) -> Edited:
    """Two kernels come in the place of the largest operator's, and take longer; the same operators launch them."""
    if not has_device(profile):
        raise NoPlace
    operators = operators_of(profile)
    spans = operators.groups[operators.by_time()[0]]
    stretches, ns = _slowed(profile, spans, SHARE * profile.step_ns)
    divided = profile.stretched(stretches).divided({span.place for span in spans}, ("injected_a", "injected_b"))
    return Edited(divided, ns, ("replaced",), text="→ injected_a + injected_b")


def hidden_kernel_doubles(profile: Timeline) -> Edited:
    """A kernel that runs below the largest ones takes twice as long, and is still hidden: the step is the same."""
    if not has_device(profile):
        raise NoPlace
    longest = sorted(profile.in_steps("kernel"), key=lambda span: -span.ns)[:10]
    spans = [span for span in longest if span.asked is not None and span.ns >= 5 * profile.unit]

    def hiding(part: float) -> Timeline:
        launches = []
        for span in spans:
            assert span.asked is not None
            at = span.start - span.start % profile.unit + profile.unit
            asked = span.asked - 3 * profile.unit
            end = at + profile.rounded(span.ns * part)
            call = (asked, asked + profile.unit)
            launches.append(Launch("aten::hidden", "hidden_kernel", call, call, (at, end), apart=True))
        return profile.with_launches(launches)

    if not spans:
        raise NoPlace
    return Edited(hiding(0.8), 0, baseline=hiding(0.4))


def operator_in_every_layer(profile: Timeline) -> Edited:
    """A new operator follows every call of the operator that the device waits for most often."""
    after: dict[str, list[_Place]] = defaultdict(list)
    for place in places_of(profile):
        if is_plain(place) and place.inner.kind in ("op", "range", "step") and has_device(profile):
            after[place.inner.name].append(place)
    name = max(after, key=lambda name: (len(after[name]), name), default="")
    places = sorted(after[name], key=lambda place: place.at)
    if len(places) < 4:
        raise NoPlace
    pause = max(profile.unit, 500)
    busy = profile.rounded(SHARE * profile.step_ns / len(places))
    each = 6 * pause + busy
    launches = []
    for number, place in enumerate(places):
        start = place.at + number * each
        start += profile.unit - start % profile.unit
        parts = [start + part * pause for part in range(5)]
        host, call, device = (parts[0], parts[4]), (parts[1], parts[2]), (parts[3], parts[3] + busy)
        launches.append(Launch("aten::injected", "injected_kernel", host, call, device, "[[8, 8]]"))
    new = profile.stretched([Stretch(place.at, each) for place in places]).with_launches(launches)
    where = f", as aten::injected was added in {name} (" if places[0].inner.kind == "op" else ""
    return Edited(new, each * len(places), ("operator_calls",), "injected_kernel", text=where)


# What else changed with an operator


def _of_largest(profile: Timeline) -> list[Span]:
    operators = operators_of(profile)
    return operators.groups[operators.by_time()[0]]


def operator_on_ai_cpu(profile: Timeline) -> Edited:
    """The largest operator is slower because it runs on the AI CPU now."""
    edited = largest_operator_slower(profile)
    places = [span.place for span in _of_largest(profile)]
    return replace(edited, profile=edited.profile.with_core(places, "AI_CPU"), text="AI_CPU")


def operator_on_other_data_type(profile: Timeline) -> Edited:
    """The largest operator is slower because it works on larger numbers."""
    edited = largest_operator_slower(profile)
    spans = _of_largest(profile)
    types = ";".join(["DOUBLE"] * len(spans[0].shapes.split(";")))
    new = edited.profile.with_data_types([span.place for span in spans], types)
    return replace(edited, profile=new, text="DOUBLE")


def clock_lower(profile: Timeline) -> Edited:
    """All kernels take 1.5 times as long, and the AI Cores' clock is lower by that factor."""
    edited = all_kernels_slower(profile)
    new = edited.profile.with_clock(2 / 3)
    return replace(edited, profile=new, whats=("frequency",), text="1,800 to 1,200 MHz")


def operator_on_larger_inputs(profile: Timeline) -> Edited:
    """The largest operator's inputs, and its time, are 8 times as large."""
    spans = _of_largest(profile)
    if any(not span.shapes.strip('"[]; ,') for span in spans):
        raise NoPlace
    stretches, ns = _slowed(profile, spans, 7 * sum(span.ns for span in spans))
    new = profile.stretched(stretches).with_larger_inputs([span.place for span in spans], 8)
    return Edited(new, ns, ("workload",), spans[0].name, text="larger inputs")


def longer_sequences(profile: Timeline) -> Edited:
    """All kernels' inputs, and their times, are twice as large."""
    spans = computing_of(profile)
    if not has_device(profile) or sum(bool(span.shapes.strip('"[]; ,')) for span in spans) < 0.9 * len(spans):
        raise NoPlace
    stretches, ns = _slowed(profile, spans, sum(span.ns for span in spans))
    new = profile.stretched(stretches).with_larger_inputs([span.place for span in spans], 2)
    return Edited(new, ns, ("workload",), text="inputs")


def one_more_pass(profile: Timeline) -> Edited:
    """All that runs in the module or range with most of the kernels runs once more, such as a micro batch."""
    asked = [span.asked for span in profile.in_steps("kernel") if span.asked is not None]
    around = [span for span in profile.in_steps("python", "range") if 2 * sum(map(span.holds, asked)) > len(asked) > 0]
    passed = min(around, key=lambda span: span.ns, default=None)
    if passed is None or len(profile.steps) > 1:
        raise NoPlace
    new = profile.repeated(passed.start, passed.end)
    return Edited(new, passed.end - passed.start, ("workload",), text="more calls")


def recomputation(profile: Timeline) -> Edited:
    """The kernels of the forward pass run a second time, in the backward pass."""
    kernels = [span for span in profile.in_steps("kernel") if span.asked is not None]
    hosts = [span for span in profile.of_kind("op") if not _is_range(span)]
    backward = [span.start for span in hosts if "autograd::engine" in span.name or "Backward" in span.name]
    forward = [span for span in kernels if backward and span.asked is not None and span.asked < min(backward)]
    if not forward:
        raise NoPlace
    later = [place for place in places_of(profile) if place.at > min(backward) and is_plain(place)]
    place = next((place for place in later if place.inner.kind == "step" or _is_range(place.inner)), None)
    if place is None:
        raise NoPlace
    pause = max(profile.unit, 500)
    launches, start = [], place.at - place.at % profile.unit + profile.unit
    for span in forward:
        assert span.asked is not None
        holding = [op for op in hosts if op.holds(span.asked)]
        parts = [start + part * pause for part in range(5)]
        device = (parts[3], parts[3] + max(span.ns, profile.unit))
        op = holding[-1].name if holding else "aten::recomputed"
        launches.append(Launch(op, span.name, (parts[0], parts[4]), (parts[1], parts[2]), device, span.shapes))
        start = max(parts[4], device[1]) + pause
    ns = start - place.at
    new = profile.stretched([Stretch(place.at, ns)]).with_launches(launches)
    return Edited(new, ns, ("workload", "kind", "phase"), text="calls", least=0.5)


def everything_slower_with_a_lower_clock(profile: Timeline) -> Edited:
    """Everything takes 1.2 times as long, and the AI Cores' clock is lower by that factor."""
    edited = everything_slower(profile)
    new = edited.profile.with_clock(1 / (1 + SHARE))
    return replace(edited, profile=new, whats=("everything", "frequency"))


def launches_late(profile: Timeline) -> Edited:
    """Each launch that the device waits for takes longer."""
    places = [place for place in places_of(profile) if "Launch" in place.inner.name and place.inner.kind == "call"]
    if len(places) < 4:
        raise NoPlace
    by = profile.rounded(SHARE * profile.step_ns / len(places))
    new = profile.stretched([Stretch(place.at, by) for place in places])
    return Edited(new, by * len(places), ("launch",))


def two_stalls(profile: Timeline) -> Edited:
    """The data loader takes longer, which is 70 % of the change, and an operator on the host 30 %."""
    loader = _place(profile, lambda place: place.is_in("DataLoader"))
    operator = _place(profile, lambda place: is_plain(place) and _is_operator(place.inner))
    most, least = (profile.rounded(part * SHARE * profile.step_ns) for part in (0.7, 0.3))
    new = profile.stretched([Stretch(loader.at, most), Stretch(operator.at, least)])
    return Edited(new, most + least, ("data",), "enumerate(DataLoader)", second=operator.inner.name)


def stalls_in_two_operators(profile: Timeline) -> Edited:
    """Two operators on the host take longer: 70 % of the change is the first's, 30 % the second's."""
    first = _place(profile, lambda place: is_plain(place) and _is_operator(place.inner))
    second = _place(
        profile,
        lambda place: is_plain(place) and _is_operator(place.inner) and place.inner.name != first.inner.name,
    )
    most, least = (profile.rounded(part * SHARE * profile.step_ns) for part in (0.7, 0.3))
    new = profile.stretched([Stretch(first.at, most), Stretch(second.at, least)])
    what = ("operator",) if has_device(profile) else ("operator_time", "operator_slower")
    name = first.inner.name
    return Edited(new, most + least, what, name, text=name, second=second.inner.name)


def operator_slower_and_stall(profile: Timeline) -> Edited:
    """The largest operator is slower, which is 70 % of the change, and the host stalls in another, which is 30 %."""
    if not has_device(profile):
        raise NoPlace
    operators = operators_of(profile)
    large = operators.by_time()[0]
    place = _place(profile, lambda place: is_plain(place) and _is_operator(place.inner))
    slower, most = _slowed(profile, operators.groups[large], 0.7 * SHARE * profile.step_ns)
    least = profile.rounded(0.3 * SHARE * profile.step_ns)
    new = profile.stretched([*slower, Stretch(place.at, least)])
    return Edited(new, most + least, ("operator_slower",), large, second=place.inner.name)


def three_causes(profile: Timeline) -> Edited:
    """The largest operator is half of the change, a stall of the host 30 %, another operator 20 %."""
    operators = operators_of(profile)
    large, small = operators.by_time()[:2]
    wanted = ("op",) if has_device(profile) else ("step", "range")
    place = _place(profile, lambda place: is_plain(place) and place.inner.kind in wanted)
    slowed = [
        _slowed(profile, operators.groups[name], part * SHARE * profile.step_ns)
        for name, part in ((large, 0.5), (small, 0.2))
    ]
    ns = profile.rounded(0.3 * SHARE * profile.step_ns)
    new = profile.stretched([*slowed[0][0], *slowed[1][0], Stretch(place.at, ns)])
    whole = ns + slowed[0][1] + slowed[1][1]
    return Edited(new, whole, _slower_words(profile), large, least=0.45, third=small)


def operator_slower_and_another_faster(profile: Timeline) -> Edited:
    """The largest operator is slower, and the second largest faster by half of that."""
    operators = operators_of(profile)
    large, small = operators.by_time()[:2]
    first, more = _slowed(profile, operators.groups[large], SHARE * profile.step_ns)
    second, less = _slowed(profile, operators.groups[small], SHARE * profile.step_ns / 2)
    new, baseline = profile.stretched(first), profile.stretched(second)
    words = _slower_words(profile)
    return Edited(new, more - less, words, large, second=small, second_share=-1.0, baseline=baseline, least=1.9)


def stall_beside_a_hidden_kernel(profile: Timeline) -> Edited:
    """Beside a kernel that doubles while it is hidden, the host stalls in the step."""
    hidden = hidden_kernel_doubles(profile)
    place = _place(profile, lambda place: place.inner.kind == "step")
    edited, ns = _stall(hidden.profile, place)
    whats = _between_operators(profile)
    return Edited(edited, ns, whats, baseline=hidden.baseline, unnamed="hidden_kernel")


# Communication and copies


def collective_longer(profile: Timeline) -> Edited:
    """The longest collective that nothing hides takes longer, in its transfer."""
    computing = cover(computing_of(profile) if has_device(profile) else profile.of_kind("op"))
    tasks = [span for span in profile.of_kind("task") if span.name == "SDMA"]
    calls = cover(profile.of_kind("call"))
    for span in sorted(profile.in_steps("comm"), key=lambda span: -span.ns):
        inner = [task for task in tasks if span.start <= task.start and task.end <= span.end] or [span]
        found = [
            one.start + one.ns * place // GRID for one in inner for place in range(1, GRID)
            if one.holds(one.start + one.ns * place // GRID) and not computing(one.start + one.ns * place // GRID)
        ]  # fmt: skip
        if found:
            at = next((at for at in found if not calls(at)), found[0])
            ns = profile.rounded(SHARE * profile.step_ns)
            return Edited(profile.stretched([Stretch(at, ns)]), ns, ("communication",))
    raise NoPlace


def _exposed(profile: Timeline) -> tuple[Span, int, int]:
    """A collective of a device, and the longest time in it that no kernel hides."""
    kernels = profile.of_kind("kernel")
    found = []
    for span in profile.in_steps("comm") if kernels else ():
        inside = [kernel for kernel in kernels if kernel.start < span.end and span.start < kernel.end]
        free = span.start
        for kernel in inside:
            found.append((kernel.start - free, span, free))
            free = max(free, kernel.end)
        found.append((span.end - free, span, free))
    if not found or max(found, key=lambda one: one[0])[0] < 20 * profile.unit:
        raise NoPlace
    ns, span, start = max(found, key=lambda one: one[0])
    at = start + profile.unit - start % profile.unit
    return span, at, ns - profile.unit


def _beside(profile: Timeline, start: int, ns: int) -> Timeline:
    """With a kernel on a stream of its own, launched long before."""
    asked = min(span.asked or span.start for span in profile.of_kind("kernel")) - 3 * profile.unit
    call = (asked, asked + profile.unit)
    return profile.with_launches([Launch("aten::hidden", "hidden_kernel", call, call, (start, start + ns), apart=True)])


def kernel_below_a_collective_doubles(profile: Timeline) -> Edited:
    """A kernel that a collective covers takes twice as long, and is still covered: the step is the same."""
    _, at, free = _exposed(profile)
    ns = profile.rounded(free * 0.4)
    return Edited(_beside(profile, at, 2 * ns), 0, baseline=_beside(profile, at, ns))


def overlap_lost(profile: Timeline) -> Edited:
    """A kernel that ran below a collective runs after it now."""
    span, at, free = _exposed(profile)
    ns = profile.rounded(free * 0.8)
    after = profile.stretched([Stretch(span.end, ns)])
    return Edited(_beside(after, span.end, ns), ns, ("lost_overlap",), baseline=_beside(profile, at, ns))


def copy_longer(profile: Timeline) -> Edited:
    """The longest copy that nothing hides takes longer."""
    others = cover(profile.of_kind("kernel", "comm"))
    for span in sorted(profile.in_steps("copy"), key=lambda span: -span.ns):
        at = span.start + span.ns // 2
        if span.holds(at) and not others(at):
            ns = profile.rounded(SHARE * profile.step_ns)
            return Edited(profile.stretched([Stretch(at, ns)]), ns, ("copies",))
    raise NoPlace


# No change


def hosts_renamed(profile: Timeline) -> Edited:
    """Another host, and other paths."""
    return Edited(profile.renamed(), 0)


def clocks_shifted(profile: Timeline) -> Edited:
    """Everything happened an hour later."""
    return Edited(profile.stretched([Stretch(1, 3_600_000_000_000)]), 0)


def other_streams(profile: Timeline) -> Edited:
    """Streams have other numbers."""
    return Edited(profile.with_other_streams(), 0)


def other_threads(profile: Timeline) -> Edited:
    """The process and its threads have other numbers."""
    return Edited(profile.with_other_threads(), 0)


def other_correlations(profile: Timeline) -> Edited:
    """What links launches and kernels has other numbers."""
    return Edited(profile.with_other_links(), 0)


def other_order(profile: Timeline) -> Edited:
    """The file has its events the other way round."""
    return Edited(profile.reordered(), 0)


CHANGES: dict[str, Edit] = {
    edit.__name__: edit
    for edit in (
        largest_operator_slower, median_operator_slower, one_shape_slower, one_layer_slower, all_kernels_slower,
        two_operators_slower, everything_slower, stall_in_operator, host_operator_slower, stall_in_range,
        stall_in_step, stall_in_data_loader,
        stall_in_synchronise, synchronisations_added,
        stall_in_allocation, stall_in_garbage_collection, operator_added, operator_called_more,
        operator_replaced, collective_longer, copy_longer, operator_in_every_layer, operator_on_ai_cpu,
        operator_on_other_data_type, clock_lower, operator_on_larger_inputs, launches_late, two_stalls,
        stall_beside_a_hidden_kernel, stalls_in_two_operators, operator_slower_and_another_faster, overlap_lost,
        operator_slower_and_stall, longer_sequences, recomputation, everything_slower_with_a_lower_clock, one_more_pass,
        three_causes,
    )
} | {
    "largest_operator_faster": reversed_(largest_operator_slower),
    "operator_removed": reversed_(operator_added),
    "data_loader_faster": reversed_(stall_in_data_loader),
}  # fmt: skip
"""Edits that have a cause, by name."""

NULLS: dict[str, Edit] = {
    edit.__name__: edit
    for edit in (
        hosts_renamed, clocks_shifted, other_streams, other_threads, other_correlations, other_order,
        hidden_kernel_doubles, kernel_below_a_collective_doubles,
    )
}  # fmt: skip
"""Edits that change no step: they have no cause."""

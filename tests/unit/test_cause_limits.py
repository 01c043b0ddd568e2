"""The thresholds of the choice of causes: a little below each one, and a little above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rlcompare.compare.causes import find_causes
from rlcompare.compare.computation import computation as computation_of
from rlcompare.compare.evidence import Evidence
from rlcompare.compare.exchanged import exchanged as exchanged_sets
from rlcompare.compare.operator_changes import OperatorChange
from rlcompare.compare.parts import basis_of
from rlcompare.compare.places import places
from rlcompare.compare.records import LoneLaunch
from rlcompare.model.diff import Row, Section, Unexplained
from rlcompare.model.words import Presence
from tests.unit.test_causes import Account, causes_of, computed, delta, evidence_of, timed, whats


@pytest.mark.parametrize(("beside", "enough"), [(1.2, True), (1.3, False)])
def test_work_that_explains_four_fifths_is_alone_to_blame(beside: float, enough: bool) -> None:
    """The work explains 5 ms; saving a checkpoint takes so many ms longer."""
    evidence = timed(update_actor=(10.0, 15.0, 1.0), save_checkpoint=(10.0, 10.0 + beside, 1.0))
    assert ("per token nothing is slower" in find_causes(evidence)[0][0].text) == enough


@pytest.mark.parametrize(("more", "alike"), [(15.5, True), (16.5, False)])
def test_an_operator_that_stands_out_by_three_tenths_is_no_clock(more: float, alike: bool) -> None:
    """Of five operators of 30 ms all are 25 % slower, and one by so many ms more."""
    others = [(name, 30.0, 37.5, 0.0, 0.0) for name in "abde"]
    assert ("compute" in whats(computed(*others, ("c", 30.0, 37.5 + more, 0.0, 0.0)))) == alike


@pytest.mark.parametrize(("idle", "alike"), [(4.5, True), (5.5, False)])
def test_a_twentieth_of_the_step_need_not_follow_the_rest(idle: float, alike: bool) -> None:
    account: Account = {
        ("compute", None, "a"): (40.0, 48.0), ("compute", None, "b"): (20.0, 24.0),
        ("comm", None, "all_reduce"): (35.0, 42.0), ("sync", None, "aten::item"): (idle, idle),
    }  # fmt: skip
    assert ("everything" in {cause.what for cause in causes_of(account)[0]}) == alike


@pytest.mark.parametrize(("factor", "alike"), [(1.019, False), (1.021, True)])
def test_a_common_factor_of_two_percent_is_one(factor: float, alike: bool) -> None:
    account: Account = {
        ("compute", None, "a"): (60.0, 60.0 * factor), ("comm", None, "all_reduce"): (40.0, 40.0 * factor),
    }  # fmt: skip
    assert ("everything" in {cause.what for cause in causes_of(account)[0]}) == alike


@pytest.mark.parametrize(("operators", "expected"), [(3, ["operator_time"] * 3), (4, ["kind"])])
def test_three_operators_are_named_and_four_are_a_place(operators: int, expected: list[str]) -> None:
    account: Account = {("compute", None, f"k{number}"): (20.0, 30.0) for number in range(operators)}
    assert [cause.what for cause in causes_of(account)[0]] == expected


@pytest.mark.parametrize(("one", "what"), [(18.0, "communication"), (17.0, "kind")])
def test_a_set_that_holds_four_fifths_of_a_place_is_named_for_it(one: float, what: str) -> None:
    """Of 100 ms a kernel holds 50, idle time 28, and communication 22, most of it one kind of collective."""
    account: Account = {("compute", None, "a"): (50.0, 100.0), ("comm", None, "all_reduce"): (5.0, 5.0 + one)}
    account |= {(kind, None, f"call {number}"): (1.0, 3.0) for kind in ("sync", "alloc") for number in range(7)}
    account |= {("comm", None, f"kind {number}"): (5.0, 5.0 + (22 - one) / 4) for number in range(4)}
    assert [cause.what for cause in causes_of(account)[0]] == ["operator_time", "kind", what]


def test_the_rows_of_a_cause_beyond_fifty_are_one() -> None:
    account: Account = {("compute", None, f"k{number}"): (1.0, 2.0) for number in range(60)}
    (cause,), _ = causes_of(account)
    assert len(cause.rows) == 51
    assert (cause.rows[-1]["name"], cause.rows[-1]["delta_ms"]) == (None, pytest.approx(10.0))


@pytest.mark.parametrize(("own", "named"), [(8.1, True), (7.9, False)])
def test_a_rank_that_holds_four_fifths_of_a_cause_is_named(own: float, named: bool) -> None:
    evidence = evidence_of({("compute", None, "a"): (10.0, 20.0)})
    found = replace(evidence, members={("compute", None, "a"): ("rank 1", own, 10.0)})
    assert find_causes(found)[0][0].text.endswith(", most of it on rank 1.") == named


def test_figures_of_all_phases_are_not_those_of_one() -> None:
    """The phase holds all of the change; the calls and their time are known over both phases alone."""
    account: Account = {("compute", "p", "a"): (50.0, 150.0), ("compute", "q", "a"): (50.0, 50.0)}
    change = OperatorChange("a", 100.0, 200.0, 0.0, 0.0, 100.0, 4.0, 4.0, True)
    (cause,), _ = find_causes(replace(evidence_of(account), operators=(change,)))
    assert cause.text == "a (mostly in p) takes 2.0 times as long per call, called 4 times per step as before."


@pytest.mark.parametrize(("main", "words"), [(98.5, "a (mostly in p)"), (99.5, "a in p")])
def test_a_phase_with_less_than_all_of_an_operator_is_most_of_it(main: float, words: str) -> None:
    account: Account = {("compute", "p", "a"): (100.0, 100.0 + main), ("compute", "q", "a"): (0.0, 100.0 - main)}
    change = OperatorChange("a", 100.0, 200.0, 0.0, 0.0, 100.0, 4.0, 4.0, True)
    (cause,), _ = find_causes(replace(evidence_of(account), operators=(change,)))
    assert cause.text.startswith(words)


@pytest.mark.parametrize(("fewer", "alone"), [(1.5, True), (2.5, False)])
def test_a_reason_that_made_up_for_a_fifth_is_told(fewer: float, alone: bool) -> None:
    """An operator takes 10 ms more, although fewer calls would have saved some."""
    evidence = computed(("a", 10.0, 20.0, -fewer, 0.0), ("b", 40.0, 40.0, 0.0, 0.0))
    assert (" ms more: " in find_causes(evidence)[0][0].text) != alone


@pytest.mark.parametrize(("waited", "told"), [(0.05, False), (0.07, True)])
def test_launches_count_from_a_hundredth_of_the_calls(waited: float, told: bool) -> None:
    account: Account = {
        ("compute", None, "other"): (9.0, 9.0), ("compute", None, "new"): (0.0, 6.0),
        ("launch", None, "new"): (0.0, waited),
    }  # fmt: skip
    change = OperatorChange("new", 0.0, 6.0, 6.0, 0.0, 0.0, 0.0, 10.0, False)
    causes, _ = find_causes(replace(evidence_of(account), operators=(change,)))
    assert ("of launching them" in causes[0].text) == told


def exchanged(old_calls: float, new_calls: float, new: int = 1) -> Evidence:
    """One operator went, and others came; only the numbers of their calls tell that they belong together."""
    names = [f"new {number}" for number in range(new)]
    account: Account = {
        ("compute", None, "old"): (10.0, 0.0),
        **{("compute", None, name): (0.0, 8.0) for name in names},
    }
    changes = (
        OperatorChange("old", 10.0, 0.0, -10.0, 0.0, 0.0, old_calls, 0.0, False),
        *(OperatorChange(name, 0.0, 8.0, 8.0, 0.0, 0.0, 0.0, new_calls, False) for name in names),
        OperatorChange("other", 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, True),
    )
    return replace(evidence_of(account), operators=changes)


@pytest.mark.parametrize(("of_addmm", "replaced"), [(72.0, True), (60.0, False)])
def test_a_kernel_of_two_operators_is_replaced_by_one_of_each(of_addmm: float, replaced: bool) -> None:
    """A release names the kernels of mm and of addmm apart. Their calls together are not those of the old one alone."""
    account: Account = {
        ("compute", None, "old"): (12.0, 0.0), ("compute", None, "of mm"): (0.0, 9.0),
        ("compute", None, "of addmm"): (0.0, 2.0), ("compute", None, "other"): (20.0, 24.0),
    }  # fmt: skip
    changes = (
        OperatorChange("old", 12.0, 0.0, -12.0, 0.0, 0.0, 168.0, 0.0, False),
        OperatorChange("of mm", 0.0, 9.0, 9.0, 0.0, 0.0, 0.0, 96.0, False),
        OperatorChange("of addmm", 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, of_addmm, False),
    )
    launches = [LoneLaunch("old", None, "aten::mm", 96.0), LoneLaunch("of mm", None, "aten::mm", 96.0)]
    launches += [LoneLaunch("old", None, "aten::addmm", 72.0), LoneLaunch("of addmm", None, "aten::addmm", of_addmm)]
    evidence = replace(evidence_of(account), operators=changes, lone_launches=launches)
    basis = basis_of(evidence)
    assert basis is not None
    together = [{"old", "of mm", "of addmm"}] if replaced else [{"old", "of mm"}]
    assert exchanged_sets(evidence, basis) == together
    (computation,) = (
        found
        for found in places(evidence, basis, basis, list(computation_of(evidence, basis)))
        if str(found.text).startswith("Computation")
    )
    assert f"over {2 if replaced else 3} kernels; the largest is other (+4.00 ms)" in str(computation.text)


@pytest.mark.parametrize(("new", "replaced"), [(4, True), (5, False)])
def test_four_operators_may_take_the_place_of_one(new: int, replaced: bool) -> None:
    """Of five, none is told to have replaced it: which would it be?"""
    assert ("replaced" in whats(exchanged(20.0, 20.0, new))) == replaced


@pytest.mark.parametrize(
    ("old", "new", "replaced"), [(3.0, 3.0, False), (4.0, 4.0, True), (10.0, 40.0, True), (10.0, 50.0, False)]
)
def test_few_calls_and_large_multiples_match_by_chance(old: float, new: float, replaced: bool) -> None:
    assert ("replaced" in whats(exchanged(old, new))) == replaced


@pytest.mark.parametrize(
    ("group", "delta", "named"), [("a", 5.0, True), (None, 5.0, True), ("b", 5.0, False), ("a", 4.9, False)]
)
def test_a_link_is_of_the_collective_and_takes_half_of_its_change_longer(
    group: str | None, delta: float, named: bool
) -> None:
    evidence = evidence_of({("comm", None, "all_reduce"): (10.0, 20.0)})
    row: Row = {
        "name": "all_reduce",
        "presence": "both",
        "baseline": 30.0,
        "new": 40.0,
        "delta": 10.0,
        "group_key": "a",
    }
    link: Row = {"name": "0→1", "baseline_gb_per_s": 10.0, "new_gb_per_s": 5.0, "delta": delta, "group_key": group}
    others: list[Row] = [{**link, "name": f"0→{rank}", "new_gb_per_s": 10.0, "delta": 0.0} for rank in (2, 3)]
    sections = {
        **evidence.sections, "collectives": Section("collectives", "ms", (), None, "", (row,)),
        "links": Section("links", "ms", (), None, "", (link, *others)),
    }  # fmt: skip
    assert ("link 0→1" in find_causes(replace(evidence, sections=sections))[0][0].text) == named


@pytest.mark.parametrize(("rate", "named"), [(6.9, True), (7.1, False)])
def test_a_link_below_seven_tenths_of_its_bandwidth_is_named(rate: float, named: bool) -> None:
    evidence = evidence_of({("comm", None, "all_reduce"): (10.0, 20.0)})
    row: Row = {"name": "all_reduce", "presence": "both", "baseline": 30.0, "new": 40.0, "delta": 10.0}
    links: list[Row] = [
        {"name": name, "baseline_gb_per_s": 10.0, "new_gb_per_s": new, "delta": delta}
        for name, new, delta in (("0→1", rate, 5.0), ("0→2", 10.0, 0.0), ("0→3", 10.0, 0.0))
    ]
    sections = {
        **evidence.sections, "collectives": Section("collectives", "ms", (), None, "", (row,)),
        "links": Section("links", "bytes", (), None, "", tuple(links)),
    }  # fmt: skip
    assert ("link 0→1" in find_causes(replace(evidence, sections=sections))[0][0].text) == named


@pytest.mark.parametrize(
    ("shares", "named"),
    [
        ([0.81], True), ([0.79], False),  # four fifths must be in a few names
        ([0.62, 0.21], True), ([0.62, 0.19], False),  # of which each holds a fifth
        ([0.3, 0.3, 0.3], True), ([0.25, 0.25, 0.25, 0.25], False),  # and which are three
    ],
)  # fmt: skip
def test_a_few_operators_that_the_device_waits_for_are_named(shares: list[float], named: bool) -> None:
    small = (1.0 - sum(shares)) / 20
    account: Account = {
        ("operator", None, f"op {number}"): (10.0, 10.0 + 10 * share) for number, share in enumerate(shares)
    }
    account |= {("operator", None, f"small {number}"): (1.0, 1.0 + 10 * small) for number in range(20)}
    first = causes_of(account)[0][0]
    assert ("waits for op " if named else "waits for operators on the host") in first.text


@pytest.mark.parametrize(("names", "texts"), [
    (60, ["The time the device waits while the host compiles grew by 12.00 ms per step."]),
    (2, ["The time the device waits while the host compiles (pass 1) grew by 6.00 ms per step.",
         "The time the device waits while the host compiles (pass 0) grew by 6.00 ms per step."]),
])  # fmt: skip
def test_many_calls_of_one_kind_are_one_cause(names: int, texts: list[str]) -> None:
    """A compiler has hundreds of passes, none of which takes a fifth of its time."""
    account: Account = {("compile", None, f"pass {number}"): (0.0, 12.0 / names) for number in range(names)}
    causes, rest = causes_of(account | {("compute", None, "k"): (50.0, 50.0)})
    assert [cause.text for cause in causes] == texts
    assert rest is not None and rest.share == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("less", "named"), [(2.4, True), (2.6, False)])
def test_a_name_that_others_made_up_for_is_not_named_for_its_kind(less: float, named: bool) -> None:
    """Another rank begins its step first: what one rank lost and the other gained is their difference, not either."""
    account: Account = {
        ("late start", None, "rank 2"): (0.0, 10.0 + less), ("late start", None, "rank 0"): (less, 0.0),
        ("compute", None, "MatMul"): (50.0, 50.0),
    }  # fmt: skip
    (cause,) = causes_of(account)[0][:1]
    assert (cause.text == "The step waits 12.40 ms more for the late start of rank 2.") == named
    assert cause.delta_ms == pytest.approx(10.0 + less if named else 10.0)


def path_evidence(path: tuple[float, float], own: Sequence[float]) -> Evidence:
    """A job whose path has one operator that took these times, and by how much the operator changed on each rank."""
    key: tuple[str, str | None, str] = ("compute", None, "MatMul")
    evidence = evidence_of({key: path, ("compute", None, "Add"): (50.0, 50.0)})
    account, ranks = evidence.sections["account"], evidence.sections["ranks"]
    mean, most = sum(own) / len(own), max(own, key=abs)
    means: tuple[Row, ...] = ({**account.rows[0], "delta": mean}, {**account.rows[1], "delta": 0.0})
    named: tuple[Row, ...] = tuple({"name": f"rank {rank}", "presence": Presence.BOTH} for rank in range(len(own)))
    sections = {
        **evidence.sections, "path": account, "account": replace(account, rows=means),
        "ranks": replace(ranks, rows=named),
    }  # fmt: skip
    members = {key: (f"rank {own.index(most)}", most / len(own), sum(map(abs, own)) / len(own))}
    step = delta("time.path", *(sum(values) for values in zip(path, (50.0, 50.0), strict=True)))
    return replace(
        evidence, headline=step, profile=step, metrics={"time.path": step}, sections=sections, members=members
    )


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ([20.0, 0.0], "most of it on rank 0"), ([20.0, 3.9], "most of it on rank 0"), ([20.0, 4.1], ""),
        ([20.0, -18.0], "most of it on rank 0"),  # work moved from one rank to the other
        ([20.0, -25.0], ""),  # so that the mean shrank
        ([5.0, 40.0], ""),  # the path may lead over either
        ([13.4, 0.0], "most of it on rank 0"), ([13.2, 0.0], "as the step depends on other ranks than before"),
    ],
)  # fmt: skip
def test_a_change_on_the_path_is_one_of_a_rank_that_can_hold_it(own: Sequence[float], words: str) -> None:
    """The operator takes 20 ms more of the path."""
    text = find_causes(path_evidence((100.0, 120.0), own))[0][0].text
    found = [clause for clause in ("most of it on", "as the step depends on") if clause in text]
    assert words in text
    assert len(found) == bool(words)


@pytest.mark.parametrize(("exposed", "otherwise"), [(5.1, False), (4.9, True)])
def test_communication_that_is_now_known_as_waiting_gained_no_cover(exposed: float, otherwise: bool) -> None:
    """With more ranks profiled, more is known to be waiting: 10 ms moved, and the exposed time shrank by less."""
    account: Account = {("comm", None, "all_to_all"): (20.0, 10.0), ("compute", None, "k"): (50.0, 50.0)}
    row: Row = {
        "name": "all_to_all", "delta": -0.1, "baseline": 20.0, "new": 19.9, "baseline_exposed_ms": 20.0,
        "new_exposed_ms": 20.0 - exposed,
    }  # fmt: skip
    evidence = evidence_of(account)
    section = replace(evidence.sections["collectives"], rows=(row,))
    (cause,) = find_causes(replace(evidence, sections={**evidence.sections, "collectives": section}))[0]
    assert ("not known to be waiting" in cause.text) == otherwise
    assert (cause.what == "lost_overlap") == (not otherwise)


@pytest.mark.parametrize(("computing", "most"), [(12.4, True), (12.6, False)])
def test_what_others_made_up_for_is_not_most_of_a_phase(computing: float, most: bool) -> None:
    """A phase grew by 10 ms: its computation by more, and its idle time fell."""
    account: Account = {("compute", "p", f"k{number}"): (5.0, 5.0 + computing / 10) for number in range(10)}
    account |= {("sync", "p", f"call {number}"): (5.0, 5.0 - (computing - 10) / 10) for number in range(10)}
    evidence = evidence_of(account)
    basis = basis_of(evidence)
    assert basis is not None
    (phase,) = (found for found in places(evidence, basis, basis) if found.what == "phase")
    assert isinstance(phase.text, str)
    assert ("mostly computation" in phase.text) == most


@pytest.mark.parametrize(("measured", "fits"), [(10.09, True), (10.11, False)])
def test_an_account_that_misses_the_step_by_a_hundredth_explains_nothing(measured: float, fits: bool) -> None:
    evidence = evidence_of({("compute", None, "a"): (100.0, 100.0 + measured)})
    step = delta("time.step", 100.0, 110.0)
    causes, rest = find_causes(replace(evidence, headline=step, profile=step))
    assert bool(causes) == fits
    assert fits or rest == Unexplained(1.0, 10.0)


@pytest.mark.parametrize(("timer", "named"), [(1.0, True), (-1.0, False)])
def test_a_phase_is_not_named_for_what_its_timer_denies(timer: float, named: bool) -> None:
    """The profiled phase grew by 10 ms, over many operators."""
    evidence = evidence_of({("compute", "adv", f"k{number}"): (5.0, 6.0) for number in range(10)})
    row: Row = {"name": "adv", "kind": "wall", "baseline": 9.0, "new": 9.0 + timer, "delta": timer}
    sections = {**evidence.sections, "phases": Section("phases", "ms", (), None, "", (row,))}
    evidence = replace(evidence, sections=sections, timed_phases=True)
    basis = basis_of(evidence)
    assert basis is not None
    assert ("phase" in {found.what for found in places(evidence, basis, basis)}) == named


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ({"syncStream": (1.0, 9.0)}, "; the host calls syncStream 1 → 9 times per step."),
        ({"syncStream": (9.0, 1.0)}, ""),  # the device waits longer
        ({"syncStream": (1.0, 1.9)}, ""),
        ({"syncStream": (100.0, 109.0)}, ""),
        ({"syncStream": (8.0, 0.0), "syncStreamWithTimeout": (0.0, 8.0)}, ""),  # renamed
        ({"syncStream": (8.0, 0.0), "syncDevice": (0.0, 16.0)}, ""),  # neither is what was added
        ({"syncStream": (8.0, 7.0), "syncDevice": (0.0, 8.0)}, "; the host calls syncDevice 0 → 8 times per step."),
    ],
)
def test_synchronisations_that_were_added_are_named(calls: dict[str, tuple[float, float]], told: str) -> None:
    account: Account = {("python", None, "python"): (5.0, 15.0), ("compute", None, "k"): (50.0, 50.0)}
    account |= {("sync", None, name): (0.1, 0.1) for name in calls}
    evidence = evidence_of(account)
    rows: list[Row] = [{"name": name, "baseline_calls": old, "new_calls": new} for name, (old, new) in calls.items()]
    apis = replace(evidence.sections["apis"], rows=tuple(rows))
    (cause,) = find_causes(replace(evidence, sections={**evidence.sections, "apis": apis}))[0]
    assert cause.text.partition(" per step")[2] == (told or ".")
    assert bool(cause.facts) == bool(told)


@pytest.mark.parametrize(("after", "told"), [(73.0, "; the host calls syncDevice 1 → 73 times per step."), (1.0, ".")])
def test_idle_time_over_many_names_names_the_synchronisations_too(after: float, told: str) -> None:
    """A call that waits for the device after each layer: the device then waits for whatever comes next."""
    kinds = ("python", "operator", "launch")
    account: Account = {(kind, None, f"op{number}"): (1.0, 2.0) for kind in kinds for number in range(8)}
    account |= {("sync", None, "syncDevice"): (0.1, 0.1), ("compute", None, "k"): (50.0, 50.0)}
    evidence = evidence_of(account)
    rows: tuple[Row, ...] = ({"name": "syncDevice", "baseline_calls": 1.0, "new_calls": after},)
    apis = replace(evidence.sections["apis"], rows=rows)
    evidence = replace(evidence, sections={**evidence.sections, "apis": apis})
    basis = basis_of(evidence)
    assert basis is not None
    (idle,) = (found for found in places(evidence, basis, basis) if str(found.text).startswith("Time without"))
    assert (
        idle.text
        == "Time without kernels grew by 24.00 ms per step, over 8 operators and calls; the largest is op7 (+3.00 ms)"
        + told
    )
    assert bool(idle.facts) == (after > 1)


@pytest.mark.parametrize(
    ("exposed", "comm", "compute", "told"),
    [
        ((2.0, 12.0), (20.0, 20.4), (50.0, 50.0), "On rank 1 communication overlaps less with kernels: 10.00 ms more"),
        ((2.0, 12.0), (20.0, 21.2), (50.0, 50.0), ""),  # communication takes longer
        ((2.0, 12.0), (20.0, 20.0), (50.0, 51.2), ""),  # and here, computation does
        ((2.0, 9.0), (20.0, 20.0), (50.0, 50.0), ""),  # the step became longer by more
        ((2.0, 14.0), (20.0, 20.0), (50.0, 50.0), "On rank 1 communication overlaps less with kernels: 12.00 ms more"),
    ],
)
def test_cover_that_one_rank_lost(
    exposed: tuple[float, float], comm: tuple[float, float], compute: tuple[float, float], told: str
) -> None:
    """The path takes 10 ms more of a kernel that no rank runs for longer."""
    evidence = path_evidence((10.0, 20.0), [0.0, 0.0])
    changed = {"exposed_comm": exposed, "comm": comm, "compute": compute}
    rows: list[Row] = [
        {
            "name": f"rank {rank}", "presence": Presence.BOTH,
            **{f"{side}_{part}": values[place * rank] for part, values in changed.items()
               for place, side in enumerate(("baseline", "new"))},
        }
        for rank in (0, 1)
    ]  # fmt: skip
    ranks = replace(evidence.sections["ranks"], rows=tuple(rows))
    first = find_causes(replace(evidence, sections={**evidence.sections, "ranks": ranks}))[0][0]
    assert first.text.startswith(told) if told else first.what != "lost_overlap", first
    assert first.share == pytest.approx(1.0)

"""The choice of causes: disjoint sets, the fewest that explain most of the change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.compare.causes import find_causes
from rlcompare.compare.common import clock
from rlcompare.compare.communication import communication
from rlcompare.compare.computation import outside
from rlcompare.compare.evidence import Evidence
from rlcompare.compare.operator_changes import OperatorChange
from rlcompare.compare.parts import Basis, Candidate, Part, basis_of
from rlcompare.compare.places import places
from rlcompare.compare.records import OddCalls, PhaseKernels
from rlcompare.model.diff import Cause, Delta, Row, Section, Unexplained
from rlcompare.model.words import Polarity, Presence

SECTIONS = ("account", "apis", "phases", "ranks", "kernels", "collectives", "links", "operators", "copies", "modules")

# kind, phase, name → ms per step on the baseline and the new side
Account = dict[Any, tuple[float, float]]


def delta(metric: str, baseline: float, new: float) -> Delta:
    return Delta(metric, "ms", Polarity.LOWER, baseline, new, new - baseline, new / baseline, {})


def evidence_of(account: Account, **metrics: tuple[float, float]) -> Evidence:
    """A profile of one rank without kernels' shapes and calls, whose step is the sum of its account."""
    rows: list[Row] = [
        {
            "name": name,
            "kind": kind,
            "phase": phase,
            "presence": Presence.BOTH,
            "baseline": old,
            "new": new,
            "delta": new - old,
        }
        for (kind, phase, name), (old, new) in account.items()
    ]
    sections = {name: Section(name, "ms", (), None, "", ()) for name in SECTIONS}
    sections["account"] = replace(sections["account"], rows=tuple(rows))
    step = delta("time.step", *(sum(values[side] for values in account.values()) for side in (0, 1)))
    found = {name.replace("__", "."): delta(name.replace("__", "."), *values) for name, values in metrics.items()}
    return Evidence(step, step, {"time.step": step} | found, sections, (), {}, True, False, {})


def places_of(account: Account) -> list[Candidate]:
    evidence = evidence_of(account)
    basis = basis_of(evidence)
    assert basis is not None
    return list(places(evidence, basis, basis))


def causes_of(account: Account, **metrics: tuple[float, float]) -> tuple[tuple[Cause, ...], Unexplained]:
    causes, unexplained = find_causes(evidence_of(account, **metrics))
    assert unexplained is not None
    assert sum(cause.share for cause in causes) + unexplained.share == pytest.approx(1.0)
    assert sum(cause.delta_ms for cause in causes) + unexplained.delta_ms == pytest.approx(
        sum(new - old for old, new in account.values())
    )
    return causes, unexplained


times = st.integers(0, 2000).map(float)  # sums of whole numbers are exact
keys = st.tuples(
    st.sampled_from(["compute", "comm", "copy", "queue", "launch", "data", "sync", "operator", "python", "unknown"]),
    st.sampled_from([None, "generate_sequences", "update_actor"]),
    st.sampled_from(["a", "b", "c"]),
)


@given(st.dictionaries(keys, st.tuples(times, times), min_size=1, max_size=20))
def test_shares_sum_to_one(account: Account) -> None:
    """Whatever changed: the causes and what is left are the whole change, and no cause is larger than its rows."""
    if not sum(old for old, _ in account.values()):
        return
    causes, unexplained = find_causes(evidence_of(account))
    if unexplained is None:
        return
    assert sum(cause.share for cause in causes) + unexplained.share == pytest.approx(1.0)
    moved = [new - old for old, new in account.values()]
    able = (sum(change for change in moved if change * sign > 0) for sign in (1, -1))
    for sign, most in zip((1, -1), able, strict=True):
        assert abs(sum(cause.delta_ms for cause in causes if cause.delta_ms * sign > 0)) <= abs(most) + 1e-6


@given(st.dictionaries(keys, times, min_size=1, max_size=20), st.permutations(range(20)))
def test_the_order_of_rows_changes_nothing(account: Mapping[Any, float], order: list[int]) -> None:
    grown = {key: (value, value + index) for index, (key, value) in enumerate(account.items())}
    if not sum(account.values()):
        return
    items = list(grown.items())
    other = dict(items[place] for place in order if place < len(items))
    assert [cause.what for cause in find_causes(evidence_of(grown))[0]] == [
        cause.what for cause in find_causes(evidence_of(other))[0]
    ]


def test_one_operator_among_many() -> None:
    account: Account = {("compute", None, f"k{number}"): (5.0, 5.0) for number in range(9)} | {
        ("compute", None, "k"): (5.0, 9.0)
    }
    (cause,), unexplained = causes_of(account)
    assert (cause.what, cause.row, cause.share) == ("operator_time", "k", 1.0)
    assert cause.text == "k takes 4.00 ms more of the step."
    assert unexplained.delta_ms == pytest.approx(0.0)


def test_seventy_and_thirty() -> None:
    account: Account = {
        ("compute", None, "k"): (5.0, 12.0),
        ("sync", None, "aten::item"): (1.0, 4.0),
        ("comm", None, "all_reduce"): (5.0, 5.0),
    }
    causes, _ = causes_of(account)
    assert [(cause.what, pytest.approx(cause.share)) for cause in causes] == [("operator_time", 0.7), ("sync", 0.3)]


def test_what_is_hidden_is_no_cause() -> None:
    """A kernel that takes as much of the step as before explains nothing, however long its calls are."""
    account: Account = {("compute", None, "hidden"): (1.0, 1.0), ("queue", None, "k"): (1.0, 3.0)}
    causes, _ = causes_of(account)
    assert [cause.what for cause in causes] == ["queue"]


def test_many_small_changes_are_a_place() -> None:
    account: Account = {("compute", "update_actor", f"k{number}"): (5.0, 5.5) for number in range(7)}
    account |= {("operator", "update_actor", f"op{number}"): (1.0, 1.01 + number / 100) for number in range(3)}
    account |= {("compute", "ref_log_prob", "k"): (9.0, 9.0)}
    causes, _ = causes_of(account)
    assert [(cause.what, cause.row) for cause in causes] == [("phase", "update_actor")]
    assert causes[0].text == "Phase update_actor grew by 3.56 ms per step, mostly computation."


SHARED: Account = {
    ("python", None, "python"): (2.0, 2.0),
    ("operator", "generate_sequences", "aten::a"): (90.0, 85.0),
    ("compute", "update_actor", "aten::b"): (30.0, 31.0),
}
"""Phases that both sides have, and the time outside of them."""


def test_a_phase_that_one_side_alone_has_is_a_cause() -> None:
    """PPO has a critic, GRPO has none: as parts, its operators are many small ones, which others have too."""
    critic = {("operator", "update_critic", f"aten::{number}"): (0.0, 4.0) for number in range(10)}
    causes, _ = causes_of(SHARED | critic)
    assert causes[0].text == "Phase update_critic is new: 40.00 ms per step."
    causes, _ = causes_of({key: (new, old) for key, (old, new) in (SHARED | critic).items()})
    assert causes[0].text == "Phase update_critic is gone: 40.00 ms per step."


@pytest.mark.parametrize(
    "other",
    [
        {("python", None, "aten::c"): (40.0, 0.0)},  # it ran, but was not marked
        {("operator", "values", "aten::c"): (40.0, 0.0)},  # it had another name
        {("operator", "generate_sequences", "aten::c"): (40.0, 0.0)},  # it was in another phase
    ],
)
def test_a_phase_that_the_other_side_runs_elsewhere_is_not_new(other: Account) -> None:
    new: Account = {("operator", "update_critic", "aten::c"): (0.0, 60.0)}
    causes, _ = causes_of(SHARED | new | other)
    assert not any("is new" in cause.text or "is gone" in cause.text for cause in causes)


@pytest.mark.parametrize("own", ["aten::a", "aten::c"])
def test_a_phase_that_another_one_took_in_is_not_gone_if_that_became_quicker(own: str) -> None:
    """Where both run the same operators, the number of kernels tells it."""
    account: Account = {
        ("operator", "ref", own): (10.0, 0.0),
        ("operator", "old_log_prob", "aten::a"): (20.0, 22.0 if own == "aten::a" else 12.0),
        ("operator", "update_actor", "aten::b"): (30.0, 23.0),
    }
    if own == "aten::c":
        account["operator", "old_log_prob", own] = (0.0, 10.0)
    kernels = {"ref": (100.0, None), "old_log_prob": (100.0, 200.0), "update_actor": (300.0, 300.0)}
    evidence = evidence_of(account)
    if own == "aten::a":
        evidence = replace(evidence, phase_kernels={name: PhaseKernels(name, *of) for name, of in kernels.items()})
    assert "ref" not in [cause.row for cause in find_causes(evidence)[0]]


def test_a_long_name_is_shortened_in_the_clause_of_a_phase() -> None:
    long = "void " + "at::native::" * 40
    account: Account = {("compute", "update_actor", f"k{number}"): (5.0, 5.5) for number in range(7)}
    account |= {("compute", "update_actor", long): (5.0, 7.0), ("operator", "update_actor", long): (5.0, 5.5)}
    account |= {("compute", "ref_log_prob", "k"): (9.0, 9.0)}
    texts = [
        str(found.text) for found in places_of(account) if found.what == "phase" and "most of all" in str(found.text)
    ]
    assert texts and all(long not in text for text in texts)


def test_what_made_up_for_others_comes_last() -> None:
    account: Account = {("compute", None, "k"): (5.0, 15.0), ("data", None, "loader"): (9.0, 4.0)}
    causes, _ = causes_of(account)
    assert [(cause.row, cause.share) for cause in causes] == [("k", 2.0), ("loader", -1.0)]


def test_everything_alike_is_the_machine() -> None:
    account: Account = {
        ("compute", None, "a"): (5.0, 6.0),
        ("compute", None, "b"): (3.0, 3.7),
        ("comm", None, "all_reduce"): (4.0, 4.8),
        ("python", None, "python"): (3.0, 3.5),
        ("operator", None, "aten::mm"): (2.0, 2.4),
    }
    (cause,), _ = causes_of(account)
    assert cause.what == "everything"
    assert "takes about 20 % longer (computation 21 %, communication 20 %, time without kernels 18 %)" in cause.text
    causes, _ = causes_of(account, workload__total_tokens=(1000.0, 1200.0))
    assert "everything" not in {cause.what for cause in causes}


def test_more_tokens_do_not_explain_one_kernel() -> None:
    """Tokens grew by 5 % and the step by 10 %, all of it in one kernel that doubled."""
    account: Account = {("compute", None, f"k{number}"): (10.0, 10.0) for number in range(9)} | {
        ("compute", None, "k"): (10.0, 20.0)
    }
    (cause,), _ = causes_of(account, workload__total_tokens=(1000.0, 1050.0))
    assert (cause.what, cause.row) == ("operator_time", "k")


def test_tokens_that_hardly_moved_explain_nothing() -> None:
    account: Account = {("compute", None, "a"): (50.0, 48.0), ("compute", None, "b"): (50.0, 49.2)}
    causes, _ = causes_of(account, workload__total_tokens=(1000.0, 999.7), workload__response_length_mean=(100.0, 98.6))
    assert "workload" not in {cause.what for cause in causes}


def kernels(*changes: tuple[str, float, float, float, float]) -> tuple[OperatorChange, ...]:
    """Operators by name, ms on both sides, and ms of the change by calls and by larger inputs; the rest is slower."""
    return tuple(
        OperatorChange(name, old, new, calls, size, new - old - calls - size, 4.0, 4.0 if not calls else 8.0, True)
        for name, old, new, calls, size in changes
    )


def computed(*changes: tuple[str, float, float, float, float]) -> Evidence:
    """A step that only computes."""
    account: Account = {("compute", None, name): (old, new) for name, old, new, _, _ in changes}
    return replace(evidence_of(account), operators=kernels(*changes))


def whats(evidence: Evidence) -> list[str]:
    return [cause.what for cause in find_causes(evidence)[0]]


@pytest.mark.parametrize(("other", "broad"), [(9.9, True), (10.2, False)])
def test_work_that_grew_in_half_of_the_computation_is_named(other: float, broad: bool) -> None:
    """Two operators of 5 ms each have twice the inputs; the others did not change."""
    evidence = computed(("a", 5.0, 10.0, 0.0, 5.0), ("b", 5.0, 10.0, 0.0, 5.0), ("c", other, other, 0.0, 0.0))
    assert (whats(evidence) == ["workload"]) == broad


@pytest.mark.parametrize(("still", "uniform"), [(6.6, True), (6.7, False)])
def test_a_clock_slows_six_tenths_of_the_computation(still: float, uniform: bool) -> None:
    """Of the operators beside the largest, 10 ms slowed by a quarter, and so many ms did not."""
    evidence = computed(
        ("largest", 20.0, 25.0, 0.0, 0.0), ("a", 5.0, 6.25, 0.0, 0.0), ("b", 5.0, 6.25, 0.0, 0.0),
        ("still", still, still, 0.0, 0.0),
    )  # fmt: skip
    assert ("compute" in whats(evidence)) == uniform


@pytest.mark.parametrize(("waited", "with_it"), [(5.0, True), (5.1, False)])
def test_half_a_millisecond_before_each_new_call_is_the_longest_launch(waited: float, with_it: bool) -> None:
    account: Account = {
        ("compute", None, "a"): (20.0, 20.0),
        ("compute", None, "new"): (0.0, 6.0),
        ("launch", None, "new"): (0.0, waited),
    }
    change = OperatorChange("new", 0.0, 6.0, 6.0, 0.0, 0.0, 0.0, 10.0, False)
    causes, _ = find_causes(replace(evidence_of(account), operators=(change,)))
    assert ("of launching them" in causes[0].text) == with_it
    assert causes[0].delta_ms == pytest.approx(6.0 + (waited if with_it else 0.0))


@pytest.mark.parametrize(("grown", "what"), [(2.9, "lost_overlap"), (3.1, "communication")])
def test_communication_that_hardly_grew_lost_its_cover(grown: float, what: str) -> None:
    """Ten ms more of a collective are exposed, and its total grew by three."""
    evidence = evidence_of({("comm", None, "all_reduce"): (10.0, 20.0)})
    row: Row = {"name": "all_reduce", "presence": "both", "baseline": 30.0, "new": 30.0 + grown, "delta": grown}
    sections = {**evidence.sections, "collectives": Section("collectives", "ms", (), None, "", (row,))}
    assert whats(replace(evidence, sections=sections)) == [what]


def timed(**phases: tuple[float, float, float]) -> Evidence:
    """Phases by training's timers: ms on both sides, and the new time per token as a part of the old one."""
    rows: list[Row] = [
        {"name": name, "kind": "wall", "presence": Presence.BOTH, "baseline": old, "new": new, "delta": new - old,
         "baseline_ms_per_token": 1.0, "new_ms_per_token": rate}
        for name, (old, new, rate) in phases.items()
    ]  # fmt: skip
    evidence = evidence_of({("python", None, "python"): (1.0, 1.0)})
    step = delta("timing_s/step", sum(row[0] for row in phases.values()), sum(row[1] for row in phases.values()))
    sections = {
        **evidence.sections,
        "phases": Section("phases", "ms", (), None, "", tuple(rows)),
        "env": Section("env", "", (), None, "", ()),
    }
    tokens = delta("workload.total_tokens", 1000.0, 1500.0)
    return replace(
        evidence,
        headline=step,
        profile=None,
        metrics={"workload.total_tokens": tokens},
        sections=sections,
        timed_phases=True,
    )


def test_what_training_does_beside_the_tokens_does_not_grow_with_them() -> None:
    causes, _ = find_causes(timed(update_actor=(10.0, 15.0, 1.0), save_checkpoint=(10.0, 15.0, 1.0)))
    assert [(cause.what, cause.delta_ms) for cause in causes] == [("workload", 5.0), ("phase", 5.0)]


@pytest.mark.parametrize(("rate", "small", "steady"), [(1.04, 1.0, True), (1.06, 1.0, False), (2.0, 0.3, True)])
def test_phases_that_are_slower_per_token_are_named(rate: float, small: float, steady: bool) -> None:
    """Rates that changed by less than 5 % are the same, and phases of less than 5 % of the step say nothing."""
    evidence = timed(update_actor=(10.0, 15.0, 1.0), reward=(small, small * 1.5, rate))
    text = find_causes(evidence)[0][0].text
    assert text.endswith("per token nothing is slower.") == steady


def test_at_most_eight_causes_are_named() -> None:
    """Ten operators take 10.3 ms more each, and nine take 11 ms less: no few of them explain the 4 ms that are left."""
    account: Account = {("compute", None, f"more {number}"): (0.5, 10.8) for number in range(10)}
    account |= {("compute", None, f"less {number}"): (11.5, 0.5) for number in range(9)}
    assert len(causes_of(account)[0]) == 8


@pytest.mark.parametrize(("sync", "named"), [(8.0, True), (4.0, False)])
def test_a_twentieth_of_the_change_is_worth_naming(sync: float, named: bool) -> None:
    """Of 100 ms one kernel holds 70; the rest is spread over small kernels and collectives, but for one call."""
    account: Account = {("compute", None, "k"): (50.0, 120.0), ("sync", None, "aten::item"): (1.0, 1.0 + sync)}
    account |= {("compute", None, f"k{number}"): (5.0, 6.0) for number in range(11)}
    account |= {("comm", None, f"kind {number}"): (5.0, 5.0 + (19 - sync) / 11) for number in range(11)}
    assert [cause.row for cause in causes_of(account)[0]] == (["k", "aten::item"] if named else ["k"])


@pytest.mark.parametrize(
    ("exposed", "told"),
    [
        (-15.0, ", and its mean over ranks, waiting included, shrank by 15.00 ms."),
        (-20.0, ", and its mean over ranks shrank by 20.00 ms."),
        (None, ", and its mean over ranks shrank by 20.00 ms."),
        (-22.0, "."),
    ],
)
def test_the_mean_over_ranks_of_exposed_communication_holds_waiting(exposed: float | None, told: str) -> None:
    """Without waiting it shrank by 20 ms on the ranks, and by 22.5 ms on the critical path."""
    parts = (Part("comm", None, "all_reduce", 80.0, 57.5, mean_delta=-20.0),)
    row: Row = {"name": "all_reduce", "presence": "both", "baseline": 92.0, "new": 77.0, "delta": -15.0}
    if exposed is not None:
        row = {**row, "baseline_exposed_ms": 88.0, "new_exposed_ms": 88.0 + exposed}
    evidence = evidence_of({("comm", None, "all_reduce"): (80.0, 57.5)})
    sections = {**evidence.sections, "collectives": Section("collectives", "ms", (), None, "", (row,))}
    (found,) = communication(replace(evidence, sections=sections), Basis(-22.5, parts, ranks=2))
    assert found.text == f"Exposed all_reduce shrank by 22.50 ms per step{told}"


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (0, "takes 20 % longer: most"),
        (2, "takes 20 % longer on average over ranks, and 40 % longer on the critical path: most"),
    ],
)
def test_computation_that_is_slower_on_the_path_than_on_average_says_both(ranks: int, words: str) -> None:
    evidence = computed(*((name, 10.0, 12.0, 0.0, 0.0) for name in "abcd"))
    factor = 1.4 if ranks else 1.2
    parts = tuple(Part("compute", None, name, 10.0, 10.0 * factor, mean_delta=2.0) for name in "abcd")
    basis = Basis(sum(part.delta for part in parts), parts, ranks=ranks)
    (found,) = clock(evidence, basis)
    assert isinstance(found.text, str)
    assert found.text.startswith(f"Computation as a whole {words} kernels")


@pytest.mark.parametrize(
    ("shown", "clause"),
    [
        (0.1, ", 3.60 ms of it as more of it runs while the host is in the step"),
        (0.0, ", as more of it runs while the host is in the step"),
        (2.0, ", and 8.00 ms more in all, the rest while the host is not in the step"),
        (0.9, ""),
    ],
)
def test_what_moved_on_one_of_four_ranks_is_told_in_times_of_the_path(shown: float, clause: str) -> None:
    """The step of one rank holds 4 ms more: a mean of 1 ms over ranks."""
    assert outside(shown, 1.0, 4.0) == clause


def test_what_one_cause_explains_is_in_no_other() -> None:
    """The inputs of both operators grew, and one is slower besides: it is named for that alone."""
    evidence = computed(("a", 10.0, 20.0, 0.0, 3.0), ("b", 10.0, 13.0, 0.0, 3.0))
    causes, _ = find_causes(evidence)
    assert [(cause.what, cause.delta_ms) for cause in causes] == [
        ("operator_slower", pytest.approx(7.0)), ("workload", pytest.approx(6.0)),
    ]  # fmt: skip
    assert causes[0].text == "a takes 54 % longer per input element, called 4 times per step as before."


def test_an_operator_that_changed_for_two_reasons_names_both() -> None:
    evidence = computed(("a", 10.0, 20.0, 4.0, 0.0), ("b", 40.0, 40.0, 0.0, 0.0))
    evidence = replace(evidence, operators=tuple(one._replace(has_shapes=True) for one in evidence.operators))
    (cause,), _ = find_causes(evidence)
    assert (
        cause.text == "a takes 10.00 ms more: +6.00 ms for the time per call (43 % longer), +4.00 ms for calls (4 → 8)."
    )


@pytest.mark.parametrize(
    ("new", "in_step", "shown", "ends"),
    [
        (20.0, 11.0, 1.0, ", and 10.00 ms more in all, as other work hides the rest."),
        (20.0, 11.0, 10.0, ", and 10.00 ms more in all, the rest while the host is not in the step."),
        (20.0, 11.0, None, "."),
        (10.0, 11.0, 1.0, ", as less of it is hidden under other work."),
        (10.0, 11.0, 0.0, ", as more of it runs while the host is in the step."),
        (10.0, 11.0, 0.2, ", 0.800 ms of it as more of it runs while the host is in the step."),
        (10.0, 11.0, None, "."),
    ],
)
def test_a_kernel_whose_part_of_the_step_changed_otherwise_is_hidden_or_outside_of_it(
    new: float, in_step: float, shown: float | None, ends: str
) -> None:
    account: Account = {("compute", None, "a"): (10.0, in_step), ("compute", None, "b"): (10.0, 10.0)}
    operators = kernels(("a", 10.0, new, 0.0, 0.0), ("b", 10.0, 10.0, 0.0, 0.0))
    changes = tuple(change._replace(shown=shown) for change in operators)
    (cause,), _ = find_causes(replace(evidence_of(account), operators=changes))
    assert (cause.what, cause.delta_ms) == ("operator_time", pytest.approx(1.0))
    assert cause.text == f"a takes 1.00 ms more of the step{ends}"


def test_computation_that_moves_into_the_step_did_not_grow() -> None:
    names = [f"k{number}" for number in range(9)]
    account: Account = {("compute", None, name): (10.0, 11.0) for name in names}
    changes = kernels(*((name, 11.0, 11.0, 0.0, 0.0) for name in names))
    operators = tuple(change._replace(shown=0.0) for change in changes)
    (cause,), _ = find_causes(replace(evidence_of(account), operators=operators))
    text = "over 9 kernels, as more of it runs while the host is in the step; the largest is k8 (+1.00 ms)."
    assert cause.text.endswith(text)


def test_computation_of_which_the_work_explains_a_part_is_not_outside_of_the_step() -> None:
    """Nine operators take 1 ms longer, 0.6 ms of it for larger inputs: the rest is all that they grew by besides."""
    evidence = computed(*((f"k{number}", 10.0, 11.0, 0.0, 0.6) for number in range(9)))
    operators = tuple(change._replace(shown=1.0) for change in evidence.operators)
    causes, _ = find_causes(replace(evidence, operators=operators))
    assert [cause.what for cause in causes] == ["workload", "kind"]
    assert causes[1].text.startswith("Other computation grew by 3.60 ms") and "while" not in causes[1].text


@pytest.mark.parametrize(("calls", "what"), [(20.0, "workload"), (0.0, "everything")])
def test_more_calls_are_not_everything_slower(calls: float, what: str) -> None:
    """Most of the time is the host's: it grows with the calls of kernels."""
    account: Account = {("python", None, "python"): (70.0, 140.0), ("operator", None, "aten::mm"): (10.0, 20.0)}
    account |= {("compute", None, name): (10.0, 20.0) for name in ("a", "b")}
    operators = kernels(("a", 10.0, 20.0, calls / 2, 0.0), ("b", 10.0, 20.0, calls / 2, 0.0))
    (cause,), _ = find_causes(replace(evidence_of(account), operators=operators))
    assert (cause.what, cause.share) == (what, pytest.approx(1.0))
    if calls:
        assert "2 operators had more calls, 8 → 16 per step" in cause.text
        assert cause.text.endswith("which accounts for 100.0 ms with the time between them.")


@pytest.mark.parametrize(("third", "alone"), [(2.0, True), (1.5, False)])
def test_what_holds_nearly_all_that_is_left_is_named(third: float, alone: bool) -> None:
    """A set of parts, or else a kind of time."""
    account: Account = {("compute", None, "a"): (50.0, 56.0), ("compute", None, "b"): (50.0, 53.0)}
    account |= {("sync", None, "c"): (9.0, 9.0 + third), ("gc", None, "gc"): (9.0, 11.0 - third)}
    causes, _ = causes_of(account)
    assert [(cause.what, cause.row) for cause in causes[2:]] == [("sync" if alone else "kind", "c")]


def test_a_set_that_happens_to_be_as_large_as_the_rest_is_no_cause() -> None:
    """One kernel holds nearly all. The smallest is as large as the sum of the others, which make up for each other."""
    account: Account = {("compute", None, "k"): (100.0, 6.0), ("compute", None, "small"): (20.0, 14.0)}
    account |= {("compute", None, f"faster {number}"): (30.0, 20.0 - number) for number in range(4)}
    account |= {("comm", None, f"slower {number}"): (30.0, 40.0 + number) for number in range(4)}
    causes, _ = causes_of(account)
    assert [(cause.what, cause.row) for cause in causes] == [
        ("operator_time", "k"), ("kind", "faster 3"), ("kind", "slower 3"),
    ]  # fmt: skip


@pytest.mark.parametrize(("against", "named"), [(30.0, True), (15.0, False)])
def test_a_set_that_made_up_for_a_large_part_of_the_change_is_named(against: float, named: bool) -> None:
    """As much came by many small kernels, so that the change seems to be explained without it."""
    account: Account = {("compute", None, "k"): (10.0, 100.0), ("sync", None, "aten::item"): (40.0, 40.0 - against)}
    account |= {("compute", None, f"k{number}"): (5.0, 5.0 + (10.0 + against) / 20) for number in range(20)}
    causes, unexplained = causes_of(account)
    rows = [(cause.row, round(cause.delta_ms)) for cause in causes]
    assert rows[0] == ("k", 90) and (("aten::item", -round(against)) in rows) == named
    assert abs(unexplained.share) <= (0.0 if named else 0.1) + 1e-9


@pytest.mark.parametrize(("other", "alike"), [(0.55, True), (0.3, False)])
def test_factors_far_apart_are_not_about_the_same(other: float, alike: bool) -> None:
    """Half of the operators take 50 % less time; 70 % less of the others is another factor."""
    after = {"a": 10.0 * other, "b": 10.0 * other, "c": 5.0, "d": 5.0}
    evidence = computed(*((name, 10.0, new, 0.0, 0.0) for name, new in after.items()))
    parts = tuple(Part("compute", None, name, 10.0, new) for name, new in after.items())
    assert bool(list(clock(evidence, Basis(sum(part.delta for part in parts), parts)))) == alike


@pytest.mark.parametrize("least", [5e-324, 1e-320, 1e-300])
def test_times_that_are_nearly_nothing_have_no_common_factor(least: float) -> None:
    """Found by fuzzing: the quotient of two times is 0, although neither is."""
    for given_ in (
        {0: (50.0, least), 1: (9.0, least)},
        {0: (least, 50.0), 1: (least, 9.0)},
        {0: (50.0, 9.0), 1: (9.0, least)},
    ):
        kinds = {0: ("compute", None, "k"), 1: ("comm", None, "c")}
        assert "everything" not in {cause.what for cause in causes_of({kinds[at]: given_[at] for at in given_})[0]}


@pytest.mark.parametrize(("idle", "alike"), [(0.5, True), (0.1, False)])
def test_everything_alike_is_the_same_with_the_sides_exchanged(idle: float, alike: bool) -> None:
    """Computation of a seventh: idle time of a sixth is alike, one of a thirtieth is not, though both are nearly 0."""
    account: Account = {("compute", None, "k"): (7.0, 1.0), ("python", None, "python"): (3.0, idle)}
    exchanged: Account = {key: (new, old) for key, (old, new) in account.items()}
    for given_ in (account, exchanged):
        assert ("everything" in {cause.what for cause in causes_of(given_)[0]}) == alike


@pytest.mark.parametrize(("busy", "alike"), [((10.0, 10.0), False), ((10.0, 5.0), True)])
def test_kernels_of_the_same_time_are_not_everything_faster(busy: tuple[float, float], alike: bool) -> None:
    """The step holds less of them, as the device is behind the host."""
    account: Account = {("compute", None, "k"): (10.0, 5.0), ("gc", None, "gc"): (4.0, 2.0)}
    evidence = evidence_of(account)
    row: Row = {
        "name": "k", "presence": Presence.BOTH, "baseline": busy[0], "new": busy[1], "delta": busy[1] - busy[0],
        "baseline_busy_ms": busy[0], "new_busy_ms": busy[1],
    }  # fmt: skip
    sections = {**evidence.sections, "kernels": replace(evidence.sections["kernels"], rows=(row,))}
    causes, _ = find_causes(replace(evidence, sections=sections))
    assert ("everything" in {cause.what for cause in causes}) == alike


def test_parts_that_differ_are_not_everything_alike() -> None:
    """Computation and idle time grew by a fifth each, but half of either shrank."""
    account: Account = {
        ("compute", None, "a"): (5.0, 8.0),
        ("compute", None, "b"): (5.0, 4.0),
        ("sync", None, "a"): (5.0, 8.0),
        ("data", None, "b"): (5.0, 4.0),
    }
    causes, _ = causes_of(account)
    assert "everything" not in {cause.what for cause in causes}


def test_operators_that_replace_nothing_are_named_for_themselves() -> None:
    """One went and one came by the same framework operator, but the calls of neither are known to be fewer."""
    row: Row = {"presence": Presence.BOTH, "kind": "compute", "phase": None}
    rows: list[Row] = [
        {**row, "name": "old", "baseline": 9.0, "new": 0.0, "delta": -9.0, "baseline_host_op": "aten::mm"},
        {**row, "name": "new", "baseline": 0.0, "new": 4.0, "delta": 4.0, "new_host_op": "aten::mm"},
        {**row, "name": "other", "baseline": 40.0, "new": 40.0, "delta": 0.0},
    ]
    evidence = evidence_of({("compute", None, "old"): (49.0, 44.0)})
    changes = (
        OperatorChange("old", 9.0, 0.0, -9.0, 0.0, 0.0, 5.0, 0.0, False),
        OperatorChange("new", 0.0, 4.0, 4.0, 0.0, 0.0, 6.0, 5.0, False),
    )
    account = replace(evidence.sections["account"], rows=tuple(rows))
    evidence = replace(evidence, sections={**evidence.sections, "account": account}, operators=changes)
    assert {cause.row for cause in find_causes(evidence)[0]} == {"old", "new"}


@pytest.mark.parametrize("names", [("z", "a", "b"), ("a", "y", "z")])
def test_one_operator_that_became_two_is_netted_with_both(names: tuple[str, str, str]) -> None:
    """Nothing tells what launched them: the numbers of their calls do, whatever their names are."""
    old, *new = names
    account = {("compute", None, old): (10.0, 0.0), **{("compute", None, name): (0.0, 8.0) for name in new}}
    changes = (
        OperatorChange(old, 10.0, 0.0, -10.0, 0.0, 0.0, 20.0, 0.0, False),
        *(OperatorChange(name, 0.0, 8.0, 8.0, 0.0, 0.0, 0.0, 20.0, False) for name in new),
    )
    (cause,), _ = find_causes(replace(evidence_of(account), operators=changes))
    assert (cause.what, cause.share) == ("replaced", pytest.approx(1.0))


@pytest.mark.parametrize(
    ("longer", "calls", "before", "shapes", "told"),
    [
        (0.9, 0.1, 0.0, True, True),  # of 1 ms and 100 calls each
        (0.5, 0.1, 0.0, True, False),
        (1.0, 11.0, 0.0, True, False),
        (0.9, 0.1, 0.1, True, False),  # as many before: these calls are others
        (0.9, 0.1, 0.0, False, False),
    ],
)
def test_computation_that_was_interrupted_is_not_slower(
    longer: float, calls: float, before: float, shapes: bool, told: bool
) -> None:
    """Ten operators of fifty take 1 ms more: another process computed while a few of their calls ran."""
    names = [f"op{number}" for number in range(50)]
    account = {("compute", None, name): (2.0, 3.0 if place < 10 else 2.0) for place, name in enumerate(names)}
    changes = tuple(
        OperatorChange(name, 2.0, new, 0.0, 0.0, new - 2.0, 100.0, 100.0, True, has_shapes=shapes)
        for (_, _, name), (_, new) in account.items()
    )
    odd = {name: OddCalls(name, before, calls, 0.0, longer * 1e6) for name in names[:10]}
    (cause,), _ = find_causes(replace(evidence_of(account), operators=changes, odd_calls=odd))
    assert ("as if interrupted" in cause.text) == told
    assert ("more time per call" in cause.text) != told


@pytest.mark.parametrize(
    ("calls", "size", "reason"),
    [
        (1.0, 0.0, "more calls of the same operators"),
        (0.0, 1.0, "larger inputs"),
        (0.0, 0.0, "more time per call"),
        (0.3, 0.0, ""),
    ],
)
def test_computation_that_grew_for_one_reason_names_it(calls: float, size: float, reason: str) -> None:
    """Ten small operators of fifty, so that neither single ones nor most of the work are named."""
    names = [f"{letter}_op" for letter in "abcdefghijklmnopqrstuvwxyz"] + [f"{number}_op" for number in range(24)]
    account = {("compute", None, name): (2.0, 3.0 if place < 10 else 2.0) for place, name in enumerate(names)}
    changes = tuple(
        OperatorChange(name, 2.0, 3.0, calls, size, 1.0 - calls - size, 4.0, 6.0 if calls else 4.0, True)
        if place < 10
        else OperatorChange(name, 2.0, 2.0, 0.0, 0.0, 0.0, 4.0, 4.0, True)
        for place, name in enumerate(names)
    )
    (cause,), _ = find_causes(replace(evidence_of(account), operators=changes))
    assert (cause.what, cause.share) == ("kind", pytest.approx(1.0))
    assert ("most of it is" in cause.text) == bool(reason)
    assert f"{reason}; the largest is" in cause.text  # which is one of them: the reason is not said of it alone


def test_what_has_no_name_of_its_own_is_told_in_words() -> None:
    account: Account = {("operator", None, f"op{number}"): (1.0, 2.0) for number in range(8)}
    account |= {("python", None, "python"): (1.0, 8.0), ("compute", None, "k"): (50.0, 50.0)}
    texts = [str(found.text) for found in places_of(account) if found.what == "kind"]
    assert any("; the largest is Python code between operators (+7.00 ms)." in text for text in texts)
    account |= {("launch", None, "python"): (1.0, 8.0)}  # of that name, and not of that kind alone
    texts = [str(found.text) for found in places_of(account) if found.what == "kind"]
    assert any("; the largest is python (+14.00 ms)." in text for text in texts)

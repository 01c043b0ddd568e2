"""Causes in the host's work: its pace, more operators, calls that synchronise; and the phases in which they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from rlcompare.compare.causes import find_causes
from rlcompare.compare.evidence import Evidence
from rlcompare.compare.parts import Candidate, basis_of
from rlcompare.compare.places import places
from rlcompare.compare.records import HostTime, PhaseKernels
from rlcompare.model.diff import Row
from tests.unit.test_causes import Account, evidence_of

# host time in ms and calls, baseline → new
Operators = Mapping[str, tuple[float, float, float, float]]


def with_operators(account: Account, operators: Operators, phase: str | None = None) -> Evidence:
    """``phase``: the phase in which they are; else as a whole."""
    evidence = evidence_of(account)
    rows: list[Row] = [
        {"name": name, "baseline_calls": values[2], "new_calls": values[3]} for name, values in operators.items()
    ]
    section = replace(evidence.sections["operators"], rows=tuple(rows))
    alike = [values for values in operators.values() if values[2] == values[3]]
    old, new, alike_old, alike_new = (
        1e6 * sum(values[side] for values in of) for of in (operators.values(), alike) for side in (0, 1)
    )
    longer, shorter = (1e6 * sum(v[0] for v in alike if sign * (v[1] - v[0]) > 0) for sign in (1, -1))
    largest = 1e6 * max((abs(v[1] - v[0]) for v in alike), default=0.0)
    time = HostTime(phase, phase is None, old, new, alike_old, alike_new, longer, shorter, largest)
    return replace(evidence, sections={**evidence.sections, "operators": section}, host_times=(time,))


def waiting(more: float, phase: str | None = None) -> Account:
    """A step of 100 ms, 60 of which wait for five operators of the host and for Python."""
    account: Account = {("operator", phase, f"aten::{name}"): (10.0, 10.0 + more / 6) for name in "abcde"}
    return account | {("python", phase, "python"): (10.0, 10.0 + more / 6), ("compute", phase, "k"): (40.0, 40.0)}


def operators(factor: float, *, calls: float = 8.0, first: float | None = None) -> Operators:
    factors = {"a": first or factor} | dict.fromkeys("bcde", factor)
    return {f"aten::{name}": (10.0, 10.0 * own, 8.0, calls) for name, own in factors.items()}


@pytest.mark.parametrize(("factor", "word"), [(1.2, "busier"), (0.8, "less busy")])
def test_a_host_that_takes_another_time_for_the_same_calls_is_one_cause(factor: float, word: str) -> None:
    more = 100 * (factor - 1)
    (cause,), unexplained = find_causes(with_operators(waiting(more), operators(factor)))
    assert cause.what == "host_pace" and cause.delta_ms == pytest.approx(more)
    assert cause.text == (
        f"The host takes 20 % {'longer' if factor > 1 else 'less time'} for the same calls, as on a {word} CPU:"
        f" the time the device waits for it {'grew' if factor > 1 else 'shrank'} by 20.00 ms per step."
    )
    assert unexplained is not None and unexplained.share == pytest.approx(0.0)


def test_a_busier_cpu_is_not_blamed_where_the_profiler_itself_slows_the_host() -> None:
    evidence = replace(with_operators(waiting(20.0), operators(1.2)), same_host=False)
    (cause,), _ = find_causes(evidence)
    assert cause.text == (
        "The host takes 20 % longer for the same calls: the time the device waits for it grew by 20.00 ms per step."
    )


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (20.0, operators(1.2, calls=9.0)),  # other work
        (20.0, operators(1.0, first=2.0)),  # one operator
        (20.0, operators(1.03)),  # the device waits for something else
        (40.0, operators(1.2)),
        (4.0, operators(1.2)),  # the host was ahead
    ],
)
def test_a_longer_wait_is_not_the_pace_of_the_host(more: float, found: Operators) -> None:
    causes, _ = find_causes(with_operators(waiting(more), found))
    assert causes and "host_pace" not in {cause.what for cause in causes}


def test_the_pace_of_the_host_may_change_in_one_phase_alone() -> None:
    account = waiting(20.0, "backward") | {("operator", "forward", "aten::f"): (60.0, 55.0)}
    (cause, _), _ = find_causes(with_operators(account, operators(1.2), "backward"))
    assert cause.text == (
        "The host takes 20 % longer for the same calls in backward, as on a busier CPU:"
        " the time the device waits for it grew by 20.00 ms per step."
    )


@pytest.mark.parametrize(
    ("calls", "told"), [(12.0, "; the host runs 60 operators per step instead of 40."), (8.2, ".")]
)
def test_more_operators_are_told_where_the_device_waits_longer(calls: float, told: str) -> None:
    cause = find_causes(with_operators(waiting(24.0), operators(1.5, calls=calls)))[0][0]
    assert cause.text.endswith(told) and ("runs" in cause.text) == ("runs" in told)


def test_of_calls_inside_each_other_the_call_of_the_runtime_and_its_operator_are_told() -> None:
    """Tensor.item() synchronises: each operator in it would count once more."""
    calls = {"syncStream": (0.0, 48.0), "aten::item": (212.0, 260.0), "aten::is_nonzero": (0.0, 48.0)}
    account: Account = {("python", None, "python"): (5.0, 15.0), ("compute", None, "k"): (50.0, 50.0)}
    account |= {("sync", None, name): (0.1, 0.1) for name in calls}
    evidence = evidence_of(account)
    rows: list[Row] = [{"name": name, "baseline_calls": old, "new_calls": new} for name, (old, new) in calls.items()]
    apis = replace(evidence.sections["apis"], rows=tuple(rows))
    (cause,), _ = find_causes(replace(evidence, sections={**evidence.sections, "apis": apis}))
    assert cause.text.partition(" per step")[2] == (
        "; the host calls syncStream 0 → 48 times per step, and aten::is_nonzero 0 → 48 times."
    )


def in_phases(update: float, generate: float) -> Account:
    """Two phases, of 40 and 160 ms, whose kernels and waits grow by these factors."""
    account: Account = {}
    for phase, time, factor in (("update_actor", 40.0, update), ("generate_sequences", 160.0, generate)):
        for kind, part in (("operator", 0.75), ("compute", 0.25)):
            for name in "abcd":
                account[kind, phase, f"{phase} {kind} {name}"] = (time * part / 4, time * part / 4 * factor)
    return account


def test_a_phase_comes_before_the_kinds_of_time_that_changed_in_it() -> None:
    evidence = evidence_of(in_phases(update=2.0, generate=1.0))
    kernels = {"update_actor": PhaseKernels("update_actor", 500.0, 1000.0)}
    (cause,), _ = find_causes(replace(evidence, phase_kernels=kernels))
    assert (cause.what, cause.row, cause.share) == ("phase", "update_actor", pytest.approx(1.0))
    assert cause.text == (
        "Phase update_actor grew by 40.00 ms per step, mostly time without kernels, with 1,000 kernels instead of 500."
    )


def test_a_change_of_all_phases_alike_is_of_no_phase() -> None:
    causes, _ = find_causes(evidence_of(in_phases(update=1.3, generate=1.3)))
    assert causes and "phase" not in {cause.what for cause in causes}


def test_launches_of_kernels_that_took_each_others_place_are_of_one_name() -> None:
    """Or else the launch of the old one is what the time went to, though the new one is launched instead."""
    account: Account = {("compute", None, "old"): (4.0, 0.0), ("compute", None, "new"): (0.0, 4.1)}
    account |= {("launch", None, "old"): (3.0, 0.0), ("launch", None, "new"): (0.0, 2.9)}
    account |= {("operator", None, name): (9.0, 8.0) for name in "abcd"}
    evidence = evidence_of(account)
    basis = basis_of(evidence)
    assert basis is not None
    exchange = Candidate("replaced", {0: -4.0, 1: 4.1}, "old → new", "account", "old")
    (idle,) = (place for place in places(evidence, basis, basis, [exchange]) if "without kernels" in str(place.text))
    assert "over 5 operators, calls and launches; the largest is d (-1.00 ms)" in str(idle.text)
    (computation,) = (found for found in places(evidence, basis, basis, [exchange]) if "Computation" in str(found.text))
    assert "over 1 kernel; the largest is old → new (+0.100 ms)" in str(computation.text)

"""Properties of the decomposition of a difference, and of the matched share."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from pytest import approx

from rlcompare.compare.rows import decompose, matched_share, ordered, ratio
from rlcompare.model.diff import Row

time = st.integers(0, 10**12).map(float)
calls = st.integers(1, 10**6).map(float)


@given(baseline=time, new=time, before=calls, after=calls)
def test_calls_and_time_per_call_sum_to_the_change(baseline: float, new: float, before: float, after: float) -> None:
    by_calls, per_call = decompose(baseline, new, before, after)
    assert by_calls is not None and per_call is not None
    # A small difference of two large parts has their rounding.
    assert by_calls + per_call == approx(new - baseline, abs=1e-3 + 1e-15 * abs(by_calls))


@given(time_per_call=st.integers(0, 10**6), before=st.integers(1, 10**6), after=st.integers(0, 10**6))
def test_calls_alone_explain_a_change_at_the_same_time_per_call(time_per_call: int, before: int, after: int) -> None:
    by_calls, per_call = decompose(float(before * time_per_call), float(after * time_per_call), before, after)
    assert by_calls == approx((after - before) * time_per_call, rel=1e-9, abs=1e-3)
    assert per_call == approx(0, abs=1e-3)


@given(baseline=time, new=time, number=calls)
def test_the_same_number_of_calls_explains_nothing(baseline: float, new: float, number: float) -> None:
    assert decompose(baseline, new, number, number) == (0.0, new - baseline)


@given(new=time, after=calls)
def test_what_is_new_changed_by_its_calls(new: float, after: float) -> None:
    assert decompose(0.0, new, 0.0, after) == (new, 0.0)
    assert decompose(new, 0.0, after, 0.0) == (approx(-new), approx(0, abs=1e-3))


def test_time_without_calls_is_not_told_apart() -> None:
    assert decompose(5.0, 7.0, 0.0, 3.0) == (None, None)
    assert decompose(0.0, 7.0, 0.0, 0.0) == (None, None)


def row(name: str, baseline: float | None, new: float | None, task: str | None = None) -> Row:
    presence = (
        "both" if baseline is not None and new is not None else "new_only" if baseline is None else "baseline_only"
    )
    delta = new - baseline if baseline is not None and new is not None else None
    return {"name": name, "presence": presence, "baseline": baseline, "new": new, "delta": delta, "task": task}


rows = st.lists(
    st.builds(row, st.text(max_size=3), st.none() | st.floats(0, 1e9), st.none() | st.floats(0, 1e9)), max_size=20
)


@given(rows)
def test_the_matched_share_is_a_share(made: list[Row]) -> None:
    share = matched_share(made)
    amounts = [value for item in made for value in (item["baseline"], item["new"]) if isinstance(value, float)]
    assert (share is None) == (not any(amounts))
    assert share is None or 0 <= share <= 1 + 1e-12


@given(rows)
def test_everything_is_matched_if_all_rows_are_on_both_sides(made: list[Row]) -> None:
    both = [item for item in made if item["presence"] == "both"]
    assume(any(item["baseline"] or item["new"] for item in both))
    assert matched_share(both) == 1.0
    alone = row("alone", None, 1.0)
    assert (matched_share([*both, alone]) or 0) < 1.0
    assert matched_share([*both, {**alone, "task": "Notify_Wait"}]) == 1.0


@given(rows.map(lambda made: list({item["name"]: item for item in made}.values())), st.randoms())
def test_the_order_of_rows_does_not_depend_on_the_order_they_came_in(made: list[Row], random: object) -> None:
    shuffled = list(made)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ordered(shuffled, ()) == ordered(made, ())
    changes = [abs(item["delta"]) if isinstance(item["delta"], float) else 0.0 for item in ordered(made, ())]
    assert changes == sorted(changes, reverse=True)


@given(baseline=st.floats(-1e9, 0), new=st.floats(-1e9, 1e9))
def test_nothing_is_a_part_of_nought_or_less(baseline: float, new: float) -> None:
    """A tail of -12.9 ms that became 1.6 ms is no change by -112 %."""
    assert ratio(baseline, new) is None


@given(baseline=st.floats(1e-9, 1e9), new=st.floats(-1e9, -1e-9))
def test_what_turned_negative_is_no_part(baseline: float, new: float) -> None:
    """A tail of 0.10 ms that became -0.69 ms is no change by -802 %."""
    assert ratio(baseline, new) is None

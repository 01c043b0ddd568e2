"""The waterfall: bars from the baseline's time to the new one's, as long as what they stand for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlcompare.model.diff import Cause, Diff, Unexplained
from rlcompare.model.words import Comparable
from rlcompare.report.charts.waterfall import Waterfall, name_of, waterfall
from tests.unit import diff_examples
from tests.unit.diff_examples import metric


def drawn(diff: Diff) -> Waterfall:
    chart = waterfall(diff)
    assert chart is not None and isinstance(chart.content, Waterfall)
    return chart.content


def of_causes(baseline: float, new: float, *deltas: float, **changes: object) -> Diff:
    change = new - baseline
    left = change - sum(deltas)
    causes = tuple(Cause("kind", delta / change, delta, "Text.", "", f"cause {n}") for n, delta in enumerate(deltas, 1))
    made = replace(
        diff_examples.identical(),
        headline="time.step",
        overall=(metric("time.step", baseline, new),),
        causes=causes,
        unexplained=Unexplained(left / change, left),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def lengths(content: Waterfall) -> list[float]:
    return [bar.length for bar in content.bars]


def test_bars_are_to_scale_and_meet() -> None:
    content = drawn(of_causes(100.0, 200.0, 120.0, -30.0))
    assert not content.cut
    assert lengths(content) == pytest.approx([454.545, 545.455, 136.364, 45.455, 909.091], abs=0.002)
    ends = [bar.end for bar in content.bars]
    assert ends[-1] == pytest.approx(ends[-2], abs=0.002)
    assert [bar.tone for bar in content.bars] == ["", "worse", "better", "", ""]
    assert [bar.value for bar in content.bars] == ["100.0 ms", "+120.0 ms", "-30.0 ms", "+10.0 ms", "200.0 ms"]


@pytest.mark.parametrize(
    ("what", "kinds", "label"),
    [
        ("kind", ("operator", "copy", "data"), "time without kernels"),
        ("kind", ("compute", "compute"), "computation"),
        ("kind", ("compute", "compute", None), "computation"),  # the last row: all names that are not listed
        ("replaced", ("compute", "compute", "compute"), "a and 2 more"),
        ("data_types", ("compute", "compute"), "other data types"),
        ("kind", ("transfer", "comm"), "exposed communication"),
        ("operator", ("operator", "operator"), "operators on the host"),
        ("operator", ("operator",), "a"),
        ("operator_slower", ("compute", "launch"), "a"),
    ],
)
def test_a_sum_over_many_names_has_none_of_theirs(what: str, kinds: tuple[str | None, ...], label: str) -> None:
    names = ("a", "b", "c") if what != "operator_slower" else ("a", "a")
    rows = tuple(
        {"kind": kind, "phase": None, "name": name, "delta_ms": 1.0} for kind, name in zip(kinds, names, strict=False)
    )
    assert name_of(Cause(what, 1.0, float(len(rows)), "Text.", "account", "a", rows)) == label


@pytest.mark.parametrize(
    ("names", "label"), [(("all_reduce", "all_reduce"), "all_reduce"), (("all_reduce", "broadcast"), "communication")]
)
def test_one_kind_of_collective_is_named(names: tuple[str, ...], label: str) -> None:
    rows = tuple({"kind": "comm", "phase": None, "name": name, "delta_ms": 1.0} for name in names)
    assert name_of(Cause("communication", 1.0, 2.0, "Text.", "collectives", names[0], rows)) == label


def test_a_small_change_is_drawn_on_a_cut_axis() -> None:
    chart = waterfall(diff_examples.regression())
    assert chart is not None and "The axis starts at 4,648.9 ms" in chart.note
    content = drawn(diff_examples.regression())
    scale = content.bars[1].length / 239.3
    assert content.cut and lengths(content)[1:5] == pytest.approx(
        [239.3 * scale, 22.3 * scale, 4.7 * scale, 1.3 * scale], abs=0.01
    )
    assert content.bars[5].length - content.bars[0].length == pytest.approx(265.0 * scale, abs=0.01)


def test_many_causes_share_the_last_bar_and_sums_hold() -> None:
    diff = of_causes(100.0, 200.0, *[12.0] * 8)
    bars = drawn(diff).bars
    assert [bar.label for bar in bars[1:-2]] == [*(f"cause {n}" for n in range(1, 6)), "3 other causes"]
    assert [bar.number for bar in bars] == [0, 1, 2, 3, 4, 5, 0, 0, 0]
    assert bars[6].value == "+36.0 ms" and bars[6].share == "36 %"


def test_causes_of_the_profiled_step_stand_between_its_times() -> None:
    """Training timed 0.10 → 0.12 s; the causes explain the 40 ms of the profiled step."""
    diff = of_causes(200.0, 240.0, 30.0)
    timed = replace(diff, headline="timing_s/step", overall=(metric("timing_s/step", 0.1, 0.12, "s"), *diff.overall))
    chart = waterfall(timed)
    assert chart is not None and "of the profiled step" in chart.note
    assert [bar.value for bar in drawn(timed).bars] == ["200.0 ms", "+30.0 ms", "+10.0 ms", "240.0 ms"]
    assert waterfall(replace(timed, overall=timed.overall[:1])) is None  # no time has that change


def test_nothing_is_coloured_where_nothing_is_judged() -> None:
    barred = diff_examples.identical().comparability
    diff = of_causes(100.0, 200.0, 120.0, -30.0, comparability=replace(barred, status=Comparable.NOT_COMPARABLE))
    assert {bar.tone for bar in drawn(diff).bars} == {""}
    unstable = replace(of_causes(100.0, 200.0, 120.0, -30.0), symptoms=diff_examples.unstable().symptoms)
    assert {bar.tone for bar in drawn(unstable).bars} == {"", "worse"}


def test_without_causes() -> None:
    assert [bar.kind for bar in drawn(diff_examples.identical()).bars] == ["total", "total"]
    assert waterfall(diff_examples.empty()) is None
    only_rest = of_causes(34.0, 33.0)
    assert [bar.kind for bar in drawn(only_rest).bars] == ["total", "unexplained", "total"]

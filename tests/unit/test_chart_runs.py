"""The picture of runs and steps: dots stand at the numbers of the diff, and the change is the gate's."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.compare.estimate import FALSE_ALARM, MISS, relative_change
from rlcompare.model.diff import Delta, Diff, RunInfo, Series
from rlcompare.model.verdict import Policy
from rlcompare.model.words import Polarity, SideName
from rlcompare.report.charts.axis import axis_of
from rlcompare.report.charts.run_dots import MOST_DOTS, RunsContent, runs_chart
from rlcompare.report.document import to_document
from rlcompare.report.html import render_html
from rlcompare.report.view import build_view
from tests.unit import diff_examples
from tests.unit.diff_examples import ONSET

BASELINE, NEW = (30.1, 30.9, 30.4, 30.0, 30.6, 31.0), (38.2, 38.0, 39.1, 38.8, 37.9, 38.4)


def with_runs(
    baseline: tuple[float | None, ...], new: tuple[float | None, ...], series: tuple[Series, ...] = (), **left_out: str
) -> Diff:
    base = diff_examples.identical()
    delta = Delta(
        "timing_s/step", "s", Polarity.LOWER, 30.0, 38.0, 8.0, 38 / 30, {"baseline": baseline, "new": new}, {}
    )
    sides = {
        name: replace(
            getattr(base, name),
            runs=tuple(
                RunInfo(f"run{place}", f"runs/{place}", 1, 1, 2, left_out=left_out.get(f"{name}{place}", ""))
                for place in range(len(values))
            ),
        )
        for name, values in (("baseline", baseline), ("new", new))
    }
    sections = {name: replace(section, rows=()) for name, section in base.sections.items()}
    return replace(base, headline="timing_s/step", overall=(delta,), sections=sections, series=series, **sides)


def _content(diff: Diff) -> RunsContent:
    chart = runs_chart(diff)
    assert chart is not None and isinstance(chart.content, RunsContent)
    return chart.content


def _series(side: SideName, values: list[float], run: int = 0, logged: int | None = None) -> Series:
    return Series("timing_s/step", side, run, logged or len(values), tuple(range(1, len(values) + 1)), tuple(values))


def test_dots_and_medians_stand_where_the_document_says() -> None:
    diff = with_runs(BASELINE, NEW)
    document = json.loads(json.dumps(to_document(diff)))
    samples = next(one for one in document["overall"] if one["metric"] == document["headline"])["samples"]
    content = _content(diff)
    tick, other = content.ticks[0], content.ticks[-1]
    first, last = (float(found.label.removesuffix(" s")) for found in (tick, other))
    scale = (other.at - tick.at) / (last - first)
    for side in content.runs:
        expected = sorted(tick.at + (value - first) * scale for value in samples[side.side])
        assert [dot.x for dot in side.dots] == pytest.approx(expected)
        assert side.median == pytest.approx(tick.at + (median(samples[side.side]) - first) * scale)


def test_the_change_is_the_estimators() -> None:
    content = _content(with_runs(BASELINE, NEW))
    expected = relative_change(BASELINE, NEW, FALSE_ALARM, MISS)
    assert content.change is not None
    numbers = [float(number) / 100 for number in re.findall(r"[-+][\d.]+", content.change.text)]
    assert numbers == pytest.approx([expected.change, expected.low, expected.high], abs=6e-4)
    zero = content.change.zero
    ratios = [(place - zero) / (content.change.estimate - zero) for place in (content.change.low, content.change.high)]
    assert ratios == pytest.approx([expected.low / expected.change, expected.high / expected.change])


def test_few_runs_say_what_is_assumed_and_one_run_a_side_shows_steps_alone() -> None:
    few = runs_chart(with_runs(BASELINE[:2], NEW[:2]))
    assert few is not None and few.finding.endswith(" if runs differ by 3 % (assumed).")
    assert few.finding.startswith("The change is likely")
    assumed = runs_chart(with_runs(BASELINE[:2], NEW[:2]), Policy("policy.toml", (), noise=0.07))
    assert assumed is not None and "if runs differ by 7 % (assumed)" in assumed.finding
    assert runs_chart(with_runs((30.0,), (38.0,))) is None
    steps = (_series("baseline", [30.0, 31.0]), _series("new", [38.0]))
    content = _content(with_runs((30.0,), (38.0,), steps))
    assert content.runs == () and content.change is None
    assert [side.dots.path.count("M") for side in content.steps] == [2, 1]
    assert runs_chart(diff_examples.empty()) is None


def test_runs_that_differ_too_much_have_no_interval() -> None:
    """Two models in one folder: with such runs, an interval from 0 to millions of times the baseline says nothing."""
    diff = with_runs((4.4, 47.1), (4.0, 42.7))
    chart = runs_chart(diff)
    assert chart is not None and _content(diff).change is None
    assert "too few runs: as runs differ by" in chart.finding and "interval" not in chart.finding
    assert chart.table.columns == ("side", "run", "value", "counts")  # no steps are known


def test_runs_that_do_not_count_are_hollow_and_not_in_the_median() -> None:
    series = (_series("new", [38.0, 39.0]), _series("new", [90.0, 90.0], run=1), _series("baseline", [30.0]))
    diff = with_runs((30.0, 30.5), (38.0, 90.0, None), series, new1="it failed")
    content = _content(diff)
    assert [dot.hollow for dot in content.runs[1].dots] == [False, True]
    assert content.runs[1].text == "1 run, median 38.00 s"
    assert content.left_out == ("Not counted, new: run1: it failed.",)
    assert [side.dots.path.count("M") for side in content.steps] == [1, 2]


def test_onset_is_marked_at_its_step() -> None:
    series = (_series("baseline", [34.0] * 300), _series("new", [34.0] * 239 + [42.1] * 61))
    diff = replace(with_runs((34.0,), (36.0,), series), events=(ONSET,))
    chart = runs_chart(diff)
    assert chart is not None and chart.finding == "new, since step 240: +8.10 s."
    (mark,) = _content(diff).steps[1].marks
    assert mark.at == pytest.approx(100 * 239 / 299)
    assert _content(diff).steps[0].marks == ()


def test_many_steps_keep_their_extremes_and_a_spike_does_not_flatten_the_rest() -> None:
    values = [30.0 + (step % 10) / 10 for step in range(10_000)]
    values[7_777] = 900.0
    content = _content(with_runs((30.0,), (31.0,), (_series("new", values), _series("baseline", [30.0, 31.0]))))
    steps = content.steps[1]
    assert steps.dots.path.count("M") <= MOST_DOTS
    assert steps.dots.beyond.count("M") == 1 and "up to 900.0 s" in steps.label
    heights = [float(height) for height in re.findall(r"M\S+ ([\d.]+)h0", steps.dots.path)]
    assert max(heights) - min(heights) > 30


_VALUES = st.lists(st.one_of(st.none(), st.floats(1e-6, 1e6), st.just(float("nan"))), min_size=1, max_size=6)


@given(_VALUES, _VALUES, st.lists(st.floats(-1e6, 1e6), max_size=20), st.sampled_from(diff_examples.HOSTILE_NAMES))
def test_any_runs_and_names_make_a_page(
    baseline: list[float | None], new: list[float | None], steps: list[float], name: str
) -> None:
    diff = with_runs(tuple(baseline), tuple(new), (_series("new", steps),) if steps else ())
    side = replace(diff.new, runs=tuple(replace(run, name=name, left_out=name) for run in diff.new.runs[:1]))
    chart = runs_chart(replace(diff, new=side))
    if chart is None:
        return
    assert isinstance(chart.content, RunsContent)
    assert all(0 <= dot.x <= 100 for found in chart.content.runs for dot in found.dots)
    assert all(len(cell) < 400 for cells in chart.table.rows for cell in cells)


def test_a_page_with_all_of_it() -> None:
    series = (_series("baseline", [34.0] * 30), _series("new", [34.0] * 29 + [float("nan")]))
    page = render_html(build_view(replace(with_runs(BASELINE, NEW, series, baseline0="x" * 1000), events=(ONSET,))))
    assert page.count('<circle class="dot') == 12 and "</script><" not in page.partition("<script>")[0]


VALUES = st.floats(-1e9, 1e9) | st.floats(-1e100, 1e100) | st.sampled_from([0.0, 5e-324, 1e-323, 1e-300, 3e-300])


@given(st.lists(VALUES, max_size=40) | st.lists(st.sampled_from([5e-324, 1e-323, 1e-322])), st.sampled_from(["", "s"]))
def test_ticks_are_few_round_and_on_the_axis(values: list[float], unit: str) -> None:
    axis = axis_of(values)
    ticks = axis.ticks(unit)
    assert len(ticks) <= 8
    assert all(-0.01 <= tick.at <= 100.01 for tick in ticks)
    assert len({tick.label for tick in ticks}) == len(ticks) or axis.high - axis.low < 1e-6 * abs(axis.high)


def test_a_job_of_several_ranks_shows_the_steps_of_its_ranks() -> None:
    diff = with_runs((30.0,), (38.0,))
    rows = tuple(
        diff_examples.row(f"{step}", 500.0 + step, 400.0 + step, baseline_step=step, new_step=step) for step in (2, 3)
    )
    path, step = (replace(diff.overall[0], metric=name, unit="ms") for name in ("time.path", "time.step"))
    sections = {**diff.sections, "steps": replace(diff.sections["steps"], rows=rows)}
    content = _content(replace(diff, headline="time.path", overall=(path, step), sections=sections))
    assert (content.metric, content.steps_metric) == ("", "time.step, mean over ranks")
    assert [len(re.findall("M", side.dots.path)) for side in content.steps] == [2, 2]


def test_a_small_spread_is_not_0_and_a_measured_one_is_not_assumed() -> None:
    small = runs_chart(with_runs((30.0, 30.1), (38.0, 38.1)), Policy("policy.toml", (), noise=0.004))
    assert small is not None and "if runs differ by 0.4 % (assumed)" in small.finding
    measured = runs_chart(with_runs((30.0, 33.0, 36.0), (60.0, 66.0, 72.0)))
    assert measured is not None and measured.finding.endswith(" %, measured on these runs.")


def test_a_run_at_the_edge_is_told_and_a_low_one_is_down_to_its_value() -> None:
    high = _content(with_runs((*BASELINE, *BASELINE), (*NEW, 900.0))).runs[1]
    assert high.text.endswith(" · 1 run at the edge, up to 900.0 s")
    low_steps = _series("new", [30.0 + (step % 10) / 10 for step in range(100)] + [0.01])
    label = _content(with_runs((30.0,), (31.0,), (low_steps, _series("baseline", [30.0, 31.0])))).steps[1].label
    assert label.endswith("1 step at the edge, down to 0.0100 s")

"""The picture of health over steps: lines, bands and ranges are the numbers of the diff."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare import language
from rlcompare.model.diff import Diff, RunEvent, RunInfo, Series, Symptom
from rlcompare.model.health import health_range
from rlcompare.model.words import EventKind, RuleSeverity, SideName
from rlcompare.report.charts.health import MOST_PANELS, HealthContent, HealthPanel, _ideal, health_chart
from rlcompare.report.charts.over_steps import MOST_POINTS, course_of
from rlcompare.report.html import render_html
from rlcompare.report.view import build_view
from tests.unit import diff_examples
from tests.unit.diff_examples import row

_SIGNS = diff_examples.unstable().symptoms
_ESS = "rollout_corr/rollout_is_eff_sample_size"


def with_series(*series: Series, **changes: object) -> Diff:
    base = diff_examples.identical()
    number = max((one.run for one in series), default=0) + 1
    runs = tuple(RunInfo(f"run{place}", f"runs/{place}", 1, 1, 2) for place in range(number))
    sections = {name: replace(section, rows=()) for name, section in base.sections.items()}
    baseline, new = replace(base.baseline, runs=runs), replace(base.new, runs=runs)
    made = replace(
        base, headline="timing_s/step", overall=(), sections=sections, series=series, baseline=baseline, new=new
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def _series(metric: str, side: SideName, values: Sequence[float], run: int = 0, steps: Sequence[int] = ()) -> Series:
    numbers = tuple(steps) or tuple(range(1, len(values) + 1))
    return Series(metric, side, run, len(values), numbers, tuple(values))


def _panels(diff: Diff) -> tuple[HealthPanel, ...]:
    chart = health_chart(diff)
    assert chart is not None and isinstance(chart.content, HealthContent)
    return chart.content.panels


def _points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)]


def _value(panel: HealthPanel, y: float) -> float:
    """The value at a height, by the labels of the axis."""
    first, last = panel.ticks[0], panel.ticks[-1]
    low, high = float(first.label.split()[0]), float(last.label.split()[0])
    return low + (100 - y - first.at) * (high - low) / (last.at - first.at)


def test_a_line_is_the_values_of_the_series_and_the_range_is_that_of_the_release() -> None:
    values = [0.95, 0.9, 0.85, 0.7, 0.6]
    diff = with_series(
        _series(_ESS, "new", values), _series(_ESS, "baseline", [0.95] * 5), _series("timing_s/step", "new", [30.0] * 5)
    )
    time, panel = _panels(diff)
    assert (time.name, time.ideal, time.healthy) == ("timing_s/step", "", None)
    baseline, new = panel.lines
    assert [_value(panel, y) for _, y in _points(new.line)] == pytest.approx(values, abs=1e-3)
    assert (new.side, baseline.side, new.band) == ("new", "baseline", "")
    assert panel.ideal == "healthy: > 0.8"
    assert panel.healthy is not None
    assert _value(panel, panel.healthy.start + panel.healthy.height) == pytest.approx(0.8, abs=1e-3)
    assert panel.healthy.start == pytest.approx(0)
    of_sequences = replace(diff.new, env={"algorithm.rollout_correction.rollout_is": "sequence"})
    panel = _panels(replace(diff, new=of_sequences, baseline=replace(of_sequences, label="b")))[1]
    assert (panel.ideal, panel.healthy) == ("", None)


def test_ranges_follow_the_name_that_each_side_logged() -> None:
    """0.6.0 and later releases document other ranges of the mean weight."""
    name = "rollout_corr/rollout_is_mean"
    diff = with_series(_series(name, "new", [1.0, 1.1]), _series(name, "baseline", [1.0, 1.0]))
    rows = (row(name, 1.0, 1.05, baseline_logged_as="mismatch/rollout_is_mean"),)
    metrics = replace(diff.sections["metrics"], rows=rows)
    (panel,) = _panels(replace(diff, sections={**diff.sections, "metrics": metrics}))
    assert panel.ideal == "healthy: 0.5 to 2.0; on the baseline about 1.0"
    assert panel.pair == "1 → 1.05"
    (panel,) = _panels(with_series(_series(name, "new", [0.2, 1.0, 1.9, 2.4])))
    assert panel.healthy is not None
    ends = panel.healthy.start, panel.healthy.start + panel.healthy.height
    assert [_value(panel, end) for end in ends] == pytest.approx([2.0, 0.5], abs=1e-3)


def test_a_long_line_begins_and_ends_where_the_log_does() -> None:
    """Neither end is the lowest or the highest of its part; the table below the picture tells both."""
    points = course_of([_series("actor/entropy", "new", [0.5, *([0.0, 1.0] * 400), 0.4])]).points
    assert [(points[at].step, points[at].value) for at in (0, -1)] == [(1, 0.5), (802, 0.4)]


def test_median_and_band_are_numpys() -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(2.0, 0.3, (12, 30))
    course = course_of([_series("actor/entropy", "new", list(of_run), run) for run, of_run in enumerate(values)])
    assert [point.value for point in course.points] == pytest.approx(np.median(values, axis=0))
    assert [point.low for point in course.points] == pytest.approx(np.quantile(values, 0.1, axis=0))
    assert [point.high for point in course.points] == pytest.approx(np.quantile(values, 0.9, axis=0))
    few = course_of([_series("actor/entropy", "new", list(of_run), run) for run, of_run in enumerate(values[:3])])
    assert [point.high for point in few.points] == pytest.approx(values[:3].max(axis=0))


def test_missing_steps_interrupt_the_line_and_many_steps_keep_their_extremes() -> None:
    steps = [*range(1, 20), *range(60, 80)]
    values = [1.0 + step % 3 for step in steps]
    values[5] = float("nan")
    (panel,) = _panels(with_series(_series("actor/entropy", "new", values, steps=steps)))
    assert panel.lines[0].line.count("M") == 2
    many = [1.0 + (step % 7) / 7 for step in range(10_000)]
    many[4_321] = 1.99
    many[8_765] = 0.4
    runs = [_series("actor/entropy", "new", many, run) for run in range(4)]
    for series in (runs[:1], runs):
        course = course_of(series)
        assert len(course.points) <= MOST_POINTS + 1
        assert (min(course.values()), max(course.values())) == (0.4, 1.99)


def test_what_shows_a_sign_comes_first_and_the_rest_is_named() -> None:
    names = [
        "actor/entropy",
        "actor/grad_norm",
        "critic/score/mean",
        "critic/rewards/mean",
        "response_length/mean",
        _ESS,
        "actor/ppo_kl",
        "actor/kl_loss",
        "response_length/clip_ratio",
    ]
    series = [
        _series(name, side, [1.0 + place / 10, 2.0 + place / 10])
        for place, name in enumerate(names)
        for side in ("baseline", "new")
    ]  # fmt: skip
    series += [replace(one, metric="critic/advantages/other") for one in series[:2]]
    symptom = Symptom("health.kl", "actor/kl_loss", "new", RuleSeverity.ERROR, 0.1, 0.9, 2, "KL rises. To try: less.")
    event = RunEvent(EventKind.ONSET, "response_length/clip_ratio", "", "new", 0, 2, None, 1, 1.0, 2.0)
    diff = with_series(*series, symptoms=(symptom,), events=(event,))
    panels = _panels(diff)
    assert [panel.name for panel in panels] == [
        "actor/kl_loss", "response_length/clip_ratio", _ESS, "actor/entropy", "actor/grad_norm", "critic/rewards/mean"
    ]  # fmt: skip
    assert len(panels) == MOST_PANELS
    assert [mark.label for mark in panels[0].marks] == ["new: step 2"]
    chart = health_chart(diff)
    assert chart is not None and chart.finding == "KL rises."
    assert "Not drawn: critic/score/mean, response_length/mean, actor/ppo_kl." in chart.note


def test_the_same_values_under_two_names_are_drawn_once() -> None:
    same = [_series(name, "new", [0.1, 0.2]) for name in ("critic/score/mean", "critic/rewards/mean")]
    assert [panel.name for panel in _panels(with_series(*same))] == ["critic/rewards/mean"]


def test_an_onset_of_the_time_stands_in_all_panels() -> None:
    event = RunEvent(EventKind.ONSET, "timing_s/step", "s", "new", 0, 6, None, 5, 30.0, 40.0)
    series = (
        _series("timing_s/step", "new", [30.0] * 5 + [40.0] * 6),
        _series("actor/entropy", "new", list(range(11))),
    )
    time, panel = _panels(with_series(*series, events=(event,)))
    assert [mark.at for mark in time.marks] == [mark.at for mark in panel.shared] == [pytest.approx(50)]


def test_no_steps_no_picture() -> None:
    assert health_chart(with_series(_series("actor/entropy", "new", [1.0]))) is None
    assert health_chart(with_series(_series("timing_s/step", "new", [1.0, 2.0]))) is None
    assert health_chart(with_series(_series("actor/entropy", "new", [float("nan")] * 3))) is None
    assert health_chart(diff_examples.empty()) is None


_NAMES = st.sampled_from([_ESS, "actor/entropy", "mismatch/mismatch_kl", "timing_s/step"])
_RUNS = st.tuples(
    _NAMES, st.sampled_from(["baseline", "new"]), st.integers(0, 3),
    st.lists(st.tuples(st.integers(1, 10**6), st.floats(width=32)), max_size=9, unique_by=lambda point: point[0]),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(_RUNS, max_size=8, unique_by=lambda run: run[:3]), st.sampled_from(diff_examples.HOSTILE_NAMES[:17]))
def test_any_series_make_a_page(runs: list[tuple[str, SideName, int, list[tuple[int, float]]]], name: str) -> None:
    series = []
    for metric, side, run, points in runs:
        steps, values = zip(*sorted(points), strict=True) if points else ((), ())
        series.append(Series(metric, side, run, len(points) * 3, tuple(steps), tuple(values)))
    symptom = Symptom("health.ess", name, "new", RuleSeverity.ERROR, None, None, 3, name)
    series.append(Series(name, "new", 0, 2, (1, 2), (0.5, 0.25)))
    diff = with_series(*series, symptoms=(symptom,))
    page = render_html(build_view(diff))
    assert not re.search(r"[ \"]nan[ %\"]", page.partition('id="c-health"')[2].partition("<details")[0])
    for panel in _panels(diff):
        for one in panel.lines:
            assert all(0 <= x <= 1000 and 0 <= y <= 100 for x, y in _points(one.line + one.band))


def test_a_metric_outside_of_its_range_is_said_before_that_there_is_no_sign() -> None:
    diff = with_series(_series(_ESS, "new", [0.6, 0.6]), _series(_ESS, "baseline", [0.9, 0.9]))
    found = []
    for health in ("outside", "healthy"):
        metrics = replace(diff.sections["metrics"], rows=(row(_ESS, 0.9, 0.6, new_health=health),))
        chart = health_chart(replace(diff, sections={**diff.sections, "metrics": metrics}))
        assert chart is not None
        found.append(chart.finding)
    assert found[0] == f"Outside of the healthy range on the new side: {_ESS}."
    assert found[1] == "No sign of unstable training was found."


def test_what_is_beyond_the_axis_keeps_its_value_for_the_pointer() -> None:
    for far, text in ((50.0, "▲ up to 50"), (-50.0, "▼ down to -50")):
        values = [1.0 + (step % 10) / 100 for step in range(60)]
        values[7] = far
        (panel,) = _panels(with_series(_series("actor/entropy", "new", values)))
        assert panel.beyond == text
        assert panel.lines[0].beyond == f"7:{far:g}"


def test_chinese_pictures_have_no_english_ranges_and_symptoms() -> None:
    with language.speaking("zh-CN"):
        assert _ideal({"new": health_range("mismatch/rollout_is_mean", {})}).endswith("约 1.0")
        chart = health_chart(replace(with_series(_series("actor/grad_norm", "new", [1.0, 2.0])), symptoms=_SIGNS))
    assert chart is not None and "not a finite number" not in chart.finding

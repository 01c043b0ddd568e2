"""The picture of a device's time: what is drawn is what its numbers say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rlcompare.model.diff import Diff
from rlcompare.model.timeline import Timeline, TimelineSide, TimelineTask
from rlcompare.report.charts.chart import Chart
from rlcompare.report.charts.timeline import SideLanes, TimelineContent, timeline_chart
from rlcompare.report.html import render_html
from rlcompare.report.view import build_view
from tests.unit import diff_examples
from tests.unit.diff_examples import TIMELINE


def with_timeline(timeline: Timeline | None) -> Diff:
    return replace(diff_examples.regression(), timeline=timeline)


def chart_of(timeline: Timeline) -> Chart:
    chart = timeline_chart(with_timeline(timeline))
    assert chart is not None
    return chart


def sides_of(chart: Chart) -> tuple[SideLanes, ...]:
    assert isinstance(chart.content, TimelineContent)
    return chart.content.sides


def area(path: str) -> float:
    """The area below the outline of a lane, in parts of the whole picture."""
    x, y, found = 0.0, 100.0, 0.0
    for command, value in re.findall(r"([HV])([0-9.]+)", path):
        if command == "H":
            found += (float(value) - x) * (100 - y)
            x = float(value)
        else:
            y = float(value)
    return found / (1000 * 100)


def test_areas_are_the_busy_times_on_one_scale() -> None:
    chart = chart_of(TIMELINE)
    longest = TIMELINE.new.span_ns
    for name, drawn in zip(("baseline", "new"), sides_of(chart), strict=True):
        side = TIMELINE.baseline if name == "baseline" else TIMELINE.new
        assert drawn.width == 100 * side.span_ns / longest
        assert [lane.kind for lane in drawn.lanes] == ["compute", "comm"]  # both sides have the same lanes
        for lane in drawn.lanes:
            assert area(lane.path) == pytest.approx(sum(side.busy_ns.get(lane.kind, ())) / longest, abs=2e-3)


def test_it_says_what_its_table_says() -> None:
    chart = chart_of(TIMELINE)
    assert chart.title == "Timeline of update_actor"
    assert chart.finding == (
        "On the device shown, update_actor lasts 100.0 → 125.0 ms."
        " Grew most: communication 0.00 → 12.50 ms; compute 55.00 → 62.50 ms."
    )
    assert chart.table.rows[:3] == (
        ("length", "100.0 ms", "125.0 ms", "+25.0 ms"),
        ("compute", "55.00 ms", "62.50 ms", "+7.50 ms"),
        ("communication", "0.0 ms", "12.50 ms", "+12.50 ms"),
    )
    assert ("new: all_reduce, at 112.5 ms", "", "12.50 ms", "") in chart.table.rows
    marks = sides_of(chart)[0].marks
    assert [(mark.number, mark.x, mark.width, mark.text) for mark in marks] == [
        ("1", 0.0, 22.4, "MatMulV2: 30.00 ms, begun before")  # drawn from 0, where the picture starts
    ]


def test_a_faster_side_names_what_fell() -> None:
    chart = chart_of(Timeline(None, TIMELINE.new, TIMELINE.baseline))
    assert chart.title == "Timeline of a step"
    assert "Fell most: communication 12.50 → 0.00 ms; compute 62.50 → 55.00 ms." in chart.finding


def test_sides_alike_say_no_more() -> None:
    chart = chart_of(Timeline("update_actor", TIMELINE.new, TIMELINE.new))
    assert chart.finding.endswith("update_actor lasts about as long on both sides: 125.0 → 125.0 ms.")


@pytest.mark.parametrize(
    "change", [{"span_ns": 0}, {"bucket_ns": 0}, {"busy_ns": {"compute": (1,) * 3000}}, {"span_ns": -5}]
)
def test_a_document_that_rlcompare_did_not_write_draws_nothing(change: dict[str, object]) -> None:
    damaged = replace(TIMELINE, new=replace(TIMELINE.new, **change))  # type: ignore[arg-type]
    assert timeline_chart(with_timeline(damaged)) is None


def test_nothing_is_drawn_without_a_timeline() -> None:
    assert timeline_chart(with_timeline(None)) is None


@pytest.mark.parametrize("name", diff_examples.HOSTILE_NAMES)
def test_hostile_names_stay_text(name: str) -> None:
    task = TimelineTask(name, name, 0, 10**7)
    side: TimelineSide = replace(TIMELINE.new, member=name, tasks=(task,) * 50, busy_ns={"compute": (5,), name: (7,)})
    page = render_html(build_view(with_timeline(Timeline(name * 50, side, side))))
    chart = page[page.index('id="c-timeline"') :]
    assert name not in chart[: chart.index("</figure>")] or not re.search("[<>\\x00-\\x08\u202e]", name)
    assert len(chart[: chart.index("</section>")]) < 60_000

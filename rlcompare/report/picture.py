"""``report.svg``: the waterfall as one small picture for Markdown, in light and dark, without scripts."""

from __future__ import annotations

from rlcompare.language import listed, with_label
from rlcompare.report.charts.chart import Chart
from rlcompare.report.charts.waterfall import Bar, Waterfall
from rlcompare.report.html import picture_colours
from rlcompare.report.templates import environment
from rlcompare.report.view import ReportView
from rlcompare.text import fit

_NAME, _NOTE = 26, 110
"""Columns that there is room for."""


def render_picture(view: ReportView) -> str:
    """The picture of a view; empty if there is no waterfall to draw."""
    chart = _waterfall(view)
    if chart is None:
        return ""
    light, dark = picture_colours()
    template = environment().get_template("report.svg.j2")
    shorter = {bar.label: fit(bar.label, _NAME) for bar in _bars(chart)}
    return template.render(
        view=view,
        chart=chart,
        shorter=shorter,
        note=fit(chart.note, _NOTE),
        light=light,
        dark=dark,
        text=text_of(view),
    )


def text_of(view: ReportView) -> str:
    """What the picture shows, for those who do not see it; empty if there is none."""
    chart = _waterfall(view)
    if chart is None:
        return ""
    shown = (f"{bar.label} {bar.value}" + (f" ({bar.share})" if bar.share else "") for bar in _bars(chart))
    return with_label(chart.title, listed(shown))


def _waterfall(view: ReportView) -> Chart | None:
    return next((chart for chart in view.charts if isinstance(chart.content, Waterfall)), None)


def _bars(chart: Chart) -> tuple[Bar, ...]:
    assert isinstance(chart.content, Waterfall)
    return chart.content.bars

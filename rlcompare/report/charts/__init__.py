"""The pictures of a report, one module each; ``charts_of`` makes those that a diff has data for, in their order."""

from __future__ import annotations

from collections.abc import Callable

from rlcompare.model.diff import Diff
from rlcompare.model.verdict import Policy
from rlcompare.report.charts.account import account_chart
from rlcompare.report.charts.chart import Chart
from rlcompare.report.charts.collectives import collectives_chart
from rlcompare.report.charts.health import health_chart
from rlcompare.report.charts.levels import clock_chart, memory_chart
from rlcompare.report.charts.ranks import ranks_chart
from rlcompare.report.charts.roofline import roofline_chart
from rlcompare.report.charts.run_dots import runs_chart
from rlcompare.report.charts.timeline import timeline_chart
from rlcompare.report.charts.waterfall import waterfall

_MAKERS: tuple[Callable[[Diff], Chart | None], ...] = (
    waterfall,
    account_chart,
    runs_chart,
    ranks_chart,
    health_chart,
    timeline_chart,
    memory_chart,
    collectives_chart,
    roofline_chart,
    clock_chart,
)
"""In the order of the page."""


def charts_of(diff: Diff, policy: Policy | None = None) -> tuple[Chart, ...]:
    """The pictures that a diff has data for; those of runs assume what the policy of a gate does."""
    made = (runs_chart(diff, policy) if maker is runs_chart else maker(diff) for maker in _MAKERS)
    return tuple(chart for chart in made if chart is not None)

"""The summary of a diff: the first part of the terminal output and of every report (docs/design.md §7).

In this order, below the answer in one sentence (``report.answer``): signs of unstable training if there are any, the
most likely causes, changes within a run if there are any, the headline, the phases (or compute, communication and free)
that sum to it and the rest, the workload, what differs, importance-sampling health, ranks, data quality, the sides, the
next command to type.
"""

from __future__ import annotations

from rlcompare.language import tr
from rlcompare.model.diff import Diff
from rlcompare.report.summary.change import cause_item, event_items, phases_item, rest_items
from rlcompare.report.summary.command import COMMAND_LIMIT, command_of, next_command
from rlcompare.report.summary.headline import headline_item, stability_items, workload_item
from rlcompare.report.summary.health import quality_item, ranks_item, sampling_item
from rlcompare.report.summary.item import SummaryItem
from rlcompare.report.summary.sides import differs_item, extent_text, label_text, runs_text, side_item

__all__ = [
    "COMMAND_LIMIT",
    "SummaryItem",
    "command_of",
    "extent_text",
    "label_text",
    "next_command",
    "runs_text",
    "summary_items",
]


def summary_items(diff: Diff, document: str) -> tuple[SummaryItem, ...]:
    """The summary of a diff; ``document`` is the path of the diff.json that goes with it."""
    headline = diff.metric(diff.headline)
    return (
        *stability_items(diff),
        cause_item(diff, headline),
        *event_items(diff),
        headline_item(diff, headline),
        phases_item(diff, headline),
        *rest_items(diff, headline),
        workload_item(diff),
        differs_item(diff),
        sampling_item(diff),
        ranks_item(diff),
        quality_item(diff),
        side_item("baseline", diff.baseline, extent_text(diff, "baseline")),
        side_item("new", diff.new, extent_text(diff, "new")),
        SummaryItem("next", tr("next"), (next_command(diff, document),)),
    )

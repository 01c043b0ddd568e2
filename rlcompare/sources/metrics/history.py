"""Reads a run's history in wandb's format: a line per step, ``{"_step": 1, "timing_s/step": 1.5, …}``.

Tables and pictures that were logged beside the numbers are skipped and counted. Other tools write the same format with
``step`` in place of ``_step``.
"""

from __future__ import annotations

import re
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.sources.metrics import clock
from rlcompare.sources.metrics.file_logger import json_value, lines_of, note_unreadable
from rlcompare.sources.metrics.jobs_in_log import keep_last_job
from rlcompare.sources.metrics.values import Metrics, whole_step

STEPS = ("_step", "step", "global_step", "training/global_step")
"""Names of the step number; the first one present counts."""

OWN = ("_step", "_runtime", "_timestamp", "_wandb", "step", "global_step", "epoch", "timestamp", "time", "Step")
"""Keys of the tool itself, which are not metrics."""

_TIMES = ("_timestamp", "timestamp", "time")

_LINE = re.compile(rb'^[ \t]*\{[^\n]*"(?:_step|step|global_step|training/global_step)"\s*:\s*\d', re.MULTILINE)
_METRIC = re.compile(rb'"[\w@.-]+/[^"\n]+"\s*:\s*(?:-?[\d.]|NaN|null|"NaN|-?Infinity)')


def is_history(head: bytes) -> bool:
    """Whether a text begins with such lines."""
    return _LINE.search(head) is not None and _METRIC.search(head) is not None


def read(path: Path) -> Metrics:
    """Reads a run's history.

    Raises:
        InputError: it cannot be opened, or has no readable line.
    """
    metrics = Metrics()
    for line, text, whole in lines_of(path):
        value = json_value(text)
        data = value if isinstance(value, dict) else {}
        step = next((found for key in STEPS if (found := whole_step(data.get(key))) is not None), None)
        if step is None:
            note_unreadable(metrics, line, whole)
            continue
        logged = next((time for key in _TIMES if (time := clock.of_epoch(data.get(key))) is not None), None)
        if logged is not None:
            metrics.times[line] = logged
        metrics.add_step(line, step, {name: given for name, given in data.items() if name not in OWN})
    if not metrics.steps:
        remedy = 'Export it again: a line per step, such as {"_step": 1, "timing_s/step": 1.5}'
        raise InputError(path, "it contains no metrics: none of its lines can be read", remedy)
    keep_last_job(metrics, path)
    return metrics

"""One run alone, in the numbers that a comparison would show: the metrics of the whole step, settings, symptoms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlcompare.compare import records
from rlcompare.compare.inputs import CompareOptions, RunStore, SideInput
from rlcompare.compare.overall import headline_of, overall_metrics
from rlcompare.compare.rollups import Rollups
from rlcompare.compare.sides import environments
from rlcompare.compare.stability import symptoms_of
from rlcompare.model.diff import Symptom
from rlcompare.model.words import SIDES


@dataclass(frozen=True)
class RunSummary:
    """One run.

    Attributes:
        headline: the metric by which the speed of its step is judged.
        metrics: name, unit and value of all metrics of the whole step (``Diff.overall``).
        env: versions and settings, as in ``Diff.new.env``.
        symptoms: signs of unstable training that need no baseline.
    """

    headline: str
    metrics: tuple[tuple[str, str, float], ...]
    env: Mapping[str, str]
    symptoms: tuple[Symptom, ...]


def summary_of(run: RunStore) -> RunSummary:
    """The summary of a run. It is compared with itself, so that its numbers are those of ``diff``.

    Raises:
        InputError: the store cannot be read.
    """
    side = SideInput(run.name, (run,))
    with Rollups(side, side, CompareOptions()) as rollups:
        overall = overall_metrics(rollups, dict.fromkeys(SIDES, 1))
        env = environments(rollups.rows(records.Env), rollups.rows(records.Capture))
        training = [row for row in rollups.rows(records.Training) if row.side == "new"]
        levels = [row for row in rollups.rows(records.HealthLevel) if row.side == "new"]
        logged = {row.name for row in rollups.rows(records.MetricSample)}
        return RunSummary(
            headline_of(overall),
            tuple((delta.metric, delta.unit, delta.new) for delta in overall if delta.new is not None),
            env["new"],
            symptoms_of((), levels, training, env, set(), logged),
        )

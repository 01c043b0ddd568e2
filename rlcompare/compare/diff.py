"""The comparison as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rlcompare.compare import records
from rlcompare.compare.aggregates import metric_aggregates
from rlcompare.compare.captures import are_times_whole, lone_phases
from rlcompare.compare.causes import Evidence, find_causes
from rlcompare.compare.comparability import are_steps_known, assess, is_host_alike
from rlcompare.compare.equal_work import with_work
from rlcompare.compare.inputs import CompareOptions, RunStore, SideInput
from rlcompare.compare.outlasting import outlasting_found
from rlcompare.compare.overall import headline_of, overall_metrics, profile_headline, rank_headline
from rlcompare.compare.pictures import make_pictures
from rlcompare.compare.profiled import opposite_profiles
from rlcompare.compare.quality import quality_findings
from rlcompare.compare.replicates import copies_found, counted, of_repetitions, same_found, with_replicates
from rlcompare.compare.rollups import Rollups
from rlcompare.compare.run_events import run_events
from rlcompare.compare.run_order import order_findings
from rlcompare.compare.sections import kernel_places, make_sections
from rlcompare.compare.sequences import edits_of
from rlcompare.compare.series import thinned_series
from rlcompare.compare.sides import environments, make_sides
from rlcompare.compare.stability import symptoms_of
from rlcompare.compare.step_noise import with_step_noise, without_evidence_of_steps
from rlcompare.compare.steps_and_ranks import lacking_found, lone_found
from rlcompare.compare.timeline import timeline_of
from rlcompare.compare.timers import TrainingLog, training_log
from rlcompare.compare.training import have_phases, rare_phases
from rlcompare.model.diff import Delta, Diff, RunEvent, Symptom
from rlcompare.model.words import SIDES, SideName


def compare_runs(baseline: SideInput, new: SideInput, options: CompareOptions | None = None) -> Diff:
    """Compares two sides. The same inputs give the same diff, and a side compared with itself gives no changes.

    Args:
        baseline: the side to compare with.
        new: the side to judge.
        options: selected steps and ranks, and declared differences; by default everything is compared.

    Raises:
        UsageError: a selected step or rank does not exist.
        InputError: a store cannot be read.
    """
    options = options or CompareOptions()
    with Rollups(baseline, new, options) as rollups:
        diff, facts = _compared(rollups, options), rollups.rows(records.RunFact)
    return _judged_by_repetitions(diff, rollups.given, facts, options)


def _compared(rollups: Rollups, options: CompareOptions) -> Diff:
    given = rollups.given
    captures, training = rollups.rows(records.Capture), rollups.rows(records.Training)
    env = environments(rollups.rows(records.Env), captures)
    steps = rollups.rows(records.SelectedSteps)
    sides, apart = with_replicates(
        make_sides(given, rollups.rows(records.Layout), captures, steps, training, env),
        rollups.rows(records.RunFact),
        rollups.rows(records.RunSetting),
        training,
        options.varied,
    )
    overall = overall_metrics(rollups, {side: len(given[side].stores) for side in SIDES})
    by_name = {delta.metric: delta for delta in overall}
    profile, headline = profile_headline(overall), headline_of(overall)
    edits = edits_of(rollups)
    of_rank = rank_headline(overall)
    sections = make_sections(rollups, overall, env, of_rank, edits)
    of_both = by_name.get(headline), by_name.get(of_rank)
    lone = [finding for name in ("steps", "ranks") for finding in lone_found(sections[name], *of_both)]
    lone += lacking_found(sections["steps"], *of_both, rollups.rows(records.UnevenSteps))
    timers = rollups.rows(records.TrainingPhase)
    events = run_events(rollups.rows(records.RunSeries), rollups.rows(records.TimerPart))
    (match,) = rollups.rows(records.KernelMatchSummary)
    log = _log(rollups, events)
    overall = _with_evidence(rollups, overall, log)
    groups, lost = rollups.rows(records.GroupOfCaptures), rollups.rows(records.Lost)
    comparability = assess(
        sides,
        captures,
        groups,
        match,
        sections["kernels"].matched_share,
        rollups.rows(records.Measured),
        training,
        rollups.rows(records.MetricApart),
        rollups.rows(records.LoneMark),
        options.varied,
        lost,
    )
    causes, unexplained = find_causes(
        Evidence.of(
            headline,
            profile,
            overall,
            sections,
            rollups.rows(records.Frequency),
            rollups.rows(records.AccountMember),
            edits,
            rollups.rows(records.KernelFact),
            rollups.rows(records.OtherTypes),
            kernel_places(rollups),
            rollups.rows(records.LoneLaunch),
            rollups.rows(records.Retyped),
            rollups.rows(records.PhaseKernels),
            rollups.rows(records.PhaseSteps),
            rollups.rows(records.HostTime),
            rollups.rows(records.OperatorPlace),
            rollups.rows(records.OddCalls),
            log,
            on_device=all(capture.executor != "host" for capture in captures),
            timed_phases=have_phases(timers),
            rare_phases=rare_phases(timers),
            same_executor=len({capture.executor == "host" for capture in captures}) < 2,
            steps_known=are_steps_known(comparability),
            lone_phases=lone_phases(groups),
            times_whole=are_times_whole(groups) and not lost,
            same_members=not lone,
            same_host=is_host_alike(comparability),
        )
    )
    return Diff(
        baseline=sides["baseline"],
        new=sides["new"],
        comparability=comparability,
        headline=headline,
        overall=overall,
        causes=causes,
        unexplained=unexplained,
        quality=quality_findings(
            rollups,
            given,
            [delta for delta in overall if delta.metric in (headline, "workload.kernels")],
            events,
            [
                *same_found(rollups.shared),
                *copies_found(rollups.copies),
                *apart,
                *outlasting_found(by_name),
                *opposite_profiles(by_name.get(headline), by_name.get(profile), rollups.rows(records.MetricSample)),
                *order_findings(sides, by_name.get(headline)),
                *lone,
            ],
        ),
        sections=sections,
        events=events,
        aggregates=metric_aggregates(rollups.taken(records.MetricAggregate)),
        series=thinned_series(rollups.rows(records.RunSeries)),
        pictures=make_pictures(rollups),
        timeline=timeline_of(rollups, sections, causes, by_name.get(headline)),
        symptoms=_symptoms(rollups, rollups.rows(records.RunFact), env),
    )


def _log(rollups: Rollups, events: Sequence[RunEvent]) -> TrainingLog:
    return training_log(
        rollups.rows(records.TrainingPhase),
        rollups.rows(records.TimerPart),
        rollups.rows(records.TimerNoise),
        rollups.rows(records.TimerDriver),
        rollups.rows(records.MetricSample),
        [row.name for row in rollups.rows(records.MetricApart)],
        events,
        rollups.rows(records.RunSeries),
        rollups.rows(records.LongStep),
        rollups.rows(records.StepTimer),
    )


def _with_evidence(rollups: Rollups, overall: Sequence[Delta], log: TrainingLog) -> tuple[Delta, ...]:
    """Adds what the steps of the runs tell about a change."""
    noise, profiled = rollups.rows(records.StepNoise), rollups.rows(records.ProfileNoise)
    return with_step_noise(with_work(overall, log), noise, profiled, log.timers)


def _symptoms(
    rollups: Rollups, facts: Sequence[records.RunFact], env: Mapping[SideName, Mapping[str, str]]
) -> tuple[Symptom, ...]:
    return symptoms_of(
        facts,
        rollups.rows(records.HealthLevel),
        rollups.rows(records.Training),
        env,
        {row.name for row in rollups.rows(records.MetricApart)},
        {row.name for row in rollups.rows(records.MetricSample)},
        rounded=any(found.side == "new" and found.key == "rounded_metrics" for found in rollups.rows(records.Finding)),
    )


def _judged_by_repetitions(
    diff: Diff, given: Mapping[SideName, SideInput], facts: Sequence[records.RunFact], options: CompareOptions
) -> Diff:
    """The diff with what verdicts use from the runs that count (``replicates``) alone.

    What steps tell about a change is told by the steps of these runs. The new side is unstable compared with these runs
    of the baseline; but signs of it are looked for in all of its own runs.
    """
    kept = {side: given[side]._replace(stores=_counted(given[side], diff, side)) for side in SIDES}
    if kept == given:
        return diff
    with Rollups(kept["baseline"], kept["new"], options, at_once=False) as rollups:
        events = run_events(rollups.rows(records.RunSeries), rollups.rows(records.TimerPart))
        overall = _with_evidence(rollups, without_evidence_of_steps(diff.overall), _log(rollups, events))
    judged = of_repetitions(diff).overall  # the same object for what only other runs measured
    overall = tuple(old if old is one else new for old, one, new in zip(diff.overall, judged, overall, strict=True))
    diff = replace(diff, overall=overall)
    if kept["baseline"] == given["baseline"]:
        return diff
    with Rollups(kept["baseline"], given["new"], options, at_once=False) as rollups:
        env = environments(rollups.rows(records.Env), rollups.rows(records.Capture))
        found = _symptoms(rollups, facts, env)
    own = [symptom for symptom in diff.symptoms if symptom.side == "baseline"]
    return replace(diff, symptoms=(*(symptom for symptom in found if symptom.side == "new"), *own))


def _counted(given: SideInput, diff: Diff, side: SideName) -> tuple[RunStore, ...]:
    return tuple(given.stores[number] for number in counted(diff, side))

"""Warnings and notes about the data of each side (``Diff.quality``): missing, damaged, inferred or omitted data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from statistics import fmean, stdev

from rlcompare.compare import records
from rlcompare.compare.findings import SHOWN, finding_of, listed, where
from rlcompare.compare.inputs import SideInput
from rlcompare.compare.overall import SPEED
from rlcompare.compare.partly_measured import of_some_ranks, of_some_runs, partly_known, untimed
from rlcompare.compare.phrases import short
from rlcompare.compare.profiled import slow_profiles
from rlcompare.compare.rollups import Rollups
from rlcompare.compare.runs import known
from rlcompare.compare.training import profiled_steps
from rlcompare.model.diff import TIMERS_OVERLAP, Delta, Finding, RunEvent
from rlcompare.model.digits import grouped
from rlcompare.model.words import SIDES, EventKind, Severity, SideName

INFO, CAUTION = Severity.INFO, Severity.CAUTION
_SEVERITY = {"info": INFO, "warning": CAUTION}

VARIES = 0.5
"""Step times are uneven if their standard deviation exceeds this fraction of the mean."""

FAR_APART = 1.5
"""Runs of one side are reported if the slowest takes this many times as long as the fastest."""

LONGER = 0.02
"""A profile longer than training's timer by more than this fraction covers more than the steps; small differences are
normal, because marks and timer are not set at the same moment."""

BEYOND_STEP = 100
"""A device may work on after the step on the host, but not for so many times as long."""

OTHER_UNIT = 200.0
"""A step that takes this many times as long as on the other side was probably logged in milliseconds."""

_OVERLAP, _ROUNDED_NS = 0.02, 11e6
"""Phases that exceed the step by this part of it, or by this time, have a finding; by more than the part, a caution.
Less may be rounding: of 20 timers of three decimals, say."""

SUM_OF_TIMERS = "timing/*"
"""The given name of a step's time that is the sum of its timers (sql/compare/load/metric.sql)."""

_SIGNS_OF_HEALTH = {"reward": "reward or score", "gradient": "gradient norm", "entropy": "entropy"}
"""What nearly every trainer logs, by what ``sql/compare/watched.sql`` calls it."""


def quality_findings(
    rollups: Rollups,
    given: Mapping[SideName, SideInput],
    headline: Sequence[Delta],
    events: Sequence[RunEvent] = (),
    of_runs: Sequence[Finding] = (),
) -> tuple[Finding, ...]:
    """All findings; cautions first, then by side.

    Args:
        given: the inputs by side.
        headline: metrics that show whether the runs of a side do the same work.
        events: what happens within the runs.
        of_runs: findings about the runs of a side as repetitions.
    """
    times, metrics = rollups.rows(records.TimeSample), rollups.rows(records.MetricSample)
    speed = [sample for sample in metrics if sample.name == SPEED]
    made = [*of_runs, *(_of_source(found, given) for found in rollups.rows(records.Finding))]
    made += of_some_ranks(times, given)
    made += of_some_runs(times, given)
    made += _beyond_step(times, given)
    made += [_gap(gap) for gap in rollups.rows(records.ReportedGap)]
    made += [_invalid(sample, given) for sample in metrics if sample.invalid]
    series = {(one.side, one.run): one for one in rollups.rows(records.RunSeries) if one.name == SPEED}
    for sample in speed:
        made += _uneven_times(sample, given, events, series.get((sample.side, sample.run)))
    made += [_slow(sample, given) for sample in speed if sample.grade]
    made += slow_profiles(speed, rollups.rows(records.ProfiledTimer), given)
    made += untimed(rollups.rows(records.GroupOfCaptures))
    made += _summed(speed, given)
    made += _without_phases(speed, rollups.rows(records.TrainingPhase), given)
    made += _other_unit(speed)
    if rollups.most_names is not None:
        made.append(_others(rollups.most_names))
    made += _no_longer_logged(rollups.rows(records.HealthLevel), rollups.rows(records.Training))
    made += [_left_out(steps, given) for steps in rollups.rows(records.LeftOut)]
    made += _lone_steps(rollups.rows(records.UnselectedStep) if rollups.shared_steps else [])
    made += [finding for side in SIDES for finding in _apart(side, headline)]
    made += _memory(rollups.rows(records.MemoryPeak))
    made += [_idle(steps, given) for steps in rollups.rows(records.IdleStep)]
    made += [_unmarked_ranks(ranks, given) for ranks in rollups.rows(records.UnmarkedRank)]
    made += [_unmarked(steps, given) for steps in rollups.rows(records.UnmarkedStep)]
    made += [_lone_marks(marks.side) for marks in rollups.rows(records.LoneMark) if marks.spanned]
    made += [_lone_phases(ranges) for ranges in rollups.rows(records.LonePhase)]
    made += [_uneven(steps, given) for steps in rollups.rows(records.UnevenSteps)]
    made += partly_known(rollups.rows(records.PartlyKnown))
    made += [_beyond_peak(kernels) for kernels in rollups.rows(records.BeyondPeak)]
    made += [_beyond_rate(rates) for rates in rollups.rows(records.BeyondRate)]
    made += [
        _overlap(phase, given)
        for phase in rollups.rows(records.TrainingPhase)
        if phase.beyond_ns > min(_OVERLAP * phase.step_ns, _ROUNDED_NS)
    ]
    made += [
        _longer(step.side, step.outside_ns)
        for step in profiled_steps(rollups.rows(records.ProfiledTimer), times)
        if step.outside_ns is not None and step.outside_ns < -LONGER * step.step_ns
    ]
    return tuple(sorted(dict.fromkeys(made), key=lambda finding: finding.severity != CAUTION))


def _others(most: int) -> Finding:
    message = (
        f"there are up to {most:,} different names of kernels or operators: in each table those with the least time are"
        " added up as (others); a store has them all (rlcompare ingest)"
    )
    return Finding("many_names", None, None, INFO, message)


def _of_source(found: records.Finding, given: Mapping[SideName, SideInput]) -> Finding:
    times = f" ({found.times} times)" if found.times > 1 else ""
    severity = _SEVERITY.get(found.severity, CAUTION)
    return finding_of(found.key, found.side, severity, f"{where(found, given)}{found.message}{times}")


def _beyond_step(times: Sequence[records.TimeSample], given: Mapping[SideName, SideInput]) -> Iterator[Finding]:
    """Reports runs whose device takes far longer for a step than the host does, which waits for it in the end."""
    steps = {(time.side, time.run): time.mean_ns for time in times if time.metric == "step"}
    for time in times:
        step = steps.get((time.side, time.run))
        if time.metric == "device_span" and step is not None and 0 < BEYOND_STEP * step < time.mean_ns:
            span, host = (f"{grouped(ns / 1e6, 3)} ms" for ns in (time.mean_ns, step))
            text = (
                f"the device takes {span} for a step that lasts {host} on the host: are durations in another unit, or"
                " marks of steps damaged?"
            )
            yield finding_of("beyond_step", time.side, CAUTION, where(time, given) + text)


def _beyond_peak(kernels: records.BeyondPeak) -> Finding:
    text = (
        f"kernels exceed the peak of the chip (kinds and shapes: {kernels.rows}; {short(kernels.name)}"
        f" {grouped(kernels.part, 1)} times as much): their times, shapes or clock frequency are wrong, so their"
        " share of the peak is not shown."
    )
    return finding_of("beyond_peak", kernels.side, CAUTION, text)


def _beyond_rate(rates: records.BeyondRate) -> Finding:
    text = (
        f"rates above 100,000 GB/s or TFLOP/s, which no chip reaches, are not shown (rows: {rates.rows}; the largest:"
        f" {short(rates.name)}): times, sizes or shapes are wrong, or a kernel uses only a part of its inputs."
    )
    return finding_of("beyond_rate", rates.side, CAUTION, text)


def _gap(gap: records.ReportedGap) -> Finding:
    reported, ours = (f"{grouped(ns / 1e6, 3)} ms" for ns in (gap.reported_ns, gap.ours_ns))
    text = (
        f"the profiler reported {reported} of {gap.what} in step {gap.step}, but its events give {ours}"
        f" ({gap.times} such {'case' if gap.times == 1 else 'cases'}); the events were used."
    )
    return finding_of("reported_differs", gap.side, CAUTION, text)


def _invalid(sample: records.MetricSample, given: Mapping[SideName, SideInput]) -> Finding:
    steps = f"{sample.invalid} {'step' if sample.invalid == 1 else 'steps'}"
    text = f"{sample.name} has no usable value in {steps}, which its mean leaves out."
    return finding_of("not_a_number", sample.side, CAUTION, where(sample, given) + text)


def _summed(speed: Sequence[records.MetricSample], given: Mapping[SideName, SideInput]) -> list[Finding]:
    """Reports times of the step that are sums: a caution if other runs have the time of the whole step."""
    summed = [sample for sample in speed if sample.given == SUM_OF_TIMERS]
    severity = INFO if len(summed) == len(speed) else CAUTION
    text = "the log has no time for the whole step, as in verl's first releases; the sum of its timers is compared."
    return [finding_of("summed_timers", sample.side, severity, where(sample, given) + text) for sample in summed]


def _without_phases(
    speed: Sequence[records.MetricSample], timers: Sequence[records.TrainingPhase], given: Mapping[SideName, SideInput]
) -> Iterator[Finding]:
    """Reports runs that timed their steps and have no phases, beside runs of the same side that have."""
    having = {(timer.side, timer.run) for timer in timers}
    sides = {side for side, _ in having}
    text = (
        f"it has {SPEED}, but no phases: their timers are missing, or one has no usable value. The phases are means"
        " over the other runs of this side, so they do not add up to the step."
    )
    for sample in speed:
        if sample.value is not None and sample.side in sides and (sample.side, sample.run) not in having:
            yield finding_of("no_phases", sample.side, CAUTION, where(sample, given) + text)


def _other_unit(speed: Sequence[records.MetricSample]) -> list[Finding]:
    values = [known([sample.value for sample in speed if sample.side == side]) for side in SIDES]
    means = [fmean(found) if found else 0.0 for found in values]
    times = max(means) / min(means) if min(means) > 0 else 0.0
    if not OTHER_UNIT < times < inf:
        return []
    text = f"{SPEED} is {grouped(times)} times that of the other side. It should be in seconds: are these milliseconds?"
    return [finding_of("other_unit", SIDES[means.index(max(means))], CAUTION, text)]


def _no_longer_logged(levels: Sequence[records.HealthLevel], training: Sequence[records.Training]) -> list[Finding]:
    """Reports signs of health that only the baseline logs, beside other metrics of the new side."""
    if not any(row.side == "new" for row in training):
        return []
    made = []
    for what, words in _SIGNS_OF_HEALTH.items():
        names = {side: sorted({row.given for row in levels if (row.side, row.what) == (side, what)}) for side in SIDES}
        if names["baseline"] and not names["new"]:
            text = (
                f"it logs no {words}, the baseline logs {listed(names['baseline'])}: it is unknown what became of it."
            )
            made.append(finding_of("health_not_logged", "new", CAUTION, text))
    return made


def _uneven_times(
    sample: records.MetricSample,
    given: Mapping[SideName, SideInput],
    events: Sequence[RunEvent],
    series: records.RunSeries | None,
) -> list[Finding]:
    """Reports steps of a run that differ by more than ``VARIES``. A single step has no deviation."""
    if sample.value is None or sample.deviation is None or not sample.deviation > VARIES * sample.value > 0:
        return []
    part = f"{sample.deviation / sample.value:.0%}".replace("%", " %")
    text = f"{SPEED} varies by {part} (standard deviation over {sample.steps} steps)"
    known = _tests_and_saves(sample, events, series)
    if known:
        return [finding_of("uneven_times", sample.side, INFO, f"{where(sample, given)}{text}: {known}.")]
    text += ", so its mean is unreliable: "
    text += (series and _one_long_step(series)) or "was the machine busy with something else?"
    return [finding_of("uneven_times", sample.side, CAUTION, where(sample, given) + text)]


def _one_long_step(series: records.RunSeries) -> str:
    """The one step without which the others hardly differ, and what these take; empty if there is none."""
    _, *counted = sorted(zip(series.steps, series.amounts, strict=True))  # the first is warm-up
    longest = max(counted, key=lambda one: one[1], default=None)
    others = [seconds for step, seconds in counted if longest and step != longest[0]]
    if longest is None or len(others) < 2 or stdev(others) > VARIES * fmean(others):
        return ""
    return f"step {longest[0]} takes {grouped(longest[1], 1)} s, the others {grouped(fmean(others), 1)} s."


def _tests_and_saves(sample: records.MetricSample, events: Sequence[RunEvent], series: records.RunSeries | None) -> str:
    """Which of the steps that a run logged test or save, if without them its times hardly differ; else empty."""
    assert sample.value is not None and sample.deviation is not None and sample.steps is not None
    logged = sample.steps if series is None else len(series.steps)
    rest, longer = sample.deviation**2, 0.0
    words: list[str] = []
    for event in events:  # of disjoint sets of steps
        if event.what == EventKind.TEST_OR_SAVE and (event.side, event.run) == (sample.side, sample.run):
            part = min(event.steps / logged, 1.0)
            rest -= part * event.delta**2
            longer += part * event.delta
            several = event.steps > 1
            of_all = "" if logged - sample.steps <= 1 else f" of all {logged}"  # the first one is warm-up
            steps = f"{event.steps}{of_all} steps test or save a checkpoint and take"
            if words:
                steps = f"{event.steps} other{'s' if several else ''}"
            elif not several:
                steps = f"1{of_all} {'steps' if of_all else 'step'} tests or saves a checkpoint and takes"
            words.append(f"{steps} {grouped(event.delta, 1)} s more")
    return ", ".join(words) if rest + longer**2 < (VARIES * sample.value) ** 2 else ""


def _slow(sample: records.MetricSample, given: Mapping[SideName, SideInput]) -> Finding:
    what = "ran under a profiler or was warm-up" if sample.grade == 1 else "was warm-up"
    text = f"every step that counts {what}, so its times are longer than those of normal steps."
    return finding_of("no_plain_step", sample.side, CAUTION, where(sample, given) + text)


def _lone_steps(steps: Sequence[records.UnselectedStep]) -> list[Finding]:
    """Reports steps of the profiles that are not compared, because the other side lacks them."""
    made = []
    for side, other in zip(SIDES, ("new side", "baseline"), strict=True):
        if names := [str(step.step) for step in steps if step.side == side]:
            left = f"steps {listed(names)} are" if len(names) > 1 else f"step {names[0]} is"
            text = f"{left} not compared: the {other} has no such step. --base-step and --new-step choose steps."
            made.append(finding_of("lone_steps", side, INFO, text))
    return made


def _left_out(steps: records.LeftOut, given: Mapping[SideName, SideInput]) -> Finding:
    reasons = [
        f"{number} {words}"
        for number, words in (
            (steps.warmup, "warm-up"),
            (steps.profiled, "profiled"),
            (steps.unshared, "that other runs lack or do not count"),
        )
        if number
    ]
    text = f"training times are means over {steps.counted} of {steps.steps} steps; left out: {', '.join(reasons)}."
    return finding_of("steps_left_out", steps.side, INFO, where(steps, given) + text)


def _apart(side: SideName, deltas: Sequence[Delta]) -> list[Finding]:
    """Runs of one side that differ widely in time or work. Only the first such measure is reported."""
    for delta in deltas:
        values = known(delta.samples[side])
        if len(values) > 1 and 0 < FAR_APART * min(values) < max(values):
            low, high = (f"{value:,.4g} {delta.unit}".rstrip() for value in (min(values), max(values)))
            text = (
                f"its {len(values)} runs differ widely ({delta.metric} from {low} to {high}), so their mean is"
                " unreliable: do they do the same work?"
            )
            return [finding_of("runs_apart", side, CAUTION, text)]
    return []


def _memory(peaks: Sequence[records.MemoryPeak]) -> list[Finding]:
    """Reports sides whose memory was recorded by different components."""
    if not peaks or any(peak.main for peak in peaks):
        return []
    components = [", ".join(dict.fromkeys(peak.component for peak in peaks if peak.side == side)) for side in SIDES]
    message = (
        f"The sides have no memory component in common (baseline: {components[0]}; new side: {components[1]}),"
        " so their peaks are not compared."
    )
    return [Finding("memory.component", components[0], components[1], CAUTION, message)]


def _idle(idle: records.IdleStep, given: Mapping[SideName, SideInput]) -> Finding:
    count = "the whole step counts" if len(idle.steps) == 1 else "these whole steps count"
    text = f"nothing ran on the device in {_steps_of(idle)}: {count} as preparing."
    return finding_of("idle_step", idle.side, CAUTION, where(idle, given) + text)


def _steps_of(found: records.IdleStep | records.UnmarkedStep) -> str:
    """Steps of members of a run."""
    some = "" if found.each else "some of "
    return f"{some}{_numbers(found.steps)} of {listed(found.members)}"


def _unmarked_ranks(ranks: records.UnmarkedRank, given: Mapping[SideName, SideInput]) -> Finding:
    shown = listed(ranks.members)
    it_has, its = ("it has", "its") if len(ranks.members) == 1 else ("they have", "their")
    text = f"{shown} left out: {it_has} no step marks, unlike others, so {its} steps cannot be separated."
    return finding_of("unmarked_rank", ranks.side, CAUTION, where(ranks, given) + text)


def _unmarked(unmarked: records.UnmarkedStep, given: Mapping[SideName, SideInput]) -> Finding:
    has, them = ("has", "it") if len(unmarked.steps) == 1 else ("have", "them")
    text = f"{_steps_of(unmarked)} {has} no marks, so time.step leaves {them} out; other times count {them}."
    return finding_of("unmarked_step", unmarked.side, CAUTION, where(unmarked, given) + text)


def _lone_marks(side: SideName) -> Finding:
    text = (
        "only this side marks its steps, so the sides are compared from the first task on the device to the last. The"
        " account shows the time in which the device runs nothing as one row, free."
    )
    return finding_of("lone_marks", side, INFO, text)


def _lone_phases(ranges: records.LonePhase) -> Finding:
    shown = listed([short(name, 40) for name in ranges.phases])
    subject = "they are not phases" if len(ranges.phases) > 1 else "it is not a phase"
    text = f"only this side has the {'ranges' if len(ranges.phases) > 1 else 'range'} {shown}, so {subject}."
    return finding_of("lone_phase", ranges.side, INFO, text)


def _uneven(steps: records.UnevenSteps, given: Mapping[SideName, SideInput]) -> Finding:
    most, fewest = (
        f"{steps.most} holds {_numbers(steps.most_steps)}",
        f"{steps.fewest} holds {_numbers(steps.fewest_steps)}",
    )
    text = f"the ranks have different steps ({most}, {fewest}); each rank is averaged over its own steps."
    return finding_of("uneven_steps", steps.side, CAUTION, where(steps, given) + text)


def _overlap(phase: records.TrainingPhase, given: Mapping[SideName, SideInput]) -> Finding:
    beyond, step = (f"{grouped(ns / 1e9, 2)} s" for ns in (phase.beyond_ns, phase.step_ns))
    text = (
        f"its timers overlap: the phases take {beyond} more than timing_s/step ({step}), so they do not add up to the"
        " step, and the time outside of them is unknown (shown as 0)."
    )
    severity = CAUTION if phase.beyond_ns > _OVERLAP * phase.step_ns else INFO
    return finding_of(TIMERS_OVERLAP, phase.side, severity, where(phase, given) + text)


def _longer(side: SideName, outside_ns: float) -> Finding:
    text = (
        f"the profile is {grouped(-outside_ns / 1e6, 1)} ms longer than timing_s/step of the profiled steps: it also"
        " covers work after the step, such as testing or a checkpoint."
    )
    return finding_of("profile_longer", side, CAUTION, text)


def _numbers(steps: Sequence[int]) -> str:
    shown = ", ".join(map(str, steps[:SHOWN])) + (f", … ({len(steps)})" if len(steps) > SHOWN else "")
    return f"{'step' if len(steps) == 1 else 'steps'} {shown}" if steps else "no step"

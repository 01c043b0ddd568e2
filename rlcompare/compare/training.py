"""Training's own measurements beside the profile: its timers as phases, the time per token, and the metrics' health.

Timers of steps without a profiler show how long a phase takes. The profile shows how that time is spent. If responses
got longer, the time per token shows whether anything got slower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rlcompare.compare import pairs
from rlcompare.compare.names import WORKLOAD
from rlcompare.compare.records import MetricSample, ProfiledTimer, TimeSample, TrainingPhase
from rlcompare.compare.rows import NS_PER_MS, ratio
from rlcompare.metrics import entry
from rlcompare.model.diff import Value
from rlcompare.model.health import in_range, range_as_logged
from rlcompare.model.words import SIDES, Health, SideName

GENERATION = ("generate_sequences", "generate_baseline")
"""Phases whose time per token counts response tokens only; other phases count prompt tokens too."""

BESIDE_TRAINING = ("save_checkpoint", "testing")
"""Phases that are no part of training."""

BESIDE_TOKENS = (
    *BESIDE_TRAINING, "update_weights", "sync_rollout_weights", "param_sync", "switch_to_trainer", "switch_to_rollout",
    "resharding_to_train", "resharding_to_infer",
)  # fmt: skip
"""Phases whose time does not depend on the step's tokens: these, and copies of weights."""

_TIMES_BESIDE_TOKENS = tuple(prefix + name for name in BESIDE_TOKENS for prefix in ("phase.", "timing_s/"))
"""Prefixes of the metrics of such times."""

_EXPLAIN_NO_TOKENS = frozenset({"checkpoint", "profiling", "switch", "validation", "weight_sync"})
"""What other such times explain, by the catalogue of metrics."""

TOTAL, RESPONSE = "workload.total_tokens", "workload.response_tokens"
RESPONSE_LENGTH, PROMPT_LENGTH = "workload.response_length_mean", "workload.prompt_length_mean"


def is_beside_tokens(metric: str) -> bool:
    """Whether a metric, or a measure of it (``@p95``), is a time that does not depend on the step's tokens."""
    known = entry(metric.partition("@")[0])
    return metric.startswith(_TIMES_BESIDE_TOKENS) or (known is not None and known.explains in _EXPLAIN_NO_TOKENS)


def have_phases(timers: Sequence[TrainingPhase]) -> bool:
    """Whether both sides have phases timed by training."""
    return {timer.side for timer in timers} == set(SIDES)


def sides_of_whole_steps(timers: Sequence[TrainingPhase]) -> list[SideName]:
    """The sides that time all of their steps: a phase that they lack took no time.

    Where the step is the sum of its timers, what lies outside of them is unknown.
    """
    runs = {(timer.side, timer.run): False for timer in timers}
    runs |= {(timer.side, timer.run): True for timer in timers if timer.timer is None}
    return [side for side in SIDES if all(whole for (of, _), whole in runs.items() if of == side)]


def timer_pairs(
    timers: Sequence[TrainingPhase],
    profiled: Sequence[pairs.Phase],
    timed: Sequence[ProfiledTimer],
    tokens: Mapping[SideName, Mapping[str, float]],
) -> list[pairs.TimerPair]:
    """Wall times by training's timers, and the parts of them that the profile saw.

    A side's value is the mean over its runs, and a run without such a phase counts as 0, unless it is not known to time
    all of its step. The time of a phase outside of the profile comes from the timers of the profiled steps.

    Args:
        profiled: the phases of the profile.
        timed: the timers of profiled steps.
        tokens: by side, the tokens of a step (``TOTAL``, ``RESPONSE``), if known.
    """
    inside = {phase.name: phase for phase in profiled}
    has_profile = {
        "baseline": any(phase.in_baseline for phase in profiled),
        "new": any(phase.in_new for phase in profiled),
    }
    whole_steps = sides_of_whole_steps(timers)
    made = []
    for name in dict.fromkeys(timer.phase for timer in timers):
        found = {side: [timer for timer in timers if timer.side == side and timer.phase == name] for side in SIDES}
        walls = {
            side: _wall_ns(found[side], timers, side) if found[side] or side in whole_steps else None for side in SIDES
        }
        per_token = {
            side: _ms_per_token(name, wall, tokens.get(side, {}))
            if found[side] and (wall := walls[side]) is not None
            else None
            for side in SIDES
        }
        seen = inside.get(name)
        whole = {side: _mean_of_runs(timed, side, name) if has_profile[side] else None for side in SIDES}
        device = {"baseline": seen and seen.baseline_device_ns, "new": seen and seen.new_device_ns}
        # If the device did nothing in a phase, the whole phase lies outside of the profile.
        outside = {side: None if (ns := whole[side]) is None else ns - (device[side] or 0.0) for side in SIDES}
        made.append(
            pairs.TimerPair(
                name=name,
                role=next(timer.role for timer in timers if timer.phase == name),
                in_baseline=bool(found["baseline"]),
                in_new=bool(found["new"]),
                baseline_wall_ns=walls["baseline"],
                new_wall_ns=walls["new"],
                baseline_ms_per_token=per_token["baseline"],
                new_ms_per_token=per_token["new"],
                baseline_compute_ns=seen and seen.baseline_compute_ns,
                new_compute_ns=seen and seen.new_compute_ns,
                baseline_exposed_comm_ns=seen and seen.baseline_exposed_comm_ns,
                new_exposed_comm_ns=seen and seen.new_exposed_comm_ns,
                baseline_free_ns=seen and seen.baseline_free_ns,
                new_free_ns=seen and seen.new_free_ns,
                baseline_outside_profile_ns=outside["baseline"],
                new_outside_profile_ns=outside["new"],
            )
        )
    return made


def _wall_ns(found: Sequence[TrainingPhase], timers: Sequence[TrainingPhase], side: SideName) -> float:
    runs = len({timer.run for timer in timers if timer.side == side})
    return sum(timer.ns for timer in found) / runs


def _ms_per_token(phase: str, wall_ns: float, tokens: Mapping[str, float]) -> float | None:
    """None if the tokens are unknown, or the phase does not depend on them."""
    if phase in BESIDE_TOKENS:
        return None
    return ratio(tokens.get(RESPONSE if phase in GENERATION else TOTAL), wall_ns / NS_PER_MS)


class RarePhase(NamedTuple):
    """In how many steps a phase ran that not every step has, and of how many, by side."""

    had: Mapping[SideName, int]
    steps: Mapping[SideName, int]

    @property
    def text(self) -> str:
        """``in 4 of 19 steps, before in 0 of 19``."""
        before, after = (f"{self.had[side]} of {self.steps[side]}" for side in SIDES)
        return f"in {after} steps" if before == after else f"in {after} steps, before in {before}"

    def text_of(self, side: SideName) -> str:
        """``in 4 of 19 steps``, of one side: where the other has the phase outside of its steps."""
        return f"in {self.had[side]} of {self.steps[side]} steps"

    def by_number(self, baseline: float, new: float) -> float:
        """What running in more or fewer of the steps changes the time of the phase by."""
        before, after = (self.had[side] / self.steps[side] for side in SIDES)
        return baseline * (after / before - 1) if before else new


def rare_phases(timers: Sequence[TrainingPhase]) -> dict[str, RarePhase]:
    """For each phase that not every step has, in how many steps it ran."""
    steps = {
        side: sum({timer.run: timer.of_steps for timer in timers if timer.side == side}.values()) for side in SIDES
    }
    rare = {}
    for name in dict.fromkeys(timer.phase for timer in timers):
        had = {
            side: sum(timer.steps for timer in timers if timer.side == side and timer.phase == name) for side in SIDES
        }
        if all(steps.values()) and any(0 < had[side] < steps[side] for side in SIDES):
            rare[name] = RarePhase(had, steps)
    return rare


def _mean_of_runs(timed: Sequence[ProfiledTimer], side: SideName, phase: str) -> float | None:
    """A phase's time in profiled steps; None if there are none."""
    own = [timer for timer in timed if timer.side == side]
    found = [timer.ns for timer in own if timer.phase == phase]
    return sum(found) / len({timer.run for timer in own}) if found else None


class ProfiledStep(NamedTuple):
    """Training's time of a profiled step, and the part of it outside of the profile (None: unknown), in ns."""

    side: SideName
    run: int
    step_ns: float
    outside_ns: float | None


def profiled_steps(timed: Sequence[ProfiledTimer], times: Sequence[TimeSample]) -> list[ProfiledStep]:
    """The profiled steps of each run.

    The time outside of the profile is the part that the device's span does not cover: host work before and after it,
    ranks and phases that were not profiled, and time between captures. It is negative if a profile covers more than
    the step.
    """
    spans = {(time.side, time.run): time.mean_ns for time in times if time.metric == "device_span"}
    found = []
    for timer in timed:
        if timer.phase is None:
            span = spans.get((timer.side, timer.run))
            found.append(ProfiledStep(timer.side, timer.run, timer.ns, None if span is None else timer.ns - span))
    return found


def workload_of(samples: Sequence[MetricSample]) -> dict[tuple[SideName, int], dict[str, float]]:
    """The workload of each run according to training: its own ``workload.*``, else derived from verl's metrics."""
    found: dict[tuple[SideName, int], dict[str, float]] = {}
    for sample in samples:
        own = sample.name.startswith("workload.")
        name = sample.name if own else WORKLOAD.get(sample.name)
        if name is not None and sample.value is not None:
            asked = found.setdefault((sample.side, sample.run), {})
            if own or name not in asked:
                asked[name] = sample.value
    return found


def tokens_of(samples: Sequence[MetricSample]) -> dict[SideName, dict[str, float]]:
    """By side, the mean over runs of the tokens of a step, if all of its runs know them.

    A log that does not count the tokens of responses has the mean lengths of prompts and responses: these tell which
    part of all tokens they are.
    """
    asked = workload_of(samples)
    tokens: dict[SideName, dict[str, float]] = {side: {} for side in SIDES}
    for side in SIDES:
        runs = [_with_response_tokens(values) for (of, _), values in sorted(asked.items()) if of == side]
        for name in (TOTAL, RESPONSE):
            if runs and all(values.get(name) for values in runs):
                tokens[side][name] = sum(values[name] for values in runs) / len(runs)
    return tokens


def _with_response_tokens(values: Mapping[str, float]) -> Mapping[str, float]:
    found = response_tokens(*(values.get(name) for name in (TOTAL, RESPONSE_LENGTH, PROMPT_LENGTH)))
    return values if RESPONSE in values or found is None else {**values, RESPONSE: found}


def response_tokens(total: float | None, response: float | None, prompt: float | None) -> float | None:
    """The part of a step's tokens that are of responses, by the mean lengths of both; None if it is unknown."""
    if total is None or response is None or prompt is None or response + prompt <= 0:
        return None
    return total * response / (response + prompt)


def health_columns(
    name: str,
    values: Mapping[SideName, float | None],
    env: Mapping[SideName, Mapping[str, str]],
    logged_as: Mapping[SideName, str] | None = None,
) -> dict[str, Value]:
    """Range of a metric, ``healthy`` or ``outside`` by side, and advice.

    Empty if the metric has no range, or one that depends on an unknown threshold. The columns ``ideal`` and ``advice``
    are those of the new side where it has a value.

    Args:
        name: its canonical name.
        values: by side.
        env: the environment of each side.
        logged_as: its name in the log of each side, if that is another one: releases of verl differ in their ranges.
    """
    columns: dict[str, Value] = {}
    for side in SIDES:
        found = range_as_logged(name, (logged_as or {}).get(side, name), env[side])
        value = values[side]
        if found is None or value is None:
            continue
        columns["ideal"] = found.ideal
        healthy = in_range(value, found)
        columns[f"{side}_health"] = Health.HEALTHY if healthy else Health.OUTSIDE
        if side == "new" and not healthy:
            columns["advice"] = found.advice
    return columns

"""Signs of unstable training (``Diff.symptoms``), from training's metrics. The limits: docs/metrics.md, "Stability".

An *error* is what cannot be healthy, and what a metric's documented range forbids if the baseline is not just as bad. A
*warning* is a change against the baseline, and a value outside its range on both sides. What both sides show alike
says nothing about the change between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from rlcompare.compare.comparability import have_other_scores
from rlcompare.compare.health_levels import CERTAIN, WINDOW, Level, Pair, levels_of, show
from rlcompare.compare.off_policy import off_policy_symptoms
from rlcompare.compare.records import HealthLevel, RunFact, Training
from rlcompare.compare.runs import overlap
from rlcompare.model.diff import Symptom
from rlcompare.model.digits import grouped
from rlcompare.model.words import SIDES, RuleSeverity, SideName

ERROR, WARN = RuleSeverity.ERROR, RuleSeverity.WARN

FAR = 10.0
"""A level that is so many times higher or lower than usual, and than the baseline's, has exploded or collapsed."""

HALF = 0.5
"""Entropy below this part of its start and of the baseline's is a warning."""

FALL = (0.05, 0.25)
"""A fall of the reward by this part of the baseline's is a warning, or an error. It must exceed the noise, too."""

CLIPPED = 0.5
"""A part of the responses beyond this that ends at the length limit, and half of this more than on the baseline, is a
warning."""

FEWER = 0.05
"""A log that is shorter than the baseline's by more than this part has ended early, if nothing says how long it was
meant to be."""

TOTAL_STEPS = "trainer.total_training_steps"

_OTHERWISE_COUNTED = ("fully_async/*", "train/num_gen_batches", "training/filter_groups/*")
"""Metrics of trainers whose logs may end before that number of steps: those that count it in another unit, and those
that take several batches of the data for one step."""

_MUST_BE_FINITE = ("loss", "gradient", "entropy", "reward", "policy_kl", "reference_kl", "ess", "weight_mean")
ROUNDED = 0.005
"""Where a log has three decimals, as of early releases, a gradient norm of 0 may be a rounded one if the baseline's is
below this."""

_FEWEST = 5
"""With fewer steps the spread between them is not known."""


def symptoms_of(
    runs: Sequence[RunFact],
    levels: Sequence[HealthLevel],
    training: Sequence[Training],
    env: Mapping[SideName, Mapping[str, str]],
    apart: Collection[str],
    logged: Collection[str],
    *,
    rounded: bool = False,
) -> tuple[Symptom, ...]:
    """All symptoms: those of the new side first, errors before warnings.

    Args:
        runs: how each run ended.
        training: the steps that each run logged.
        env: the environment of each side.
        apart: the metrics that have another meaning on the other side.
        logged: the names of all metrics.
        rounded: whether a log of the new side has three decimals.
    """
    baseline, new = (levels_of([row for row in levels if row.side == side]) for side in ("baseline", "new"))
    found = [*_non_finite(baseline, new), *_failed(runs), *_ends_early(training, env, logged)]
    for name, level in new.items():
        if any(run.steps for run in level.runs):
            other = baseline.get(name)
            known = other if other and name not in apart and any(run.steps for run in other.runs) else None
            pair = Pair(level, known, rounded, have_other_scores(env))
            found += [*_curve_symptoms(pair), *off_policy_symptoms(pair, env)]
    found = _without_repeated_reward(found)
    return tuple(sorted(found, key=lambda symptom: (symptom.side == "baseline", symptom.severity != ERROR)))


def _without_repeated_reward(found: Sequence[Symptom]) -> list[Symptom]:
    """Without the reward's symptom if it is the score's: without a penalty the two are the same numbers."""
    scores = {(symptom.baseline, symptom.new) for symptom in found if symptom.metric == "critic/score/mean"}
    return [
        symptom
        for symptom in found
        if symptom.metric != "critic/rewards/mean" or (symptom.baseline, symptom.new) not in scores
    ]


def _curve_symptoms(pair: Pair) -> Iterator[Symptom]:
    checks = {"entropy": _entropy, "gradient": _gradient, "reward": _reward, "validation": _reward, "clipped": _clipped}
    check = checks.get(pair.new.what)
    if check is not None:
        yield from check(pair)


def _non_finite(baseline: Mapping[str, Level], new: Mapping[str, Level]) -> Iterator[Symptom]:
    """One symptom per side: the metric that broke first stands for all."""
    sides: tuple[tuple[SideName, Mapping[str, Level]], ...] = (("new", new), ("baseline", baseline))
    for side, levels in sides:
        broken = [
            (step, level.name, sum(run.invalid for run in level.runs), sum(run.steps for run in level.runs))
            for level in levels.values()
            if level.what in _MUST_BE_FINITE and (step := level.first(lambda run: run.invalid_step)) is not None
        ]
        if not broken:
            continue
        step, name, count, steps = min(broken)
        counts = {
            of: sum(run.invalid for run in found[name].runs) if name in found else None
            for of, found in (("baseline", baseline), ("new", new))
        }
        others = sorted(other for _, other, *_ in broken if other != name)
        more = f"; likewise {', '.join(others[:3])}{' …' if len(others) > 3 else ''}" if others else ""
        text = f"{name} is not a finite number in {count} of {count + steps} steps, first in step {step}{more}."
        if side == "new" and counts["baseline"]:
            also = counts["baseline"]
            text = f"{text[:-1]}. On the baseline, it is not finite in {also} step{'s' if also > 1 else ''}."
        severity = ERROR if side == "new" else WARN
        prefix = "" if side == "new" else "Baseline: "
        yield Symptom("health.non_finite", name, side, severity, counts["baseline"], counts["new"], step, prefix + text)


def _failed(runs: Sequence[RunFact]) -> Iterator[Symptom]:
    """Runs that say that they failed: an error if nothing of the new side is left, and of the baseline something is."""
    count = {side: sum(run.side == side for run in runs) for side in SIDES}
    failed = {side: sum(run.side == side and run.status == "failed" for run in runs) for side in SIDES}
    of_all = {side: 0 < failed[side] == count[side] for side in SIDES}
    for side in SIDES:
        if failed[side]:
            number = "its run" if count[side] == 1 else f"{failed[side]} of {count[side]} runs"
            severity = ERROR if side == "new" and of_all["new"] and not of_all["baseline"] else WARN
            text = f"{'New side' if side == 'new' else 'Baseline'}: {number} failed, according to run.json."
            yield Symptom("health.failed", "", side, severity, failed["baseline"], failed["new"], None, text)


def _ends_early(
    training: Sequence[Training], env: Mapping[SideName, Mapping[str, str]], logged: Collection[str]
) -> Iterator[Symptom]:
    """A run that stopped before the configured number of steps, or that logged fewer than the baseline."""
    ends = {side: [run.last for run in training if run.side == side] for side in SIDES}
    last = {side: min(ends[side], default=None) for side in SIDES}
    logs = {side: f"shortest of {len(of)} logs" if len(of) > 1 else "log" for side, of in ends.items()}
    others = "the baseline's shortest" if len(ends["baseline"]) > 1 else "the baseline's"
    counted = not any(fnmatchcase(name, pattern) for pattern in _OTHERWISE_COUNTED for name in logged)
    asked = {side: _whole(env[side].get(TOTAL_STEPS)) if counted else None for side in env}
    short = {side: bool(end and (total := asked[side]) and end < total - 1) for side, end in last.items()}
    before, now, total = last["baseline"], last["new"], asked.get("new")
    if now is None:
        return
    if short["new"]:
        further = before is not None and before > now + 1
        known = "" if before is None else f"; {others} ends at step {before}"
        text = f"The {logs['new']} ends at step {now} of {total} ({TOTAL_STEPS}){known}."
        yield Symptom("health.ends_early", "", "new", ERROR if further else WARN, before, now, now, text)
    elif short["baseline"]:
        ends_at = f"the {logs['baseline']} ends at step {before} of {asked['baseline']} ({TOTAL_STEPS})"
        text = f"Baseline: {ends_at}, the new one at {now}."
        yield Symptom("health.ends_early", "", "baseline", WARN, before, now, before, text)
    elif total is None and before is not None and now + 1 < before and now < before * (1 - FEWER):
        known = f"{others} at step {before}"
        text = f"The {logs['new']} ends at step {now}, {known}; it is unknown how many were requested."
        yield Symptom("health.ends_early", "", "new", WARN, before, now, now, text)


def _whole(text: str | None) -> int | None:
    is_number = text is not None and re.fullmatch(r"[0-9]{1,15}", text)
    return int(text or "") or None if is_number else None


def _at_the_same_steps(pair: Pair) -> tuple[float | None, float | None]:
    """The levels of baseline and new side over the last steps that both have; without such steps, each at its end."""
    if pair.baseline is None:
        return None, pair.new.finish
    pairs = pair.baseline.shared_finish, pair.new.shared_finish
    return pairs if None not in pairs else (None, pair.new.finish)


def _beside(pair: Pair, before: float | None, now: float) -> str:
    """The baseline's level beside one of the new side: at the same steps only if both logged these."""
    if before is None or pair.baseline is None:
        return ""
    if now == pair.new.shared_finish:
        return f"; the baseline has {show(before)} at the same steps"
    if before == pair.baseline.finish:
        return f"; the baseline ends at {show(before)}"
    return f"; the baseline has {show(before)} in the last steps that both logged"


def _both(pair: Pair, before: float, now: float, change: str = "") -> str:
    """Both levels, and whether they are those at the ends of the logs."""
    name, finish, baseline = pair.new.given, pair.new.finish, pair.baseline.finish if pair.baseline else None
    if now != finish:
        at = f"in the last steps that both logged, the baseline's {show(before)}{change}"
        return f"{name} is {show(now)} {at}; the new side ends at {show(finish)}"
    other = "the baseline's at" if before == baseline else "where the baseline has"
    return f"{name} ends at {show(now)}, {other} {show(before)}{change}"


def _entropy(pair: Pair) -> Iterator[Symptom]:
    """Collapse and explosion, compared with its own start and with the baseline at the same steps."""
    new, name = pair.new, pair.new.given
    start, finish, (low, low_step) = new.start, new.finish, new.low
    if start is None or finish is None or low is None or start <= 0:
        return
    before, shared = _at_the_same_steps(pair)
    since = new.first(lambda run: run.fallen_step)
    key = "health.entropy_collapse"
    # Where the new log goes on after the baseline's end, the baseline's last level is all that is known.
    least = min(before, pair.baseline.low[0] or before) if pair.baseline and before is not None else None
    if finish < start / FAR and (least is None or finish < least / FAR):
        begun = f" since step {since}" if since is not None else ""
        text = f"{name} collapsed from {show(start)} to {show(finish)}{begun}{_beside(pair, before, finish)}."
        certain = least is not None and shared is not None and shared < min(start, least) / FAR
        yield pair.symptom(key, ERROR if certain else WARN, before, finish, since, text)
    elif low < start / FAR and (least is None or low < least / FAR):
        at = f"{show(low)} (mean of {WINDOW} steps from step {low_step} on{_of_one_run(new)})"
        compared = "" if least is None else f"; the baseline's is at least {show(least)}"
        yield pair.symptom(key, WARN, least, low, low_step, f"{name} fell from {show(start)} to {at}{compared}.")
    elif (
        before is not None
        and shared is not None
        and shared < HALF * min(before, start)
        and before - shared > _doubt(pair)
    ):
        text = f"{name} fell from {show(start)} to {show(shared)}{_beside(pair, before, shared)}."
        yield pair.symptom(key, WARN, before, shared, None, text)
    if before is not None and shared is not None and shared > FAR * max(before, start):
        text = f"{name} rose from {show(start)} to {show(shared)}{_beside(pair, before, shared)}."
        yield pair.symptom("health.entropy_explosion", WARN, before, shared, None, text)


def _of_one_run(level: Level) -> str:
    """A clause for a value that is that of one of several runs."""
    return f", in one of {len(level.runs)} runs" if len(level.runs) > 1 else ""


def _gradient(pair: Pair) -> Iterator[Symptom]:
    """Explosion, lasting or in single steps, compared with its own usual level and with the baseline's largest."""
    new, baseline, name = pair.new, pair.baseline, pair.new.given
    least = ROUNDED if pair.rounded else 0.0
    if new.finish == 0 and new.steps >= _FEWEST and baseline and (baseline.finish or 0.0) > least:
        text = (
            f"{name} is 0 in most of the last {new.tenth} steps, the baseline's is {show(baseline.finish)}: these teach"
            " nothing."
        )
        yield pair.symptom("health.no_gradient", WARN, baseline.finish, new.finish, None, text)
    levels = new.median or 0.0, new.start or 0.0
    usual = min(levels) or max(levels)
    (high, high_step), (peak, peak_step) = new.high_middle, new.peak
    if high is None or peak is None:
        return
    key = "health.gradient_explosion"
    spell = new.spell("risen")
    largest, largest_peak = (baseline.high_middle[0], baseline.peak[0]) if baseline else (None, None)
    compared = "" if largest is None else f"; the baseline's is at most {show(largest)}"
    if 0.0 in (usual, largest, largest_peak):  # a baseline that learned nothing is no measure
        return
    if high > FAR * usual and (largest is None or high > FAR * largest):
        over = f"(median of {WINDOW} steps) {spell.text if spell else f'since step {high_step}'}"
        text = f"{name} rose to {show(high)} {over}; its usual value is {show(usual)}{compared}."
        since = spell.since if spell else high_step
        yield pair.symptom(key, WARN if baseline is None else ERROR, largest, high, since, text)
    elif peak > FAR * usual and largest_peak is not None and peak > FAR * largest_peak:
        text = (
            f"{name} jumped to {show(peak)} in step {peak_step}; its usual value is {show(usual)};"
            f" the baseline's largest is {show(largest_peak)}."
        )
        yield pair.symptom(key, WARN, largest_peak, peak, peak_step, text)
    elif baseline and not pair.other_scores and largest is not None and (new.median or 0.0) > FAR * largest:
        text = f"{name} has a median of {show(new.median)}, the baseline one of {show(baseline.median)}."
        yield pair.symptom(key, WARN, baseline.median, new.median, None, text)


def _reward(pair: Pair) -> Iterator[Symptom]:
    """A fall below the baseline by more than the spread between steps: of the side, or of some of its runs."""
    baseline, new = pair.baseline, pair.new
    if baseline is None or pair.other_scores or min(new.steps, baseline.steps) < _FEWEST:
        return
    if overlap(baseline.finishes, new.finishes):
        yield from _reward_of_runs(pair, baseline)
        return
    shared = _at_the_same_steps(pair)
    ends = baseline.finish, new.finish
    # What was reached must not be lost after the baseline's end.
    goes_on = bool(new.runs) and max(run.steps for run in new.runs) > max(run.steps for run in baseline.runs)
    pairs = [shared, ends] if goes_on else [shared]
    known = [(before, now) for before, now in pairs if before is not None and now is not None]
    if not known:
        return
    before, now = max(known, key=lambda found: found[0] - found[1])
    if not _has_fallen(pair, before, now, FALL[0], 1.0):
        return
    is_end = not goes_on or (before, now) == ends or shared[1] == new.finish
    lasts = is_end or (None not in ends and _has_fallen(pair, ends[0] or 0.0, ends[1] or 0.0, FALL[0], 1.0))
    change = f" ({grouped((now / before - 1) * 100, 1, '+')} %)" if min(before, now) > 0 else ""
    text = f"{_both(pair, before, now, change)}; steps vary by {show(pair.noise)}."
    severity = ERROR if lasts and _has_fallen(pair, before, now, FALL[1], 2.0) else WARN
    yield pair.symptom("health.reward_fall", severity, before, now, None, text)


def _has_fallen(pair: Pair, before: float, now: float, part: float, times: float) -> bool:
    """Whether a level fell by more than this part of the baseline's, and more than chance by so many times."""
    return before - now > part * abs(before) and before - now > times * _doubt(pair)


def _reward_of_runs(pair: Pair, baseline: Level) -> Iterator[Symptom]:
    """Some runs of the new side far below each of the baseline's, while others are not."""
    least, finishes = min(baseline.finishes), pair.new.finishes
    fallen = [now for now in finishes if _has_fallen(pair, least, now, FALL[1], 2.0)]
    if fallen:
        text = (
            f"In {len(fallen)} of {len(finishes)} runs {pair.new.given} ends at {show(max(fallen))} or below,"
            f" in each of the baseline's at {show(least)} or above; steps vary by {show(pair.noise)}."
        )
        yield pair.symptom("health.reward_fall", WARN, least, min(fallen), None, text)


def _clipped(pair: Pair) -> Iterator[Symptom]:
    """Responses that no longer end by themselves."""
    before, now = _at_the_same_steps(pair)
    if before is None or now is None or now < CLIPPED or now - before < max(CLIPPED / 2, _doubt(pair)):
        return
    text = f"{_both(pair, before, now)}: responses reach the length limit."
    yield pair.symptom("health.clipped_responses", WARN, before, now, None, text)


def _doubt(pair: Pair) -> float:
    """How far two levels, which are medians, may be apart by chance: at least by what single steps vary."""
    steps = min(pair.new.tenth, pair.baseline.tenth if pair.baseline else pair.new.tenth)
    return pair.noise * max(1.0, CERTAIN * math.sqrt(math.pi / steps))

"""What the work explains of a timer's change: responses, tokens, imbalance, turns, batches, ranks.

A timer follows the work as far as the steps of the log show it (``timers.Driver``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum, isfinite, log2, sqrt
from typing import NamedTuple

from rlcompare.compare.log_tells import BATCHES, CALLS, FITS, GENERATION, MOVED, NOT_GENERATED, OF_TOOLS, TURNS
from rlcompare.compare.parts import Part
from rlcompare.compare.timers import OF_WORKERS, OUT_OF_WORKERS, Change, Driver, TrainingLog
from rlcompare.model.words import SIDES

SLOWEST_PARTS = ("the generation", OF_TOOLS)
"""How the names of the parts of generation begin that more turns lengthen."""

RANKS = 0.5
"""Part of the change of a rank's tokens by which all tokens must have changed for the ranks to be as many as before."""

SAME_DEVICES = 0.15
"""How far the binary logarithms of two equal numbers of devices may differ: means of steps are not exact."""

PASSES = ("update_actor", "update_critic", "old_log_prob", "ref_log_prob", "values")
"""Phases that pass over the whole batch, whose busiest rank decides."""

TAIL = 2.0
"""How much more the longest response must change than the mean one, in proportion, for a tail."""

LEAST_WORK = 0.01
"""Part of the larger value by which the work must have changed to be a reason."""


class Reason(NamedTuple):
    """What one reason explains of a timer's change, in ms, and whether its own change is more than luck."""

    reason: str
    amount: float
    telling: bool = True


class Work(NamedTuple):
    """What the work explains of a timer's change, in ms.

    Attributes:
        reasons: each reason's part.
        error: the standard error of all that they explain.
        most: the size of the change if all of the timer followed the work.
    """

    reasons: Sequence[Reason]
    error: float
    most: float


def work_of(log: TrainingLog, part: Part) -> Work:
    """What the work explains of a timer's change."""
    drivers = log.drivers.get(part.timer, ())
    changes = [log.changes[driver.metric] for driver in drivers if driver.metric in log.changes]
    if part.phase == GENERATION:
        reasons, error = _of_generation(log, part)
        known = [log.change(*CALLS.metrics), log.change(*TURNS.metrics)]
        changes += [found[1] for found in known if found]
        changes += [change for change in (batch_of(log), _responses_of(log)) if change]
        return Work(reasons, error, _all_of(part, changes))
    reasons, error = _of_pass(log, part) if part.phase in PASSES else ((), 0.0)
    return Work(reasons, error, _all_of(part, changes))


def _all_of(part: Part, changes: Iterable[Change]) -> float:
    """By how much a timer would have changed if all of it followed the work that changed most: the size of that change.

    At the mean of the times that a unit of work takes on both sides, so that it is the same with the sides exchanged.
    """
    along = [change for change in changes if change.delta * part.delta > 0 and change.baseline + change.new > 0]
    most = max((abs(change.delta) / (change.baseline + change.new) for change in along), default=0.0)
    return (part.baseline + part.new) * most


def _of_generation(log: TrainingLog, part: Part) -> tuple[Sequence[Reason], float]:
    """More turns, more samples, batches that were generated again, or the lengths of responses."""
    turns = _more_turns(log, part)
    if turns and part.name.startswith(SLOWEST_PARTS):
        calls = log.change(*CALLS.metrics)
        change = calls[1] if calls else turns
        by_turns = part.baseline * change.delta / change.baseline if change.baseline else part.delta
        return [Reason("turns", min(by_turns, part.delta, key=abs))], 0.0
    if part.name.startswith(NOT_GENERATED):
        return (), 0.0
    batch = batch_of(log)
    if batch and batch.delta * part.delta > 0 and abs(batch.relative) >= MOVED:
        return [Reason("work", _by_proportion(part, [batch]))], 0.0
    of_lengths = "turns" if turns else "tail" if _is_tail(log, part) else "work"
    drivers = [driver for driver in log.drivers.get(part.timer, ()) if driver.metric in log.changes]
    known = {driver: log.changes[driver.metric] for driver in drivers}
    told = {driver: change for driver, change in known.items() if driver.slope is not None}
    if told and part.name == OUT_OF_WORKERS:
        told = {_less(driver, log.drivers.get(OF_WORKERS, ())): change for driver, change in told.items()}
    if not told:
        most = _by_proportion(part, known.values())
        again = log.changes.get(BATCHES)
        by_again = _by_proportion(part, [again]) if again else 0.0
        return [Reason("batches", by_again) if by_again else Reason(of_lengths, most)], 0.0
    found = [
        Reason(
            "batches" if driver.metric == BATCHES else of_lengths,
            (driver.slope or 0.0) * change.delta,
            is_more_than_luck(change) or (driver.metric != BATCHES and _are_lengths_telling(log, change)),
        )
        for driver, change in told.items()
    ]
    return found, sqrt(fsum((driver.error * change.delta) ** 2 for driver, change in told.items()))


def _less(driver: Driver, inner: Sequence[Driver]) -> Driver:
    """How what an inner timer leaves follows a metric: a regression is linear, so that slopes subtract."""
    same = next((one for one in inner if one.metric == driver.metric), None)
    return driver if same is None else driver._replace(slope=(driver.slope or 0.0) - (same.slope or 0.0))


def _are_lengths_telling(log: TrainingLog, change: Change) -> bool:
    """Whether the lengths of responses changed by more than luck in the direction of one of them."""
    found = (log.changes.get(f"response_length/{name}") for name in ("mean", "max"))
    return any(one is not None and is_more_than_luck(one) and one.delta * change.delta > 0 for one in found)


def _more_turns(log: TrainingLog, part: Part) -> Change | None:
    """How the turns of a sample changed, if that fits the change of a timer; else None."""
    found = log.change(*TURNS.metrics)
    if found is None or not found[1].is_telling or abs(found[1].relative) < MOVED:
        return None
    return found[1] if found[1].delta * part.delta > 0 else None


def batch_of(log: TrainingLog) -> Change | None:
    """How the number of samples per step changed; None if it is unknown."""
    found = [log.changes.get(name) for name in ("perf/total_num_tokens", "response_length/mean", "prompt_length/mean")]
    tokens, response, prompt = found
    if tokens is None or response is None or prompt is None:
        return None
    before, after = response.baseline + prompt.baseline, response.new + prompt.new
    return Change(tokens.baseline / before, tokens.new / after, None) if before > 0 and after > 0 else None


def _responses_of(log: TrainingLog) -> Change | None:
    """How the tokens of responses changed in all samples of a step; None if that is unknown."""
    batch, length = batch_of(log), log.changes.get("response_length/mean")
    if batch is None or length is None:
        return None
    return Change(batch.baseline * length.baseline, batch.new * length.new, None)


def _by_proportion(part: Part, changes: Iterable[Change]) -> float:
    """The change by the work that changed most, if the timer followed it, up to the whole change; else 0."""
    able = [change for change in changes if change.is_telling and abs(change.relative) >= LEAST_WORK]
    able = [change for change in able if change.baseline]
    if not able or not part.baseline:
        return 0.0
    most = max(able, key=lambda change: abs(change.relative))
    amount = part.baseline * most.delta / most.baseline
    if abs(amount) < FITS * abs(part.delta):
        return 0.0
    return min(abs(amount), abs(part.delta)) * (1 if amount > 0 else -1)


def _is_tail(log: TrainingLog, part: Part) -> bool:
    """Whether the longest response changed as the timer did, and the mean one hardly, or in the other direction."""
    longest, mean = log.changes.get("response_length/max"), log.changes.get("response_length/mean")
    if longest is None or not is_more_than_luck(longest) or longest.delta * part.delta <= 0:
        return False
    if mean is None:
        return True
    return abs(longest.relative) > TAIL * abs(mean.relative) or longest.delta * mean.delta < 0


def _of_pass(log: TrainingLog, part: Part) -> tuple[Sequence[Reason], float]:
    """The tokens of all ranks, and how many more the busiest one has."""
    drivers = [driver for driver in log.drivers.get(part.timer, ()) if driver.metric in log.changes]
    driver = next((driver for driver in drivers if driver.slope is not None), drivers[0] if drivers else None)
    if driver is None:
        return (), 0.0
    change = log.changes[driver.metric]
    amount = _by_proportion(part, [change]) if driver.slope is None else driver.slope * change.delta
    if not amount or not change.delta:
        return (), 0.0
    error = 0.0 if driver.slope is None else abs(driver.error * change.delta)
    work = "turns" if _more_turns(log, part) else "work"
    mean = log.changes.get("global_seqlen/mean")
    if mean is None or not mean.baseline or not mean.new or not driver.metric.startswith("global_seqlen/"):
        return [Reason(work, amount, is_more_than_luck(change))], error
    total = log.changes.get("perf/total_num_tokens")
    if total and work == "work" and abs(total.relative) < RANKS * abs(mean.relative):
        if _has_same_devices(log):
            return (), 0.0  # more devices share the tokens of a rank: each has as many as before
        work = "ranks"
    # The busiest rank has more tokens because all have (mean), or because they are shared out less evenly.
    part_of_all = change.baseline * mean.delta / mean.baseline / change.delta
    if not isfinite(part_of_all):
        return [Reason(work, amount, is_more_than_luck(change))], error
    apart = Change(change.baseline - mean.baseline, change.new - mean.new, _both(change.error, mean.error))
    return [
        Reason("imbalance", amount * (1 - part_of_all), apart.is_telling),
        Reason(work, amount * part_of_all, is_more_than_luck(mean)),
    ], error


def _has_same_devices(log: TrainingLog) -> bool:
    """Whether as many devices made the steps of both sides, by their tokens per second and those of each device."""
    time = log.change("perf/time_per_step", "timing_s/step")
    tokens, rate = (log.changes.get(name) for name in ("perf/total_num_tokens", "perf/throughput"))
    if time is None or tokens is None or rate is None:
        return False
    before, after = (getattr(time[1], side) * getattr(rate, side) for side in SIDES)
    if not before or not after or not tokens.baseline or not tokens.new:
        return False
    return abs(log2((tokens.new / after) / (tokens.baseline / before))) < SAME_DEVICES


def _both(*errors: float | None) -> float | None:
    """The standard error of a sum; None if one is unknown."""
    return None if None in errors else sqrt(fsum((error or 0.0) ** 2 for error in errors))


def is_more_than_luck(change: Change) -> bool:
    """Whether the work changed by enough standard errors, and by enough of itself, to be a reason."""
    return change.is_telling and abs(change.relative) >= LEAST_WORK

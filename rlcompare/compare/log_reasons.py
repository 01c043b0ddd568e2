"""Candidates for causes from a training log alone: each timed phase, and what the log tells of why it changed.

A phase changes with its work (longer responses, more tokens, an imbalance between ranks, more batches), as far as the
steps of the log show it; what is left of its change is a cause of its own. Beside that, a sentence states what else
moved in the direction that fits: preemptions, acceptance, turns, MFU, memory, and settings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt

from rlcompare.compare.evidence import LEAST_RELATIVE, Evidence, moved, percent, short
from rlcompare.compare.log_tells import (
    CALLS,
    DEVICES,
    FITS,
    GENERATION,
    MOVED,
    NOT_GENERATED,
    OF_TOOLS,
    SLOWEST,
    TURNS,
    WORK_SETTINGS,
    amount_text,
    beside,
    settings,
    settings_of,
)
from rlcompare.compare.overall import OUTSIDE
from rlcompare.compare.parts import TIMER, Basis, Candidate, Part
from rlcompare.compare.places import batches, mostly
from rlcompare.compare.timers import OF_WORKERS, OUT_OF_WORKERS, TELLING, Change, Driver, TrainingLog
from rlcompare.compare.training import BESIDE_TOKENS

SLOWEST_PARTS = ("the generation", OF_TOOLS)
"""How the names of the parts of generation begin that more turns lengthen."""

BATCHES = "train/num_gen_batches"

RANKS = 0.5
"""Part of the change of a rank's tokens by which all tokens must have changed for the ranks to be as many as before."""

PASSES = ("update_actor", "update_critic", "old_log_prob", "ref_log_prob", "values")
"""Phases that pass over the whole batch, whose busiest rank decides."""

ABSORBED = 0.25
"""Part of a phase's change that may be left beside a reason before it is a cause of its own."""

LARGE_LUCK = 1.5
"""How much more than what runs of one setting differ by batches must explain to be told even if they may be luck."""

BY_LUCK = "; over so few steps this may be luck"

TAIL = 2.0
"""How much more the longest response must change than the mean one, in proportion, for a tail."""

LEAST_WORK = 0.01
"""Part of the larger value by which the work must have changed to be a reason."""


@dataclass(frozen=True)
class _Share:
    """What a reason explains, in ms, of the timer at this place of ``Basis.parts``."""

    amount: float
    place: int
    telling: bool


def log_reasons(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """Each reason over all phases that it explains, and what is left of each phase; nothing that hardly matters."""
    least = LEAST_RELATIVE * fsum(part.baseline for part in basis.parts)
    return (candidate for candidate in _candidates(evidence, basis) if abs(candidate.delta) >= least)


def _candidates(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    log = evidence.log
    by_reason: dict[str, list[_Share]] = defaultdict(list)
    for place, part in basis.of_kind(TIMER).items():
        if part.name == OUTSIDE:
            if abs(part.delta) >= evidence.run_noise:
                text = f"Time outside of all timers {moved(part.delta)} per step."
                yield Candidate("outside", {place: part.delta}, text, "phases", part.name)
            continue
        found = _explained(log, part, LARGE_LUCK * evidence.run_noise)
        for reason, amount in found.kept.items():
            by_reason[reason].append(_Share(amount, place, reason not in found.lucky))
        if part.row and found.rest:
            why, is_reason = _why(evidence, part, found.rest)
            if is_reason or abs(found.rest) >= evidence.run_noise:
                why += settings(evidence, settings_of(part))
                inner = "" if part.phase == part.name else f", {_place(part.name)}"
                start = "The rest of phase" if found.kept else "Phase"
                text = f"{start} {short(part.phase)}{_key(part)} {moved(found.rest)} per step{inner}{why}."
                yield Candidate("phase", {place: found.rest}, text, "phases", str(part.phase))
    for reason, shares in by_reason.items():
        for sign in (1, -1):
            amounts = {share.place: share.amount for share in shares if share.amount * sign > 0}
            if amounts:
                lucky = not any(share.telling for share in shares)
                yield _candidate(evidence, basis, reason, amounts, BY_LUCK if lucky else "")


def _place(name: str) -> str:
    """Where in a phase a part of it is."""
    return name if name.startswith("outside") else f"in {name}"


def _key(part: Part) -> str:
    """A clause with the timer's key, where a phase has another name than most logs give it; else empty."""
    if part.phase != part.name or part.phase in (GENERATION, "ref_log_prob") or not part.timer:
        return ""
    return "" if part.timer.rpartition("/")[2] == part.phase else f" ({short(part.timer)})"


@dataclass(frozen=True)
class _Explained:
    """A timer's change, divided.

    Attributes:
        kept: ms by reason.
        rest: ms that no reason and no luck explains; 0 if the rest is luck.
        lucky: the reasons whose own change may be luck.
    """

    kept: Mapping[str, float]
    rest: float
    lucky: frozenset[str] = frozenset()


def _explained(log: TrainingLog, part: Part, large: float) -> _Explained:
    """What the work explains of a timer's change, and what is left of it.

    Nothing is kept against the direction of the change. What luck in the work explains (a longer tail in these steps)
    is no reason, and is not left either. Batches that were generated again are told even if they are luck.

    Args:
        large: ms from which batches are told.
    """
    shares, of_slope = _shares(log, part)
    lucky = frozenset(share.reason for share in shares) - {share.reason for share in shares if share.telling}
    kept: dict[str, float] = {}
    luck = 0.0
    for share in shares:
        is_large = share.reason == "batches" and abs(share.amount) >= large
        if share.amount * part.delta > 0 and (share.telling or is_large):
            kept[share.reason] = kept.get(share.reason, 0.0) + share.amount
        elif not share.telling:
            luck += share.amount
    explained = fsum(kept.values())
    if abs(explained) > abs(part.delta):
        kept = {reason: amount * part.delta / explained for reason, amount in kept.items()}
        explained = part.delta
    rest = part.delta - luck - explained
    error = TELLING * sqrt(log.error_ms(part.timer) ** 2 + of_slope**2)
    if kept and abs(rest) <= max(ABSORBED * abs(part.delta), error):
        # Times do not follow their reason to the last digit: the rest is its own, unless that is luck.
        scale = (explained + rest) / explained if abs(rest) > error or rest * explained > 0 else 1.0
        scale = min(max(scale, 0.0), part.delta / explained)
        return _Explained({reason: amount * scale for reason, amount in kept.items()}, 0.0, lucky)
    if rest * part.delta <= 0 or (abs(rest) <= error and part.name not in BESIDE_TOKENS):
        return _Explained(kept, 0.0, lucky)
    left = abs(part.delta - explained)
    return _Explained(kept, max(-left, min(left, rest)), lucky)


@dataclass(frozen=True)
class _Reason:
    """What one reason explains of a timer's change, in ms, and whether its own change is more than luck."""

    reason: str
    amount: float
    telling: bool = True


def _shares(log: TrainingLog, part: Part) -> tuple[Sequence[_Reason], float]:
    """What the work explains of a timer's change, and the error of it, in ms."""
    if part.phase == GENERATION:
        return _of_generation(log, part)
    return _of_pass(log, part) if part.phase in PASSES else ((), 0.0)


def _of_generation(log: TrainingLog, part: Part) -> tuple[Sequence[_Reason], float]:
    """More turns, more samples, batches that were generated again, or the lengths of responses."""
    turns = _more_turns(log, part)
    if turns and part.name.startswith(SLOWEST_PARTS):
        calls = log.change(*CALLS.metrics)
        change = calls[1] if calls else turns
        by_turns = part.baseline * change.delta / change.baseline if change.baseline else part.delta
        whole = abs(by_turns) >= FITS * abs(part.delta)
        return [_Reason("turns", part.delta if whole else by_turns)], 0.0
    if part.name.startswith(NOT_GENERATED):
        return (), 0.0
    batch = _batch(log)
    if batch and batch.delta * part.delta > 0 and abs(batch.relative) >= MOVED:
        return [_Reason("work", _by_proportion(part, [batch]))], 0.0
    of_lengths = "turns" if turns else "tail" if _is_tail(log) else "work"
    drivers = [driver for driver in log.drivers.get(part.timer, ()) if driver.metric in log.changes]
    known = {driver: log.changes[driver.metric] for driver in drivers}
    told = {driver: change for driver, change in known.items() if driver.slope is not None}
    if told and part.name == OUT_OF_WORKERS:
        told = {_less(driver, log.drivers.get(OF_WORKERS, ())): change for driver, change in told.items()}
    if not told:
        most = _by_proportion(part, known.values())
        again = log.changes.get(BATCHES)
        by_again = _by_proportion(part, [again]) if again else 0.0
        return [_Reason("batches", by_again) if by_again else _Reason(of_lengths, most)], 0.0
    found = [
        _Reason(
            "batches" if driver.metric == BATCHES else of_lengths,
            (driver.slope or 0.0) * change.delta,
            _is_more_than_luck(change) or (driver.metric != BATCHES and _are_lengths_telling(log, change)),
        )
        for driver, change in told.items()
    ]
    return found, sqrt(fsum((driver.error * change.delta) ** 2 for driver, change in told.items()))


def _less(driver: Driver, inner: Sequence[Driver]) -> Driver:
    """How what an inner timer leaves follows a metric: a regression is linear, so that slopes subtract."""
    same = next((one for one in inner if one.metric == driver.metric), None)
    return driver if same is None else replace(driver, slope=(driver.slope or 0.0) - (same.slope or 0.0))


def _are_lengths_telling(log: TrainingLog, change: Change) -> bool:
    """Whether the lengths of responses changed by more than luck in the direction of one of them."""
    found = (log.changes.get(f"response_length/{name}") for name in ("mean", "max"))
    return any(one is not None and _is_more_than_luck(one) and one.delta * change.delta > 0 for one in found)


def _more_turns(log: TrainingLog, part: Part) -> Change | None:
    """How the turns of a sample changed, if that fits the change of a timer; else None."""
    found = log.change(*TURNS.metrics)
    if found is None or not found[1].is_telling or abs(found[1].relative) < MOVED:
        return None
    return found[1] if found[1].delta * part.delta > 0 else None


def _batch(log: TrainingLog) -> Change | None:
    """How the number of samples per step changed; None if it is unknown."""
    found = [log.changes.get(name) for name in ("perf/total_num_tokens", "response_length/mean", "prompt_length/mean")]
    tokens, response, prompt = found
    if tokens is None or response is None or prompt is None:
        return None
    before, after = response.baseline + prompt.baseline, response.new + prompt.new
    return Change(tokens.baseline / before, tokens.new / after, None) if before > 0 and after > 0 else None


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


def _is_tail(log: TrainingLog) -> bool:
    """Whether the longest response changed, and the mean one hardly did."""
    longest, mean = log.changes.get("response_length/max"), log.changes.get("response_length/mean")
    if longest is None or mean is None:
        return longest is not None
    return abs(longest.relative) > TAIL * abs(mean.relative)


def _of_pass(log: TrainingLog, part: Part) -> tuple[Sequence[_Reason], float]:
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
    if mean is None or not mean.baseline or not driver.metric.startswith("global_seqlen/"):
        return [_Reason(work, amount, _is_more_than_luck(change))], error
    total = log.changes.get("perf/total_num_tokens")
    if total and work == "work" and abs(total.relative) < RANKS * abs(mean.relative):
        work = "ranks"
    # The busiest rank has more tokens because all have (mean), or because they are shared out less evenly.
    by_all = change.baseline * mean.delta / mean.baseline
    apart = Change(change.baseline - mean.baseline, change.new - mean.new, _both(change.error, mean.error))
    return [
        _Reason("imbalance", amount * (1 - by_all / change.delta), apart.is_telling),
        _Reason(work, amount * by_all / change.delta, _is_more_than_luck(mean)),
    ], error


def _both(*errors: float | None) -> float | None:
    """The standard error of a sum; None if one is unknown."""
    return None if None in errors else sqrt(fsum((error or 0.0) ** 2 for error in errors))


def _is_more_than_luck(change: Change) -> bool:
    return change.is_telling and abs(change.relative) >= LEAST_WORK


def _candidate(
    evidence: Evidence, basis: Basis, reason: str, amounts: Mapping[int, float], note: str
) -> Candidate:
    delta = fsum(amounts.values())
    names = list(dict.fromkeys(basis.parts[place].phase or basis.parts[place].name for place in amounts))
    log = evidence.log
    why, section, row = _WHY[reason](log)
    differs = settings(evidence, DEVICES if reason == "ranks" else WORK_SETTINGS)
    if len(names) == 1:
        start = f"Phase {short(names[0])} {moved(delta)} per step"
    else:
        start = f"Phases {', '.join(map(short, names[:-1]))} and {short(names[-1])} {moved(delta)} per step"
    what = "workload" if reason == "work" else reason
    return Candidate(what, amounts, f"{start}, {why}{differs}{note}.", section, row)


def _work_text(log: TrainingLog) -> tuple[str, str, str]:
    found = log.change("perf/total_num_tokens", "response_length/mean", "response_length/max")
    if found is None:
        return "as the work changed", "workload", ""
    tokens = found[1]
    word = "more" if tokens.delta > 0 else "fewer"
    ratio = percent(tokens.new / tokens.baseline) if tokens.baseline else "many"
    text = f"as a step has {ratio} {word} tokens"
    if found[0] != "perf/total_num_tokens":
        text = f"as responses are {'longer' if tokens.delta > 0 else 'shorter'}"
    lengths = log.changes.get("response_length/mean")
    if lengths is not None and lengths.is_telling and lengths.delta * tokens.delta > 0:
        text += f" (mean response {amount_text(lengths.baseline)} → {amount_text(lengths.new)})"
    return text, "metrics", found[0]


def _ranks_text(log: TrainingLog) -> tuple[str, str, str]:
    mean = log.changes["global_seqlen/mean"]
    word = "more" if mean.delta > 0 else "fewer"
    ranks = "more" if mean.delta < 0 else "fewer"
    text = f"as {ranks} ranks share a batch: each has {percent(mean.new / mean.baseline)} {word} tokens"
    return text, "metrics", "global_seqlen/mean"


def _tail_text(log: TrainingLog) -> tuple[str, str, str]:
    found = log.change("response_length/max", f"{SLOWEST}response_length")
    if found is None:
        return "as the longest response changed", "metrics", ""
    change = found[1]
    text = f"as the longest response has {amount_text(change.new)} tokens instead of {amount_text(change.baseline)}"
    mean = log.changes.get("response_length/mean")
    if mean is not None:
        means = f"{amount_text(mean.baseline)} to {amount_text(mean.new)}"
        text += f", while the mean went from {means}: the tail of the batch"
    return text, "metrics", found[0]


def _imbalance_text(log: TrainingLog) -> tuple[str, str, str]:
    busiest, mean = log.change("global_seqlen/balanced_max", "global_seqlen/max"), log.changes["global_seqlen/mean"]
    if busiest is None:
        return "by the imbalance between ranks", "metrics", "global_seqlen/mean"
    before, after = busiest[1].baseline / mean.baseline, busiest[1].new / mean.new
    text = f"by imbalance: the busiest rank has {after:.2f} times the mean tokens instead of {before:.2f}"
    return text, "metrics", busiest[0]


def _batches_text(log: TrainingLog) -> tuple[str, str, str]:
    change = log.changes[BATCHES]
    text = f"as a step takes {amount_text(change.new)} generated batches instead of {amount_text(change.baseline)}"
    return text, "metrics", BATCHES


def _turns_text(log: TrainingLog) -> tuple[str, str, str]:
    found = log.change(*TURNS.metrics)
    if found is None:
        return "as samples take other turns", "metrics", ""
    text = f"as a sample takes {amount_text(found[1].new)} turns instead of {amount_text(found[1].baseline)}"
    calls = log.change(*CALLS.metrics)
    if calls and calls[1].is_telling:
        text += f", and {amount_text(calls[1].new)} tool calls instead of {amount_text(calls[1].baseline)}"
    return text, "metrics", found[0]


_WHY = {
    "batches": _batches_text,
    "imbalance": _imbalance_text,
    "ranks": _ranks_text,
    "tail": _tail_text,
    "turns": _turns_text,
    "work": _work_text,
}


def _moved_out(log: TrainingLog, part: Part) -> str:
    """A clause for a phase that one side has outside of its step; else empty."""
    if part.timer not in log.changes or (part.baseline and part.new) or part.phase != part.name:
        return ""
    return f", as it follows the step on the {'new side' if part.baseline else 'baseline'}"


def _why(evidence: Evidence, part: Part, rest: float) -> tuple[str, bool]:
    """What the log tells of a phase's change, or of what is left of it, and whether that is a reason."""
    rare = evidence.rare_phases.get(str(part.phase))
    clauses = [f", {rare}" if rare else "", mostly(part.row, part.delta), batches(evidence, part.name, part.delta)]
    clauses += [_moved_out(evidence.log, part), beside(evidence.log, part, rest)]
    is_reason = any(clauses[1:]) or (rare is not None and "before" in rare)
    return "".join(clauses), is_reason

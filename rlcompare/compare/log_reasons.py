"""Candidates for causes from a training log alone: each timed phase, and what the log tells of why it changed.

A phase changes with its work (longer responses, more tokens, an imbalance between ranks, more batches), as far as the
steps of the log show it; what is left of its change is a cause of its own. Beside that, a sentence states what else
moved in the direction that fits: preemptions, acceptance, turns, MFU, memory, and settings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import fsum, sqrt

from rlcompare.compare.evidence import Evidence, moved, percent, short
from rlcompare.compare.log_tells import (
    CALLS,
    FITS,
    GENERATION,
    MOVED,
    NOT_GENERATED,
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
from rlcompare.compare.timers import TELLING, Change, TrainingLog
from rlcompare.compare.training import BESIDE_TOKENS

SLOWEST_PARTS = ("generation of", "tool calls")
"""How the names of the parts of generation begin that more turns lengthen."""

PASSES = ("update_actor", "update_critic", "old_log_prob", "ref_log_prob", "values")
"""Phases that pass over the whole batch, whose busiest rank decides."""

ABSORBED = 0.25
"""Part of a phase's change that may be left beside a reason before it is a cause of its own."""

TAIL = 2.0
"""How much more the longest response must change than the mean one, in proportion, for a tail."""

LEAST_WORK = 0.01
"""Part of the larger value by which the work must have changed to be a reason."""


@dataclass(frozen=True)
class _Share:
    """A part of a timer's change that one reason explains.

    Attributes:
        reason: ``work``, ``tail``, ``imbalance``, ``batches``; empty for what is left.
        amount: ms.
        place: of the timer in ``Basis.parts``.
    """

    reason: str
    amount: float
    place: int


def log_reasons(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """Each reason over all phases that it explains, and what is left of each phase."""
    log = evidence.log
    by_reason: dict[str, list[_Share]] = defaultdict(list)
    for place, part in basis.of_kind(TIMER).items():
        if part.name == OUTSIDE and abs(part.delta) >= evidence.run_noise:
            text = f"Time outside of all timers {moved(part.delta)} per step."
            yield Candidate("outside", {place: part.delta}, text, "phases", part.name)
        if not part.row or part.name == OUTSIDE or not _is_telling(log, part):
            continue
        shares = _shares(log, place, part)
        for share in shares:
            by_reason[share.reason].append(share)
        explained = fsum(share.amount for share in shares)
        rest = part.delta - explained
        if rest * part.delta > 0:
            why = _why(evidence, part, rest)
            if why or abs(rest) >= evidence.run_noise:
                why += settings(evidence, settings_of(part))
                inner = f", in {part.name}" if part.phase != part.name else ""
                start = "The rest of phase" if abs(explained) > ABSORBED * abs(part.delta) else "Phase"
                text = f"{start} {short(part.phase)} {moved(rest)} per step{inner}{why}."
                yield Candidate("phase", {place: rest}, text, "phases", str(part.phase))
    for reason, shares in by_reason.items():
        for sign in (1, -1):
            found = {share.place: share.amount for share in shares if share.amount * sign > 0}
            if found:
                yield _candidate(evidence, basis, reason, found)


def _is_telling(log: TrainingLog, part: Part) -> bool:
    """Whether a phase changed by more than luck. Of a phase that only some steps have, the number of steps decides."""
    change = log.changes.get(part.timer)
    if part.name in BESIDE_TOKENS or change is None:
        return True
    return abs(part.delta) > TELLING * log.error_ms(part.timer)


def _shares(log: TrainingLog, place: int, part: Part) -> list[_Share]:
    """What the work explains of a timer's change; nothing against the direction of the change."""
    found: list[_Share] = []
    error = log.error_ms(part.timer)
    if part.phase == GENERATION:
        found, of_slope = _of_generation(log, place, part)
    elif part.phase in PASSES:
        found, of_slope = _of_pass(log, place, part)
    else:
        return []
    kept = [share for share in found if share.amount * part.delta > 0]
    explained = fsum(share.amount for share in kept)
    if not kept or abs(explained) < LEAST_WORK * abs(part.delta):
        return []
    room = max(ABSORBED * abs(part.delta), TELLING * sqrt(error**2 + of_slope**2))
    if abs(explained) > abs(part.delta) or abs(part.delta - explained) <= room:
        kept = [_Share(share.reason, share.amount * part.delta / explained, place) for share in kept]
    return kept


def _of_generation(log: TrainingLog, place: int, part: Part) -> tuple[list[_Share], float]:
    """Batches that were generated again, more turns, else the lengths of responses; and the error of it in ms."""
    again = log.changes.get("train/num_gen_batches")
    if again and again.is_telling and abs(again.relative) >= LEAST_WORK and again.baseline:
        return [_Share("batches", part.baseline * again.delta / again.baseline, place)], 0.0
    turns = log.change(*TURNS.metrics)
    if turns and part.name.startswith(SLOWEST_PARTS) and turns[1].is_telling and abs(turns[1].relative) >= MOVED:
        calls = log.change(*CALLS.metrics) or turns
        by_turns = part.baseline * calls[1].delta / calls[1].baseline if calls[1].baseline else part.delta
        if by_turns * part.delta > 0:
            whole = abs(by_turns) >= FITS * abs(part.delta)
            return [_Share("turns", part.delta if whole else by_turns, place)], 0.0
    if part.name.startswith(NOT_GENERATED):
        return [], 0.0
    if (batch := _batch(log)) and batch.delta * part.delta > 0 and abs(batch.relative) >= MOVED:
        return [_Share("work", _by_proportion(part, [batch]), place)], 0.0
    drivers = log.drivers.get(part.timer, ())
    changes = {driver.metric: log.changes[driver.metric] for driver in drivers if driver.metric in log.changes}
    told = [driver for driver in drivers if driver.slope is not None and driver.metric in changes]
    of_slope = 0.0
    if told:
        amount = fsum((driver.slope or 0.0) * changes[driver.metric].delta for driver in told)
        of_slope = sqrt(fsum((driver.error * changes[driver.metric].delta) ** 2 for driver in told))
    else:
        amount = _by_proportion(part, changes.values())
    return [_Share("tail" if _is_tail(log) else "work", amount, place)] if amount else [], of_slope


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


def _of_pass(log: TrainingLog, place: int, part: Part) -> tuple[list[_Share], float]:
    """The tokens of all ranks, and how many more the busiest one has; and the error of it in ms."""
    driver = next(iter(log.drivers.get(part.timer, ())), None)
    change = log.changes.get(driver.metric) if driver else None
    if driver is None or change is None:
        return [], 0.0
    amount = _by_proportion(part, [change]) if driver.slope is None else driver.slope * change.delta
    if not amount:
        return [], 0.0
    of_slope = 0.0 if driver.slope is None else abs(driver.error * change.delta)
    mean = log.changes.get("global_seqlen/mean")
    if mean is None or driver.metric == "perf/total_num_tokens" or not change.delta or not change.baseline:
        return [_Share("work", amount, place)], of_slope
    # The busiest rank has more tokens because all have (mean), or because they are shared out less evenly.
    by_all = change.baseline * mean.delta / mean.baseline if mean.baseline else 0.0
    by_imbalance = change.delta - by_all
    return [
        _Share("imbalance", amount * by_imbalance / change.delta, place),
        _Share("work", amount * by_all / change.delta, place),
    ], of_slope


def _candidate(evidence: Evidence, basis: Basis, reason: str, amounts: Mapping[int, float]) -> Candidate:
    delta = fsum(amounts.values())
    names = list(dict.fromkeys(basis.parts[place].phase or basis.parts[place].name for place in amounts))
    log = evidence.log
    why, section, row = _WHY[reason](log)
    differs = settings(evidence, WORK_SETTINGS)
    if len(names) == 1:
        start = f"Phase {short(names[0])} {moved(delta)} per step"
    else:
        start = f"Phases {', '.join(map(short, names[:-1]))} and {short(names[-1])} {moved(delta)} per step"
    what = "workload" if reason == "work" else reason
    return Candidate(what, amounts, f"{start}, {why}{differs}.", section, row)


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
    change = log.changes["train/num_gen_batches"]
    text = f"as a step generates {amount_text(change.new)} batches instead of {amount_text(change.baseline)}"
    return text, "metrics", "train/num_gen_batches"


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
    "tail": _tail_text,
    "turns": _turns_text,
    "work": _work_text,
}


def _why(evidence: Evidence, part: Part, rest: float) -> str:
    """What the log tells of a phase's change, or of what is left of it; empty if it tells nothing."""
    rare = evidence.rare_phases.get(str(part.phase))
    clauses = [f", {rare}" if rare else "", mostly(part.row, part.delta), batches(evidence, part.name, part.delta)]
    clauses.append(beside(evidence.log, part, rest))
    return "".join(clauses)

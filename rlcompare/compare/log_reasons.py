"""Candidates for causes from a training log alone: each timed phase, and what the log tells of why it changed.

A phase changes with its work (longer responses, more tokens, an imbalance between ranks, more batches), as far as the
steps of the log show it; what is left of its change is a cause of its own. Beside that, a sentence states what else
moved in the direction that fits: preemptions, acceptance, turns, MFU, memory, and settings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from rlcompare.compare.evidence import Evidence, moved, percent, short
from rlcompare.compare.overall import OUTSIDE
from rlcompare.compare.parts import TIMER, Basis, Candidate, Part
from rlcompare.compare.places import batches, mostly
from rlcompare.compare.timers import TELLING, Change, TrainingLog
from rlcompare.compare.training import BESIDE_TOKENS

GENERATION, WAITING = "generate_sequences", "wait_for_samples"

PASSES = ("update_actor", "update_critic", "old_log_prob", "ref_log_prob", "values")
"""Phases that pass over the whole batch, whose busiest rank decides."""

ABSORBED = 0.25
"""Part of a phase's change that may be left beside a reason before it is a cause of its own."""

FITS = 0.5
"""Part of a phase's change that a reason must at least explain by proportion, where the steps do not tell."""

TAIL = 2.0
"""How much more the longest response must change than the mean one, in proportion, for a tail."""

IMBALANCED = 0.5
"""Part of the change of the busiest rank's tokens that must be due to imbalance for it to be named."""

MOVED = 0.05
"""Part of the larger value by which something that stands beside a phase must have changed."""

LEAST_WORK = 0.01
"""Part of the larger value by which the work must have changed to be a reason."""


@dataclass(frozen=True)
class Beside:
    """A metric that tells why a phase changed.

    Attributes:
        metrics: its names; the first that both sides have counts.
        rises: whether it rises where the phase takes longer.
        text: what it is, with ``{new}`` and ``{baseline}``.
        scales: whether the phase's time follows it in proportion; then it must fit the change.
    """

    metrics: tuple[str, ...]
    rises: bool
    text: str
    scales: bool = False


_SLOWEST = "timing_s/agent_loop/slowest/"
_TURNS = Beside(
    ("num_turns/mean", "training/num_turns/mean"), True, "with {new} turns per sample instead of {baseline}"
)
_CALLS = Beside(("tool_call_counts/mean",), True, "with {new} tool calls per sample instead of {baseline}")
_PREEMPTED = Beside(
    (f"{_SLOWEST}num_preempted", "timing_s/agent_loop/num_preempted/mean", "timing_s/agent_loop/num_preempted/max"),
    True,
    "with {new} preemptions instead of {baseline}",
)
_OF_GENERATION = (
    _TURNS,
    _PREEMPTED,
    Beside(("prometheus/vllm:num_preemptions_total",), True, "with {new} preemptions per step instead of {baseline}"),
    Beside(("prometheus/sglang:num_retracted_reqs",), True, "with {new} retracted requests instead of {baseline}"),
    Beside(
        ("rollout/spec_accept_length", "rollout/spec_accept_rate"),
        False,
        "with a lower acceptance of speculative tokens ({metric} {baseline} → {new})",
        scales=True,
    ),
    Beside(("response/aborted_ratio",), True, "with {new} of the samples aborted instead of {baseline}"),
    Beside(("prompt_length/mean",), True, "with prompts of {new} tokens instead of {baseline}"),
)
_MEMORY = Beside(
    ("actor/perf/max_memory_reserved_gb", "perf/max_memory_reserved_gb"),
    True,
    "with {new} GiB of device memory reserved instead of {baseline}",
)


def _mfu(*metrics: str) -> Beside:
    return Beside(metrics, False, "at an MFU of {new} instead of {baseline}", scales=True)


_BESIDE: Mapping[str, Sequence[Beside]] = {
    GENERATION: _OF_GENERATION,
    WAITING: (
        Beside(
            ("timing_s/generate_async", f"{_SLOWEST}generate_sequences"),
            True,
            "as generation beside the step takes {new} s instead of {baseline} s",
        ),
        *_OF_GENERATION,
    ),
    "update_actor": (_mfu("perf/mfu/actor"), _MEMORY),
    "update_critic": (_mfu("perf/mfu/critic"), _MEMORY),
    "old_log_prob": (_mfu("perf/mfu/actor_infer"), _MEMORY),
    "reward": (
        Beside(
            ("timing_s/agent_loop/compute_score/mean",), True, "as a score takes {new} s instead of {baseline} s", True
        ),
    ),
}
_OF_TOOLS = (_CALLS, _TURNS)

_SETTINGS: Mapping[str, Sequence[str]] = {
    GENERATION: ("actor_rollout_ref.rollout.", "data.max_", "data.train_batch_size"),
    WAITING: ("actor_rollout_ref.rollout.", "data.max_response_length", "async_training."),
    "update_actor": ("actor_rollout_ref.actor.", "actor_rollout_ref.rollout.n", "data.train_batch_size"),
    "old_log_prob": ("actor_rollout_ref.rollout.log_prob", "actor_rollout_ref.actor.", "actor_rollout_ref.rollout.n"),
    "ref_log_prob": ("actor_rollout_ref.ref.", "actor_rollout_ref.rollout.n"),
    "values": ("critic.",),
    "update_critic": ("critic.",),
    "reward": ("reward", "custom_reward_function."),
    "save_checkpoint": ("trainer.save_freq", "trainer.default_local_dir"),
    "testing": ("trainer.test_freq", "data.val_batch_size"),
}  # fmt: skip
"""For each phase, how the names of settings begin that concern it."""

_NOT_OF_SPEED = (".path", "_dir", ".seed", "profiler.")
_WORK_SETTINGS = ("actor_rollout_ref.rollout.n", "data.train_batch", "data.gen_batch", "data.max_response_length")
_MOST_SETTINGS = 2


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
        if not part.row or part.name == OUTSIDE or not _is_telling(log, part):
            continue
        shares = _shares(log, basis, place, part)
        for share in shares:
            by_reason[share.reason].append(share)
        rest = part.delta - fsum(share.amount for share in shares)
        if rest * part.delta > 0:
            amounts = {place: rest}
            text = _of_phase(evidence, part, rest, alone=not shares)
            yield Candidate("phase", amounts, text, "phases", part.phase or part.name)
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


def _shares(log: TrainingLog, basis: Basis, place: int, part: Part) -> list[_Share]:
    """What the work explains of a timer's change; nothing against the direction of the change."""
    found: list[_Share] = []
    if part.phase == GENERATION or part.phase == WAITING or part.name == "generate_sequences":
        found = _of_generation(log, basis, place, part)
    elif part.name in PASSES:
        found = _of_pass(log, basis, place, part)
    kept = [share for share in found if share.amount * part.delta > 0]
    explained = fsum(share.amount for share in kept)
    if not kept or abs(explained) < LEAST_WORK * abs(part.delta):
        return []
    noise = TELLING * log.error_ms(part.timer)
    if abs(explained) > abs(part.delta) or abs(part.delta - explained) <= max(ABSORBED * abs(part.delta), noise):
        kept = [_Share(share.reason, share.amount * part.delta / explained, place) for share in kept]
    return kept


def _of_generation(log: TrainingLog, basis: Basis, place: int, part: Part) -> list[_Share]:
    """Batches that were generated again, else the lengths of responses."""
    batches_of = log.change("train/num_gen_batches")
    if batches_of and batches_of[1].is_telling and abs(batches_of[1].relative) >= LEAST_WORK:
        change = batches_of[1]
        return [_Share("batches", part.baseline * change.delta / change.baseline, place)] if change.baseline else []
    drivers = log.drivers.get(part.timer, ())
    changes = {driver.metric: log.changes[driver.metric] for driver in drivers if driver.metric in log.changes}
    told = [driver for driver in drivers if driver.slope is not None and driver.metric in changes]
    if told:
        amount = fsum((driver.slope or 0.0) * changes[driver.metric].delta for driver in told)
    else:
        amount = _by_proportion(part, changes.values())
    return [_Share("tail" if _is_tail(log) else "work", amount, place)] if amount else []


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


def _of_pass(log: TrainingLog, basis: Basis, place: int, part: Part) -> list[_Share]:
    """The tokens of all ranks, and how many more the busiest one has."""
    driver = next(iter(log.drivers.get(part.timer, ())), None)
    change = log.changes.get(driver.metric) if driver else None
    if driver is None or change is None:
        return []
    amount = _by_proportion(part, [change]) if driver.slope is None else driver.slope * change.delta
    if not amount:
        return []
    mean = log.changes.get("global_seqlen/mean")
    if mean is None or driver.metric == "perf/total_num_tokens" or not change.delta or not change.baseline:
        return [_Share("work", amount, place)]
    # The busiest rank has more tokens because all have (mean), or because they are shared out less evenly.
    by_all = change.baseline * mean.delta / mean.baseline if mean.baseline else 0.0
    by_imbalance = change.delta - by_all
    return [
        _Share("imbalance", amount * by_imbalance / change.delta, place),
        _Share("work", amount * by_all / change.delta, place),
    ]


def _candidate(evidence: Evidence, basis: Basis, reason: str, amounts: Mapping[int, float]) -> Candidate:
    delta = fsum(amounts.values())
    names = list(dict.fromkeys(basis.parts[place].phase or basis.parts[place].name for place in amounts))
    log = evidence.log
    why, section, row = _WHY[reason](log)
    settings = _settings(evidence, _WORK_SETTINGS)
    if len(names) == 1:
        start = f"Phase {short(names[0])} {moved(delta)} per step"
    else:
        start = f"Phases {', '.join(map(short, names[:-1]))} and {short(names[-1])} {moved(delta)} per step"
    what = "workload" if reason == "work" else reason
    return Candidate(what, amounts, f"{start}, {why}{settings}.", section, row)


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
        text += f" (mean response {_amount(lengths.baseline)} → {_amount(lengths.new)})"
    return text, "metrics", found[0]


def _tail_text(log: TrainingLog) -> tuple[str, str, str]:
    found = log.change("response_length/max", f"{_SLOWEST}response_length")
    if found is None:
        return "as the longest response changed", "metrics", ""
    change = found[1]
    text = f"as the longest response has {_amount(change.new)} tokens instead of {_amount(change.baseline)}"
    mean = log.changes.get("response_length/mean")
    if mean is not None:
        text += f", while the mean went from {_amount(mean.baseline)} to {_amount(mean.new)}: the tail of the batch"
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
    text = f"as a step generates {_amount(change.new)} batches instead of {_amount(change.baseline)}"
    return text, "metrics", "train/num_gen_batches"


_WHY = {"work": _work_text, "tail": _tail_text, "imbalance": _imbalance_text, "batches": _batches_text}


def _of_phase(evidence: Evidence, part: Part, rest: float, *, alone: bool) -> str:
    """The sentence for a phase, or for what other reasons leave of it."""
    phase = part.phase or part.name
    inner = f", in {part.name}" if part.phase and part.phase != part.name else ""
    start = "Phase" if alone else "The rest of phase"
    rare = evidence.rare_phases.get(part.name)
    clauses = [f", {rare}" if rare else "", mostly(part.row, part.delta), batches(evidence, part.name, part.delta)]
    clauses.append(_beside(evidence.log, part, rest))
    clauses.append(_settings(evidence, _SETTINGS.get(phase, ())))
    return f"{start} {short(phase)} {moved(rest)} per step{inner}{''.join(clauses)}."


def _beside(log: TrainingLog, part: Part, rest: float) -> str:
    """What else moved as the phase did, at most two things."""
    found = []
    for beside in _tells_of(part):
        told = log.change(*beside.metrics)
        if told is None:
            continue
        metric, change = told
        fits = (change.delta > 0) == (rest > 0) if beside.rises else (change.delta > 0) != (rest > 0)
        if not fits or not change.is_telling or abs(change.relative) < MOVED:
            continue
        if beside.scales and abs(change.relative) < FITS * abs(rest) / max(part.baseline, part.new):
            continue
        values = {"metric": metric, "new": _amount(change.new), "baseline": _amount(change.baseline)}
        found.append(f", {beside.text.format(**values)}")
    return "".join(found[:2])


def _tells_of(part: Part) -> Sequence[Beside]:
    if part.phase == GENERATION and part.name.startswith("tool calls"):
        return _OF_TOOLS
    if part.phase == GENERATION and part.name.startswith(("reward", "outside")):
        return ()
    return _BESIDE.get(part.phase or part.name, ())


def _settings(evidence: Evidence, beginnings: Sequence[str]) -> str:
    """The settings that concern a phase and differ between the sides; empty if there are none."""
    if not beginnings:
        return ""
    found = []
    for row in evidence.sections["env"].rows:
        name, values = str(row["name"]), (row["baseline"], row["new"])
        differs = None not in values and values[0] != values[1]
        if differs and name.startswith(tuple(beginnings)) and not any(part in name for part in _NOT_OF_SPEED):
            found.append(f"{name} {short(values[0], 30)} → {short(values[1], 30)}")
    return f" ({'; '.join(found[:_MOST_SETTINGS])})" if found else ""


def _amount(value: float) -> str:
    """A number for a sentence."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

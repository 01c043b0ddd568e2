"""What else moved in a training log beside a phase: metrics and settings, in the direction that fits.

These are not shares of the change: a sentence states them beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rlcompare.compare.evidence import Evidence
from rlcompare.compare.parts import WAITING, Part
from rlcompare.compare.phrases import short
from rlcompare.compare.timers import (
    MS_PER_S,
    OUT_OF_GENERATION,
    OUT_OF_SAMPLE,
    OUT_OF_UNSCORED,
    OUT_OF_WORKERS,
    Change,
    TrainingLog,
)
from rlcompare.model.digits import grouped

GENERATION = "generate_sequences"

OF_TOOLS = "the tool calls"
NOT_GENERATED = (OF_TOOLS, "the reward", "waking up", OUT_OF_GENERATION, OUT_OF_SAMPLE, OUT_OF_UNSCORED)
"""How the names of the parts of generation begin that do not follow the lengths of responses."""

FITS = 0.5
"""Part of a phase's change that a reason must at least explain by proportion, where the steps do not tell."""

MOVED = 0.05
"""Part of the larger value by which something that stands beside a phase must have changed."""


class Beside(NamedTuple):
    """A metric that tells why a phase changed.

    Attributes:
        metrics: its names; the first that both sides have counts.
        rises: whether it rises where the phase takes longer.
        text: what it is, with ``{new}`` and ``{baseline}``.
        scales: whether the phase's time follows it in proportion; then it must fit the change.
        in_seconds: whether it is a time within the phase; then its own change must fit.
        sum: the metric of all samples together, if this is a mean over them; it must not have changed the other way.
        least: by how much it must have changed, in its unit: what hardly ever happens takes no time.
        moved: by which part of the larger value it must have changed.
        follows: whether it follows from the time, or is no reason for it by itself.
    """

    metrics: tuple[str, ...]
    rises: bool
    text: str
    scales: bool = False
    in_seconds: bool = False
    sum: str = ""
    least: float = 0.0
    moved: float = MOVED
    follows: bool = False


DEVICES = ("trainer.n_gpus_per_node", "trainer.nnodes")
ACCEPTED = "rollout/spec_accept_length"
BATCHES = "train/num_gen_batches"
SLOWEST = "timing_s/agent_loop/slowest/"
TURNS = Beside(
    ("num_turns/mean", "training/num_turns/mean"),
    True,
    "with {new} turns per sample instead of {baseline}",
    scales=True,
)
CALLS = Beside(("tool_call_counts/mean",), True, "with {new} tool calls per sample instead of {baseline}", scales=True)
_PREEMPTED = Beside(
    (f"{SLOWEST}num_preempted", "timing_s/agent_loop/num_preempted/mean", "timing_s/agent_loop/num_preempted/max"),
    True,
    "with {new} preemptions instead of {baseline}",
    least=0.2,
    follows=True,
)
_OF_TOOLS = (CALLS, TURNS)
_OF_GENERATION = (
    TURNS,
    Beside(
        ("timing_s/agent_loop/tool_calls/max",),
        True,
        "with up to {new} s of tool calls per sample instead of {baseline} s",
        in_seconds=True,
    ),
    Beside(
        ("timing_s/agent_loop/compute_score/max",),
        True,
        "with up to {new} s per sample for its reward instead of {baseline} s",
        in_seconds=True,
    ),
    _PREEMPTED,
    Beside(
        ("prometheus/vllm:num_preemptions_total",),
        True,
        "with {new} preemptions per step instead of {baseline}",
        least=0.5,
        follows=True,
    ),
    Beside(
        ("prometheus/sglang:num_retracted_reqs",),
        True,
        "with {new} retracted requests instead of {baseline}",
        least=0.5,
        follows=True,
    ),
    Beside(
        ("rollout/spec_accept_length", "rollout/spec_accept_rate"),
        False,
        "with another acceptance of speculative tokens ({metric} {baseline} → {new})",
        scales=True,
    ),
    Beside(
        ("response_length/clip_ratio",),
        True,
        "with {new} of the responses at the length limit instead of {baseline}",
        least=0.05,
        follows=True,
    ),
    Beside(
        ("training/filter_groups/evicted_samples",),
        True,
        "with {new} samples filtered out instead of {baseline}",
        least=0.5,
        follows=True,
    ),
    Beside(
        ("response/aborted_ratio",),
        True,
        "with {new} of the samples aborted instead of {baseline}",
        least=0.02,
        follows=True,
    ),
    Beside(
        ("prompt_length/mean",),
        True,
        "with prompts of {new} tokens instead of {baseline}",
        scales=True,
        sum="perf/total_num_tokens",
    ),
)
_MEMORY = Beside(
    ("actor/perf/max_memory_reserved_gb", "perf/max_memory_reserved_gb"),
    True,
    "with {new} GiB of device memory reserved instead of {baseline}",
    moved=0.2,
    follows=True,
)


def _mfu(*metrics: str) -> Beside:
    return Beside(metrics, False, "at an MFU of {new} instead of {baseline}", scales=True, follows=True)


_BESIDE: Mapping[str, Sequence[Beside]] = {
    GENERATION: _OF_GENERATION,
    WAITING: (
        Beside(
            (
                "timing_s/generate_async",
                "fully_async/processing_time/tp95",
                f"{SLOWEST}generate_sequences",
                "perf/rollout_time",
            ),
            True,
            "as generation takes {new} s ({metric}) instead of {baseline} s",
        ),
        Beside(
            ("perf/update_weights_time",),
            True,
            "as the update of weights takes {new} s ({metric}) instead of {baseline} s",
            in_seconds=True,
        ),
        Beside(
            ("fully_async/trainer/idle_ratio",),
            True,
            "with the trainer idle {new} of the step instead of {baseline}",
            follows=True,
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

_RESPONSES = "actor_rollout_ref.rollout.n"
"""The setting of that name; other settings' names begin with it."""
_BATCH = (_RESPONSES, "data.train_batch_size", *DEVICES)
SETTINGS: Mapping[str, Sequence[str]] = {
    GENERATION: (*_BATCH, "data.max_", "actor_rollout_ref.rollout."),
    WAITING: ("data.max_response_length", "async_training.", "actor_rollout_ref.rollout."),
    "update_actor": (*_BATCH, "trainer.balance_batch", "actor_rollout_ref.actor."),
    "old_log_prob": (*_BATCH, "trainer.balance_batch", "actor_rollout_ref.rollout.log_prob"),
    "ref_log_prob": (
        "actor_rollout_ref.actor.use_kl_loss", "algorithm.use_kl_in_reward", *_BATCH, "trainer.balance_batch",
        "actor_rollout_ref.ref.",
    ),
    "values": (*_BATCH, "trainer.balance_batch", "critic."),
    "update_critic": (*_BATCH, "trainer.balance_batch", "critic."),
    "reward": ("reward", "custom_reward_function."),
    "save_checkpoint": ("trainer.save_freq", "trainer.default_local_dir"),
    "testing": ("trainer.test_freq", "data.val_batch_size"),
}  # fmt: skip
"""For each phase, how the names of settings begin that concern it; those that matter most first."""

_OF_ENGINE = (
    "checkpoint_engine", "enforce_eager", "free_cache_engine", "gpu_memory", "layered_summon", "load_format", "tensor_",
)  # fmt: skip
"""Settings of a rollout that concern how its engine wakes up and takes weights."""

_NOT_OF_SPEED = (
    ".path", "_path", "_dir", ".seed", "profiler.", ".optim.", "_coef", ".clip_", ".shuffle", ".temperature", ".top_",
)  # fmt: skip
"""Parts of the names of settings that do not tell how fast something is."""

_SLOWER_ON = ("_offload", "gradient_checkpointing", "enforce_eager", "free_cache_engine")
_FASTER_ON = ("prefix_caching", "torch_compile", "remove_padding", "fused_kernels")
"""How the names of switches end that make a phase slower, or faster."""

WORK_SETTINGS = (_RESPONSES, "data.train_batch", "data.gen_batch", "data.max_response_length")
_MOST_SETTINGS = 2


def beside(log: TrainingLog, part: Part, rest: float, told: Collection[str] = ()) -> tuple[str, bool]:
    """What else moved as the phase did, at most two things, and whether one of them is a reason.

    Args:
        told: the reasons that explain the other part of the phase's change.
    """
    found = []
    is_reason = False
    for tell in _tells_of(part):
        if "turns" in told and tell in _OF_TOOLS:
            continue
        known = [(metric, log.changes[metric]) for metric in tell.metrics if metric in log.changes]
        moved = next(((metric, change) for metric, change in known if _fits(tell, change, log, part, rest)), None)
        if moved is None:
            continue
        metric, change = moved
        values = {"metric": metric, "new": amount_text(change.new), "baseline": amount_text(change.baseline)}
        found.append(f", {tell.text.format(**values)}")
        is_reason = is_reason or (not tell.follows and len(found) <= 2)
    lone = log.lone.get(ACCEPTED)
    if lone and part.phase in (GENERATION, WAITING) and part.name not in NOT_GENERATED:
        found.append(f", with speculative decoding on the {lone} side only, by its log ({ACCEPTED})")
        is_reason = is_reason or len(found) <= 2
    return "".join(found[:2]), is_reason


def _fits(tell: Beside, change: Change, log: TrainingLog, part: Part, rest: float) -> bool:
    """Whether a metric moved by more than luck, and as what is left of the phase did."""
    fits = (change.delta > 0) == (rest > 0) if tell.rises else (change.delta > 0) != (rest > 0)
    if not fits or not change.is_telling or abs(change.relative) < tell.moved or abs(change.delta) < tell.least:
        return False
    if tell.scales:
        share = abs(rest) / max(part.baseline, part.new)
        if not FITS * share <= abs(change.relative) <= share / FITS:
            return False
    if tell.sum in log.changes and log.changes[tell.sum].delta * change.delta < 0:
        return False
    return not tell.in_seconds or abs(change.delta) * MS_PER_S >= FITS * abs(rest)


def _tells_of(part: Part) -> Sequence[Beside]:
    if part.phase == GENERATION and part.name.startswith(NOT_GENERATED):
        return _OF_TOOLS if part.name.startswith(OF_TOOLS) else ()
    return _BESIDE.get(str(part.phase), ())


def settings_of(part: Part) -> Sequence[str]:
    """How the names of settings begin that concern a phase, or a part of it."""
    if part.name in (OUT_OF_GENERATION, OUT_OF_WORKERS) or part.name.startswith("waking up"):
        return tuple(f"actor_rollout_ref.rollout.{name}" for name in _OF_ENGINE)
    return () if part.name in (OUT_OF_SAMPLE, OUT_OF_UNSCORED) else SETTINGS.get(str(part.phase), ())


def settings(evidence: Evidence, beginnings: Sequence[str], delta: float) -> str:
    """The settings that concern a phase and differ between the sides; empty if there are none.

    Those of the work, devices, and switches that are known to make something slower or faster, only if they changed in
    the direction that fits the change of the phase.
    """
    found = []
    for row in evidence.sections["env"].rows:
        name, values = str(row["name"]), (row["baseline"], row["new"])
        place = next((place for place, beginning in enumerate(beginnings) if _begins(name, beginning)), None)
        if place is None or None in values or values[0] == values[1] or any(part in name for part in _NOT_OF_SPEED):
            continue
        along = 1 if any(_begins(name, work) for work in WORK_SETTINGS) else -1 if name in DEVICES else _direction(name)
        if _change_of(*values) * along * delta >= 0:
            found.append((place, f"{name} {short(values[0], 30)} → {short(values[1], 30)}"))
    texts = [text for _, text in sorted(found)]
    return f" ({'; '.join(texts[:_MOST_SETTINGS])})" if texts else ""


def _begins(setting: str, beginning: str) -> bool:
    return setting == beginning or (setting.startswith(beginning) and beginning != _RESPONSES)


def _direction(setting: str) -> int:
    """1 for a switch that makes a phase slower, -1 for one that makes it faster, 0 if that is unknown."""
    name = setting.rpartition(".")[2]
    return 1 if name.endswith(_SLOWER_ON) else -1 if name.endswith(_FASTER_ON) else 0


def _change_of(before: object, after: object) -> float:
    """How much larger a setting is than before, where on is more than off; 0 if it is neither a number nor a switch."""
    try:
        return _number_of(after) - _number_of(before)
    except ValueError:
        return 0.0


def _number_of(value: object) -> float:
    text = str(value).lower()
    return float({"true": 1, "false": 0}.get(text, text))


def amount_text(value: float) -> str:
    """A number for a sentence."""
    return grouped(value) if abs(value) >= 100 else f"{value:.3g}"

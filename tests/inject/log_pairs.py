"""Pairs of modelled jobs that differ in one thing, with what must be said of each; and pairs that differ in nothing.

What is accepted is what an engineer could say who saw both logs and nothing else: where the log does not tell the
reason, the phase is the answer, and a reason is invented. Where two reasons are equally true, both are accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.inject.training_jobs import Job
from tests.inject.training_logs import Form

UPDATE = ("update_actor",)
TRAINING = ("old_log_prob", "ref", "update_actor")
GEN = ("gen",)
ALL = ("gen", *TRAINING)
WHOLE = ("step",)

REASONS = r"preempt|turn|tool|accept|tail|imbalance|mfu|stale|valid|checkpoint|longer|wake|reshard"
"""Words of reasons: where the log has none, they are invented."""


@dataclass(frozen=True)
class Pair:
    """A change and what must be said of it.

    Attributes:
        kind: what was changed; of the table.
        job: the baseline. ``changes``: what is other on the new side.
        words: what the first cause's sentence must contain (a regular expression, any case).
        phase: what its sentence or its row must contain.
        parts: the timers whose change may be its seconds, one after the other.
        never: what it must not contain.
    """

    kind: str
    job: Job
    changes: dict[str, Any]
    words: str
    phase: str
    parts: Sequence[Sequence[str]]
    form: Form = "coloured"
    never: str | None = None


GENERATION = r"gen"
ACTOR = r"update_actor|log_prob|training|ranks"

V05 = Job(0, release="0.5.0")
V06 = Job(0, release="0.6.1")
V06_LOOP = V06.but(agent_loop=True, turns=2.0)
V07 = Job(0, release="0.7.1", agent_loop=True, wake_s=0.8)
V07_TOOLS = V07.but(turns=2.0)
V08 = Job(0, release="0.8.0", agent_loop=True, wake_s=0.8, score_in_loop=True, score_s=0.3)
V08_TOOLS = V08.but(turns=2.0)
V09 = V08.but(release="0.9.1")
V09_TOOLS = V09.but(turns=2.0)
V1 = V09.but(trainer="v1")
V1_ASYNC = V1.but(trainer="v1_async", rollout_rate=9_500.0)
ONE_STEP_OFF_08 = V08.but(trainer="one_step_off")
ONE_STEP_OFF_09 = V09.but(trainer="one_step_off", decode_s=0.009)
FULLY_08 = V08.but(trainer="fully_async", rollout_rate=9_500.0)
FULLY_09 = V09.but(trainer="fully_async", rollout_rate=9_500.0)
DAPO_05 = V05.but(trainer="dapo", gen_batches=1.85, prompts=64)
DAPO_06 = V06.but(trainer="dapo", gen_batches=0.85, prompts=64)
PPO_05 = V05.but(critic=True, reference=False)
PPO_07 = V07.but(critic=True, reference=False)
FEW_GROUPS = {"prompts": 32, "n": 8, "group_sigma": 0.7, "parameters": 14.8e9, "length_median": 650.0}
EVEN = {"length_sigma": 0.35, "group_sigma": 0.15}

TAIL = r"longest|tail|response_length/max|slowest|decode steps|clip_ratio"
LONGER = r"longer|longest|shorter|tokens|response_length|response length|decode steps"
PREEMPT = r"preempt"
REWARD = r"reward|score"
TOOLS = r"tool"
TURNS = r"turn|tool.?calls? (per|count)|more (tool )?calls"
IMBALANCE = r"imbalance|balanced_max|slowest (dp )?rank|unbalanced|balance_batch|uneven"
MFU = r"mfu|efficien|flop"
ACCEPT = r"accept"
BATCHES = r"num_gen_batches|generated batches|gen(eration)? batches|filter|evicted|refill|resampl"
WAKE = r"wake|reshard|weights|sleep|outside|beside|around|other than|rest of|before (and|or) after"
SYNC = r"weight|sync"
MICRO = r"mfu|efficien|micro|memory|ppo_max_token_len"
ONLY_WAKING = r"^(?!.*(reward|score)).*(wake|weights|sleep|reshard)"
"""Names waking up and not rewards, which nothing in the log tells from it."""
DEVICES = r"n_gpus|gpu|device|ranks|per rank|world"
SAVE = r"checkpoint|save"
TEST = r"valid|testing"
WAIT = r"wait|rollouter|generation-bound|rollout-bound"
SWITCH = r"switch"
STALE = r"stale|wait"
MORE = r"tokens|train_batch_size|samples|sequences|prompts"

PAIRS: tuple[Pair, ...] = (
    # What generation consists of.
    Pair("long tail", V06.but(**EVEN), {"tail_share": 0.004, "tail_length": 2400}, TAIL, GENERATION, [GEN]),
    Pair("long tail", V07.but(**EVEN), {"tail_share": 0.005, "tail_length": 2300}, TAIL, GENERATION, [GEN]),
    Pair("long tail", V1.but(**EVEN), {"tail_share": 0.004, "tail_length": 2500}, TAIL, GENERATION, [GEN]),
    # In 0.5, generate_sequences is the mean over workers: gen leaves waiting for the slowest one too.
    Pair("long tail", V05.but(**EVEN, replicas=16), {"tail_share": 0.004, "tail_length": 2400}, TAIL, GENERATION,
         [GEN], form="plain"),
    Pair("slower decode steps", V05.but(replicas=16), {"decode_s": 0.024}, GENERATION, GENERATION, [GEN],
         form="plain", never=REASONS),
    Pair("long tail", V08.but(tail_share=0.004, tail_length=3600), {"max_length": 2600}, TAIL, GENERATION, [GEN]),
    Pair("longer responses", V05, {"length_median": 600.0}, LONGER, GENERATION, [GEN, ALL], form="plain"),
    Pair("longer responses", V08, {"length_median": 610.0}, LONGER, GENERATION, [GEN, ALL]),
    Pair("longer responses", V1, {"length_median": 430.0}, LONGER, GENERATION, [GEN, ALL], form="file"),
    Pair("slower decode steps", V06, {"decode_s": 0.023}, GENERATION, GENERATION, [GEN], never=REASONS),
    Pair("slower decode steps", V09, {"decode_s": 0.022}, GENERATION, GENERATION, [GEN], never=REASONS),
    Pair("preemption", V07.but(preemptions=0.02), {"preemptions": 0.8}, PREEMPT, GENERATION, [GEN]),
    Pair("preemption", V08.but(preemptions=0.05), {"preemptions": 1.0}, PREEMPT, GENERATION, [GEN]),
    Pair("preemption", V09.but(preemptions=0.8), {"preemptions": 0.0}, PREEMPT, GENERATION, [GEN], form="file"),
    Pair("cache, not counted", V06.but(preemptions=0.0, shows_config=True), {"preemptions": 0.8, "cache_share": 0.5},
         r"gpu_memory_utilization", GENERATION, [GEN]),
    Pair("acceptance", V08.but(accepted=2.6), {"accepted": 2.0}, ACCEPT, GENERATION, [GEN]),
    Pair("acceptance", V1.but(accepted=2.4), {"accepted": 1.9}, ACCEPT, GENERATION, [GEN]),
    Pair("speculation off", V08.but(accepted=1.5), {"accepted": None}, rf"{ACCEPT}|specul", GENERATION, [GEN]),
    Pair("generated batches", DAPO_05, {"gen_batches": 2.1}, BATCHES, GENERATION, [GEN, ("gen", "reward")],
         form="plain"),
    Pair("generated batches", DAPO_06, {"gen_batches": 1.0}, BATCHES, GENERATION, [GEN, ("gen", "reward")]),
    Pair("generated batches", V1.but(gen_batches=1.15), {"gen_batches": 1.5}, BATCHES, GENERATION, [GEN]),
    Pair("waking up", V05, {"wake_s": 13.0}, WAKE, rf"{GENERATION}|reshard", [GEN, ("reshard",)], form="plain"),
    Pair("waking up", V06, {"wake_s": 11.0}, WAKE, GENERATION, [GEN]),
    Pair("waking up", V06_LOOP.but(wake_s=12.0), {"wake_s": 4.0}, WAKE, GENERATION, [GEN]),
    # Rewards, tools and turns.
    Pair("reward", V05, {"score_s": 0.2}, REWARD, r"reward", [("reward",)], form="plain"),
    Pair("reward", V06, {"score_s": 0.16}, REWARD, r"reward", [("reward",)], form="file"),
    Pair("reward", V07.but(score_s=0.2), {"score_s": 0.03}, REWARD, r"reward", [("reward",)]),
    Pair("reward in the loop", V08, {"score_s": 9.0}, REWARD, r"gen|reward", [GEN]),
    Pair("reward in the loop", V09.but(score_s=10.0), {"score_s": 1.0}, REWARD, r"gen|reward", [GEN]),
    Pair("reward in the loop, not timed", V07.but(score_in_loop=True), {"score_s": 9.0}, GENERATION, GENERATION, [GEN],
         never=ONLY_WAKING),
    Pair("tools", V06_LOOP, {"tool_s": 3.2}, TOOLS, GENERATION, [GEN]),
    Pair("tools", V07_TOOLS, {"tool_s": 3.6}, TOOLS, GENERATION, [GEN]),
    Pair("tools", V08_TOOLS, {"tool_s": 3.4}, TOOLS, GENERATION, [GEN]),
    Pair("tools, another release", V07_TOOLS, {"release": "0.8.0", "tool_s": 3.4}, TOOLS, GENERATION, [GEN]),
    Pair("tools, not timed", V1.but(turns=2.0), {"tool_s": 3.8}, GENERATION, GENERATION, [GEN], never=REASONS),
    Pair("turns", V07_TOOLS.but(tool_s=2.0), {"turns": 5.0}, TURNS, GENERATION, [GEN, ALL]),
    Pair("turns", V09_TOOLS.but(tool_s=2.0), {"turns": 4.5}, TURNS, GENERATION, [GEN, ALL]),
    Pair("turns", V1.but(turns=2.0, tool_s=2.0), {"turns": 5.0}, TURNS, GENERATION, [GEN, ALL]),
    # Updates and log-probs.
    Pair("imbalance", V08.but(**FEW_GROUPS), {"grouped": True}, IMBALANCE, ACTOR, [TRAINING, UPDATE]),
    Pair("imbalance", V09.but(**FEW_GROUPS), {"grouped": True}, IMBALANCE, ACTOR, [TRAINING, UPDATE]),
    Pair("imbalance", V07.but(**FEW_GROUPS, grouped=True), {"grouped": False}, IMBALANCE, ACTOR, [TRAINING, UPDATE]),
    Pair("balancing off", V06.but(**FEW_GROUPS, shows_config=True), {"balanced": False}, IMBALANCE, ACTOR,
         [TRAINING, UPDATE]),
    Pair("efficiency", V05, {"mfu": 0.25}, MFU, r"update_actor", [UPDATE], form="plain"),
    Pair("efficiency", V06, {"mfu": 0.26}, MFU, r"update_actor", [UPDATE], form="file"),
    Pair("efficiency", V1, {"mfu": 0.27}, MFU, r"update_actor", [UPDATE]),
    Pair("efficiency", V08.but(mfu=0.27), {"mfu": 0.38}, MFU, r"update_actor", [UPDATE]),
    Pair("efficiency", PPO_07, {"critic_mfu": 0.25}, MFU, r"critic", [("update_critic",)]),
    Pair("micro batches", V06.but(micro_s=0.6, shows_config=True), {"micro_tokens": 5000}, MICRO, ACTOR,
         [UPDATE, TRAINING]),
    Pair("memory", V09, {"memory_gb": 63.2, "mfu": 0.28}, MICRO, r"update_actor", [UPDATE]),
    Pair("reference alone", V06, {"reference_slower": 2.1}, r"ref", r"ref", [("ref",)], never=REASONS),
    Pair("reference alone", V1, {"reference_slower": 2.0}, r"ref", r"ref", [("ref",)], never=REASONS),
    Pair("values alone", PPO_05, {"values_slower": 2.2}, r"values", r"values", [("values",)], form="plain",
         never=REASONS),
    Pair("old log-probs alone", V06, {"old_slower": 2.0}, r"old_log_prob", r"old", [("old_log_prob",)], never=REASONS),
    # Workload.
    Pair("rollout.n", V06.but(n=1, parameters=1.5e9, wake_s=12.0, shows_config=True), {"n": 4}, r"rollout\.n\b", "",
         [ALL, TRAINING, WHOLE]),
    Pair("rollout.n", V09.but(n=1, parameters=3e9, shows_config=True), {"n": 4}, r"rollout\.n\b", "",
         [ALL, TRAINING, WHOLE]),
    Pair("longer prompts", V06, {"prompt_mean": 450.0}, r"tokens|prompt", ACTOR, [TRAINING, ALL]),
    Pair("more devices", V06.but(shows_config=True), {"dp": 16, "replicas": 8}, DEVICES, ACTOR, [TRAINING, ALL]),
    Pair("more devices", V07, {"dp": 16, "replicas": 8}, DEVICES, ACTOR, [TRAINING, ALL]),
    Pair("more prompts", V05.but(prompts=96, shows_config=True), {"prompts": 128}, MORE, "",
         [ALL, TRAINING, WHOLE], form="plain"),
    # Weights, checkpoints, tests, and what no timer holds.
    Pair("weight sync", V07, {"sync_s": 9.0}, SYNC, r"update_weights|sync", [("update_weights",)]),
    Pair("weight sync", V1, {"sync_s": 10.0}, SYNC, r"update_weights|sync", [("update_weights",)]),
    Pair("weight sync", FULLY_08, {"sync_s": 8.5}, SYNC, r"param_sync|sync", [("param_sync",)]),
    Pair("weight sync", ONE_STEP_OFF_09, {"sync_s": 8.0}, SYNC, r"sync", [("sync_rollout_weights",)]),
    Pair("checkpoints", V05.but(save_every=20), {"save_every": 4}, SAVE, SAVE, [("save_checkpoint",)], form="plain"),
    Pair("checkpoints", V07.but(save_every=10), {"save_s": 130.0}, SAVE, SAVE, [("save_checkpoint",)]),
    Pair("checkpoints", V1.but(save_every=5, save_s=60.0), {"save_s": 15.0}, SAVE, SAVE, [("save_checkpoint",)]),
    Pair("tests", V05.but(test_every=20), {"test_every": 5}, TEST, TEST, [("testing",)], form="plain"),
    Pair("tests", V05.but(test_every=10), {"test_s": 110.0}, TEST, TEST, [("testing",)], form="plain"),
    Pair("outside", V06, {"outside_s": 7.0}, r"outside|no timer|between|other", r"outside|timer", [("outside",)]),
    Pair("outside", V09, {"outside_s": 8.0}, r"outside|no timer|between|other", r"outside|timer", [("outside",)]),
    # Asynchronous jobs.
    Pair("waiting", FULLY_08, {"rollout_rate": 7_000.0}, WAIT, WAIT, [GEN]),
    Pair("waiting", FULLY_09, {"rollout_rate": 7_200.0}, WAIT, WAIT, [GEN]),
    Pair("waiting", V1_ASYNC.but(rollout_rate=7_000.0, shows_config=True), {"rollout_rate": 9_000.0}, WAIT,
         r"wait|gen", [GEN]),
    Pair("waiting", V1_ASYNC.but(switch_s=2.0), {"rollout_rate": 7_000.0}, WAIT, r"wait",
         [("switch_wait",), ("gen", "switch_wait")]),
    Pair("waiting", FULLY_09.but(switch_s=2.0), {"rollout_rate": 7_200.0}, WAIT, r"wait",
         [("wait_for_enough_samples",), ("gen", "wait_for_enough_samples")]),
    Pair("waiting", ONE_STEP_OFF_08, {"decode_s": 0.023}, rf"{WAIT}|generate_async", r"wait|gen", [GEN]),
    Pair("trainer-bound", FULLY_08, {"mfu": 0.28}, MFU, r"update_actor", [UPDATE]),
    Pair("trainer-bound", ONE_STEP_OFF_09, {"mfu": 0.28}, MFU, r"update_actor", [UPDATE]),
    Pair("switching", V1_ASYNC.but(switch_s=3.0), {"switch_s": 9.0}, SWITCH, SWITCH,
         [("switch_to_trainer", "switch_to_rollout"), ("switch_to_rollout",)]),
    Pair("staleness", FULLY_08.but(staleness=0.5, rollout_rate=30_000.0), {"staleness": 0.0}, STALE, r"wait|gen|stale",
         [GEN]),
    Pair("staleness", FULLY_09.but(staleness=0.5, rollout_rate=36_000.0, shows_config=True), {"staleness": 0.0},
         r"staleness", r"wait|gen|stale", [GEN]),
)  # fmt: skip


@dataclass(frozen=True)
class Null:
    """Two jobs of which none is faster but by luck: ``changes`` cost the step nothing."""

    kind: str
    job: Job
    changes: dict[str, Any] = field(default_factory=dict)
    form: Form = "coloured"
    new_form: Form | None = None
    reordered: bool = False
    further: str | None = None


STEADY = {"drift": 0.0}
ROLLOUT_BOUND = FULLY_08.but(rollout_rate=6_500.0)

NULLS: tuple[Null, ...] = (
    Null("other seeds", V05, form="plain"),
    Null("other seeds", V06),
    Null("other seeds", V07_TOOLS),
    Null("other seeds", V08_TOOLS, form="file"),
    Null("other seeds", V09.but(accepted=2.5)),
    Null("other seeds", V1.but(turns=2.0)),
    Null("other seeds", V1_ASYNC.but(rollout_rate=7_500.0, switch_s=4.0)),
    Null("other seeds", ONE_STEP_OFF_08),
    Null("other seeds", FULLY_09),
    Null("other seeds", DAPO_06.but(gen_batches=1.5)),
    Null("other seeds", PPO_05.but(save_every=10, test_every=10), form="plain"),
    Null("more noise", V06, {"noise": 0.05}),
    Null("a run as a whole", V08.but(run_noise=0.02)),
    Null("half as many steps", V07.but(**STEADY, steps=60), {"steps": 30}),
    Null("resumed", V08.but(**STEADY), {"first_step": 46}),
    Null("slow first step", V05, {"compile_s": 400.0}, form="plain"),
    Null("checkpoints at other steps", V08.but(**STEADY, save_every=10), {"first_step": 6}),
    Null("checkpoints outside", V06.but(save_every=15), {"save_every": 3}),
    Null("tests outside", V08.but(test_every=15), {"test_every": 3}),
    Null("keys in another order", V06, reordered=True),
    Null("batches in order of length", V06, {"by_length": True}),
    Null("one more metric", V07, further="timing_s/custom/score_io"),
    Null("another logger", V09, new_form="file"),
    Null("another release", V07, {"release": "0.8.0"}),
    Null("updates hidden by waiting", ROLLOUT_BOUND, {"mfu": 0.32}),
    Null("generation hidden by training", ONE_STEP_OFF_09.but(decode_s=0.006), {"decode_s": 0.0072}),
    Null("preemptions that cost nothing", V08.but(preemptions=0.0, preempted_s=0.0), {"preemptions": 0.8}),
    Null("preemptions counted", V08.but(preemptions=0.0), {"preemptions": None}),
)

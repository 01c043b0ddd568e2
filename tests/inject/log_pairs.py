"""Pairs of modelled jobs that differ in one thing, with what must be said of each; and pairs that differ in nothing.

What is accepted is what an engineer could say who saw both logs and nothing else: where the log does not tell the
reason, the phase is the answer, and a reason is invented. Where two reasons are equally true, both are accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.inject.training_jobs import Job
from tests.inject.training_logs import Form

UPDATE = ("update_actor",)
TRAINING = ("old_log_prob", "ref", "update_actor")
GEN = ("gen",)
ALL = ("gen", *TRAINING)

REASONS = r"preempt|turn|tool|accept|longest|tail|imbalance|mfu|stale|valid|checkpoint|longer|wake"
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

V05 = Job(0, release="0.5.0")
V06 = Job(0, release="0.6.1")
V06_LOOP = Job(0, release="0.6.1", agent_loop=True, turns=2.0)
V07 = Job(0, release="0.7.1", agent_loop=True, wake_s=0.8)
V07_TOOLS = V07.but(turns=2.0)
V08 = Job(0, release="0.8.0", agent_loop=True, wake_s=0.8, score_in_loop=True, score_s=0.3)
V08_TOOLS = V08.but(turns=2.0)
V09 = V08.but(release="0.9.1")
V1 = V09.but(trainer="v1")
V1_ASYNC = V1.but(trainer="v1_async", rollout_rate=9_500.0)
ONE_STEP_OFF = V08.but(trainer="one_step_off")
FULLY_08 = V08.but(trainer="fully_async", rollout_rate=9_500.0)
FULLY_09 = V09.but(trainer="fully_async", rollout_rate=9_500.0)
DAPO_05 = V05.but(trainer="dapo", gen_batches=1.4, prompts=64)
DAPO_06 = V06.but(trainer="dapo", gen_batches=1.4, prompts=64)
PPO_05 = V05.but(critic=True, reference=False)
PPO_07 = V07.but(critic=True, reference=False)
SMALL = {"length_sigma": 0.35, "group_sigma": 0.15}

FEW_GROUPS = V08.but(prompts=32, n=8, group_sigma=0.6)

ACTOR = r"update_actor|log_prob|training|ranks"
TAIL = r"longest|tail|response_length/max|slowest|decode steps|clip_ratio"
LONGER = r"longer|longest|tokens|response_length|length of responses|decode steps"
PREEMPT = r"preempt"
REWARD = r"reward|score"
TOOLS = r"tool"
TURNS = r"turn|tool.?call"
IMBALANCE = r"imbalance|balanced_max|slowest (dp )?rank|unbalanced|balance_batch|uneven"
MFU = r"mfu|efficien|flop"
ACCEPT = r"accept"
BATCHES = r"num_gen_batches|generated batches|gen(eration)? batches|filter|evicted|refill|resampl"
WAKE = r"wake|weights|sleep|generate_sequences|outside|around generation|overhead"
SYNC = r"weight|sync"
MICRO = r"mfu|efficien|micro|memory|ppo_max_token_len"
SAVE = r"checkpoint|save"
TEST = r"valid|testing"
WAIT = r"wait|rollouter|generation-bound|rollout-bound"
SWITCH = r"switch"
STALE = r"stale|wait"

PAIRS: tuple[Pair, ...] = (
    Pair("long tail", V06.but(**SMALL), {"tail_share": 0.004, "tail_length": 2400}, TAIL, GENERATION, [GEN]),
    Pair("long tail", V07.but(**SMALL), {"tail_share": 0.005, "tail_length": 2300}, TAIL, GENERATION, [GEN]),
    Pair("long tail", V1.but(**SMALL), {"tail_share": 0.004, "tail_length": 2500}, TAIL, GENERATION, [GEN]),
    Pair("longer responses", V05, {"length_median": 600.0}, LONGER, GENERATION, [GEN, ALL], form="plain"),
    Pair("longer responses", V08, {"length_median": 610.0}, LONGER, GENERATION, [GEN, ALL]),
    Pair("preemption", V07.but(preemptions=0.02), {"preemptions": 0.8}, PREEMPT, GENERATION, [GEN]),
    Pair("preemption", V08.but(preemptions=0.05), {"preemptions": 1.0}, PREEMPT, GENERATION, [GEN]),
    Pair("reward", V05, {"score_s": 0.2}, REWARD, r"reward", [("reward",)], form="plain"),
    Pair("reward", V06, {"score_s": 0.16}, REWARD, r"reward", [("reward",)], form="file"),
    Pair("reward in the loop", V08, {"score_s": 8.0}, REWARD, r"gen|reward", [GEN]),
    Pair("tools", V07_TOOLS, {"tool_s": 2.8}, TOOLS, GENERATION, [GEN]),
    Pair("turns", V07_TOOLS.but(tool_s=2.0), {"turns": 5.0}, TURNS, GENERATION, [GEN, ALL]),
    Pair("imbalance", FEW_GROUPS, {"grouped": True}, IMBALANCE, ACTOR, [TRAINING, UPDATE]),
    Pair("efficiency", V05, {"mfu": 0.25}, MFU, r"update_actor", [UPDATE], form="plain"),
    Pair("efficiency", V06, {"mfu": 0.26}, MFU, r"update_actor", [UPDATE], form="file"),
)

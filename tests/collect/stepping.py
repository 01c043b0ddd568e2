"""Training steps in the test's own process, without a profiler, and what they leave."""

from __future__ import annotations

from pathlib import Path

import torch

from rlcompare.collect.profiler import make_profilers
from rlcompare.collect.reference.config.load import load_config
from rlcompare.collect.reference.distributed import World
from rlcompare.collect.reference.step import Trainer

SMALL = (
    "data.train_batch_size=4",
    "data.max_prompt_length=8",
    "data.max_response_length=8",
    "actor_rollout_ref.actor.ppo_mini_batch_size=2",
    "critic.ppo_mini_batch_size=2",
    "actor_rollout_ref.rollout.n=4",
)


def trainer_of(folder: Path, *overrides: str) -> Trainer:
    config = load_config([*SMALL, "global_profiler.steps=null", *overrides])
    torch.manual_seed(config.data.seed)
    return Trainer(config, World(0, 1, torch.device("cpu")), make_profilers(config, folder, 0, 1, "cpu"))


def steps_of(folder: Path, count: int, *overrides: str) -> list[dict[str, float]]:
    """The metrics of the first training steps of a configuration."""
    trainer = trainer_of(folder, *overrides)
    return [trainer.step(step) for step in range(1, count + 1)]


def is_time(key: str) -> bool:
    """Whether a metric depends on the clock."""
    return key.startswith(("timing_s/", "timing_per_token_ms/", "perf/time_per_step", "perf/throughput"))

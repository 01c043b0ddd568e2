"""A loop with the phases and ticks of a training step and next to no work, under the real profilers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import torch

from rlcompare.collect.profiler import CaptureRecord, StepProfiler, make_profilers
from rlcompare.collect.reference.config.load import load_config

DECODE_STEPS, MICRO_BATCHES, MINI_BATCHES = 20, 4, 2
PROFILER = "actor_rollout_ref.actor.profiler"
ROLLOUT = "actor_rollout_ref.rollout.profiler"


def profiler(out: Path, *overrides: str, rank: int = 0, world_size: int = 1, steps: int = 2) -> StepProfiler:
    config = load_config(
        [
            f"trainer.total_training_steps={steps}",
            f"trainer.n_gpus_per_node={world_size}",
            "trainer.device=cpu",
            *overrides,
        ]
    )
    return make_profilers(config, out, rank, world_size, "cpu")


def run(profiler: StepProfiler, steps: int = 2, decode_steps: int = DECODE_STEPS) -> list[CaptureRecord]:
    """Goes through all steps; what was captured."""
    state = torch.ones(8, 8)
    for step in range(1, steps + 1):
        with profiler.step(step):
            one_step(profiler, state, decode_steps)
    profiler.close()
    return profiler.captures


def one_step(profiler: StepProfiler, state: torch.Tensor, decode_steps: int = DECODE_STEPS) -> None:
    with profiler.phase("rollout", "generate_sequences"):
        for _ in range(decode_steps):
            torch.mm(state, state)
            profiler.tick("decode_step")
    with profiler.phase("", "reward"):
        torch.sin(state)
    with profiler.phase("actor", "old_log_prob"):
        for _ in range(MICRO_BATCHES):
            torch.exp(state)
            profiler.tick("micro_batch")
    with profiler.phase("", "adv"):
        torch.std(state)
    with profiler.phase("actor", "update_actor"):
        for _ in range(MINI_BATCHES):
            for _ in range(MICRO_BATCHES // MINI_BATCHES):
                torch.tanh(state)
                profiler.tick("micro_batch")
            profiler.tick("mini_batch")


def trace(out: Path, capture: CaptureRecord) -> dict[str, Any]:
    with gzip.open(out / capture.path, "rt", encoding="utf-8") as file:
        found = json.load(file)
    assert isinstance(found, dict)
    return found


def names(trace: dict[str, Any], category: str) -> list[str]:
    """Names of the events of a category, in the order of time."""
    events = [event for event in trace["traceEvents"] if event.get("cat") == category]
    return [event["name"] for event in sorted(events, key=lambda event: float(event["ts"]))]


def operators(trace: dict[str, Any]) -> set[str]:
    """Which of the loop's operators were recorded."""
    ours = {"aten::mm", "aten::sin", "aten::exp", "aten::std", "aten::tanh"}
    return ours & set(names(trace, "cpu_op"))

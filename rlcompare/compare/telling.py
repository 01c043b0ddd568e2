"""Which settings tell most about a difference between runs: lists of them are cut, and begin with these."""

from __future__ import annotations

from fnmatch import fnmatchcase

_FIRST = (
    "chip", "device", "device_name", "world_size", "profile", "profiler.level",
    "actor_rollout_ref.model.path", "model*", "trainer.nnodes", "trainer.n_gpus_per_node", "trainer.device",
    "data.train_batch_size", "batch*", "actor_rollout_ref.rollout.n", "*.ppo_mini_batch_size",
    "data.max_prompt_length", "data.max_response_length", "length*",
    "algorithm.adv_estimator", "actor_rollout_ref.rollout.name", "actor_rollout_ref.actor.strategy", "*dtype",
    "cann", "torch_npu", "torch", "ranks",
    "parallel.*", "*parallel_size", "*micro_batch_size*", "*.model.path",
)  # fmt: skip
"""Hardware, the model, the size of the job and of its batches, the algorithm, engines, versions."""


def place_of(key: str) -> int:
    """The place of a setting in such a list; those that tell less share the last one."""
    return next((place for place, pattern in enumerate(_FIRST) if fnmatchcase(key, pattern)), len(_FIRST))

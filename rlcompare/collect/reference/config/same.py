"""Normalizes values that have the same meaning in verl, and sets keys that follow another key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

ROLE_PROFILERS = (
    "actor_rollout_ref.actor.profiler",
    "actor_rollout_ref.rollout.profiler",
    "actor_rollout_ref.ref.profiler",
    "critic.profiler",
)

SKIPPED_DECODE_STEPS = 10
"""Shapes still change in the first decode steps, so these are not recorded."""

ESTIMATOR = "algorithm.adv_estimator"

DAPO: dict[str, Any] = {
    "algorithm.filter_groups.enable": True,
    "actor_rollout_ref.actor.clip_ratio_high": 0.28,
    "actor_rollout_ref.actor.clip_ratio_c": 10.0,
    "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
}
"""The settings that ``algorithm.adv_estimator=dapo`` implies, in addition to grpo."""

_KL = {"k1": "kl", "k2": "mse", "k3": "low_var_kl"}
_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "half": "float16", "float": "float32"}


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _spelled(spellings: Mapping[str, str]) -> Callable[[object], object]:
    return lambda value: spellings.get(value, value) if isinstance(value, str) else value


_SPELLINGS: dict[str, Callable[[object], object]] = {
    "actor_rollout_ref.actor.policy_loss.loss_mode": lambda value: (
        value.replace("-", "_") if isinstance(value, str) else value
    ),
    "actor_rollout_ref.actor.optim.lr_warmup_steps": lambda value: -1 if value is None else value,
    "critic.optim.lr_warmup_steps": lambda value: -1 if value is None else value,
    ESTIMATOR: _spelled({"dapo": "grpo"}),
    "actor_rollout_ref.actor.kl_loss_type": _spelled(_KL),
    "algorithm.kl_penalty": _spelled(_KL),
    "actor_rollout_ref.actor.fsdp_config.model_dtype": _spelled(_DTYPES),
    "actor_rollout_ref.rollout.dtype": _spelled(_DTYPES),
    # vLLM's "all tokens" is -1, Hugging Face's is 0.
    "actor_rollout_ref.rollout.top_k": lambda value: -1 if value == 0 and not isinstance(value, bool) else value,
    "trainer.logger": _as_list,
    "global_profiler.steps": lambda value: _in_order(value),
    **{f"{profiler}.tool_config.npu.export_type": _as_list for profiler in ROLE_PROFILERS},
}


def implied(estimator: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings implied by the user's own keys for keys that they did not set: values by dotted key.

    ``adv_estimator=dapo`` implies several keys. A user who names ranks does not mean all of them.

    Args:
        estimator: the value of ``algorithm.adv_estimator``.
        given: the user's settings, with unresolved interpolations.
    """
    keys: dict[str, Any] = {}
    if estimator == "dapo":
        keys |= DAPO
    for profiler in ROLE_PROFILERS:
        if _block(given, f"{profiler}.ranks")[0].get("ranks"):
            keys[f"{profiler}.all_ranks"] = False
    return keys


def settle(tree: dict[str, Any]) -> None:
    """Normalizes a resolved tree, in place. Values of a wrong type are left for the type check."""
    for key, spelling in _SPELLINGS.items():
        block, name = _block(tree, key)
        if name in block:
            block[name] = spelling(block[name])
    actor, _ = _block(tree, "actor_rollout_ref.actor.clip_ratio")
    for bound in ("clip_ratio_low", "clip_ratio_high"):
        if bound in actor and actor[bound] is None:
            actor[bound] = actor.get("clip_ratio")
    for profiler in ROLE_PROFILERS:
        _settle_schedule(tree, profiler)


def _settle_schedule(tree: dict[str, Any], profiler: str) -> None:
    schedule, _ = _block(tree, f"{profiler}.schedule.skip_first")
    if "skip_first" in schedule and schedule["skip_first"] is None:
        schedule["skip_first"] = SKIPPED_DECODE_STEPS if schedule.get("granularity") == "decode_step" else 0


def _block(tree: Mapping[str, Any], key: str) -> tuple[dict[str, Any], str]:
    """The block that holds a key, and the key's name in it; an empty block if there is none."""
    *names, last = key.split(".")
    block: Any = tree
    for name in names:
        block = block.get(name) if isinstance(block, dict) else None
    return (block if isinstance(block, dict) else {}), last


def _in_order(value: object) -> object:
    """A list of integers, sorted and without duplicates."""
    if isinstance(value, list) and all(isinstance(item, int) and not isinstance(item, bool) for item in value):
        return sorted(set(value))
    return value

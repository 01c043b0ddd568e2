"""Computations over the whole batch of all ranks: importance sampling, rewards per token, advantages.

Effective sample sizes, percentiles and whitening are not means of per-rank results. So the first rank computes them
once, over all rows, and distributes the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from rlcompare.collect.reference.advantage import apply_kl_penalty, gae_advantage, grpo_advantage, token_level_scores
from rlcompare.collect.reference.batch import Batch
from rlcompare.collect.reference.config.schema import Config
from rlcompare.collect.reference.distributed import World
from rlcompare.rollout_is import compute_rollout_is


@dataclass(frozen=True)
class GlobalBatch:
    """The rows of all ranks with advantages, returns and weights.

    Attributes:
        rewards: (N, R), per token, after the KL penalty if there is one.
        metrics: of the mismatch and the penalty; empty on all ranks but the first.
    """

    batch: Batch
    rewards: torch.Tensor
    metrics: dict[str, float]


def global_batch(own: Batch, world: World, config: Config) -> GlobalBatch:
    """The whole batch, from the rows of each rank. All ranks have the same number of rows."""
    whole = own.gathered(world)
    if world.is_first:
        rewards, metrics = _rewards(whole, config)
        advantages, returns = _advantages(whole, rewards, config)
        weights, mismatch = _importance(whole, config)
        metrics |= mismatch
    else:
        # Each tensor is received into its own memory.
        rewards, advantages, returns, weights = (torch.zeros_like(whole.response_mask) for _ in range(4))
        metrics = {}
    applied = config.algorithm.rollout_is_threshold is not None and config.algorithm.rollout_is
    done = replace(
        whole,
        advantages=world.from_first(advantages),
        returns=world.from_first(returns),
        weights=world.from_first(weights) if applied and weights is not None else None,
    )
    return GlobalBatch(done, world.from_first(rewards), metrics)


def _rewards(batch: Batch, config: Config) -> tuple[torch.Tensor, dict[str, float]]:
    scores = token_level_scores(batch.scores, batch.response_mask)
    algorithm = config.algorithm
    if not algorithm.use_kl_in_reward:
        return scores, {}
    assert batch.old_log_probs is not None and batch.ref_log_probs is not None
    return apply_kl_penalty(
        scores,
        batch.old_log_probs,
        batch.ref_log_probs,
        batch.response_mask,
        kl_type=algorithm.kl_penalty,
        kl_coef=algorithm.kl_ctrl.kl_coef,
    )


def _advantages(batch: Batch, rewards: torch.Tensor, config: Config) -> tuple[torch.Tensor, torch.Tensor]:
    algorithm = config.algorithm
    if algorithm.adv_estimator == "gae":
        assert batch.values is not None
        return gae_advantage(rewards, batch.values, batch.response_mask, gamma=algorithm.gamma, lam=algorithm.lam)
    return grpo_advantage(
        rewards, batch.response_mask, batch.groups, norm_adv_by_std_in_grpo=algorithm.norm_adv_by_std_in_grpo
    )


def _importance(batch: Batch, config: Config) -> tuple[torch.Tensor | None, dict[str, float]]:
    algorithm = config.algorithm
    if algorithm.rollout_is_threshold is None or batch.rollout_log_probs is None:
        return None, {}
    assert batch.old_log_probs is not None
    return compute_rollout_is(
        batch.old_log_probs,
        batch.rollout_log_probs,
        batch.response_mask,
        level=algorithm.rollout_is_level,
        mode=algorithm.rollout_is_mode,
        threshold=algorithm.rollout_is_threshold,
        threshold_lower=algorithm.rollout_is_threshold_lower,
        veto_threshold=algorithm.rollout_is_veto_threshold,
    )

"""Advantages: GRPO's of outcomes, generalized advantage estimation, the KL penalty in the reward, DAPO's group filter.

All functions work on the whole global batch: groups, and the moments for GAE's whitening, span ranks.
Shapes: N rows (responses), R response tokens; ``groups`` (N,) is equal for the rows of one prompt.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rlcompare.collect.reference.loss import kl_penalty
from rlcompare.collect.reference.masked import masked, masked_mean, masked_sum

GRPO_EPSILON = 1e-6
WHITEN_EPSILON = 1e-8


def token_level_scores(scores: Tensor, response_mask: Tensor) -> Tensor:
    """(N, R): each row's score (N,) at its last valid token, 0 elsewhere; a row without one loses it."""
    valid = response_mask.bool()
    place = torch.arange(valid.shape[1], device=valid.device)
    last = torch.where(valid, place, -1).amax(-1, keepdim=True)
    return torch.where((place == last) & valid, scores[:, None], 0.0)


def apply_kl_penalty(
    token_level_scores: Tensor,
    old_log_prob: Tensor,
    ref_log_prob: Tensor,
    response_mask: Tensor,
    *,
    kl_type: str,
    kl_coef: float,
) -> tuple[Tensor, dict[str, float]]:
    """Token-level rewards (N, R): the scores less ``kl_coef`` times the KL penalty to the reference policy.

    Args:
        kl_type: ``algorithm.kl_penalty``, see loss.kl_penalty.

    Returns:
        The rewards, and the metrics actor/reward_kl_penalty (the mean over rows of their mean KL) and
        actor/reward_kl_penalty_coeff.
    """
    penalty = masked(kl_penalty(masked(old_log_prob, response_mask), masked(ref_log_prob, response_mask), kl_type),
                     response_mask)  # fmt: skip
    mean = masked_mean(penalty, response_mask, dim=-1).mean()
    metrics = {"actor/reward_kl_penalty": mean.item(), "actor/reward_kl_penalty_coeff": kl_coef}
    return masked(token_level_scores, response_mask) - kl_coef * penalty, metrics


def grpo_advantage(
    token_level_rewards: Tensor, response_mask: Tensor, groups: Tensor, *, norm_adv_by_std_in_grpo: bool = True
) -> tuple[Tensor, Tensor]:
    """GRPO's outcome advantage: (score − mean) / (std + 1e-6) within a prompt's group, std with ddof 1, at every token.

    Args:
        token_level_rewards: (N, R); a row's score is its sum.
        norm_adv_by_std_in_grpo: False leaves the division out (Dr. GRPO).

    Returns:
        Advantages and returns, both (N, R) and equal. As in verl a group of one response keeps its score, and a group
        whose responses all score alike has advantage 0.
    """
    scores = masked_sum(token_level_rewards, response_mask, dim=-1)
    group, size = _numbered(groups)
    centered = scores - _group_sum(scores, group, len(size))[group] / size[group]
    square = _group_sum(centered.square(), group, len(size)) / (size - 1).clamp(min=1)
    advantage = centered
    if norm_adv_by_std_in_grpo:
        advantage = centered / (square.sqrt()[group] + GRPO_EPSILON)
    advantage = torch.where(has_variance(scores, groups), advantage, 0.0)  # else rounding errors would remain
    single = scores / (1 + GRPO_EPSILON) if norm_adv_by_std_in_grpo else scores
    advantage = torch.where(size[group] == 1, single, advantage)
    advantage = masked(advantage[:, None], response_mask)
    return advantage, advantage


def has_variance(scores: Tensor, groups: Tensor) -> Tensor:
    """(N,) bool: whether a row's group has different scores. DAPO trains on these only: others have no advantage."""
    group, size = _numbered(groups)
    high = torch.full((len(size),), -torch.inf, dtype=scores.dtype, device=scores.device)
    low = -high
    high = high.scatter_reduce(0, group, scores, "amax")
    low = low.scatter_reduce(0, group, scores, "amin")
    return (high > low)[group]


def gae_advantage(
    token_level_rewards: Tensor, values: Tensor, response_mask: Tensor, *, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Generalized advantage estimation over valid tokens, whitened over the whole batch.

    δ_t = r_t + gamma·V_{t+1} − V_t and A_t = δ_t + gamma·lam·A_{t+1}, where t+1 is the next valid token (V = A = 0
    after the last); https://arxiv.org/abs/1506.02438.

    Returns:
        Advantages with mean 0 and variance (ddof 1) 1, and returns (A + V, from before whitening), both (N, R) and 0 in
        padding.
    """
    valid = response_mask.bool()
    rewards, values = masked(token_level_rewards, valid), masked(values, valid)
    next_value = torch.zeros_like(values[:, 0])
    following = torch.zeros_like(next_value)
    advantages = torch.zeros_like(values)
    for t in range(values.shape[1] - 1, -1, -1):
        delta = rewards[:, t] + gamma * next_value - values[:, t]
        following = torch.where(valid[:, t], delta + gamma * lam * following, following)
        next_value = torch.where(valid[:, t], values[:, t], next_value)
        advantages[:, t] = following
    returns = masked(advantages + values, valid)
    return whiten(advantages, valid), returns


def whiten(values: Tensor, mask: Tensor) -> Tensor:
    """Valid values shifted and scaled to mean 0 and variance 1 (ddof 1); the others 0.

    A single valid value is only shifted, to 0: it has no variance.
    """
    centered = masked(values - masked_mean(values, mask), mask)
    variance = centered.square().sum() / (mask.bool().sum() - 1).clamp(min=1)
    return centered * torch.rsqrt(variance + WHITEN_EPSILON)


def _numbered(groups: Tensor) -> tuple[Tensor, Tensor]:
    """Each row's group as a number from 0 (N,), and the size of each group."""
    _, group, size = torch.unique(groups, return_inverse=True, return_counts=True)
    return group, size


def _group_sum(values: Tensor, group: Tensor, groups: int) -> Tensor:
    return torch.zeros(groups, dtype=values.dtype, device=values.device).index_add(0, group, values)

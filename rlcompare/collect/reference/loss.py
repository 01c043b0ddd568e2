"""verl's losses: policy losses by name, KL penalties, the value loss, and how token losses become one number.

Shapes: N rows (responses), R response tokens. Values in padding are ignored.

**Micro batches.** Without ``totals`` a loss is the mean over the given rows. With ``totals``, the number of tokens and
sequences of the mini batch over all ranks, it is these rows' share of the mini batch's mean. The losses of all micro
batches of all ranks then sum to the mini batch's loss, whatever their sizes, and so do the metrics. If gradients are
averaged over ranks (FSDP), multiply such a loss by the number of ranks. clip_cov and kl_cov choose tokens by their
covariance within the given rows, as in verl, so their choice depends on how a mini batch is split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from rlcompare.collect.reference.config.schema import ActorConfig
from rlcompare.collect.reference.masked import masked, masked_mean, masked_sum

LOG_RATIO_BOUND = 20.0
GSPO_LOG_RATIO_MAX = 10.0
LOW_VAR_KL_BOUND = 10.0
LOSS_AGG_MODES = ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean")


@dataclass(frozen=True)
class Totals:
    """Valid tokens and sequences of a mini batch, over all its micro batches and all ranks."""

    tokens: float
    sequences: float


class PolicyLoss(Protocol):
    """A policy loss.

    Args:
        old_log_prob, log_prob, advantages, response_mask: (N, R); the policy that generated, and the one in training.
        loss_agg_mode: see agg_loss; gspo and geo_mean ignore it (see aggregation_of).
        config: the actor's: its clip ratios and ``policy_loss``.
        rollout_is_weights: (N, R), multiply the loss of each token before aggregation; None: 1.
        totals: see the module.

    Returns:
        The loss, and actor/pg_clipfrac, actor/ppo_kl and actor/pg_clipfrac_lower, averaged over tokens as the loss is.
    """

    def __call__(
        self,
        old_log_prob: Tensor,
        log_prob: Tensor,
        advantages: Tensor,
        response_mask: Tensor,
        loss_agg_mode: str,
        config: ActorConfig,
        rollout_is_weights: Tensor | None = None,
        totals: Totals | None = None,
    ) -> tuple[Tensor, dict[str, float]]: ...


@dataclass(frozen=True)
class _Inputs:
    """One call's tensors, 0 in padding."""

    old_log_prob: Tensor
    log_prob: Tensor
    advantages: Tensor
    mask: Tensor
    config: ActorConfig
    weights: Tensor | None

    @property
    def log_ratio(self) -> Tensor:
        return self.log_prob - self.old_log_prob

    @property
    def bounded_log_ratio(self) -> Tensor:
        return self.log_ratio.clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)

    @property
    def clip_range(self) -> tuple[float, float]:
        return 1 - self.config.clip_ratio_low, 1 + self.config.clip_ratio_high


@dataclass(frozen=True)
class _Tokens:
    """Per token (N, R): the loss, what clipping changed from above and from below (bool), and the KL's estimate."""

    loss: Tensor
    clipped: Tensor
    clipped_lower: Tensor
    kl: Tensor


_LOSSES: dict[str, Callable[[_Inputs], _Tokens]] = {}


def policy_loss(name: str) -> PolicyLoss:
    """The policy loss of ``policy_loss.loss_mode``: vanilla, gspo, gpg, clip_cov, kl_cov or geo_mean.

    Raises:
        ValueError: another name. verl's hyphens (clip-cov) are accepted.
    """
    name = name.replace("-", "_")
    if name not in _LOSSES:
        raise ValueError(f"loss_mode is {name!r}; it must be one of {', '.join(_LOSSES)}")

    def loss(
        old_log_prob: Tensor,
        log_prob: Tensor,
        advantages: Tensor,
        response_mask: Tensor,
        loss_agg_mode: str,
        config: ActorConfig,
        rollout_is_weights: Tensor | None = None,
        totals: Totals | None = None,
    ) -> tuple[Tensor, dict[str, float]]:
        mask = response_mask.bool()
        weights = None if rollout_is_weights is None else masked(rollout_is_weights, mask)
        old, new, advantage = (masked(tensor, mask) for tensor in (old_log_prob, log_prob, advantages))
        tokens = _LOSSES[name](_Inputs(old, new, advantage, mask, config, weights))
        pg_loss = agg_loss(tokens.loss, mask, aggregation_of(name, loss_agg_mode), totals)
        return pg_loss, _metrics(tokens, mask, totals)

    return loss


def aggregation_of(loss_mode: str, loss_agg_mode: str) -> str:
    """How a policy loss is aggregated: gspo by rows' means over tokens and geo_mean by rows, whatever is configured."""
    return "seq-mean-token-mean" if loss_mode.replace("-", "_") in ("gspo", "geo_mean") else loss_agg_mode


def agg_loss(loss_mat: Tensor, loss_mask: Tensor, loss_agg_mode: str, totals: Totals | None = None) -> Tensor:
    """One number of token losses (N, R), of policies, entropies, KL penalties or values alike.

    Args:
        loss_agg_mode: token-mean (over all valid tokens), seq-mean-token-sum (over rows, of their sums) or
            seq-mean-token-mean (over rows, of their means). A row without a valid token counts as 0.
        totals: see the module.

    Raises:
        ValueError: another mode.
    """
    sequences = float(len(loss_mat)) if totals is None else totals.sequences
    if loss_agg_mode == "token-mean":
        return _token_mean(loss_mat, loss_mask, totals)
    if loss_agg_mode == "seq-mean-token-sum":
        return masked_sum(loss_mat, loss_mask) / sequences
    if loss_agg_mode == "seq-mean-token-mean":
        return masked_mean(loss_mat, loss_mask, dim=-1).sum() / sequences
    raise ValueError(f"loss_agg_mode is {loss_agg_mode!r}; it must be one of {', '.join(LOSS_AGG_MODES)}")


def kl_penalty(log_prob: Tensor, ref_log_prob: Tensor, kl_type: str) -> Tensor:
    """Estimates per token of KL(policy ‖ reference), http://joschu.net/blog/kl-approx.html.

    Args:
        kl_type: kl (k1), abs, mse (k2) or low_var_kl (k3, its log ratio bounded to ±20 and its result to ±10).

    Raises:
        ValueError: another type; also ``full``, which would need the logits of the whole vocabulary.
    """
    log_ratio = ref_log_prob - log_prob
    if kl_type in ("kl", "k1"):
        return -log_ratio
    if kl_type == "abs":
        return log_ratio.abs()
    if kl_type in ("mse", "k2"):
        return 0.5 * log_ratio.square()
    if kl_type in ("low_var_kl", "k3"):
        log_ratio = log_ratio.clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
        return (log_ratio.exp() - log_ratio - 1).clamp(-LOW_VAR_KL_BOUND, LOW_VAR_KL_BOUND)
    raise ValueError(f"the KL type is {kl_type!r}; it must be kl (k1), abs, mse (k2) or low_var_kl (k3)")


def kl_loss(
    log_prob: Tensor,
    ref_log_prob: Tensor,
    response_mask: Tensor,
    kl_type: str,
    loss_agg_mode: str,
    totals: Totals | None = None,
) -> Tensor:
    """The aggregated KL penalty to the reference policy (``actor.use_kl_loss``), before ``kl_loss_coef``."""
    penalty = kl_penalty(masked(log_prob, response_mask), masked(ref_log_prob, response_mask), kl_type)
    return agg_loss(penalty, response_mask, loss_agg_mode, totals)


def value_loss(
    vpreds: Tensor,
    returns: Tensor,
    values: Tensor,
    response_mask: Tensor,
    *,
    cliprange_value: float,
    loss_agg_mode: str,
    totals: Totals | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """Half the squared error of the critic's predictions, which gain nothing by leaving ``values`` ± cliprange_value.

    Args:
        vpreds: (N, R), predictions of the critic in training; returns: (N, R), what they should be; values: (N, R),
            predictions before training.

    Returns:
        The loss, and critic/vf_clipfrac and critic/vpred_mean.
    """
    mask = response_mask.bool()
    vpreds, returns, values = (masked(tensor, mask) for tensor in (vpreds, returns, values))
    clipped = vpreds.clamp(values - cliprange_value, values + cliprange_value)
    free, held = (vpreds - returns).square(), (clipped - returns).square()
    loss = 0.5 * agg_loss(torch.maximum(free, held), mask, loss_agg_mode, totals)
    means = [_token_mean(tensor.detach().to(loss.dtype), mask, totals) for tensor in (held > free, vpreds)]
    return loss, dict(zip(("critic/vf_clipfrac", "critic/vpred_mean"), torch.stack(means).tolist(), strict=True))


def _token_mean(values: Tensor, mask: Tensor, totals: Totals | None) -> Tensor:
    return masked_mean(values, mask) if totals is None else masked_sum(values, mask) / max(totals.tokens, 1.0)


def _metrics(tokens: _Tokens, mask: Tensor, totals: Totals | None) -> dict[str, float]:
    """The metrics of one call, in one transfer from the device."""
    named = {
        "actor/pg_clipfrac": tokens.clipped,
        "actor/ppo_kl": tokens.kl,
        "actor/pg_clipfrac_lower": tokens.clipped_lower,
    }
    means = [_token_mean(value.detach().to(tokens.loss.dtype), mask, totals) for value in named.values()]
    return dict(zip(named, torch.stack(means).tolist(), strict=True))


def _weighted(loss: Tensor, inputs: _Inputs) -> Tensor:
    return loss if inputs.weights is None else loss * inputs.weights


def _clipped_loss(ratio: Tensor, inputs: _Inputs) -> tuple[Tensor, Tensor]:
    """PPO's max(−A·r, −A·clip(r)), and where the second was larger."""
    free = -inputs.advantages * ratio
    held = -inputs.advantages * ratio.clamp(*inputs.clip_range)
    return torch.maximum(free, held), held > free


def _vanilla(inputs: _Inputs) -> _Tokens:
    """PPO with dual clip: for A < 0 the loss is at most −A·c (https://arxiv.org/abs/1912.09729)."""
    log_ratio = inputs.bounded_log_ratio
    loss, clipped = _clipped_loss(log_ratio.exp(), inputs)
    ceiling = -inputs.advantages * inputs.config.clip_ratio_c
    negative = inputs.advantages < 0
    lower = (loss > ceiling) & negative
    loss = torch.where(negative, torch.minimum(loss, ceiling), loss)
    return _Tokens(_weighted(loss, inputs), clipped, lower, -log_ratio)


def _gspo(inputs: _Inputs) -> _Tokens:
    """Group sequence policy optimization (https://arxiv.org/abs/2507.18071).

    The ratio is the row's geometric mean, held constant, and the gradient comes from each token's own log-probability.
    """
    log_ratio = inputs.log_ratio
    of_row = masked_mean(log_ratio, inputs.mask, dim=-1).detach()[:, None]
    ratio = (inputs.log_prob - inputs.log_prob.detach() + of_row).clamp(max=GSPO_LOG_RATIO_MAX).exp()
    loss, clipped = _clipped_loss(ratio, inputs)
    return _Tokens(_weighted(loss, inputs), clipped, torch.zeros_like(clipped), -log_ratio)


def _gpg(inputs: _Inputs) -> _Tokens:
    """Group policy gradient: −A·log p, without a ratio (https://arxiv.org/abs/2504.02546)."""
    nothing = torch.zeros_like(inputs.log_prob)
    return _Tokens(_weighted(-inputs.advantages * inputs.log_prob, inputs), nothing, nothing, nothing)


def _covariance(inputs: _Inputs) -> Tensor:
    """Each token's (A − mean A)·(log p − mean log p), over the valid tokens of these rows."""
    log_prob = inputs.log_prob.detach()
    advantages = inputs.advantages
    return (advantages - masked_mean(advantages, inputs.mask)) * (log_prob - masked_mean(log_prob, inputs.mask))


def _clip_cov(inputs: _Inputs) -> _Tokens:
    """Clip-Cov (https://arxiv.org/abs/2505.22617): no gradient for a few of the tokens whose covariance is large.

    They are drawn, by torch's default generator, from those with a covariance between clip_cov_lb and clip_cov_ub that
    PPO's clip left alone; clip_cov_ratio of the tokens, at least one unless the ratio is 0.
    """
    options = inputs.config.policy_loss
    log_ratio = inputs.bounded_log_ratio
    loss, clipped = _clipped_loss(log_ratio.exp(), inputs)
    covariance = _covariance(inputs)
    large = (covariance > options.clip_cov_lb) & (covariance < options.clip_cov_ub) & ~clipped & inputs.mask
    candidates = large.flatten().nonzero()[:, 0]
    wanted = max(int(options.clip_cov_ratio * int(inputs.mask.sum())), 1) if options.clip_cov_ratio > 0 else 0
    chosen = candidates[torch.randperm(len(candidates))[:wanted].to(candidates.device)]
    dropped = torch.zeros_like(large.flatten()).index_fill(0, chosen, True).view_as(large)
    return _Tokens(_weighted(loss.masked_fill(dropped, 0), inputs), dropped, torch.zeros_like(dropped), -log_ratio)


def _kl_cov(inputs: _Inputs) -> _Tokens:
    """KL-Cov (https://arxiv.org/abs/2505.22617): −A·r, and ppo_kl_coef·|log r| more where the covariance is largest.

    That is kl_cov_ratio of the tokens, at least one unless the ratio is 0. Its ppo_kl is the mean of |log r|.
    """
    options = inputs.config.policy_loss
    log_ratio = inputs.bounded_log_ratio
    distance = log_ratio.abs()
    covariance = _covariance(inputs).masked_fill(~inputs.mask, -torch.inf)
    valid = int(inputs.mask.sum())
    wanted = min(max(int(options.kl_cov_ratio * valid), 1), valid) if options.kl_cov_ratio > 0 else 0
    largest = covariance.flatten().topk(wanted).indices
    chosen = torch.zeros_like(covariance.flatten()).index_fill(0, largest, 1).view_as(covariance)
    loss = -inputs.advantages * log_ratio.exp() + options.ppo_kl_coef * distance * chosen
    nothing = torch.zeros_like(loss)
    return _Tokens(_weighted(loss, inputs), nothing, nothing, distance)


def _geo_mean(inputs: _Inputs) -> _Tokens:
    """Geometric-mean policy optimization (https://arxiv.org/abs/2507.20673), a loss per row.

    Log ratios are clipped in log space to [−low, high], on the pessimistic side; the ratio of a row is the geometric
    mean of its tokens', and so is its importance weight. Every token of a row gets the row's loss, so that the mean
    over tokens, then rows, is the mean over rows.
    """
    log_ratio = inputs.log_ratio
    held = log_ratio.clamp(-inputs.config.clip_ratio_low, inputs.config.clip_ratio_high)
    sign = inputs.advantages.sign()
    pessimistic = sign * torch.minimum(sign * log_ratio, sign * held)
    loss = -masked_mean(inputs.advantages, inputs.mask, dim=-1) * masked_mean(pessimistic, inputs.mask, dim=-1).exp()
    if inputs.weights is not None:
        loss = loss * masked_mean((inputs.weights + 1e-10).log(), inputs.mask, dim=-1).exp()
    clipped = log_ratio != held
    above, below = clipped & (inputs.advantages > 0), clipped & (inputs.advantages < 0)
    return _Tokens(loss[:, None].expand_as(log_ratio), above, below, -log_ratio)


_LOSSES |= {
    "vanilla": _vanilla,
    "gspo": _gspo,
    "gpg": _gpg,
    "clip_cov": _clip_cov,
    "kl_cov": _kl_cov,
    "geo_mean": _geo_mean,
}

"""The optimizer's part of a step: epochs of mini batches, each made of micro batches whose gradients are summed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from rlcompare.collect.reference.batch import Batch
from rlcompare.collect.reference.config.schema import ActorConfig, Config, CriticConfig, OptimConfig
from rlcompare.collect.reference.distributed import World
from rlcompare.collect.reference.loss import Totals, agg_loss, kl_loss, policy_loss, value_loss
from rlcompare.collect.reference.model import response_log_probs, response_values
from rlcompare.collect.reference.sharding import clip_gradients

Tick = Callable[[str], None]
"""Called with ``micro_batch`` or ``mini_batch`` when one has ended."""


@dataclass(frozen=True)
class Trained:
    """A model that is being trained, with its optimizer."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    scheduler: torch.optim.lr_scheduler.LRScheduler

    @property
    def learning_rate(self) -> float:
        """The rate of the next optimizer step."""
        return float(self.scheduler.get_last_lr()[0])


def make_trained(model: nn.Module, optim: OptimConfig, total_steps: int) -> Trained:
    """AdamW; its rate is constant after a linear warm-up of ``lr_warmup_steps``, else of a share of all steps."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=optim.lr, weight_decay=optim.weight_decay)
    warmup = optim.lr_warmup_steps if optim.lr_warmup_steps >= 0 else int(optim.lr_warmup_steps_ratio * total_steps)
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / max(1, warmup)) if warmup else 1.0)
    return Trained(model, optimizer, rate)


LossOf = Callable[[Batch, Totals], tuple[torch.Tensor, dict[str, float]]]
"""A micro batch's share of the mini batch's loss and metrics, which are sums over all micro batches and ranks."""


class Updater:
    """Iterates over a batch as verl does, for any loss."""

    def __init__(self, trained: Trained, config: ActorConfig | CriticConfig, n: int, world: World, tick: Tick) -> None:
        self._trained = trained
        self._config = config
        self._world = world
        self._tick = tick
        self._mini_rows = config.ppo_mini_batch_size * n // world.size

    def is_on_policy(self, batch: Batch) -> bool:
        """Whether there is one mini batch and one epoch: the trained policy is then the one that generated."""
        return self._config.ppo_epochs == 1 and len(batch) <= self._mini_rows

    def run(self, batch: Batch, loss_of: LossOf) -> dict[str, float]:
        """Trains on this rank's rows.

        Returns:
            Means over mini batches of the metrics of ``loss_of``, and of the gradient's norm as ``grad_norm``.
        """
        self._trained.model.train()
        sums: dict[str, float] = {}
        minis = 0
        for mini in self._mini_batches(batch):
            for name, value in self._mini_batch(mini, loss_of).items():
                sums[name] = sums.get(name, 0.0) + value
            minis += 1
            self._tick("mini_batch")
        self._trained.scheduler.step()
        norm = sums.pop("grad_norm") / minis  # already over all ranks
        return self._world.sums({name: value / minis for name, value in sums.items()}) | {"grad_norm": norm}

    def _mini_batches(self, batch: Batch) -> Iterator[Batch]:
        for _ in range(self._config.ppo_epochs):
            order = torch.randperm(len(batch)).to(batch.scores.device) if self._config.shuffle else slice(None)
            yield from batch.rows(order).split(self._mini_rows)

    def _mini_batch(self, mini: Batch, loss_of: LossOf) -> dict[str, float]:
        rows = {"tokens": float(mini.response_mask.sum()), "sequences": float(len(mini))}
        totals = Totals(**self._world.sums(rows))
        self._trained.optimizer.zero_grad()
        metrics: dict[str, float] = {}
        for micro in mini.split(self._config.ppo_micro_batch_size_per_gpu):
            loss, found = loss_of(micro, totals)
            # FSDP averages gradients over ranks, but the losses of all ranks must be summed.
            (loss * self._world.size).backward()  # type: ignore[no-untyped-call]
            for name, value in found.items():
                metrics[name] = metrics.get(name, 0.0) + value
            self._tick("micro_batch")
        metrics["grad_norm"] = clip_gradients(self._trained.model, self._config.grad_clip)
        if math.isfinite(metrics["grad_norm"]):  # as in verl: else the weights would become NaN; equal on all ranks
            self._trained.optimizer.step()
        return metrics


def update_actor(trained: Trained, batch: Batch, config: Config, world: World, tick: Tick) -> dict[str, float]:
    """Trains the actor on this rank's rows; verl's metrics ``actor/…``."""
    actor = config.actor_rollout_ref.actor
    updater = Updater(trained, actor, config.actor_rollout_ref.rollout.n, world, tick)
    on_policy = updater.is_on_policy(batch)
    temperature = config.actor_rollout_ref.rollout.temperature
    policy = policy_loss(actor.policy_loss.loss_mode)

    def loss_of(micro: Batch, totals: Totals) -> tuple[torch.Tensor, dict[str, float]]:
        assert micro.old_log_probs is not None and micro.advantages is not None
        mask, mode = micro.response_mask, actor.loss_agg_mode
        new, entropy = response_log_probs(trained.model, micro, temperature, actor.entropy_coeff != 0)
        old = new.detach() if on_policy else micro.old_log_probs
        loss, metrics = policy(old, new, micro.advantages, mask, mode, actor, micro.weights, totals)
        metrics["actor/pg_loss"] = float(loss.detach())
        if entropy is not None:
            loss = loss - actor.entropy_coeff * agg_loss(entropy, mask, mode, totals)
        if actor.use_kl_loss and micro.ref_log_probs is not None:
            kl = kl_loss(new, micro.ref_log_probs, mask, actor.kl_loss_type, mode, totals)
            loss = loss + actor.kl_loss_coef * kl
            metrics["actor/kl_loss"] = float(kl.detach())
        return loss, metrics

    rate = trained.learning_rate
    metrics = updater.run(batch, loss_of)
    metrics["actor/grad_norm"] = metrics.pop("grad_norm")
    metrics["actor/lr"] = rate
    if actor.use_kl_loss:
        metrics["actor/kl_coef"] = actor.kl_loss_coef
    return metrics


def update_critic(trained: Trained, batch: Batch, config: Config, world: World, tick: Tick) -> dict[str, float]:
    """Trains the critic on this rank's rows; verl's metrics ``critic/…``."""
    critic = config.critic
    updater = Updater(trained, critic, config.actor_rollout_ref.rollout.n, world, tick)

    def loss_of(micro: Batch, totals: Totals) -> tuple[torch.Tensor, dict[str, float]]:
        assert micro.returns is not None and micro.values is not None
        predicted = response_values(trained.model, micro)
        loss, metrics = value_loss(
            predicted,
            micro.returns,
            micro.values,
            micro.response_mask,
            cliprange_value=critic.cliprange_value,
            loss_agg_mode=config.actor_rollout_ref.actor.loss_agg_mode,  # verl's default for the critic
            totals=totals,
        )
        return loss, metrics | {"critic/vf_loss": float(loss.detach())}

    rate = trained.learning_rate
    metrics = updater.run(batch, loss_of)
    metrics["critic/grad_norm"] = metrics.pop("grad_norm")
    metrics["critic/lr"] = rate
    return metrics

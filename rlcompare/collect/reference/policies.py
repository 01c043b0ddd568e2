"""The models of a run: the actor, its copy that generates, the frozen reference, and the critic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from torch import nn

from rlcompare.collect.reference.batch import Batch
from rlcompare.collect.reference.config.schema import Config
from rlcompare.collect.reference.distributed import World
from rlcompare.collect.reference.model import (
    PRESETS,
    Decoder,
    DecoderConfig,
    ValueModel,
    load_hf,
    response_log_probs,
    response_values,
)
from rlcompare.collect.reference.rollout import rollout_copy, sync_weights
from rlcompare.collect.reference.sharding import shard, whole_weights
from rlcompare.collect.reference.update import Trained, make_trained

Tick = Callable[[], None]
Model = TypeVar("Model", bound=nn.Module)


class Policies:
    """Models and optimizers of one process.

    Attributes:
        actor: the policy that is trained.
        reference: the policy as it was at the start; None if no KL penalty needs it.
        critic: None unless ``algorithm.adv_estimator=gae``.
    """

    def __init__(self, config: Config, world: World) -> None:
        self._config = config
        self._world = world
        actor = config.actor_rollout_ref.actor
        steps = config.trainer.total_training_steps
        policy = self._decoder()
        self.decoder_config: DecoderConfig = policy.config
        self._rollout = rollout_copy(policy, getattr(torch, config.actor_rollout_ref.rollout.dtype))
        self.reference: nn.Module | None = None
        if actor.use_kl_loss or config.algorithm.use_kl_in_reward:
            self.reference = shard(self._decoder().requires_grad_(False).eval(), actor.strategy, world)
        self.actor = make_trained(shard(policy, actor.strategy, world), actor.optim, steps)
        self.critic: Trained | None = None
        if config.algorithm.adv_estimator == "gae":
            body = ValueModel(policy.config, seed=config.data.seed + 1)
            body.gradient_checkpointing = config.actor_rollout_ref.model.enable_gradient_checkpointing
            critic = shard(self._placed(body), actor.strategy, world)
            self.critic = make_trained(critic, config.critic.optim, steps)

    @property
    def vocab_size(self) -> int:
        """Of the policy."""
        return self.decoder_config.vocab_size

    def _decoder(self) -> Decoder:
        path = self._config.actor_rollout_ref.model.path
        model = Decoder(PRESETS[path], seed=self._config.data.seed) if path in PRESETS else load_hf(path)
        model.gradient_checkpointing = self._config.actor_rollout_ref.model.enable_gradient_checkpointing
        return self._placed(model)

    def _placed(self, model: Model) -> Model:
        dtype = getattr(torch, self._config.actor_rollout_ref.actor.fsdp_config.model_dtype)
        return model.to(self._world.device, dtype)

    def rollout_model(self, refresh: bool) -> Decoder:
        """The copy that generates.

        Args:
            refresh: copy the actor's current weights; else keep those of the last call.
        """
        if refresh:
            with whole_weights(self.actor.model) as source:
                sync_weights(source, self._rollout)
        return self._rollout

    def log_probs(self, model: nn.Module, batch: Batch, rows: int, tick: Tick) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities and entropies of the responses, (N, R) both, ``rows`` at a time.

        Args:
            tick: called after each micro batch.
        """
        temperature = self._config.actor_rollout_ref.rollout.temperature
        model.eval()
        parts: list[tuple[torch.Tensor, torch.Tensor]] = []
        with torch.no_grad():
            for micro in batch.split(rows):
                parts.append(response_log_probs(model, micro, temperature))
                tick()
        return _joined(part[0] for part in parts), _joined(part[1] for part in parts)

    def values(self, batch: Batch, tick: Tick) -> torch.Tensor:
        """The critic's values (N, R)."""
        assert self.critic is not None
        self.critic.model.eval()
        parts: list[torch.Tensor] = []
        with torch.no_grad():
            for micro in batch.split(self._config.critic.ppo_micro_batch_size_per_gpu):
                parts.append(response_values(self.critic.model, micro))
                tick()
        return _joined(parts)


def _joined(parts: Iterable[torch.Tensor]) -> torch.Tensor:
    return torch.cat(list(parts))

"""Generates responses with a key-value cache, from a copy of the policy in the rollout's own dtype.

Shapes: B prompts, N = B·n rows, P and R the widths of prompt and response, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, nn

from rlcompare.collect.reference.layers import KVCache
from rlcompare.collect.reference.model import Decoder, positions, token_log_probs
from rlcompare.collect.reference.task import EOS, PAD, Prompts
from rlcompare.errors import UsageError

_FSDP1_PREFIX = "_fsdp_wrapped_module."
"""FSDP1's addition to the parameter names of each module that it wraps."""


@dataclass(frozen=True)
class Rollout:
    """n responses to each prompt; rows of one prompt are consecutive."""

    input_ids: Tensor
    """(N, P+R): the prompt, padded on the left, and the response, padded on the right."""
    attention_mask: Tensor
    """(N, P+R) int64."""
    position_ids: Tensor
    """(N, P+R)."""
    responses: Tensor
    """(N, R)."""
    response_mask: Tensor
    """(N, R) float32: 1 up to and including the end token."""
    rollout_log_probs: Tensor
    """(N, R) float32: after temperature, before top-k and top-p, from logits of the rollout's dtype; 0 at padding."""
    decode_steps: int
    """Forward passes after the prompts' own. The first token needs none."""

    def map(self, change: Callable[[Tensor], Tensor]) -> Rollout:
        """Applies ``change`` to every tensor: to select rows, or move to another device."""
        changed: dict[str, Any] = {name: change(getattr(self, name)) for name in _TENSORS}
        return replace(self, **changed)


_TENSORS = [field.name for field in fields(Rollout) if field.name != "decode_steps"]


def join(rollouts: Sequence[Rollout]) -> Rollout:
    """The rows of all, in order. Decode steps are summed, since the rollouts ran one after the other."""
    joined = {name: torch.cat([getattr(rollout, name) for rollout in rollouts]) for name in _TENSORS}
    return Rollout(**joined, decode_steps=sum(rollout.decode_steps for rollout in rollouts))


def rollout_copy(model: Decoder, dtype: torch.dtype) -> Decoder:
    """A copy of the policy in ``dtype``, whole on this rank. If ``model`` is sharded, all ranks must call this."""
    device = next(model.parameters()).device
    copy = Decoder(model.config, seed=None).to(device=device, dtype=dtype).requires_grad_(False).eval()
    sync_weights(model, copy)
    return copy


@torch.no_grad()
def sync_weights(source: nn.Module, target: Decoder) -> None:
    """Copy all weights of ``source`` into ``target``, cast to its dtype.

    Gathers one parameter at a time if ``source`` is sharded by FSDP2: a collective, which all ranks must enter.
    With FSDP1, ``summon_full_params`` must be active.
    """
    weights = dict(target.named_parameters())
    for name, parameter in source.named_parameters():
        gather = getattr(parameter, "full_tensor", None)
        weights.pop(name.replace(_FSDP1_PREFIX, "")).copy_(gather() if gather else parameter)
    if weights:
        raise ValueError(f"the source has no {', '.join(weights)}")


def generate(
    model: Decoder, prompts: Prompts, *, n: int, temperature: float, top_k: int, top_p: float, do_sample: bool,
    ignore_eos: bool, max_response_length: int, generator: torch.Generator | None,
    on_decode_step: Callable[[int], None] | None = None,
) -> Rollout:  # fmt: skip
    """n responses to each prompt, of up to ``max_response_length`` tokens.

    Args:
        model: the rollout's copy of the policy, see ``rollout_copy``.
        top_k: sample from the k likeliest tokens only; -1 or 0 for all.
        top_p: sample from the likeliest tokens that together reach this probability (after top-k); 1 for all.
        do_sample: False takes the likeliest token instead.
        ignore_eos: go on after the end token, so that every response has ``max_response_length`` tokens.
        generator: of the samples, on the model's device.
        on_decode_step: called with 0, 1, … after each decode step.

    Raises:
        UsageError: temperature, top_k or top_p is out of range.
    """
    _check(temperature, top_k, top_p)
    with torch.inference_mode():
        state = _State(model, prompts, n, max_response_length)
        logits = state.prefill()
        steps = 0
        for index in range(max_response_length):
            logits = logits.float() / temperature
            tokens = _choose(logits, top_k, top_p, do_sample, generator)
            alive = state.add(index, tokens, token_log_probs(logits, tokens), ignore_eos)
            if not alive or index + 1 == max_response_length:
                break
            logits = state.decode(index)
            steps += 1
            if on_decode_step:
                on_decode_step(index)
    return state.result(steps)


def _check(temperature: float, top_k: int, top_p: float) -> None:
    if not temperature > 0:
        raise UsageError(
            f"actor_rollout_ref.rollout.temperature={temperature}: must be above 0; do_sample=false takes the "
            "likeliest token"
        )
    if top_k < -1:
        raise UsageError(f"actor_rollout_ref.rollout.top_k={top_k}: must be -1 (all tokens) or at least 1")
    if not 0 < top_p <= 1:
        raise UsageError(f"actor_rollout_ref.rollout.top_p={top_p}: must be above 0 and at most 1 (all tokens)")


def _choose(logits: Tensor, top_k: int, top_p: float, do_sample: bool, generator: torch.Generator | None) -> Tensor:
    """One token (N,) for each row of logits (N, V)."""
    if not do_sample:
        return logits.argmax(-1)
    if top_k < 1 and top_p == 1:
        return torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]
    kept, tokens = logits.topk(min(top_k if top_k > 0 else logits.shape[-1], logits.shape[-1]))
    probabilities = kept.softmax(-1)
    likelier = probabilities.cumsum(-1) - probabilities
    # Exactly 0 for the likeliest token, which is therefore always kept.
    probabilities = probabilities.masked_fill(likelier >= top_p, 0.0) if top_p < 1 else probabilities
    return tokens.gather(-1, torch.multinomial(probabilities, 1, generator=generator))[:, 0]


class _State:
    """The sequences while they grow."""

    def __init__(self, model: Decoder, prompts: Prompts, n: int, max_response_length: int):
        self.model, self.prompts, self.n = model, prompts, n
        self.prompt_width = prompts.input_ids.shape[1]
        device = prompts.input_ids.device
        shape = (prompts.input_ids.shape[0] * n, max_response_length)
        self.responses = torch.full(shape, PAD, dtype=torch.int64, device=device)
        self.log_probs = torch.zeros(shape, dtype=torch.float32, device=device)
        prompt_mask = prompts.attention_mask.repeat_interleave(n, dim=0)
        self.mask = torch.cat((prompt_mask, torch.zeros_like(self.responses)), dim=1)
        self.lengths = prompt_mask.sum(-1, keepdim=True)
        self.alive = torch.ones(shape[0], dtype=torch.bool, device=device)
        self.cache = self._cache(shape[0], self.prompt_width + max_response_length)

    def _cache(self, rows: int, capacity: int) -> KVCache:
        weight = self.model.embed_tokens.weight
        return KVCache(self.model.config, rows, capacity, weight.dtype, weight.device)

    def prefill(self) -> Tensor:
        """Logits (N, V) after the prompts. Each prompt is computed once; its keys and values are copied n times."""
        ids, mask = self.prompts.input_ids, self.prompts.attention_mask
        once = self._cache(ids.shape[0], self.prompt_width)
        logits: Tensor = self.model(ids, mask, positions(mask), once, logits_to_keep=1)
        self.cache.fill_from(once, self.n)
        return logits[:, 0].repeat_interleave(self.n, dim=0)

    def decode(self, index: int) -> Tensor:
        """Logits (N, V) after the response's token ``index``, whose cache entry is made on the way."""
        width = self.prompt_width + index + 1
        token = self.responses[:, index : index + 1]
        logits: Tensor = self.model(token, self.mask[:, :width], self.lengths + index, self.cache)
        return logits[:, 0]

    def add(self, index: int, tokens: Tensor, log_probs: Tensor, ignore_eos: bool) -> bool:
        """Append a token to the rows that have not ended; returns whether any goes on."""
        self.responses[:, index] = torch.where(self.alive, tokens, PAD)
        self.log_probs[:, index] = torch.where(self.alive, log_probs, 0.0)
        self.mask[:, self.prompt_width + index] = self.alive
        if ignore_eos:
            return True
        self.alive &= tokens != EOS
        return bool(self.alive.any())

    def result(self, steps: int) -> Rollout:
        """As ordinary tensors: autograd refuses those of inference mode."""
        prompt_ids = self.prompts.input_ids.repeat_interleave(self.n, dim=0)
        mask, responses = self.mask.clone(), self.responses.clone()
        return Rollout(
            input_ids=torch.cat((prompt_ids, responses), dim=1),
            attention_mask=mask,
            position_ids=positions(mask),
            responses=responses,
            response_mask=mask[:, self.prompt_width :].float(),
            rollout_log_probs=self.log_probs.clone(),
            decode_steps=steps,
        )

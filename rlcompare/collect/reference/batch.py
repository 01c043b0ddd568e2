"""The rows of a training step: prompts, responses, and the values computed for them phase by phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import torch

from rlcompare.collect.reference.distributed import World


@dataclass(frozen=True)
class Batch:
    """N rows, those of one prompt consecutive; P prompt tokens (left-padded) and R response tokens.

    Attributes:
        input_ids, attention_mask, position_ids: (N, P + R).
        responses: (N, R) token ids.
        response_mask: (N, R), 1 up to and including the end token.
        rollout_log_probs: (N, R), of the rollout's own model and type; None without ``rollout.calculate_log_probs``.
        scores: (N,), the reward of the whole response.
        groups: (N,), equal for rows of one prompt.
        old_log_probs, ref_log_probs, values, advantages, returns, weights: (N, R); None until their phase.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    position_ids: torch.Tensor
    responses: torch.Tensor
    response_mask: torch.Tensor
    rollout_log_probs: torch.Tensor | None
    scores: torch.Tensor
    groups: torch.Tensor
    old_log_probs: torch.Tensor | None = None
    ref_log_probs: torch.Tensor | None = None
    values: torch.Tensor | None = None
    advantages: torch.Tensor | None = None
    returns: torch.Tensor | None = None
    weights: torch.Tensor | None = None

    def __len__(self) -> int:
        return self.input_ids.shape[0]

    @property
    def prompt_lengths(self) -> torch.Tensor:
        """(N,), tokens of each prompt."""
        return self.attention_mask.sum(-1) - self.response_lengths

    @property
    def response_lengths(self) -> torch.Tensor:
        """(N,), tokens of each response."""
        return self.response_mask.sum(-1).long()

    def tensors(self) -> dict[str, torch.Tensor]:
        """The tensors that are not None, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if value is not None}

    def rows(self, index: torch.Tensor | slice) -> Batch:
        """Some of the rows."""
        return replace(self, **{name: value[index] for name, value in self.tensors().items()})

    def split(self, size: int) -> Iterator[Batch]:
        """Consecutive parts of ``size`` rows; the last may have fewer."""
        for start in range(0, len(self), size):
            yield self.rows(slice(start, start + size))

    def gathered(self, world: World) -> Batch:
        """The rows of all ranks."""
        return replace(self, **{name: world.gather_rows(value) for name, value in self.tensors().items()})

    def own(self, world: World) -> Batch:
        """This rank's part of the rows of all ranks."""
        return replace(self, **{name: world.own_rows(value) for name, value in self.tensors().items()})


def concatenated(parts: list[Batch]) -> Batch:
    """Batches of the same fields, one after the other."""
    if len(parts) == 1:
        return parts[0]
    named = [part.tensors() for part in parts]
    return replace(parts[0], **{name: torch.cat([tensors[name] for tensors in named]) for name in named[0]})

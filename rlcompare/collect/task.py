"""The built-in task: answer with symbols of the class that the prompt is made of.

Token ids are PAD, BOS, EOS and then symbols; a symbol's class is its id modulo ``CLASSES``. The score counts symbols of
the right class against the room that there was for them, so that it is graded, groups of responses differ, and it pays
to use the whole length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from rlcompare.errors import UsageError

PAD, BOS, EOS = 0, 1, 2
FIRST_SYMBOL = 3
CLASSES = 4
SHORTEST_PROMPT = 3
"""BOS and two symbols."""


@dataclass(frozen=True)
class Prompts:
    """Prompts of different lengths, padded on the left to P = max_prompt_length."""

    input_ids: Tensor
    """(B, P) int64."""
    attention_mask: Tensor
    """(B, P) int64."""
    answers: Tensor
    """(B,) int64: the class that is asked for."""

    def map(self, change: Callable[[Tensor], Tensor]) -> Prompts:
        """Every tensor changed alike: some of the rows, each row n times, another device."""
        return Prompts(change(self.input_ids), change(self.attention_mask), change(self.answers))

    def repeat(self, n: int) -> Prompts:
        """Each row n times, in the order of a rollout's rows."""
        return self.map(lambda tensor: tensor.repeat_interleave(n, dim=0))


class Task:
    """Prompts without end, the same for one (seed, step) everywhere, and their rule-based reward.

    Raises:
        UsageError: the vocabulary or the prompts' length leaves no room for the task.
    """

    def __init__(self, vocab_size: int, max_prompt_length: int, seed: int):
        if max_prompt_length < SHORTEST_PROMPT:
            raise UsageError(f"data.max_prompt_length={max_prompt_length}: the task needs at least {SHORTEST_PROMPT}")
        self.symbols_per_class = (vocab_size - FIRST_SYMBOL) // CLASSES
        if self.symbols_per_class < 1:
            raise UsageError(f"a vocabulary of {vocab_size}: the task needs at least {FIRST_SYMBOL + CLASSES} tokens")
        self.max_prompt_length = max_prompt_length
        self.seed = seed

    def prompts(self, step: int, batch_size: int, attempt: int = 0) -> Prompts:
        """The prompts of a training step, on the CPU.

        Args:
            attempt: other prompts for the same step, for an algorithm that drops some and generates again.
        """
        generator = torch.Generator().manual_seed(((self.seed * 1_000_003 + step) * 1_009 + attempt) % 2**63)
        width = self.max_prompt_length
        lengths = torch.randint(SHORTEST_PROMPT, width + 1, (batch_size, 1), generator=generator)
        answers = torch.randint(CLASSES, (batch_size, 1), generator=generator)
        ordinal = torch.randint(self.symbols_per_class, (batch_size, width), generator=generator)
        symbols = FIRST_SYMBOL + CLASSES * ordinal + (answers - FIRST_SYMBOL) % CLASSES
        place = torch.arange(width) - (width - lengths)
        ids = torch.where(place > 0, symbols, torch.where(place == 0, BOS, PAD))
        return Prompts(ids, (place >= 0).long(), answers[:, 0])

    def reward(self, prompts: Prompts, responses: Tensor, response_mask: Tensor) -> Tensor:
        """Scores (N,) in [0, 1], float32: symbols of the class that was asked for, over R.

        Args:
            prompts: one row for each response, see ``Prompts.repeat``.
            responses: (N, R).
            response_mask: (N, R), 0 at padding.
        """
        right = (responses >= FIRST_SYMBOL) & (responses % CLASSES == prompts.answers[:, None])
        return (right & (response_mask > 0)).float().mean(-1)

"""The built-in task: answer with symbols that come after all of the prompt's, without repeating one too soon.

Token ids are PAD, BOS, EOS and then symbols, in their order. Prompts use the lower three quarters of the symbols. The
score is graded, relative to the maximum length, so that responses to one prompt differ and longer answers score higher.
Repetitions do not count: else a policy that has learnt the order would collapse onto one symbol, and scores would no
longer differ, neither within a group nor between two policies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from rlcompare.errors import UsageError

PAD, BOS, EOS = 0, 1, 2
FIRST_SYMBOL = 3
MEMORY = 16
"""A symbol counts again after this many other tokens."""
_SHORTEST_PROMPT = 3
_FEWEST_SYMBOLS = 4


@dataclass(frozen=True)
class Prompts:
    """Prompts of different lengths, padded on the left to P = max_prompt_length."""

    input_ids: Tensor
    """(B, P) int64."""
    attention_mask: Tensor
    """(B, P) int64."""
    answers: Tensor
    """(B,) int64: the prompt's last symbol in the order. Right symbols come after it."""

    def map(self, change: Callable[[Tensor], Tensor]) -> Prompts:
        """Every tensor changed alike: some of the rows, each row n times, another device."""
        return Prompts(change(self.input_ids), change(self.attention_mask), change(self.answers))

    def repeat(self, n: int) -> Prompts:
        """Each row n times, in the order of a rollout's rows."""
        return self.map(lambda tensor: tensor.repeat_interleave(n, dim=0))


class Task:
    """An endless supply of prompts, the same everywhere for one (seed, step), with a rule-based reward.

    Raises:
        UsageError: the vocabulary or the prompts' length leaves no room for the task.
    """

    def __init__(self, vocab_size: int, max_prompt_length: int, seed: int):
        if max_prompt_length < _SHORTEST_PROMPT:
            raise UsageError(f"data.max_prompt_length={max_prompt_length}: the task needs at least {_SHORTEST_PROMPT}")
        symbols = vocab_size - FIRST_SYMBOL
        if symbols < _FEWEST_SYMBOLS:
            least = FIRST_SYMBOL + _FEWEST_SYMBOLS
            raise UsageError(f"a vocabulary of {vocab_size} tokens: the task needs at least {least}")
        self.prompt_symbols_end = FIRST_SYMBOL + symbols * 3 // 4
        self.max_prompt_length = max_prompt_length
        self.seed = seed

    def prompts(self, step: int, batch_size: int, attempt: int = 0) -> Prompts:
        """The prompts of a training step, on the CPU: BOS and two symbols or more.

        Args:
            attempt: gives other prompts for the same step, for an algorithm that drops some and generates again.
        """
        generator = torch.Generator().manual_seed(((self.seed * 1_000_003 + step) * 1_009 + attempt) % 2**63)
        width = self.max_prompt_length
        lengths = torch.randint(_SHORTEST_PROMPT, width + 1, (batch_size, 1), generator=generator)
        symbols = torch.randint(FIRST_SYMBOL, self.prompt_symbols_end, (batch_size, width), generator=generator)
        place = torch.arange(width) - (width - lengths)
        ids = torch.where(place > 0, symbols, torch.where(place == 0, BOS, PAD))
        return Prompts(ids, (place >= 0).long(), ids.amax(-1))

    def reward(self, prompts: Prompts, responses: Tensor, response_mask: Tensor) -> Tensor:
        """Scores (N,) in [0, 1], float32: right symbols that none of the ``MEMORY`` tokens before is, over R.

        Args:
            prompts: one row for each response, see ``Prompts.repeat``.
            responses: (N, R).
            response_mask: (N, R), 0 at padding.
        """
        before = functional.pad(responses, (MEMORY, 0), value=-1)[:, :-1].unfold(1, MEMORY, 1)
        repeated = (before == responses[..., None]).any(-1)
        right = responses > prompts.answers[:, None]
        return (right & ~repeated & (response_mask > 0)).float().mean(-1)

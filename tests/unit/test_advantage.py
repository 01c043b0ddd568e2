"""Advantages against loops over single rows and tokens."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rlcompare.collect.reference.advantage import (  # noqa: E402
    apply_kl_penalty,
    gae_advantage,
    grpo_advantage,
    has_variance,
    token_level_scores,
    whiten,
)


def rows(seed: int, n: int = 12, length: int = 9) -> tuple[Any, Any]:
    """(N, R) numbers and a mask whose first row is full, whose second is empty and whose third has a hole."""
    random = np.random.default_rng(seed)
    mask = (np.arange(length) < random.integers(1, length + 1, (n, 1))).astype(float)
    mask[0], mask[1], mask[2] = 1, 0, 1
    mask[2, 3:5] = 0
    return random.normal(size=(n, length)), mask


def torched(*arrays: Any) -> list[Any]:
    return [torch.tensor(array) for array in arrays]


@pytest.mark.parametrize("divide", [True, False])
def test_grpo_against_a_loop_over_groups(divide: bool) -> None:
    random = np.random.default_rng(0)
    _, mask = rows(0)
    groups = np.array([7, 7, 3, 3, 3, 9, 7, 3, 1, 1, 1, 1])  # 9 has one response, 1 scores alike
    scores = random.normal(size=12)
    scores[8:] = 0.1
    mask[1] = mask[0]
    rewards = np.zeros_like(mask)
    for row in range(12):
        rewards[row, int(np.flatnonzero(mask[row])[-1])] = scores[row]

    wanted = np.zeros_like(mask)
    for row in range(12):
        mates = [scores[other] for other in range(12) if groups[other] == groups[row]]
        mean, std = 0.0, 1.0
        if len(mates) > 1:
            mean = math.fsum(mates) / len(mates)
            std = math.sqrt(math.fsum((score - mean) ** 2 for score in mates) / (len(mates) - 1))
        for token in range(mask.shape[1]):
            wanted[row, token] = mask[row, token] * (scores[row] - mean) / ((std + 1e-6) if divide else 1.0)

    found, returns = grpo_advantage(*torched(rewards, mask, groups), norm_adv_by_std_in_grpo=divide)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-9)
    assert torch.equal(found, returns)


def test_a_group_that_scores_alike_has_exactly_no_advantage() -> None:
    # GIVEN three times 0.1, whose mean is not 0.1 in float32
    rewards = torch.full((3, 1), 0.1, dtype=torch.float32)
    found, _ = grpo_advantage(rewards, torch.ones(3, 1), torch.zeros(3, dtype=torch.int64))
    assert not found.count_nonzero()


def test_has_variance_keeps_the_groups_whose_scores_differ() -> None:
    scores = torch.tensor([0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 5.0])
    groups = torch.tensor([4, 4, 2, 2, 8, 8, 6])
    assert has_variance(scores, groups).tolist() == [True, True, False, False, False, False, False]


def test_the_order_of_rows_does_not_matter_to_grpo() -> None:
    rewards, mask = torched(*rows(3))
    groups = torch.arange(12) // 4
    found, _ = grpo_advantage(rewards, mask, groups)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    shuffled, _ = grpo_advantage(rewards[order], mask[order], groups[order])
    torch.testing.assert_close(shuffled, found[order])


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (0.9, 0.95), (1.0, 0.0)])
def test_gae_against_a_loop_over_tokens(gamma: float, lam: float) -> None:
    rewards, mask = rows(1)
    values, _ = rows(2)
    advantage = np.zeros_like(mask)
    for row in range(len(mask)):
        tokens = [token for token in range(mask.shape[1]) if mask[row, token]]
        # A_t as the sum that defines it, not as a recursion
        deltas = []
        for place, token in enumerate(tokens):
            after = values[row, tokens[place + 1]] if place + 1 < len(tokens) else 0.0
            deltas.append(rewards[row, token] + gamma * after - values[row, token])
        for place, token in enumerate(tokens):
            advantage[row, token] = sum((gamma * lam) ** k * delta for k, delta in enumerate(deltas[place:]))
    valid = advantage[mask > 0]
    wanted = np.where(mask > 0, (advantage - valid.mean()) / math.sqrt(valid.var(ddof=1) + 1e-8), 0)

    found, returns = gae_advantage(*torched(rewards, values, mask), gamma=gamma, lam=lam)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(returns.numpy(), (advantage + values) * mask, rtol=1e-9, atol=1e-12)


def test_whitening_one_valid_value_leaves_zero() -> None:
    assert whiten(torch.tensor([[3.0, math.nan]]), torch.tensor([[1, 0]])).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("kl_type", ["kl", "abs", "mse", "low_var_kl"])
def test_kl_in_the_reward_against_a_loop(kl_type: str) -> None:
    scores, mask = rows(4)
    old, ref = -np.abs(rows(5)[0]), -np.abs(rows(6)[0])
    estimate = {
        "kl": lambda d: d,
        "abs": abs,
        "mse": lambda d: d * d / 2,
        "low_var_kl": lambda d: math.exp(-d) + d - 1,
    }[kl_type]
    wanted = np.zeros_like(mask)
    means = []
    for row in range(len(mask)):
        penalties = []
        for token in range(mask.shape[1]):
            if mask[row, token]:
                penalties.append(estimate(old[row, token] - ref[row, token]))
                wanted[row, token] = scores[row, token] - 0.25 * penalties[-1]
        means.append(sum(penalties) / len(penalties) if penalties else 0.0)

    rewards, metrics = apply_kl_penalty(*torched(scores, old, ref, mask), kl_type=kl_type, kl_coef=0.25)
    np.testing.assert_allclose(rewards.numpy(), wanted, rtol=1e-9, atol=1e-12)
    assert metrics["actor/reward_kl_penalty"] == pytest.approx(sum(means) / len(means), rel=1e-9)
    assert metrics["actor/reward_kl_penalty_coeff"] == 0.25


def test_the_score_is_at_the_last_valid_token() -> None:
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0]])
    found = token_level_scores(torch.tensor([5.0, 6.0, 7.0, 8.0]), mask)
    assert found.tolist() == [[0, 5, 0, 0], [0, 0, 0, 6], [0, 0, 0, 0], [0, 0, 8, 0]]


def test_padding_that_holds_nan_reaches_nothing() -> None:
    rewards, mask = torched(*rows(7))
    values, _ = torched(*rows(8))
    groups = torch.arange(12) // 4
    dirty = [tensor.masked_fill(mask == 0, math.nan) for tensor in (rewards, values)]
    assert torch.equal(
        gae_advantage(dirty[0], dirty[1], mask, gamma=1.0, lam=0.9)[0],
        gae_advantage(rewards, values, mask, gamma=1.0, lam=0.9)[0],
    )
    assert torch.equal(grpo_advantage(dirty[0], mask, groups)[0], grpo_advantage(rewards, mask, groups)[0])
    penalized, metrics = apply_kl_penalty(dirty[0], dirty[1], dirty[1], mask, kl_type="kl", kl_coef=1.0)
    assert not penalized.isnan().any()
    assert metrics["actor/reward_kl_penalty"] == 0.0

"""The built-in task: its prompts, its rule, and that a policy can learn it."""

from __future__ import annotations

import pytest

from rlcompare.errors import UsageError

torch = pytest.importorskip("torch")

from rlcompare.collect.model import PRESETS, Decoder, response_log_probs  # noqa: E402
from rlcompare.collect.rollout import generate, rollout_copy, sync_weights  # noqa: E402
from rlcompare.collect.task import BOS, CLASSES, EOS, FIRST_SYMBOL, PAD, Task  # noqa: E402


def test_prompts_are_padded_on_the_left_and_made_of_one_class() -> None:
    prompts = Task(128, 16, seed=1).prompts(step=3, batch_size=64)
    assert prompts.input_ids.shape == prompts.attention_mask.shape == (64, 16)
    lengths = set()
    for ids, mask, answer in zip(prompts.input_ids, prompts.attention_mask, prompts.answers, strict=True):
        padding = 16 - int(mask.sum())
        assert mask.tolist() == [0] * padding + [1] * (16 - padding)
        assert ids[:padding].tolist() == [PAD] * padding
        assert ids[padding] == BOS
        symbols = ids[padding + 1 :]
        assert len(symbols) >= 2
        assert symbols.min() >= FIRST_SYMBOL
        assert symbols.max() < 128
        assert {int(symbol) % CLASSES for symbol in symbols} == {int(answer)}
        lengths.add(len(symbols))
    assert len(lengths) > 5
    assert set(prompts.answers.tolist()) == set(range(CLASSES))


def test_prompts_are_given_by_seed_step_and_attempt() -> None:
    first = Task(128, 16, seed=1).prompts(5, 8)
    torch.manual_seed(99)
    again = Task(128, 16, seed=1).prompts(5, 8)
    assert torch.equal(first.input_ids, again.input_ids)
    others = [Task(128, 16, 2).prompts(5, 8), Task(128, 16, 1).prompts(6, 8), Task(128, 16, 1).prompts(5, 8, attempt=1)]
    assert all(not torch.equal(first.input_ids, other.input_ids) for other in others)


def test_the_score_is_the_share_of_the_room_that_holds_the_right_class() -> None:
    task = Task(128, 16, seed=1)
    prompts = task.prompts(1, 1)
    right = FIRST_SYMBOL + (int(prompts.answers[0]) - FIRST_SYMBOL) % CLASSES
    wrong = right + 1
    responses = torch.tensor([[right, right, right, right], [right, EOS, PAD, PAD], [wrong, PAD, BOS, EOS]] * 2)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1]] * 2, dtype=torch.float32)
    mask[3] = 0
    scores = task.reward(prompts.repeat(6), responses, mask)
    assert scores.dtype == torch.float32
    assert scores.tolist() == [1.0, 0.25, 0.0, 0.0, 0.25, 0.0]


@pytest.mark.parametrize(
    ("vocab_size", "width", "named"), [(6, 16, "vocabulary of 6"), (128, 2, "max_prompt_length=2")]
)
def test_no_room_for_the_task(vocab_size: int, width: int, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        Task(vocab_size, width, seed=1)


def test_a_policy_learns_it_within_30_steps() -> None:
    """GRPO at its smallest, through the bfloat16 rollout: one on-policy gradient per step."""
    config = PRESETS["tiny"]
    policy = Decoder(config, seed=1)
    actor = rollout_copy(policy, torch.bfloat16)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
    task, generator = Task(config.vocab_size, 16, seed=1), torch.Generator().manual_seed(1)
    means = []
    for step in range(1, 31):
        prompts = task.prompts(step, 8)
        sync_weights(policy, actor)
        rollout = generate(
            actor, prompts, n=4, temperature=1.0, top_k=-1, top_p=1.0, do_sample=True, ignore_eos=False,
            max_response_length=32, generator=generator,
        )  # fmt: skip
        scores = task.reward(prompts.repeat(4), rollout.responses, rollout.response_mask)
        groups = scores.view(8, 4)
        advantage = ((groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-6)).view(-1, 1)
        log_probs, _ = response_log_probs(policy, rollout, 1.0)
        loss = -(advantage * log_probs).sum() / rollout.response_mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        means.append(float(scores.mean()))
    first, last = sum(means[:5]) / 5, sum(means[-5:]) / 5
    assert 0.05 < first < 0.3
    assert last > first + 0.05

"""The built-in task: its prompts, its rule, and that a policy can learn it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rlcompare.errors import UsageError

torch = pytest.importorskip("torch")

from rlcompare.collect.reference.model import PRESETS, Decoder, response_log_probs  # noqa: E402
from rlcompare.collect.reference.rollout import generate, rollout_copy, sync_weights  # noqa: E402
from rlcompare.collect.reference.task import BOS, EOS, FIRST_SYMBOL, MEMORY, PAD, Prompts, Task  # noqa: E402


def test_prompts_are_padded_on_the_left_and_have_different_lengths() -> None:
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
        assert symbols.max() == answer
        assert answer < 100  # of 128 tokens: room for right symbols
        lengths.add(len(symbols))
    assert len(lengths) > 5


def test_prompts_are_given_by_seed_step_and_attempt() -> None:
    first = Task(128, 16, seed=1).prompts(5, 8)
    torch.manual_seed(99)
    again = Task(128, 16, seed=1).prompts(5, 8)
    assert torch.equal(first.input_ids, again.input_ids)
    others = [Task(128, 16, 2).prompts(5, 8), Task(128, 16, 1).prompts(6, 8), Task(128, 16, 1).prompts(5, 8, attempt=1)]
    assert all(not torch.equal(first.input_ids, other.input_ids) for other in others)


def test_the_score_counts_right_symbols_that_are_not_said_again_too_soon() -> None:
    # GIVEN responses of 20 tokens to a prompt whose last symbol is 50
    room = 20
    prompt = Prompts(torch.tensor([[PAD, BOS, 50, 40]]), torch.tensor([[0, 1, 1, 1]]), torch.tensor([50]))
    cases = [
        (list(range(51, 71)), 20),  # all right
        ([51, 52, 50, 3], 2),  # neither the prompt's own nor one before it
        ([60, 60, 61, 60], 2),  # said again at once and soon
        ([60, *range(70, 70 + MEMORY), 60], MEMORY + 2),  # and again when it is forgotten
        ([60, *range(70, 69 + MEMORY), 60], MEMORY),  # a token too early
        ([BOS, EOS], 0),
    ]
    responses = torch.full((len(cases), room), PAD)
    mask = torch.zeros(len(cases), room)
    for row, (tokens, _) in enumerate(cases):
        responses[row, : len(tokens)] = torch.tensor(tokens)
        mask[row, : len(tokens)] = 1
    # WHEN they are scored THEN it is the count over the room, whatever stands in the padding
    task = Task(128, 16, seed=1)
    expected = [count / room for _, count in cases]
    scores = task.reward(prompt.repeat(len(cases)), responses, mask)
    assert scores.dtype == torch.float32
    assert scores.tolist() == pytest.approx(expected)
    assert task.reward(prompt.repeat(len(cases)), responses.where(mask > 0, 99), mask).tolist() == scores.tolist()


@pytest.mark.parametrize(("vocab_size", "width", "named"), [(6, 16, "of 6 tokens"), (128, 2, "max_prompt_length=2")])
def test_no_room_for_the_task(vocab_size: int, width: int, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        Task(vocab_size, width, seed=1)


def test_the_smallest_vocabulary_has_a_right_answer() -> None:
    prompts = Task(7, 3, seed=1).prompts(1, 32)
    assert prompts.answers.max() < 6


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Threads that wait for each other make operations this small many times slower on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
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
            max_response_length=16, generator=generator,
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
    assert 0.2 < first < 0.4
    assert last > first + 0.15

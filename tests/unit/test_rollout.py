"""Generation: what may be sampled, where responses end, and what the log-probabilities are of."""

from __future__ import annotations

from typing import Any

import pytest

from rlcompare.errors import UsageError

torch = pytest.importorskip("torch")

from rlcompare.collect.reference.model import PRESETS, Decoder, positions, response_log_probs  # noqa: E402
from rlcompare.collect.reference.rollout import Rollout, generate, join, rollout_copy, sync_weights  # noqa: E402
from rlcompare.collect.reference.task import EOS, PAD, Task  # noqa: E402

TINY = PRESETS["tiny"]
PROMPTS = Task(TINY.vocab_size, 16, seed=1).prompts(1, 6)


@pytest.fixture(scope="module")
def policy() -> Decoder:
    return Decoder(TINY, seed=1)


def rolled(model: Decoder, seed: int = 0, **changes: Any) -> Rollout:
    options: dict[str, Any] = {
        "n": 4, "temperature": 1.0, "top_k": -1, "top_p": 1.0, "do_sample": True, "ignore_eos": False,
        "max_response_length": 24,
    }  # fmt: skip
    return generate(model, PROMPTS, **{**options, **changes}, generator=torch.Generator().manual_seed(seed))


def logits_before_each_token(model: Decoder, rollout: Rollout) -> Any:
    width = rollout.responses.shape[1]
    logits = model(rollout.input_ids, rollout.attention_mask, rollout.position_ids)
    return logits[:, -width - 1 : -1].detach()


def test_rows_of_a_prompt_follow_each_other_and_the_masks_agree(policy: Decoder) -> None:
    rollout = rolled(policy)
    assert torch.equal(rollout.input_ids[:, :16], PROMPTS.repeat(4).input_ids)
    assert torch.equal(rollout.input_ids[:, 16:], rollout.responses)
    assert torch.equal(rollout.attention_mask[:, :16], PROMPTS.repeat(4).attention_mask)
    assert torch.equal(rollout.attention_mask[:, 16:].float(), rollout.response_mask)
    assert torch.equal(rollout.position_ids, positions(rollout.attention_mask))
    assert rollout.response_mask.dtype == rollout.rollout_log_probs.dtype == torch.float32
    assert len({tuple(row) for row in rollout.responses.tolist()}) == 24


def test_a_response_ends_with_its_end_token_and_is_padding_from_there(policy: Decoder) -> None:
    rollout = rolled(policy, temperature=1.5, max_response_length=64)
    ended = 0
    for tokens, mask, log_probs in zip(
        rollout.responses.tolist(), rollout.response_mask.tolist(), rollout.rollout_log_probs.tolist(), strict=True
    ):
        length = tokens.index(EOS) + 1 if EOS in tokens else 64
        ended += EOS in tokens
        assert mask == [1.0] * length + [0.0] * (64 - length)
        assert tokens[length:] == [PAD] * (64 - length)
        assert all(value < 0 for value in log_probs[:length])
        assert log_probs[length:] == [0.0] * (64 - length)
    assert 0 < ended < 24


def test_generation_stops_when_every_row_has_ended() -> None:
    # GIVEN a policy that always ends at once
    eager = _Biased(EOS)
    seen: list[int] = []
    rollout = rolled(eager, on_decode_step=seen.append)
    assert rollout.decode_steps == 0 and seen == []
    assert rollout.response_mask.sum(-1).tolist() == [1.0] * 24
    # WHEN the end token is ignored THEN all lengths are the limit
    fixed = rolled(eager, ignore_eos=True, on_decode_step=seen.append)
    assert fixed.decode_steps == 23 and seen == list(range(23))
    assert fixed.response_mask.min() == 1
    assert (fixed.responses == EOS).all()


class _Biased(Decoder):
    """A policy that prefers one token by 50 nats."""

    def __init__(self, token: int):
        super().__init__(TINY, seed=1)
        self.token = token

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        logits = super().forward(*args, **kwargs)
        logits[..., self.token] += 50
        return logits


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_a_float32_rollout_has_the_training_models_log_probs(policy: Decoder, temperature: float) -> None:
    rollout = rolled(rollout_copy(policy, torch.float32), temperature=temperature, top_k=20, top_p=0.9)
    log_probs, _ = response_log_probs(policy, rollout, temperature)
    assert (log_probs - rollout.rollout_log_probs).abs().max() < 1e-5
    # of all tokens, not of the kept ones: those would sum to 1
    logits = logits_before_each_token(policy, rollout) / temperature
    kept = logits.softmax(-1).topk(20).values.sum(-1)
    assert kept.max() < 0.99


def test_a_bfloat16_rollout_differs_measurably(policy: Decoder) -> None:
    rollout = rolled(rollout_copy(policy, torch.bfloat16))
    log_probs, _ = response_log_probs(policy, rollout, 1.0)
    log_ratio = (log_probs - rollout.rollout_log_probs).detach()[rollout.response_mask > 0]
    assert 1e-6 < (log_ratio.exp() - 1 - log_ratio).mean() < 1e-2
    assert torch.isfinite(rollout.rollout_log_probs).all()


def test_greedy_takes_the_likeliest_token(policy: Decoder) -> None:
    rollout = rolled(policy, do_sample=False)
    likeliest = logits_before_each_token(policy, rollout).argmax(-1)
    mask = rollout.response_mask > 0
    assert torch.equal(rollout.responses[mask], likeliest[mask])
    assert torch.equal(rollout.responses[0], rollout.responses[3])


def test_top_k_samples_from_the_k_likeliest(policy: Decoder) -> None:
    rollout = rolled(policy, top_k=3, n=16)
    logits = logits_before_each_token(policy, rollout)
    chosen = logits.gather(-1, rollout.responses[..., None])
    rank = (logits > chosen).sum(-1)[rollout.response_mask > 0]
    assert set(rank.tolist()) == {0, 1, 2}


def test_top_p_samples_from_the_fewest_that_reach_it(policy: Decoder) -> None:
    rollout = rolled(policy, top_p=0.3, n=16)
    probabilities = logits_before_each_token(policy, rollout).softmax(-1)
    chosen = probabilities.gather(-1, rollout.responses[..., None])
    likelier = (probabilities * (probabilities > chosen)).sum(-1)[rollout.response_mask > 0]
    assert likelier.max() < 0.3 + 1e-5
    assert likelier.max() > 0.2
    # a tiny one keeps the likeliest token
    greedy = rolled(policy, top_p=1e-6)
    assert torch.equal(greedy.responses, rolled(policy, do_sample=False).responses)


def test_samples_follow_the_distribution_at_the_temperature(policy: Decoder) -> None:
    """Frequencies of the first token over many samples against softmax(logits / temperature)."""
    one = PROMPTS.map(lambda tensor: tensor[:1])
    rollout = generate(
        policy, one, n=20_000, temperature=0.5, top_k=-1, top_p=1.0, do_sample=True, ignore_eos=False,
        max_response_length=1, generator=torch.Generator().manual_seed(3),
    )  # fmt: skip
    logits = policy(one.input_ids, one.attention_mask, positions(one.attention_mask))[0, -1].detach()
    expected = (logits / 0.5).softmax(-1)
    observed = torch.bincount(rollout.responses[:, 0], minlength=TINY.vocab_size) / 20_000
    assert (observed - expected).abs().max() < 5 * (expected.max() / 20_000).sqrt()
    assert rollout.decode_steps == 0


def test_the_same_generator_gives_the_same_rollout(policy: Decoder) -> None:
    first, again, other = rolled(policy, seed=5), rolled(policy, seed=5), rolled(policy, seed=6)
    assert torch.equal(first.responses, again.responses)
    assert torch.equal(first.rollout_log_probs, again.rollout_log_probs)
    assert not torch.equal(first.responses, other.responses)


def test_a_copy_follows_when_it_is_synchronised(policy: Decoder) -> None:
    source = Decoder(TINY, seed=1)
    copy = rollout_copy(source, torch.bfloat16)
    with torch.no_grad():
        source.norm.weight.mul_(2)
    assert (copy.norm.weight == 1).all()
    sync_weights(source, copy)
    assert (copy.norm.weight == 2).all()
    for (name, weight), (_, copied) in zip(source.named_parameters(), copy.named_parameters(), strict=True):
        assert copied.dtype == torch.bfloat16 and not copied.requires_grad, name
        assert torch.equal(weight.to(torch.bfloat16), copied), name


def test_rollouts_are_ordinary_tensors_that_can_be_chosen_from_and_joined(policy: Decoder) -> None:
    rollout = rolled(policy)
    # autograd can save them, which it refuses for tensors of inference mode
    (torch.ones(1, requires_grad=True) * rollout.response_mask * rollout.rollout_log_probs).sum().backward()
    kept = rollout.map(lambda tensor: tensor[4:8])
    assert torch.equal(kept.responses, rollout.responses[4:8])
    both = join([kept, rollout])
    assert torch.equal(both.rollout_log_probs[4:], rollout.rollout_log_probs)
    assert both.decode_steps == 2 * rollout.decode_steps


@pytest.mark.parametrize(
    ("option", "value"),
    [("temperature", 0.0), ("temperature", float("nan")), ("top_k", -2), ("top_p", 0.0), ("top_p", 1.1)],
)
def test_options_out_of_range_are_refused_by_name(policy: Decoder, option: str, value: float) -> None:
    with pytest.raises(UsageError, match=rf"actor_rollout_ref\.rollout\.{option}="):
        rolled(policy, **{option: value})  # type: ignore[arg-type]

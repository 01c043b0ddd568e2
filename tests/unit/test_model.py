"""The decoder against itself, with and without a cache and padding, and against independent arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rlcompare.collect.reference.layers import DecoderConfig, KVCache  # noqa: E402
from rlcompare.collect.reference.model import (  # noqa: E402
    PRESETS,
    Decoder,
    ValueModel,
    positions,
    response_log_probs,
    response_values,
)
from rlcompare.collect.reference.rollout import Rollout, generate  # noqa: E402
from rlcompare.collect.reference.task import Task  # noqa: E402

TINY = PRESETS["tiny"]


def sequences(rows: int = 3, width: int = 12, seed: int = 0) -> Any:
    return torch.randint(3, TINY.vocab_size, (rows, width), generator=torch.Generator().manual_seed(seed))


def logits_of(model: Decoder, ids: Any, mask: Any = None, **options: Any) -> Any:
    mask = torch.ones_like(ids) if mask is None else mask
    return model(ids, mask, positions(mask), **options).detach()


def a_rollout(model: Decoder, length: int = 10) -> Rollout:
    return generate(
        model, Task(TINY.vocab_size, 16, 1).prompts(1, 4), n=2, temperature=1.0, top_k=-1, top_p=1.0, do_sample=True,
        ignore_eos=False, max_response_length=length, generator=torch.Generator().manual_seed(0),
    )  # fmt: skip


@pytest.mark.parametrize(("preset", "count"), [("tiny", 410_752), ("small", 59_008_000), ("0.5b", 494_032_768)])
def test_parameters_of_the_presets(preset: str, count: int) -> None:
    model = Decoder(PRESETS[preset], seed=None)
    assert sum(parameter.numel() for parameter in model.parameters()) == count


def test_weights_are_given_by_the_seed_alone() -> None:
    state = torch.get_rng_state()
    first, again, other = Decoder(TINY, seed=3), Decoder(TINY, seed=3), Decoder(TINY, seed=4)
    assert torch.equal(state, torch.get_rng_state())
    for weight, same in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(weight, same)
    assert not torch.equal(first.embed_tokens.weight, other.embed_tokens.weight)
    assert first.embed_tokens.weight.detach().std().item() == pytest.approx(TINY.initializer_range, rel=0.05)


def test_grouped_query_attention_has_fewer_keys_and_repeats_them() -> None:
    """A grouped model equals a full one whose key and value heads are those of the groups, repeated."""
    grouped = Decoder(TINY, seed=1)
    shapes = {name: weight.shape for name, weight in grouped.named_parameters()}
    assert shapes["layers.0.self_attn.k_proj.weight"] == (2 * 32, 128)
    assert shapes["layers.0.self_attn.q_proj.weight"] == (4 * 32, 128)
    full = Decoder(replace(TINY, num_key_value_heads=4), seed=None)
    with torch.no_grad():
        for (name, target), (_, source) in zip(full.named_parameters(), grouped.named_parameters(), strict=True):
            if "k_proj" in name or "v_proj" in name:
                source = source.unflatten(0, (2, 32)).repeat_interleave(2, dim=0).flatten(0, 1)
            target.copy_(source)
    assert torch.allclose(logits_of(grouped, sequences()), logits_of(full, sequences()), atol=1e-5)


def test_the_cache_holds_two_heads_for_four_queries() -> None:
    cache = KVCache(TINY, 3, 20, torch.float32, torch.device("cpu"))
    logits_of(Decoder(TINY), sequences(), cache=cache)
    assert cache.keys.shape == (2, 3, 2, 20, 32)
    assert cache.length == 12


@pytest.mark.parametrize("config", [TINY, replace(TINY, tie_word_embeddings=False, attention_bias=False)])
def test_decoding_token_by_token_gives_the_logits_of_the_whole_sequence(config: DecoderConfig) -> None:
    model, ids = Decoder(config, seed=1), sequences()
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    whole = logits_of(model, ids, mask)
    cache = KVCache(config, 3, 12, torch.float32, torch.device("cpu"))
    place = positions(mask)
    parts = [(0, 5), (5, 6), (6, 9), *((i, i + 1) for i in range(9, 12))]
    pieces = [model(ids[:, a:b], mask[:, :b], place[:, a:b], cache).detach() for a, b in parts]
    real = mask.bool()
    assert torch.allclose(torch.cat(pieces, dim=1)[real], whole[real], atol=1e-5)


def test_padding_on_the_left_changes_nothing() -> None:
    model, ids = Decoder(TINY, seed=1), sequences(width=9)
    padded, mask = torch.zeros(3, 14, dtype=torch.int64), torch.zeros(3, 14, dtype=torch.int64)
    padded[:, 5:], mask[:, 5:] = ids, 1
    assert torch.allclose(logits_of(model, padded, mask)[:, 5:], logits_of(model, ids), atol=1e-5)
    # and what stands in the padding is of no account
    padded[:, :5] = 77
    assert torch.allclose(logits_of(model, padded, mask)[:, 5:], logits_of(model, ids), atol=1e-5)


def test_a_token_sees_nothing_after_it_and_everything_before_it() -> None:
    model, ids = Decoder(TINY, seed=1), sequences(rows=1)
    changed = ids.clone()
    changed[0, 6] = (ids[0, 6] + 1) % TINY.vocab_size
    before, after = logits_of(model, ids), logits_of(model, changed)
    assert torch.equal(before[:, :6], after[:, :6])
    assert ((before - after).abs().amax(-1)[0, 6:] > 1e-3).all()


def test_positions_are_relative_but_do_matter() -> None:
    """RoPE: shifting all positions changes nothing, stretching them does."""
    model, ids = Decoder(TINY, seed=1), sequences()
    place = positions(torch.ones_like(ids))
    plain, shifted, stretched = (model(ids, torch.ones_like(ids), p).detach() for p in (place, place + 100, place * 3))
    assert torch.allclose(plain, shifted, atol=1e-4)
    assert (plain - stretched).abs().max() > 1e-2


def test_a_row_of_nothing_but_padding_stays_finite() -> None:
    ids = sequences()
    mask = torch.ones_like(ids)
    mask[0] = 0
    assert torch.isfinite(logits_of(Decoder(TINY), ids, mask)).all()


def test_logits_of_the_last_positions_only() -> None:
    model, ids = Decoder(TINY, seed=1), sequences()
    assert torch.allclose(logits_of(model, ids, logits_to_keep=4), logits_of(model, ids)[:, -4:], atol=1e-6)


def test_log_probs_and_entropy_against_the_definition_in_float64() -> None:
    model = Decoder(TINY, seed=1)
    rollout = a_rollout(model, length=40)
    log_probs, entropy = response_log_probs(model, rollout, 0.8)
    assert log_probs.dtype == entropy.dtype == torch.float32
    logits = logits_of(model, rollout.input_ids, rollout.attention_mask).double() / 0.8
    padded = 0
    for row in range(8):
        for i in range(40):
            distribution = torch.distributions.Categorical(logits=logits[row, 16 + i - 1])
            if rollout.response_mask[row, i]:
                expected = distribution.log_prob(rollout.responses[row, i]).item(), distribution.entropy().item()
            else:
                expected, padded = (0.0, 0.0), padded + 1
            assert (log_probs[row, i].item(), entropy[row, i].item()) == pytest.approx(expected, abs=1e-5)
    assert padded > 0
    only, none = response_log_probs(model, rollout, 0.8, want_entropy=False)
    assert none is None
    assert torch.equal(only, log_probs)


def test_recomputing_activations_gives_the_same_gradients() -> None:
    model = Decoder(TINY, seed=1)
    rollout = a_rollout(model)
    gradients = []
    for recompute in (False, True):
        model.gradient_checkpointing = recompute
        model.zero_grad()
        calls: list[int] = []
        hook = model.layers[0].register_forward_pre_hook(lambda *_, calls=calls: calls.append(1))
        torch.stack(response_log_probs(model, rollout, 1.0)).sum().backward()
        hook.remove()
        gradients.append([parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None])
        assert len(calls) == (2 if recompute else 1)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*gradients, strict=True))


def test_the_critic_has_the_policys_body_and_one_value_per_token() -> None:
    policy, critic = Decoder(TINY, seed=1), ValueModel(TINY, seed=1)
    name = "layers.1.mlp.up_proj.weight"
    assert torch.equal(policy.get_parameter(name), critic.get_parameter(name))
    rollout = a_rollout(policy)
    whole = critic(rollout.input_ids, rollout.attention_mask, rollout.position_ids)
    assert whole.shape == (8, 26)
    values = response_values(critic, rollout)
    mask = rollout.response_mask
    assert torch.allclose(values, whole[:, 15:25] * mask, atol=1e-6)
    assert values.std() > 0.01
    values.sum().backward()
    gradient = critic.get_parameter("lm_head.weight").grad
    assert gradient is not None and gradient.abs().sum() > 0

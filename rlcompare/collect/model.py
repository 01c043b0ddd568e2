"""A Qwen-style decoder in plain PyTorch, and the critic with the same body.

Shapes: N rows, T tokens of this call, S tokens up to its end (S = T without a cache), H heads, D values per head,
V vocabulary, P and R the widths of prompt and response. Module names are those of Hugging Face's Qwen2 and Llama, so
that their weights load by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, overload

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


@dataclass(frozen=True)
class DecoderConfig:
    """The shape of a model; names and defaults are those of a Hugging Face ``config.json`` of Qwen2."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rope_theta: float = 1e6
    rms_norm_eps: float = 1e-6
    attention_bias: bool = True
    """Whether the query, key and value projections have a bias (Qwen2: yes, Llama: no)."""
    tie_word_embeddings: bool = True
    initializer_range: float = 0.02


PRESETS: dict[str, DecoderConfig] = {
    # 0.08 is about 1/√128. With 0.02 so narrow a model is so close to uniform that bfloat16 would not change it.
    "tiny": DecoderConfig(128, 128, 384, 2, 4, 2, 32, initializer_range=0.08),
    "small": DecoderConfig(32_768, 512, 1_536, 14, 8, 2, 64),
    "0.5b": DecoderConfig(151_936, 896, 4_864, 24, 14, 2, 64),
}
"""What ``actor_rollout_ref.model.path`` names; ``0.5b`` has the shape of Qwen2.5-0.5B."""


class KVCache:
    """Keys and values of all layers for up to ``capacity`` tokens per row, allocated once."""

    def __init__(self, config: DecoderConfig, rows: int, capacity: int, dtype: torch.dtype, device: torch.device):
        shape = (config.num_hidden_layers, rows, config.num_key_value_heads, capacity, config.head_dim)
        self.keys = torch.empty(shape, dtype=dtype, device=device)
        self.values = torch.empty(shape, dtype=dtype, device=device)
        self.length = 0
        """Tokens per row that are filled. The model advances it once per call, after the last layer."""

    def append(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store the (N, H, T, D) of new tokens; returns those of all tokens so far, (N, H, S, D), without copying."""
        end = self.length + key.shape[2]
        self.keys[layer, :, :, self.length : end] = key
        self.values[layer, :, :, self.length : end] = value
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    def fill_from(self, prefix: KVCache, n: int) -> None:
        """Begin with each row of ``prefix`` n times, rows of one prompt side by side."""
        self.length = prefix.length
        self.keys[:, :, :, : self.length] = prefix.keys[:, :, :, : self.length].repeat_interleave(n, dim=1)
        self.values[:, :, :, : self.length] = prefix.values[:, :, :, : self.length].repeat_interleave(n, dim=1)


class RMSNorm(nn.Module):
    """x / rms(x) · weight, with the mean in float32 whatever the dtype."""

    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * normed.to(x.dtype)


def _rotation(position_ids: Tensor, config: DecoderConfig, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosine and sine of RoPE, (N, 1, T, D), the angles in float32; in halves, not interleaved, as Hugging Face has it.

    Made anew for each call: a buffer would have to survive sharding, casts to bfloat16 and copies.
    """
    exponent = torch.arange(0, config.head_dim, 2, device=position_ids.device, dtype=torch.float32) / config.head_dim
    angles = position_ids[:, None, :, None].float() / config.rope_theta**exponent
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def _rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * rotation[0] + torch.cat((-second, first), dim=-1) * rotation[1]


def _visible(attention_mask: Tensor, tokens: int) -> Tensor:
    """(N, 1, T, S): which keys each of the last ``tokens`` positions sees, from the padding mask (N, S).

    Padding sees itself, because a softmax over nothing is NaN; nothing else sees padding.
    """
    key = torch.arange(attention_mask.shape[1], device=attention_mask.device)
    query = key[-tokens:, None]
    return ((key <= query) & attention_mask.bool()[:, None, :] | (key == query))[:, None]


class Attention(nn.Module):
    """Grouped-query attention: ``num_attention_heads`` queries share ``num_key_value_heads`` keys and values."""

    def __init__(self, config: DecoderConfig):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = (
            config.num_attention_heads, config.num_key_value_heads, config.head_dim,
        )  # fmt: skip
        self.q_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, config.attention_bias)
        self.k_proj = nn.Linear(config.hidden_size, self.kv_heads * self.head_dim, config.attention_bias)
        self.v_proj = nn.Linear(config.hidden_size, self.kv_heads * self.head_dim, config.attention_bias)
        self.o_proj = nn.Linear(self.heads * self.head_dim, config.hidden_size, bias=False)

    def forward(
        self, x: Tensor, visible: Tensor, rotation: tuple[Tensor, Tensor], cache: KVCache | None, layer: int
    ) -> Tensor:
        rows, tokens, _ = x.shape
        query = _rotate(self.q_proj(x).view(rows, tokens, self.heads, self.head_dim).transpose(1, 2), rotation)
        key = _rotate(self.k_proj(x).view(rows, tokens, self.kv_heads, self.head_dim).transpose(1, 2), rotation)
        value = self.v_proj(x).view(rows, tokens, self.kv_heads, self.head_dim).transpose(1, 2)
        if cache is not None:
            key, value = cache.append(layer, key, value)
        if tokens == 1:
            # The group's queries become the positions of its one head: nothing of the cache is copied.
            query = query.reshape(rows, self.kv_heads, -1, self.head_dim)
        else:
            # Not enable_gqa: no fused kernel takes it together with a mask on CPU and NPU.
            key, value = (part.repeat_interleave(self.heads // self.kv_heads, dim=1) for part in (key, value))
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        mixed = mixed.reshape(rows, self.heads, tokens, self.head_dim)
        return self.o_proj(mixed.transpose(1, 2).reshape(rows, tokens, -1))  # type: ignore[no-any-return]


class MLP(nn.Module):
    """SwiGLU."""

    def __init__(self, config: DecoderConfig):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))  # type: ignore[no-any-return]


class Block(nn.Module):
    """One layer: attention and MLP, each behind a norm and beside a residual; the unit to shard and to recompute."""

    def __init__(self, config: DecoderConfig, layer: int):
        super().__init__()
        self.layer = layer
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = MLP(config)

    def forward(self, x: Tensor, visible: Tensor, rotation: tuple[Tensor, Tensor], cache: KVCache | None) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), visible, rotation, cache, self.layer)
        return x + self.mlp(self.post_attention_layernorm(x))  # type: ignore[no-any-return]


class _Body(nn.Module):
    """Embedding, ``layers`` and the last norm; ``output_size`` 0 reuses the embedding as the head.

    Args:
        seed: of the random weights, the same on every machine; None leaves memory as it is, for weights to be copied
            in. The body of a Decoder and of a ValueModel with one seed are the same.
    """

    def __init__(self, config: DecoderConfig, output_size: int, seed: int | None):
        super().__init__()
        self.config = config
        self.gradient_checkpointing = False
        """Whether a training forward keeps only each block's input, and computes the rest again in the backward."""
        with torch.device("meta"):  # PyTorch's own initialisation would cost time and draw from the global generator
            self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
            self.layers = nn.ModuleList(Block(config, layer) for layer in range(config.num_hidden_layers))
            self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
            self.lm_head = nn.Linear(config.hidden_size, output_size, bias=False) if output_size else None
        self.to_empty(device="cpu")
        if seed is not None:
            self._initialise(torch.Generator().manual_seed(seed))

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator) -> None:
        """Matrices normal with ``initializer_range``, biases 0, norms 1."""
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, self.config.initializer_range, generator=generator)
            else:
                parameter.fill_(0.0 if name.endswith("bias") else 1.0)

    def _head(self, ids: Tensor, mask: Tensor, positions: Tensor, cache: KVCache | None, keep: int | None) -> Tensor:
        """The head's output, (N, keep, outputs), for the last ``keep`` positions (None: all)."""
        x = self.embed_tokens(ids)
        visible, rotation = _visible(mask, ids.shape[1]), _rotation(positions, self.config, x.dtype)
        recompute = self.gradient_checkpointing and cache is None and torch.is_grad_enabled()
        for block in self.layers:
            if recompute:
                x = checkpoint(block, x, visible, rotation, None, use_reentrant=False, preserve_rng_state=False)
            else:
                x = block(x, visible, rotation, cache)
        if cache is not None:
            cache.length += ids.shape[1]
        x = self.norm(x if keep is None else x[:, x.shape[1] - keep :])
        return functional.linear(x, self.embed_tokens.weight) if self.lm_head is None else self.lm_head(x)


class Decoder(_Body):
    """The policy: token ids in, logits out."""

    def __init__(self, config: DecoderConfig, seed: int | None = 0):
        super().__init__(config, 0 if config.tie_word_embeddings else config.vocab_size, seed)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, cache: KVCache | None = None,
        logits_to_keep: int | None = None,
    ) -> Tensor:  # fmt: skip
        """Logits (N, T, V) in the dtype of the weights.

        Args:
            input_ids: (N, T).
            attention_mask: (N, S), 0 at padding; with a cache it begins at the cache's first token.
            position_ids: (N, T), not counting padding.
            cache: keys and values of the tokens before these, to which these are added.
            logits_to_keep: only of the last so many positions, (N, logits_to_keep, V).
        """
        return self._head(input_ids, attention_mask, position_ids, cache, logits_to_keep)


class ValueModel(_Body):
    """The critic: token ids in, one value per position out."""

    def __init__(self, config: DecoderConfig, seed: int | None = 0):
        super().__init__(config, 1, seed)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, values_to_keep: int | None = None
    ) -> Tensor:
        """Values (N, T), or (N, values_to_keep) of the last positions; arguments as for a Decoder."""
        return self._head(input_ids, attention_mask, position_ids, None, values_to_keep)[..., 0]


def positions(attention_mask: Tensor) -> Tensor:
    """Position ids (N, T) that do not count padding; padding on the left gets 0."""
    return (attention_mask.cumsum(-1) - 1).clamp_min_(0)


class ResponseBatch(Protocol):
    """What is needed of a rollout, or of some rows of it: sequences (N, P+R) and their responses (N, R)."""

    @property
    def input_ids(self) -> Tensor: ...
    @property
    def attention_mask(self) -> Tensor: ...
    @property
    def position_ids(self) -> Tensor: ...
    @property
    def responses(self) -> Tensor: ...
    @property
    def response_mask(self) -> Tensor: ...


def _before_responses(batch: ResponseBatch) -> tuple[Tensor, Tensor, Tensor, None]:
    """The model's inputs without the last token: a token is predicted at the position before it."""
    return batch.input_ids[:, :-1], batch.attention_mask[:, :-1], batch.position_ids[:, :-1], None


def token_log_probs(logits: Tensor, tokens: Tensor) -> Tensor:
    """log p(token), for logits (…, V) and tokens (…), in the dtype of the logits."""
    return logits.gather(-1, tokens[..., None])[..., 0] - logits.logsumexp(-1)


@overload
def response_log_probs(
    model: nn.Module, batch: ResponseBatch, temperature: float, want_entropy: Literal[True] = True
) -> tuple[Tensor, Tensor]: ...
@overload
def response_log_probs(
    model: nn.Module, batch: ResponseBatch, temperature: float, want_entropy: bool
) -> tuple[Tensor, Tensor | None]: ...
def response_log_probs(
    model: nn.Module, batch: ResponseBatch, temperature: float, want_entropy: bool = True
) -> tuple[Tensor, Tensor | None]:
    """Log-probabilities of the response's tokens and the entropy (nats) of the distribution that each came from.

    Both (N, R), float32, after temperature, 0 at padding. The head is computed at the response's positions only.

    Args:
        model: a Decoder, or what shards one.
        want_entropy: without it None is returned for the entropy, which needs another (N, R, V).
    """
    logits = model(*_before_responses(batch), batch.responses.shape[1]).float()
    if temperature != 1.0:
        logits = logits / temperature
    padding = batch.response_mask == 0
    log_probs = token_log_probs(logits, batch.responses).masked_fill(padding, 0.0)
    if not want_entropy:
        return log_probs, None
    entropy = logits.logsumexp(-1) - (logits.softmax(-1) * logits).sum(-1)
    return log_probs, entropy.masked_fill(padding, 0.0)


def response_values(model: nn.Module, batch: ResponseBatch) -> Tensor:
    """The critic's value before each token of the response, (N, R), float32, 0 at padding."""
    values: Tensor = model(*_before_responses(batch)[:3], batch.responses.shape[1]).float()
    return values.masked_fill(batch.response_mask == 0, 0.0)

"""Parts of a Qwen-style decoder: shape, norm, rotary positions, grouped-query attention, MLP, cache of keys and values.

Shapes: N rows, T tokens of this call, S tokens up to its end (S = T without a cache), H heads, D values per head. Names
of modules are those of Hugging Face's Qwen2 and Llama, so that their weights load by name.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


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


def rotation_of(position_ids: Tensor, config: DecoderConfig, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosine and sine of RoPE, (N, 1, T, D), the angles in float32; in halves, not interleaved, as Hugging Face has it.

    Computed anew in each call: a buffer would have to survive sharding, casts to bfloat16 and copies.
    """
    exponent = torch.arange(0, config.head_dim, 2, device=position_ids.device, dtype=torch.float32) / config.head_dim
    angles = position_ids[:, None, :, None].float() / config.rope_theta**exponent
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def _rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * rotation[0] + torch.cat((-second, first), dim=-1) * rotation[1]


def visible_keys(attention_mask: Tensor, tokens: int) -> Tensor:
    """(N, 1, T, S): which keys each of the last ``tokens`` positions can see, from the padding mask (N, S).

    Padding sees itself, because a softmax over nothing is NaN. No other token sees padding.
    """
    key = torch.arange(attention_mask.shape[1], device=attention_mask.device)
    query = key[-tokens:, None]
    return ((key <= query) & attention_mask.bool()[:, None, :] | (key == query))[:, None]


class Attention(nn.Module):
    """Grouped-query attention: ``num_attention_heads`` queries share ``num_key_value_heads`` keys and values."""

    def __init__(self, config: DecoderConfig):
        super().__init__()
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head_dim = config.head_dim
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
            # The group's queries become positions of its one head, so that the cache is not copied.
            query = query.reshape(rows, self.kv_heads, -1, self.head_dim)
        else:
            # Not enable_gqa: only flash attention of CUDA's fused kernels supports it, but without a mask.
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

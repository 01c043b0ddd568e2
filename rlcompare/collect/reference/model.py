"""The policy, a Qwen-style decoder in plain PyTorch, and the critic with the same body.

Shapes: N rows, T tokens of this call, S tokens up to its end (S = T without a cache), V vocabulary, P and R the widths
of prompt and response.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol, overload

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from rlcompare.collect.reference.layers import Block, KVCache, RMSNorm, rotation_of, visible_keys
from rlcompare.collect.reference.layers import DecoderConfig as DecoderConfig
from rlcompare.collect.reference.pretrained import read_config, read_weights
from rlcompare.errors import UsageError

PRESETS: dict[str, DecoderConfig] = {
    # 0.08 is about 1/√128. With 0.02 so narrow a model is so close to uniform that bfloat16 would make no difference.
    "tiny": DecoderConfig(128, 128, 384, 2, 4, 2, 32, initializer_range=0.08),
    "small": DecoderConfig(32_768, 512, 1_536, 14, 8, 2, 64),
    "0.5b": DecoderConfig(151_936, 896, 4_864, 24, 14, 2, 64),
}
"""Values of ``actor_rollout_ref.model.path``; ``0.5b`` has the shape of Qwen2.5-0.5B."""


class _Body(nn.Module):
    """Embedding, ``layers`` and the last norm; ``output_size`` 0 reuses the embedding as the head.

    Args:
        seed: of the random weights, the same on every machine; None leaves memory uninitialized, for weights that are
            copied in later. A Decoder and a ValueModel with the same seed have the same body.
    """

    def __init__(self, config: DecoderConfig, output_size: int, seed: int | None):
        super().__init__()
        self.config = config
        self.gradient_checkpointing = False
        """Whether a training forward keeps only each block's input, and the backward recomputes the rest."""
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
        visible, rotation = visible_keys(mask, ids.shape[1]), rotation_of(positions, self.config, x.dtype)
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
            logits_to_keep: compute only the last positions, (N, logits_to_keep, V).
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
        # A copy, because FSDP2 requires an output that is not a view.
        return self._head(input_ids, attention_mask, position_ids, None, values_to_keep)[..., 0].clone()


def model_folder(path: str) -> Path:
    """The folder of a model that is not a preset.

    Raises:
        UsageError: there is none.
    """
    folder = Path(path)
    try:
        is_folder = folder.is_dir()
    except (OSError, ValueError):  # not a valid file name
        is_folder = False
    if not is_folder:
        presets = ", ".join(PRESETS)
        raise UsageError(f"actor_rollout_ref.model.path={path}: neither a preset ({presets}) nor a folder")
    return folder


def load_hf(path: str) -> Decoder:
    """The policy with the weights of a local Hugging Face folder of a Qwen2 or Llama, in float32 on the CPU.

    Raises:
        UsageError: no such folder, a model that is neither, or the extra ``hf`` is not installed.
        InputError: the folder's files are damaged or incomplete.
    """
    folder = model_folder(path)
    model = Decoder(read_config(folder), seed=None)
    read_weights(folder, dict(model.named_parameters()))
    return model


def positions(attention_mask: Tensor) -> Tensor:
    """Position ids (N, T) that do not count padding; padding on the left gets 0."""
    return (attention_mask.cumsum(-1) - 1).clamp_min_(0)


class ResponseBatch(Protocol):
    """The required fields of a rollout, or of some rows of it: sequences (N, P+R) and their responses (N, R)."""

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
        model: a Decoder, or a sharded one.
        want_entropy: if False, None is returned for the entropy, which needs another (N, R, V).
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
